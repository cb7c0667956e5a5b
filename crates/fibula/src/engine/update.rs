//! [`Update`]: an engine's result when its table has changed.

use crate::Limit;
use std::ops::AddAssign;

/// The result of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// The engine answers for the new table; this is the cost.
    Applied(Cost),
    /// The engine cannot follow in place and answers for the old table, so the caller builds a new
    /// one. This is a normal result.
    Rebuild,
    /// The new table does not fit; the engine answers for the old one.
    Limit(Limit),
}

/// The cost of updates, in the papers' own units. A unit that an engine does not use stays 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Table entries written (DIR-24-8, SAIL).
    pub entries_set: u64,
    /// Nodes copied to a new block (Tree Bitmap, Poptrie).
    pub nodes_copied: u64,
    /// Results moved to a new block, with its nodes or alone (Tree Bitmap).
    pub results_moved: u64,
    /// Nodes newly allocated (tries).
    pub nodes_allocated: u64,
    /// Chunks or blocks rebuilt (DXR).
    pub chunks_rebuilt: u64,
    /// Words written in what is read first to know where to look: the bit maps that SAIL keeps on
    /// chip, the Bloom filters.
    pub on_chip_writes: u64,
    /// Words of 64 bits written in all arrays that lookups read (SAIL_L, Figure 11).
    pub words_written: u64,
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.entries_set += other.entries_set;
        self.nodes_copied += other.nodes_copied;
        self.results_moved += other.results_moved;
        self.nodes_allocated += other.nodes_allocated;
        self.chunks_rebuilt += other.chunks_rebuilt;
        self.on_chip_writes += other.on_chip_writes;
        self.words_written += other.words_written;
    }
}
