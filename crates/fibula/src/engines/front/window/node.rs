//! The nodes: intervals and their words in a line.

use crate::arch::SHORT_KEYS;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// The mark of a word that names a node.
pub(super) const MARK: u16 = 1 << 15;

/// The word of addresses that no route longer than the network contains.
pub(super) const COVER: u16 = MARK - 1;

/// The greatest next-hop index that a word holds.
pub(super) const NEXT_HOPS_MAX: u32 = COVER as u32 - 1;

/// The most nodes of each kind.
pub(super) const NODES_MAX: u64 = MARK as u64;

/// The intervals of a short node.
pub(super) const SHORT: usize = SHORT_KEYS;
/// The intervals of a long node: one more than ends.
pub(super) const LONG: usize = LONG_ENDS + 1;
const LONG_ENDS: usize = 6;

/// The bits of an address between a slot and a long node.
pub(super) const CELL: u8 = 16;

/// The intervals of a slot: the last cell of each, and its word. Node 0 has only words 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C, align(32))]
pub(super) struct Short {
    pub ends: [u16; SHORT],
    pub words: [u16; SHORT],
}

/// The intervals of a cell: the last number of each but the last one, and their words. Node 0 has
/// only words 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C, align(64))]
pub(super) struct Long {
    pub ends: [u64; LONG_ENDS],
    pub words: [u16; 8],
}

impl Short {
    /// Returns the node of at most [`SHORT`] intervals, the last of which ends at the greatest
    /// number.
    pub(super) fn of(intervals: &[(u16, u16)]) -> Self {
        let mut node = Self { ends: [u16::MAX; SHORT], words: [0; SHORT] };
        for (at, &(end, word)) in intervals.iter().enumerate() {
            (node.ends[at], node.words[at]) = (end, word);
        }
        node
    }

    /// Returns the intervals: the last cell and the word of each.
    pub(super) fn intervals(&self) -> impl Iterator<Item = (u16, u16)> {
        let len = self.ends.iter().position(|&end| end == u16::MAX).map_or(SHORT, |last| last + 1);
        self.ends.into_iter().zip(self.words).take(len)
    }
}

impl Long {
    /// The numbers of a line that are ends, one bit each.
    pub(super) const ENDS: u32 = (1 << LONG_ENDS) - 1;

    /// Returns the node of at most [`LONG`] intervals, the last of which ends at the greatest
    /// number.
    pub(super) fn of(intervals: &[(u64, u16)]) -> Self {
        let mut node = Self { ends: [u64::MAX; LONG_ENDS], words: [0; 8] };
        for (at, &(end, word)) in intervals.iter().enumerate() {
            if let Some(place) = node.ends.get_mut(at) {
                *place = end;
            }
            node.words[at] = word;
        }
        node
    }

    /// Returns the intervals: the last number and the word of each. The last one ends at
    /// `greatest`.
    pub(super) fn intervals(&self, greatest: u64) -> impl Iterator<Item = (u64, u16)> {
        let ends = self.ends.into_iter().chain([greatest]);
        let len = ends.clone().position(|end| end >= greatest).map_or(LONG, |last| last + 1);
        ends.zip(self.words).take(len)
    }
}
