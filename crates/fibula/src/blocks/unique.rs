//! Chunks that are kept once: equal ones share a number.
//!
//! Large parts of a pushed table repeat: whole stretches have one answer, and neighbouring networks are cut up alike. An
//! owner hands in the contents of a chunk and gets the number of the chunk that holds them, old or new; the chunk lives as long
//! as there are references to it. Contents never change under a number, so whoever still reads a chunk that its owner has
//! replaced reads what stood there before.

use super::dense::ChunkArray;
use crate::memory::{Array, Pages};
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
/// assert_eq!((chunks.len(), chunks.get(twos)), (2, &[2; 16]));
/// chunks.release(twos, 1);
/// assert_eq!(chunks.insert(&[3; 16]), twos); // in its place
/// ```
#[derive(Clone, Debug)]
pub struct Unique<T: Copy, const LEN: usize> {
    chunks: ChunkArray<T, LEN>,
    /// How often each number was given out; 0 for one that is free.
    references: Vec<u32>,
    free: Vec<u32>,
    /// The numbers in use, by the hash of what they hold.
    twins: HashTable<u32>,
}

impl<T: Copy + Eq + IntoBytes + Immutable, const LEN: usize> Unique<T, LEN> {
    /// No chunks.
    #[must_use]
    pub fn new(pages: Pages) -> Self {
        Self {
            chunks: ChunkArray::new(pages, 0),
            references: Vec::new(),
            free: Vec::new(),
            twins: HashTable::new(),
        }
    }

    /// The chunks that an array holds, only to be read: without the books, equal ones are not found.
    #[must_use]
    pub fn holding(values: Array<T>) -> Self {
        let chunks = ChunkArray::holding(values);
        Self { references: vec![1; chunks.chunks()], chunks, free: Vec::new(), twins: HashTable::new() }
    }

    /// The number of the chunk with these contents, and one more reference to it. O(`LEN`).
    pub fn insert(&mut self, contents: &[T; LEN]) -> u32 {
        let Self { chunks, references, free, twins } = self;
        let hash = |&number: &u32| hash(chunk(chunks, number));
        match twins.entry(self::hash(contents), |&number| chunk(chunks, number) == contents, hash) {
            Entry::Occupied(twin) => {
                references[*twin.get() as usize] += 1;
                *twin.get()
            }
            Entry::Vacant(place) => {
                let number = free.pop().unwrap_or(references.len() as u32);
                place.insert(number);
                if number as usize == references.len() {
                    references.push(0);
                    chunks.push(contents[0]);
                }
                let start = number as usize * LEN;
                chunks[start..start + LEN].copy_from_slice(contents);
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
            let contents = chunk(&self.chunks, number);
            let place = self.twins.find_entry(hash(contents), |&twin| twin == number);
            place.expect("every chunk in use can be found").remove();
            self.free.push(number);
        }
    }

    /// What a chunk holds.
    ///
    /// # Panics
    /// If there is no such chunk.
    #[must_use]
    pub fn get(&self, number: u32) -> &[T; LEN] {
        chunk(&self.chunks, number)
    }

    /// The values of all chunks, free ones included: chunk *n* from `n * LEN` on.
    #[must_use]
    #[inline(always)]
    pub fn values(&self) -> &[T] {
        &self.chunks
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

    /// Numbers the chunks in use without holes, in the same order, and gives the memory of the others back. Returns the
    /// new number of each old one. O(all chunks).
    pub fn compact(&mut self) -> Vec<u32> {
        let mut kept = 0;
        let renumber = |(number, &references): (usize, &u32)| {
            if references == 0 {
                return u32::MAX;
            }
            self.chunks.copy_within(number * LEN..(number + 1) * LEN, kept * LEN);
            kept += 1;
            kept as u32 - 1
        };
        let renumbered: Vec<u32> = self.references.iter().enumerate().map(renumber).collect();
        self.chunks.truncate(kept);
        self.references.retain(|&references| references > 0);
        self.references.shrink_to_fit();
        self.free = Vec::new();
        let chunks = &self.chunks;
        self.twins = HashTable::with_capacity(kept);
        for number in 0..kept as u32 {
            self.twins
                .insert_unique(hash(chunk(chunks, number)), number, |&other| hash(chunk(chunks, other)));
        }
        renumbered
    }

    /// The bytes of the chunks, unused capacity included.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.chunks.bytes()
    }

    /// The bytes of what only updates read: references, free numbers, and the hash table that finds twins.
    #[must_use]
    pub fn book_bytes(&self) -> usize {
        (self.references.capacity() + self.free.capacity()) * size_of::<u32>() + self.twins.allocation_size()
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
        if self.chunks.chunks() != self.references.len() {
            return Err(format!("{} chunks, {} counts", self.chunks.chunks(), self.references.len()));
        }
        let free = self.references.iter().filter(|&&references| references == 0).count();
        if free != self.free.len() || self.twins.len() + free != self.references.len() {
            let (listed, found) = (self.free.len(), self.twins.len());
            return Err(format!(
                "{free} of {} chunks are free, {listed} listed, {found} found",
                self.numbers()
            ));
        }
        for number in (0..).zip(&self.references).filter_map(|(at, &count)| (count > 0).then_some(at)) {
            let contents = self.get(number);
            // By contents: it finds the first of two equal ones.
            if self.twins.find(hash(contents), |&twin| self.get(twin) == contents) != Some(&number) {
                return Err(format!("chunk {number} is lost or has a twin"));
            }
        }
        Ok(())
    }
}

#[inline(always)]
fn chunk<T: Copy, const LEN: usize>(chunks: &ChunkArray<T, LEN>, number: u32) -> &[T; LEN] {
    let start = number as usize * LEN;
    chunks[start..start + LEN].try_into().expect("LEN values")
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
            assert_eq!(chunks.get(renumbered[number as usize]), &[value; 4]);
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
        let mut chunks = sound();
        chunks.chunks[4..8].fill(1);
        assert!(chunks.validate().unwrap_err().contains("chunk 1 is lost or has a twin"));
        let mut chunks = sound();
        chunks.references[0] = 0;
        assert!(chunks.validate().unwrap_err().contains("1 of 2 chunks are free, 0 listed, 2 found"));
        let mut chunks = sound();
        chunks.references.push(1);
        assert!(chunks.validate().unwrap_err().contains("2 chunks, 3 counts"));
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
