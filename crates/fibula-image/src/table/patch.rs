//! [`Touched`] and [`Patch`]: what a change wrote, from entries down to the bytes that are copied
//! to a card.

use fibula::{Error, ErrorKind};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// The parts of a table.
pub const PARTS: usize = 5;

/// The elements of the parts, in order.
pub const PART_NAMES: [&str; PARTS] = ["root", "nodes", "leaves", "chains", "ends"];

/// Ranges nearer to each other than this number of bytes are copied as one: a copy costs more than
/// the bytes between.
const NEAR: usize = 4096;

/// A version of a table: its identity, and the number of changes applied to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Version {
    table: u64,
    changes: u64,
}

impl Version {
    /// The version of a table that has just been compiled.
    pub(crate) fn first() -> Self {
        static TABLES: AtomicU64 = AtomicU64::new(1);
        Self { table: TABLES.fetch_add(1, Ordering::Relaxed), changes: 0 }
    }

    /// The version after one more change.
    pub(crate) fn next(self) -> Self {
        Self { changes: self.changes + 1, ..self }
    }
}

/// The elements that a change wrote. An index may be listed more than once, and elements that kept
/// their value may be listed too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// The version after the change.
    pub(super) after: Version,
    /// The indices of root entries.
    pub root: Vec<Range<usize>>,
    /// The indices of nodes.
    pub nodes: Vec<u32>,
    /// The indices of leaves.
    pub leaves: Vec<u32>,
    /// The indices of chains.
    pub chains: Vec<u32>,
    /// The indices of ends.
    pub ends: Vec<u32>,
    /// The whole table was rebuilt.
    pub all: bool,
}

impl Touched {
    /// The number of entries of the root.
    #[must_use]
    pub fn root_entries(&self) -> u64 {
        self.root.iter().map(|range| range.len() as u64).sum()
    }

    /// The number of blocks written below the root.
    pub(super) fn blocks(&self) -> usize {
        self.nodes.len() + self.leaves.len() + self.chains.len() + self.ends.len()
    }

    /// Returns the bytes at the touched indices, out of the parts as they are now.
    pub(super) fn into_patch(self, parts: [&[u8]; PARTS], bytes: [usize; PARTS]) -> Patch {
        let after = self.after;
        let lengths = parts.map(<[u8]>::len);
        if self.all {
            let pieces = (0..PARTS).filter(|&part| lengths[part] > 0);
            let pieces = pieces.map(|part| Piece { part, at: 0, bytes: parts[part].to_vec() }).collect();
            return Patch { after, whole: true, lengths, pieces };
        }
        let [word, node, leaf, chain, end] = bytes;
        let numbered = |numbers: Vec<u32>, bytes: usize| -> Vec<Range<usize>> {
            numbers.into_iter().map(|n| n as usize * bytes..(n as usize + 1) * bytes).collect()
        };
        let words = self.root.into_iter().map(|range| range.start * word..range.end * word).collect();
        let ranges = [
            words,
            numbered(self.nodes, node),
            numbered(self.leaves, leaf),
            numbered(self.chains, chain),
            numbered(self.ends, end),
        ];
        let mut pieces = Vec::new();
        for (part, ranges) in ranges.into_iter().enumerate() {
            for range in joined(ranges) {
                pieces.push(Piece { part, at: range.start, bytes: parts[part][range].to_vec() });
            }
        }
        Patch { after, whole: false, lengths, pieces }
    }
}

/// Returns the ranges in order, with near ones joined.
fn joined(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end + NEAR => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// The bytes that turn one version of a table into the next.
///
/// Only the table that changed can make it, and it can only be applied to the version directly
/// before. So a table on a device is always one that its host had, and no read of a kernel leaves
/// it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    after: Version,
    whole: bool,
    lengths: [usize; PARTS],
    pieces: Vec<Piece>,
}

/// Bytes of one part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The part.
    pub part: usize,
    /// The offset of the first byte.
    pub at: usize,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl Patch {
    /// Returns the pieces, if the patch applies to this version of a table.
    ///
    /// # Errors
    /// If it does not.
    pub fn onto(&self, version: Version) -> Result<&[Piece], Error> {
        if version.next() == self.after {
            Ok(&self.pieces)
        } else {
            let text = format!("a patch to {:?} cannot be laid on {version:?}", self.after);
            Err(Error::new(ErrorKind::Usage, text))
        }
    }

    /// Returns the version after the patch.
    #[must_use]
    pub fn after(&self) -> Version {
        self.after
    }

    /// Returns the length of each part after it, in bytes.
    #[must_use]
    pub fn lengths(&self) -> [usize; PARTS] {
        self.lengths
    }

    /// Returns whether the table was built again, so that a reader between two pieces of the patch
    /// would see neither table.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// Returns the number of bytes to copy.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.pieces.iter().map(|piece| piece.bytes.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_ranges_go_up_as_one_and_far_ones_apart() {
        assert_eq!(joined(vec![4000..6000, 0..4, 100..200, 50_000..50_004]), [0..6000, 50_000..50_004]);
        let root = vec![7_u8; 80_000];
        let touched = Touched { root: vec![0..1, 10_000..10_002], leaves: vec![1], ..Touched::default() };
        let patch = touched.into_patch([&root, &[], &[1, 2, 3, 4], &[], &[]], [4, 8, 2, 16, 2]);
        let pieces: Vec<_> = patch.pieces.iter().map(|p| (p.part, p.at, p.bytes.len())).collect();
        assert_eq!(pieces, [(0, 0, 4), (0, 40_000, 8), (2, 2, 2)]);
        assert_eq!((patch.bytes(), patch.lengths), (14, [80_000, 0, 4, 0, 0]));
    }
}
