//! [`Pool`]: runs with their elements.

use super::Chunks;
use crate::Limit;
use crate::blocks::retired::Retired;
use crate::memory::{Array, Pages, Shareable, Words, WordsView};
use std::fmt::Debug;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// The memory that a pool stores its elements in.
pub trait Store<T>: Deref + Debug {
    /// Returns the number of elements that fit before they move.
    fn capacity(&self) -> usize;

    /// Moves to memory for exactly `capacity` elements, at least as many as are in use. O(n).
    fn set_capacity(&mut self, capacity: usize, pages: Pages);

    /// Sets the number of elements in use to `len`, which fit.
    fn set_len(&mut self, len: usize);

    /// Writes the elements of `run` from index `start` on.
    fn write(&mut self, start: usize, run: &[T]);
}

impl<T: Copy + Default + Debug> Store<T> for Array<T> {
    fn capacity(&self) -> usize {
        self.capacity()
    }

    fn set_capacity(&mut self, capacity: usize, _: Pages) {
        self.set_capacity(capacity);
    }

    fn set_len(&mut self, len: usize) {
        self.resize(len, T::default());
    }

    fn write(&mut self, start: usize, run: &[T]) {
        self[start..start + run.len()].copy_from_slice(run);
    }
}

/// The number of elements in use is not recorded: the others are zeros, or what was there before.
impl<T: Shareable> Store<T> for Words<T> {
    fn capacity(&self) -> usize {
        self.len()
    }

    fn set_capacity(&mut self, capacity: usize, pages: Pages) {
        if capacity != self.len() {
            *self = self.resized(capacity, pages);
        }
    }

    fn set_len(&mut self, len: usize) {
        debug_assert!(len <= self.len());
    }

    fn write(&mut self, start: usize, run: &[T]) {
        Words::write(self, start, run);
    }
}

/// [`Chunks`] with their elements: runs that are written once, read by index, and freed.
///
/// While a pool is filled, it grows by doubling. Once [settled](Pool::shrink_to_fit), it stays
/// close to what is in use, so that a table under updates takes hardly more memory than a fresh
/// one.
#[derive(Debug)]
pub struct Pool<T: Copy, S = Array<T>> {
    elements: S,
    pages: Pages,
    chunks: Chunks,
    settled: bool,
    /// The number of elements past the last run that may be read, whatever they hold.
    padding: usize,
    what: &'static str,
    max: u64,
    /// The state of a pool that others read.
    shared: Option<Shared>,
    element: PhantomData<T>,
}

/// What a pool that others read keeps besides.
#[derive(Clone, Debug)]
struct Shared {
    /// The index one past the last element that was ever in use.
    written: usize,
    retired: Retired<(usize, usize)>,
    /// The number of elements of the retired runs.
    retired_total: usize,
}

/// A pool whose elements others may read while it changes, once it is [shared](Pool::share).
///
/// ```
/// use fibula::parts::blocks::chunks::SharedPool;
/// use fibula::parts::memory::Pages;
/// let mut pool: SharedPool<u32> = SharedPool::empty("answers", 1 << 20, Pages::Small);
/// let before = pool.insert(&[1, 2]).unwrap();
/// pool.share(100);
/// let view = pool.view();
/// pool.remove(before, 2);
/// let after = pool.insert(&[3, 4]).unwrap();
/// assert_eq!([before, after].map(|start| view.get(start)), [1, 3]); // the first may still be read
/// pool.readers_passed();
/// pool.readers_passed();
/// assert_eq!(pool.insert(&[5, 6]), Ok(before));
/// ```
pub type SharedPool<T> = Pool<T, Words<T>>;

impl<T: Copy + Default, S: Store<T>> Pool<T, S> {
    /// The spare room of a settled pool is one `SPARE`th of what is in use when it grows, and at
    /// most twice that before it shrinks. So elements move once for a sixteenth of them that came
    /// or went.
    const SPARE: usize = 16;

    fn over(elements: S, pages: Pages, what: &'static str, max: u64) -> Self {
        let (chunks, padding, settled, shared) = (Chunks::new(), 0, false, None);
        Self { elements, pages, chunks, settled, padding, what, max, shared, element: PhantomData }
    }

    /// Returns the empty pool with `padding` elements past the end of whatever is in use. Readers
    /// of blocks of one length may then begin a block at any run.
    #[must_use]
    pub fn padded(mut self, padding: usize) -> Self {
        self.padding = padding;
        self.elements.set_capacity(padding, self.pages);
        self.elements.set_len(padding);
        self
    }

    /// Stores a run and returns where it starts. An empty run takes no space.
    ///
    /// # Errors
    /// If the pool's limit would be passed; nothing is stored then.
    pub fn insert(&mut self, run: &[T]) -> Result<usize, Limit> {
        let start = self.allocate(run.len())?;
        self.elements.write(start, run);
        Ok(start)
    }

    /// Allocates a run of `len` elements, whose values are unspecified, and returns where it
    /// starts.
    ///
    /// # Errors
    /// If the pool's limit would be passed, or if others read and there is no room. Nothing is
    /// allocated then.
    pub fn allocate(&mut self, len: usize) -> Result<usize, Limit> {
        Limit::check(self.what, self.chunks.end_after(len as u64), self.max)?;
        let start = self.chunks.allocate(len as u64) as usize;
        let (end, capacity) = (self.len(), self.elements.capacity());
        if end > capacity {
            debug_assert!(self.shared.is_none(), "others would see elements move");
            let room = if self.settled { end + end / Self::SPARE } else { end.max(2 * capacity) };
            self.elements.set_capacity(room, self.pages);
        }
        self.elements.set_len(end);
        if let Some(shared) = &mut self.shared {
            shared.written = shared.written.max(end);
        }
        Ok(start)
    }

    /// Returns whether a run of `len` elements fits.
    #[must_use]
    pub fn has_room(&self, len: usize) -> bool {
        self.chunks.end_after(len as u64) <= self.max
    }

    /// Frees a run. Where others read, it is reused after a grace period.
    pub fn remove(&mut self, start: usize, len: usize) {
        match &mut self.shared {
            None => self.put_back(start, len),
            Some(_) if len == 0 => {}
            Some(shared) => {
                shared.retired_total += len;
                shared.retired.retire((start, len));
            }
        }
    }

    /// Frees at once a run that no reader has ever been able to reach.
    pub(crate) fn put_back(&mut self, start: usize, len: usize) {
        self.chunks.free(start as u64, len as u64);
        let (used, capacity) = (self.len(), self.elements.capacity());
        self.elements.set_len(used);
        let spare = self.settled && used + 2 * (used / Self::SPARE) < capacity || used * 4 < capacity;
        if spare && self.shared.is_none() {
            self.elements.set_capacity(used, self.pages);
        }
    }

    /// Returns the number of elements in use, holes and padding included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.chunks.end() as usize + self.padding
    }

    /// Returns whether nothing is in use.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the most elements.
    #[must_use]
    pub fn max(&self) -> u64 {
        self.max
    }

    /// Returns the number of elements in holes: freed, not yet reused.
    #[must_use]
    pub fn free_total(&self) -> usize {
        self.chunks.free_total() as usize + self.shared.as_ref().map_or(0, |shared| shared.retired_total)
    }

    /// Returns the number of those elements that may be reused at once.
    #[must_use]
    pub fn holes(&self) -> usize {
        self.chunks.free_total() as usize
    }

    /// Returns the bytes it occupies, unused capacity included, without the bookkeeping. A shared
    /// pool on ordinary pages counts only what was ever in use.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let elements = match &self.shared {
            Some(shared) if self.pages == Pages::Small => shared.written,
            _ => self.elements.capacity(),
        };
        elements * size_of::<T>()
    }

    /// Frees unused capacity, as at the end of a build. From now on the pool grows and shrinks in
    /// small steps.
    pub fn shrink_to_fit(&mut self) {
        self.elements.set_capacity(self.len(), self.pages);
        self.settled = true;
    }

    /// Checks the bookkeeping.
    ///
    /// # Errors
    /// Returns the first contradiction found.
    pub fn validate(&self) -> Result<(), String> {
        self.chunks.validate()?;
        if self.len() <= self.elements.capacity() {
            Ok(())
        } else {
            Err(format!("{}: an end of {}, {} elements", self.what, self.len(), self.elements.capacity()))
        }
    }
}

impl<T: Copy + Default + Debug> Pool<T> {
    /// Creates an empty pool of at most `max` elements; `what` names them in the error at that
    /// limit.
    #[must_use]
    pub fn new(what: &'static str, max: u64, pages: Pages) -> Self {
        Self::over(Array::new(pages), pages, what, max)
    }

    /// Returns a pool of elements that are written already, as one run.
    #[must_use]
    pub fn holding(what: &'static str, elements: Array<T>) -> Self {
        let max = elements.len() as u64;
        let mut pool = Self::over(elements, Pages::Small, what, max);
        pool.chunks.allocate(max);
        pool
    }
}

impl<T: Shareable + Default> SharedPool<T> {
    /// As [`Pool::new`].
    #[must_use]
    pub fn empty(what: &'static str, max: u64, pages: Pages) -> Self {
        Self::over(Words::zeroed(0, pages), pages, what, max)
    }

    /// A shared pool has room for `ROOM.0` times what is in use plus `ROOM.1` elements. That is
    /// what a million updates a second replace while a reader has no core. Its pages that are never
    /// written take no memory.
    const ROOM: (u64, u64) = (4, 1 << 18);

    /// Up to this many free elements are never too many: they may be waiting for readers.
    const FREE_IGNORED: usize = 1 << 15;

    /// Lets others read [views](Self::view) from now on. Moves to memory with room to grow, capped
    /// at `most` elements, which is the limit from now on. The pool never moves again.
    pub fn share(&mut self, most: u64) {
        let (times, more) = Self::ROOM;
        self.max = most.min(times * self.chunks.end() + more).max(self.chunks.end());
        self.elements.set_capacity(self.max as usize + self.padding, self.pages);
        self.shared = Some(Shared { written: self.len(), retired: Retired::new(), retired_total: 0 });
    }

    /// Returns a view of the elements for readers.
    #[must_use]
    pub fn view(&self) -> WordsView<T> {
        self.elements.view()
    }

    /// Updates `view` if the elements have moved.
    #[inline]
    pub(crate) fn show_in(&self, view: &mut WordsView<T>) {
        self.elements.show_in(view);
    }

    /// Returns the elements for their owner to write.
    #[must_use]
    #[inline(always)]
    pub fn words(&self) -> &Words<T> {
        &self.elements
    }

    /// Returns the number of elements there is room for past the end, holes aside.
    #[must_use]
    pub fn room(&self) -> u64 {
        self.max.saturating_sub(self.chunks.end())
    }

    /// Returns whether others read.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// Ends a grace period: what was freed before the previous call may be reused.
    pub fn readers_passed(&mut self) {
        let Self { chunks, shared: Some(shared), .. } = self else { return };
        for (start, len) in shared.retired.readers_passed() {
            chunks.free(start as u64, len as u64);
            shared.retired_total -= len;
        }
    }

    /// Returns whether far more is free than in use. It is then time to rebuild where others read
    /// and nothing can move.
    #[must_use]
    pub fn is_wasteful(&self) -> bool {
        let free = self.free_total();
        free > Self::FREE_IGNORED.max(2 * (self.chunks.end() as usize - free))
    }

    /// Returns the element at `index`.
    #[must_use]
    #[inline(always)]
    pub fn get(&self, index: usize) -> T {
        self.elements.get(index)
    }

    /// Returns the elements in use, holes and padding included. O(n).
    #[must_use]
    pub fn to_vec(&self) -> Vec<T> {
        self.elements[..self.len()].iter().map(T::load).collect()
    }
}

impl<T: Copy, S: Clone> Clone for Pool<T, S> {
    fn clone(&self) -> Self {
        let (elements, chunks) = (self.elements.clone(), self.chunks.clone());
        Self { elements, chunks, shared: self.shared.clone(), ..*self }
    }
}

impl<T: Copy, S: Deref> Deref for Pool<T, S> {
    type Target = S::Target;

    #[inline(always)]
    fn deref(&self) -> &S::Target {
        &self.elements
    }
}

impl<T: Copy, S: DerefMut> DerefMut for Pool<T, S> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut S::Target {
        &mut self.elements
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_last_element_fits_and_one_more_does_not() {
        let mut pool: Pool<u8> = Pool::new("nodes", 8, Pages::Small);
        let start = pool.insert(&[1; 8]).unwrap();
        assert_eq!(pool.insert(&[2]), Err(Limit { what: "nodes", had: 9, max: 8 }));
        assert_eq!(pool.insert(&[]), Ok(0));
        pool.remove(start, 8);
        assert_eq!((pool.len(), pool.insert(&[3; 8])), (0, Ok(0)));
    }

    #[test]
    fn elements_that_are_written_already_are_one_run() {
        let mut pool: Pool<u8> = Pool::holding("bytes", Array::filled(7, 5, Pages::Small));
        assert_eq!((&pool[..], pool.free_total()), (&[7; 5][..], 0));
        assert_eq!(pool.insert(&[1]), Err(Limit { what: "bytes", had: 6, max: 5 }));
        pool.remove(1, 2);
        pool.validate().unwrap();
        assert_eq!((pool.insert(&[1, 2]), &pool[..]), (Ok(1), &[7, 1, 2, 7, 7][..]));
    }

    #[test]
    fn a_settled_pool_stays_close_to_what_is_in_use() {
        let mut pool: Pool<u8> = Pool::new("elements", 1 << 20, Pages::Small);
        for _ in 0..1000 {
            pool.allocate(10).unwrap();
        }
        pool.shrink_to_fit();
        assert_eq!(pool.bytes(), 10_000);
        for step in 1..=500 {
            assert_eq!(pool.allocate(10), Ok(9_990 + 10 * step));
            assert!(pool.bytes() <= pool.len() + pool.len() / 16 + 1);
        }
        for step in (1..=500).rev() {
            pool.remove(9_990 + 10 * step, 10);
            assert!(pool.bytes() <= pool.len() + pool.len() / 8);
        }
    }

    #[test]
    fn a_shared_pool_never_moves_and_says_when_there_is_no_room() {
        let mut pool: SharedPool<u16> = SharedPool::empty("elements", 1 << 20, Pages::Small);
        let first = pool.insert(&[1; 8]).unwrap();
        pool.share(20);
        let view = pool.view();
        assert_eq!((pool.len(), pool.is_shared()), (8, true));
        let second = pool.insert(&[2; 8]).unwrap();
        pool.remove(first, 8);
        assert_eq!(pool.insert(&[3; 8]), Err(Limit { what: "elements", had: 24, max: 20 }));
        assert_eq!((view.get(first), view.get(second), pool.bytes(), pool.free_total()), (1, 2, 32, 8));
        pool.readers_passed(); // the first call frees nothing yet
        assert!(pool.insert(&[3; 8]).is_err());
        pool.readers_passed();
        assert_eq!((pool.insert(&[3; 8]), view.get(first), pool.free_total()), (Ok(first), 3, 0));
        pool.put_back(first, 8);
        assert_eq!((pool.insert(&[4; 8]), view.get(first)), (Ok(first), 4));
        pool.validate().unwrap();
        assert_eq!(pool.to_vec(), [[4; 8], [2; 8]].concat());
    }

    #[test]
    fn a_shared_pool_of_which_most_is_free_is_wasteful() {
        let mut pool: SharedPool<u8> = SharedPool::empty("elements", 1 << 20, Pages::Small);
        let runs: Vec<usize> = (0..400).map(|_| pool.allocate(1000).unwrap()).collect();
        pool.share(1 << 20);
        runs[..260].iter().for_each(|&run| pool.remove(run, 1000));
        assert!(!pool.is_wasteful());
        runs[260..300].iter().for_each(|&run| pool.remove(run, 1000));
        assert!(pool.is_wasteful());
    }

    proptest! {
        #[test]
        fn runs_never_overlap_and_everything_comes_back(
            steps in proptest::collection::vec((any::<bool>(), 0..20_usize), 1..200),
        ) {
            let mut pool: Pool<usize> = Pool::new("elements", 1 << 20, Pages::Small);
            let mut held: Vec<(usize, usize, usize)> = Vec::new();
            for (step, (insert, len)) in steps.into_iter().enumerate() {
                if insert || held.is_empty() {
                    let start = pool.insert(&vec![step; len]).unwrap();
                    held.push((start, len, step));
                } else {
                    let (start, len, _) = held.swap_remove(len % held.len());
                    pool.remove(start, len);
                }
                pool.validate().map_err(TestCaseError::fail)?;
                for &(start, len, value) in &held {
                    prop_assert!(pool[start..start + len].iter().all(|&v| v == value));
                }
            }
            for (start, len, _) in held {
                pool.remove(start, len);
            }
            prop_assert_eq!((pool.len(), pool.free_total()), (0, 0));
        }
    }
}
