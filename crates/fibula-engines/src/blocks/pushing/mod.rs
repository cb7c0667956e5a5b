//! Pushing: answers moved down a trie so that they are stored on a few levels only.
//!
//! - *Leaf pushing* gives every node below a solid one its answer, so that the lookup ends at the
//!   first leaf.
//! - *Pivot pushing* (SAIL, section 3.2) does so below the internal nodes of one level. [`pushed`]
//!   lists the content of the chunk below such a node.
//! - *Level pushing* (SAIL, section 4.2) does so at each of several levels. [`Levels`] is the
//!   interface of an engine that stores such chunks; [`repaint`] makes them follow a route that
//!   changed.
//!
//! All of them need two facts from a table. One is whether a node is internal. The other is which
//! addresses a route owns: those that no more-specific route covers ([`Exposed`]).

mod exposed;
mod levels;

pub use exposed::{Exposed, exposed};
pub use levels::{ANSWER, Levels, Slot, paint, paint_all, repaint, validate};

use fibula::{Address, NextHop, Prefix, Rib, Route};
use std::ops::{Range, RangeInclusive};

/// Returns whether a node has routes below it, so that pushing gives it a chunk. O(log n).
///
/// ```
/// use fibula_engines::blocks::pushing::is_internal;
/// use fibula::{NextHop, Rib};
/// let mut rib: Rib<u32> = Rib::new();
/// rib.insert("10.1.0.0/16".parse()?, NextHop(1));
/// assert!(is_internal(&rib, "10.0.0.0/8".parse()?));
/// assert!(!is_internal(&rib, "10.1.0.0/16".parse()?)); // its own route is not below it
/// # Ok::<(), fibula::Error>(())
/// ```
#[must_use]
pub fn is_internal<A: Address>(rib: &Rib<A>, node: Prefix<A>) -> bool {
    // The node's own route, if any, comes first.
    rib.covered(node).take(2).any(|route| route.prefix != node)
}

/// Returns the number of nodes of a level that are internal to `routes`: the chunks that pushing
/// creates below the level. The routes come in order and may be a part of a table. O(n).
#[must_use]
pub fn internal_nodes<A: Address>(routes: impl IntoIterator<Item = Route<A>>, level: u8) -> usize {
    let mut last = None;
    let mut count = 0;
    for route in routes {
        // In order of address, routes below one node are neighbours, shorter ones aside.
        if route.prefix.len() > level {
            let node = route.prefix.first() & A::mask(level);
            if last != Some(node) {
                last = Some(node);
                count += 1;
            }
        }
    }
    count
}

/// Returns the content of the chunk below a node: runs of slots at `level`, counted from 0 within
/// the node, with their answers. O(log n) and O(1) a route below the node.
///
/// No route below the node may be longer than `level`: push those to levels below first.
///
/// ```
/// use fibula_engines::blocks::pushing::pushed;
/// use fibula::{NextHop, Rib};
/// let mut rib: Rib<u32> = Rib::new();
/// rib.insert("10.0.0.0/8".parse()?, NextHop(1));
/// rib.insert("10.0.0.64/26".parse()?, NextHop(2));
/// let chunk: Vec<_> = pushed(&rib, "10.0.0.0/24".parse()?, 32).collect();
/// assert_eq!(chunk, [(0..=63, NextHop(1)), (64..=127, NextHop(2)), (128..=255, NextHop(1))]);
/// # Ok::<(), fibula::Error>(())
/// ```
pub fn pushed<A: Address>(
    rib: &Rib<A>,
    node: Prefix<A>,
    level: u8,
) -> impl Iterator<Item = (RangeInclusive<usize>, NextHop)> {
    let slot = move |address: A| address.bits(node.len(), level - node.len()) as usize;
    rib.ranges_within(node).map(move |range| (slot(range.first)..=slot(range.last), range.next_hop))
}

/// Returns the number of words of `per_word` slots that contain at least one of `slots` that
/// changes: the cost of writing them where neighbours share a word. O(slots), and O(words) where
/// the first slot of each changes.
///
/// ```
/// use fibula_engines::blocks::pushing::words_written;
/// assert_eq!(words_written(3..130, 64, |_| true), 3);
/// assert_eq!(words_written(3..130, 64, |slot| slot == 64), 1);
/// assert_eq!(words_written(64..64, 64, |_| true), 0);
/// ```
#[must_use]
pub fn words_written(slots: Range<usize>, per_word: usize, changes: impl Fn(usize) -> bool) -> u64 {
    let mut words = 0;
    let mut start = slots.start;
    while start < slots.end {
        let end = ((start / per_word + 1) * per_word).min(slots.end);
        words += u64::from((start..end).any(&changes));
        start = end;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn internal_nodes_are_those_with_longer_routes(
            prefixes in proptest::collection::vec((any::<u32>(), 0..=12_u8), 0..30), level in 0..=12_u8,
        ) {
            let mut rib = Rib::new();
            for (address, len) in prefixes {
                rib.insert(Prefix::containing(address, len), NextHop(1));
            }
            let longer = rib.iter().filter(|r| r.prefix.len() > level);
            let nodes: BTreeSet<_> = longer.map(|r| Prefix::containing(r.prefix.first(), level)).collect();
            prop_assert_eq!(internal_nodes(&rib, level), nodes.len());
            for slot in 0..1_u64 << level {
                let node = Prefix::containing(u32::from_bits(slot, 0, level), level);
                prop_assert_eq!(is_internal(&rib, node), nodes.contains(&node));
            }
        }
    }
}
