//! [`Form`]: how long the chunks of a [`Kept`](super::Kept) are, and how their numbers are given out.

use crate::blocks::chunks::Lines;
use crate::memory::{Published, Word, Words};
use std::fmt::Debug;
use std::marker::PhantomData;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// The atomic form of a form's words.
pub type Atomic<F> = Published<<F as Form>::Word>;

/// How chunks lie among the words. A number stands for the place of some words; a chunk takes one or several that follow each other, and is
/// known by the first.
pub trait Form: Debug + Send + Sync + 'static {
    /// What chunks consist of.
    type Word: Word + Default + IntoBytes + FromBytes + Immutable;
    /// The contents of one chunk.
    type Chunk: PartialEq;
    /// Which numbers are free.
    type Space: Space;
    /// The words of a number.
    const UNIT: usize;
    /// The most numbers that a chunk takes.
    const MOST: usize;

    /// The words of a chunk: [`UNIT`](Self::UNIT) for each number that it takes.
    fn words(chunk: &Self::Chunk) -> &[Self::Word];

    /// The chunk at the beginning of some words.
    fn read(words: &[Atomic<Self>]) -> Self::Chunk;

    /// How many numbers that chunk takes.
    fn numbers(words: &[Atomic<Self>]) -> usize;
}

/// Which numbers are in use.
pub trait Space: Default + Debug + Send + Sync + 'static {
    /// The first of so many numbers that follow each other.
    fn take(&mut self, numbers: usize) -> u32;

    /// Gives back what was taken in one piece.
    fn give(&mut self, first: u32, numbers: usize);

    /// One past the last number in use, or more.
    fn end(&self) -> usize;

    /// What that would be if so many were taken now.
    fn end_after(&self, numbers: usize) -> usize;

    /// How many numbers before the end are free.
    fn free_total(&self) -> usize;

    /// How many of them will do for whatever is taken.
    fn free_for_all(&self) -> usize;

    /// The bytes it occupies.
    fn bytes(&self) -> usize;

    /// Checks the books.
    ///
    /// # Errors
    /// With the first contradiction found.
    fn validate(&self) -> Result<(), String>;
}

/// Chunks of `LEN` words, a number each.
#[derive(Debug)]
pub struct OneLength<T, const LEN: usize>(PhantomData<T>);

impl<T: Word + Default + PartialEq + IntoBytes + FromBytes + Immutable, const LEN: usize> Form
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

/// Numbers taken one by one.
#[derive(Debug, Default)]
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

/// The places of a form's chunk and of what follows it.
#[inline(always)]
pub(super) fn places<F: Form + ?Sized>(words: &Words<F::Word>, number: u32) -> &[Atomic<F>] {
    &words[number as usize * F::UNIT..]
}
