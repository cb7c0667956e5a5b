//! [`Below`]: the answers of the /24s that contain more-specific routes, off the common path.

use super::places::{Places, find};
use super::{BELOW, TILE_END};
use crate::blocks::retired::Retired;
use crate::blocks::unique::Unique;
use crate::engine::{Meter, Width};
use crate::memory::{Array, Pages, Published, WordsView};

/// The part of [`Below`] that lookups read.
#[derive(Clone, Debug)]
pub(super) struct BelowView<W: Width> {
    places: WordsView<u64>,
    answers: WordsView<W>,
}

impl<W: Width> BelowView<W> {
    /// Returns a view of the given /24s, each a number and the index of its chunk in `answers`.
    /// Leaves out a /24 whose chunk is past the end.
    pub(super) fn holding(
        places: impl ExactSizeIterator<Item = (u32, u32)>,
        answers: Array<W>,
        pages: Pages,
    ) -> Self {
        let chunks = answers.len() / BELOW;
        let mut all = Places::with_room_for(places.len(), pages);
        for (number, chunk) in places.filter(|&(_, chunk)| (chunk as usize) < chunks) {
            all.set(number, chunk);
        }
        Self { places: all.words().view(), answers: WordsView::holding(answers) }
    }

    /// Returns the index of the answer of `address` among the answers of all chunks, or `None` if
    /// its /24 has no chunk.
    #[inline(always)]
    pub(super) fn find(&self, address: u32, meter: &mut impl Meter) -> Option<u32> {
        meter.hash();
        let chunk = find(&self.places, address >> (32 - TILE_END), meter)?;
        Some(chunk * BELOW as u32 + address % BELOW as u32)
    }

    /// Returns the answers of all chunks.
    #[inline(always)]
    pub(super) fn answers(&self) -> &[Published<W>] {
        &self.answers
    }
}

/// One answer per address, for some /24s. A /24 is known by its number: its first 24 bits.
#[derive(Debug)]
pub(super) struct Below<W: Width> {
    places: Places,
    chunks: Unique<W, BELOW>,
    /// In shared tables: the /24s to remove after a grace period. Until then a reader may still
    /// arrive here through a mark that it read earlier.
    leaving: Retired<u32>,
    pages: Pages,
}

impl<W: Width> Below<W> {
    /// The slots that a shared table reserves for growth, on top of three times its contents.
    const ROOM: usize = 1 << 13;

    pub(super) fn new(pages: Pages) -> Self {
        Self {
            places: Places::with_room_for(0, pages),
            chunks: Unique::new(pages),
            leaving: Retired::new(),
            pages,
        }
    }

    /// Shares the table: other threads may read it from now on.
    pub(super) fn share(&mut self) {
        self.places = self.places.resized(4 * self.places.len() + Self::ROOM, self.pages, |chunk| chunk);
        self.chunks.share(4 * self.chunks.len() + Self::ROOM);
    }

    /// Returns the view that lookups read.
    pub(super) fn view(&self) -> BelowView<W> {
        BelowView { places: self.places.words().view(), answers: self.chunks.view() }
    }

    /// Updates `view` after an array has moved.
    pub(super) fn show_in(&self, view: &mut BelowView<W>) {
        self.places.words().show_in(&mut view.places);
        self.chunks.show_in(&mut view.answers);
    }

    /// Ends a grace period: every reader has passed what was changed before the previous call.
    pub(super) fn readers_passed(&mut self) {
        for number in self.leaving.readers_passed() {
            take_out(&mut self.places, &mut self.chunks, number);
        }
        self.chunks.readers_passed();
    }

    /// Returns whether `changes` more changes fit without moving an array.
    pub(super) fn has_room(&self, changes: usize) -> bool {
        self.places.room() > changes && self.chunks.room() > changes + self.places.len()
    }

    /// Iterates over the /24s, each a number and the index of its chunk.
    pub(super) fn places(&self) -> impl Iterator<Item = (u32, u32)> {
        self.places.iter()
    }

    /// Returns the answers of `chunk`.
    pub(super) fn chunk(&self, chunk: u32) -> [W; BELOW] {
        self.chunks.get(chunk)
    }

    /// Returns the answers of all chunks.
    pub(super) fn answers(&self) -> Vec<W> {
        self.chunks.to_vec()
    }

    /// Sets the answers of the /24 with this `number`.
    pub(super) fn set(&mut self, number: u32, answers: &[W; BELOW]) {
        if self.places.room() == 0 {
            self.resize(self.places.len() + self.places.len() / 8 + 8, |chunk| chunk);
        }
        self.leaving.retain(|&other| other != number);
        let chunk = self.chunks.insert(answers);
        if let Some(before) = self.places.set(number, chunk) {
            self.chunks.release(before, 1);
        }
    }

    /// Removes the /24 with this `number`, if present. A shared table removes it after a grace
    /// period.
    pub(super) fn remove(&mut self, number: u32) {
        if self.chunks.is_shared() {
            self.leaving.retire(number);
        } else {
            take_out(&mut self.places, &mut self.chunks, number);
        }
    }

    /// Frees unused memory if there is much of it. O(1) or O(all).
    pub(super) fn tidy(&mut self) {
        if self.chunks.is_sparse() {
            self.compact();
        }
    }

    /// Frees all unused memory. O(all).
    pub(super) fn compact(&mut self) {
        let renumbered = self.chunks.compact();
        self.resize(self.places.len(), |chunk| renumbered[chunk as usize]);
    }

    fn resize(&mut self, room: usize, renumbered: impl Fn(u32) -> u32) {
        self.places = self.places.resized(room, self.pages, renumbered);
    }

    /// Returns the number of /24s and the number of different chunks.
    pub(super) fn counts(&self) -> (usize, usize) {
        let mut chunks: Vec<u32> = self.places.iter().map(|(_, chunk)| chunk).collect();
        chunks.sort_unstable();
        chunks.dedup();
        (self.places.len(), chunks.len())
    }

    pub(super) fn bytes(&self) -> usize {
        self.places.bytes() + self.chunks.bytes()
    }

    pub(super) fn book_bytes(&self) -> usize {
        self.chunks.book_bytes()
    }

    /// Checks the bookkeeping, and that the /24s and their answers equal those of `fresh`.
    pub(super) fn validate(&self, fresh: &Self) -> Result<(), String> {
        self.places.validate()?;
        self.chunks.validate()?;
        let mut references = vec![0; self.chunks.numbers()];
        let mut leaving = 0;
        for (number, chunk) in self.places.iter() {
            references[chunk as usize] += 1;
            leaving += usize::from(self.leaving.iter().any(|&other| other == number));
        }
        if self.places.len() - leaving != fresh.places.len() {
            return Err(format!("{} /24s with longer routes of {}", self.places.len(), fresh.places.len()));
        }
        for (number, chunk) in fresh.places.iter() {
            let here = self.places.get(number);
            let answers = here.map(|here| self.chunks.get(here));
            if answers != Some(fresh.chunks.get(chunk)) {
                return Err(format!("{number:#x}: {answers:?} are not its answers"));
            }
        }
        self.chunks.check_references(&references)
    }
}

fn take_out<W: Width>(places: &mut Places, chunks: &mut Unique<W, BELOW>, number: u32) {
    if let Some(chunk) = places.remove(number) {
        chunks.release(chunk, 1);
    }
}
