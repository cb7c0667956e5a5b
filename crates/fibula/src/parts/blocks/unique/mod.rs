//! Deduplicated chunks: equal chunks share a number.
//!
//! Large parts of a pushed table repeat: long stretches have one answer, and neighbouring networks
//! are subdivided alike. An owner passes the contents of a chunk and gets the number of the chunk
//! that holds them, old or new. The chunk lives as long as there are references to it. The contents
//! of a number never change, so a reader that still holds a replaced chunk reads the old contents.
//!
//! [Shared](Kept::share) chunks may be read by others meanwhile. Then a freed number is reused only
//! after a grace period, and no chunk moves.
//!
//! Chunks of one length ([`Unique`]) have one number each. For chunks of several lengths, the owner
//! implements a [`Form`], which says how many numbers each takes.

mod form;
#[cfg(test)]
mod tests;
mod unseen;

pub use form::{Atomic, Form, Numbers, OneLength, Space};

use super::retired::Retired;
use crate::arch::prefetch;
use crate::memory::{Pages, Shareable, Words, WordsView};
use form::places;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use unseen::Unseen;
use zerocopy::{Immutable, IntoBytes};

/// Distinct chunks of `LEN` values each, with numbers and reference counts.
///
/// ```
/// use fibula::parts::blocks::unique::Unique;
/// use fibula::parts::memory::Pages;
/// let mut chunks: Unique<u8, 16> = Unique::new(Pages::Small);
/// let ones = chunks.insert(&[1; 16]);
/// let twos = chunks.insert(&[2; 16]);
/// assert_eq!(chunks.insert(&[1; 16]), ones);
/// assert_eq!((chunks.len(), chunks.get(twos)), (2, [2; 16]));
/// chunks.release(twos, 1);
/// assert_eq!(chunks.insert(&[3; 16]), twos); // the number is reused
/// ```
pub type Unique<T, const LEN: usize> = Kept<OneLength<T, LEN>>;

/// Distinct chunks of some form, with numbers and reference counts.
#[derive(Clone, Debug)]
pub struct Kept<F: Form> {
    words: Words<F::Word>,
    pages: Pages,
    /// Whether others read; then no chunk moves.
    shared: bool,
    /// Whether others read, here or in copies; then a freed number waits for a grace period.
    deferred: bool,
    /// The numbers that no reader has met yet, once [`show`](Self::show) has been called.
    unseen: Option<Unseen>,
    /// Whether the capacity stays close to what is in use as it grows.
    settled: bool,
    /// The reference count of each number; 0 if it is free, or not the first of its chunk.
    references: Vec<u32>,
    /// The hash of the contents of each number in use, so that no chunk is read to hash it again.
    hashes: Vec<u32>,
    space: F::Space,
    /// The chunks that are free after a grace period.
    retired: Retired<u32>,
    /// The numbers in use, by the hash of their contents.
    twins: HashTable<u32>,
}

impl<F: Form> Kept<F> {
    /// The unused capacity that is always allowed, in numbers.
    const SPARE: usize = 4 * F::MOST;

    /// Creates an empty set.
    #[must_use]
    pub fn new(pages: Pages) -> Self {
        Self::over(Words::zeroed(0, pages), pages)
    }

    /// Returns the set in a mode that grows by doubling until it is [compacted](Self::compact), for
    /// a build of many chunks.
    #[must_use]
    pub(crate) fn unsettled(self) -> Self {
        Self { settled: false, ..self }
    }

    fn over(words: Words<F::Word>, pages: Pages) -> Self {
        Self {
            words,
            pages,
            shared: false,
            deferred: false,
            unseen: None,
            settled: false,
            references: Vec::new(),
            hashes: Vec::new(),
            space: F::Space::default(),
            retired: Retired::new(),
            twins: HashTable::new(),
        }
    }

    /// Lets others read [views](Self::view) from now on. Moves to an array with room for `numbers`,
    /// and never moves afterwards.
    pub fn share(&mut self, numbers: usize) {
        self.words = self.words.resized(numbers.max(self.numbers()) * F::UNIT, self.pages);
        self.shared = true;
        self.defer();
    }

    /// Reuses freed numbers only after a [grace period](Self::readers_passed) from now on. For
    /// chunks that others read in copies of their own: chunks may still move here.
    pub fn defer(&mut self) {
        self.deferred = true;
    }

    /// Lets copies that others read have every chunk that there is. A chunk that is inserted from
    /// now on and released before the next call was never in a copy, so that its number is reused
    /// without a grace period. Without any call, every chunk counts as read.
    ///
    /// # Panics
    /// If the chunks are [shared](Self::share): then others read each one at once.
    pub fn show(&mut self) {
        assert!(!self.shared, "others read these chunks, and no copies");
        self.unseen.get_or_insert_default().clear();
    }

    /// Gives back the capacity that is not in use, and grows slowly from now on.
    ///
    /// # Panics
    /// If the chunks are [shared](Self::share) and cannot move.
    pub fn settle(&mut self) {
        assert!(!self.shared, "others read these chunks, which cannot move");
        let end = self.numbers();
        self.words = self.words.resized(end * F::UNIT, self.pages);
        self.references.shrink_to_fit();
        self.hashes.shrink_to_fit();
        let Self { twins, hashes, .. } = self;
        twins.shrink_to_fit(|&number| spread(hashes[number as usize]));
        self.settled = true;
    }

    /// Returns a view of the words of all chunks for readers.
    #[must_use]
    pub fn view(&self) -> WordsView<F::Word> {
        self.words.view()
    }

    /// Updates `view` if the words have moved.
    #[inline]
    pub(crate) fn show_in(&self, view: &mut WordsView<F::Word>) {
        self.words.show_in(view);
    }

    /// Returns the number of chunks that wait for a grace period.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.retired.len()
    }

    /// Returns whether others read.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.shared
    }

    /// Ends a grace period: the numbers released before the previous call may be reused.
    pub fn readers_passed(&mut self) {
        let Self { words, space, retired, .. } = self;
        for number in retired.readers_passed() {
            space.give(number, F::numbers(places::<F>(words, number)));
        }
    }

    /// Returns how many chunks of any contents may be inserted before chunks would have to move.
    #[must_use]
    pub fn room(&self) -> usize {
        (self.space.free_for_all() + self.words.len() / F::UNIT - self.space.end()) / F::MOST
    }

    /// Returns the number of the chunk with these contents, and adds a reference to it. O(length).
    ///
    /// # Panics
    /// If the chunks are shared and there is no room.
    pub fn insert(&mut self, contents: &F::Chunk) -> u32 {
        let values = F::words(contents);
        let numbers = values.len() / F::UNIT;
        let end = self.space.end_after(numbers);
        let more = if self.settled || self.shared { end / 16 } else { end };
        if end * F::UNIT > self.words.len() {
            assert!(!self.shared, "no room among chunks that others read");
            // Every growth moves all chunks.
            self.words = self.words.resized((end + more + Self::SPARE) * F::UNIT, self.pages);
        }
        if end > self.references.capacity() {
            self.references.reserve_exact(end + more + Self::SPARE - self.references.len());
            self.hashes.reserve_exact(end + more + Self::SPARE - self.hashes.len());
        }
        let Self { words, references, hashes, space, twins, unseen, .. } = self;
        let hash = hash(values);
        let is_equal = |&number: &u32| {
            hashes[number as usize] == hash && F::read(places::<F>(words, number)) == *contents
        };
        match twins.entry(spread(hash), is_equal, |&number| spread(hashes[number as usize])) {
            Entry::Occupied(twin) => {
                references[*twin.get() as usize] += 1;
                *twin.get()
            }
            Entry::Vacant(place) => {
                let number = space.take(numbers);
                place.insert(number);
                if end > references.len() {
                    references.resize(end, 0);
                    hashes.resize(end, 0);
                }
                words.write(number as usize * F::UNIT, values);
                references[number as usize] = 1;
                hashes[number as usize] = hash;
                if let Some(unseen) = unseen {
                    unseen.insert(number);
                }
                number
            }
        }
    }

    /// Adds `references` references to a chunk.
    ///
    /// # Panics
    /// If there is no such chunk.
    pub fn retain(&mut self, number: u32, references: u32) {
        self.references[number as usize] += references;
    }

    /// Returns the reference count of a chunk.
    ///
    /// # Panics
    /// If there is no such number.
    #[must_use]
    #[inline(always)]
    pub fn references(&self, number: u32) -> u32 {
        self.references[number as usize]
    }

    /// Prefetches what [`release`](Self::release) reads of a chunk: its reference count, its hash
    /// and its first words.
    #[inline(always)]
    pub fn prefetch(&self, number: u32) {
        prefetch(&self.references, number as usize);
        prefetch(&self.hashes, number as usize);
        prefetch(&self.words, number as usize * F::UNIT);
    }

    /// Removes `references` references to a chunk, which is freed without any. Returns whether it
    /// was. O(1).
    ///
    /// # Panics
    /// If it has fewer references.
    pub fn release(&mut self, number: u32, references: u32) -> bool {
        let left = &mut self.references[number as usize];
        *left = left.checked_sub(references).expect("no more references are released than were taken");
        let is_last = *left == 0 && references > 0;
        if is_last {
            let place = self.twins.find_entry(spread(self.hashes[number as usize]), |&twin| twin == number);
            place.expect("every chunk in use can be found").remove();
            let was_seen = self.unseen.as_mut().is_none_or(|unseen| !unseen.remove(number));
            if self.deferred && was_seen {
                self.retired.retire(number);
            } else {
                self.space.give(number, F::numbers(places::<F>(&self.words, number)));
            }
        }
        is_last
    }

    /// Returns the contents of a chunk.
    ///
    /// # Panics
    /// If there is no such chunk.
    #[must_use]
    pub fn get(&self, number: u32) -> F::Chunk {
        F::read(places::<F>(&self.words, number))
    }

    /// Returns the words of all chunks, free ones included. The chunk of number *n* begins at index
    /// `n * UNIT`.
    #[must_use]
    #[inline(always)]
    pub fn values(&self) -> &[Atomic<F>] {
        &self.words
    }

    /// Returns the words of all numbers ever assigned. O(all).
    #[must_use]
    pub fn to_vec(&self) -> Vec<F::Word> {
        self.words[..self.numbers() * F::UNIT].iter().map(F::Word::load).collect()
    }

    /// Returns the number of chunks in use or waiting for a grace period.
    #[must_use]
    pub fn len(&self) -> usize {
        self.twins.len() + self.retired.len()
    }

    /// Returns whether no chunk is in use.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns how many numbers there are, free ones included: every number is less.
    #[must_use]
    pub fn numbers(&self) -> usize {
        self.references.len()
    }

    /// Returns how many numbers belong to chunks in use or waiting for a grace period.
    fn used(&self) -> usize {
        self.space.end() - self.space.free_total()
    }

    /// Returns whether it is time to [`compact`](Self::compact): more than a 32nd of the numbers in
    /// use, and those of more than a few chunks, are free.
    #[must_use]
    pub fn is_sparse(&self) -> bool {
        self.space.free_total() > (16 * F::MOST).max(self.used() / 32)
    }

    /// Returns whether far more is free than in use. It is then time to rebuild where chunks are
    /// shared and cannot move.
    #[must_use]
    pub fn is_wasteful(&self) -> bool {
        self.space.free_total() > (1024 * F::MOST).max(2 * self.used())
    }

    /// Renumbers the chunks in use without holes, in the same order, and frees the memory of the
    /// others, as at the end of a build. Returns the new number of each old one, `u32::MAX` for
    /// those without a chunk. O(all chunks).
    pub fn compact(&mut self) -> Vec<u32> {
        self.compact_with(|chunk| chunk)
    }

    /// As [`compact`](Self::compact), and gives each chunk the contents that `changed` returns for
    /// it. Different chunks must stay different and as long as they are.
    pub(crate) fn compact_with(&mut self, changed: impl Fn(F::Chunk) -> F::Chunk) -> Vec<u32> {
        debug_assert!(!self.deferred, "others would see chunks move");
        let mut space = F::Space::default();
        let renumber = |(number, &references): (usize, &u32)| match references {
            0 => u32::MAX,
            _ => space.take(F::numbers(places::<F>(&self.words, number as u32))),
        };
        let renumbered: Vec<u32> = self.references.iter().enumerate().map(renumber).collect();
        let words = Words::zeroed(space.end() * F::UNIT, self.pages);
        let (mut references, mut hashes) = (vec![0; space.end()], vec![0; space.end()]);
        let mut twins = HashTable::with_capacity(self.twins.len());
        for (before, &number) in renumbered.iter().enumerate().filter(|&(_, &number)| number != u32::MAX) {
            let chunk = changed(self.get(before as u32));
            let values = F::words(&chunk);
            words.write(number as usize * F::UNIT, values);
            references[number as usize] = self.references[before];
            let hash = hash(values);
            hashes[number as usize] = hash;
            twins.insert_unique(spread(hash), number, |&number| spread(hashes[number as usize]));
        }
        (self.words, self.references, self.hashes) = (words, references, hashes);
        (self.space, self.twins) = (space, twins);
        self.settled = true;
        renumbered
    }

    /// Returns the bytes of the chunks, unused capacity included. Shared chunks on ordinary pages
    /// count only what was ever written.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let written = self.shared && self.pages == Pages::Small;
        if written { self.numbers() * F::UNIT * size_of::<F::Word>() } else { size_of_val(self.values()) }
    }

    /// Returns the bytes that only updates read: reference counts, free numbers, and the hash
    /// table.
    #[must_use]
    pub fn book_bytes(&self) -> usize {
        (self.references.capacity() + self.hashes.capacity()) * size_of::<u32>()
            + self.space.bytes()
            + self.retired.bytes()
            + self.twins.allocation_size()
            + self.unseen.as_ref().map_or(0, Unseen::bytes)
    }

    /// Checks the reference count of each number against `counted`, the references its owner has.
    ///
    /// # Errors
    /// Returns the first that differ.
    pub fn check_references(&self, counted: &[u32]) -> Result<(), String> {
        let differs = |&number: &usize| self.references.get(number) != counted.get(number);
        match (0..self.references.len().max(counted.len())).find(differs) {
            None => Ok(()),
            Some(number) => {
                let (had, counted) = (self.references.get(number), counted.get(number));
                Err(format!("chunk {number} has {had:?} references, {counted:?} counted"))
            }
        }
    }

    /// Checks that every chunk in use can be found, that no two are equal, and that all other
    /// numbers are free.
    ///
    /// # Errors
    /// Returns the first contradiction found.
    pub fn validate(&self) -> Result<(), String> {
        self.space.validate()?;
        if self.words.len() < self.references.len() * F::UNIT || self.references.len() < self.space.end() {
            let (words, end) = (self.words.len(), self.space.end());
            return Err(format!("{words} words, {} counts, {end} numbers", self.references.len()));
        }
        let in_use = |(number, &count): (u32, &u32)| (count > 0).then_some(number);
        let numbers: Vec<u32> = (0..).zip(&self.references).filter_map(in_use).collect();
        let taken = |number: &u32| F::numbers(places::<F>(&self.words, *number));
        let taken: usize = numbers.iter().chain(self.retired.iter()).map(taken).sum();
        if taken != self.used() || self.twins.len() != numbers.len() {
            let (found, chunks, used) = (self.twins.len(), numbers.len(), self.used());
            return Err(format!("{found} of {chunks} chunks found, {taken} numbers are theirs, {used} used"));
        }
        for number in numbers {
            let contents = self.get(number);
            // By contents: this finds the first of two equal chunks.
            let hash = hash(F::words(&contents));
            let twin = self.twins.find(spread(hash), |&twin| self.get(twin) == contents);
            if twin != Some(&number) {
                return Err(format!("chunk {number} is lost or has a twin"));
            }
        }
        Ok(())
    }
}

/// Returns the hash that the hash table takes of a chunk's: its low bits choose the group, and its
/// highest the tag.
#[inline(always)]
fn spread(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}

/// Returns a hash of all bytes: 16 at a time, the two halves folded by the 128-bit product.
#[inline(always)]
fn hash<T: IntoBytes + Immutable>(values: &[T]) -> u32 {
    debug_assert!(size_of_val(values).is_multiple_of(16));
    let (pairs, _) = values.as_bytes().as_chunks::<16>();
    let hash = pairs.iter().fold(0x9E37_79B9_7F4A_7C15, |hash: u64, pair| {
        let pair = u128::from_ne_bytes(*pair);
        let (low, high) = (pair as u64 ^ hash, (pair >> 64) as u64 ^ 0xA076_1D64_78BD_642F);
        let product = u128::from(low) * u128::from(high);
        (product as u64 ^ (product >> 64) as u64).rotate_left(23) ^ low.wrapping_add(high)
    });
    (hash ^ hash >> 32) as u32
}
