//! [`Size`]: how many prefixes a made table has.

use crate::Error;
use fibula::Limit;

/// The number of prefixes of each family. A family of 0 prefixes is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Size {
    /// IPv4 prefixes.
    pub ipv4: usize,
    /// IPv6 prefixes.
    pub ipv6: usize,
}

impl Size {
    /// The full tables of May 2026, with the longer prefixes that are added to them.
    pub const FULL: Self = Self { ipv4: 1_043_325, ipv6: 246_475 };

    /// The largest tables. For larger ones the public IPv4 space has no room for the length mix.
    pub const MAX: Self = Self { ipv4: 8_000_000, ipv6: 8_000_000 };

    /// Only IPv4.
    #[must_use]
    pub const fn ipv4(ipv4: usize) -> Self {
        Self { ipv4, ipv6: 0 }
    }

    /// Only IPv6.
    #[must_use]
    pub const fn ipv6(ipv6: usize) -> Self {
        Self { ipv4: 0, ipv6 }
    }

    pub(crate) fn check(self, max: Self) -> Result<(), Error> {
        let pairs = [("IPv4 prefixes", self.ipv4, max.ipv4), ("IPv6 prefixes", self.ipv6, max.ipv6)];
        pairs.into_iter().try_for_each(|(what, had, max)| {
            Limit::check(what, had as u64, max as u64)
                .map_err(|limit| Error::argument("made table", &had.to_string(), limit))
        })
    }
}
