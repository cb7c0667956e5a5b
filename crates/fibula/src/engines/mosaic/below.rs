//! [`Below`]: the answers of the /24s with longer routes, off the common path.

use super::{BELOW, TILE_END};
use crate::blocks::buckets::Buckets;
use crate::blocks::hashing::HashFunction;
use crate::blocks::unique::Unique;
use crate::engine::{Meter, Width};
use crate::memory::{Array, Pages};

/// An answer for each address of some /24s, which are known by their numbers: the first 24 bits.
#[derive(Clone, Debug)]
pub(super) struct Below<W: Width> {
    /// The number of the chunk, plus one, of each /24.
    places: Buckets<u32, u32, 7>,
    chunks: Unique<W, BELOW>,
    pages: Pages,
}

#[inline(always)]
fn hash(number: u32) -> u32 {
    HashFunction::Murmur.hash(number)
}

impl<W: Width> Below<W> {
    pub(super) fn new(pages: Pages) -> Self {
        Self { places: Buckets::with_room_for(0, pages), chunks: Unique::new(pages), pages }
    }

    /// /24s by their numbers, each with a chunk of the answers, counted from 1: only to be read.
    pub(super) fn holding(
        places: impl ExactSizeIterator<Item = (u32, u32)>,
        answers: Array<W>,
        pages: Pages,
    ) -> Self {
        let mut below = Self {
            places: Buckets::with_room_for(places.len(), pages),
            chunks: Unique::holding(answers),
            pages,
        };
        for (number, chunk) in places.filter(|&(_, chunk)| chunk > 0) {
            below.places.set(hash(number), number, chunk);
        }
        below
    }

    /// The /24s by their numbers, each with its chunk, counted from 1.
    pub(super) fn places(&self) -> impl Iterator<Item = (u32, u32)> {
        self.places.iter()
    }

    /// The answers of all chunks.
    pub(super) fn answers(&self) -> &[W] {
        self.chunks.values()
    }

    /// The answer for an address, if its /24 is one of these.
    #[inline(always)]
    pub(super) fn get(&self, address: u32, meter: &mut impl Meter) -> Option<W> {
        let number = address >> (32 - TILE_END);
        meter.hash();
        match self.places.get(hash(number), number, meter) {
            0 => None,
            chunk => {
                let start = (chunk as usize - 1) * BELOW;
                Some(meter.load(&self.chunks.values()[start + address as usize % BELOW]))
            }
        }
    }

    /// Gives a /24 its answers.
    pub(super) fn set(&mut self, number: u32, answers: &[W; BELOW]) {
        // At most as full as `with_room_for` makes it: two slots of three.
        if (self.places.len() + 1) * 3 > self.places.slots() * 2 {
            self.resize(self.places.len() + self.places.len() / 8 + 8, |chunk| chunk);
        }
        let chunk = self.chunks.insert(answers);
        let before = self.places.set(hash(number), number, chunk + 1);
        if before > 0 {
            self.chunks.release(before - 1, 1);
        }
    }

    /// Takes a /24 out, if it is here.
    pub(super) fn remove(&mut self, number: u32) {
        let chunk = self.places.remove(number, hash);
        if chunk > 0 {
            self.chunks.release(chunk - 1, 1);
        }
    }

    /// Gives back what is free, if that is much. O(1) or O(all).
    pub(super) fn tidy(&mut self) {
        if self.chunks.is_sparse() {
            let renumbered = self.chunks.compact();
            self.resize(self.places.len(), |chunk| renumbered[chunk as usize - 1] + 1);
        }
    }

    fn resize(&mut self, room: usize, renumbered: impl Fn(u32) -> u32) {
        let mut places = Buckets::with_room_for(room, self.pages);
        for (number, chunk) in self.places.iter() {
            places.set(hash(number), number, renumbered(chunk));
        }
        self.places = places;
    }

    /// How many /24s, and how many different contents they have.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.places.len(), self.chunks.len())
    }

    pub(super) fn bytes(&self) -> usize {
        self.places.bytes() + self.chunks.bytes()
    }

    pub(super) fn book_bytes(&self) -> usize {
        self.chunks.book_bytes()
    }

    /// Checks the books, and that the /24s and their answers are those of another.
    pub(super) fn validate(&self, fresh: &Self) -> Result<(), String> {
        self.places.validate(hash)?;
        self.chunks.validate()?;
        if self.places.len() != fresh.places.len() {
            return Err(format!("{} /24s with longer routes of {}", self.places.len(), fresh.places.len()));
        }
        let mut references = vec![0; self.chunks.numbers()];
        for (number, chunk) in fresh.places.iter() {
            let here = self.places.get(hash(number), number, &mut crate::engine::Unmetered);
            let answers = here.checked_sub(1).map(|here| self.chunks.get(here));
            if answers != Some(fresh.chunks.get(chunk - 1)) {
                return Err(format!("{number:#x}: {answers:?} are not its answers"));
            }
            references[here as usize - 1] += 1;
        }
        self.chunks.check_references(&references)
    }
}
