//! [`Node`]: one 32-bit word of the trie.

/// The bits of a node's branching factor, the lowest ones. 0 marks a leaf.
const BRANCH_BITS: u32 = 5;
/// The bits of a node's skip value, above the branching factor.
const SKIP_BITS: u32 = 5;
/// The bits that are left for the address of the children, in pairs of nodes.
const ADDRESS_BITS: u32 = u32::BITS - BRANCH_BITS - SKIP_BITS;

/// The most address bits that one node skips. A longer common beginning takes further nodes.
pub const MAX_SKIP: u8 = (1 << SKIP_BITS) - 1;

/// The most nodes: what the address of the children can reach.
pub const MAX_NODES: u64 = 1 << (ADDRESS_BITS + 1);

/// The most address bits that one node branches on: its children fill half of all nodes.
pub const MAX_BRANCH: u8 = (MAX_NODES / 2).ilog2() as u8;

const _: () = assert!((MAX_BRANCH as u32) < 1 << BRANCH_BITS);
// A leaf has no skip, so an index that counts leaves fits into what remains.
const _: () = assert!(MAX_NODES <= 1 << (u32::BITS - BRANCH_BITS));

/// A branch or a leaf; drawn on the [module page](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct Node(u32);

impl Node {
    /// Returns the leaf of a base string.
    pub(super) fn leaf(base: usize) -> Self {
        debug_assert!((base as u64) < MAX_NODES);
        Self((base as u32) << BRANCH_BITS)
    }

    /// Returns a node that skips `skip` bits and then has 2^`branch` children, from the even index
    /// `children` on.
    pub(super) fn branching(branch: u8, skip: u8, children: usize) -> Self {
        debug_assert!((1..=MAX_BRANCH).contains(&branch) && skip <= MAX_SKIP);
        debug_assert!(children.is_multiple_of(2) && (children as u64) < MAX_NODES);
        let pair = (children / 2) as u32;
        Self(pair << (BRANCH_BITS + SKIP_BITS) | u32::from(skip) << BRANCH_BITS | u32::from(branch))
    }

    #[inline(always)]
    pub(super) fn is_leaf(self) -> bool {
        self.branch() == 0
    }

    /// Returns the number of address bits that choose the child, or 0 for a leaf.
    #[inline(always)]
    pub(super) fn branch(self) -> u8 {
        (self.0 & ((1 << BRANCH_BITS) - 1)) as u8
    }

    /// Returns the number of address bits to skip first. Meaningless for a leaf.
    #[inline(always)]
    pub(super) fn skip(self) -> u8 {
        ((self.0 >> BRANCH_BITS) & ((1 << SKIP_BITS) - 1)) as u8
    }

    /// Returns the index of the leftmost child. The node must be a branch.
    #[inline(always)]
    pub(super) fn children(self) -> usize {
        (self.0 >> (BRANCH_BITS + SKIP_BITS) << 1) as usize
    }

    /// Returns the index of the base string. The node must be a leaf.
    #[inline(always)]
    pub(super) fn base(self) -> usize {
        (self.0 >> BRANCH_BITS) as usize
    }
}
