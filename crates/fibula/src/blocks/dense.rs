//! Dense chunks: runs of equal length, numbered without holes.
//!
//! Levels of a pushed trie (SAIL, DIR-24-8) keep chunks of one size, each below one slot. Because
//! they are equal, removing a chunk leaves no hole: the last chunk takes its number. After any
//! history, memory stays at what a fresh build takes. The price is one chunk copied and one pointer
//! rewritten per removal; [`Owners`] knows which pointer. Runs of different lengths are for
//! [`chunks`](super::chunks).
//!
//! Where others read meanwhile, nothing may move. Shared chunks keep their numbers, and a freed
//! number is reused after a [grace period](super::retired).

use super::retired::Retired;
use crate::memory::{Array, Pages, Shareable, Words};
use std::collections::BTreeSet;
use std::ops::{Index, IndexMut, Range};

/// The slot that each chunk is below. Chunks are numbered from `first` on.
///
/// ```
/// use fibula::blocks::dense::Owners;
/// let mut owners = Owners::from(1);
/// assert_eq!([owners.push("a"), owners.push("b"), owners.push("c")], [1, 2, 3]);
/// assert_eq!(owners.swap_remove(1), Some("c")); // c's chunk is now number 1
/// owners[2] = "d";
/// assert_eq!((owners[1], owners.iter().collect::<Vec<_>>()), ("c", vec![(1, "c"), (2, "d")]));
/// ```
#[derive(Clone, Debug)]
pub struct Owners<O> {
    all: Vec<O>,
    first: u32,
    /// The most numbers there may be, if others read.
    shared: Option<usize>,
    /// The numbers that may be reused. Those in `retired` may still be read.
    free: Vec<u32>,
    retired: Retired<u32>,
}

impl<O: Copy> Owners<O> {
    /// Shared chunks have room for four times the present number, plus `ROOM`.
    const ROOM: usize = 1 << 13;

    /// Creates an empty set of owners. The first chunk gets number `first`.
    #[must_use]
    pub fn from(first: u32) -> Self {
        Self { all: Vec::new(), first, shared: None, free: Vec::new(), retired: Retired::new() }
    }

    /// Adds a chunk and returns its number. O(1) amortised.
    ///
    /// # Panics
    /// If the chunks are shared and there is no [room](Self::room).
    pub fn push(&mut self, owner: O) -> u32 {
        if let Some(chunk) = self.free.pop() {
            self.all[(chunk - self.first) as usize] = owner;
            return chunk;
        }
        assert!(self.room() > 0, "no room among chunks that others read");
        self.all.push(owner);
        self.first + self.all.len() as u32 - 1
    }

    /// Removes a chunk. Returns the owner of the last chunk, if that chunk has taken the number
    /// `chunk`. No shared chunk moves: the number is reused after a grace period. O(1).
    ///
    /// # Panics
    /// If there is no such chunk.
    pub fn swap_remove(&mut self, chunk: u32) -> Option<O> {
        if self.shared.is_some() {
            self.retired.retire(chunk);
            return None;
        }
        let at = (chunk - self.first) as usize;
        self.all.swap_remove(at);
        self.all.get(at).copied()
    }

    /// Lets others read from now on, so that no chunk moves. Returns the number of chunks to
    /// reserve memory for, those before the first number included: four times the present number
    /// plus `ROOM`, capped at `at_most`.
    pub fn share(&mut self, at_most: usize) -> usize {
        let most = (4 * self.all.len() + Self::ROOM).min(at_most - self.first as usize).max(self.all.len());
        self.shared = Some(most);
        self.first as usize + most
    }

    /// Returns the number of chunks that may be added before the others would have to move.
    #[must_use]
    pub fn room(&self) -> usize {
        self.shared.map_or(usize::MAX, |most| self.free.len() + most - self.all.len())
    }

    /// Ends a grace period: no reader still holds what was removed before the previous call.
    pub fn readers_passed(&mut self) {
        self.free.extend(self.retired.readers_passed());
    }

    /// Returns the number of chunks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.all.len() - self.free.len() - self.retired.len()
    }

    /// Returns whether there are no chunks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of numbers ever assigned, those that are free now included.
    #[must_use]
    pub fn numbers(&self) -> usize {
        self.all.len()
    }

    /// Returns every chunk's number and owner. O(1) each, after O(*f* log *f*) for *f* free
    /// numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u32, O)> {
        let free: BTreeSet<u32> = self.free.iter().chain(self.retired.iter()).copied().collect();
        (self.first..).zip(self.all.iter().copied()).filter(move |(chunk, _)| !free.contains(chunk))
    }

    /// Returns the bytes it occupies.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.all.len() * size_of::<O>() + self.free.len() * size_of::<u32>() + self.retired.bytes()
    }
}

impl<O> Index<u32> for Owners<O> {
    type Output = O;

    fn index(&self, chunk: u32) -> &O {
        &self.all[(chunk - self.first) as usize]
    }
}

impl<O> IndexMut<u32> for Owners<O> {
    fn index_mut(&mut self, chunk: u32) -> &mut O {
        &mut self.all[(chunk - self.first) as usize]
    }
}

/// The elements of dense chunks of `LEN` each. Unused capacity stays below a sixteenth and a few
/// chunks, and within [`at_most`](Self::at_most).
///
/// ```
/// use fibula::blocks::dense::ChunkArray;
/// use fibula::memory::Pages;
/// let mut chunks: ChunkArray<u16, 4> = ChunkArray::new(Pages::Small, 2);
/// chunks.push(7);
/// chunks.push(8);
/// chunks.swap_remove(0);
/// assert_eq!(chunks[..], [8; 4]);
/// ```
#[derive(Clone, Debug)]
pub struct ChunkArray<T: Copy, const LEN: usize> {
    elements: Array<T>,
    /// The most elements there may be capacity for.
    most: usize,
}

impl<T: Copy, const LEN: usize> ChunkArray<T, LEN> {
    /// The unused capacity that is always allowed, in elements.
    const SPARE: usize = 8 * LEN;

    /// Creates an empty array with room for `capacity` chunks.
    #[must_use]
    pub fn new(pages: Pages, capacity: usize) -> Self {
        let mut elements = Array::new(pages);
        elements.set_capacity(capacity * LEN);
        Self { elements, most: usize::MAX }
    }

    /// Returns the chunks that an array holds, without what is past the last whole one.
    #[must_use]
    pub fn holding(mut elements: Array<T>) -> Self {
        elements.truncate(elements.len() / LEN * LEN);
        Self { elements, most: usize::MAX }
    }

    /// Reserves no room beyond `chunks`, for owners who can never have more.
    #[must_use]
    pub fn at_most(mut self, chunks: usize) -> Self {
        self.most = chunks * LEN;
        self
    }

    /// Appends a chunk of `LEN` times `value`.
    pub fn push(&mut self, value: T) {
        let len = self.elements.len() + LEN;
        if len > self.elements.capacity() {
            self.elements.set_capacity((len + (len / 16).max(Self::SPARE / 2)).min(self.most));
        }
        self.elements.resize(len, value);
    }

    /// Removes a chunk; the last one moves to its number.
    ///
    /// # Panics
    /// If there is no such chunk.
    pub fn swap_remove(&mut self, chunk: u32) {
        let last = self.elements.len() - LEN;
        let start = chunk as usize * LEN;
        self.elements.copy_within(last.., start);
        self.elements.truncate(last);
        if self.elements.capacity() > last + last / 16 + Self::SPARE {
            self.elements.set_capacity(last + last / 32);
        }
    }

    /// Keeps the first `chunks` chunks and frees the rest of the memory.
    pub fn truncate(&mut self, chunks: usize) {
        self.elements.truncate(chunks * LEN);
        self.elements.shrink_to_fit();
    }

    /// Returns the number of chunks.
    #[must_use]
    pub fn chunks(&self) -> usize {
        self.elements.len() / LEN
    }

    /// Returns the bytes it occupies, unused capacity included.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.elements.bytes()
    }
}

impl<T: Copy, const LEN: usize> std::ops::Deref for ChunkArray<T, LEN> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.elements
    }
}

impl<T: Copy, const LEN: usize> std::ops::DerefMut for ChunkArray<T, LEN> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.elements
    }
}

/// As [`ChunkArray`], for words or records of words, which others may read while they are written.
///
/// ```
/// use fibula::blocks::dense::WordChunks;
/// use fibula::memory::Pages;
/// let mut chunks: WordChunks<u16, 4> = WordChunks::new(Pages::Small, 2);
/// chunks.put(0, 7);
/// chunks.share(10);
/// let view = chunks.view();
/// chunks.put(1, 8);
/// assert_eq!((view.get(3), view.get(4)), (7, 8));
/// ```
#[derive(Debug)]
pub struct WordChunks<T: Shareable, const LEN: usize> {
    words: Words<T>,
    chunks: usize,
    pages: Pages,
    /// Whether others read.
    shared: bool,
}

impl<T: Shareable, const LEN: usize> WordChunks<T, LEN> {
    /// The unused capacity that is always allowed, in chunks.
    const SPARE: usize = 8;

    /// Creates an empty array with room for `capacity` chunks.
    #[must_use]
    pub fn new(pages: Pages, capacity: usize) -> Self {
        Self { words: Words::zeroed(capacity * LEN, pages), chunks: 0, pages, shared: false }
    }

    /// Lets others read views from now on. Moves to memory with room for `chunks`, and never moves
    /// afterwards.
    pub fn share(&mut self, chunks: usize) {
        self.words = self.words.resized(chunks.max(self.chunks) * LEN, self.pages);
        self.shared = true;
    }

    /// Fills chunk `chunk`, an existing one or the next, with `value`.
    ///
    /// # Panics
    /// If `chunk` is past the next one, or past the room that shared chunks have.
    pub fn put(&mut self, chunk: u32, value: T) {
        let (start, end) = (chunk as usize * LEN, (chunk as usize + 1) * LEN);
        assert!(chunk as usize <= self.chunks, "chunks are numbered without holes");
        if end > self.words.len() {
            assert!(!self.shared, "no room among chunks that others read");
            self.set_capacity(chunk as usize + 1 + (chunk as usize / 16).max(Self::SPARE / 2));
        }
        self.chunks = self.chunks.max(chunk as usize + 1);
        self.words.fill(start..end, value);
    }

    /// Removes a chunk; the last one moves to its number. Shared chunks do not move, and this one
    /// keeps its contents for its readers.
    ///
    /// # Panics
    /// If there is no such chunk.
    pub fn swap_remove(&mut self, chunk: u32) {
        if self.shared {
            return;
        }
        let last = self.chunks - 1;
        self.words.write(chunk as usize * LEN, &self.words.read(last * LEN..(last + 1) * LEN));
        self.chunks = last;
        if self.words.len() / LEN > last + last / 16 + Self::SPARE {
            self.set_capacity(last + last / 32);
        }
    }

    fn set_capacity(&mut self, chunks: usize) {
        self.words = self.words.resized(chunks * LEN, self.pages);
    }

    /// Returns the number of chunks, free shared ones included.
    #[must_use]
    pub fn chunks(&self) -> usize {
        self.chunks
    }

    /// Returns the indexes of a chunk's words among all words.
    #[must_use]
    pub fn places(chunk: u32) -> Range<usize> {
        chunk as usize * LEN..(chunk as usize + 1) * LEN
    }

    /// Returns the words of all chunks, free ones included. O(all).
    #[must_use]
    pub fn chunks_to_vec(&self) -> Vec<T> {
        self.words.read(0..self.chunks * LEN)
    }

    /// Returns the bytes it occupies, unused capacity included. Shared chunks on ordinary pages
    /// count only what was ever written.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let written = self.shared && self.pages == Pages::Small;
        if written { self.chunks * LEN * size_of::<T>() } else { size_of_val(&self.words[..]) }
    }
}

impl<T: Shareable, const LEN: usize> std::ops::Deref for WordChunks<T, LEN> {
    type Target = Words<T>;

    #[inline(always)]
    fn deref(&self) -> &Words<T> {
        &self.words
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn no_room_is_kept_beyond_the_most_chunks() {
        let mut chunks: ChunkArray<u8, 16> = ChunkArray::new(Pages::Small, 0).at_most(3);
        for _ in 0..3 {
            chunks.push(1);
        }
        assert_eq!((chunks.chunks(), chunks.bytes()), (3, 48));
    }

    #[test]
    fn shared_chunks_stay_where_they_are_until_their_readers_have_passed() {
        let mut owners = Owners::from(1);
        let mut chunks: WordChunks<u8, 2> = WordChunks::new(Pages::Small, 1);
        chunks.put(0, 0);
        for owner in [10, 20, 30] {
            let chunk = owners.push(owner);
            chunks.put(chunk, owner);
        }
        assert_eq!(owners.swap_remove(1), Some(30));
        chunks.swap_remove(1);
        assert_eq!((chunks.chunks_to_vec(), owners.len()), (vec![0, 0, 30, 30, 20, 20], 2));
        chunks.share(owners.share(usize::MAX));
        let view = chunks.view();
        let room = owners.room();
        assert_eq!(owners.swap_remove(1), None);
        chunks.swap_remove(1);
        owners.readers_passed(); // the first call frees nothing yet
        let chunk = owners.push(40);
        chunks.put(chunk, 40);
        assert_eq!((chunk, view.read(2..8)), (3, vec![30, 30, 20, 20, 40, 40]));
        assert_eq!(owners.iter().collect::<Vec<_>>(), [(2, 20), (3, 40)]);
        assert_eq!((owners.len(), owners.room(), chunks.bytes()), (2, room - 1, 8));
        owners.readers_passed();
        assert_eq!((owners.room(), owners.push(50)), (room, 1));
    }

    proptest! {
        #[test]
        fn numbers_follow_their_owners(steps in proptest::collection::vec((any::<bool>(), any::<usize>()), 0..300)) {
            let mut owners = Owners::from(1);
            let mut chunks: ChunkArray<usize, 4> = ChunkArray::new(Pages::Small, 1);
            chunks.push(usize::MAX); // number 0 is unused
            let mut words: WordChunks<u64, 4> = WordChunks::new(Pages::Small, 0);
            words.put(0, u64::MAX);
            let mut slots = std::collections::HashMap::new();
            for (step, (insert, pick)) in steps.into_iter().enumerate() {
                if insert || slots.is_empty() {
                    let chunk = owners.push(step);
                    slots.insert(step, chunk);
                    chunks.push(step);
                    words.put(chunk, step as u64);
                } else {
                    let owner = owners.iter().nth(pick % owners.len()).unwrap().1;
                    let chunk = slots.remove(&owner).unwrap();
                    if let Some(moved) = owners.swap_remove(chunk) {
                        slots.insert(moved, chunk);
                    }
                    chunks.swap_remove(chunk);
                    words.swap_remove(chunk);
                }
                prop_assert!(words.bytes() / 8 <= chunks.len() + chunks.len() / 16 + 32);
                prop_assert_eq!((chunks.chunks(), words.chunks()), (slots.len() + 1, slots.len() + 1));
                prop_assert!(chunks.bytes() / 8 <= chunks.len() + chunks.len() / 16 + 32);
                for (&owner, &chunk) in &slots {
                    prop_assert_eq!(&chunks[chunk as usize * 4..][..4], &[owner; 4]);
                    let places = WordChunks::<u64, 4>::places(chunk);
                    prop_assert_eq!(words.read(places), [owner as u64; 4]);
                }
            }
        }
    }
}
