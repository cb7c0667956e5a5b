//! [`ExtraNhia`]: the next-hop indices that do not fit into their entries, and how an entry comes to be written.

use super::entry::{Atlas, Entry, Entry15_6, Place, Runs, SLOTS, SPREAD, is_spread};
use super::nhi::Nhi;
use crate::blocks::chunks::SharedPool;
use crate::memory::{Pages, Published, Shareable, WordsView};
use std::ops::Range;

/// The arrays of next-hop indices that do not fit into their entries.
#[derive(Debug)]
pub(super) struct ExtraNhia<N: Nhi> {
    pool: SharedPool<N>,
    pages: Pages,
}

impl<N: Nhi> ExtraNhia<N> {
    /// The pool is compacted when one part in so many of it is holes.
    const HOLES: usize = 16;

    /// Below this many indices in holes there is nothing to gain.
    const HOLES_IGNORED: usize = 1024;

    /// The most indices: what a pointer of 32 bits reaches.
    const MAX: u64 = 1 << 32;

    pub(super) fn new(pages: Pages) -> Self {
        Self { pool: SharedPool::empty("ExtraNHIA indices", Self::MAX, pages), pages }
    }

    /// An entry of these slots.
    pub(super) fn entry<M: Atlas, const INLINE: usize>(&mut self, slots: &[N; SLOTS]) -> Entry<N, M, INLINE> {
        let runs = Runs::of(&slots[..M::SLOTS]);
        if runs.len > INLINE {
            return Entry::pointing_to(runs.atlas, self.insert(&runs.nhia[..runs.len]));
        }
        let mut nhia = [N::NONE; INLINE];
        nhia.copy_from_slice(&runs.nhia[..INLINE]);
        Entry { atlas: M::of(runs.atlas), nhia }
    }

    /// Gives back what an entry has here.
    pub(super) fn release<M: Atlas, const INLINE: usize>(&mut self, entry: &Entry<N, M, INLINE>) {
        if let Some((start, len)) = entry.extra() {
            self.pool.remove(start, len);
        }
    }

    /// Gives an entry other slots that nobody else reads.
    pub(super) fn replace<M: Atlas, const INLINE: usize>(
        &mut self,
        place: &Place<N, M, INLINE>,
        slots: &[N; SLOTS],
    ) {
        self.release(&Entry::<N, M, INLINE>::load_atomic(place));
        self.entry::<M, INLINE>(slots).store(place);
    }

    /// Gives an entry other slots while others read it.
    pub(super) fn spread(&mut self, place: &Place<N, u64, 4>, slots: &[N; SLOTS]) {
        self.release(&Entry15_6::load_atomic(place));
        let start = self.insert(slots) as u64;
        (start << 2 | SPREAD).store(&place.0);
    }

    /// Packs an entry that was spread before readers passed, if it still is. Where there is no room it may stay as it is: then this says no.
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

    /// Whether some entries may be written.
    pub(super) fn has_room(&self) -> bool {
        self.pool.has_room(4 * SLOTS)
    }

    /// Whether so much is free that a new build is worth it, where nothing can move.
    pub(super) fn is_wasteful(&self) -> bool {
        self.pool.is_shared() && self.pool.is_wasteful()
    }

    /// Whether closing the holes that updates left is worth a walk over all entries.
    pub(super) fn has_many_holes(&self) -> bool {
        let (len, free) = (self.pool.len(), self.pool.free_total());
        free > Self::HOLES_IGNORED && free * Self::HOLES > len && !self.pool.is_shared()
    }

    /// Whether there are any.
    pub(super) fn has_holes(&self) -> bool {
        self.pool.free_total() > 0
    }

    /// Begins to close all holes: gives the old arrays and an empty pool in their place, to which
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

    /// Lets others read from now on.
    pub(super) fn share(&mut self) {
        self.pool.share(Self::MAX);
    }

    /// Returns them as lookups read them.
    pub(super) fn view(&self) -> WordsView<N> {
        self.pool.view()
    }

    /// Makes `view` show them, if they have moved.
    pub(super) fn show_in(&self, view: &mut WordsView<N>) {
        self.pool.show_in(view);
    }

    /// Returns a range of them as their owner stores to them.
    pub(super) fn places(&self, range: Range<usize>) -> &[N::Atomic] {
        self.pool.words().places(range)
    }

    /// Whether others read.
    pub(super) fn is_shared(&self) -> bool {
        self.pool.is_shared()
    }

    /// Readers have passed what was given back before the last call of this.
    pub(super) fn readers_passed(&mut self) {
        self.pool.readers_passed();
    }

    /// Returns all of them.
    #[inline(always)]
    pub(super) fn indices(&self) -> &[Published<N>] {
        &self.pool
    }

    /// Gives unused capacity back, at the end of a build.
    pub(super) fn shrink_to_fit(&mut self) {
        self.pool.shrink_to_fit();
    }

    /// The indices in use.
    pub(super) fn used(&self) -> usize {
        self.pool.len() - self.pool.free_total()
    }

    /// One past the last index in use.
    pub(super) fn end(&self) -> usize {
        self.pool.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.pool.bytes()
    }

    /// Checks the books.
    pub(super) fn validate(&self) -> Result<(), String> {
        self.pool.validate()
    }
}
