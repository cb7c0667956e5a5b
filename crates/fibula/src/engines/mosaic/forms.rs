//! [`BlockForm`]: how the answers of a /24 are stored and read, as 256 answers or as
//! [spans](super::spans).

use super::BELOW;
use super::blocks::MARKED;
use crate::blocks::unique::{Atomic, Form, OneLength};
use crate::engine::{Meter, Width};
use crate::memory::Published;

/// A form of blocks in which equal blocks are stored once, each known by its number.
pub(crate) trait BlockForm: Form {
    /// The type of the answers.
    type Answer: Width;

    /// The bits of a mark that are the number of its block.
    const NUMBER: u32;

    /// Whether batches prefetch what they read of blocks.
    const IS_PREFETCHED: bool;

    /// Converts the answers of a /24 to this form. Equal answers give equal chunks.
    fn pack(answers: &[Self::Answer; BELOW]) -> Self::Chunk;

    /// Converts a chunk back to its answers.
    #[cfg(test)]
    fn unpack(chunk: &Self::Chunk) -> [Self::Answer; BELOW];

    /// Returns the other bits of the mark of a chunk.
    fn shape(chunk: &Self::Chunk) -> u32;

    /// Returns the index of the first word to read for `address` below this `mark`.
    fn begin(mark: u32, address: u32) -> u32;

    /// Returns the answer of `address`. `words` holds all blocks.
    fn answer(words: &[Atomic<Self>], begin: u32, address: u32, meter: &mut impl Meter) -> Self::Answer;
}

/// Blocks as their answers, one after the other: one load finds any.
pub(crate) type WholeBlock<W> = OneLength<W, BELOW>;

impl<W: Width> BlockForm for WholeBlock<W> {
    type Answer = W;

    const NUMBER: u32 = !MARKED;
    const IS_PREFETCHED: bool = false;

    fn pack(answers: &[W; BELOW]) -> [W; BELOW] {
        *answers
    }

    #[cfg(test)]
    fn unpack(chunk: &[W; BELOW]) -> [W; BELOW] {
        *chunk
    }

    fn shape(_: &[W; BELOW]) -> u32 {
        0
    }

    #[inline(always)]
    fn begin(mark: u32, address: u32) -> u32 {
        (mark << BELOW.ilog2()) | (address % BELOW as u32)
    }

    #[inline(always)]
    fn answer(words: &[Published<W>], begin: u32, _: u32, meter: &mut impl Meter) -> W {
        meter.load_word::<W>(&words[begin as usize])
    }
}
