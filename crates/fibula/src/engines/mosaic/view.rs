//! [`MosaicView`]: lookups, one at a time and in batches.
//!
//! The batch path reads the root slots of one block of addresses while the block before reads its
//! tiles. One block later it finds the indexes of the answers below marks, and one more block later
//! those answers. Tiles of runs are read the same way, the map and then an answer. Nearly always
//! both are in one line, and a stage in between that prefetched the other line was slower.

use super::below::{Below, BelowView};
use super::hashed::Hashed;
use super::root::{self, RootView, TileNumber};
use super::tiles::Tiles;
use super::{SLOTS, place_of, slot_of};
use crate::arch::{Isa, Sets, prefetch};
use crate::blocks::fallback::{FallbackView, Seen};
use crate::blocks::pipeline::{self, Stages, for_each_set};
use crate::engine::{Lookup, Meter, Unmetered, Width};
use crate::memory::{Published, WordsView};

/// The table as lookups read it.
#[derive(Clone, Debug)]
pub(crate) struct MosaicView<W: Width, F: Tiles<B::Entry> = super::Whole<W>, B: Below<W> = Hashed<W>> {
    pub(super) root: RootView,
    pub(super) tiles: WordsView<F::Word>,
    pub(super) below: B::View,
    pub(super) fallback: FallbackView<W>,
}

impl<W: Width, F: Tiles<B::Entry>, B: Below<W>> MosaicView<W, F, B> {
    /// Looks up one address beside the default route: both loads, and what is below a mark.
    #[inline(always)]
    pub(super) fn lookup_one<T: TileNumber>(
        &self,
        root: &[Published<T>],
        address: u32,
        meter: &mut impl Meter,
    ) -> W {
        self.below.answer(self.entry(root, address, meter), address, meter)
    }

    /// Returns the entry of an address in its tile.
    #[inline(always)]
    fn entry<T: TileNumber>(&self, root: &[Published<T>], address: u32, meter: &mut impl Meter) -> B::Entry {
        let tile = meter.load_word::<T>(&root[slot_of(address)]).index();
        let place = place_of(address);
        F::answer(&self.tiles, F::begin(tile, place), place, meter)
    }

    /// Looks up one address beside the default route, whichever root there is.
    fn beside(&self, address: u32, meter: &mut impl Meter) -> W {
        match &self.root {
            RootView::Narrow(root) => self.lookup_one::<u16>(root, address, meter),
            RootView::Wide(root) => self.lookup_one::<u32>(root, address, meter),
        }
    }

    /// Looks up one address among all routes.
    #[inline(always)]
    fn lookup_by<T: TileNumber>(&self, root: &[Published<T>], address: u32, meter: &mut impl Meter) -> W {
        let before = self.fallback.before(meter);
        let entry = self.entry::<T>(root, address, meter);
        if B::View::is_far(entry) {
            return self.lookup_far(before, entry, address, meter);
        }
        let found = self.below.answer(entry, address, meter);
        match self.fallback.answer(before, found, meter) {
            Some(answer) => answer,
            None => self.lookup_again(address, meter),
        }
    }

    /// Ends the lookup of an address whose entry is [far](BelowView::is_far) from its answer. Out
    /// of line: the others would pay for its registers.
    #[inline(never)]
    fn lookup_far(&self, before: Seen, entry: B::Entry, address: u32, meter: &mut impl Meter) -> W {
        let found = self.below.answer(entry, address, meter);
        match self.fallback.answer(before, found, meter) {
            Some(answer) => answer,
            None => self.lookup_again(address, meter),
        }
    }

    /// Looks up one address once more, because the default route has changed.
    #[cold]
    #[inline(never)]
    fn lookup_again(&self, address: u32, meter: &mut impl Meter) -> W {
        self.fallback.answer_again(meter, |meter| self.beside(address, meter))
    }
}

impl<W: Width, F: Tiles<B::Entry>, B: Below<W>> Lookup<u32> for MosaicView<W, F, B> {
    type Width = W;
    const SETS: Sets = Sets::Words;
    const ON_BASELINE: bool = false;
    const FEW: usize = B::FEW;

    #[inline(always)]
    fn lookup_metered<M: Meter>(&self, address: u32, meter: &mut M) -> W {
        match &self.root {
            RootView::Narrow(root) => self.lookup_by::<u16>(root, address, meter),
            RootView::Wide(root) => self.lookup_by::<u32>(root, address, meter),
        }
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, _: I, addresses: &[u32], next_hops: &mut [W]) {
        let before = self.fallback.before(&mut Unmetered);
        self.lookup_blocks(addresses, next_hops);
        if !self.fallback.fill(before, next_hops) {
            self.fallback.fill_again(addresses, next_hops, |address| self.beside(address, &mut Unmetered));
        }
    }
}

/// The addresses of a block. Blocks of 32 were as fast on the prefix trace and nine tenths as fast
/// on random addresses.
const BLOCK: usize = 64;
/// The addresses of each block of a short batch.
const SHORT_BLOCK: usize = 8;

/// The stages: root, tiles, marks, what is below them. With blocks of 64, two other stages store
/// between the writing of the answers and their comparison with the mark, so the answers have left
/// the store queue. One more stage, an empty one, gave up to 7 % less.
const STAGES: usize = 4;

/// What one stage leaves for the next: for each address the position to read at, first among the
/// tiles, later below the mark; and the set of addresses with a mark, bit *i* for the *i*th.
struct Found<const N: usize> {
    places: [u32; N],
    marks: u64,
}

/// A table and its root, in the root's width.
struct Sized<'e, T: TileNumber, W: Width, F: Tiles<W>> {
    table: &'e MosaicView<W, F>,
    root: &'e [Published<T>; SLOTS],
}

impl<T: TileNumber, W: Width, F: Tiles<W>> Stages<u32, W, STAGES> for Sized<'_, T, W, F> {
    type Found<const N: usize> = Found<N>;

    #[inline(always)]
    fn nothing<const N: usize>() -> Found<N> {
        Found { places: [0; N], marks: 0 }
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
                let tiles = &self.table.tiles[..];
                for at in 0..N {
                    let tile = T::load(&self.root[slot_of(addresses[at])]).index();
                    places[at] = F::begin(tile, place_of(addresses[at]));
                    prefetch(tiles, F::first_word(places[at]));
                }
            }
            1 => {
                let tiles = &self.table.tiles[..];
                for at in 0..N {
                    next_hops[at] = F::answer(tiles, places[at], place_of(addresses[at]), &mut Unmetered);
                }
            }
            2 => *marks = self.find_below(addresses, next_hops, places),
            _ => {
                let below = self.table.below.answers();
                for_each_set(*marks, |at| next_hops[at] = W::load(&below[places[at] as usize]));
            }
        }
    }

    #[inline(always)]
    fn one(&self, _: usize, &address: &u32) -> W {
        self.table.lookup_one::<T>(self.root, address, &mut Unmetered)
    }
}

impl<T: TileNumber, W: Width, F: Tiles<W>> Sized<'_, T, W, F> {
    /// Finds and prefetches the answers below marks, and records which addresses have one. Most
    /// blocks have none.
    #[inline(always)]
    fn find_below<const N: usize>(
        &self,
        addresses: &[u32; N],
        answers: &[W; N],
        places: &mut [u32; N],
    ) -> u64 {
        const { assert!(N <= u64::BITS as usize) }
        let is_mark = |answer: &W| answer.widen().0 == W::MAX;
        let mut below = 0;
        if answers.iter().fold(false, |any, answer| any | is_mark(answer)) {
            let marks = answers.iter().rev().fold(0, |marks, answer| marks << 1 | u64::from(is_mark(answer)));
            for_each_set(marks, |at| {
                if let Some(place) = self.table.below.find(addresses[at], &mut Unmetered) {
                    places[at] = place;
                    prefetch(self.table.below.answers(), place as usize);
                    below |= 1 << at;
                }
            });
        }
        below
    }
}

/// Looks up all addresses where a hash table leads below marks.
#[inline(always)]
pub(super) fn look_up<T: TileNumber, W: Width, F: Tiles<W>>(
    table: &MosaicView<W, F>,
    root: &[Published<T>; SLOTS],
    addresses: &[u32],
    next_hops: &mut [W],
) {
    pipeline::look_up::<BLOCK, SHORT_BLOCK, STAGES, _, _, _>(&Sized { table, root }, addresses, next_hops);
}

impl<W: Width, F: Tiles<B::Entry>, B: Below<W>> MosaicView<W, F, B> {
    #[inline(always)]
    pub(super) fn lookup_blocks(&self, addresses: &[u32], next_hops: &mut [W]) {
        match &self.root {
            RootView::Narrow(root) => B::look_up::<u16, F>(self, root::sized(root), addresses, next_hops),
            RootView::Wide(root) => B::look_up::<u32, F>(self, root::sized(root), addresses, next_hops),
        }
    }
}
