//! Chunk allocation with reuse: runs of consecutive elements in one growing array.
//!
//! Range tables (DXR), node pools (Poptrie, Tree Bitmap) and chunked levels (SAIL, DIR-24-8) all keep runs of
//! elements that an index points to. [`Chunks`] keeps the books, [`Pool`] also holds the elements.

use crate::Limit;
use crate::memory::{Array, Pages};
use std::collections::{BTreeMap, BTreeSet};

/// Which runs of an index space are free: best fit, neighbours merged, the free tail given back at once.
/// O(log f) a call, *f* the number of free runs.
///
/// ```
/// use fibula::blocks::chunks::Chunks;
/// let mut chunks = Chunks::new();
/// let (a, b) = (chunks.allocate(4), chunks.allocate(2));
/// chunks.free(a, 4);
/// assert_eq!(chunks.allocate(3), a); // freed space is used again
/// assert_eq!((b, chunks.end(), chunks.free_total()), (4, 6, 1));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Chunks {
    by_start: BTreeMap<u64, u64>,
    by_len: BTreeSet<(u64, u64)>,
    end: u64,
    free_total: u64,
}

impl Chunks {
    /// An empty index space.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The smallest free run that holds `len` elements, or new ones at the end. Returns where it starts; a
    /// run of length 0 starts at 0 and occupies nothing.
    pub fn allocate(&mut self, len: u64) -> u64 {
        if len == 0 {
            return 0;
        }
        let Some(&(free_len, start)) = self.by_len.range((len, 0)..).next() else {
            self.end += len;
            return self.end - len;
        };
        self.take(start, free_len);
        if free_len > len {
            self.give(start + len, free_len - len);
        }
        start
    }

    /// Gives a run back. It must have been allocated, in one piece or as neighbours.
    pub fn free(&mut self, mut start: u64, mut len: u64) {
        if len == 0 {
            return;
        }
        debug_assert!(start + len <= self.end, "freed past the end");
        if let Some((&before, &before_len)) = self.by_start.range(..start).next_back() {
            debug_assert!(before + before_len <= start, "freed twice");
            if before + before_len == start {
                self.take(before, before_len);
                (start, len) = (before, before_len + len);
            }
        }
        if let Some((&after, &after_len)) = self.by_start.range(start..).next() {
            debug_assert!(start + len <= after, "freed twice");
            if start + len == after {
                self.take(after, after_len);
                len += after_len;
            }
        }
        if start + len == self.end {
            self.end = start;
        } else {
            self.give(start, len);
        }
    }

    /// One past the last element in use.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.end
    }

    /// The free elements before [`Self::end`].
    #[must_use]
    pub fn free_total(&self) -> u64 {
        self.free_total
    }

    /// Where `len` elements would end if they were allocated now: to check a limit before taking them.
    #[must_use]
    pub fn end_after(&self, len: u64) -> u64 {
        let fits = len == 0 || self.by_len.range((len, 0)..).next().is_some();
        if fits { self.end } else { self.end + len }
    }

    /// Checks the books against each other.
    ///
    /// # Errors
    /// With the first contradiction found.
    pub fn validate(&self) -> Result<(), String> {
        let mut free_total = 0;
        let mut previous_end = None;
        for (&start, &len) in &self.by_start {
            if previous_end.is_some_and(|end| end >= start) {
                return Err(format!("free runs touch or overlap at {start}"));
            }
            if !self.by_len.contains(&(len, start)) {
                return Err(format!("free run {start}+{len} is not in the size index"));
            }
            previous_end = Some(start + len);
            free_total += len;
        }
        if previous_end.is_some_and(|end| end >= self.end) {
            return Err("the tail is free but not given back".into());
        }
        if self.by_len.len() != self.by_start.len() || free_total != self.free_total {
            return Err("the totals do not add up".into());
        }
        Ok(())
    }

    fn take(&mut self, start: u64, len: u64) {
        self.by_start.remove(&start);
        self.by_len.remove(&(len, start));
        self.free_total -= len;
    }

    fn give(&mut self, start: u64, len: u64) {
        self.by_start.insert(start, len);
        self.by_len.insert((len, start));
        self.free_total += len;
    }
}

/// [`Chunks`] with their elements: runs that are written once, read by index, and given back.
///
/// While it is filled, it grows by doubling. Once it is [settled](Pool::shrink_to_fit), it follows what is in use
/// closely, so that a table under updates takes hardly more memory than a fresh one.
#[derive(Clone, Debug)]
pub struct Pool<T: Copy> {
    elements: Array<T>,
    chunks: Chunks,
    settled: bool,
    /// The elements past the last run that may be read, whatever they hold.
    padding: usize,
    what: &'static str,
    max: u64,
}

impl<T: Copy + Default> Pool<T> {
    /// A settled pool's spare room is one part in so many of what is in use when it grows, and at most twice that
    /// before it shrinks: each moves the elements once for a sixteenth of them that came or went.
    const SPARE: usize = 16;

    /// An empty pool of at most `max` elements; `what` names them where that limit is reached.
    #[must_use]
    pub fn new(what: &'static str, max: u64, pages: Pages) -> Self {
        Self { elements: Array::new(pages), chunks: Chunks::new(), settled: false, padding: 0, what, max }
    }

    /// The elements that an array holds, as one run: to be read, and never to be added to.
    #[must_use]
    pub fn holding(elements: Array<T>, what: &'static str, padding: usize) -> Self {
        let mut chunks = Chunks::new();
        chunks.allocate(elements.len().saturating_sub(padding) as u64);
        Self { elements, chunks, settled: true, padding, what, max: 0 }
    }

    /// The empty pool with so many elements past the end of whatever is in use: for readers of blocks of one length,
    /// who may then begin a block at any run.
    #[must_use]
    pub fn padded(mut self, padding: usize) -> Self {
        self.elements.resize(padding, T::default());
        self.padding = padding;
        self
    }

    /// Stores a run and returns where it starts. An empty run takes no space.
    ///
    /// # Errors
    /// If the pool's limit would be passed; nothing is stored then.
    pub fn insert(&mut self, run: &[T]) -> Result<usize, Limit> {
        let start = self.allocate(run.len())?;
        self.elements[start..start + run.len()].copy_from_slice(run);
        Ok(start)
    }

    /// Takes a run of `len` elements whose values are whatever was there before, and returns where it starts.
    ///
    /// # Errors
    /// If the pool's limit would be passed; nothing is taken then.
    pub fn allocate(&mut self, len: usize) -> Result<usize, Limit> {
        Limit::check(self.what, self.chunks.end_after(len as u64), self.max)?;
        let start = self.chunks.allocate(len as u64) as usize;
        let end = self.chunks.end() as usize + self.padding;
        if end > self.elements.len() {
            if self.settled && end > self.elements.capacity() {
                self.elements.set_capacity(end + end / Self::SPARE);
            }
            self.elements.resize(end, T::default());
        }
        Ok(start)
    }

    /// Gives a run back.
    pub fn remove(&mut self, start: usize, len: usize) {
        self.chunks.free(start as u64, len as u64);
        self.elements.resize(self.chunks.end() as usize + self.padding, T::default());
        let (used, capacity) = (self.elements.len(), self.elements.capacity());
        if self.settled && used + 2 * (used / Self::SPARE) < capacity || used * 4 < capacity {
            self.elements.shrink_to_fit();
        }
    }

    /// The elements in use, holes and padding included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Whether nothing is in use.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// The elements in holes: freed, not yet used again.
    #[must_use]
    pub fn free_total(&self) -> usize {
        self.chunks.free_total() as usize
    }

    /// The bytes it occupies, unused capacity included, the books left out.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.elements.bytes()
    }

    /// Gives unused capacity back, as at the end of a build, and grows and shrinks in small steps from now on.
    pub fn shrink_to_fit(&mut self) {
        self.elements.shrink_to_fit();
        self.settled = true;
    }

    /// Checks the books.
    ///
    /// # Errors
    /// With the first contradiction found.
    pub fn validate(&self) -> Result<(), String> {
        self.chunks.validate()?;
        if self.chunks.end() as usize + self.padding == self.elements.len() {
            Ok(())
        } else {
            Err(format!(
                "{}: {} elements for an end of {}",
                self.what,
                self.elements.len(),
                self.chunks.end()
            ))
        }
    }
}

impl<T: Copy> std::ops::Deref for Pool<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.elements
    }
}

impl<T: Copy> std::ops::DerefMut for Pool<T> {
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
    fn the_last_element_fits_and_one_more_does_not() {
        let mut pool: Pool<u8> = Pool::new("nodes", 8, Pages::Small);
        let start = pool.insert(&[1; 8]).unwrap();
        assert_eq!(pool.insert(&[2]), Err(Limit { what: "nodes", had: 9, max: 8 }));
        assert_eq!(pool.insert(&[]), Ok(0));
        pool.remove(start, 8);
        assert_eq!((pool.len(), pool.insert(&[3; 8])), (0, Ok(0)));
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
