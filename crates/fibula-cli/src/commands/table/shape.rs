//! [`Shape`]: the counts that tell how a table is made.

use fibula::{Address, NextHop, Prefix, Rib};
use std::collections::{BTreeMap, HashSet};

/// How many prefixes a table has of each kind.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Shape {
    /// By length.
    pub(super) lengths: BTreeMap<u8, usize>,
    /// By the number of shorter prefixes that cover them.
    pub(super) depths: BTreeMap<usize, usize>,
    /// The number of distinct next hops.
    pub(super) next_hops: usize,
}

impl Shape {
    /// Counts in one walk: routes come in the order of a depth-first walk, so those around a prefix are on a stack.
    pub(super) fn of<A: Address>(rib: &Rib<A>) -> Self {
        let mut shape = Self::default();
        let mut next_hops: HashSet<NextHop> = HashSet::new();
        let mut around: Vec<Prefix<A>> = Vec::new();
        for route in rib {
            while around.last().is_some_and(|cover| !cover.covers(route.prefix)) {
                around.pop();
            }
            *shape.lengths.entry(route.prefix.len()).or_default() += 1;
            *shape.depths.entry(around.len()).or_default() += 1;
            next_hops.insert(route.next_hop);
            around.push(route.prefix);
        }
        shape.next_hops = next_hops.len();
        shape
    }

    /// The number of prefixes with a shorter one around them.
    pub(super) fn covered(&self) -> usize {
        self.depths.range(1..).map(|(_, count)| count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fibula::Route;

    #[test]
    fn depth_counts_the_covers_above() {
        let prefixes = ["0.0.0.0/0", "10.0.0.0/8", "10.0.0.0/16", "10.1.0.0/16", "11.0.0.0/8"];
        let rib: Rib<u32> = (1..)
            .zip(prefixes)
            .map(|(next_hop, prefix)| Route {
                prefix: prefix.parse().unwrap(),
                next_hop: NextHop(next_hop % 3 + 1),
            })
            .collect();
        let shape = Shape::of(&rib);
        assert_eq!(shape.lengths, BTreeMap::from([(0, 1), (8, 2), (16, 2)]));
        assert_eq!(shape.depths, BTreeMap::from([(0, 1), (1, 2), (2, 2)]));
        assert_eq!((shape.covered(), shape.next_hops), (4, 3));
        assert_eq!(Shape::of(&Rib::<u128>::new()), Shape::default());
    }
}
