//! Building on all cores: each core paints parts of the table onto tiles of its own, and the
//! results are joined.

use super::below::Below;
use super::brush::Brush;
use super::tiles::Tiles;
use super::{IN_TILES, Mosaic, slot_of};
use crate::blocks::fallback::Fallback;
use crate::blocks::parallel::in_parallel;
use crate::engine::Width;
use crate::memory::Pages;
use crate::{Prefix, Rib};

/// The prefix length of a part. There are several parts per core, because their sizes are never
/// equal.
const PART_LEN: u8 = 4;

/// A smaller table is painted in less time than threads take to start.
const LEAST_ROUTES: usize = 1 << 16;

impl<W: Width, F: Tiles<B::Entry>, B: Below<W>> Mosaic<W, F, B> {
    /// Returns the painted table. The numbers of its tiles have holes.
    pub(super) fn painted(rib: &Rib<u32>, pages: Pages) -> Self {
        let mut engine = Self::empty(Fallback::of(rib), pages);
        let routes = rib.at_least(IN_TILES);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        if cores == 1 || rib.len() < LEAST_ROUTES {
            Brush::of(&mut engine).paint(routes.ranges());
            return engine;
        }
        let part = |number: u32| Prefix::containing(number << (u32::BITS - u32::from(PART_LEN)), PART_LEN);
        let parts: Vec<Prefix<u32>> = (0..1 << PART_LEN).map(part).collect();
        let pieces = in_parallel(&parts, |&part| {
            let mut piece = Self::empty(Fallback::of(rib), Pages::Small);
            Brush::of(&mut piece).paint(routes.ranges_within(part));
            piece
        });
        for (&part, piece) in parts.iter().zip(&pieces) {
            engine.join(part, piece);
        }
        engine
    }

    /// Takes `part` over from `piece`, the table that has painted it.
    fn join(&mut self, part: Prefix<u32>, piece: &Self) {
        let mut numbers = vec![None; piece.tiles.numbers()];
        let mut brush = Brush::of(self);
        for slot in slot_of(part.first())..=slot_of(part.last()) {
            let there = piece.root.get(slot);
            let number = &mut numbers[there as usize];
            let tile = brush.one_more(*number, there, piece);
            *number = Some(tile);
            brush.replace(slot, tile);
        }
        self.below.join(&piece.below);
    }
}
