//! [`Prefix`]: a block of addresses that share their first bits.

use crate::rib::Prefixes;
use crate::{Address, Error};
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// An address prefix in canonical form: no bit is set after its length.
///
/// Prefixes are ordered by first address, then by length. So a prefix comes directly before
/// everything it covers, as in a depth-first walk.
///
/// ```
/// use fibula::Prefix;
/// let prefix: Prefix<u32> = "192.0.2.0/24".parse()?;
/// assert!(prefix.contains(0xC000_02FF));
/// assert_eq!(prefix.to_string(), "192.0.2.0/24");
/// assert!("192.0.2.1/24".parse::<Prefix<u32>>().is_err()); // host bits are refused, not dropped
/// assert_eq!(Prefix::masked(0xC000_0201_u32, 24)?, prefix); // unless asked
/// # Ok::<(), fibula::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Prefix<A> {
    address: A,
    len: u8,
}

impl<A: Address> Prefix<A> {
    /// The prefix of length 0: the whole address space, the default route's.
    pub const ALL: Self = Self { address: A::ZERO, len: 0 };
    /// The last prefix in order: the host route of the last address.
    pub(crate) const GREATEST: Self = Self { address: A::MAX, len: A::BITS };

    /// Creates the prefix of an address and a length.
    ///
    /// # Errors
    /// If `len` is past the family's bits, or a bit after it is set.
    pub fn new(address: A, len: u8) -> Result<Self, Error> {
        let prefix = Self::masked(address, len)?;
        if prefix.address == address { Ok(prefix) } else { Err(Error::host_bits(address.to_ip(), len)) }
    }

    /// Returns the prefix of length `len` that contains `address`: bits after the length are
    /// cleared.
    ///
    /// # Errors
    /// If `len` is past the family's bits.
    pub fn masked(address: A, len: u8) -> Result<Self, Error> {
        if len > A::BITS {
            return Err(Error::prefix_len(len.into(), A::BITS));
        }
        Ok(Self::containing(address, len))
    }

    /// As [`Prefix::masked`], for a length known to be legal.
    ///
    /// # Panics
    /// In debug builds, if `len` is past the family's bits.
    #[must_use]
    #[inline]
    pub fn containing(address: A, len: u8) -> Self {
        Self { address: address & A::mask(len), len }
    }

    /// As [`Prefix::containing`], for an address that has no bit set after the length.
    #[inline]
    pub(crate) fn of_parts(address: A, len: u8) -> Self {
        debug_assert!(address & A::mask(len) == address);
        Self { address, len }
    }

    /// Returns the prefix of one address, a host route: /32 or /128.
    #[must_use]
    pub fn host(address: A) -> Self {
        Self { address, len: A::BITS }
    }

    /// Returns the first address.
    #[must_use]
    #[inline]
    pub fn first(self) -> A {
        self.address
    }

    /// Returns the last address.
    #[must_use]
    #[inline]
    pub fn last(self) -> A {
        self.address | !A::mask(self.len)
    }

    /// Returns the length in bits: how many leading bits are fixed.
    #[must_use]
    #[inline]
    #[allow(clippy::len_without_is_empty, reason = "a prefix length is no count of elements")]
    pub fn len(self) -> u8 {
        self.len
    }

    /// Returns whether an address begins with this prefix.
    #[must_use]
    #[inline]
    pub fn contains(self, address: A) -> bool {
        address & A::mask(self.len) == self.address
    }

    /// Returns whether every address of `other` is in this prefix; a prefix covers itself.
    #[must_use]
    #[inline]
    pub fn covers(self, other: Self) -> bool {
        self.len <= other.len && self.contains(other.address)
    }

    /// Returns those prefixes that no other of them covers, each once and in order. An update needs
    /// to be done only for these. O(n log n).
    ///
    /// ```
    /// use fibula::Prefix;
    /// let prefixes: Vec<Prefix<u32>> = ["10.1.0.0/16", "192.0.2.0/24", "10.0.0.0/8", "10.0.0.0/8"]
    ///     .iter()
    ///     .map(|text| text.parse())
    ///     .collect::<Result<_, _>>()?;
    /// let outermost = Prefix::outermost(prefixes);
    /// let outermost: Vec<String> = outermost.iter().map(ToString::to_string).collect();
    /// assert_eq!(outermost, ["10.0.0.0/8", "192.0.2.0/24"]);
    /// # Ok::<(), fibula::Error>(())
    /// ```
    #[must_use]
    pub fn outermost(prefixes: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let mut prefixes: Vec<Self> = prefixes.into_iter().collect();
        // In this order a prefix comes directly before those it covers.
        prefixes.sort_unstable();
        prefixes.dedup_by(|prefix, cover| cover.covers(*prefix));
        prefixes
    }

    /// Returns the fewest prefixes that are the addresses from `first` to `last`, in order. None if
    /// `last` comes before `first`. O(1) each; see [`Prefixes`].
    ///
    /// ```
    /// use fibula::Prefix;
    /// let prefixes = Prefix::fewest(0x0A00_0001_u32, 0x0A00_0006);
    /// let text = prefixes.map(|prefix| prefix.to_string());
    /// assert!(text.eq(["10.0.0.1/32", "10.0.0.2/31", "10.0.0.4/31", "10.0.0.6/32"]));
    /// ```
    #[must_use]
    pub fn fewest(first: A, last: A) -> Prefixes<A> {
        Prefixes::between(first, last)
    }

    /// Returns the prefix one bit shorter, or `None` for length 0.
    #[must_use]
    pub fn parent(self) -> Option<Self> {
        Some(Self::containing(self.address, self.len.checked_sub(1)?))
    }

    /// Returns the two halves (next bit 0, next bit 1), or `None` for a single address.
    #[must_use]
    pub fn halves(self) -> Option<[Self; 2]> {
        (self.len < A::BITS).then(|| {
            let len = self.len + 1;
            let bit = A::mask(len) & !A::mask(self.len);
            [Self { address: self.address, len }, Self { address: self.address | bit, len }]
        })
    }
}

/// The constructors of a family, for constants.
macro_rules! constant {
    ($name:ident, $bits:ty, $ip:ident, $what:literal, $example:literal) => {
        impl Prefix<$bits> {
            #[doc = concat!("Returns the ", $what, " prefix of a legal address and length.")]
            ///
            /// # Panics
            /// If `len` is past the family's bits, or a bit after it is set. In a constant, that
            /// does not compile.
            ///
            /// ```
            /// use fibula::Prefix;
            #[doc = $example]
            /// ```
            #[must_use]
            pub const fn $name(address: std::net::$ip, len: u8) -> Self {
                let address = address.to_bits();
                assert!(len as u32 <= <$bits>::BITS, "a prefix is no longer than its family's addresses");
                let behind = if len == 0 { <$bits>::MAX } else { <$bits>::MAX.unbounded_shr(len as u32) };
                assert!(address & behind == 0, "no bit of a prefix is set after its length");
                Self { address, len }
            }
        }
    };
}

constant!(
    ipv4,
    u32,
    Ipv4Addr,
    "IPv4",
    "const DOCUMENTATION: Prefix<u32> = Prefix::ipv4(std::net::Ipv4Addr::new(192, 0, 2, 0), 24);\nassert_eq!(DOCUMENTATION.to_string(), \"192.0.2.0/24\");"
);
constant!(
    ipv6,
    u128,
    Ipv6Addr,
    "IPv6",
    "const LOOPBACK: Prefix<u128> = Prefix::ipv6(std::net::Ipv6Addr::LOCALHOST, 128);\nassert_eq!(LOOPBACK.to_string(), \"::1/128\");"
);

/// As [`Display`](fmt::Display): reads as the prefix.
impl<A: Address> fmt::Debug for Prefix<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<A: Address> fmt::Display for Prefix<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address.to_ip() {
            IpAddr::V4(address) => write_ipv4(address.octets(), self.len, f),
            IpAddr::V6(address) => write!(f, "{address}/{}", self.len),
        }
    }
}

/// Writes an IPv4 prefix in one piece. The standard library writes number by number, and tables are
/// written by the million.
fn write_ipv4(octets: [u8; 4], len: u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (mut text, mut end) = ([0; "255.255.255.255/32".len()], 0);
    let mut push = |byte| {
        text[end] = byte;
        end += 1;
    };
    for (at, number) in octets.into_iter().chain([len]).enumerate() {
        match at {
            0 => {}
            4 => push(b'/'),
            _ => push(b'.'),
        }
        if number >= 100 {
            push(b'0' + number / 100);
        }
        if number >= 10 {
            push(b'0' + number / 10 % 10);
        }
        push(b'0' + number % 10);
    }
    f.write_str(str::from_utf8(&text[..end]).expect("digits, points and a slash"))
}

impl<A: Address> FromStr for Prefix<A> {
    type Err = Error;

    /// Parses `address/length`; a bare address is a host route.
    fn from_str(text: &str) -> Result<Self, Error> {
        let (address, len) = match text.split_once('/') {
            Some((address, len)) => (address, Some(len)),
            None => (text, None),
        };
        let syntax = || Error::prefix_syntax(text, A::FAMILY);
        let address = address.parse().ok().and_then(A::from_ip).ok_or_else(syntax)?;
        let Some(len) = len else { return Ok(Self::host(address)) };
        // A zero before another digit has more than one reading.
        let is_padded = len.len() > 1 && len.starts_with('0');
        if len.is_empty() || is_padded || !len.bytes().all(|b| b.is_ascii_digit()) {
            return Err(syntax());
        }
        let len: u32 = len.parse().map_err(|_| syntax())?;
        match u8::try_from(len) {
            Ok(short) => Self::new(address, short),
            Err(_) => Err(Error::prefix_len(len, A::BITS)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ipv4_is_written_as_its_address_and_length() {
        for number in 0..=u8::MAX {
            let len = number % 33;
            let prefix = Prefix::containing(u32::from_be_bytes([number, 9, 10, 255 - number]), len);
            assert_eq!(prefix.to_string(), format!("{}/{len}", prefix.address.to_ip()));
        }
    }

    #[test]
    fn addresses_are_the_fewest_prefixes() {
        let fewest = |first: u32, last: u32| {
            Prefix::fewest(first, last).map(|prefix| prefix.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(fewest(0, u32::MAX), ["0.0.0.0/0"]);
        assert_eq!(fewest(1, 8), ["0.0.0.1/32", "0.0.0.2/31", "0.0.0.4/30", "0.0.0.8/32"]);
        assert_eq!(fewest(u32::MAX - 2, u32::MAX), ["255.255.255.253/32", "255.255.255.254/31"]);
    }

    #[test]
    fn lengths_past_the_family_are_refused() {
        for text in ["0.0.0.0/33", "1.2.3.4/256", "1.2.3.4/4294967296"] {
            assert!(text.parse::<Prefix<u32>>().is_err(), "{text}");
        }
        assert!("::/129".parse::<Prefix<u128>>().is_err());
        assert_eq!(
            "0.0.0.0/33".parse::<Prefix<u32>>().unwrap_err().to_string(),
            "prefix length 33 is past the 32 bits of the family"
        );
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "/", "1.2.3.4/", "1.2.3/8", "1.2.3.4/+8", "1.2.3.4/ 8", "1.0.0.0/08", "::1/8", "a"] {
            assert!(text.parse::<Prefix<u32>>().is_err(), "{text}");
        }
    }

    #[test]
    fn v4_mapped_prefixes_stay_ipv6() {
        let prefix: Prefix<u128> = "::ffff:1.2.3.0/120".parse().unwrap();
        assert_eq!(prefix.to_string(), "::ffff:1.2.3.0/120");
        assert!("::ffff:1.2.3.0/120".parse::<Prefix<u32>>().is_err());
    }

    #[test]
    fn halves_and_parent_are_inverse() {
        let all = Prefix::<u128>::ALL;
        assert_eq!(all.parent(), None);
        let [low, high] = all.halves().unwrap();
        assert_eq!((low.first(), high.last()), (0, u128::MAX));
        assert_eq!((low.parent(), high.parent()), (Some(all), Some(all)));
        assert_eq!(Prefix::host(7_u32).halves(), None);
    }

    #[test]
    fn order_is_a_depth_first_walk() {
        let mut prefixes: Vec<Prefix<u32>> =
            ["10.0.0.0/9", "10.0.0.0/8", "10.128.0.0/9", "9.0.0.0/8", "10.0.0.0/32"]
                .iter()
                .map(|p| p.parse().unwrap())
                .collect();
        prefixes.sort();
        let text: Vec<String> = prefixes.iter().map(ToString::to_string).collect();
        assert_eq!(text, ["9.0.0.0/8", "10.0.0.0/8", "10.0.0.0/9", "10.0.0.0/32", "10.128.0.0/9"]);
    }
}
