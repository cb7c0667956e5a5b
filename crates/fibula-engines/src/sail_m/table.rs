//! [`Table`]: the next hops of one table, N16, N24 and N32.

use super::overlay::Run;
use super::{CHUNK, CHUNKS16, NODES16};
use crate::blocks::dense::ChunkArray;
use fibula::engine::Width;
use fibula::parts::memory::Pages;

/// The next hops of one table in the slots and chunks of the overlay. The next hop of an internal
/// slot is 0.
#[derive(Clone, Debug)]
pub(super) struct Table<W: Width> {
    /// N16 and then N24.
    pub(super) upper: ChunkArray<W, CHUNK>,
    /// N32.
    pub(super) lower: ChunkArray<W, CHUNK>,
}

impl<W: Width> Table<W> {
    /// Returns a table without routes, in an overlay of `chunks24` chunks of level 24 and
    /// `chunks32` of level 32.
    pub(super) fn new(chunks24: usize, chunks32: usize, pages: Pages) -> Self {
        let unrouted = |chunks| {
            let mut array = ChunkArray::new(pages, chunks);
            (0..chunks).for_each(|_| array.push(W::default()));
            array
        };
        Self { upper: unrouted(CHUNKS16 + chunks24), lower: unrouted(chunks32) }
    }

    /// Copies the answer of a slot of level 16 or 24 to all of a new chunk below it.
    pub(super) fn split(&mut self, slot: usize) {
        let next_hop = std::mem::take(&mut self.upper[slot]);
        if slot < NODES16 { self.upper.push(next_hop) } else { self.lower.push(next_hop) }
    }

    /// Moves the one answer of the chunk below a slot of level 16 or 24 to the slot. The last chunk
    /// takes the removed chunk's number.
    pub(super) fn merge(&mut self, slot: usize, chunk: usize) {
        if slot < NODES16 {
            self.upper[slot] = self.upper[(CHUNKS16 + chunk) * CHUNK];
            self.upper.swap_remove((CHUNKS16 + chunk) as u32);
        } else {
            self.upper[slot] = self.lower[chunk * CHUNK];
            self.lower.swap_remove(chunk as u32);
        }
    }

    /// Returns the next hops of a run of slots.
    pub(super) fn slots(&self, run: Run) -> &[W] {
        match run {
            Run::Upper(slots) => &self.upper[slots],
            Run::Lower(slots) => &self.lower[slots],
        }
    }

    /// Returns the next hops of a run of slots, to write them.
    pub(super) fn slots_mut(&mut self, run: Run) -> &mut [W] {
        match run {
            Run::Upper(slots) => &mut self.upper[slots],
            Run::Lower(slots) => &mut self.lower[slots],
        }
    }
}
