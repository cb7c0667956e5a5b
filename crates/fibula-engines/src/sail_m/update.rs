//! Updates: the overlay grows, one table is painted, the overlay shrinks.
//!
//! A node of level 16 or 24 has a chunk exactly while some table has a route below it. Each chunk
//! counts these routes, so that a change of one table needs none of the others. When a count
//! reaches 0, every table has one answer in the chunk, and that answer moves up.

use super::overlay::{CHUNK_WORDS, slot16};
use super::{CHUNK, NODES16, SailM, Table};
use crate::blocks::pushing::exposed;
use fibula::engine::Width;
use fibula::{Delta, NextHop, Prefix, Rib};

impl<W: Width> SailM<W> {
    /// Updates one table from its routes; see [`SailM::apply`].
    ///
    /// The overlay first becomes that of the tables before and after together. So in any order of
    /// the deltas, every node that a route covers in part has its chunk while it is painted.
    pub(super) fn follow(&mut self, table: usize, rib: &Rib<u32>, deltas: &[Delta<u32>]) {
        for delta in deltas.iter().filter(|delta| !delta.before.is_some()) {
            self.grow(delta.prefix);
        }
        for delta in deltas {
            let answer = rib.longest_cover(delta.prefix).map_or(NextHop::NONE, |route| route.next_hop);
            for (first, last) in exposed(rib, delta.prefix) {
                self.paint(table, first, last, answer);
            }
        }
        for delta in deltas.iter().filter(|delta| !delta.after.is_some()) {
            self.shrink(delta.prefix);
        }
    }

    /// Adds the next hops of a table whose routes have been counted.
    pub(super) fn add(&mut self, rib: &Rib<u32>) {
        let (chunks24, chunks32) = (self.overlay.below16.len(), self.overlay.below24.len());
        self.tables.push(Table::new(chunks24, chunks32, self.pages));
        for range in rib.ranges() {
            self.paint(self.tables.len() - 1, range.first, range.last, range.next_hop);
        }
    }

    /// Counts a route of some table into the chunks on its path, and allocates those that are
    /// missing.
    pub(super) fn grow(&mut self, prefix: Prefix<u32>) {
        let address = prefix.first();
        if prefix.len() > 16 {
            let chunk = self.chunk_below(slot16(address), address);
            self.overlay.below16.count_in(chunk);
        }
        if prefix.len() > 24 {
            let chunk = self.chunk_below(self.overlay.below(address), address);
            self.overlay.below24.count_in(chunk);
        }
    }

    /// Counts a route out of the chunks on its path, and frees those in which no table has a route.
    pub(super) fn shrink(&mut self, prefix: Prefix<u32>) {
        let address = prefix.first();
        if prefix.len() > 24 {
            let slot = self.overlay.below(address);
            if self.overlay.below24.count_out(self.overlay.chunk(slot)) {
                self.merge(slot);
            }
        }
        if prefix.len() > 16 {
            let slot = slot16(address);
            if self.overlay.below16.count_out(self.overlay.chunk(slot)) {
                self.merge(slot);
            }
        }
    }

    /// Returns the chunk below the slot that `address` has on level 16 or 24. Allocates it if there
    /// is none; each table fills it with the slot's answer.
    fn chunk_below(&mut self, slot: usize, address: u32) -> usize {
        if self.overlay.is_answered(slot) {
            self.overlay.split(slot, address);
            self.tables.iter_mut().for_each(|table| table.split(slot));
            self.cost.nodes_allocated += 1;
            self.count_entry();
            self.count_chunk(slot);
        }
        self.overlay.chunk(slot)
    }

    /// Removes the chunk below a slot, in which every table has one answer.
    fn merge(&mut self, slot: usize) {
        let chunk = self.overlay.chunk(slot);
        self.tables.iter_mut().for_each(|table| table.merge(slot, chunk));
        self.count_entry();
        if self.overlay.merge(slot) {
            self.cost.nodes_copied += 1;
            self.cost.on_chip_writes += u64::from(slot < NODES16); // the entry of the chunk that moved
            self.count_chunk(slot);
        }
    }

    /// Writes one next hop to all addresses of `first..=last` in one table.
    fn paint(&mut self, table: usize, first: u32, last: u32, next_hop: NextHop) {
        let Self { overlay, tables, cost, .. } = self;
        overlay.runs(first, last, |run| {
            let slots = tables[table].slots_mut(run);
            cost.entries_set += slots.len() as u64;
            slots.fill(W::narrow(next_hop));
        });
    }

    /// Counts the entry of a slot in BC16 or B24, and its next hop in every table, as written.
    fn count_entry(&mut self) {
        self.cost.on_chip_writes += 1;
        self.cost.entries_set += self.tables.len() as u64;
    }

    /// Counts the chunk below a slot of level 16 or 24, and its id, as written.
    fn count_chunk(&mut self, slot: usize) {
        self.cost.entries_set += (self.tables.len() * CHUNK + 1) as u64;
        if slot < NODES16 {
            self.cost.entries_set += CHUNK as u64; // of C24
            self.cost.on_chip_writes += CHUNK_WORDS as u64;
        }
    }
}
