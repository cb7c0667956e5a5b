//! Access for the tests of the engines: what they read, and what they corrupt.

use super::{BitMaps, PivotTable};
use fibula::NextHop;
use fibula::engine::Width;

impl<W: Width, B: BitMaps> PivotTable<W, B> {
    /// Returns the next hop of a slot, or `None` if a chunk is below it.
    pub(crate) fn next_hop_at(&self, depth: usize, slot: usize) -> Option<NextHop> {
        let chunk = depth == Self::PIVOT_DEPTH && self.below.chunk(slot).is_some();
        (!chunk).then(|| self.found(depth, slot))
    }

    pub(crate) fn set_next_hop_at(&mut self, depth: usize, slot: usize, next_hop: NextHop) {
        self.set_next_hop(depth, slot, next_hop);
    }

    pub(crate) fn chunk_at(&self, slot: usize) -> Option<Vec<W>> {
        self.below.n32(slot).map(<[W]>::to_vec)
    }

    pub(crate) fn spoil_chunk_at(&mut self, slot: usize, at: usize, answer: W) {
        self.below.spoil(slot, at, answer);
    }

    pub(crate) fn flip(&mut self, depth: usize, slot: usize) {
        let value = !self.bit(depth, slot);
        self.set_bits(depth, slot, 1, value);
    }

    /// Makes the entry of a slot of level 24 point to the wrong chunk: the one after its own, or,
    /// for a leaf, one without an owner.
    pub(crate) fn misdirect(&mut self, slot: usize) {
        self.below.misdirect(slot);
    }
}
