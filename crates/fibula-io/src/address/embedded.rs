//! [`Embedded`]: IPv6 addresses that hold an IPv4 address.

use fibula::{Error, ErrorKind, Prefix};
use std::str::FromStr;

/// The kinds of IPv6 addresses that are taken for the IPv4 address they hold. None by default.
///
/// | name | addresses | source |
/// | --- | --- | --- |
/// | `mapped` | `::ffff:0:0/96` | RFC 4291 section 2.5.5.2 |
/// | `6to4` | `2002::/16`: the 32 bits after it | RFC 3056 section 2 |
/// | `teredo` | `2001::/32`: the client, the last 32 bits inverted | RFC 4380 section 4 |
/// | `nat64` | `64:ff9b::/96` | RFC 6052 section 2.1 |
/// | `nat64=PREFIX` | a prefix of 32, 40, 48, 56, 64 or 96 bits | RFC 6052 section 2.2 |
/// | `none` | | |
///
/// ```
/// use fibula_io::address::Embedded;
/// let embedded: Embedded = "mapped,nat64=2001:db8:122:344::/64".parse()?;
/// let ipv4 = |text: &str| embedded.ipv4(text.parse::<std::net::Ipv6Addr>().unwrap().to_bits());
/// assert_eq!(ipv4("::ffff:192.0.2.33"), Some(0xC000_0221));
/// assert_eq!(ipv4("2001:db8:122:344:c0:2:2100::"), Some(0xC000_0221));
/// assert_eq!(ipv4("2002:c000:221::1"), None);
/// # Ok::<(), fibula::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Embedded {
    is_mapped: bool,
    is_6to4: bool,
    is_teredo: bool,
    nat64: Vec<Prefix<u128>>,
}

impl Embedded {
    /// IPv4-mapped addresses alone.
    #[must_use]
    pub fn mapped() -> Self {
        Self { is_mapped: true, ..Self::default() }
    }

    /// Returns whether it is of no kind.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds the kinds of another.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.is_mapped |= other.is_mapped;
        self.is_6to4 |= other.is_6to4;
        self.is_teredo |= other.is_teredo;
        self.nat64.extend(other.nat64);
        self
    }

    /// Returns the IPv4 address that an IPv6 address holds; `None` if it is of another kind.
    #[must_use]
    #[inline]
    pub fn ipv4(&self, address: u128) -> Option<u32> {
        const MAPPED: u128 = 0xFFFF;
        const SIX_TO_FOUR: u128 = 0x2002;
        const TEREDO: u128 = 0x2001_0000;
        if self.is_mapped && address >> 32 == MAPPED {
            return Some(address as u32);
        }
        if self.is_6to4 && address >> 112 == SIX_TO_FOUR {
            return Some((address >> 80) as u32);
        }
        if self.is_teredo && address >> 96 == TEREDO {
            return Some(!(address as u32));
        }
        self.nat64
            .iter()
            .find(|prefix| prefix.contains(address))
            .map(|prefix| of_nat64(address, prefix.len()))
    }
}

/// Returns the IPv4 address after a prefix of NAT64. Bits 64 to 71 are no part of it.
fn of_nat64(address: u128, len: u8) -> u32 {
    const LONGEST: u8 = 96;
    if len == LONGEST {
        return address as u32;
    }
    let without = (address >> 64) << 56 | (address & ((1 << 56) - 1));
    (without >> (120 - 32 - u32::from(len))) as u32
}

impl FromStr for Embedded {
    type Err = Error;

    /// Reads names with commas between them.
    fn from_str(text: &str) -> Result<Self, Error> {
        const WELL_KNOWN: &str = "64:ff9b::/96";
        let mut all = Self::default();
        for name in text.split(',') {
            match name.trim() {
                "none" => {}
                "mapped" => all.is_mapped = true,
                "6to4" => all.is_6to4 = true,
                "teredo" => all.is_teredo = true,
                "nat64" => all.nat64.push(WELL_KNOWN.parse()?),
                other => {
                    let prefix = other.strip_prefix("nat64=").ok_or_else(|| {
                        let what = "expected mapped, 6to4, teredo, nat64, nat64=PREFIX or none";
                        Error::new(ErrorKind::Name, format!("{what}, found {other:?}"))
                    })?;
                    let prefix: Prefix<u128> = prefix.parse()?;
                    if !matches!(prefix.len(), 32 | 40 | 48 | 56 | 64 | 96) {
                        let what = "a prefix of NAT64 has 32, 40, 48, 56, 64 or 96 bits";
                        return Err(Error::new(ErrorKind::Prefix, format!("{what}, not {}", prefix.len())));
                    }
                    all.nat64.push(prefix);
                }
            }
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    /// The examples of RFC 6052 section 2.4, RFC 3056 and RFC 4380.
    #[test]
    fn every_kind_holds_its_address() {
        for (kinds, text) in [
            ("mapped", "::ffff:192.0.2.33"),
            ("6to4", "2002:c000:221::1"),
            ("teredo", "2001:0:4136:e378:8000:63bf:3fff:fdde"),
            ("nat64", "64:ff9b::192.0.2.33"),
            ("nat64=2001:db8::/32", "2001:db8:c000:221::"),
            ("nat64=2001:db8:100::/40", "2001:db8:1c0:2:21::"),
            ("nat64=2001:db8:122::/48", "2001:db8:122:c000:2:2100::"),
            ("nat64=2001:db8:122:300::/56", "2001:db8:122:3c0:0:221::"),
            ("nat64=2001:db8:122:344::/64", "2001:db8:122:344:c0:2:2100::"),
            ("nat64=2001:db8:122:344::/96", "2001:db8:122:344::192.0.2.33"),
        ] {
            let address = text.parse::<Ipv6Addr>().unwrap().to_bits();
            let embedded: Embedded = kinds.parse().unwrap();
            assert_eq!(embedded.ipv4(address).map(Ipv4Addr::from), Some([192, 0, 2, 33].into()), "{text}");
            assert_eq!(Embedded::default().ipv4(address), None);
            assert_eq!(embedded.ipv4(address ^ 1 << 127), None);
        }
        assert_eq!(Embedded::mapped().and("6to4".parse().unwrap()), "mapped,6to4".parse().unwrap());
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = |text: &str| text.parse::<Embedded>().unwrap_err().to_string();
        assert!(error("mapped,x").ends_with("found \"x\""), "{}", error("mapped,x"));
        assert!(error("nat64=64:ff9b::/95").ends_with("not 95"));
    }
}
