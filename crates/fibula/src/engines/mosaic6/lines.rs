//! Buckets: several share a line of 64 bytes, and none crosses a line.

use super::slots::Slots;
use super::word::{LINES_MAX, Spot};
use crate::arch::LINE;
use crate::blocks::chunks::SharedPool;
use crate::blocks::retired::Retired;
use crate::engine::Width;
use crate::memory::{Pages, Published, WordsView};
use crate::{Limit, NextHop};

/// The limit that tables of very many bounds reach first, by its unit.
pub(super) const LINES: &str = "lines of buckets";

/// The lines past the end that may be read. A search without a bucket reads the first line, and
/// reads an answer up to 31 slots past its own.
pub(super) const PADDING: usize = 3;

/// The bytes of the end of an interval.
const END_BYTES: usize = size_of::<u16>();

/// Returns the bytes of an interval: its end and its answer.
pub(super) const fn pair_bytes<W: Width>() -> usize {
    END_BYTES + size_of::<W>()
}

/// Returns the intervals that fit a line.
pub(super) const fn slots<W: Width>() -> usize {
    LINE / pair_bytes::<W>()
}

/// Returns the elements of a line, each as wide as an answer.
pub(super) const fn elements<W: Width>() -> usize {
    LINE / size_of::<W>()
}

/// Returns the index in a line of the element that holds the first answer. The answers follow the
/// ends.
#[inline(always)]
pub(super) const fn answers<W: Width>() -> usize {
    (slots::<W>() * END_BYTES).div_ceil(size_of::<W>())
}

/// The lines and their bookkeeping.
///
/// A line stores the ends of the intervals of all its slots, then their answers. A bucket is a run
/// of slots. Its last interval ends at the greatest number, so a search for the first end that is
/// at least a key never leaves the bucket.
#[derive(Clone, Debug)]
pub(super) struct Lines<W: Width> {
    pool: SharedPool<W>,
    free: Slots,
    /// The free slots that were left after the build.
    free_when_written: usize,
    /// In shared tables: freed buckets that a reader may still read, with their number of slots.
    retired: Retired<(Spot, usize)>,
    retired_slots: usize,
}

impl<W: Width> Lines<W> {
    pub(super) fn new(pages: Pages) -> Self {
        let pool = SharedPool::empty(LINES, LINES_MAX * elements::<W>() as u64, pages);
        let pool = pool.padded(PADDING * elements::<W>());
        let free = Slots::new(slots::<W>() as u32);
        Self { pool, free, free_when_written: 0, retired: Retired::new(), retired_slots: 0 }
    }

    /// Returns all lines, as elements.
    #[inline(always)]
    pub(super) fn elements(&self) -> &[Published<W>] {
        &self.pool
    }

    /// Returns the elements of `line`.
    #[inline(always)]
    pub(super) fn line(&self, line: usize) -> &[Published<W>] {
        &self.pool[line * elements::<W>()..][..elements::<W>()]
    }

    /// Writes a bucket: the end and the answer of each interval. The last end must be the greatest
    /// number.
    pub(super) fn insert(&mut self, pairs: &[(u16, u32)]) -> Result<Spot, Limit> {
        let count = pairs.len() as u32;
        let (line, slot) = if let Some(found) = self.free.take(count) {
            found
        } else {
            let start = self.pool.allocate(elements::<W>())?;
            self.free.add_line(start / elements::<W>());
            self.free.take(count).expect("a whole line holds any bucket")
        };
        let spot = Spot { line, slot };
        self.write(spot, pairs);
        Ok(spot)
    }

    /// Writes a bucket over another of as many intervals. Returns whether it did: not where others
    /// read, nor over a bucket of another length.
    pub(super) fn overwrite(&mut self, spot: Spot, pairs: &[(u16, u32)]) -> bool {
        let can = !self.pool.is_shared() && self.pairs(spot).count() == pairs.len();
        if can {
            self.write(spot, pairs);
        }
        can
    }

    fn write(&mut self, spot: Spot, pairs: &[(u16, u32)]) {
        let start = spot.line * elements::<W>();
        let elements = self.pool.words().places(start..start + elements::<W>());
        let put = |at: usize, bytes: &[u8]| {
            for (at, &byte) in (at..).zip(bytes) {
                let place = &elements[at / size_of::<W>()];
                let mut element = W::load_atomic(place);
                element.as_mut_bytes()[at % size_of::<W>()] = byte;
                element.store(place);
            }
        };
        for (slot, &(end, answer)) in (spot.slot as usize..).zip(pairs) {
            put(slot * END_BYTES, &end.to_ne_bytes());
            W::narrow(NextHop(answer)).store(&elements[answers::<W>() + slot]);
        }
    }

    /// Iterates over the ends and answers of a bucket.
    pub(super) fn pairs(&self, spot: Spot) -> impl Iterator<Item = (u16, u32)> {
        let line = self.line(spot.line);
        let byte = |at: usize| W::load(&line[at / size_of::<W>()]).as_bytes()[at % size_of::<W>()];
        let mut is_over = false;
        (spot.slot as usize..slots::<W>()).map_while(move |slot| {
            let end = u16::from_ne_bytes([byte(slot * END_BYTES), byte(slot * END_BYTES + 1)]);
            let answer = W::load(&line[answers::<W>() + slot]).widen().0;
            let pair = (!is_over).then_some((end, answer));
            is_over = end == u16::MAX;
            pair
        })
    }

    /// Frees a bucket. A shared table frees it after a grace period.
    pub(super) fn remove(&mut self, spot: Spot) {
        let count = self.pairs(spot).count();
        if self.pool.is_shared() {
            self.retired.retire((spot, count));
            self.retired_slots += count;
        } else {
            Self::give_back(&mut self.pool, &mut self.free, spot, count);
        }
    }

    fn give_back(pool: &mut SharedPool<W>, free: &mut Slots, spot: Spot, count: usize) {
        if free.give(spot.line, spot.slot, count as u32) {
            free.remove_line(spot.line);
            pool.put_back(spot.line * elements::<W>(), elements::<W>());
        }
    }

    /// Returns the slots in use.
    pub(super) fn used(&self) -> usize {
        self.count() * slots::<W>() - self.free.total() - self.retired_slots
    }

    /// Returns the lines in use.
    pub(super) fn count(&self) -> usize {
        (self.pool.len() - self.pool.holes()) / elements::<W>() - PADDING
    }

    /// Returns the slots that packing could save: those of free lines, and the free slots in lines
    /// beyond those left by the build.
    pub(super) fn holes(&self) -> usize {
        let of_lines = self.pool.holes() / elements::<W>() * slots::<W>();
        of_lines + self.free.total().saturating_sub(self.free_when_written)
    }

    /// Returns whether there is room for three times the current contents beside them, and for the
    /// buckets of `routes` more routes.
    pub(super) fn have_room(&self, routes: usize) -> bool {
        /// The most lines that a new route writes: those of all buckets below a short prefix.
        const LINES_A_ROUTE: usize = 64;
        self.count() + LINES_A_ROUTE * routes <= LINES_MAX as usize / 4
    }

    pub(super) fn bytes(&self) -> usize {
        self.pool.bytes()
    }

    /// Returns the elements as a snapshot stores them.
    pub(super) fn to_vec(&self) -> Vec<W> {
        self.pool.to_vec()
    }

    pub(super) fn share(&mut self) {
        self.pool.share(LINES_MAX * elements::<W>() as u64);
    }

    pub(super) fn view(&self) -> WordsView<W> {
        self.pool.view()
    }

    pub(super) fn show_in(&self, view: &mut WordsView<W>) {
        self.pool.show_in(view);
    }

    pub(super) fn readers_passed(&mut self) {
        let Self { pool, free, retired, retired_slots, .. } = self;
        for (spot, count) in retired.readers_passed() {
            *retired_slots -= count;
            Self::give_back(pool, free, spot, count);
        }
        pool.readers_passed();
    }

    pub(super) fn shrink_to_fit(&mut self) {
        self.free_when_written = self.free.total();
        self.pool.shrink_to_fit();
    }

    #[cfg(test)]
    pub(super) fn spoil(&self, at: usize, change: impl Fn(u8) -> u8)
    where
        W: From<u8> + TryInto<u8, Error: std::fmt::Debug>,
    {
        let element: W = self.pool.get(at);
        self.pool.words().set(at, change(element.try_into().expect("8 bits")).into());
    }

    /// Checks the bookkeeping.
    pub(super) fn validate(&self) -> Result<(), String> {
        self.pool.validate()?;
        self.free.validate()
    }
}
