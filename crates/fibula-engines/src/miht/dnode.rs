//! [`Dnode`]: a node of a priority trie.

use super::inode::NIL;
use fibula::engine::Width;
use fibula::{Address, Prefix, Route};

/// A data node: one route; drawn on the [module page](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Dnode<A, W> {
    /// The bits of the route's prefix, then zeros.
    pub(super) key: A,
    /// Where the trie continues if the bit that this level branches on is 0, or 1.
    pub(super) children: [u32; 2],
    /// The route's answer.
    pub(super) next_hop: W,
    /// The length of its prefix.
    pub(super) len: u8,
    /// The length of the longest prefix in the subtree. It is this node's own prefix unless the
    /// node is an ordinary one.
    pub(super) longest: u8,
}

// All but the widest for IPv4 fill whole cache lines.
const _: () = assert!(size_of::<Dnode<u32, u8>>() == 16 && size_of::<Dnode<u32, u16>>() == 16);
const _: () = assert!(size_of::<Dnode<u32, u32>>() == 20 && size_of::<Dnode<u128, u32>>() == 32);

impl<A: Address, W: Width> Dnode<A, W> {
    /// Returns a node without children.
    pub(super) fn of(route: Route<A>) -> Self {
        let len = route.prefix.len();
        let next_hop = W::narrow(route.next_hop);
        Self { key: route.prefix.first(), children: [NIL; 2], next_hop, len, longest: len }
    }

    pub(super) fn prefix(&self) -> Prefix<A> {
        Prefix::containing(self.key, self.len)
    }

    /// Returns whether an address begins with the node's prefix.
    #[inline(always)]
    pub(super) fn matches(&self, address: A) -> bool {
        self.key.common_prefix_len(address) >= self.len
    }

    /// Returns whether no prefix below is longer, so that a match here is the longest.
    #[inline(always)]
    pub(super) fn has_longest(&self) -> bool {
        self.len == self.longest
    }

    /// Returns where a node of this level continues for an address. The level of a host route has
    /// no bit; it reads as 0.
    #[inline(always)]
    pub(super) fn child(&self, address: A, level: u8) -> u32 {
        self.children[address.bits(level, 1) as usize]
    }

    /// Returns whether its prefix goes above another's where both may be stored: the longer one
    /// does, or of equals the first in order.
    pub(super) fn goes_before(&self, other: &Self) -> bool {
        (other.len, self.key) < (self.len, other.key)
    }

    /// Takes the route of another node and keeps its own position in the trie.
    pub(super) fn take_route(&mut self, other: &Self) {
        (self.key, self.len, self.next_hop) = (other.key, other.len, other.next_hop);
    }
}
