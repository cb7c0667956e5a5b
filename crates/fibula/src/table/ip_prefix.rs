//! [`IpPrefix`]: a prefix of either family.

use crate::{Address, Error, ErrorKind, Family, Prefix};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A prefix of either address family: the key of a [`Table`](crate::Table).
///
/// Like [`Prefix`], it is canonical: no bit is set after its length. It is ordered by family (IPv4
/// first), then by address, then by length, so that a prefix comes directly before everything it
/// covers.
///
/// An IPv4-mapped prefix such as `::ffff:192.0.2.0/120` is an IPv6 prefix. It covers no IPv4
/// address.
///
/// ```
/// use fibula::IpPrefix;
/// use std::net::IpAddr;
/// let prefix: IpPrefix = "2001:db8::/32".parse()?;
/// assert!(prefix.contains("2001:db8::1".parse::<IpAddr>().unwrap()));
/// assert!(!prefix.contains("192.0.2.1".parse::<IpAddr>().unwrap()));
/// assert_eq!(prefix.to_string(), "2001:db8::/32");
/// # Ok::<(), fibula::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IpPrefix {
    /// An IPv4 prefix.
    V4(Prefix<u32>),
    /// An IPv6 prefix.
    V6(Prefix<u128>),
}

/// Runs one expression for the prefix of either family.
macro_rules! of_either {
    ($prefix:expr, $of:ident => $what:expr) => {
        match $prefix {
            IpPrefix::V4($of) => $what,
            IpPrefix::V6($of) => $what,
        }
    };
}

impl IpPrefix {
    /// Returns the prefix of an address and a length.
    ///
    /// # Errors
    /// Of kind [`ErrorKind::Prefix`], if `len` exceeds the bits of the address or a bit after it is
    /// set.
    ///
    /// ```
    /// use fibula::IpPrefix;
    /// use std::net::Ipv4Addr;
    /// assert!(IpPrefix::new(Ipv4Addr::new(192, 0, 2, 0), 24).is_ok());
    /// assert!(IpPrefix::new(Ipv4Addr::new(192, 0, 2, 1), 24).is_err());
    /// ```
    pub fn new(address: impl Into<IpAddr>, len: u8) -> Result<Self, Error> {
        Ok(match address.into() {
            IpAddr::V4(address) => Self::V4(Prefix::new(address.to_bits(), len)?),
            IpAddr::V6(address) => Self::V6(Prefix::new(address.to_bits(), len)?),
        })
    }

    /// Returns the prefix of length `len` that contains `address`. Bits after the length are
    /// cleared.
    ///
    /// # Errors
    /// Of kind [`ErrorKind::Prefix`], if `len` exceeds the bits of the address.
    pub fn masked(address: impl Into<IpAddr>, len: u8) -> Result<Self, Error> {
        Ok(match address.into() {
            IpAddr::V4(address) => Self::V4(Prefix::masked(address.to_bits(), len)?),
            IpAddr::V6(address) => Self::V6(Prefix::masked(address.to_bits(), len)?),
        })
    }

    /// Returns the prefix of one address: /32 or /128.
    #[must_use]
    pub fn host(address: impl Into<IpAddr>) -> Self {
        match address.into() {
            IpAddr::V4(address) => Self::V4(Prefix::host(address.to_bits())),
            IpAddr::V6(address) => Self::V6(Prefix::host(address.to_bits())),
        }
    }

    /// Returns the fewest prefixes that are the addresses from `first` to `last`, in order. None if
    /// `last` comes before `first`. O(1) each.
    ///
    /// # Errors
    /// Of kind [`ErrorKind::Family`], if the addresses are of two families.
    ///
    /// ```
    /// use fibula::{IpPrefix, Table};
    /// let mut table = Table::new();
    /// let prefixes = IpPrefix::fewest([192, 0, 2, 1], [192, 0, 2, 9])?;
    /// table.extend(prefixes.map(|prefix| (prefix, "rented")));
    /// assert_eq!((table.len(), table.lookup_value([192, 0, 2, 9])), (4, Some(&"rented")));
    /// assert_eq!(table.lookup([192, 0, 2, 10]), None);
    /// # Ok::<(), fibula::Error>(())
    /// ```
    pub fn fewest(
        first: impl Into<IpAddr>,
        last: impl Into<IpAddr>,
    ) -> Result<impl Iterator<Item = Self>, Error> {
        let (ipv4, ipv6) = match (first.into(), last.into()) {
            (IpAddr::V4(first), IpAddr::V4(last)) => {
                (Some(Prefix::fewest(first.to_bits(), last.to_bits())), None)
            }
            (IpAddr::V6(first), IpAddr::V6(last)) => {
                (None, Some(Prefix::fewest(first.to_bits(), last.to_bits())))
            }
            (first, last) => {
                let text = format!("{first} and {last} are of two address families");
                return Err(Error::new(ErrorKind::Family, text));
            }
        };
        let ipv4 = ipv4.into_iter().flatten().map(Self::from);
        Ok(ipv4.chain(ipv6.into_iter().flatten().map(Self::from)))
    }

    /// Returns the address family.
    #[must_use]
    pub fn family(self) -> Family {
        match self {
            Self::V4(_) => Family::Ipv4,
            Self::V6(_) => Family::Ipv6,
        }
    }

    /// Returns the first address.
    #[must_use]
    pub fn first(self) -> IpAddr {
        of_either!(self, prefix => prefix.first().to_ip())
    }

    /// Returns the last address.
    #[must_use]
    pub fn last(self) -> IpAddr {
        of_either!(self, prefix => prefix.last().to_ip())
    }

    /// Returns the length in bits.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "a prefix length is no count of elements")]
    pub fn len(self) -> u8 {
        of_either!(self, prefix => prefix.len())
    }

    /// Returns whether `address` begins with this prefix. An address of the other family does not.
    #[must_use]
    pub fn contains(self, address: impl Into<IpAddr>) -> bool {
        match (self, address.into()) {
            (Self::V4(prefix), IpAddr::V4(address)) => prefix.contains(address.to_bits()),
            (Self::V6(prefix), IpAddr::V6(address)) => prefix.contains(address.to_bits()),
            _ => false,
        }
    }

    /// Returns whether every address of `other` is in this prefix. A prefix covers itself.
    #[must_use]
    pub fn covers(self, other: impl Into<Self>) -> bool {
        match (self, other.into()) {
            (Self::V4(prefix), Self::V4(other)) => prefix.covers(other),
            (Self::V6(prefix), Self::V6(other)) => prefix.covers(other),
            _ => false,
        }
    }

    /// Returns the prefix one bit shorter, or `None` for length 0.
    #[must_use]
    pub fn parent(self) -> Option<Self> {
        of_either!(self, prefix => prefix.parent().map(Self::from))
    }
}

impl fmt::Display for IpPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        of_either!(self, prefix => prefix.fmt(f))
    }
}

impl FromStr for IpPrefix {
    type Err = Error;

    /// Reads `address/length`. A bare address is a host prefix.
    fn from_str(text: &str) -> Result<Self, Error> {
        if text.contains(':') {
            return text.parse().map(Self::V6);
        }
        if text.contains('.') {
            return text.parse().map(Self::V4);
        }
        let text: String = text.chars().take(80).collect();
        Err(Error::new(ErrorKind::Prefix, format!("{text:?} is not a prefix (expected address/length)")))
    }
}

impl From<Prefix<u32>> for IpPrefix {
    #[inline]
    fn from(prefix: Prefix<u32>) -> Self {
        Self::V4(prefix)
    }
}

impl From<Prefix<u128>> for IpPrefix {
    #[inline]
    fn from(prefix: Prefix<u128>) -> Self {
        Self::V6(prefix)
    }
}

/// The host prefix of the address.
impl From<IpAddr> for IpPrefix {
    fn from(address: IpAddr) -> Self {
        Self::host(address)
    }
}

/// The host prefix of the address.
impl From<Ipv4Addr> for IpPrefix {
    fn from(address: Ipv4Addr) -> Self {
        Self::host(address)
    }
}

/// The host prefix of the address.
impl From<Ipv6Addr> for IpPrefix {
    fn from(address: Ipv6Addr) -> Self {
        Self::host(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(text: &str) -> IpPrefix {
        text.parse().unwrap()
    }

    #[test]
    fn text_of_both_families_is_read_back() {
        for text in
            ["0.0.0.0/0", "192.0.2.0/24", "192.0.2.1/32", "::/0", "2001:db8::/32", "::ffff:1.2.3.0/120"]
        {
            assert_eq!(prefix(text).to_string(), text);
        }
        assert_eq!(prefix("192.0.2.1"), IpPrefix::host(Ipv4Addr::new(192, 0, 2, 1)));
        for text in ["", "/", "a", "8", "1.2.3.4/33", "::/129", "1.2.3.4/8", "::1/8", "1.2.3/8"] {
            assert_eq!(text.parse::<IpPrefix>().unwrap_err().kind(), ErrorKind::Prefix, "{text}");
        }
    }

    #[test]
    fn ipv4_comes_first_and_families_never_cover_each_other() {
        let sorted = ["0.0.0.0/0", "10.0.0.0/8", "10.0.0.0/9", "255.0.0.0/8", "::/0", "::/1"].map(prefix);
        assert!(sorted.is_sorted());
        assert!(!prefix("::/0").covers(prefix("10.0.0.0/8")));
        assert!(!prefix("0.0.0.0/0").contains(Ipv6Addr::UNSPECIFIED));
        assert!(prefix("10.0.0.0/8").covers(Ipv4Addr::new(10, 1, 2, 3)));
        assert_eq!(prefix("10.0.0.0/8").parent(), Some(prefix("10.0.0.0/7")));
        assert_eq!(prefix("::/0").parent(), None);
        assert_eq!(prefix("2001:db8::/127").last().to_string(), "2001:db8::1");
    }

    #[test]
    fn an_address_and_a_length_are_checked_or_masked() {
        let address = Ipv6Addr::LOCALHOST;
        assert!(IpPrefix::new(address, 64).is_err() && IpPrefix::masked(address, 129).is_err());
        assert_eq!(IpPrefix::masked(address, 64).unwrap(), prefix("::/64"));
        assert_eq!(IpPrefix::new(address, 128).unwrap(), IpPrefix::from(address));
    }
}
