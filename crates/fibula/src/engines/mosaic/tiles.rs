//! [`Tiles`]: how tiles are kept and read, as 64 answers or as [runs](super::runs).

use super::batch::{BLOCK, SHORT_BLOCK, View};
use super::root::TileNumber;
use super::{Mosaic, SLOTS, TILE};
use crate::blocks::pipeline::look_up;
use crate::blocks::unique::{Atomic, Form, OneLength};
use crate::engine::{Meter, Width};

/// A form in which tiles are kept once, each known by a number.
pub trait Tiles<W: Width>: Form {
    /// A tile in this form. Equal ones are equal in it.
    fn pack(tile: &[W; TILE]) -> Self::Chunk;

    /// The tile of which that was made.
    fn unpack(chunk: &Self::Chunk) -> [W; TILE];

    /// The answer at a place of the tile of a number, all tiles being these words.
    fn answer(words: &[Atomic<Self>], number: usize, place: usize, meter: &mut impl Meter) -> W;

    /// The batch path, with a root of this table's.
    fn look_up_blocks<T: TileNumber>(
        engine: &Mosaic<W, Self>,
        root: &[T::Atomic; SLOTS],
        addresses: &[u32],
        next_hops: &mut [W],
    ) where
        Self: Sized;
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
    fn answer(words: &[W::Atomic], number: usize, place: usize, meter: &mut impl Meter) -> W {
        meter.load_word::<W>(&words[number * TILE + place])
    }

    #[inline(always)]
    fn look_up_blocks<T: TileNumber>(
        engine: &Mosaic<W, Self>,
        root: &[T::Atomic; SLOTS],
        addresses: &[u32],
        next_hops: &mut [W],
    ) {
        let view = View::<'_, T, W, Self> { engine, root };
        look_up::<BLOCK, SHORT_BLOCK, 4, _, _, _>(&view, addresses, next_hops);
    }
}
