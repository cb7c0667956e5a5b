//! [`Plan`]: chunks as plain ranges, before they are written in a layout. Builds and updates begin
//! with one.

use crate::blocks::expansion::expand;
use fibula::parts::blocks::parallel::in_parallel;
use fibula::rib::Range;
use fibula::{Prefix, Rib};

/// The longest prefix whose chunks are planned on all cores.
const SHORT: u8 = 7;
/// The fewest routes for planning on all cores. With fewer, threads cost more than they save.
const MANY_ROUTES: usize = 1 << 16;

/// A range of one chunk: its begin, counted from the start of the chunk, and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlainRange {
    pub(super) base: u16,
    pub(super) next_hop: u32,
}

/// One chunk of several ranges, or neighbouring chunks that share one range.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// The index of the first chunk.
    pub(super) first: usize,
    /// The number of chunks: 1 unless there is only one range.
    pub(super) chunks: usize,
    /// The index in the plan of its first range.
    start: usize,
    /// The number of its ranges.
    pub(super) len: usize,
    /// Whether every base is a multiple of 256.
    pub(super) aligned: bool,
    /// The greatest next hop among its ranges.
    pub(super) max_next_hop: u32,
}

/// The chunks of some prefixes, in order, as runs of ranges.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) runs: Vec<Run>,
    ranges: Vec<PlainRange>,
}

impl Plan {
    /// Plans the chunks of 2^(32 - `k`) addresses that `prefixes` touch, each once. One sweep over
    /// the routes of a prefix is enough, however many chunks it covers. Short prefixes are split
    /// and swept on all cores.
    pub(super) fn of(rib: &Rib<u32>, prefixes: impl Iterator<Item = Prefix<u32>>, k: u8) -> Self {
        let widened = prefixes.map(|prefix| Prefix::containing(prefix.first(), prefix.len().min(k)));
        let prefixes = Prefix::outermost(widened);
        let of_each = |prefixes: &[Prefix<u32>]| {
            let mut plan = Self::default();
            for range in prefixes.iter().flat_map(|&prefix| rib.ranges_within(prefix)) {
                plan.add(range, u32::BITS - u32::from(k));
            }
            plan
        };
        if rib.len() < MANY_ROUTES || prefixes.iter().all(|prefix| prefix.len() > SHORT) {
            return of_each(&prefixes);
        }
        let parts: Vec<Prefix<u32>> = prefixes
            .into_iter()
            .flat_map(|prefix| expand(prefix, if prefix.len() > SHORT { prefix.len() } else { SHORT + 1 }))
            .collect();
        let plans = in_parallel(&parts, |&part| of_each(&[part]));
        plans.into_iter().fold(Self::default(), Self::followed_by)
    }

    /// Returns this plan followed by `next`, whose chunks come after its own.
    fn followed_by(mut self, next: Self) -> Self {
        let start = self.ranges.len();
        self.runs.extend(next.runs.into_iter().map(|run| Run { start: start + run.start, ..run }));
        self.ranges.extend(next.ranges);
        self
    }

    /// Returns the ranges of a run.
    pub(super) fn ranges(&self, run: &Run) -> &[PlainRange] {
        &self.ranges[run.start..run.start + run.len]
    }

    /// Adds a range, cut at the borders of chunks of 2^`offset_bits` addresses.
    fn add(&mut self, range: Range<u32>, offset_bits: u32) {
        let next_hop = range.next_hop.0;
        let (mut first, end) = (u64::from(range.first), u64::from(range.last) + 1);
        let offset = first & ((1 << offset_bits) - 1);
        if offset != 0 {
            self.extend(PlainRange { base: offset as u16, next_hop });
            first += (1 << offset_bits) - offset;
        }
        let whole = end.saturating_sub(first) >> offset_bits;
        if whole > 0 {
            self.begin((first >> offset_bits) as usize, whole as usize, next_hop);
            first += whole << offset_bits;
        }
        if first < end {
            self.begin((first >> offset_bits) as usize, 1, next_hop);
        }
    }

    fn begin(&mut self, first: usize, chunks: usize, next_hop: u32) {
        let start = self.ranges.len();
        self.runs.push(Run { first, chunks, start, len: 1, aligned: true, max_next_hop: next_hop });
        self.ranges.push(PlainRange { base: 0, next_hop });
    }

    /// Adds a range to the last chunk. It belongs there, because ranges come in order and leave no
    /// gap.
    fn extend(&mut self, range: PlainRange) {
        let run = self.runs.last_mut().expect("a prefix begins at the start of a chunk");
        run.len += 1;
        run.aligned &= range.base.is_multiple_of(256);
        run.max_next_hop = run.max_next_hop.max(range.next_hop);
        self.ranges.push(range);
    }
}
