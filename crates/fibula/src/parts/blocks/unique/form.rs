//! [`Form`]: the lengths of the chunks of a [`Kept`](super::Kept), and the allocation of their
//! numbers.

use crate::blocks::chunks::Lines;
use crate::memory::{Published, Word, Words};
use std::fmt::Debug;
use std::marker::PhantomData;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// The atomic type of a form's words.
pub type Atomic<F> = Published<<F as Form>::Word>;

/// The layout of chunks among the words. Each number owns [`UNIT`](Self::UNIT) words. A chunk takes
/// one or several consecutive numbers and is identified by the first.
pub trait Form: Clone + Debug + Send + Sync + 'static {
    /// The type of the words of a chunk.
    type Word: Word<Plain = Self::Word> + Default + IntoBytes + FromBytes + Immutable;
    /// The contents of one chunk.
    type Chunk: PartialEq;
    /// The allocator of the numbers.
    type Space: Space;
    /// The number of words of a number.
    const UNIT: usize;
    /// The most numbers that a chunk takes.
    const MOST: usize;

    /// Returns the words of a chunk: [`UNIT`](Self::UNIT) for each number that it takes.
    fn words(chunk: &Self::Chunk) -> &[Self::Word];

    /// Returns the chunk at the beginning of `words`.
    fn read(words: &[Atomic<Self>]) -> Self::Chunk;

    /// Returns how many numbers that chunk takes.
    fn numbers(words: &[Atomic<Self>]) -> usize;
}

/// An allocator of numbers.
pub trait Space: Clone + Default + Debug + Send + Sync + 'static {
    /// Allocates `numbers` consecutive numbers and returns the first.
    fn take(&mut self, numbers: usize) -> u32;

    /// Frees numbers that were allocated in one piece.
    fn give(&mut self, first: u32, numbers: usize);

    /// Returns the index one past the last number in use, or more.
    fn end(&self) -> usize;

    /// Returns what [`end`](Self::end) would be if `numbers` numbers were allocated now.
    fn end_after(&self, numbers: usize) -> usize;

    /// Returns how many numbers before the end are free.
    fn free_total(&self) -> usize;

    /// Returns how many of those can serve an allocation of any size.
    fn free_for_all(&self) -> usize;

    /// Returns the bytes it occupies.
    fn bytes(&self) -> usize;

    /// Checks the bookkeeping.
    ///
    /// # Errors
    /// Returns the first contradiction found.
    fn validate(&self) -> Result<(), String>;
}

/// Chunks of `LEN` words, one number each.
#[derive(Clone, Debug)]
pub struct OneLength<T, const LEN: usize>(PhantomData<T>);

impl<T: Word<Plain = T> + Default + PartialEq + IntoBytes + FromBytes + Immutable, const LEN: usize> Form
    for OneLength<T, LEN>
{
    type Word = T;
    type Chunk = [T; LEN];
    type Space = Numbers;
    const UNIT: usize = LEN;
    const MOST: usize = 1;

    #[inline(always)]
    fn words(chunk: &[T; LEN]) -> &[T] {
        chunk
    }

    #[inline(always)]
    fn read(words: &[Published<T>]) -> [T; LEN] {
        let mut chunk = [T::default(); LEN];
        chunk.iter_mut().zip(&words[..LEN]).for_each(|(value, place)| *value = T::load(place));
        chunk
    }

    #[inline(always)]
    fn numbers(_: &[Published<T>]) -> usize {
        1
    }
}

/// Numbers allocated one by one.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    free: Vec<u32>,
    end: usize,
}

impl Space for Numbers {
    #[inline(always)]
    fn take(&mut self, numbers: usize) -> u32 {
        debug_assert_eq!(numbers, 1);
        self.free.pop().unwrap_or_else(|| {
            self.end += 1;
            self.end as u32 - 1
        })
    }

    fn give(&mut self, first: u32, _: usize) {
        self.free.push(first);
    }

    fn end(&self) -> usize {
        self.end
    }

    #[inline(always)]
    fn end_after(&self, _: usize) -> usize {
        self.end + usize::from(self.free.is_empty())
    }

    fn free_total(&self) -> usize {
        self.free.len()
    }

    fn free_for_all(&self) -> usize {
        self.free.len()
    }

    fn bytes(&self) -> usize {
        self.free.capacity() * size_of::<u32>()
    }

    fn validate(&self) -> Result<(), String> {
        match self.free.iter().find(|&&number| number as usize >= self.end) {
            Some(number) => Err(format!("{number} is free, past the end {}", self.end)),
            None => Ok(()),
        }
    }
}

impl Space for Lines {
    fn take(&mut self, numbers: usize) -> u32 {
        self.allocate(numbers as u64) as u32
    }

    fn give(&mut self, first: u32, numbers: usize) {
        self.free(first.into(), numbers as u64);
    }

    fn end(&self) -> usize {
        self.end() as usize
    }

    fn end_after(&self, numbers: usize) -> usize {
        self.end_after(numbers as u64) as usize
    }

    fn free_total(&self) -> usize {
        self.free_total() as usize
    }

    fn free_for_all(&self) -> usize {
        0
    }

    fn bytes(&self) -> usize {
        self.bytes()
    }

    fn validate(&self) -> Result<(), String> {
        self.validate()
    }
}

/// Returns the words from the start of a chunk on.
#[inline(always)]
pub(super) fn places<F: Form>(words: &Words<F::Word>, number: u32) -> &[Atomic<F>] {
    &words[number as usize * F::UNIT..]
}
