//! Chunk allocation with reuse: runs of consecutive elements in one growing array.
//!
//! Range tables (DXR), node pools (Poptrie, Tree Bitmap) and chunked levels (SAIL, DIR-24-8) all
//! keep runs of elements that an index points to.
//!
//! - [`Chunks`] keeps the bookkeeping.
//! - [`Lines`] keeps it for chunks that are to span few cache lines.
//! - [`Pool`] also holds the elements.
//! - [`SharedPool`] holds them where others may read while it changes.

mod lines;
mod pool;

pub use lines::Lines;
pub use pool::{Pool, SharedPool, Store};

use std::collections::{BTreeMap, BTreeSet};

/// The free runs of an index space: best fit, neighbours merged, the free tail given back at once.
/// O(log f) a call, where *f* is the number of free runs.
///
/// ```
/// use fibula::parts::blocks::chunks::Chunks;
/// let mut chunks = Chunks::new();
/// let (a, b) = (chunks.allocate(4), chunks.allocate(2));
/// chunks.free(a, 4);
/// assert_eq!(chunks.allocate(3), a); // freed space is reused
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
    /// Creates an empty index space.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Allocates `len` elements: the smallest free run that holds them, or new ones at the end.
    /// Returns where the run starts. A run of length 0 starts at 0 and occupies nothing.
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

    /// Frees a run, which must have been allocated, in one piece or as neighbours.
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

    /// Returns the index one past the last element in use.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Returns the number of free elements before [`Self::end`].
    #[must_use]
    pub fn free_total(&self) -> u64 {
        self.free_total
    }

    /// Returns where the elements would end if `len` were allocated now, to check a limit before
    /// allocating.
    #[must_use]
    pub fn end_after(&self, len: u64) -> u64 {
        let fits = len == 0 || self.by_len.range((len, 0)..).next().is_some();
        if fits { self.end } else { self.end + len }
    }

    /// Returns the bytes of the bookkeeping, without what its trees leave unused.
    #[must_use]
    pub fn bytes(&self) -> usize {
        (self.by_start.len() + self.by_len.len()) * size_of::<(u64, u64)>()
    }

    /// Checks the two trees of the bookkeeping against each other.
    ///
    /// # Errors
    /// Returns the first contradiction found.
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
