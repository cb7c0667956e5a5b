//! [`Words`]: an array of atomic integers that several owners share.
#![allow(unsafe_code, reason = "one allocation seen as atomic integers")]

use super::{Array, Pages};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};
use zerocopy::FromZeros;

/// What may be read by some while others write: atomic integers when it lies in [`Words`].
///
/// An integer is a [`Word`]. Of a record of several each is read and written for itself: whoever writes more than one of them does so
/// where nobody reads yet.
pub trait Shareable: Copy + FromZeros + fmt::Debug + Send + Sync + 'static {
    /// Its atomic form: same size, alignment and bits.
    type Atomic: Send + Sync;

    /// Reads one; whatever was written before it was [stored](Shareable::store) is seen after this.
    #[must_use]
    fn load(place: &Self::Atomic) -> Self;

    /// Writes one.
    fn store(self, place: &Self::Atomic);
}

/// An integer: read and written in one piece.
pub trait Word: Shareable {}

macro_rules! word {
    ($($int:ty, $atomic:ty);+) => {$(
        impl Shareable for $int {
            type Atomic = $atomic;

            #[inline(always)]
            fn load(place: &$atomic) -> Self {
                place.load(Ordering::Acquire)
            }

            #[inline(always)]
            fn store(self, place: &$atomic) {
                place.store(self, Ordering::Release);
            }
        }

        impl Word for $int {}
    )+};
}

impl<T: Shareable, const N: usize> Shareable for [T; N] {
    type Atomic = [T::Atomic; N];

    #[inline(always)]
    fn load(place: &[T::Atomic; N]) -> Self {
        std::array::from_fn(|at| T::load(&place[at]))
    }

    #[inline(always)]
    fn store(self, place: &[T::Atomic; N]) {
        self.iter().zip(place).for_each(|(value, place)| value.store(place));
    }
}

word!(u8, AtomicU8; u16, AtomicU16; u32, AtomicU32; u64, AtomicU64);

/// Makes a type around one integer a word: `word_around!(Entry(u32))`.
macro_rules! word_around {
    ($word:ident($int:ty)) => {
        impl $crate::memory::Shareable for $word {
            type Atomic = <$int as $crate::memory::Shareable>::Atomic;

            #[inline(always)]
            fn load(place: &Self::Atomic) -> Self {
                Self(<$int as $crate::memory::Shareable>::load(place))
            }

            #[inline(always)]
            fn store(self, place: &Self::Atomic) {
                $crate::memory::Shareable::store(self.0, place);
            }
        }

        impl $crate::memory::Word for $word {}
    };
}
pub(crate) use word_around;

/// An array of a fixed number of words or records of them, zeros at first. Clones are the same array: who writes one writes all.
///
/// Pages that were never written take no memory where the system hands out fresh ones ([`Array::zeroed`]), so an array may be made for
/// more than is needed yet: what others have in hand never moves.
///
/// ```
/// use fibula::memory::{Pages, Words};
/// let words: Words<u16> = Words::zeroed(1 << 20, Pages::Small);
/// let same = words.clone();
/// words.set(7, 1);
/// assert_eq!((same.get(7), same.get(8), same.len()), (1, 0, 1 << 20));
/// ```
pub struct Words<T: Shareable> {
    /// The first of the array's elements. They are only ever seen as atomics.
    start: *const T::Atomic,
    len: usize,
    array: Arc<Array<T>>,
}

// SAFETY: what `start` points to belongs to `array`, is only seen as atomics, and those may be shared and sent.
unsafe impl<T: Shareable> Send for Words<T> {}
// SAFETY: as above.
unsafe impl<T: Shareable> Sync for Words<T> {}

impl<T: Shareable> Words<T> {
    /// So many words of zero.
    #[must_use]
    pub fn zeroed(len: usize, pages: Pages) -> Self {
        const { assert!(size_of::<T>() == size_of::<T::Atomic>() && align_of::<T>() == align_of::<T::Atomic>()) }
        let mut array: Array<T> = Array::zeroed(len, pages);
        let start = array.as_mut_ptr().cast_const().cast();
        Self { start, len, array: Arc::new(array) }
    }

    /// So many words of one value.
    #[must_use]
    pub fn filled(value: T, len: usize, pages: Pages) -> Self {
        let words = Self::zeroed(len, pages);
        words.iter().for_each(|place| value.store(place));
        words
    }

    /// The elements of an array that may lie in a mapping: its owner never writes them, by [`set`](Self::set) or else.
    pub(crate) fn holding(array: Array<T>) -> Self {
        Self { start: array.as_ptr().cast(), len: array.len(), array: Arc::new(array) }
    }

    /// Another array, of so many words, that begins with the first of this one.
    #[must_use]
    pub fn resized(&mut self, len: usize, pages: Pages) -> Self {
        let resized = Self::zeroed(len, pages);
        if Arc::get_mut(&mut self.array).is_some() {
            let from = self.start.cast::<T>();
            // SAFETY: both arrays have so many elements, and are not one; nobody else has either.
            unsafe { from.copy_to_nonoverlapping(resized.start.cast_mut().cast(), len.min(self.len)) };
        } else {
            resized.iter().zip(self.iter()).for_each(|(to, from)| T::load(from).store(to));
        }
        resized
    }

    /// All of them as they are now. O(n).
    #[must_use]
    pub fn to_vec(&self) -> Vec<T> {
        self.iter().map(T::load).collect()
    }

    /// The word at a place.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    #[inline(always)]
    pub fn get(&self, index: usize) -> T {
        T::load(&self[index])
    }

    /// Writes a word: whoever reads it sees also what was written before.
    ///
    /// # Panics
    /// If there is none.
    #[inline(always)]
    pub fn set(&self, index: usize, value: T) {
        value.store(&self[index]);
    }

    /// Writes one value to a range of words, one after the other.
    ///
    /// # Panics
    /// If they are not all there.
    pub fn fill(&self, range: Range<usize>, value: T) {
        self[range].iter().for_each(|place| value.store(place));
    }

    /// A range of words, each as it is when its turn comes.
    ///
    /// # Panics
    /// If they are not all there.
    #[must_use]
    pub fn read(&self, range: Range<usize>) -> Vec<T> {
        self[range].iter().map(T::load).collect()
    }
}

impl<T: Shareable> std::ops::Deref for Words<T> {
    type Target = [T::Atomic];

    #[inline(always)]
    fn deref(&self) -> &[T::Atomic] {
        // SAFETY: `array` holds `len` elements from `start` on, all initialised. They are never used but through this, as
        // atomics of the same size and alignment, so that everybody may write them.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

impl<T: Shareable> Clone for Words<T> {
    fn clone(&self) -> Self {
        Self { start: self.start, len: self.len, array: Arc::clone(&self.array) }
    }
}

impl<T: Shareable> fmt::Debug for Words<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(T::load)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resized_array_is_another_and_clones_are_the_same() {
        let mut words: Words<u32> = Words::zeroed(3, Pages::Small);
        (0..3).for_each(|at| words.set(at, at as u32 + 1));
        let mut other = words.resized(5, Pages::Huge);
        let same = words.clone();
        words.set(0, 9);
        let another = words.resized(2, Pages::Small); // while somebody else has it
        drop(words);
        assert_eq!(format!("{same:?} {other:?} {another:?}"), "[9, 2, 3] [1, 2, 3, 0, 0] [9, 2]");
        other = other.resized(0, Pages::Small);
        assert!(other.is_empty() && (same.as_ptr() as usize).is_multiple_of(super::super::CACHE_LINE));
    }
}
