//! The cut through the prefix tree below one node: its heads, taken from the table's intervals.

use super::chunk::CodeWord;
use super::maptable::MASK;
use crate::rib::{Prefixes, Range};
use crate::{Address, NextHop, Prefix};

/// What a head stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Head<'r> {
    /// Genuine: a leaf of the tree, with its answer.
    Leaf(NextHop),
    /// Root: the tree goes on below this node. Its addresses are those of these intervals that lie in it.
    Root(Prefix<u32>, &'r [Range<u32>]),
}

/// The level below a node of level 0, 16 or 24.
pub(super) fn level_below(node: Prefix<u32>) -> u8 {
    if node.len() == 0 { 16 } else { node.len() + 8 }
}

/// The heads below a node and the slots, counted from 0 within the node, that they stand at. `ranges` begins
/// with the interval that holds the node's first address. O(slots + intervals).
///
/// The tree is the smallest complete one: a node is a leaf if all its addresses have one answer. A leaf whose
/// answer a code word cannot hold is cut where a bit mask begins, so that there is a pointer for each.
pub(super) fn cut(node: Prefix<u32>, mut ranges: &[Range<u32>]) -> Vec<(u16, Head<'_>)> {
    let level = level_below(node);
    let below = !u32::mask(level);
    let slot = |address: u32| address.bits(node.len(), level - node.len()) as u32;
    let mut heads = Vec::new();
    let mut at = Some(node.first());
    while let Some(first) = at.filter(|&first| first <= node.last()) {
        while ranges[0].last < first {
            ranges = &ranges[1..];
        }
        let range = ranges[0];
        let mut last = first | below;
        if range.last < last {
            let root = Prefix::containing(first, level);
            heads.push((slot(first) as u16, Head::Root(root, ranges)));
        } else {
            // The whole slots of the interval: up to its end, or to before the slot that it ends in.
            last = range.last.min(node.last());
            if last & below != below {
                last = (last & !below) - 1;
            }
            let whole_leaf = CodeWord::direct(range.next_hop).is_some();
            for leaf in Prefixes::between(slot(first), slot(last)) {
                let step = if whole_leaf { u32::MAX } else { MASK };
                let slots = (leaf.first()..=leaf.last()).step_by(step as usize);
                heads.extend(slots.map(|slot| (slot as u16, Head::Leaf(range.next_hop))));
            }
        }
        at = last.next();
    }
    heads
}
