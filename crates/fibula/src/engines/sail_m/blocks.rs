//! [`Blocks`]: the next hops of all tables, a block of 256 for each chunk and table.

use super::CHUNK;
use crate::blocks::dense::ChunkArray;
use crate::engine::Width;
use crate::memory::Pages;
use std::ops::Range;

/// Arrays of next hops of one length, one next hop a table, for slots that stand in chunks of 256.
///
/// The 256 next hops of one table in one chunk lie side by side, the tables of a chunk behind one another.
#[derive(Clone, Debug)]
pub(super) struct Blocks<W: Width> {
    blocks: ChunkArray<W, CHUNK>,
    tables: usize,
}

impl<W: Width> Blocks<W> {
    /// No chunks, and room for `chunks` of them.
    pub(super) fn new(tables: usize, chunks: usize, pages: Pages) -> Self {
        Self { blocks: ChunkArray::new(pages, tables * chunks), tables }
    }

    /// Where the next hop of one table for one slot stands in [`elements`](Self::elements).
    #[inline(always)]
    pub(super) fn index(&self, table: usize, slot: usize) -> usize {
        (slot / CHUNK * self.tables + table) * CHUNK + slot % CHUNK
    }

    /// All next hops.
    #[inline(always)]
    pub(super) fn elements(&self) -> &[W] {
        &self.blocks
    }

    /// The next hop of one table for one slot.
    #[inline(always)]
    pub(super) fn get(&self, table: usize, slot: usize) -> W {
        self.blocks[self.index(table, slot)]
    }

    /// Gives some slots, at least one, one next hop in one table.
    pub(super) fn fill(&mut self, table: usize, slots: Range<usize>, next_hop: W) {
        for chunk in slots.start / CHUNK..=(slots.end - 1) / CHUNK {
            let start = self.index(table, slots.start.max(chunk * CHUNK));
            let last = self.index(table, (slots.end - 1).min(chunk * CHUNK + CHUNK - 1));
            self.blocks[start..=last].fill(next_hop);
        }
    }

    /// Appends the block of one table, the next one, to the last chunk: one next hop everywhere.
    pub(super) fn push(&mut self, next_hop: W) {
        self.blocks.push(next_hop);
    }

    /// Removes a chunk; the last one takes its place.
    pub(super) fn swap_remove(&mut self, chunk: usize) {
        for table in (0..self.tables).rev() {
            let block = u32::try_from(chunk * self.tables + table).expect("less than a TiB of next hops");
            self.blocks.swap_remove(block);
        }
    }

    /// The same for another number of tables, all of its `chunks`. A table that is new has no routes.
    pub(super) fn with_tables(&self, tables: usize, chunks: usize, pages: Pages) -> Self {
        let mut copy = Self::new(tables, chunks, pages);
        for slot in (0..chunks).map(|chunk| chunk * CHUNK) {
            (0..tables).for_each(|_| copy.push(W::default()));
            for table in 0..tables.min(self.tables) {
                let (from, to) = (self.index(table, slot), copy.index(table, slot));
                copy.blocks[to..to + CHUNK].copy_from_slice(&self.blocks[from..from + CHUNK]);
            }
        }
        copy
    }

    /// The bytes it occupies, unused capacity included.
    pub(super) fn bytes(&self) -> usize {
        self.blocks.bytes()
    }
}
