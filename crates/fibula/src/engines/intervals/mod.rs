//! `intervals`: the address intervals of a table, sorted; for tables of a few routes.
//!
//! Lampson, Srinivasan, Varghese, IP Lookups using Multiway and Multicolumn Search, INFOCOM 1998: a
//! table of *n* routes divides the addresses into at most 2 *n* + 1 intervals of one answer. A
//! binary search finds the interval of an address.
//!
//! ```text
//!  starts    A        A        A       ascending; the first is the first address
//!  answers   W        W        W       the answer from that start up to the next
//!  guide     u16  u16  u16  u16  u16   by the next bits: the interval where a search begins
//! ```
//! So a table takes 7 to 12 bytes an interval for IPv4 and 19 to 24 for IPv6, where the engines of
//! full tables begin with a root of some hundred kilobytes.
//!
//! # Worked example
//! 10.0.0.0/8 -> 1 and 10.1.0.0/16 -> 2 are five intervals, which start at 0.0.0.0 -> none,
//! 10.0.0.0 -> 1, 10.1.0.0 -> 2, 10.2.0.0 -> 1 and 11.0.0.0 -> none. Three steps of halving find
//! 10.1.2.3 in the third. A guide would have slots by the three bits from bit 7 on, in which the
//! starts from the second on differ first: slot 0, 10.0.0.0 up to 10.63.255.255, begins at the
//! second interval, and the next slot at the fourth. That saves one step of the three, so there is
//! none.
//!
//! # What differs from the paper
//! - Where it saves steps, a [`Guide`] of as many slots as intervals says where a search begins.
//!   All searches take as many steps as that of the fullest slot. The paper's first 16 bits are
//!   such an index of 2^16 slots, whatever the table.
//! - Batches search for [`LANES`] addresses in step: each search waits for its own loads, not for
//!   those of others. All halve the same number of intervals at every step, so none ends before
//!   another. Up to [`COUNTED_MOST`] intervals a search is a count: how many start at or before the
//!   address. The compiler makes vector code of it.
//! - A change of one route replaces the intervals within its prefix, and moves those after them.
//!   That is O(n), at the speed of a copy. The paper builds again.

mod guide;

use crate::arch::{Isa, Sets};
use crate::engine::{
    About, Config, Cost, Engine, Estimate, Level, Lookup, Meter, Persist, Persistence, Survey, Unmetered,
    Update, Updates, Width,
};
use crate::memory::{Array, Memory};
use crate::sections::{SectionWriter, Sections, unsound};
use crate::{Address, Delta, Error, Family, Rib};
use guide::Guide;
use std::hint::select_unpredictable;
use std::ops::Range;

/// The number of searches in step.
const LANES: usize = 16;

/// The most intervals that are counted one after the other.
const COUNTED_MOST: usize = 16;

/// The most routes of a batch that are changed one by one: each moves all intervals after it. For
/// more, all intervals are written once.
const ONE_BY_ONE_MOST: usize = 16;

/// What the tools print about the engine.
pub(crate) const ABOUT: About = About {
    name: "intervals",
    paper: "Lampson, Srinivasan, Varghese, IP Lookups using Multiway and Multicolumn Search, INFOCOM 1998",
    year: 1998,
    updates: Updates::InPlace,
    estimate,
    ..About::DEFAULT
};

/// The most routes of a table for which `best` may take this engine: a change costs O(n).
const ROUTES_MOST: usize = 1 << 14;

/// The most bytes of a route: two intervals.
const BYTES_ROUTE: usize = 40;

/// Estimates the cost for a table that is not too large.
fn estimate(survey: &Survey<'_>, _: Level) -> Estimate {
    match survey.routes() {
        routes if routes > ROUTES_MOST => Estimate::UNKNOWN,
        routes => estimate_of(survey.family(), routes),
    }
}

/// Estimates a count or a search. IPv6 addresses are compared one by one, so that already for a few
/// routes the engines that compare the numbers of a line are faster.
pub(super) fn estimate_of(family: Family, routes: usize) -> Estimate {
    let intervals = 2 * routes + 1;
    let ns = match family {
        Family::Ipv4 if intervals <= COUNTED_MOST => 0.21 * intervals as f32,
        Family::Ipv4 => 1.0 + 0.6 * (intervals as f32).log2(),
        Family::Ipv6 => 3.0 * (intervals as f32).log2().max(1.0) - 1.7,
    };
    Estimate { ns, bytes: routes * BYTES_ROUTE }
}

/// The sorted intervals; see the [module page](self). There is at least one.
#[derive(Clone, Debug)]
pub(crate) struct Intervals<A: Copy, W: Copy> {
    starts: Array<A>,
    answers: Array<W>,
    guide: Guide<A>,
}

impl<A: Address, W: Width> Intervals<A, W> {
    /// Returns the index of the interval of an address.
    #[inline(always)]
    fn find<M: Meter>(&self, address: A, meter: &mut M) -> usize {
        let last = self.starts.len() - 1;
        let (mut at, mut half) = (self.guide.begin(address, meter), self.guide.among() / 2);
        while half > 0 {
            let middle = (at + half).min(last);
            at = select_unpredictable(meter.load(&self.starts[middle]) <= address, middle, at);
            half /= 2;
        }
        at
    }

    /// Finds the intervals of `LANES` addresses in step.
    #[inline(always)]
    fn find_all(&self, addresses: &[A; LANES]) -> [u32; LANES] {
        let starts = &*self.starts;
        let mut found = [0_u32; LANES];
        if starts.len() <= COUNTED_MOST {
            for &start in &starts[1..] {
                for (found, &address) in found.iter_mut().zip(addresses) {
                    *found += u32::from(start <= address);
                }
            }
            return found;
        }
        for (found, &address) in found.iter_mut().zip(addresses) {
            *found = self.guide.begin(address, &mut Unmetered) as u32;
        }
        let (last, mut half) = (starts.len() as u32 - 1, self.guide.among() as u32 / 2);
        while half > 0 {
            for (found, &address) in found.iter_mut().zip(addresses) {
                let middle = (*found + half).min(last);
                *found = select_unpredictable(starts[middle as usize] <= address, middle, *found);
            }
            half /= 2;
        }
        found
    }

    /// Writes all intervals of a table.
    fn fill(&mut self, rib: &Rib<A>) {
        self.starts.truncate(0);
        self.answers.truncate(0);
        for range in rib.ranges() {
            self.starts.push(range.first);
            self.answers.push(W::narrow(range.next_hop));
        }
        self.starts.shrink_to_fit();
        self.answers.shrink_to_fit();
        self.guide.fill(&self.starts);
    }

    /// Replaces the intervals within the prefix of a delta. Returns how many it wrote.
    fn replace(&mut self, rib: &Rib<A>, delta: &Delta<A>) -> usize {
        let (first, last) = (delta.prefix.first(), delta.prefix.last());
        let begin = self.starts.partition_point(|&start| start < first);
        let end = begin + self.starts[begin..].partition_point(|&start| start <= last);
        // What comes after the prefix, if nothing starts there yet.
        let after = last.next().filter(|after| self.starts.get(end) != Some(after));
        let after = after.map(|after| (after, self.answers[end.max(1) - 1]));
        let within = rib.ranges_within(delta.prefix);
        let within = within.map(|range| (range.first.max(first), W::narrow(range.next_hop)));
        let mut answer = begin.checked_sub(1).map(|before| self.answers[before]);
        let mut made: Vec<(A, W)> = Vec::new();
        for (start, next) in within.chain(after) {
            if answer != Some(next) {
                made.push((start, next));
                answer = Some(next);
            }
        }
        // The next interval is one with the last of these if their answers are equal.
        let end = end + usize::from(self.answers.get(end).copied() == answer && end < self.answers.len());
        let (starts, answers): (Vec<A>, Vec<W>) = made.into_iter().unzip();
        let before = self.starts.len();
        splice(&mut self.starts, begin..end, &starts);
        splice(&mut self.answers, begin..end, &answers);
        // A start after the prefix may be new or gone.
        self.guide.follow(&self.starts, before, first, last.next().unwrap_or(last));
        starts.len()
    }
}

/// Replaces some elements of an array by others. O(elements after them).
fn splice<T: Copy + Default>(array: &mut Array<T>, replaced: Range<usize>, by: &[T]) {
    let (len, after) = (array.len(), replaced.start + by.len());
    let new = len - replaced.len() + by.len();
    array.resize(len.max(new), T::default());
    array.copy_within(replaced.end..len, after);
    array[replaced.start..after].copy_from_slice(by);
    array.truncate(new);
}

/// Returns room to the system that is more than a sixteenth of the elements.
fn trim<T: Copy>(array: &mut Array<T>) {
    let most = array.len() + array.len() / 16;
    if array.capacity() > most {
        array.set_capacity(most);
    }
}

impl<A: Address, W: Width> Lookup<A> for Intervals<A, W> {
    type Width = W;
    const SETS: Sets = Sets::Baseline;

    fn lookup_metered<M: Meter>(&self, address: A, meter: &mut M) -> W {
        let at = self.find(address, meter);
        meter.load(&self.answers[at])
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, _: I, addresses: &[A], next_hops: &mut [W]) {
        let answers = &*self.answers;
        let (blocks, rest) = addresses.as_chunks::<LANES>();
        let (found, rest_found) = next_hops.as_chunks_mut::<LANES>();
        for (addresses, next_hops) in blocks.iter().zip(found) {
            let found = self.find_all(addresses);
            for (next_hop, at) in next_hops.iter_mut().zip(found) {
                *next_hop = answers[at as usize];
            }
        }
        for (&address, next_hop) in rest.iter().zip(rest_found) {
            *next_hop = answers[self.find(address, &mut Unmetered)];
        }
    }
}

impl<A: Address, W: Width> Engine<A> for Intervals<A, W> {
    type View = Self;

    fn build(rib: &Rib<A>, config: &Config) -> Result<Self, Error> {
        let mut intervals = Self {
            starts: Array::new(config.pages),
            answers: Array::new(config.pages),
            guide: Guide::of(&[], config.pages),
        };
        intervals.fill(rib);
        Ok(intervals)
    }

    fn view(&self) -> &Self {
        self
    }

    fn copied(&self) -> Option<Self> {
        Some(self.clone())
    }

    fn apply(&mut self, rib: &Rib<A>, deltas: &[Delta<A>]) -> Update {
        let written = if deltas.len() > ONE_BY_ONE_MOST {
            self.fill(rib);
            self.starts.len()
        } else {
            deltas.iter().map(|delta| self.replace(rib, delta)).sum()
        };
        trim(&mut self.starts);
        trim(&mut self.answers);
        Update::Applied(Cost { entries_set: written as u64, ..Cost::default() })
    }

    fn memory(&self) -> Memory {
        Memory::new()
            .off_chip("starts", self.starts.bytes())
            .off_chip("answers", self.answers.bytes())
            .off_chip("guide", self.guide.bytes())
    }

    fn validate(&self, rib: &Rib<A>) -> Result<(), String> {
        let kept = self.starts.iter().copied().zip(self.answers.iter().copied());
        let right = rib.ranges().map(|range| (range.first, W::narrow(range.next_hop)));
        if self.starts.len() != self.answers.len() || !kept.eq(right) {
            return Err(format!("{} intervals, which are not those of the table", self.starts.len()));
        }
        let misled = self.starts.iter().enumerate().find(|&(at, &start)| {
            let before = start.previous().map_or(at, |before| self.find(before, &mut Unmetered) + 1);
            self.find(start, &mut Unmetered) != at || before != at
        });
        misled.map_or(Ok(()), |(at, start)| Err(format!("a search at {start:?} does not find interval {at}")))
    }

    fn persistence() -> Option<Persistence<Self, A>> {
        Some(Persistence::of_engine())
    }
}

/// The names of the sections.
const STARTS: &str = "starts";
const ANSWERS: &str = "answers";

impl<A: Address, W: Width> Persist<A> for Intervals<A, W> {
    fn save<'s>(&'s self, sections: &mut SectionWriter<'s>) {
        sections.array(STARTS, &self.starts);
        sections.array(ANSWERS, &self.answers);
    }

    fn open(sections: &Sections<'_>, config: &Config) -> Result<Self, Error> {
        let starts: Array<A> = sections.array(STARTS)?;
        if starts.is_empty() {
            return Err(unsound(STARTS, "is empty"));
        }
        let answers = sections.array_of(ANSWERS, starts.len())?;
        let guide = Guide::of(&starts, config.pages);
        Ok(Self { starts, answers, guide })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Accesses;
    use crate::testing::{apply, rib};
    use crate::{NextHop, Prefix};

    fn starts(engine: &Intervals<u32, u8>) -> Vec<(String, u8)> {
        let starts = engine.starts.iter().map(|start| start.to_ip().to_string());
        starts.zip(engine.answers.iter().copied()).collect()
    }

    #[test]
    fn the_worked_example() {
        let rib = rib::<u32>(&[("10.0.0.0/8", 1), ("10.1.0.0/16", 2)]);
        let engine: Intervals<u32, u8> = Intervals::build(&rib, &Config::default()).unwrap();
        let expected = [("0.0.0.0", 0), ("10.0.0.0", 1), ("10.1.0.0", 2), ("10.2.0.0", 1), ("11.0.0.0", 0)];
        assert_eq!(starts(&engine), expected.map(|(start, answer)| (start.to_owned(), answer)));
        let mut accesses = Accesses::default();
        assert_eq!(engine.lookup_metered(0x0A01_0203, &mut accesses), 2);
        assert!(accesses.loads() <= 4, "{accesses:?}");
    }

    #[test]
    fn a_change_joins_and_divides_intervals() {
        let mut rib = rib::<u32>(&[("10.0.0.0/8", 1)]);
        let mut engine: Intervals<u32, u8> = Intervals::build(&rib, &Config::default()).unwrap();
        for (prefix, next_hop, intervals) in [
            ("10.1.0.0/16", 2, 5),
            ("0.0.0.0/0", 1, 3),
            ("10.1.0.0/16", 1, 1),
            ("255.255.255.255/32", 3, 2),
            ("0.0.0.0/32", 4, 3),
            ("0.0.0.0/0", 0, 5),
            ("10.0.0.0/8", 0, 5),
            ("10.1.0.0/16", 0, 3),
        ] {
            apply(&mut engine, &mut rib, &[(prefix, next_hop)]);
            assert_eq!(engine.starts.len(), intervals, "{prefix}");
        }
    }

    #[test]
    fn many_changes_at_once_write_all_intervals() {
        let mut rib: Rib<u32> = Rib::new();
        let mut engine: Intervals<u32, u8> = Intervals::build(&rib, &Config::default()).unwrap();
        let deltas: Vec<_> = (0..17).filter_map(|at| rib.insert(Prefix::host(at << 8), NextHop(1))).collect();
        let cost = Cost { entries_set: 34, ..Cost::default() };
        assert_eq!(engine.apply(&rib, &deltas), Update::Applied(cost));
        engine.validate(&rib).unwrap();
    }
}
