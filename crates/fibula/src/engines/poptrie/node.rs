//! [`Node`]: sixty-four slots in 24 bytes. [`Slots`]: the same slots spread out, while a node is
//! being made.

use crate::blocks::rank::through;
use crate::engine::Width;
use crate::memory::Around;
use std::hint::select_unpredictable;

/// The address bits that a node consumes.
pub(super) const STRIDE: u8 = 6;

/// The slots of a node.
pub(super) const FAN_OUT: usize = 1 << STRIDE;

/// A node of the trie; see the [module page](super) for its picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Node {
    /// Bit *v*: slot *v* is a child.
    pub(super) vector: u64,
    /// Bit *v*: a run of equal leaves begins at slot *v*.
    pub(super) leafvec: u64,
    /// The index of its first child. There is one for each bit of `vector`.
    pub(super) base0: u32,
    /// The index of its first leaf. There is one for each bit of `leafvec`.
    pub(super) base1: u32,
}

impl Node {
    /// Takes one step down. Returns whether `slot` is a child, and its index among the nodes or
    /// else the leaves. Only the low six bits of `slot` count.
    #[inline(always)]
    pub(super) fn step(&self, slot: u32) -> (bool, u32) {
        let children = through(self.vector, slot);
        let is_child = children.cast_signed() < 0;
        // No branch: which of the two it is depends on the address and cannot be predicted.
        let word = select_unpredictable(is_child, children, through(self.leafvec, slot));
        let base = select_unpredictable(is_child, self.base0, self.base1);
        (is_child, base.wrapping_add(word.count_ones()).wrapping_sub(1))
    }

    /// Returns the index of the child in `slot`, if there is one.
    pub(super) fn child(&self, slot: u32) -> Option<usize> {
        let (is_child, index) = self.step(slot);
        is_child.then_some(index as usize)
    }

    /// Returns whether both nodes have children and runs of leaves at the same slots.
    pub(super) fn is_shaped_like(&self, other: &Self) -> bool {
        (self.vector, self.leafvec) == (other.vector, other.leafvec)
    }

    /// Returns the start and number of its children.
    pub(super) fn children(&self) -> (usize, usize) {
        (self.base0 as usize, self.vector.count_ones() as usize)
    }

    /// Returns the start and number of its leaves.
    pub(super) fn leaves(&self) -> (usize, usize) {
        (self.base1 as usize, self.leafvec.count_ones() as usize)
    }
}

/// While a node is shared, at most its bases change: no slot becomes a child or a leaf or joins
/// another run. A reader uses only one of the two bases.
impl Around for Node {
    type Inner = [u64; 3];

    #[inline(always)]
    fn around([vector, leafvec, bases]: Self::Inner) -> Self {
        Self { vector, leafvec, base0: bases as u32, base1: (bases >> 32) as u32 }
    }

    #[inline(always)]
    fn inner(self) -> Self::Inner {
        [self.vector, self.leafvec, u64::from(self.base1) << 32 | u64::from(self.base0)]
    }
}

/// The contents of a stretch of the address space.
#[derive(Clone, Copy, Debug)]
pub(super) enum Entry<W> {
    /// One answer everywhere.
    Leaf(W),
    /// More than one answer.
    Node(Node),
}

/// A node while it is being made. Slots are filled in order, and equal neighbouring leaves are
/// merged.
///
/// A child between two equal leaves does not separate them, because no rank is ever taken at a
/// child's slot. So every set of slots has exactly one form, however it was made.
pub(super) struct Slots<W> {
    pub(super) vector: u64,
    pub(super) leafvec: u64,
    children: [Node; FAN_OUT],
    leaves: [W; FAN_OUT],
}

impl<W: Width> Slots<W> {
    pub(super) fn new() -> Self {
        let (children, leaves) = ([Node::default(); FAN_OUT], [W::default(); FAN_OUT]);
        Self { vector: 0, leafvec: 0, children, leaves }
    }

    /// Sets the answer from `slot` on, up to the next call's slot.
    pub(super) fn leaf(&mut self, slot: u32, next_hop: W) {
        let count = self.leafvec.count_ones() as usize;
        if count == 0 || self.leaves[count - 1] != next_hop {
            self.leaves[count] = next_hop;
            self.leafvec |= 1 << slot;
        }
    }

    /// Sets `slot` to a child.
    pub(super) fn child(&mut self, slot: u32, node: Node) {
        self.children[self.vector.count_ones() as usize] = node;
        self.vector |= 1 << slot;
    }

    pub(super) fn children(&self) -> &[Node] {
        &self.children[..self.vector.count_ones() as usize]
    }

    pub(super) fn leaves(&self) -> &[W] {
        &self.leaves[..self.leafvec.count_ones() as usize]
    }

    /// Returns the answer of all slots, if there is only one.
    pub(super) fn only_leaf(&self) -> Option<W> {
        match (self.vector, self.leaves()) {
            (0, &[next_hop]) => Some(next_hop),
            _ => None,
        }
    }
}

/// Returns the number of bits of `kept` that are also in `of`.
pub(super) fn shared(kept: u64, of: u64) -> u64 {
    u64::from((kept & of).count_ones())
}

/// Iterates over the positions of the set bits of `word`, in order.
pub(super) fn positions(word: u64) -> impl Iterator<Item = u32> {
    let mut rest = word;
    std::iter::from_fn(move || {
        let position = (rest != 0).then(|| rest.trailing_zeros())?;
        rest &= rest - 1;
        Some(position)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_24_bytes() {
        assert_eq!((size_of::<Node>(), size_of::<<Node as Around>::Inner>()), (24, 24));
    }

    #[test]
    fn equal_leaves_merge_across_a_child() {
        let mut slots: Slots<u8> = Slots::new();
        slots.leaf(0, 1);
        slots.child(3, Node::default());
        slots.leaf(4, 1);
        slots.leaf(9, 2);
        assert_eq!((slots.vector, slots.leafvec), (1 << 3, 1 | 1 << 9));
        assert_eq!((slots.children().len(), slots.leaves()), (1, &[1, 2][..]));
        let node = Node { vector: slots.vector, leafvec: slots.leafvec, base0: 10, base1: 20 };
        assert_eq!([0, 3, 4, 8, 9, 63].map(|slot| node.step(slot).1), [20, 10, 20, 20, 21, 21]);
        assert_eq!((node.child(3), node.child(4)), (Some(10), None));
    }

    #[test]
    fn positions_are_the_set_bits() {
        assert_eq!(positions(0).count(), 0);
        assert_eq!(positions(1 | 1 << 5 | 1 << 63).collect::<Vec<_>>(), [0, 5, 63]);
    }
}
