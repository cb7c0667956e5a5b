//! [`AtLeast`]: the long routes of a table.

use super::{Ranges, Rib};
use crate::{Address, Prefix, Route};

/// The routes of a table whose prefixes have at least some length, for an engine that keeps the
/// others elsewhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AtLeast<'a, A: Address> {
    rib: &'a Rib<A>,
    len: u8,
}

impl<A: Address> Rib<A> {
    /// Returns the routes whose prefixes have at least `len` bits.
    pub(crate) fn at_least(&self, len: u8) -> AtLeast<'_, A> {
        AtLeast { rib: self, len }
    }
}

impl<'a, A: Address> AtLeast<'a, A> {
    /// As [`Rib::covered`].
    pub(crate) fn covered(self, prefix: Prefix<A>) -> impl Iterator<Item = Route<A>> {
        self.rib.covered(prefix).filter(move |route| route.prefix.len() >= self.len)
    }

    /// As [`Rib::ranges`].
    pub(crate) fn ranges(self) -> Ranges<'a, A> {
        self.ranges_within(Prefix::ALL)
    }

    /// As [`Rib::ranges_within`].
    pub(crate) fn ranges_within(self, prefix: Prefix<A>) -> Ranges<'a, A> {
        Ranges::new(self.rib, prefix, self.len)
    }
}

#[cfg(test)]
mod tests {
    use crate::{NextHop, Prefix, Rib};

    #[test]
    fn shorter_routes_are_not_there() {
        let mut rib: Rib<u32> = Rib::new();
        let routes = ["0.0.0.0/0", "10.0.0.0/8", "10.1.0.0/24", "10.1.0.16/28", "10.2.0.0/16"];
        for (at, prefix) in routes.into_iter().enumerate() {
            rib.insert(prefix.parse().unwrap(), NextHop(at as u32 + 1));
        }
        let long = rib.at_least(24);
        let ranges = |prefix: &str| {
            let ranges = long.ranges_within(prefix.parse().unwrap());
            ranges.map(|range| (range.last, range.next_hop.0)).collect::<Vec<_>>()
        };
        let whole = [(0x0A00_FFFF, 0), (0x0A01_000F, 3), (0x0A01_001F, 4), (0x0A01_00FF, 3), (u32::MAX, 0)];
        assert_eq!(ranges("0.0.0.0/0"), whole);
        assert!(long.ranges().eq(long.ranges_within(Prefix::ALL)));
        assert_eq!(ranges("10.2.0.0/24"), [(0x0A02_00FF, 0)]);
        assert_eq!(ranges("10.1.0.16/29"), [(0x0A01_0017, 4)]);
        assert_eq!(long.covered("10.0.0.0/8".parse().unwrap()).count(), 2);
    }
}
