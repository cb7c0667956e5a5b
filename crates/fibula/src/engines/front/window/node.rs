//! The nodes: intervals and their words in a line.

use crate::arch::SHORT_KEYS;

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

/// The intervals of a slot: the last cell of each, then its word. Node 0 has only words 0.
///
/// Nodes are arrays, of which any bytes are values: a snapshot is read in place.
pub(super) type Short = [[u16; SHORT]; 2];

/// The intervals of a cell: the last number of each but the last one, then their words, four in a
/// number. Node 0 has only words 0.
pub(super) type Long = [u64; LINE];
const LINE: usize = 8;

/// What is done with a node.
pub(super) trait Intervals: Sized {
    /// The end of an interval.
    type End;

    /// Returns the node of some intervals, at most [`SHORT`] or [`LONG`], the last of which ends at
    /// the greatest number.
    fn of(intervals: &[(Self::End, u16)]) -> Self;

    /// Returns the end and the word of each interval. The last one ends at `greatest`.
    fn intervals(&self, greatest: Self::End) -> impl Iterator<Item = (Self::End, u16)>;
}

impl Intervals for Short {
    type End = u16;

    fn of(intervals: &[(u16, u16)]) -> Self {
        let mut node = [[u16::MAX; SHORT], [0; SHORT]];
        for (at, &(end, word)) in intervals.iter().enumerate() {
            (node[0][at], node[1][at]) = (end, word);
        }
        node
    }

    fn intervals(&self, greatest: u16) -> impl Iterator<Item = (u16, u16)> {
        let [ends, words] = *self;
        let len = ends.iter().position(|&end| end >= greatest).map_or(SHORT, |last| last + 1);
        ends.into_iter().zip(words).take(len)
    }
}

/// The numbers of a line that are ends, one bit each.
pub(super) const ENDS: u32 = (1 << LONG_ENDS) - 1;

/// Returns the word at `index` of a long node.
#[inline(always)]
pub(super) fn word_at(node: &Long, index: usize) -> u16 {
    let words: &[u16; 4 * LINE] = zerocopy::transmute_ref!(node);
    words[4 * LONG_ENDS + index]
}

impl Intervals for Long {
    type End = u64;

    fn of(intervals: &[(u64, u16)]) -> Self {
        let (mut node, mut words) = ([u64::MAX; LINE], [0; 4 * (LINE - LONG_ENDS)]);
        for (at, &(end, word)) in intervals.iter().enumerate() {
            if at < LONG_ENDS {
                node[at] = end;
            }
            words[at] = word;
        }
        let words: [u64; LINE - LONG_ENDS] = zerocopy::transmute!(words);
        node[LONG_ENDS..].copy_from_slice(&words);
        node
    }

    fn intervals(&self, greatest: u64) -> impl Iterator<Item = (u64, u16)> {
        let ends = self[..LONG_ENDS].iter().copied().chain([greatest]);
        let len = ends.clone().position(|end| end >= greatest).map_or(LONG, |last| last + 1);
        ends.enumerate().map(|(at, end)| (end, word_at(self, at))).take(len)
    }
}
