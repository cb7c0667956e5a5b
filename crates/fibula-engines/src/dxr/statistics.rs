//! [`Statistics`]: the figures of the paper's Tables 1 and 2.

use super::layout::{Layout, Slot};
use super::table::Table;
use fibula::engine::{Figure, Unmetered};

/// The most search steps of a lookup: a chunk has at most 2^16 ranges.
pub const SEARCH_STEPS_MAX: usize = 16;

/// The figures that Tables 1 and 2 of the paper give of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// The layout of the entries: `paper`, `wide ranges` or `wide`.
    pub layout: &'static str,
    /// The ranges that are one unit of bases and sizes (1, 2, 4 or 8). A chunk is padded to a
    /// multiple.
    pub granule: usize,
    /// The chunks that have ranges: the paper's "full chunks". The direct table answers for the
    /// others.
    pub full_chunks: usize,
    /// The full chunks of short ranges.
    pub short_chunks: usize,
    /// The ranges of short format, without padding.
    pub short_ranges: usize,
    /// The ranges of long format, without padding.
    pub long_ranges: usize,
    /// The ranges of the chunk that has most, without padding.
    pub largest_chunk: usize,
    /// The bytes of the direct table and of all ranges, with padding, without holes and unused
    /// memory.
    pub bytes: usize,
    /// The number of addresses before 224.0.0.0 by their steps of binary search. Index 0 counts
    /// those that the direct table answers. These are the shares of uniformly random unicast
    /// addresses (Table 2).
    pub addresses_by_search_steps: [u64; SEARCH_STEPS_MAX + 1],
}

impl Statistics {
    /// Returns the figures as a list.
    pub(super) fn figures(&self) -> Vec<Figure> {
        let mut figures = vec![
            Figure::count("full chunks", self.full_chunks),
            Figure::count("short chunks", self.short_chunks),
            Figure::count("short ranges", self.short_ranges),
            Figure::count("long ranges", self.long_ranges),
            Figure::count("ranges a granule", self.granule),
            Figure::count("bytes, unused memory left out", self.bytes),
        ];
        let met = (0..=SEARCH_STEPS_MAX).filter(|&steps| self.addresses_by_search_steps[steps] > 0);
        figures.extend(met.map(|steps| {
            Figure::new(
                format!("{steps} search steps, % of addresses"),
                self.percent_with_search_steps(steps),
            )
        }));
        figures
    }

    /// Returns the percentage of uniformly random unicast addresses that take exactly `steps`
    /// steps.
    #[must_use]
    pub fn percent_with_search_steps(&self, steps: usize) -> f64 {
        let all: u64 = self.addresses_by_search_steps.iter().sum();
        100.0 * self.addresses_by_search_steps.get(steps).map_or(0.0, |&count| count as f64) / all as f64
    }
}

impl<L: Layout> Table<L> {
    pub(super) fn statistics(&self) -> Statistics {
        let live = self.live();
        let ranges = live.short as usize * size_of::<L::Short>() + live.long as usize * size_of::<L::Long>();
        let mut statistics = Statistics {
            layout: L::NAME,
            granule: 1 << self.granule_log2,
            full_chunks: 0,
            short_chunks: 0,
            short_ranges: 0,
            long_ranges: 0,
            largest_chunk: 0,
            bytes: self.direct.len() * size_of::<L::Direct>() + ranges,
            addresses_by_search_steps: [0; SEARCH_STEPS_MAX + 1],
        };
        // 224.0.0.0 begins the last eighth of the address space.
        let unicast = self.direct.len() / 8 * 7;
        let addresses = 1 << (u32::BITS - u32::from(self.k));
        for index in 0..self.direct.len() {
            let Slot::Chunk(chunk) = self.slot(index) else {
                statistics.addresses_by_search_steps[0] += if index < unicast { addresses } else { 0 };
                continue;
            };
            let ranges = self.ranges_of(chunk);
            statistics.full_chunks += 1;
            statistics.largest_chunk = statistics.largest_chunk.max(ranges.len());
            if chunk.long {
                statistics.long_ranges += ranges.len();
            } else {
                statistics.short_chunks += 1;
                statistics.short_ranges += ranges.len();
            }
            let ends = ranges[1..].iter().map(|range| u64::from(range.base)).chain([addresses]);
            for (range, end) in ranges.iter().zip(ends).filter(|_| index < unicast) {
                let base = u64::from(range.base);
                let steps = self.search((index as u64 * addresses + base) as u32, &mut Unmetered).1;
                statistics.addresses_by_search_steps[steps as usize] += end - base;
            }
        }
        statistics
    }
}
