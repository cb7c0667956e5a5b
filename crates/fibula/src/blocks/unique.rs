//! Chunks that are kept once: equal ones share a number.
//!
//! Large parts of a pushed table repeat: whole stretches have one answer, and neighbouring networks are cut up alike. An
//! owner hands in the contents of a chunk and gets the number of the chunk that holds them, old or new; the chunk lives as long
//! as there are references to it. Contents never change under a number, so whoever still reads a chunk that its owner has
//! replaced reads what stood there before.
//!
//! [Shared](Unique::share) chunks may be read by others meanwhile: then a number that is free is not given out again before they
//! have passed, and no chunk moves.

use super::retired::Retired;
use crate::memory::{Array, Pages, Word, Words};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use zerocopy::{Immutable, IntoBytes};

/// Different chunks of `LEN` values each, with numbers and counted references.
///
/// ```
/// use fibula::blocks::unique::Unique;
/// use fibula::memory::Pages;
/// let mut chunks: Unique<u8, 16> = Unique::new(Pages::Small);
/// let ones = chunks.insert(&[1; 16]);
/// let twos = chunks.insert(&[2; 16]);
/// assert_eq!(chunks.insert(&[1; 16]), ones);
/// assert_eq!((chunks.len(), chunks.get(twos)), (2, [2; 16]));
/// chunks.release(twos, 1);
/// assert_eq!(chunks.insert(&[3; 16]), twos); // in its place
/// ```
#[derive(Debug)]
pub struct Unique<T: Word, const LEN: usize> {
    words: Words<T>,
    pages: Pages,
    /// Whether others read, who know when a number may be given out again.
    shared: bool,
    /// Whether it stays close to what is in use as it grows.
    settled: bool,
    /// How often each number was given out; 0 for one that is free.
    references: Vec<u32>,
    free: Vec<u32>,
    /// The numbers that are free once readers have passed.
    retired: Retired<u32>,
    /// The numbers in use, by the hash of what they hold.
    twins: HashTable<u32>,
}

impl<T: Word + Eq + Default + IntoBytes + Immutable, const LEN: usize> Unique<T, LEN> {
    /// The room that is always allowed to lie unused, in chunks.
    const SPARE: usize = 4;

    /// No chunks.
    #[must_use]
    pub fn new(pages: Pages) -> Self {
        Self::over(Words::zeroed(0, pages), pages)
    }

    /// The same, growing by doubling until it is [compacted](Self::compact): for a build of many.
    #[must_use]
    pub fn unsettled(self) -> Self {
        Self { settled: false, ..self }
    }

    fn over(words: Words<T>, pages: Pages) -> Self {
        let (references, free, retired) = (Vec::new(), Vec::new(), Retired::new());
        Self {
            words,
            pages,
            shared: false,
            settled: false,
            references,
            free,
            retired,
            twins: HashTable::new(),
        }
    }

    /// From now on others may read, by what this returns: the same chunks, without the books. Moves to an array with room for `chunks`, and
    /// never again.
    #[must_use]
    pub fn share(&mut self, chunks: usize) -> Self {
        self.words = self.words.resized(chunks.max(self.numbers()) * LEN, self.pages);
        self.shared = true;
        Self::over(self.words.clone(), self.pages)
    }

    /// Whether others read.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.shared
    }

    /// Every reader has passed what was released before the last call of this: those numbers are given out again.
    pub fn readers_passed(&mut self) {
        self.free.extend(self.retired.readers_passed());
    }

    /// How many chunks may be inserted before they would have to move.
    #[must_use]
    pub fn room(&self) -> usize {
        self.free.len() + self.words.len() / LEN - self.numbers()
    }

    /// The chunks that an array holds, only to be read: without the books, equal ones are not found.
    #[must_use]
    pub fn holding(values: Array<T>, pages: Pages) -> Self {
        let references = vec![1; values.len() / LEN];
        Self { references, ..Self::over(Words::holding(values), pages) }
    }

    /// The number of the chunk with these contents, and one more reference to it. O(`LEN`).
    ///
    /// # Panics
    /// If the chunks are shared and there is no room.
    pub fn insert(&mut self, contents: &[T; LEN]) -> u32 {
        if self.room() == 0 {
            assert!(!self.shared, "no room among chunks that others read");
            // Each time all chunks move.
            let more = if self.settled { self.numbers() / 16 } else { self.numbers() };
            let chunks = self.numbers() + more + Self::SPARE;
            self.words = self.words.resized(chunks * LEN, self.pages);
        }
        let Self { words, references, free, twins, .. } = self;
        let hash = |&number: &u32| hash(&chunk::<T, LEN>(words, number));
        match twins.entry(self::hash(contents), |&number| chunk::<T, LEN>(words, number) == *contents, hash) {
            Entry::Occupied(twin) => {
                references[*twin.get() as usize] += 1;
                *twin.get()
            }
            Entry::Vacant(place) => {
                let number = free.pop().unwrap_or(references.len() as u32);
                place.insert(number);
                if number as usize == references.len() {
                    references.push(0);
                }
                let places = &words[number as usize * LEN..][..LEN];
                places.iter().zip(contents).for_each(|(place, value)| value.store(place));
                references[number as usize] = 1;
                number
            }
        }
    }

    /// As many more references to a chunk.
    ///
    /// # Panics
    /// If there is no such chunk.
    pub fn retain(&mut self, number: u32, references: u32) {
        self.references[number as usize] += references;
    }

    /// As many fewer references to a chunk; without any it is free. O(1), or O(`LEN`) for the last.
    ///
    /// # Panics
    /// If it has not so many.
    pub fn release(&mut self, number: u32, references: u32) {
        let left = &mut self.references[number as usize];
        *left = left.checked_sub(references).expect("no more references are released than were taken");
        if *left == 0 && references > 0 {
            let contents: [T; LEN] = chunk(&self.words, number);
            let place = self.twins.find_entry(hash(&contents), |&twin| twin == number);
            place.expect("every chunk in use can be found").remove();
            if self.shared { self.retired.retire(number) } else { self.free.push(number) }
        }
    }

    /// What a chunk holds.
    ///
    /// # Panics
    /// If there is no such chunk.
    #[must_use]
    pub fn get(&self, number: u32) -> [T; LEN] {
        chunk(&self.words, number)
    }

    /// The values of all chunks, free ones included: chunk *n* from `n * LEN` on.
    #[must_use]
    #[inline(always)]
    pub fn values(&self) -> &[T::Atomic] {
        &self.words
    }

    /// The values of all numbers that were ever given out, as they are now. O(all).
    #[must_use]
    pub fn to_vec(&self) -> Vec<T> {
        self.words[..self.numbers() * LEN].iter().map(T::load).collect()
    }

    /// The number of chunks in use.
    #[must_use]
    pub fn len(&self) -> usize {
        self.references.len() - self.free.len()
    }

    /// Whether no chunk is in use.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many numbers there are, those of free chunks included: every number is less.
    #[must_use]
    pub fn numbers(&self) -> usize {
        self.references.len()
    }

    /// Whether a 32nd of the chunks, and more than a few, are free: time to [`compact`](Self::compact).
    #[must_use]
    pub fn is_sparse(&self) -> bool {
        self.free.len() > 16.max(self.len() / 32)
    }

    /// Whether far more chunks are free than in use: time to build anew where they are shared and cannot move.
    #[must_use]
    pub fn is_wasteful(&self) -> bool {
        self.free.len() > 1024.max(2 * self.len())
    }

    /// Numbers the chunks in use without holes, in the same order, and gives the memory of the others back, as at the end of a build.
    /// Returns the new number of each old one. O(all chunks).
    pub fn compact(&mut self) -> Vec<u32> {
        debug_assert!(!self.shared, "others would see chunks move");
        self.settled = true;
        let compact = Words::zeroed(self.len() * LEN, self.pages);
        let before = std::mem::replace(&mut self.words, compact);
        let mut kept = 0;
        let renumber = |(number, &references): (usize, &u32)| {
            if references == 0 {
                return u32::MAX;
            }
            let to = &self.words[kept as usize * LEN..][..LEN];
            to.iter()
                .zip(chunk::<T, LEN>(&before, number as u32))
                .for_each(|(place, value)| value.store(place));
            kept += 1;
            kept - 1
        };
        let renumbered: Vec<u32> = self.references.iter().enumerate().map(renumber).collect();
        self.references.retain(|&references| references > 0);
        self.references.shrink_to_fit();
        self.free = Vec::new();
        let words = &self.words;
        self.twins = HashTable::with_capacity(kept as usize);
        for number in 0..kept {
            self.twins.insert_unique(hash(&chunk::<T, LEN>(words, number)), number, |&other| {
                hash(&chunk::<T, LEN>(words, other))
            });
        }
        renumbered
    }

    /// The bytes of the chunks, unused capacity included; of shared ones on ordinary pages as many as were ever written.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let written = self.shared && self.pages == Pages::Small;
        if written { self.numbers() * LEN * size_of::<T>() } else { size_of_val(self.values()) }
    }

    /// The bytes of what only updates read: references, free numbers, and the hash table that finds twins.
    #[must_use]
    pub fn book_bytes(&self) -> usize {
        (self.references.capacity() + self.free.capacity()) * size_of::<u32>()
            + self.retired.bytes()
            + self.twins.allocation_size()
    }

    /// Checks the references to each number against those that its owner has counted.
    ///
    /// # Errors
    /// With the first that differ.
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

    /// Checks that every chunk in use can be found, that no two are equal, and that the others are free.
    ///
    /// # Errors
    /// With the first contradiction found.
    pub fn validate(&self) -> Result<(), String> {
        if self.words.len() < self.references.len() * LEN {
            return Err(format!("{} words, {} counts", self.words.len(), self.references.len()));
        }
        let listed = self.free.len() + self.retired.len();
        let free = self.references.iter().filter(|&&references| references == 0).count();
        if free != listed || self.twins.len() + free != self.references.len() {
            let found = self.twins.len();
            return Err(format!(
                "{free} of {} chunks are free, {listed} listed, {found} found",
                self.numbers()
            ));
        }
        for number in (0..).zip(&self.references).filter_map(|(at, &count)| (count > 0).then_some(at)) {
            let contents = self.get(number);
            // By contents: it finds the first of two equal ones.
            if self.twins.find(hash(&contents), |&twin| self.get(twin) == contents) != Some(&number) {
                return Err(format!("chunk {number} is lost or has a twin"));
            }
        }
        Ok(())
    }
}

#[inline(always)]
fn chunk<T: Word + Default, const LEN: usize>(words: &Words<T>, number: u32) -> [T; LEN] {
    let mut chunk = [T::default(); LEN];
    let places = &words[number as usize * LEN..][..LEN];
    chunk.iter_mut().zip(places).for_each(|(value, place)| *value = T::load(place));
    chunk
}

/// A hash of all bytes: 16 at a time, the two halves folded by the 128-bit product.
#[inline(always)]
fn hash<T: IntoBytes + Immutable, const LEN: usize>(contents: &[T; LEN]) -> u64 {
    const { assert!((LEN * size_of::<T>()).is_multiple_of(16)) }
    let (pairs, _) = contents.as_bytes().as_chunks::<16>();
    pairs.iter().fold(0x9E37_79B9_7F4A_7C15, |hash: u64, pair| {
        let pair = u128::from_ne_bytes(*pair);
        let (low, high) = (pair as u64 ^ hash, (pair >> 64) as u64 ^ 0xA076_1D64_78BD_642F);
        let product = u128::from(low) * u128::from(high);
        (product as u64 ^ (product >> 64) as u64).rotate_left(23) ^ low.wrapping_add(high)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    #[test]
    fn compaction_keeps_what_is_in_use_and_gives_the_rest_back() {
        let mut chunks: Unique<u32, 4> = Unique::new(Pages::Small);
        let numbers: Vec<u32> = (0..100).map(|value| chunks.insert(&[value; 4])).collect();
        let before = chunks.bytes() + chunks.book_bytes();
        for &number in &numbers[..90] {
            chunks.release(number, 1);
        }
        assert!(chunks.is_sparse());
        let renumbered = chunks.compact();
        assert_eq!((chunks.len(), chunks.numbers(), chunks.is_sparse()), (10, 10, false));
        for (value, &number) in (90..).zip(&numbers[90..]) {
            assert_eq!(chunks.get(renumbered[number as usize]), [value; 4]);
        }
        assert!(chunks.bytes() + chunks.book_bytes() < before / 4);
        chunks.validate().unwrap();
    }

    #[test]
    fn validation_sees_twins_and_what_is_lost() {
        let sound = || {
            let mut chunks: Unique<u32, 4> = Unique::new(Pages::Small);
            chunks.insert(&[1; 4]);
            chunks.insert(&[2; 4]);
            chunks
        };
        sound().validate().unwrap();
        let chunks = sound();
        (4..8).for_each(|at| chunks.words.set(at, 1));
        assert!(chunks.validate().unwrap_err().contains("chunk 1 is lost or has a twin"));
        let mut chunks = sound();
        chunks.references[0] = 0;
        assert!(chunks.validate().unwrap_err().contains("1 of 2 chunks are free, 0 listed, 2 found"));
        let mut chunks = sound();
        chunks.references.extend([1; 100]);
        assert!(chunks.validate().unwrap_err().contains("words, 102 counts"));
    }

    #[test]
    fn what_others_may_read_is_not_used_again_before_they_have_passed() {
        let mut chunks: Unique<u32, 4> = Unique::new(Pages::Small);
        let one = chunks.insert(&[1; 4]);
        let view = chunks.share(3);
        chunks.release(one, 1);
        let two = chunks.insert(&[2; 4]);
        chunks.readers_passed(); // since before: they may still be at the first
        let three = chunks.insert(&[3; 4]);
        assert_eq!((one, two, three, chunks.room()), (0, 1, 2, 0));
        assert_eq!([one, two, three].map(|number| view.get(number)[0]), [1, 2, 3]);
        chunks.validate().unwrap();
        chunks.readers_passed();
        assert_eq!((chunks.room(), chunks.insert(&[4; 4]), view.get(one)), (1, one, [4; 4]));
        chunks.validate().unwrap();
    }

    proptest! {
        #[test]
        fn equal_contents_share_a_number_as_long_as_somebody_refers_to_them(
            steps in proptest::collection::vec((0..3_u8, 0..40_u16), 0..300),
        ) {
            let mut chunks: Unique<u16, 8> = Unique::new(Pages::Small);
            let mut expected: HashMap<u16, (u32, u32)> = HashMap::new();
            for (step, value) in steps {
                let contents = [value, 7, 7, 7, value / 2, 7, 7, 7];
                match (step, expected.get_mut(&value)) {
                    (0, Some((number, count))) => {
                        chunks.release(*number, 1);
                        *count -= 1;
                        if *count == 0 {
                            expected.remove(&value);
                        }
                    }
                    (1, Some((number, count))) => {
                        chunks.retain(*number, 2);
                        *count += 2;
                    }
                    (_, Some((number, count))) => {
                        prop_assert_eq!(chunks.insert(&contents), *number);
                        *count += 1;
                    }
                    (_, None) => {
                        expected.insert(value, (chunks.insert(&contents), 1));
                    }
                }
                if chunks.is_sparse() {
                    let renumbered = chunks.compact();
                    for (number, _) in expected.values_mut() {
                        *number = renumbered[*number as usize];
                    }
                }
                chunks.validate().map_err(TestCaseError::fail)?;
                prop_assert_eq!(chunks.len(), expected.len());
            }
            for (value, (number, count)) in expected {
                prop_assert_eq!((chunks.get(number)[0], chunks.references[number as usize]), (value, count));
            }
        }
    }
}
