//! [`Table`]: the direct table and the range tables of one layout, and how a plan is written into
//! them.

use super::layout::{
    Chunk, LONG_BASE_BITS, Layout, Place, SHORT_BASE_BITS, Slot, Word, direct_entry, next_hop_max,
    plain_range, range_entry, shorts_log2, slot,
};
use super::plan::{PlainRange, Plan, Run};
use fibula::parts::blocks::chunks::Pool;
use fibula::parts::memory::{Array, Pages};
use zerocopy::{FromBytes, IntoBytes};

/// The greatest base-two logarithm of a granule: bases and sizes count 1, 2, 4 or 8 ranges (section
/// 3.2).
pub(super) const GRANULE_LOG2_MAX: u32 = 3;

/// Why short ranges fill an array of long ones.
const IN_WORDS: &str = "a long range has the bytes of whole short ones";

/// The name of a range table's elements in limit errors.
pub(super) const RANGES: &str = "ranges";

/// A `1 / HEADROOM` part of a range table is left free when a layout is chosen. Otherwise each of
/// the next updates could rebuild a table near its limit.
pub(super) const HEADROOM: u64 = 32;

/// A compiled table of one layout.
#[derive(Debug)]
pub(super) struct Table<L: Layout> {
    pub(super) k: u8,
    pub(super) granule_log2: u32,
    pub(super) pages: Pages,
    pub(super) direct: Array<L::Direct>,
    /// Empty where there is [one table](Layout::ONE_TABLE).
    pub(super) short: Pool<L::Short>,
    pub(super) long: Pool<L::Long>,
}

/// The number of elements in each of the two range tables, padding included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Amount {
    pub(super) short: u64,
    pub(super) long: u64,
}

impl Amount {
    pub(super) fn add(&mut self, place: Place) {
        *(if place.long { &mut self.long } else { &mut self.short }) += place.len as u64;
    }
}

/// Returns the ranges that a plan needs in this layout, or `None` if an entry cannot hold it.
pub(super) fn needed<L: Layout>(plan: &Plan, granule_log2: u32) -> Option<Amount> {
    let mut amount = Amount::default();
    for run in &plan.runs {
        if u64::from(run.max_next_hop) > L::NEXT_HOP_MAX {
            return None;
        }
        if run.len > 1 {
            let (long, len) = shape::<L>(run, granule_log2);
            if (len >> granule_log2) as u64 > L::SIZE_MAX {
                return None;
            }
            amount.add(Chunk { long, start: 0, len }.place::<L>());
        }
    }
    Some(amount)
}

/// Returns the most elements, padding included, that one range table of this layout holds.
pub(super) const fn capacity<L: Layout>(granule_log2: u32) -> u64 {
    L::BASE_MAX << granule_log2
}

/// Returns the bytes of a fresh table for a plan, or `None` if this layout cannot hold it with room
/// to grow.
pub(super) fn bytes<L: Layout>(plan: &Plan, k: u8, granule_log2: u32) -> Option<u64> {
    let Amount { short, long } = needed::<L>(plan, granule_log2)?;
    let most = capacity::<L>(granule_log2);
    if short.max(long) > most - most / HEADROOM {
        return None;
    }
    let size = |bits: u32| u64::from(bits / 8);
    Some((size(L::Direct::BITS) << k) + short * size(L::Short::BITS) + long * size(L::Long::BITS))
}

/// Returns the format and the padded length of a run of several ranges. The format is short if
/// every base is a multiple of 256 and every next hop fits beside 8 bits of base.
pub(super) fn shape<L: Layout>(run: &Run, granule_log2: u32) -> (bool, usize) {
    let short = run.aligned && u64::from(run.max_next_hop) <= next_hop_max::<L::Short>(SHORT_BASE_BITS);
    // Bases count granules of words. Without granules, a last word may be half used.
    let padded = if granule_log2 == 0 { 0 } else { granule_log2 + shorts_log2::<L>(!short) };
    (!short, run.len.next_multiple_of(1 << padded))
}

/// Writes ranges as entries. The padding repeats the last range, which does not change any search.
fn write<T: Word>(base_bits: u32, ranges: &[PlainRange], entries: &mut [T]) {
    let last = ranges[ranges.len() - 1];
    for (index, entry) in entries.iter_mut().enumerate() {
        *entry = range_entry(base_bits, *ranges.get(index).unwrap_or(&last));
    }
}

impl<L: Layout> Table<L> {
    /// Compiles a plan of the whole address space. [`bytes`] must have found that it fits.
    pub(super) fn build(plan: &Plan, k: u8, granule_log2: u32, pages: Pages) -> Self {
        let amount = needed::<L>(plan, granule_log2).expect("the plan has been found to fit");
        let mut table = Self {
            k,
            granule_log2,
            pages,
            direct: Array::zeroed(1 << k, pages),
            short: in_one_piece(amount.short, amount.short, pages),
            long: in_one_piece(amount.long, amount.long, pages),
        };
        let mut written = Amount::default();
        for run in &plan.runs {
            let (long, len) = shape::<L>(run, granule_log2);
            let place = Chunk { long, start: 0, len }.place::<L>();
            let start = if place.long { written.long } else { written.short };
            if run.len > 1 {
                written.add(place);
            }
            table.place(plan, run, (start as usize) << shorts_log2::<L>(long));
        }
        table
    }

    /// Points a run's chunks at its one answer, or at its ranges, which are written from `start`
    /// on.
    pub(super) fn place(&mut self, plan: &Plan, run: &Run, start: usize) {
        let slot = if run.len == 1 {
            Slot::NextHop(run.max_next_hop)
        } else {
            let (long, len) = shape::<L>(run, self.granule_log2);
            let chunk = Chunk { long, start, len };
            self.write(chunk, plan.ranges(run));
            Slot::Chunk(chunk)
        };
        self.direct[run.first..run.first + run.chunks].fill(direct_entry::<L>(self.granule_log2, slot));
    }

    /// Writes `ranges` into the space of `chunk`.
    pub(super) fn write(&mut self, chunk: Chunk, ranges: &[PlainRange]) {
        let place = chunk.start..chunk.start + chunk.len;
        if chunk.long {
            write::<L::Long>(LONG_BASE_BITS, ranges, &mut self.long[place]);
        } else {
            write::<L::Short>(SHORT_BASE_BITS, ranges, &mut self.short_ranges_mut()[place]);
        }
    }

    /// Returns all short ranges.
    #[inline(always)]
    pub(super) fn short_ranges(&self) -> &[L::Short] {
        if L::ONE_TABLE {
            <[L::Short]>::ref_from_bytes(self.long[..].as_bytes()).expect(IN_WORDS)
        } else {
            &self.short
        }
    }

    fn short_ranges_mut(&mut self) -> &mut [L::Short] {
        if L::ONE_TABLE {
            <[L::Short]>::mut_from_bytes(self.long[..].as_mut_bytes()).expect(IN_WORDS)
        } else {
            &mut self.short
        }
    }

    /// Returns the slot of the direct entry at `index`.
    #[inline(always)]
    pub(super) fn slot(&self, index: usize) -> Slot {
        slot::<L>(self.granule_log2, self.direct[index])
    }

    /// Returns the ranges of a chunk, without padding.
    pub(super) fn ranges_of(&self, chunk: Chunk) -> Vec<PlainRange> {
        let place = chunk.start..chunk.start + chunk.len;
        let mut ranges: Vec<PlainRange> = if chunk.long {
            plain_ranges::<L::Long>(LONG_BASE_BITS, &self.long[place])
        } else {
            plain_ranges::<L::Short>(SHORT_BASE_BITS, &self.short_ranges()[place])
        };
        ranges.dedup();
        ranges
    }

    /// Returns the elements in use, without holes.
    pub(super) fn live(&self) -> Amount {
        Amount { short: live(&self.short) as u64, long: live(&self.long) as u64 }
    }
}

fn plain_ranges<T: Word>(base_bits: u32, entries: &[T]) -> Vec<PlainRange> {
    entries.iter().map(|&entry| plain_range(base_bits, entry)).collect()
}

/// Returns the elements of a pool that are not holes.
pub(super) fn live<T: Word>(pool: &Pool<T>) -> usize {
    pool.len() - pool.free_total()
}

/// Returns a pool whose first `len` elements are allocated as one run, with memory for `most`. It
/// never grows by itself, so that growth stays within the bound of [`update`](super::update).
pub(super) fn in_one_piece<T: Word>(len: u64, most: u64, pages: Pages) -> Pool<T> {
    let mut pool = Pool::new(RANGES, most, pages);
    let start = pool.allocate(most as usize).expect("the limit is what is taken");
    pool.remove(start + len as usize, (most - len) as usize);
    pool
}
