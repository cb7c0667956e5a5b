//! Dense chunks: runs of equal length, numbered without holes.
//!
//! Levels of a pushed trie (SAIL) keep chunks of one size, each below one slot. Because
//! they are equal, removing a chunk leaves no hole: the last chunk takes its number. After any
//! history, memory stays at what a fresh build takes. The price is one chunk copied and one pointer
//! rewritten per removal; [`Owners`] knows which pointer. Runs of different lengths are for
//! [`chunks`](fibula::parts::blocks::chunks).

use fibula::parts::memory::{Array, Pages};
use std::ops::{Index, IndexMut};

/// The slot that each chunk is below. Chunks are numbered from `first` on.
///
/// ```
/// use fibula_engines::blocks::dense::Owners;
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
}

impl<O: Copy> Owners<O> {
    /// Creates an empty set of owners. The first chunk gets number `first`.
    #[must_use]
    pub const fn from(first: u32) -> Self {
        Self { all: Vec::new(), first }
    }

    /// Adds a chunk and returns its number. O(1) amortised.
    pub fn push(&mut self, owner: O) -> u32 {
        self.all.push(owner);
        self.first + self.all.len() as u32 - 1
    }

    /// Removes a chunk. Returns the owner of the last chunk, if that chunk has taken the number
    /// `chunk`. O(1).
    ///
    /// # Panics
    /// If there is no such chunk.
    pub fn swap_remove(&mut self, chunk: u32) -> Option<O> {
        let at = (chunk - self.first) as usize;
        self.all.swap_remove(at);
        self.all.get(at).copied()
    }

    /// Returns the number of chunks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns whether there are no chunks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns every chunk's number and owner.
    pub fn iter(&self) -> impl Iterator<Item = (u32, O)> {
        (self.first..).zip(self.all.iter().copied())
    }

    /// Returns the bytes it occupies.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.all.len() * size_of::<O>()
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
/// use fibula_engines::blocks::dense::ChunkArray;
/// use fibula::parts::memory::Pages;
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

    proptest! {
        #[test]
        fn numbers_follow_their_owners(steps in proptest::collection::vec((any::<bool>(), any::<usize>()), 0..300)) {
            let mut owners = Owners::from(1);
            let mut chunks: ChunkArray<usize, 4> = ChunkArray::new(Pages::Small, 1);
            chunks.push(usize::MAX); // number 0 is unused
            let mut slots = std::collections::HashMap::new();
            for (step, (insert, pick)) in steps.into_iter().enumerate() {
                if insert || slots.is_empty() {
                    let chunk = owners.push(step);
                    slots.insert(step, chunk);
                    chunks.push(step);
                } else {
                    let owner = owners.iter().nth(pick % owners.len()).unwrap().1;
                    let chunk = slots.remove(&owner).unwrap();
                    if let Some(moved) = owners.swap_remove(chunk) {
                        slots.insert(moved, chunk);
                    }
                    chunks.swap_remove(chunk);
                }
                prop_assert_eq!(chunks.chunks(), slots.len() + 1);
                prop_assert!(chunks.bytes() / 8 <= chunks.len() + chunks.len() / 16 + 32);
                for (&owner, &chunk) in &slots {
                    prop_assert_eq!(&chunks[chunk as usize * 4..][..4], &[owner; 4]);
                }
            }
        }
    }
}
