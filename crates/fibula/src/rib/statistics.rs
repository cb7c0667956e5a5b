//! [`Statistics`]: the figures of a table.

use super::Rib;
use crate::{Address, NextHop, Prefix};
use std::collections::HashMap;

/// The figures that papers print of a table; see [`Rib::statistics`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// The number of routes.
    pub routes: usize,
    /// The number of routes of each prefix length: index 0 to the family's bits.
    pub by_length: Vec<usize>,
    /// The number of routes with a shorter cover in the table; a default route covers all others.
    pub nested: usize,
    /// The number of routes with each number of covers in the table: index 0 is those without one.
    /// Empty for an empty table.
    pub by_depth: Vec<usize>,
    /// The most routes that one address matches.
    pub max_depth: usize,
    /// The number of distinct next hops.
    pub next_hops: usize,
    /// The next hop that most routes have, the least of several, and the number of its routes.
    pub most_frequent: Option<(NextHop, usize)>,
    /// The next hop of the default route.
    pub default_route: Option<NextHop>,
    /// The number of intervals of equal answer ([`Rib::ranges`]), those without a route included.
    pub ranges: usize,
    /// The number of leaves of the leaf-pushed trie ([`Rib::leaves`]).
    pub leaves: usize,
}

impl Statistics {
    /// Returns the share of the routes that lead to the most frequent next hop, 0 to 1; 0 for an
    /// empty table.
    #[must_use]
    pub fn most_frequent_share(&self) -> f64 {
        self.most_frequent.map_or(0.0, |(_, count)| count as f64 / self.routes as f64)
    }

    /// Returns the prefix lengths that occur, with their counts, shortest first.
    pub fn lengths(&self) -> impl Iterator<Item = (u8, usize)> {
        let lengths = self.by_length.iter().enumerate();
        lengths.filter(|&(_, &count)| count > 0).map(|(len, &count)| (len as u8, count))
    }

    /// Returns the median prefix length: at least half of the routes are this long or shorter.
    /// Returns `None` for an empty table.
    #[must_use]
    pub fn median_length(&self) -> Option<u8> {
        let mut seen = 0;
        self.lengths().find_map(|(len, count)| {
            seen += count;
            (seen * 2 >= self.routes).then_some(len)
        })
    }
}

impl<A: Address> Rib<A> {
    /// Returns the figures of the table. Walks the routes, the ranges and the leaves once each:
    /// O(n + l) for *l* leaves.
    ///
    /// ```
    /// use fibula::{NextHop, Rib};
    /// let mut rib: Rib<u32> = Rib::new();
    /// rib.insert("0.0.0.0/0".parse()?, NextHop(1));
    /// rib.insert("10.0.0.0/8".parse()?, NextHop(2));
    /// rib.insert("10.1.0.0/16".parse()?, NextHop(1));
    /// let statistics = rib.statistics();
    /// assert_eq!((statistics.nested, statistics.max_depth, statistics.ranges), (2, 3, 5));
    /// assert_eq!(statistics.by_depth, [1, 1, 1]);
    /// assert_eq!(statistics.most_frequent, Some((NextHop(1), 2)));
    /// # Ok::<(), fibula::Error>(())
    /// ```
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let mut by_length = vec![0; usize::from(A::BITS) + 1];
        let mut by_depth = Vec::new();
        let mut next_hops: HashMap<NextHop, usize> = HashMap::new();
        let mut open: Vec<Prefix<A>> = Vec::new();
        for route in self {
            by_length[usize::from(route.prefix.len())] += 1;
            *next_hops.entry(route.next_hop).or_default() += 1;
            while open.pop_if(|cover| !cover.covers(route.prefix)).is_some() {}
            if open.len() == by_depth.len() {
                by_depth.push(0);
            }
            by_depth[open.len()] += 1;
            open.push(route.prefix);
        }
        Statistics {
            routes: self.len(),
            by_length,
            nested: by_depth.iter().skip(1).sum(),
            max_depth: by_depth.len(),
            by_depth,
            next_hops: next_hops.len(),
            most_frequent: next_hops
                .into_iter()
                .min_by_key(|&(next_hop, count)| (usize::MAX - count, next_hop)),
            default_route: self.get(Prefix::ALL),
            ranges: self.ranges().count(),
            leaves: self.leaves().count(),
        }
    }
}
