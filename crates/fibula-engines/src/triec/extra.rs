//! [`ExtraNhia`]: the next-hop indices that do not fit into their entries, and how an entry is
//! written.

use super::entry::{Atlas, Entry, Entry15_6, Place, Runs, SLOTS, SPREAD, is_spread};
use super::nhi::Nhi;
use fibula::blocks::chunks::SharedPool;
use fibula::memory::{Pages, Published, Shareable, WordsView};
use std::ops::Range;

/// The arrays of next-hop indices that do not fit into their entries.
#[derive(Debug)]
pub(super) struct ExtraNhia<N: Nhi> {
    pool: SharedPool<N>,
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
        Self { pool: SharedPool::empty("ExtraNHIA indices", Self::MAX, pages), pages }
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

    /// Replaces an entry's slots. No other thread may read the entry.
    pub(super) fn replace<M: Atlas, const INLINE: usize>(
        &mut self,
        place: &Place<N, M, INLINE>,
        slots: &[N; SLOTS],
    ) {
        self.release(&Entry::<N, M, INLINE>::load_atomic(place));
        self.entry::<M, INLINE>(slots).store(place);
    }

    /// Replaces an entry's slots while other threads read it.
    pub(super) fn spread(&mut self, place: &Place<N, u64, 4>, slots: &[N; SLOTS]) {
        self.release(&Entry15_6::load_atomic(place));
        let start = self.insert(slots) as u64;
        (start << 2 | SPREAD).store(&place.0);
    }

    /// Packs an entry that was spread before the grace period, if it is still spread. Returns
    /// `false` if there is no room and the entry stays spread.
    pub(super) fn pack(&mut self, place: &Place<N, u64, 4>) -> bool {
        let spread = Entry15_6::load_atomic(place);
        if is_spread::<u64>(spread.atlas) {
            if !self.has_room() {
                return false;
            }
            self.entry::<u64, 4>(&spread.slots(self)).store(place);
            self.release(&spread);
        }
        true
    }

    fn insert(&mut self, nhia: &[N]) -> usize {
        self.pool
            .insert(nhia)
            .expect("the limits of nodes and Hash16 entries keep these below 2^32, and shared ones have room")
    }

    /// Returns whether there is room to write some entries.
    pub(super) fn has_room(&self) -> bool {
        self.pool.has_room(4 * SLOTS)
    }

    /// Returns whether so much is unused that a rebuild is worth it, where nothing can move.
    pub(super) fn is_wasteful(&self) -> bool {
        self.pool.is_shared() && self.pool.is_wasteful()
    }

    /// Returns whether closing the holes that updates left is worth a walk over all entries.
    pub(super) fn has_many_holes(&self) -> bool {
        let (len, free) = (self.pool.len(), self.pool.free_total());
        free > Self::HOLES_IGNORED && free * Self::HOLES > len && !self.pool.is_shared()
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
        entries: impl IntoIterator<Item = &'e Place<N, M, INLINE>>,
    ) {
        for place in entries {
            let entry = Entry::<N, M, INLINE>::load_atomic(place);
            if entry.extra().is_some() {
                let start = self.insert(&entry.nhia(from));
                Entry::<N, M, INLINE>::pointing_to(entry.atlas.into(), start).store(place);
            }
        }
    }

    /// Shares the pool: other threads may read it from now on.
    pub(super) fn share(&mut self) {
        self.pool.share(Self::MAX);
    }

    /// Returns the view that lookups read.
    pub(super) fn view(&self) -> WordsView<N> {
        self.pool.view()
    }

    /// Updates `view` after the array has moved.
    pub(super) fn show_in(&self, view: &mut WordsView<N>) {
        self.pool.show_in(view);
    }

    /// Returns a range of indices as their owner stores to them.
    pub(super) fn places(&self, range: Range<usize>) -> &[N::Atomic] {
        self.pool.words().places(range)
    }

    /// Returns whether the pool is shared.
    pub(super) fn is_shared(&self) -> bool {
        self.pool.is_shared()
    }

    /// Ends a grace period: all readers have passed what was freed before the previous call.
    pub(super) fn readers_passed(&mut self) {
        self.pool.readers_passed();
    }

    /// Returns all indices.
    #[inline(always)]
    pub(super) fn indices(&self) -> &[Published<N>] {
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
