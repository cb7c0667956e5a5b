//! The batch path: the slots of one block of addresses while the block before reads its tiles; a block later the places of
//! the answers below marks, and one more later those answers. Tiles of [`Runs`] are read in two stages, their maps in one and the answers in the
//! next, since these may be in another line.

use super::root::{self, Root, TileNumber};
use super::runs::Runs;
use super::tiles::{Tiles, Whole};
use super::{Mosaic, SLOTS, TILE, place_of, slot_of};
use crate::arch::prefetch;
use crate::blocks::pipeline::{Stages, for_each_set};
use crate::engine::{Unmetered, Width};
use crate::memory::Shareable;

/// The addresses of a block, and of the blocks that a short batch makes. Blocks of 32 gave as much on the prefix trace and nine
/// tenths on random addresses.
pub(super) const BLOCK: usize = 64;
pub(super) const SHORT_BLOCK: usize = 8;

/// What stages leave of a block: where the tiles or the answers among them stand, later for those with a mark where they stand below;
/// and which have one, bit *i* for the *i*th.
pub(super) struct Found<const N: usize> {
    places: [u32; N],
    marks: u64,
}

impl<const N: usize> Found<N> {
    const NOTHING: Self = Self { places: [0; N], marks: 0 };
}

/// An engine and its root, whichever width it has.
pub(super) struct View<'e, T: TileNumber, W: Width, F: Tiles<W>> {
    pub(super) engine: &'e Mosaic<W, F>,
    pub(super) root: &'e [T::Atomic; SLOTS],
}

/// The stages: root, tiles, marks, what is below them. In blocks of 64 the stores of two other stages come between those of the answers
/// and the comparison with the mark, so that the answers have left the store queue; one stage of nothing more gave up to 7 % less.
impl<T: TileNumber, W: Width> Stages<u32, W, 4> for View<'_, T, W, Whole<W>> {
    type Found<const N: usize> = Found<N>;

    #[inline(always)]
    fn nothing<const N: usize>() -> Found<N> {
        Found::NOTHING
    }

    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index runs through two arrays of one block")]
    fn run<const N: usize>(
        &self,
        stage: usize,
        _: usize,
        addresses: &[u32; N],
        found: &mut Found<N>,
        next_hops: &mut [W; N],
    ) {
        let Found { places, marks } = found;
        match stage {
            0 => {
                let tiles = self.engine.tiles.values();
                for at in 0..N {
                    let tile = T::load(&self.root[slot_of(addresses[at])]).index();
                    places[at] = (tile * TILE + place_of(addresses[at])) as u32;
                    prefetch(tiles, places[at] as usize);
                }
            }
            1 => {
                let tiles = self.engine.tiles.values();
                for at in 0..N {
                    next_hops[at] = W::load(&tiles[places[at] as usize]);
                }
            }
            2 => *marks = self.find_below(addresses, next_hops, places),
            _ => self.read_below(*marks, places, next_hops),
        }
    }

    #[inline(always)]
    fn one(&self, _: usize, &address: &u32) -> W {
        self.engine.look_up::<T>(self.root, address, &mut Unmetered)
    }
}

/// The stages: root, maps, answers, marks, what is below them.
impl<T: TileNumber, W: Width> Stages<u32, W, 5> for View<'_, T, W, Runs<W>> {
    type Found<const N: usize> = Found<N>;

    #[inline(always)]
    fn nothing<const N: usize>() -> Found<N> {
        Found::NOTHING
    }

    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index runs through two arrays of one block")]
    fn run<const N: usize>(
        &self,
        stage: usize,
        _: usize,
        addresses: &[u32; N],
        found: &mut Found<N>,
        next_hops: &mut [W; N],
    ) {
        let Found { places, marks } = found;
        match stage {
            0 => {
                let tiles = self.engine.tiles.values();
                for at in 0..N {
                    let tile = T::load(&self.root[slot_of(addresses[at])]).index();
                    places[at] = tile as u32;
                    prefetch(tiles, Runs::<W>::map_at(tile));
                }
            }
            1 => {
                let tiles = self.engine.tiles.values();
                for at in 0..N {
                    let tile = places[at] as usize;
                    let map = u64::load(&tiles[Runs::<W>::map_at(tile)]);
                    let position = Runs::<W>::position(tile, map, place_of(addresses[at]));
                    places[at] = position as u32;
                    prefetch(tiles, Runs::<W>::word_at(position));
                }
            }
            2 => {
                let tiles = self.engine.tiles.values();
                for at in 0..N {
                    let position = places[at] as usize;
                    let word = u64::load(&tiles[Runs::<W>::word_at(position)]);
                    next_hops[at] = Runs::<W>::cut(word, position);
                }
            }
            3 => *marks = self.find_below(addresses, next_hops, places),
            _ => self.read_below(*marks, places, next_hops),
        }
    }

    #[inline(always)]
    fn one(&self, _: usize, &address: &u32) -> W {
        self.engine.look_up::<T>(self.root, address, &mut Unmetered)
    }
}

impl<T: TileNumber, W: Width, F: Tiles<W>> View<'_, T, W, F> {
    /// Where the answers below the marks stand, whose lines are asked for; and which of the answers these are. Most blocks have none.
    #[inline(always)]
    fn find_below<const N: usize>(
        &self,
        addresses: &[u32; N],
        answers: &[W; N],
        places: &mut [u32; N],
    ) -> u64 {
        const { assert!(N <= u64::BITS as usize) }
        let is_mark = |answer: &W| answer.widen().0 == Mosaic::<W, F>::MARK;
        let mut below = 0;
        if answers.iter().fold(false, |any, answer| any | is_mark(answer)) {
            let marks = answers.iter().rev().fold(0, |marks, answer| marks << 1 | u64::from(is_mark(answer)));
            for_each_set(marks, |at| {
                if let Some(place) = self.engine.below.find(addresses[at], &mut Unmetered) {
                    places[at] = place;
                    prefetch(self.engine.below.values(), place as usize);
                    below |= 1 << at;
                }
            });
        }
        below
    }

    /// Those answers.
    #[inline(always)]
    fn read_below<const N: usize>(&self, marks: u64, places: &[u32; N], next_hops: &mut [W; N]) {
        let below = self.engine.below.values();
        for_each_set(marks, |at| next_hops[at] = W::load(&below[places[at] as usize]));
    }
}

impl<W: Width, F: Tiles<W>> Mosaic<W, F> {
    #[inline(always)]
    pub(super) fn lookup_blocks(&self, addresses: &[u32], next_hops: &mut [W]) {
        match &self.root {
            Root::Narrow(root) => F::look_up_blocks::<u16>(self, root::sized(root), addresses, next_hops),
            Root::Wide(root) => F::look_up_blocks::<u32>(self, root::sized(root), addresses, next_hops),
        }
    }
}
