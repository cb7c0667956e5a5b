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
//! So a table takes 8 to 10 bytes an interval for IPv4 and 20 to 24 for IPv6 (answers of fewer bits
//! are there to be asked for: a batch of indices has to turn them), where the engines of
//! full tables begin with a root of some hundred kilobytes.
//!
//! # Worked example
//! 10.0.0.0/8 -> 1 and 10.1.0.0/16 -> 2 are five intervals, which start at 0.0.0.0 -> none,
//! 10.0.0.0 -> 1, 10.1.0.0 -> 2, 10.2.0.0 -> 1 and 11.0.0.0 -> none. Three steps of halving find
//! 10.1.2.3 in the third. A guide would have slots by the three bits from bit 7 on, in which the
//! starts from the second on differ first: slot 0, 10.0.0.0 up to 10.63.255.255, begins at the
//! second interval, and the next slot at the fourth. It would save nothing: five starts are
//! compared at once.
//!
//! # What differs from the paper
//! - Where it saves steps, a [`Guide`] says where a search begins. All searches take as many steps
//!   as that of the fullest slot. The paper's first 16 bits are such an index of 2^16 slots,
//!   whatever the table.
//! - Among the last [sixteen intervals](Searched::COMPARED) a search for an IPv4 address is a count
//!   of the starts at or before it: one comparison of a vector. The guide has as many slots as let
//!   every search begin there, if they are not too many. Then a lookup is three loads, and waits
//!   for no jump: calls of eight addresses are as fast as calls of thousands.
//! - Other batches search for [`LANES`] addresses in step: each search waits for its own loads, not
//!   for those of others. All halve the same number of intervals at every step, so none ends before
//!   another. Up to [`COUNTED_MOST`] IPv6 intervals are counted, one after the other for all lanes.
//! - A change of one route replaces the intervals within its prefix, and moves those after them.
//!   That is O(n), at the speed of a copy. The paper builds again.

mod guide;
mod searched;

use crate::arch::{Isa, Scalar, Sets};
use crate::engine::{
    About, Config, Cost, Engine, Estimate, Level, Lookup, Meter, Persist, Persistence, Survey, Unmetered,
    Update, Updates, Width, WidthBits,
};
use crate::memory::{Array, Memory, Pages};
use crate::sections::{SectionWriter, Sections, unsound};
use crate::{Delta, Error, Family, Rib};
use guide::{Guide, Slots};
use searched::Searched;
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
    least_width: WidthBits::U32,
    estimate,
    ..About::DEFAULT
};

/// The most routes of a table for which `best` may take this engine: a change costs O(n).
const ROUTES_MOST: usize = 1 << 12;

/// The most bytes of a route: two intervals, and the slots of a guide.
const BYTES_IPV4: usize = 20;
const BYTES_IPV6: usize = 40;

/// Estimates the cost for a table that is not too large. O(n).
fn estimate(survey: &Survey<'_>, isa: Level) -> Estimate {
    if survey.routes() > ROUTES_MOST {
        return Estimate::UNKNOWN;
    }
    let estimate = estimate_of(survey.family(), survey.routes());
    let Some(rib) = survey.ipv4() else { return estimate };
    let starts: Vec<u32> = rib.ranges().map(|range| range.first).collect();
    let halvings = Guide::of(&starts, Pages::Small).halvings();
    let halving = if halvings > 0 { 1.0 + 0.6 * f32::from(halvings) } else { 0.0 };
    Estimate { ns: estimate.ns + halving, ..estimate }.on(isa, 2.5)
}

/// Estimates a search that a guide leads to its end, in IPv4. IPv6 addresses are compared one by
/// one, so that already for a few routes the engines that compare the numbers of a line are faster.
pub(super) fn estimate_of(family: Family, routes: usize) -> Estimate {
    let intervals = 2.0 * routes as f32 + 1.0;
    let ns = match family {
        // Of larger tables, starts and answers leave the first cache.
        Family::Ipv4 => 1.9 + 0.00005 * intervals,
        Family::Ipv6 => 3.0 * intervals.log2().max(1.0) - 1.7,
    };
    let bytes = match family {
        Family::Ipv4 => BYTES_IPV4,
        Family::Ipv6 => BYTES_IPV6,
    };
    Estimate { ns, bytes: routes * bytes }
}

/// The sorted intervals; see the [module page](self). There is at least one.
#[derive(Clone, Debug)]
pub(crate) struct Intervals<A: Copy, W: Copy> {
    /// The starts, and [as many more](Searched::COMPARED) as a comparison may read, which are the
    /// last address.
    starts: Array<A>,
    answers: Array<W>,
    guide: Guide<A>,
}

impl<A: Searched, W: Width> Intervals<A, W> {
    /// Returns the starts of the intervals.
    fn starts(&self) -> &[A] {
        &self.starts[..self.answers.len()]
    }

    /// Returns what a search reads, for the registers of a loop: a store of an answer might change
    /// what a reference leads to.
    #[inline(always)]
    fn search(&self) -> Search<'_, A> {
        Search { starts: &self.starts, last: self.answers.len() - 1, slots: self.guide.slots() }
    }

    #[inline(always)]
    fn find<I: Isa, M: Meter>(&self, isa: I, address: A, meter: &mut M) -> usize {
        self.search().find(isa, address, meter)
    }

    /// Writes all intervals of a table.
    fn fill(&mut self, rib: &Rib<A>) {
        self.starts.truncate(0);
        self.answers.truncate(0);
        for range in rib.ranges() {
            self.starts.push(range.first);
            self.answers.push(W::narrow(range.next_hop));
        }
        self.starts.resize(self.answers.len() + A::COMPARED, A::MAX);
        self.starts.shrink_to_fit();
        self.answers.shrink_to_fit();
        self.guide.fill(&self.starts[..self.answers.len()]);
    }

    /// Replaces the intervals within the prefix of a delta. Returns how many it wrote.
    fn replace(&mut self, rib: &Rib<A>, delta: &Delta<A>) -> usize {
        let (first, last) = (delta.prefix.first(), delta.prefix.last());
        let starts = self.starts();
        let begin = starts.partition_point(|&start| start < first);
        let end = begin + starts[begin..].partition_point(|&start| start <= last);
        // What comes after the prefix, if nothing starts there yet.
        let after = last.next().filter(|after| starts.get(end) != Some(after));
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
        let before = self.answers.len();
        splice(&mut self.starts, begin..end, &starts);
        splice(&mut self.answers, begin..end, &answers);
        // A start after the prefix may be new or gone.
        let kept = &self.starts[..self.answers.len()];
        self.guide.follow(kept, before, first, last.next().unwrap_or(last));
        starts.len()
    }
}

/// What a search reads.
#[derive(Clone, Copy)]
struct Search<'i, A> {
    /// The starts, and those behind the last one.
    starts: &'i [A],
    /// The last interval.
    last: usize,
    slots: Slots<'i, A>,
}

impl<A: Searched> Search<'_, A> {
    /// Returns the index of the interval of an address.
    #[inline(always)]
    fn find<I: Isa, M: Meter>(&self, isa: I, address: A, meter: &mut M) -> usize {
        let (mut at, mut half) = (self.slots.begin(address, meter), self.slots.among() / 2);
        while half >= A::COMPARED.max(1) {
            let middle = (at + half).min(self.last);
            at = select_unpredictable(meter.load(&self.starts[middle]) <= address, middle, at);
            half /= 2;
        }
        self.compare(isa, at, address, meter)
    }

    /// Returns the index of the interval of an address, at most a [comparison](Searched::COMPARED)
    /// after `at`.
    #[inline(always)]
    fn compare<I: Isa, M: Meter>(&self, isa: I, at: usize, address: A, meter: &mut M) -> usize {
        let compared = &self.starts[at + 1..at + 1 + A::COMPARED];
        // What is behind the last start is not above the last address.
        (at + A::count(isa, compared, address, meter)).min(self.last)
    }

    /// Finds the intervals of `LANES` addresses in step.
    #[inline(always)]
    fn find_all<I: Isa>(&self, isa: I, addresses: &[A; LANES]) -> [u32; LANES] {
        let mut found = [0_u32; LANES];
        if A::COMPARED == 0 && self.last < COUNTED_MOST {
            for &start in &self.starts[1..] {
                for (found, &address) in found.iter_mut().zip(addresses) {
                    *found += u32::from(start <= address);
                }
            }
            return found;
        }
        for (found, &address) in found.iter_mut().zip(addresses) {
            *found = self.slots.begin(address, &mut Unmetered) as u32;
        }
        let (last, mut half) = (self.last as u32, self.slots.among() as u32 / 2);
        while half as usize >= A::COMPARED.max(1) {
            for (found, &address) in found.iter_mut().zip(addresses) {
                let middle = (*found + half).min(last);
                *found = select_unpredictable(self.starts[middle as usize] <= address, middle, *found);
            }
            half /= 2;
        }
        for (found, &address) in found.iter_mut().zip(addresses) {
            *found = self.compare(isa, *found as usize, address, &mut Unmetered) as u32;
        }
        found
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

impl<A: Searched, W: Width> Lookup<A> for Intervals<A, W> {
    type Width = W;
    const SETS: Sets = A::SETS;
    const ON_BASELINE: bool = A::COMPARED == 0;

    #[inline(always)]
    fn lookup_metered<M: Meter>(&self, address: A, meter: &mut M) -> W {
        let at = self.find(Scalar, address, meter);
        meter.load(&self.answers[at])
    }

    #[inline(always)]
    fn lookup_on<I: Isa>(&self, isa: I, address: A) -> W {
        self.answers[self.find(isa, address, &mut Unmetered)]
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, isa: I, addresses: &[A], next_hops: &mut [W]) {
        let (search, answers) = (self.search(), &*self.answers);
        if A::COMPARED > 0 && search.slots.among() <= A::COMPARED {
            // What does not halve waits for nothing: the processor overlaps what follows.
            for (&address, next_hop) in addresses.iter().zip(next_hops) {
                let at = search.slots.begin(address, &mut Unmetered);
                *next_hop = answers[search.compare(isa, at, address, &mut Unmetered)];
            }
            return;
        }
        let (blocks, rest) = addresses.as_chunks::<LANES>();
        let (found, rest_found) = next_hops.as_chunks_mut::<LANES>();
        for (addresses, next_hops) in blocks.iter().zip(found) {
            let found = search.find_all(isa, addresses);
            for (next_hop, at) in next_hops.iter_mut().zip(found) {
                *next_hop = answers[at as usize];
            }
        }
        for (&address, next_hop) in rest.iter().zip(rest_found) {
            *next_hop = answers[search.find(isa, address, &mut Unmetered)];
        }
    }
}

impl<A: Searched, W: Width> Engine<A> for Intervals<A, W> {
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
            self.answers.len()
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
        let kept = self.starts().iter().copied().zip(self.answers.iter().copied());
        let right = rib.ranges().map(|range| (range.first, W::narrow(range.next_hop)));
        let behind = &self.starts[self.answers.len()..];
        if behind.len() != A::COMPARED || behind.iter().any(|&start| start != A::MAX) || !kept.eq(right) {
            return Err(format!("{} intervals, which are not those of the table", self.answers.len()));
        }
        let find = |address| self.find(Scalar, address, &mut Unmetered);
        let misled = self.starts().iter().enumerate().find(|&(at, &start)| {
            find(start) != at || start.previous().map_or(at, |before| find(before) + 1) != at
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

impl<A: Searched, W: Width> Persist<A> for Intervals<A, W> {
    fn save<'s>(&'s self, sections: &mut SectionWriter<'s>) {
        sections.array(STARTS, self.starts());
        sections.array(ANSWERS, &self.answers);
    }

    fn open(sections: &Sections<'_>, config: &Config) -> Result<Self, Error> {
        let mut starts: Array<A> = sections.array(STARTS)?;
        if starts.is_empty() {
            return Err(unsound(STARTS, "is empty"));
        }
        let answers = sections.array_of(ANSWERS, starts.len())?;
        let guide = Guide::of(&starts, config.pages);
        starts.resize(starts.len() + A::COMPARED, A::MAX);
        Ok(Self { starts, answers, guide })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Accesses;
    use crate::testing::{apply, rib};
    use crate::{Address, NextHop, Prefix};

    fn starts(engine: &Intervals<u32, u8>) -> Vec<(String, u8)> {
        let starts = engine.starts().iter().map(|start| start.to_ip().to_string());
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
        assert!(accesses.loads() <= 3, "{accesses:?}");
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
            assert_eq!(engine.starts().len(), intervals, "{prefix}");
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
