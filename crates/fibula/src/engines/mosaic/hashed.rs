//! [`Hashed`]: the answers of the /24s that contain more-specific routes, off the common path: a
//! hash table leads to them.

use super::below::{Below, BelowView};
use super::places::{Places, find};
use super::root::TileNumber;
use super::tiles::Tiles;
use super::view::{self, MosaicView};
use super::{BELOW, SLOTS, TILE, TILE_END};
use crate::blocks::retired::Retired;
use crate::blocks::unique::Unique;
use crate::engine::{Config, Meter, Unmetered, Width};
use crate::memory::{Array, Pages, Published, WordsView};
use crate::sections::{SectionWriter, Sections};
use crate::{Error, NextHop};

/// The part of [`Hashed`] that lookups read.
#[derive(Clone, Debug)]
pub(crate) struct HashedView<W: Width> {
    places: WordsView<u64>,
    answers: WordsView<W>,
}

impl<W: Width> HashedView<W> {
    /// Returns a view of the given /24s, each a number and the index of its chunk in `answers`.
    /// Leaves out a /24 whose chunk is past the end.
    fn holding(places: impl ExactSizeIterator<Item = (u32, u32)>, answers: Array<W>, pages: Pages) -> Self {
        let chunks = answers.len() / BELOW;
        let mut all = Places::with_room_for(places.len(), pages);
        for (number, chunk) in places.filter(|&(_, chunk)| (chunk as usize) < chunks) {
            all.set(number, chunk, &mut Unmetered);
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

    /// Returns the answer of `address`, whose /24 has a mark. Out of line: the others would pay for
    /// its registers.
    #[inline(never)]
    fn below_mark(&self, address: u32, meter: &mut impl Meter) -> W {
        match self.find(address, meter) {
            Some(place) => meter.load_word::<W>(&self.answers[place as usize]),
            None => W::narrow(NextHop(W::MAX)),
        }
    }

    /// Returns the answers of all chunks.
    #[inline(always)]
    pub(super) fn answers(&self) -> &[Published<W>] {
        &self.answers
    }
}

/// One answer per address, for some /24s. A /24 is known by its number: its first 24 bits.
#[derive(Clone, Debug)]
pub(crate) struct Hashed<W: Width> {
    places: Places,
    chunks: Unique<W, BELOW>,
    /// In shared tables: the /24s to remove after a grace period. Until then a reader may still
    /// arrive here through a mark that it read earlier.
    leaving: Retired<u32>,
    pages: Pages,
}

impl<W: Width> BelowView<W, W> for HashedView<W> {
    #[inline(always)]
    fn is_far(entry: W) -> bool {
        entry.widen().0 == W::MAX
    }

    #[inline(always)]
    fn answer(&self, entry: W, address: u32, meter: &mut impl Meter) -> W {
        if entry.widen().0 == W::MAX { self.below_mark(address, meter) } else { entry }
    }
}

impl<W: Width> Hashed<W> {
    /// The slots that a shared table reserves for growth, on top of three times its contents.
    const ROOM: usize = 1 << 13;

    /// Sets the answers of the /24 with this `number`. `meter` counts the words of the hash table
    /// that are read.
    fn set(&mut self, number: u32, answers: &[W; BELOW], meter: &mut impl Meter) {
        self.places.reserve(1, self.pages);
        self.leaving.retain(|&other| other != number);
        let chunk = self.chunks.insert(answers);
        if let Some(before) = self.places.set(number, chunk, meter) {
            self.chunks.release(before, 1);
        }
    }

    /// As [`Below::join`].
    pub(super) fn join_metered(&mut self, piece: &Self, meter: &mut impl Meter) {
        self.places.reserve(piece.places.len(), self.pages);
        for (number, chunk) in piece.places.iter() {
            self.set(number, &piece.chunks.get(chunk), meter);
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

    fn resize(&mut self, room: usize, renumbered: impl Fn(u32) -> u32) {
        self.places = self.places.resized(room, self.pages, renumbered);
    }
}

impl<W: Width> Below<W> for Hashed<W> {
    type Entry = W;
    type View = HashedView<W>;

    /// The greatest number that an answer can hold, so that entries are as wide as answers.
    const MARK: u32 = W::MAX;

    fn new(pages: Pages) -> Self {
        Self {
            places: Places::with_room_for(0, pages),
            chunks: Unique::new(pages),
            leaving: Retired::new(),
            pages,
        }
    }

    #[inline(always)]
    fn entry(answer: W) -> W {
        answer
    }

    fn answer(entry: W) -> W {
        entry
    }

    fn is_leaving(&self, number: u32) -> bool {
        self.leaving.iter().any(|&other| other == number)
    }

    fn most_marked_again(&self, longer: usize) -> usize {
        self.leaving.len().min(longer)
    }

    fn mark(&mut self, number: u32, answers: &[W; BELOW]) -> W {
        self.set(number, answers, &mut Unmetered);
        W::narrow(NextHop(W::MAX))
    }

    fn unmark(&mut self, entries: &[W], first: u32) -> bool {
        let has_marks = entries.iter().any(|entry| entry.widen().0 == W::MAX);
        if has_marks {
            (first..).zip(entries).for_each(|(number, _)| self.remove(number));
        }
        has_marks
    }

    fn join(&mut self, piece: &Self) {
        self.join_metered(piece, &mut Unmetered);
    }

    #[inline(always)]
    fn taken_over(&mut self, entry: W, _: &Self) -> W {
        entry
    }

    fn share(&mut self) {
        self.places = self.places.resized(4 * self.places.len() + Self::ROOM, self.pages, |chunk| chunk);
        self.chunks.share(4 * self.chunks.len() + Self::ROOM);
    }

    fn readers_passed(&mut self) {
        for number in self.leaving.readers_passed() {
            take_out(&mut self.places, &mut self.chunks, number);
        }
        self.chunks.readers_passed();
    }

    fn has_room(&self, longer: usize, painted: usize, _: impl FnOnce() -> usize) -> bool {
        // Each is painted in two passes at most.
        let marks = painted.min(2 * (longer + self.places.len()));
        self.places.room() > longer && self.chunks.room() > marks + self.most_marked_again(longer)
    }

    fn is_sparse(&self) -> bool {
        self.chunks.is_sparse()
    }

    fn compact(&mut self) -> Option<Vec<u32>> {
        let renumbered = self.chunks.compact();
        self.resize(self.places.len(), |chunk| renumbered[chunk as usize]);
        None
    }

    fn counts(&self, _: impl FnOnce() -> usize) -> (usize, usize) {
        let mut chunks: Vec<u32> = self.places.iter().map(|(_, chunk)| chunk).collect();
        chunks.sort_unstable();
        chunks.dedup();
        (self.places.len(), chunks.len())
    }

    fn bytes(&self) -> usize {
        self.places.bytes() + self.chunks.bytes()
    }

    fn book_bytes(&self) -> usize {
        self.chunks.book_bytes()
    }

    fn is_same(&self, entry: W, _: &Self, other: W) -> bool {
        entry == other
    }

    fn validate(&self, fresh: &Self, _: impl Iterator<Item = [W; TILE]>) -> Result<(), String> {
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
    fn view(&self) -> HashedView<W> {
        HashedView { places: self.places.words().view(), answers: self.chunks.view() }
    }

    fn show_in(&self, view: &mut HashedView<W>) {
        self.places.words().show_in(&mut view.places);
        self.chunks.show_in(&mut view.answers);
    }

    /// Saves the numbers of the /24s, from which the hash table is rebuilt, and the answers.
    fn save(&self, sections: &mut SectionWriter<'_>) {
        let (numbers, chunks): (Vec<u32>, Vec<u32>) = self.places.iter().unzip();
        sections.made("longer routes' /24s", &numbers);
        sections.made("longer routes' chunks", &chunks);
        sections.made("longer routes' answers", &self.chunks.to_vec());
    }

    fn open(sections: &Sections<'_>, config: &Config) -> Result<HashedView<W>, Error> {
        let numbers = sections.array::<u32>("longer routes' /24s")?;
        let chunks = sections.array_of::<u32>("longer routes' chunks", numbers.len())?;
        let places = numbers.iter().copied().zip(chunks.iter().copied());
        Ok(HashedView::holding(places, sections.array("longer routes' answers")?, config.pages))
    }

    #[inline(always)]
    fn look_up<T: TileNumber, F: Tiles<W>>(
        table: &MosaicView<W, F>,
        root: &[Published<T>; SLOTS],
        addresses: &[u32],
        next_hops: &mut [W],
    ) {
        view::look_up(table, root, addresses, next_hops);
    }
}

fn take_out<W: Width>(places: &mut Places, chunks: &mut Unique<W, BELOW>, number: u32) {
    if let Some(chunk) = places.remove(number) {
        chunks.release(chunk, 1);
    }
}
