//! [`Tiles`]: how tiles are stored and read, as 64 answers or as [runs](super::runs).

use super::TILE;
use crate::blocks::unique::{Atomic, Form, OneLength};
use crate::engine::{Meter, Width};
use crate::memory::Published;

/// A form of tiles in which equal tiles are stored once, each known by its number.
pub(crate) trait Tiles<W: Width>: Form {
    /// Converts a tile to this form. Equal tiles give equal chunks.
    fn pack(tile: &[W; TILE]) -> Self::Chunk;

    /// Converts a chunk back to its tile.
    fn unpack(chunk: &Self::Chunk) -> [W; TILE];

    /// Returns where to begin reading the answer at index `place` of the tile with this `number`.
    fn begin(number: usize, place: usize) -> u32;

    /// Returns the index of the first word that is read from `begin`.
    fn first_word(begin: u32) -> usize;

    /// Returns the answer at index `place`. `words` holds all tiles.
    fn answer(words: &[Atomic<Self>], begin: u32, place: usize, meter: &mut impl Meter) -> W;
}

/// Tiles as their answers, one after the other: one load finds any.
pub(crate) type Whole<W> = OneLength<W, TILE>;

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
