//! [`Guide`]: where in a sorted array to begin a search.

use super::searched::Searched;
use crate::engine::Meter;
use crate::memory::{Array, Pages};
use std::ops::Range;

/// The most intervals that a guide leads to.
const INTERVALS_MOST: usize = 1 << 16;

/// What reading a slot costs, in steps of halving.
const STEPS_SAVED: u8 = 3;

/// An index into sorted starts, by the bits in which they differ first.
///
/// Let the starts share their first `offset` bits, but for a few at both ends. The next `bits`
/// divide the addresses into slots. A slot has the number of the interval that its first address is
/// in, so an address is in that interval or in one of the few that start in the slot. There are as
/// many slots as make every search [end at once](Searched::COMPARED), up to about as many as
/// intervals. Where the starts are in few slots there is no guide, and a search halves all
/// intervals.
#[derive(Clone, Debug)]
pub(super) struct Guide<A: Copy> {
    /// The addresses that have slots. Those before are in the slot of the first, which begins at
    /// the first interval, those after in that of the last.
    first: A,
    last: A,
    /// The first address of the first slot, and how far what is behind it is shifted.
    origin: A,
    shift: u32,
    /// The steps of halving from the intervals of the fullest slot to one.
    steps: u8,
    /// One, of all addresses, if more would save too little, or if there are more intervals than
    /// [`INTERVALS_MOST`].
    slots: Array<u16>,
    /// The number of starts, and the steps, when the slots were last filled.
    filled: (usize, u8),
}

impl<A: Searched> Guide<A> {
    /// Leads to `starts`, which are in order. O(starts).
    pub(super) fn of(starts: &[A], pages: Pages) -> Self {
        let mut guide = Self {
            first: A::ZERO,
            last: A::ZERO,
            origin: A::ZERO,
            shift: 0,
            steps: 0,
            slots: Array::new(pages),
            filled: (0, 0),
        };
        guide.fill(starts);
        guide
    }

    /// Leads to other starts. O(starts).
    pub(super) fn fill(&mut self, starts: &[A]) {
        let all = halvings::<A>(steps(starts.len()));
        let is_led = starts.len() <= INTERVALS_MOST && saves::<A>(all, 0) && self.lead_all(starts, all);
        if !is_led {
            (self.first, self.last, self.origin, self.shift) = (A::ZERO, A::ZERO, A::ZERO, 0);
            self.slots.truncate(0);
            self.slots.push(0);
            self.steps = steps(starts.len());
        }
        self.slots.shrink_to_fit();
        self.filled = (starts.len(), self.steps);
    }

    /// Makes slots for starts, a search of which takes `all` halvings without. Returns whether they
    /// save enough.
    fn lead_all(&mut self, starts: &[A], all: u8) -> bool {
        let (first, last) = span(starts);
        let left = A::BITS - first.common_prefix_len(last).min(A::BITS - 1);
        let head = first & A::mask(A::BITS - left);
        // What is before has a slot by itself.
        (self.first, self.last) = (head.previous().unwrap_or(head), last);
        let bits = (usize::BITS - starts.len().leading_zeros()) as u8;
        let most = bits.min(16).min(left);
        for bits in bits.saturating_sub(steps(A::COMPARED)).clamp(1, most)..=most {
            self.shift = (left - bits).into();
            self.origin = address(head.to_u128().saturating_sub(1 << self.shift));
            self.steps = 0;
            self.slots.truncate(0);
            self.slots.resize(usize::from(head != A::ZERO) + (1 << bits), 0);
            self.lead(starts, 0..self.slots.len());
            if halvings::<A>(self.steps) == 0 {
                break;
            }
        }
        saves::<A>(all, halvings::<A>(self.steps))
    }

    /// Fills some slots.
    fn lead(&mut self, starts: &[A], slots: Range<usize>) {
        let (origin, shift) = (self.origin, self.shift);
        let first_of = |slot: usize| address(origin.to_u128() + ((slot as u128) << shift));
        let [lowest, highest] = [self.first, self.last].map(|end| self.slot(end));
        let slots = slots.start..slots.end.min(highest + 1);
        let mut at = starts.partition_point(|&start| start <= first_of(slots.start)).max(1) - 1;
        for slot in slots.clone() {
            let first: A = first_of(slot);
            while starts.get(at + 1).is_some_and(|&next| next <= first) {
                at += 1;
            }
            self.slots[slot] = if slot <= lowest { 0 } else { at as u16 };
        }
        // What is in the slot before them depends on where they begin.
        for slot in slots.start.saturating_sub(1)..slots.end {
            let next = if slot < highest { self.slots[slot + 1].into() } else { starts.len() - 1 };
            let among = next.saturating_sub(self.slots[slot].into()) + 1;
            self.steps = self.steps.max(steps(among));
        }
    }

    /// Follows a change of the starts from `first` to `last`; there were `before` of them. O(slots)
    /// at the speed of a copy, and O(starts) where all slots are filled.
    pub(super) fn follow(&mut self, starts: &[A], before: usize, first: A, last: A) {
        let (filled, steps_filled) = self.filled;
        if !(filled / 2..=filled * 2).contains(&starts.len()) || starts.len() > INTERVALS_MOST {
            return self.fill(starts);
        }
        if self.slots.len() == 1 {
            self.steps = steps(starts.len());
            return;
        }
        let [from, to] = [first, last].map(|address| self.slot(address));
        // Those after the change have moved, maybe backwards.
        let moved = starts.len().wrapping_sub(before) as u16;
        for slot in &mut self.slots[to + 1..] {
            *slot = slot.wrapping_add(moved);
        }
        self.lead(starts, from..to + 1);
        // Other slots may share them out. Else as many are what it takes from here on.
        if self.steps > steps_filled {
            self.fill(starts);
        }
    }

    fn slot(&self, address: A) -> usize {
        self.slots().of(address)
    }

    /// Returns what a search reads.
    #[inline(always)]
    pub(super) fn slots(&self) -> Slots<'_, A> {
        let Self { first, last, origin, shift, steps, .. } = *self;
        Slots { first, last, origin, shift, steps, begins: &self.slots }
    }

    /// Returns the steps of a search that halve.
    pub(super) fn halvings(&self) -> u8 {
        halvings::<A>(self.steps)
    }

    pub(super) fn bytes(&self) -> usize {
        self.slots.bytes()
    }
}

/// What a search reads of a guide.
#[derive(Clone, Copy)]
pub(super) struct Slots<'g, A> {
    first: A,
    last: A,
    origin: A,
    shift: u32,
    steps: u8,
    begins: &'g [u16],
}

impl<A: Searched> Slots<'_, A> {
    #[inline(always)]
    fn of(&self, address: A) -> usize {
        address.max(self.first).min(self.last).behind(self.origin, self.shift)
    }

    /// Returns the interval where the search for an address begins.
    #[inline(always)]
    pub(super) fn begin<M: Meter>(&self, address: A, meter: &mut M) -> usize {
        meter.load(&self.begins[self.of(address)]).into()
    }

    /// Returns the number of intervals, from the first on, that a search is among: a power of two.
    #[inline(always)]
    pub(super) fn among(&self) -> usize {
        1 << self.steps
    }
}

/// Returns the addresses that have slots: those that share the most bits, of starts but for as many
/// at each end as half a comparison finds. A default route and a network far from all others would
/// else have most slots. There are more starts than one.
fn span<A: Searched>(starts: &[A]) -> (A, A) {
    let few = (A::COMPARED / 2).min((starts.len() - 2) / 2);
    let ends = (0..=few).flat_map(|before| (0..=few).map(move |after| (before, after)));
    let ends = ends.map(|(before, after)| (starts[1 + before], starts[starts.len() - 1 - after]));
    // Of equal ones the last here: it leaves out the fewest.
    ends.rev().max_by_key(|(first, last)| first.common_prefix_len(*last)).expect("two ends")
}

/// Returns the address of a number, the last one if it is greater.
fn address<A: Searched>(number: u128) -> A {
    A::from_u128(number).unwrap_or(A::MAX)
}

/// Returns whether a guide that leaves some halvings saves what it costs. If it leaves none before
/// a comparison, a batch is a loop.
fn saves<A: Searched>(all: u8, left: u8) -> bool {
    left + STEPS_SAVED <= all || (A::COMPARED > 0 && left == 0 && all > 0)
}

/// Returns how many of some steps are halvings: those that no comparison does.
fn halvings<A: Searched>(all: u8) -> u8 {
    all.saturating_sub(steps(A::COMPARED))
}

/// Returns the steps of halving from `count` elements to one.
fn steps(count: usize) -> u8 {
    count.max(1).next_power_of_two().trailing_zeros() as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Unmetered;
    use std::collections::BTreeSet;

    /// Each address is at or after the beginning of its search, and not too far.
    fn check<A: Searched>(guide: &Guide<A>, starts: &[A]) {
        for &start in starts {
            for address in [Some(start), start.previous(), start.next(), Some(A::MAX)].into_iter().flatten() {
                let right = starts.partition_point(|&start| start <= address) - 1;
                let begin = guide.slots().begin(address, &mut Unmetered);
                assert!(
                    (begin..begin + guide.slots().among()).contains(&right),
                    "{address:?}: {right} from {begin}"
                );
            }
        }
    }

    #[test]
    fn a_search_begins_before_the_interval_and_not_far_from_it() {
        let spread: Vec<u32> = (0..100).map(|at| at << 25).collect();
        let guide = Guide::of(&spread, Pages::default());
        check(&guide, &spread);
        assert_eq!((guide.halvings(), guide.slots.len()), (0, 16), "eight in each");
        // A few far from all others leave them their slots.
        let far = [0, 1, 9 << 24].into_iter().chain((0..1000).map(|at| (10 << 24) + (at << 12)));
        let far: Vec<u32> = far.chain([172 << 24, 192 << 24]).collect();
        let guide = Guide::of(&far, Pages::default());
        check(&guide, &far);
        assert_eq!((guide.halvings(), guide.first, guide.last >> 24), (0, (10 << 24) - 1, 10));
        // Half of them in one slot.
        let crowded: BTreeSet<u32> = (0..100).map(|at| at << if at % 2 == 0 { 25 } else { 1 }).collect();
        let crowded: Vec<u32> = crowded.into_iter().collect();
        let guide = Guide::of(&crowded, Pages::default());
        check(&guide, &crowded);
        assert_eq!(guide.slots.len(), 1);
        let near: Vec<u128> = [0].into_iter().chain((0..100).map(|at| (0x2001_0DB8 << 96) + at)).collect();
        let guide = Guide::of(&near, Pages::default());
        check(&guide, &near);
        assert_eq!(guide.slots().among(), 2);
        for starts in [vec![0], vec![0, 1], vec![0, u32::MAX], vec![0, 1, u32::MAX]] {
            check(&Guide::of(&starts, Pages::default()), &starts);
        }
    }

    #[test]
    fn a_guide_follows_changes() {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut starts: Vec<u32> = vec![0];
        let mut guide = Guide::of(&starts, Pages::default());
        for _ in 0..5_000 {
            let start = (rng.u32(..) >> rng.u32(..20)).max(1);
            let before = starts.len();
            match starts.binary_search(&start) {
                Ok(at) => drop(starts.remove(at)),
                Err(at) => starts.insert(at, start),
            }
            guide.follow(&starts, before, start, start);
            check(&guide, &starts);
        }
    }
}
