//! [`Words`]: an array of atomic integers that several owners share.
#![allow(unsafe_code, reason = "one allocation seen as atomic integers")]

use super::{Array, CACHE_LINE, Pages};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// A value that some threads load while another stores it: stored as atomic integers.
///
/// An integer is a [`Word`] and is loaded and stored in one piece. A record of several integers is
/// loaded and stored integer by integer, so a writer fills a record before readers can find it.
///
/// # Safety
/// `Atomic` has the size and the bits of `Plain`, and at least its alignment. Every value of
/// `Plain` is a value of `Atomic`, and the reverse. [`Words`] uses one allocation as either.
pub unsafe trait Shareable: Copy + fmt::Debug + Send + Sync + 'static {
    /// The integers that it consists of, in their order in memory.
    type Plain: Copy + FromBytes + IntoBytes + Immutable + fmt::Debug + Send + Sync + 'static;

    /// The atomic type.
    type Atomic: Send + Sync;

    /// Returns the integers.
    #[must_use]
    fn plain(self) -> Self::Plain;

    /// Loads from an atomic. All writes before the value was [stored](Shareable::store) are visible
    /// after this.
    #[must_use]
    fn load_atomic(place: &Self::Atomic) -> Self;

    /// Loads a published value.
    #[must_use]
    #[inline(always)]
    fn load(place: &Published<Self>) -> Self {
        Self::load_atomic(&place.0)
    }

    /// Stores a value.
    fn store(self, place: &Self::Atomic);
}

/// An integer: loaded and stored in one piece.
pub trait Word: Shareable {}

/// A value in an array that a writer may change: readers can load it, and nothing else.
///
/// ```compile_fail
/// use fibula::parts::memory::{Pages, Words};
/// let words: Words<u32> = Words::zeroed(1, Pages::Small);
/// words.view()[0].store(7); // only the array's owner stores
/// ```
#[repr(transparent)]
pub struct Published<T: Shareable>(pub(super) T::Atomic);

impl<T: Shareable> Published<T> {
    /// Loads the value. All writes before it was stored are visible after this.
    #[must_use]
    #[inline(always)]
    pub fn load(&self) -> T {
        T::load(self)
    }
}

impl<T: Shareable> fmt::Debug for Published<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.load().fmt(f)
    }
}

macro_rules! word {
    ($($int:ty, $atomic:ty);+) => {$(
        // SAFETY: the standard library gives an atomic integer the size and bits of its integer,
        // and an alignment of its size, which is more than the integer's on some processors.
        unsafe impl Shareable for $int {
            type Plain = Self;
            type Atomic = $atomic;

            #[inline(always)]
            fn plain(self) -> Self {
                self
            }

            #[inline(always)]
            fn load_atomic(place: &$atomic) -> Self {
                place.load(Ordering::Acquire)
            }

            #[inline(always)]
            fn store(self, place: &$atomic) {
                #[cfg(test)]
                super::recorded::note(place, place.load(Ordering::Relaxed).into(), self.into());
                place.store(self, Ordering::Release);
            }
        }

        impl Word for $int {}
    )+};
}

// SAFETY: arrays of types with the same layout have the same layout.
unsafe impl<T: Shareable, const N: usize> Shareable for [T; N] {
    type Plain = [T::Plain; N];
    type Atomic = [T::Atomic; N];

    #[inline(always)]
    fn plain(self) -> [T::Plain; N] {
        self.map(T::plain)
    }

    #[inline(always)]
    fn load_atomic(place: &[T::Atomic; N]) -> Self {
        std::array::from_fn(|at| T::load_atomic(&place[at]))
    }

    #[inline(always)]
    fn store(self, place: &[T::Atomic; N]) {
        self.iter().zip(place).for_each(|(value, place)| value.store(place));
    }
}

word!(u8, AtomicU8; u16, AtomicU16; u32, AtomicU32; u64, AtomicU64);

/// A type that gives another one a meaning: an entry is an integer, a node is some of them. It can
/// be stored in [`Words`] because its inner type can.
pub trait Around: Copy + fmt::Debug + Send + Sync + 'static {
    /// The integers it consists of.
    type Inner: Shareable;

    /// Gives the integers their meaning.
    fn around(inner: Self::Inner) -> Self;

    /// Returns the integers.
    fn inner(self) -> Self::Inner;
}

// SAFETY: what is stored is the inner type, of which this holds.
unsafe impl<T: Around> Shareable for T {
    type Plain = <T::Inner as Shareable>::Plain;
    type Atomic = <T::Inner as Shareable>::Atomic;

    #[inline(always)]
    fn plain(self) -> Self::Plain {
        self.inner().plain()
    }

    #[inline(always)]
    fn load_atomic(place: &Self::Atomic) -> Self {
        T::around(T::Inner::load_atomic(place))
    }

    #[inline(always)]
    fn store(self, place: &Self::Atomic) {
        self.inner().store(place);
    }
}

/// Returns the elements of all arrays in order.
#[must_use]
#[inline(always)]
pub(crate) fn flattened<T: Shareable, const N: usize>(arrays: &[Published<[T; N]>]) -> &[Published<T>] {
    // SAFETY: a `Published` is its atomic, transparently, and an array of arrays is all their
    // elements. They are borrowed as long as the arrays.
    unsafe { std::slice::from_raw_parts(arrays.as_ptr().cast(), arrays.len() * N) }
}

/// Makes a type of one integer a word: `word_around!(Entry(u32))`.
#[doc(hidden)]
#[macro_export]
macro_rules! word_around {
    ($word:ident($int:ty)) => {
        impl $crate::parts::memory::Around for $word {
            type Inner = $int;

            #[inline(always)]
            fn around(inner: $int) -> Self {
                Self(inner)
            }

            #[inline(always)]
            fn inner(self) -> $int {
                self.0
            }
        }

        impl $crate::parts::memory::Word for $word {}
    };
}
pub use word_around;

/// An array of a fixed number of words, or of records of words, that its one owner changes while
/// others read its [views](Words::view). All values are zero at first.
///
/// Pages that were never written take no memory where the system returns fresh ones
/// ([`Array::zeroed`]). So an array may be larger than is needed yet, and then never has to move
/// under its readers.
///
/// ```
/// use fibula::parts::memory::{Pages, Words};
/// let words: Words<u16> = Words::zeroed(1 << 20, Pages::Small);
/// let view = words.view();
/// words.set(7, 1);
/// assert_eq!((view.get(7), view.get(8), view.len()), (1, 0, 1 << 20));
/// ```
#[derive(Debug)]
pub struct Words<T: Shareable> {
    view: WordsView<T>,
}

/// A reader's view of [`Words`], and of a snapshot's words: it can load but not store. Clones read
/// the same memory.
///
/// ```compile_fail
/// use fibula::parts::memory::{Pages, Words};
/// let words: Words<u32> = Words::zeroed(1, Pages::Small);
/// words.view().set(0, 7); // a view has no `set`
/// ```
///
/// ```compile_fail
/// use fibula::parts::memory::{Array, Pages, Words};
/// let array = Array::filled(1_u32, 4, Pages::Small);
/// let words: Words<u32> = Words::holding(array); // what may be mapped becomes a view
/// ```
pub struct WordsView<T: Shareable> {
    /// The first of the array's elements, which are only accessed as atomics.
    start: *const Published<T>,
    len: usize,
    array: Arc<Array<T::Plain>>,
}

// SAFETY: what `start` points to belongs to `array` and is only accessed as atomics, which may be
// shared and sent.
unsafe impl<T: Shareable> Send for WordsView<T> {}
// SAFETY: as above.
unsafe impl<T: Shareable> Sync for WordsView<T> {}

impl<T: Shareable> WordsView<T> {
    const ALIKE: () = assert!(
        size_of::<T::Plain>() == size_of::<Published<T>>() && align_of::<Published<T>>() <= CACHE_LINE
    );

    /// Returns a view of an array that nobody writes; it may be part of a mapped file.
    #[must_use]
    pub fn holding(array: Array<T::Plain>) -> Self {
        const { Self::ALIKE }
        // What is mapped is aligned for its elements, not for their atomics; a copy is for both.
        let array = if array.as_ptr().cast::<Published<T>>().is_aligned() {
            array
        } else {
            let mut copy = Array::new(Pages::Small);
            array.iter().for_each(|&element| copy.push(element));
            copy
        };
        Self { start: array.as_ptr().cast(), len: array.len(), array: Arc::new(array) }
    }

    /// Returns the value at `index`.
    ///
    /// # Panics
    /// If `index` is past the end.
    #[must_use]
    #[inline(always)]
    pub fn get(&self, index: usize) -> T {
        self[index].load()
    }

    /// Returns all values, each loaded in turn. O(n).
    #[must_use]
    pub fn to_vec(&self) -> Vec<T> {
        self.read(0..self.len)
    }

    /// As [`to_vec`](Self::to_vec), as a snapshot keeps them.
    #[must_use]
    pub fn to_plain(&self) -> Vec<T::Plain> {
        self.iter().map(|value| value.load().plain()).collect()
    }

    /// Returns the values of a range, each loaded in turn.
    ///
    /// # Panics
    /// If the range ends past the end.
    #[must_use]
    pub fn read(&self, range: Range<usize>) -> Vec<T> {
        self[range].iter().map(Published::load).collect()
    }
}

impl<T: Shareable> std::ops::Deref for WordsView<T> {
    type Target = [Published<T>];

    #[inline(always)]
    fn deref(&self) -> &[Published<T>] {
        // SAFETY: `array` holds `len` elements from `start` on, all initialised. They are accessed
        // only as atomics of the same size, for which they are aligned, here and by the owner, or
        // never written.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

impl<T: Shareable> Clone for WordsView<T> {
    fn clone(&self) -> Self {
        Self { start: self.start, len: self.len, array: Arc::clone(&self.array) }
    }
}

impl<T: Shareable> fmt::Debug for WordsView<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<T: Shareable> Words<T> {
    /// Creates an array of `len` zeros.
    #[must_use]
    pub fn zeroed(len: usize, pages: Pages) -> Self {
        const { WordsView::<T>::ALIKE }
        let mut array: Array<T::Plain> = Array::zeroed(len, pages);
        // From a mutable pointer: `places` returns these elements as atomics to be written.
        let start = array.as_mut_ptr().cast_const().cast();
        Self { view: WordsView { start, len, array: Arc::new(array) } }
    }

    /// Creates an array of `len` times `value`.
    #[must_use]
    pub fn filled(value: T, len: usize, pages: Pages) -> Self {
        let words = Self::zeroed(len, pages);
        words.fill(0..len, value);
        words
    }

    /// Returns a view of this array for readers.
    #[must_use]
    pub fn view(&self) -> WordsView<T> {
        self.view.clone()
    }

    /// Makes `view` show this array, if it shows another.
    #[inline]
    pub(crate) fn show_in(&self, view: &mut WordsView<T>) {
        if !std::ptr::eq(&raw const **view, &raw const *self.view) {
            *view = self.view();
        }
    }

    /// Returns a new array of `len` words that begins with the first words of this one.
    #[must_use]
    pub fn resized(&mut self, len: usize, pages: Pages) -> Self {
        let resized = Self::zeroed(len, pages);
        let from = self.view.start.cast::<T::Plain>();
        let to = resized.view.start.cast_mut().cast::<T::Plain>();
        // SAFETY: both arrays have at least this many elements, and they are distinct. Nobody
        // writes this one: `self` is its owner and is borrowed mutably. Nobody else has the other.
        unsafe { from.copy_to_nonoverlapping(to, len.min(self.view.len)) };
        resized
    }

    /// Returns the elements of `range` for their owner to [store](Shareable::store) to.
    ///
    /// # Panics
    /// If the range ends past the end.
    #[inline(always)]
    #[must_use]
    pub fn places(&self, range: Range<usize>) -> &[T::Atomic] {
        let places = &self.view[range];
        // SAFETY: a `Published` is its atomic, transparently, and `zeroed` allocated the array to
        // be written.
        unsafe { std::slice::from_raw_parts(places.as_ptr().cast(), places.len()) }
    }

    /// Stores `value` at `index`. A reader that loads it also sees all earlier writes.
    ///
    /// # Panics
    /// If `index` is past the end.
    #[inline(always)]
    pub fn set(&self, index: usize, value: T) {
        value.store(&self.places(index..index + 1)[0]);
    }

    /// Stores `values` from index `start` on, one after the other.
    ///
    /// # Panics
    /// If they end past the end.
    #[inline(always)]
    pub fn write(&self, start: usize, values: &[T]) {
        let places = self.places(start..start + values.len());
        values.iter().zip(places).for_each(|(value, place)| value.store(place));
    }

    /// Stores `value` at every index of `range`, one after the other.
    ///
    /// # Panics
    /// If the range ends past the end.
    pub fn fill(&self, range: Range<usize>, value: T) {
        self.places(range).iter().for_each(|place| value.store(place));
    }
}

/// A clone is another array with the same values, each loaded in turn. O(n).
impl<T: Shareable> Clone for Words<T> {
    fn clone(&self) -> Self {
        let copy = Self::zeroed(self.len, self.array.pages());
        self.iter().zip(copy.places(0..self.len)).for_each(|(from, to)| from.load().store(to));
        copy
    }
}

impl<T: Shareable> std::ops::Deref for Words<T> {
    type Target = WordsView<T>;

    #[inline(always)]
    fn deref(&self) -> &WordsView<T> {
        &self.view
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resized_array_is_another_and_views_show_the_owners() {
        let mut words: Words<u32> = Words::zeroed(3, Pages::Small);
        (0..3).for_each(|at| words.set(at, at as u32 + 1));
        let mut view = words.view();
        let other = words.resized(5, Pages::Huge);
        words.set(0, 9);
        words.show_in(&mut view);
        assert_eq!(format!("{view:?} {:?}", *other), "[9, 2, 3] [1, 2, 3, 0, 0]");
        other.show_in(&mut view);
        drop(other);
        assert_eq!((view.to_vec(), view.read(1..3)), (vec![1, 2, 3, 0, 0], vec![2, 3]));
        assert!((view.as_ptr() as usize).is_multiple_of(super::super::CACHE_LINE));
    }
}
