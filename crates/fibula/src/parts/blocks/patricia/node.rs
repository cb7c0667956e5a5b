//! [`Node`]: a prefix of the tree.

use crate::engine::Width;
use crate::{Address, Prefix};

/// The index that points nowhere. It is past the end of every array, so that reading it finds
/// nothing.
pub(super) const NIL: u32 = u32::MAX;

/// The greatest number of nodes: every 32-bit index but [`NIL`].
pub const MAX_NODES: u64 = NIL as u64;

/// One node; drawn on the [module page](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(16))]
pub(super) struct Node<A, W> {
    /// The bits of the prefix, followed by zeros.
    pub(super) key: A,
    /// The children for a 0 and for a 1 in the bit after the prefix.
    pub(super) children: [u32; 2],
    /// The answer of the node's route; 0 for a branch, which has none.
    pub(super) next_hop: W,
    /// The length of the prefix.
    pub(super) len: u8,
}

// The alignment exists so that whole nodes fill whole cache lines.
const _: () = assert!(size_of::<Node<u32, u8>>() == 16 && size_of::<Node<u32, u16>>() == 16);
const _: () = assert!(size_of::<Node<u32, u32>>() == 32 && size_of::<Node<u128, u32>>() == 32);

/// The content of a free slot: a branch without children, which no tree has.
impl<A: Address, W: Width> Default for Node<A, W> {
    fn default() -> Self {
        Self { key: A::ZERO, children: [NIL; 2], next_hop: W::default(), len: 0 }
    }
}

impl<A: Address, W: Width> Node<A, W> {
    /// Creates a node without children.
    pub(super) fn new(prefix: Prefix<A>, next_hop: W) -> Self {
        Self { key: prefix.first(), children: [NIL; 2], next_hop, len: prefix.len() }
    }

    pub(super) fn prefix(&self) -> Prefix<A> {
        Prefix::containing(self.key, self.len)
    }

    #[inline(always)]
    pub(super) fn is_route(&self) -> bool {
        self.next_hop != W::default()
    }

    /// Returns whether an address begins with the node's prefix.
    #[inline(always)]
    pub(super) fn begins(&self, address: A) -> bool {
        self.key.common_prefix_len(address) >= self.len
    }

    /// Returns the child on the side of `address`. A host route has no children; the bit past its
    /// end reads as 0.
    #[inline(always)]
    pub(super) fn child(&self, address: A) -> u32 {
        self.children[self.side(address)]
    }

    /// Returns the side of an address: its bit after the prefix.
    #[inline(always)]
    pub(super) fn side(&self, address: A) -> usize {
        usize::from(address.bit(self.len))
    }
}
