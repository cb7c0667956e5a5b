//! The longest leaf-pushed path of every prefix: the Random Match set of the TILEPro64 study.

use fibula::{Address, Prefix, Rib};
use std::collections::HashMap;

/// Returns the longest leaf that leaf pushing gives to each prefix that still answers for some
/// address; of several the first in address order. O(m) for *m* leaves.
pub(super) fn longest_leaves<A: Address>(rib: &Rib<A>) -> Vec<Prefix<A>> {
    let mut longest: Vec<Prefix<A>> = Vec::with_capacity(rib.len());
    let mut index_of = HashMap::with_capacity(rib.len());
    for leaf in rib.leaves() {
        let index = *index_of.entry(leaf.route.prefix).or_insert(longest.len());
        match longest.get_mut(index) {
            Some(known) if known.len() < leaf.prefix.len() => *known = leaf.prefix,
            Some(_) => {}
            None => longest.push(leaf.prefix),
        }
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;
    use fibula::NextHop;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Leaf pushing by its definition: down the binary trie as far as any prefix goes.
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
                for half in halves {
                    walk(rib, half, here, longest);
                }
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
                // Near both ends of the space, and short prefixes.
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
