//! [`Direct`]: an entry of the table indexed by the first `s` bits (direct pointing).

use crate::NextHop;
use crate::memory::word_around;

/// The flag of an entry that is the answer itself.
const LEAF: u32 = 1 << 31;

/// An answer, or the index of the root of a trie.
///
/// ```text
///  31  30                                                    0
/// +---+-------------------------------------------------------+
/// | 1 | next hop                                              |
/// | 0 | index of a node                                       |
/// +---+-------------------------------------------------------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Direct(u32);

word_around!(Direct(u32));

impl Direct {
    /// The greatest next hop that the table itself can hold. A greater one has a node of one leaf.
    pub(super) const MAX_NEXT_HOP: NextHop = NextHop(LEAF - 1);

    /// No route.
    pub(super) const NONE: Self = Self(LEAF);

    /// Returns the entry of an answer, or `None` if the answer is too great.
    pub(super) fn leaf(next_hop: NextHop) -> Option<Self> {
        (next_hop <= Self::MAX_NEXT_HOP).then_some(Self(LEAF | next_hop.0))
    }

    /// Returns the entry of the root of a trie. `index` must be below 2^31.
    pub(super) fn node(index: u32) -> Self {
        debug_assert!(index < LEAF);
        Self(index)
    }

    /// Returns whether the entry is the answer itself.
    #[inline(always)]
    pub(super) fn is_leaf(self) -> bool {
        self.0 & LEAF != 0
    }

    /// Returns the answer. The entry must be one.
    #[inline(always)]
    pub(super) fn next_hop(self) -> NextHop {
        NextHop(self.0 & !LEAF)
    }

    /// Returns the index of the root. The entry must not be an answer.
    #[inline(always)]
    pub(super) fn index(self) -> u32 {
        self.0
    }

    /// Returns the index of the root, if there is one.
    pub(super) fn root(self) -> Option<usize> {
        (!self.is_leaf()).then_some(self.0 as usize)
    }
}
