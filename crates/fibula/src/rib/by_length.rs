//! [`OfLengths`]: the routes of a table whose prefixes are long, or those that are short.

use super::{Ranges, Rib, tree};
use crate::{Address, NextHop, Prefix, Route};
use std::ops::RangeInclusive;

/// The routes of a table whose prefixes have at least one length and at most another, for an engine
/// that keeps the others elsewhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OfLengths<'a, A: Address> {
    rib: &'a Rib<A>,
    least: u8,
    most: u8,
}

impl<A: Address> Rib<A> {
    /// Returns the routes whose prefixes have at least `len` bits.
    pub(crate) fn at_least(&self, len: u8) -> OfLengths<'_, A> {
        OfLengths { rib: self, least: len, most: A::BITS }
    }

    /// Returns the routes whose prefixes have one of these lengths.
    pub(crate) fn of_lengths(&self, lengths: RangeInclusive<u8>) -> OfLengths<'_, A> {
        OfLengths { rib: self, least: *lengths.start(), most: *lengths.end() }
    }

    /// Returns the routes whose prefixes have at most `len` bits.
    pub(crate) fn at_most(&self, len: u8) -> OfLengths<'_, A> {
        OfLengths { rib: self, least: 0, most: len }
    }
}

impl<'a, A: Address> OfLengths<'a, A> {
    /// As [`Rib::covered`].
    pub(crate) fn covered(self, prefix: Prefix<A>) -> impl Iterator<Item = Route<A>> {
        let is_one = move |route: &Route<A>| (self.least..=self.most).contains(&route.prefix.len());
        self.rib.covered(prefix).filter(is_one)
    }

    /// Returns the next hop of the longest such route that covers `prefix`, itself included, which
    /// is not longer than the longest of them.
    pub(crate) fn next_hop_of(self, prefix: Prefix<A>) -> NextHop {
        let cover = self.rib.longest_cover(prefix).filter(|route| route.prefix.len() >= self.least);
        cover.map_or(NextHop::NONE, |route| route.next_hop)
    }

    /// Returns the parts of `prefix` that no more-specific route fills, in order: the first and the
    /// last address of each. They are what a change of the route of `prefix` has another answer
    /// for. O(log n) to begin, then O(1) a covered route.
    pub(crate) fn gaps(self, prefix: Prefix<A>) -> Gaps<'a, A> {
        Gaps {
            routes: self.rib.routes.range(prefix, Prefix::host(prefix.last())),
            lens: self.least.max(prefix.len() + 1)..=self.most,
            from: prefix.first(),
            last: prefix.last(),
            is_over: false,
        }
    }

    /// Returns a bound of the number of such routes. O(1).
    pub(crate) fn len_at_most(self) -> usize {
        self.rib.len()
    }

    /// As [`Rib::ranges`].
    pub(crate) fn ranges(self) -> Ranges<'a, A> {
        self.ranges_within(Prefix::ALL)
    }

    /// As [`Rib::ranges_within`]. Routes that are too long cost one search for each network of the
    /// greatest length that has many.
    pub(crate) fn ranges_within(self, prefix: Prefix<A>) -> Ranges<'a, A> {
        Ranges::new(self.rib, prefix, self.least, self.most)
    }

    /// Returns the networks of `len` bits inside `within` that have such routes, in order. `len` is
    /// less than the least length of the routes. A search for each.
    pub(crate) fn networks(self, within: Prefix<A>, len: u8) -> impl Iterator<Item = Prefix<A>> {
        debug_assert!(within.len() <= len && len < self.least);
        let (mut from, last) = (Some(within), Prefix::host(within.last()));
        std::iter::from_fn(move || {
            let mut routes = self.rib.routes.range(from?, last);
            let route = routes.find(|route| route.prefix.len() >= self.least)?;
            let network = Prefix::containing(route.prefix.first(), len);
            let past = network.last().next().filter(|&past| past <= last.first());
            from = past.map(|past| Prefix::containing(past, len));
            Some(network)
        })
    }
}

/// See [`OfLengths::gaps`]. Whoever walks it stores each gap in fields of its own: a copy of an
/// `Option` of two addresses would wait until the halves have left the store buffer.
#[derive(Clone, Debug)]
pub(crate) struct Gaps<'a, A: Address> {
    /// The routes that are not passed.
    routes: tree::Walk<'a, A>,
    /// The lengths of the routes that fill anything.
    lens: RangeInclusive<u8>,
    /// The first address that no route so far fills.
    from: A,
    /// The last address of the prefix.
    last: A,
    /// Whether there is nothing after the routes so far.
    is_over: bool,
}

impl<A: Address> Iterator for Gaps<'_, A> {
    type Item = (A, A);

    #[inline(always)]
    fn next(&mut self) -> Option<(A, A)> {
        while !self.is_over {
            let start = self.from;
            let Some(Route { prefix: route, .. }) = self.routes.next() else {
                self.is_over = true;
                return Some((start, self.last));
            };
            // A route inside the one before fills nothing more.
            if !self.lens.contains(&route.len()) || route.first() < start {
                continue;
            }
            match route.last().next() {
                Some(next) if next <= self.last => self.from = next,
                _ => self.is_over = true,
            }
            if let Some(end) = route.first().previous().filter(|&end| end >= start) {
                return Some((start, end));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::OfLengths;
    use crate::{NextHop, Prefix, Rib};

    const ROUTES: [&str; 6] =
        ["0.0.0.0/0", "10.0.0.0/8", "10.1.0.0/24", "10.1.0.16/28", "10.2.0.0/16", "10.2.1.0/24"];

    fn rib() -> Rib<u32> {
        let mut rib = Rib::new();
        for (at, prefix) in ROUTES.into_iter().enumerate() {
            rib.insert(prefix.parse().unwrap(), NextHop(at as u32 + 1));
        }
        rib
    }

    #[test]
    fn shorter_routes_are_not_there() {
        let rib = rib();
        let long = rib.at_least(24);
        let ranges = |prefix: &str| {
            let ranges = long.ranges_within(prefix.parse().unwrap());
            ranges.map(|range| (range.last, range.next_hop.0)).collect::<Vec<_>>()
        };
        let whole = [
            (0x0A00_FFFF, 0),
            (0x0A01_000F, 3),
            (0x0A01_001F, 4),
            (0x0A01_00FF, 3),
            (0x0A02_00FF, 0),
            (0x0A02_01FF, 6),
            (u32::MAX, 0),
        ];
        assert_eq!(ranges("0.0.0.0/0"), whole);
        assert!(long.ranges().eq(long.ranges_within(Prefix::ALL)));
        assert_eq!(ranges("10.2.0.0/24"), [(0x0A02_00FF, 0)]);
        assert_eq!(ranges("10.1.0.16/29"), [(0x0A01_0017, 4)]);
        assert_eq!(long.covered("10.0.0.0/8".parse().unwrap()).count(), 3);
    }

    #[test]
    fn longer_routes_are_not_there_however_many() {
        let mut rib = rib();
        for host in (0..100).map(|at| 0x0A02_0100 + at) {
            rib.insert(Prefix::host(host), NextHop(9));
        }
        rib.insert("10.2.2.0/24".parse().unwrap(), NextHop(8));
        let mut short = Rib::new();
        for route in rib.iter().filter(|route| route.prefix.len() <= 16) {
            short.insert(route.prefix, route.next_hop);
        }
        for within in ["0.0.0.0/0", "10.0.0.0/8", "10.2.0.0/16", "10.2.0.0/15"] {
            let within = within.parse().unwrap();
            assert!(rib.at_most(16).ranges_within(within).eq(short.ranges_within(within)), "{within}");
        }
    }

    #[test]
    fn gaps_are_what_more_specific_routes_leave() {
        let mut rib = rib();
        for (prefix, next_hop) in [("0.0.0.0/32", 1), ("10.1.0.0/30", 2), ("255.255.255.255/32", 3)] {
            rib.insert(prefix.parse().unwrap(), NextHop(next_hop));
        }
        let gaps = |routes: OfLengths<'_, u32>, prefix: &str| {
            routes.gaps(prefix.parse().unwrap()).collect::<Vec<(u32, u32)>>()
        };
        let all = rib.at_least(0);
        assert_eq!(gaps(all, "0.0.0.0/0"), [(1, 0x09FF_FFFF), (0x0B00_0000, u32::MAX - 1)]);
        let between = [(0x0A00_0000, 0x0A00_FFFF), (0x0A01_0100, 0x0A01_FFFF), (0x0A03_0000, 0x0AFF_FFFF)];
        assert_eq!(gaps(all, "10.0.0.0/8"), between);
        assert_eq!(gaps(all, "10.1.0.0/24"), [(0x0A01_0004, 0x0A01_000F), (0x0A01_0020, 0x0A01_00FF)]);
        assert_eq!(gaps(all, "10.1.0.0/29"), [(0x0A01_0004, 0x0A01_0007)]);
        assert_eq!(gaps(all, "10.1.0.0/31"), [(0x0A01_0000, 0x0A01_0001)]);
        assert_eq!(gaps(all, "255.255.255.254/31"), [(u32::MAX - 1, u32::MAX - 1)]);
        assert_eq!(gaps(rib.at_least(25), "10.1.0.0/24").len(), 2);
        assert_eq!(gaps(rib.at_least(31), "10.1.0.0/24"), [(0x0A01_0000, 0x0A01_00FF)]);
        let next_hop =
            |routes: OfLengths<'_, u32>, prefix: &str| routes.next_hop_of(prefix.parse().unwrap()).0;
        assert_eq!((next_hop(all, "10.1.0.0/28"), next_hop(rib.at_least(25), "10.1.0.0/28")), (3, 0));
    }

    #[test]
    fn each_network_with_long_routes_is_found_once() {
        let rib = rib();
        let networks = |within: &str| {
            let networks = rib.at_least(17).networks(within.parse().unwrap(), 16);
            networks.map(|network| network.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(networks("0.0.0.0/0"), ["10.1.0.0/16", "10.2.0.0/16"]);
        assert_eq!(networks("10.2.0.0/15"), ["10.2.0.0/16"]);
        assert_eq!(networks("10.2.0.0/16"), ["10.2.0.0/16"]);
        assert_eq!(networks("10.3.0.0/16"), [""; 0]);
    }
}
