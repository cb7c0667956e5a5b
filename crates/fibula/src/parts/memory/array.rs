//! [`Array`]: a growable array that begins on a cache line and may ask for huge pages, or reads a
//! [`Mapping`].
#![allow(unsafe_code, reason = "an allocation with its own alignment")]

use super::huge_pages;
use super::mapping::{Mapping, Owner};
use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, handle_alloc_error};
use std::fmt;
use std::num::NonZero;
use std::ops::{Deref, DerefMut, Range};
use std::ptr::NonNull;
use std::sync::Arc;
use zerocopy::{FromBytes, FromZeros, Immutable};

/// The bytes of a cache line, to which every array is aligned.
pub const CACHE_LINE: usize = 64;

/// The bytes of a huge page. Arrays of at least this size are aligned to it when built with
/// [`Pages::Huge`].
const HUGE_PAGE: usize = 2 << 20;

/// The system allocator's default alignment. Only up to it does the allocator return fresh zeroed
/// pages without touching them, for [`Array::zeroed`]. At a greater alignment it writes every zero.
const GIVEN_ALIGN: usize = 16;

/// The pages an array asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Pages {
    /// The system's ordinary pages.
    #[default]
    Small,
    /// 2 MiB pages for arrays of at least that size, where the system grants them.
    Huge,
}

/// A growable array of plain values, aligned to [`CACHE_LINE`]. Used as a slice; grows by doubling.
///
/// ```
/// use fibula::parts::memory::{Array, Pages};
/// let mut table = Array::filled(0_u32, 1 << 16, Pages::Huge);
/// table[7] = 1;
/// table.push(2);
/// assert_eq!((table[7], table.len(), table.as_ptr() as usize % 64), (1, 65_537, 0));
/// ```
pub struct Array<T: Copy> {
    start: NonNull<T>,
    len: usize,
    capacity: usize,
    /// The bytes of the allocation before `start`.
    offset: usize,
    pages: Pages,
    /// The mapping that holds the elements, if the array does not own them. Then they are only
    /// read, and any change first moves them to an allocation.
    mapping: Option<Arc<Owner>>,
}

// SAFETY: an `Array` owns its values like a `Vec`; sharing or sending it shares or sends them.
unsafe impl<T: Copy + Send> Send for Array<T> {}
// SAFETY: as above; `&Array` gives only `&[T]`.
unsafe impl<T: Copy + Sync> Sync for Array<T> {}

impl<T: Copy> Array<T> {
    /// Creates an empty array. Allocates nothing yet.
    #[must_use]
    pub fn new(pages: Pages) -> Self {
        const { assert!(size_of::<T>() > 0 && align_of::<T>() <= CACHE_LINE) }
        // Aligned as all others, for the atomics as which `Words` takes the elements.
        let start = NonNull::without_provenance(const { NonZero::new(CACHE_LINE).unwrap() });
        Self { start, len: 0, capacity: 0, offset: 0, pages, mapping: None }
    }

    /// Creates an array of `len` times `value`.
    #[must_use]
    pub fn filled(value: T, len: usize, pages: Pages) -> Self {
        let mut array = Self::new(pages);
        array.resize(len, value);
        array
    }

    /// Creates an array of `len` times the value that is all zero bytes. Where the system returns
    /// fresh pages, those never written take no memory and no time, which suits tables that are
    /// large and mostly empty.
    #[must_use]
    pub fn zeroed(len: usize, pages: Pages) -> Self
    where
        T: FromZeros,
    {
        let mut array = Self::new(pages);
        if len > 0 {
            if array.layout(len).align() == HUGE_PAGE {
                // Zeroed pages from the system would become ordinary pages before huge ones are
                // asked for.
                array.take(len, alloc);
                // SAFETY: `take` made room for `len` elements.
                unsafe { array.start.as_ptr().write_bytes(0, len) };
            } else {
                array.take(len, alloc_zeroed);
            }
            array.len = len; // all zero bytes, which `FromZeros` says are values
        }
        array
    }

    /// Returns the elements in `bytes` of a mapping: read in place, and copied by the first change.
    /// Returns `None` if the range is past the end, not a whole number of elements, or not aligned
    /// for them. O(1).
    ///
    /// ```
    /// use fibula::parts::memory::{Array, Mapping, Pages};
    /// let mapping = Mapping::new(Array::filled(1_u8, 64, Pages::Small));
    /// let mut numbers: Array<u32> = Array::mapped(&mapping, 4..16).unwrap();
    /// assert_eq!(numbers[..], [0x0101_0101; 3]);
    /// numbers[0] = 7; // in memory of its own from here on
    /// assert_eq!((numbers[0], numbers.len(), mapping.bytes()[4]), (7, 3, 1));
    /// assert!(Array::<u32>::mapped(&mapping, 5..9).is_none());
    /// ```
    #[must_use]
    pub fn mapped(mapping: &Mapping, bytes: Range<usize>) -> Option<Self>
    where
        T: FromBytes + Immutable,
    {
        let bytes = mapping.bytes().get(bytes)?;
        let start: *const T = bytes.as_ptr().cast();
        if !bytes.len().is_multiple_of(size_of::<T>()) || !start.is_aligned() {
            return None;
        }
        let mut array = Self::new(Pages::Small);
        if !bytes.is_empty() {
            // `FromBytes`: any bytes are values. `Immutable`: reading them changes nothing.
            array.start = NonNull::new(start.cast_mut())?;
            array.len = bytes.len() / size_of::<T>();
            array.capacity = array.len;
            array.mapping = Some(Arc::clone(mapping.owner()));
        }
        Some(array)
    }

    /// Appends a value. O(1) amortised.
    pub fn push(&mut self, value: T) {
        self.resize(self.len + 1, value);
    }

    /// Appends a slice.
    pub fn extend_from_slice(&mut self, values: &[T]) {
        self.reserve(values.len());
        // SAFETY: `reserve` made room for `values.len()` more, which overlaps no borrowed slice.
        unsafe { values.as_ptr().copy_to_nonoverlapping(self.start.as_ptr().add(self.len), values.len()) };
        self.len += values.len();
    }

    /// Sets the length to `len`: truncates, or appends copies of `value`.
    pub fn resize(&mut self, len: usize, value: T) {
        self.reserve(len.saturating_sub(self.len));
        for index in self.len..len {
            // SAFETY: `reserve` made the capacity at least `len`.
            unsafe { self.start.as_ptr().add(index).write(value) };
        }
        self.len = len;
    }

    /// Truncates the array to `len` elements, if it is longer.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Returns the pages that it asks for.
    pub(super) fn pages(&self) -> Pages {
        self.pages
    }

    /// Returns the bytes it occupies, unused capacity included.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.capacity * size_of::<T>()
    }

    /// Returns the number of elements that fit before it moves.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Moves to an allocation of exactly `capacity` elements, or of its length if that is more. For
    /// owners who know how far they grow, or who cannot spare the room that doubling leaves unused.
    /// O(n).
    pub fn set_capacity(&mut self, capacity: usize) {
        let capacity = capacity.max(self.len);
        if capacity != self.capacity {
            self.reallocate(capacity);
        }
    }

    /// Frees unused capacity.
    pub fn shrink_to_fit(&mut self) {
        self.set_capacity(self.len);
    }

    fn reserve(&mut self, more: usize) {
        let needed = self.len.checked_add(more).expect("more elements than addresses");
        if needed > self.capacity || self.mapping.is_some() {
            // The first allocation is exact: most tables are built in one piece.
            self.reallocate(needed.max(self.capacity.saturating_mul(2)));
        }
    }

    /// Moves elements from a mapping to an allocation, where they may be changed.
    #[cold]
    fn own(&mut self) {
        self.reallocate(self.len);
    }

    /// Moves to an allocation of `capacity` elements, at least `len`.
    fn reallocate(&mut self, capacity: usize) {
        debug_assert!(capacity >= self.len);
        let mut moved = Self::new(self.pages);
        if capacity > 0 {
            moved.take(capacity, alloc);
        }
        // SAFETY: both allocations hold at least `len` elements and are distinct.
        unsafe { self.start.as_ptr().copy_to_nonoverlapping(moved.start.as_ptr(), self.len) };
        moved.len = self.len;
        *self = moved;
    }

    /// Allocates `capacity` elements, not 0, with `allocate`. There must be no allocation yet.
    fn take(&mut self, capacity: usize, allocate: unsafe fn(Layout) -> *mut u8) {
        debug_assert!(self.capacity == 0 && capacity > 0);
        let layout = self.layout(capacity);
        // SAFETY: the layout is not empty: `T` is not zero-sized and `capacity` is not 0.
        let base = unsafe { allocate(layout) };
        let Some(base) = NonNull::new(base) else { handle_alloc_error(layout) };
        self.offset = base.align_offset(CACHE_LINE);
        // SAFETY: `layout` has room for the offset, which is less than a line, before the elements.
        self.start = unsafe { base.add(self.offset) }.cast();
        self.capacity = capacity;
        if layout.align() == HUGE_PAGE {
            huge_pages::advise(base, layout.size());
        }
    }

    /// Returns the layout for `capacity` elements: aligned to huge pages, or with room to align it
    /// to a cache line.
    fn layout(&self, capacity: usize) -> Layout {
        let bytes = capacity.checked_mul(size_of::<T>()).expect("more bytes than addresses");
        let huge = self.pages == Pages::Huge && bytes >= HUGE_PAGE;
        let (room, align) = if huge { (0, HUGE_PAGE) } else { (CACHE_LINE - GIVEN_ALIGN, GIVEN_ALIGN) };
        let bytes = bytes.checked_add(room).expect("more bytes than addresses");
        Layout::from_size_align(bytes, align).expect("more bytes than addresses")
    }
}

impl<T: Copy> Drop for Array<T> {
    fn drop(&mut self) {
        if self.capacity > 0 && self.mapping.is_none() {
            // SAFETY: `take` let the allocation begin `offset` bytes before `start`, with this very
            // layout.
            unsafe { dealloc(self.start.cast::<u8>().sub(self.offset).as_ptr(), self.layout(self.capacity)) };
        }
    }
}

impl<T: Copy> Deref for Array<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: the first `len` elements are initialised; an empty array's pointer is dangling
        // but aligned. Those of a mapping live as long as its owner, which `self` holds.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T: Copy> DerefMut for Array<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        if self.mapping.is_some() {
            self.own();
        }
        // SAFETY: as in `deref`; `&mut self` makes it the only access.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl<T: Copy> AsRef<[T]> for Array<T> {
    fn as_ref(&self) -> &[T] {
        self
    }
}

impl<T: Copy> Clone for Array<T> {
    fn clone(&self) -> Self {
        let mut copy = Self::new(self.pages);
        copy.extend_from_slice(self);
        copy
    }
}

impl<T: Copy + fmt::Debug> fmt::Debug for Array<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.deref().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Megabytes, and under Miri, which takes a thousand times as long, kilobytes.
    const MANY: u32 = if cfg!(miri) { 700 } else { 700_000 };

    #[test]
    fn grows_shrinks_and_keeps_its_values() {
        for pages in [Pages::Small, Pages::Huge] {
            let mut array = Array::new(pages);
            assert_eq!((array.len(), array.bytes()), (0, 0));
            for i in 0..MANY {
                array.push(i);
            }
            array.extend_from_slice(&[1, 2, 3]);
            let (first, last) = array.split_at(MANY as usize);
            assert!(first.iter().enumerate().all(|(i, &v)| v == i as u32));
            assert_eq!(last, [1, 2, 3]);
            array.resize(10, 0);
            array.shrink_to_fit();
            assert_eq!(array.bytes(), 40);
            assert_eq!(array.clone()[..], (0..10).collect::<Vec<u32>>());
            array.resize(0, 0);
            array.shrink_to_fit();
            assert_eq!(array.bytes(), 0);
        }
    }

    #[test]
    fn zeroed_arrays_are_zero_aligned_and_grow() {
        for pages in [Pages::Small, Pages::Huge] {
            for len in [0, 1, 5, 4096, 4 * MANY as usize] {
                let mut array: Array<u32> = Array::zeroed(len, pages);
                assert_eq!((array.len(), array.bytes()), (len, len * 4));
                assert!(array.iter().all(|&value| value == 0));
                array.push(1);
                assert_eq!((array.len(), array.as_ptr() as usize % CACHE_LINE), (len + 1, 0));
            }
        }
    }

    #[test]
    fn a_set_capacity_is_exact_and_never_cuts_elements_off() {
        let mut array = Array::filled(7_u16, 3, Pages::Small);
        array.set_capacity(10);
        assert_eq!((array.capacity(), array.bytes(), &array[..]), (10, 20, &[7, 7, 7][..]));
        array.set_capacity(1);
        assert_eq!((array.capacity(), &array[..]), (3, &[7, 7, 7][..]));
    }

    #[test]
    fn elements_of_a_mapping_are_never_written_whatever_is_done_with_them() {
        let changes: [fn(&mut Array<u16>); 6] = [
            |array| array[0] = 9,
            |array| array.push(9),
            |array| array.resize(3, 9),
            |array| array.extend_from_slice(&[9]),
            |array| {
                array.truncate(1);
                array.push(9);
            },
            Array::shrink_to_fit,
        ];
        for change in changes {
            // It may begin at an odd address.
            let mapping = Mapping::new(vec![1_u8; 65]);
            let first = mapping.bytes().as_ptr() as usize % 2;
            let mut array: Array<u16> = Array::mapped(&mapping, first..first + 64).unwrap();
            let (copy, mut plain) = (array.clone(), Array::filled(0x0101_u16, 32, Pages::Small));
            change(&mut array);
            change(&mut plain);
            assert_eq!(array[..], plain[..]);
            assert!(mapping.bytes().iter().all(|&byte| byte == 1));
            drop(mapping); // every reader holds the owner
            assert!(copy.iter().all(|&value| value == 0x0101) && array.get(1).is_some());
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "writes two megabytes")]
    fn large_arrays_of_huge_pages_begin_on_one() {
        let array = Array::filled(0_u8, HUGE_PAGE, Pages::Huge);
        assert_eq!(array.as_ptr() as usize % HUGE_PAGE, 0);
    }
}
