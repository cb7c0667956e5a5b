//! The longest leaf-pushed path of every prefix: the Random Match set of the TilePro64 study.

use fibula::{Address, Prefix, Rib};

/// For each prefix of the table that still answers for some address, the longest of the leaves that leaf pushing
/// gives it; the first of those in address order. O(n).
///
/// Leaf pushing completes the binary trie of the prefixes. What a prefix answers for is then cut into the gaps that
/// its more specific prefixes leave, and each gap into the fewest aligned blocks, which are its leaves. The
/// smallest block of a gap stands at the end of the gap that is aligned worse.
pub(super) fn longest_leaves<A: Address>(rib: &Rib<A>) -> Vec<Prefix<A>> {
    let mut leaves = Vec::with_capacity(rib.len());
    let mut open: Vec<Open<A>> = Vec::new();
    for route in rib {
        while let Some(inner) = open.pop_if(|open| !open.prefix.covers(route.prefix)) {
            leaves.extend(inner.closed());
        }
        if let Some(outer) = open.last_mut() {
            outer.cut(route.prefix);
        }
        open.push(Open { prefix: route.prefix, at: Some(route.prefix.first()), longest: None });
    }
    while let Some(inner) = open.pop() {
        leaves.extend(inner.closed());
    }
    leaves
}

/// A prefix while what it covers is walked.
struct Open<A> {
    prefix: Prefix<A>,
    /// Where the next gap begins; `None` after the last address.
    at: Option<A>,
    longest: Option<Prefix<A>>,
}

impl<A: Address> Open<A> {
    /// Ends a gap before a more specific prefix and begins the next one after it.
    fn cut(&mut self, child: Prefix<A>) {
        if let (Some(first), Some(last)) = (self.at, child.first().previous())
            && first < child.first()
        {
            self.gap(first, last);
        }
        self.at = child.last().next();
    }

    fn gap(&mut self, first: A, last: A) {
        // The length of the smallest aligned block at each end; an address is as aligned as its low zeros say.
        let at_first = aligned(first);
        let at_last = aligned(!last);
        let leaf = if at_first >= at_last {
            Prefix::containing(first, at_first)
        } else {
            Prefix::containing(last, at_last)
        };
        if self.longest.is_none_or(|longest| longest.len() < leaf.len()) {
            self.longest = Some(leaf);
        }
    }

    fn closed(mut self) -> Option<Prefix<A>> {
        match self.at {
            Some(first) if first == self.prefix.first() => return Some(self.prefix),
            Some(first) if first <= self.prefix.last() => self.gap(first, self.prefix.last()),
            _ => {}
        }
        self.longest
    }
}

/// The length of the largest prefix that begins at an address.
fn aligned<A: Address>(address: A) -> u8 {
    let zeros = address.to_u128().trailing_zeros().min(A::BITS.into()) as u8;
    A::BITS - zeros
}

#[cfg(test)]
mod tests {
    use super::*;
    use fibula::NextHop;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Leaf pushing as it is defined: down the binary trie as far as any prefix goes.
    fn by_definition(rib: &Rib<u32>) -> BTreeMap<Prefix<u32>, Prefix<u32>> {
        fn walk(
            rib: &Rib<u32>,
            node: Prefix<u32>,
            above: Option<Prefix<u32>>,
            longest: &mut BTreeMap<Prefix<u32>, Prefix<u32>>,
        ) {
            let here = rib.get(node).map(|_| node).or(above);
            if rib.covered(node).any(|route| route.prefix != node)
                && let Some(halves) = node.halves()
            {
                halves.into_iter().for_each(|half| walk(rib, half, here, longest));
            } else if let Some(owner) = here {
                let leaf = longest.entry(owner).or_insert(node);
                if leaf.len() < node.len() {
                    *leaf = node;
                }
            }
        }
        let mut longest = BTreeMap::new();
        walk(rib, Prefix::ALL, None, &mut longest);
        longest
    }

    proptest! {
        #[test]
        fn the_walk_is_leaf_pushing(routes in prop::collection::vec((0_u32..256, 0_u8..=8, any::<bool>()), 0..40)) {
            let prefix = |(bits, len, high): (u32, u8, bool)| {
                // Near both ends of the space, and short ones.
                if high { Prefix::containing(!bits, 24 + len) } else { Prefix::containing(bits << 24, len) }
            };
            let rib: Rib<u32> = routes
                .into_iter()
                .map(|route| fibula::Route { prefix: prefix(route), next_hop: NextHop(1) })
                .collect();
            let mut expected: Vec<_> = by_definition(&rib).into_values().collect();
            expected.sort_unstable();
            let mut walked = longest_leaves(&rib);
            walked.sort_unstable();
            prop_assert_eq!(walked, expected);
        }
    }
}
