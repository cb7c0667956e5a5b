//! The words of the structure.

use crate::NextHop;
use crate::arch::LINE;

/// The unit of the pool of arrays: two words, so that a base of 26 bits reaches 512 MiB.
pub(super) type Cell = [u32; 2];

/// The bytes of a cell.
pub(super) const CELL_BYTES: usize = size_of::<Cell>();

/// The greatest number of cells: what a base can address.
pub(super) const CELLS_MAX: u64 = BASE as u64 + 1;

/// The lowest bit of a word's code, above the bits of a base.
pub(super) const CODE: u32 = 26;

/// The bits of a base.
pub(super) const BASE: u32 = (1 << CODE) - 1;

/// The least word that leads to a bucket. Smaller words lead to arrays.
pub(super) const BUCKETS: u32 = 16 << CODE;

/// The flag of an answer.
pub(super) const ANSWER: u32 = 1 << 31;

/// The bits of a bucket's word that are the offset of its line in bytes.
pub(super) const LINE_BITS: u32 = BUCKETS - LINE as u32;

/// The bits of a bucket's word that are its first slot in the line.
pub(super) const SLOT_BITS: u32 = 31;

/// The flag of a bucket below which there are routes longer than the trie keeps.
pub(super) const BEYOND: u32 = 32;

/// The greatest number of lines: what a word can address.
pub(super) const LINES_MAX: u64 = (BUCKETS as usize / LINE) as u64;

/// Where a bucket begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Spot {
    pub(super) line: usize,
    pub(super) slot: u32,
}

/// The meaning of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// The answer of every address below.
    Answer(NextHop),
    /// 2^stride words from a base on.
    Array { stride: u8, base: usize },
    /// A bucket, and whether there are routes below that are longer than those of the trie.
    Bucket { spot: Spot, longer: bool },
}

impl Word {
    #[inline(always)]
    pub(super) fn unpack(word: u32) -> Self {
        if word & ANSWER != 0 {
            return Self::Answer(NextHop(word ^ ANSWER));
        }
        if let Some((stride, _)) = as_array(word) {
            return Self::Array { stride, base: (word & BASE) as usize };
        }
        let spot = Spot { line: (word & LINE_BITS) as usize / LINE, slot: word & SLOT_BITS };
        Self::Bucket { spot, longer: word & BEYOND != 0 }
    }

    pub(super) fn pack(self) -> u32 {
        match self {
            Self::Answer(next_hop) => ANSWER | next_hop.0,
            Self::Array { stride, base } => u32::from(stride - 1) << CODE | base as u32,
            Self::Bucket { spot, longer } => {
                BUCKETS | (spot.line * LINE) as u32 | spot.slot | if longer { BEYOND } else { 0 }
            }
        }
    }
}

/// Returns the stride and the first word of the array that `word` leads to, if it leads to one.
#[inline(always)]
pub(super) fn as_array(word: u32) -> Option<(u8, usize)> {
    (word < BUCKETS).then_some(((word >> CODE) as u8 + 1, (word & BASE) as usize * 2))
}

/// Returns the root slot of `address`, and the 32 bits after those that choose it.
#[inline(always)]
pub(super) fn start(address: u128) -> (usize, u32) {
    let high = (address >> 64) as u64;
    ((high >> 48) as usize, (high >> 16) as u32)
}

/// Returns the index into an array of this `stride`, and the bits left for the next step.
#[inline(always)]
pub(super) fn step(rest: u32, stride: u8) -> (usize, u32) {
    ((rest >> (u32::BITS - u32::from(stride))) as usize, rest << stride)
}

/// Returns the cells of an array.
pub(super) fn array_cells(stride: u8) -> usize {
    1 << (stride - 1)
}
