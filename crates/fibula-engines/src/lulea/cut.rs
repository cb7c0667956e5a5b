//! The cut through the prefix tree below one node: its heads, from the table's intervals.

use super::chunk::CodeWord;
use super::maptable::MASK;
use fibula::rib::{Prefixes, Range};
use fibula::{Address, NextHop, Prefix};

/// The meaning of a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Head<'r> {
    /// Genuine: a leaf of the tree, with its answer.
    Leaf(NextHop),
    /// Root: the tree continues below this node. These intervals include those of its addresses.
    Root(Prefix<u32>, &'r [Range<u32>]),
}

/// Returns the level below a node of level 0, 16 or 24.
pub(super) fn level_below(node: Prefix<u32>) -> u8 {
    if node.len() == 0 { 16 } else { node.len() + 8 }
}

/// Returns the heads below a node and their slots, counted from 0 within the node. `ranges` begins
/// with the interval that holds the node's first address. O(slots + intervals).
///
/// The tree is the smallest complete one: a node is a leaf if all its addresses have one answer. A
/// leaf whose answer does not fit a code word is cut at the beginning of each bit mask, so that
/// each mask has a pointer.
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
            // The whole slots of the interval: up to its end, or to before the slot that it ends
            // in.
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
