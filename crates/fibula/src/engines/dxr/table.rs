//! [`Table`]: the direct table and the range tables of one layout, and how a plan becomes them.

use super::layout::{
    Chunk, LONG_BASE_BITS, Layout, SHORT_BASE_BITS, Slot, Word, direct_entry, next_hop_max, plain_range,
    range_entry, slot,
};
use super::plan::{PlainRange, Plan, Run};
use super::view::TableView;
use crate::blocks::chunks::SharedPool;
use crate::memory::{Pages, Published, Words};
use std::ops::Range;

/// The greatest base-two logarithm of a granule: bases and sizes count 1, 2, 4 or 8 ranges (section 3.2).
pub(super) const GRANULE_LOG2_MAX: u32 = 3;

/// What limits call the elements of a range table.
pub(super) const RANGES: &str = "ranges";

/// One part in so many of a range table is left free when a layout is chosen, so that a table near its limit
/// is not built anew by each of the next updates.
pub(super) const HEADROOM: u64 = 32;

/// A compiled table of one layout.
#[derive(Debug)]
pub(super) struct Table<L: Layout> {
    pub(super) k: u8,
    pub(super) granule_log2: u32,
    pub(super) pages: Pages,
    pub(super) direct: Words<L::Direct>,
    pub(super) short: SharedPool<L::Short>,
    pub(super) long: SharedPool<L::Long>,
}

/// How many ranges, padding included, stand in the two range tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Amount {
    pub(super) short: u64,
    pub(super) long: u64,
}

impl Amount {
    pub(super) fn add(&mut self, long: bool, len: usize) {
        *(if long { &mut self.long } else { &mut self.short }) += len as u64;
    }
}

/// What a plan needs in this layout, or `None` if an entry cannot hold it.
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
            amount.add(long, len);
        }
    }
    Some(amount)
}

/// The most ranges, padding included, that one range table of this layout holds.
pub(super) const fn capacity<L: Layout>(granule_log2: u32) -> u64 {
    L::BASE_MAX << granule_log2
}

/// The bytes of a fresh table for a plan, or `None` if this layout does not hold it with room to grow.
pub(super) fn bytes<L: Layout>(plan: &Plan, k: u8, granule_log2: u32) -> Option<u64> {
    let Amount { short, long } = needed::<L>(plan, granule_log2)?;
    let most = capacity::<L>(granule_log2);
    if short.max(long) > most - most / HEADROOM {
        return None;
    }
    let size = |bits: u32| u64::from(bits / 8);
    Some((size(L::Direct::BITS) << k) + short * size(L::Short::BITS) + long * size(L::Long::BITS))
}

/// The format and the padded length of a run of several ranges: short where every base is a multiple of 256
/// and every next hop fits beside 8 bits of base.
pub(super) fn shape<L: Layout>(run: &Run, granule_log2: u32) -> (bool, usize) {
    let short = run.aligned && u64::from(run.max_next_hop) <= next_hop_max::<L::Short>(SHORT_BASE_BITS);
    (!short, run.len.next_multiple_of(1 << granule_log2))
}

/// Writes ranges as entries; the padding repeats the last range, which no search can tell from it.
fn write<T: Word>(base_bits: u32, ranges: &[PlainRange], entries: &Words<T>, place: Range<usize>) {
    let last = ranges[ranges.len() - 1];
    for (index, entry) in entries.places(place).iter().enumerate() {
        range_entry::<T>(base_bits, *ranges.get(index).unwrap_or(&last)).store(entry);
    }
}

impl<L: Layout> Table<L> {
    /// Compiles a plan of the whole address space that [`bytes`] has found to fit.
    pub(super) fn build(plan: &Plan, k: u8, granule_log2: u32, pages: Pages) -> Self {
        let amount = needed::<L>(plan, granule_log2).expect("the plan has been found to fit");
        let table = Self {
            k,
            granule_log2,
            pages,
            direct: Words::zeroed(1 << k, pages),
            short: in_one_piece(amount.short, amount.short, pages),
            long: in_one_piece(amount.long, amount.long, pages),
        };
        let mut written = Amount::default();
        for run in &plan.runs {
            let (long, len) = shape::<L>(run, granule_log2);
            let start = if long { written.long } else { written.short };
            if run.len > 1 {
                written.add(long, len);
            }
            table.place(plan, run, start as usize);
        }
        table
    }

    /// Points a run's chunks at its one answer, or at its ranges, which are written from `start` on.
    pub(super) fn place(&self, plan: &Plan, run: &Run, start: usize) {
        let entry = self.written(plan, run, start);
        self.direct.fill(run.first..run.first + run.chunks, entry);
    }

    /// The direct entry of a run's chunks: its one answer, or its ranges, which are written from `start` on.
    pub(super) fn written(&self, plan: &Plan, run: &Run, start: usize) -> L::Direct {
        let slot = if run.len == 1 {
            Slot::NextHop(run.max_next_hop)
        } else {
            let (long, len) = shape::<L>(run, self.granule_log2);
            let chunk = Chunk { long, start, len };
            self.write(chunk, plan.ranges(run));
            Slot::Chunk(chunk)
        };
        direct_entry::<L>(self.granule_log2, slot)
    }

    /// Writes ranges into the place of a chunk.
    pub(super) fn write(&self, chunk: Chunk, ranges: &[PlainRange]) {
        let place = chunk.start..chunk.start + chunk.len;
        if chunk.long {
            write::<L::Long>(LONG_BASE_BITS, ranges, self.long.words(), place);
        } else {
            write::<L::Short>(SHORT_BASE_BITS, ranges, self.short.words(), place);
        }
    }

    /// What the direct table says of a chunk.
    #[inline(always)]
    pub(super) fn slot(&self, index: usize) -> Slot {
        slot::<L>(self.granule_log2, self.direct.get(index))
    }

    /// The ranges of a chunk, padding left out.
    pub(super) fn ranges_of(&self, chunk: Chunk) -> Vec<PlainRange> {
        let place = chunk.start..chunk.start + chunk.len;
        let mut ranges: Vec<PlainRange> = if chunk.long {
            plain_ranges::<L::Long>(LONG_BASE_BITS, &self.long[place])
        } else {
            plain_ranges::<L::Short>(SHORT_BASE_BITS, &self.short[place])
        };
        ranges.dedup();
        ranges
    }

    /// Returns what lookups read.
    pub(super) fn view(&self) -> TableView<L> {
        let (direct, short, long) = (self.direct.view(), self.short.view(), self.long.view());
        TableView { k: self.k, granule_log2: self.granule_log2, direct, short, long }
    }

    /// Makes `view` show what has moved.
    pub(super) fn show_in(&self, view: &mut TableView<L>) {
        self.short.show_in(&mut view.short);
        self.long.show_in(&mut view.long);
    }

    /// The ranges in use, holes left out.
    pub(super) fn live(&self) -> Amount {
        Amount { short: live(&self.short) as u64, long: live(&self.long) as u64 }
    }
}

fn plain_ranges<T: Word>(base_bits: u32, entries: &[Published<T>]) -> Vec<PlainRange> {
    entries.iter().map(|entry| plain_range(base_bits, T::load(entry))).collect()
}

/// The elements of a pool that are not holes.
pub(super) fn live<T: Word>(pool: &SharedPool<T>) -> usize {
    pool.len() - pool.free_total()
}

/// A pool whose first `len` elements are taken as one run, with memory for `most`: it never grows by itself,
/// so that growth stays under the bound of [`update`](super::update).
pub(super) fn in_one_piece<T: Word>(len: u64, most: u64, pages: Pages) -> SharedPool<T> {
    let mut pool = SharedPool::empty(RANGES, most, pages);
    let start = pool.allocate(most as usize).expect("the limit is what is taken");
    pool.remove(start + len as usize, (most - len) as usize);
    pool
}
