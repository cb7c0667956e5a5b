//! [`ExtraNhia`]: the next-hop indices that do not fit into their entries, and how an entry is
//! written.

use super::entry::{Atlas, Entry, Runs, SLOTS};
use super::nhi::Nhi;
use fibula::parts::blocks::chunks::Pool;
use fibula::parts::memory::Pages;

/// The arrays of next-hop indices that do not fit into their entries.
#[derive(Debug)]
pub(super) struct ExtraNhia<N: Nhi> {
    pool: Pool<N>,
    pages: Pages,
}

impl<N: Nhi> ExtraNhia<N> {
    /// The pool is compacted when a `1 / HOLES` part of it is holes.
    const HOLES: usize = 16;

    /// With fewer indices in holes than this, there is nothing to gain.
    const HOLES_IGNORED: usize = 1024;

    /// The most indices: what a pointer of 32 bits can address.
    const MAX: u64 = 1 << 32;

    pub(super) fn new(pages: Pages) -> Self {
        Self { pool: Pool::new("ExtraNHIA indices", Self::MAX, pages), pages }
    }

    /// Returns an entry of these slots.
    pub(super) fn entry<M: Atlas, const INLINE: usize>(&mut self, slots: &[N; SLOTS]) -> Entry<N, M, INLINE> {
        let runs = Runs::of(&slots[..M::SLOTS]);
        if runs.len > INLINE {
            return Entry::pointing_to(runs.atlas, self.insert(&runs.nhia[..runs.len]));
        }
        let mut nhia = [N::NONE; INLINE];
        nhia.copy_from_slice(&runs.nhia[..INLINE]);
        Entry { atlas: M::of(runs.atlas), nhia }
    }

    /// Frees the indices that an entry has here.
    pub(super) fn release<M: Atlas, const INLINE: usize>(&mut self, entry: &Entry<N, M, INLINE>) {
        if let Some((start, len)) = entry.extra() {
            self.pool.remove(start, len);
        }
    }

    /// Replaces an entry's slots.
    pub(super) fn replace<M: Atlas, const INLINE: usize>(
        &mut self,
        entry: &mut Entry<N, M, INLINE>,
        slots: &[N; SLOTS],
    ) {
        self.release(entry);
        *entry = self.entry(slots);
    }

    fn insert(&mut self, nhia: &[N]) -> usize {
        self.pool.insert(nhia).expect("the limits of nodes and Hash16 entries keep these below 2^32")
    }

    /// Returns whether closing the holes that updates left is worth a walk over all entries.
    pub(super) fn has_many_holes(&self) -> bool {
        let (len, free) = (self.pool.len(), self.pool.free_total());
        free > Self::HOLES_IGNORED && free * Self::HOLES > len
    }

    /// Returns whether there are any holes.
    pub(super) fn has_holes(&self) -> bool {
        self.pool.free_total() > 0
    }

    /// Begins to close all holes. Returns the old arrays and leaves an empty pool, to which
    /// [`Self::move_in`] moves them.
    pub(super) fn start_afresh(&mut self) -> Self {
        std::mem::replace(self, Self::new(self.pages))
    }

    /// Takes the ExtraNHIAs of some entries over from another pool.
    pub(super) fn move_in<'e, M: Atlas, const INLINE: usize>(
        &mut self,
        from: &Self,
        entries: impl IntoIterator<Item = &'e mut Entry<N, M, INLINE>>,
    ) {
        for entry in entries {
            if entry.extra().is_some() {
                let start = self.insert(entry.nhia(from));
                *entry = Entry::pointing_to(entry.atlas.into(), start);
            }
        }
    }

    /// Returns all indices.
    #[inline(always)]
    pub(super) fn indices(&self) -> &[N] {
        &self.pool
    }

    /// Frees unused capacity at the end of a build.
    pub(super) fn shrink_to_fit(&mut self) {
        self.pool.shrink_to_fit();
    }

    /// Returns the number of indices in use.
    pub(super) fn used(&self) -> usize {
        self.pool.len() - self.pool.free_total()
    }

    /// Returns one past the last index in use.
    pub(super) fn end(&self) -> usize {
        self.pool.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.pool.bytes()
    }

    /// Checks the bookkeeping.
    pub(super) fn validate(&self) -> Result<(), String> {
        self.pool.validate()
    }
}
