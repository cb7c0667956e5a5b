//! [`Tiles`]: how tiles are kept and read, as 64 answers or as [runs](super::runs).

use super::TILE;
use crate::blocks::unique::{Atomic, Form, OneLength};
use crate::engine::{Meter, Width};
use crate::memory::Published;

/// A form in which tiles are kept once, each known by a number.
pub trait Tiles<W: Width>: Form {
    /// A tile in this form. Equal ones are equal in it.
    fn pack(tile: &[W; TILE]) -> Self::Chunk;

    /// The tile of which that was made.
    fn unpack(chunk: &Self::Chunk) -> [W; TILE];

    /// Where to begin for the answer at a place of the tile of a number.
    fn begin(number: usize, place: usize) -> u32;

    /// The word that is read first from there.
    fn first_word(begin: u32) -> usize;

    /// The answer at a place, all tiles being these words.
    fn answer(words: &[Atomic<Self>], begin: u32, place: usize, meter: &mut impl Meter) -> W;
}

/// Tiles as their answers, one after the other: one load finds any.
pub type Whole<W> = OneLength<W, TILE>;

impl<W: Width> Tiles<W> for Whole<W> {
    #[inline(always)]
    fn pack(tile: &[W; TILE]) -> [W; TILE] {
        *tile
    }

    #[inline(always)]
    fn unpack(chunk: &[W; TILE]) -> [W; TILE] {
        *chunk
    }

    #[inline(always)]
    fn begin(number: usize, place: usize) -> u32 {
        (number * TILE + place) as u32
    }

    #[inline(always)]
    fn first_word(begin: u32) -> usize {
        begin as usize
    }

    #[inline(always)]
    fn answer(words: &[Published<W>], begin: u32, _: usize, meter: &mut impl Meter) -> W {
        meter.load_word::<W>(&words[begin as usize])
    }
}
