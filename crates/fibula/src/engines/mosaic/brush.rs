//! [`Brush`], which builds and updates share: it paints intervals of one answer each, in order,
//! onto tiles.

use super::below::Below;
use super::tiles::Tiles;
use super::{BELOW, Mosaic, SLOTS, TILE, TILE_END};
use crate::engine::{Cost, Width};
use crate::rib::Range;
use std::ops::Range as Span;

/// The addresses of a /24, less one.
const WITHIN: u32 = BELOW as u32 - 1;

/// Paints a table. Stores each tile in the table when painting moves on to the next one.
pub(super) struct Brush<'e, W: Width, F: Tiles<B::Entry>, B: Below<W>> {
    engine: &'e mut Mosaic<W, F, B>,
    /// The slot whose tile is being painted, if any, and the new contents of that tile.
    slot: Option<usize>,
    tile: [B::Entry; TILE],
    /// The /24 below a mark that is being painted.
    chunk: [W; BELOW],
    /// An answer, and the number of the tile that holds it everywhere. Long runs of slots share
    /// that tile.
    uniform: Option<(W, u32)>,
    cost: Cost,
}

impl<'e, W: Width, F: Tiles<B::Entry>, B: Below<W>> Brush<'e, W, F, B> {
    pub(super) fn of(engine: &'e mut Mosaic<W, F, B>) -> Self {
        Self {
            engine,
            slot: None,
            tile: [B::Entry::default(); TILE],
            chunk: [W::default(); BELOW],
            uniform: None,
            cost: Cost::default(),
        }
    }

    /// Returns the cost of all painting so far.
    pub(super) fn cost(self) -> Cost {
        self.cost
    }

    /// Paints intervals that follow each other without gaps and together cover whole /24s.
    pub(super) fn paint(&mut self, ranges: impl Iterator<Item = Range<u32>>) {
        for Range { first, last, next_hop } in ranges {
            let answer = W::narrow(next_hop);
            let (mut from, mut to) = (first >> (32 - TILE_END), (last >> (32 - TILE_END)) + 1);
            let (first_in_part, last_in_part) = (first & WITHIN != 0, last & WITHIN != WITHIN);
            if to - from == 1 && (first_in_part || last_in_part) {
                self.part(from, first & WITHIN..(last & WITHIN) + 1, answer);
                continue;
            }
            if first_in_part {
                self.part(from, first & WITHIN..WITHIN + 1, answer);
                from += 1;
            }
            to -= u32::from(last_in_part);
            self.whole(from..to, answer);
            if last_in_part {
                self.part(to, 0..(last & WITHIN) + 1, answer);
            }
        }
        self.put();
        if let Some((_, tile)) = self.uniform.take() {
            self.engine.release(tile);
        }
    }

    /// Paints /24s with one answer. `numbers` are the numbers of the /24s.
    fn whole(&mut self, numbers: Span<u32>, answer: W) {
        // The last tile found without marks, shared by many slots. No tile reuses its number here:
        // the tile for these slots is referenced before any old tile is checked and freed.
        let mut unmarked = None;
        let mut at = numbers.start;
        while at < numbers.end {
            let slot = at as usize / TILE;
            let end = numbers.end.min((slot as u32 + 1) * TILE as u32);
            let span = at as usize % TILE..at as usize % TILE + (end - at) as usize;
            if span.len() == TILE {
                self.put();
                let tile = self.uniform(answer);
                let before = self.engine.root.get(slot);
                if unmarked != Some(before) {
                    let entries = self.engine.tile(slot);
                    let has_marks = self.engine.below.unmark(&entries, at);
                    unmarked = (!has_marks).then_some(before);
                }
                self.replace(slot, tile);
            } else {
                self.open(slot);
                self.engine.below.unmark(&self.tile[span.clone()], at);
                self.tile[span].fill(B::entry(answer));
            }
            at = end;
        }
    }

    /// Paints part of a /24. The /24 is complete when its last address is painted.
    fn part(&mut self, number: u32, addresses: Span<u32>, answer: W) {
        let end = addresses.end as usize;
        self.chunk[addresses.start as usize..end].fill(answer);
        if end == BELOW {
            self.open(number as usize / TILE);
            if self.engine.below.is_leaving(number) {
                self.mark_as_it_is(number);
            }
            self.tile[number as usize % TILE] = self.engine.below.mark(number, &self.chunk);
            self.cost.chunks_rebuilt += 1;
        }
    }

    /// Publishes the mark of a /24 that has one answer, with that answer everywhere below it.
    ///
    /// Readers that have loaded an earlier mark still find what is stored below it. If new answers
    /// were stored there while the tile has the old one, a reader could see the new answer and then
    /// the old one.
    fn mark_as_it_is(&mut self, number: u32) {
        let slot = number as usize / TILE;
        let mut tile = self.engine.tile(slot);
        let entry = &mut tile[number as usize % TILE];
        *entry = self.engine.below.mark(number, &[B::answer(*entry); BELOW]);
        let tile = self.engine.insert(&tile);
        self.replace(slot, tile);
    }

    /// Moves on to the tile of `slot`.
    fn open(&mut self, slot: usize) {
        if self.slot != Some(slot) {
            self.put();
            self.tile = self.engine.tile(slot);
            self.slot = Some(slot);
        }
    }

    /// Stores the painted tile in the table.
    fn put(&mut self) {
        let Some(slot) = self.slot.take() else { return };
        if F::pack(&self.tile) == self.engine.tiles.get(self.engine.root.get(slot)) {
            self.engine.below.settle();
            return;
        }
        let tile = self.engine.insert(&self.tile);
        self.cost.nodes_copied += 1;
        self.replace(slot, tile);
    }

    /// Adds a reference to the tile that holds `answer` everywhere, and returns its number.
    fn uniform(&mut self, answer: W) -> u32 {
        match self.uniform {
            Some((same, tile)) if same == answer => {
                self.engine.tiles.retain(tile, 1);
                tile
            }
            other => {
                let tile = self.engine.insert(&[B::entry(answer); TILE]);
                self.engine.tiles.retain(tile, 1);
                self.uniform = Some((answer, tile));
                if let Some((_, tile)) = other {
                    self.engine.release(tile);
                }
                tile
            }
        }
    }

    /// Adds a reference to the tile that has number `there` in `piece`, and returns its number
    /// here. Finds the tile by its contents if that `number` is not known.
    pub(super) fn one_more(&mut self, number: Option<u32>, there: u32, piece: &Mosaic<W, F, B>) -> u32 {
        if let Some(number) = number {
            self.engine.tiles.retain(number, 1);
            return number;
        }
        let entries = F::unpack(&piece.tiles.get(there));
        let entries = entries.map(|entry| self.engine.below.taken_over(entry, &piece.below));
        self.engine.insert(&entries)
    }

    /// Publishes `tile` at `slot`. The caller's reference to the tile becomes the root's.
    pub(super) fn replace(&mut self, slot: usize, tile: u32) {
        debug_assert!(slot < SLOTS);
        let engine = &mut *self.engine;
        let before = engine.root.get(slot);
        engine.root.set(slot, tile, engine.pages);
        engine.release(before);
        self.cost.entries_set += u64::from(before != tile);
    }
}
