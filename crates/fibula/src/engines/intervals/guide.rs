//! [`Guide`]: where in a sorted array to begin a search.

use crate::Address;
use crate::engine::Meter;
use crate::memory::{Array, Pages};
use std::hint::select_unpredictable;
use std::ops::Range;

/// The most intervals that a guide leads to.
const INTERVALS_MOST: usize = 1 << 16;

/// What reading a slot costs, in steps of halving.
const STEPS_SAVED: u8 = 3;

/// An index into sorted starts, by the bits in which they differ first.
///
/// Let the starts share their first `offset` bits. The next `bits` divide the addresses into slots.
/// A slot has the number of the interval that its first address is in, so an address is in that
/// interval or in one of the few that start in the slot. There are about as many slots as
/// intervals: where the starts are spread evenly, a step or two of halving are left. Where they are
/// in few slots there is no guide, and a search halves all intervals.
#[derive(Clone, Debug)]
pub(super) struct Guide<A: Copy> {
    /// The addresses whose slots are right. Those before them are in the first interval, those
    /// after them in the last.
    first: A,
    last: A,
    offset: u8,
    bits: u8,
    /// The steps of halving that the fullest slot takes.
    steps: u8,
    /// Empty if they would save less than [`STEPS_SAVED`], or if there are more intervals than
    /// [`INTERVALS_MOST`].
    slots: Array<u16>,
    /// The number of starts when the slots were last filled.
    filled: usize,
}

impl<A: Address> Guide<A> {
    /// Leads to `starts`, which are in order. O(starts).
    pub(super) fn of(starts: &[A], pages: Pages) -> Self {
        let mut guide = Self {
            first: A::ZERO,
            last: A::MAX,
            offset: 0,
            bits: 0,
            steps: steps(starts.len()),
            slots: Array::new(pages),
            filled: 0,
        };
        guide.fill(starts);
        guide
    }

    /// Leads to other starts. O(starts).
    pub(super) fn fill(&mut self, starts: &[A]) {
        self.slots.truncate(0);
        self.steps = steps(starts.len());
        self.filled = starts.len();
        if !(2..=INTERVALS_MOST).contains(&starts.len()) {
            return;
        }
        (self.first, self.last) = (starts[1], starts[1].max(starts[starts.len() - 1]));
        self.offset = self.first.common_prefix_len(self.last).min(A::BITS - 1);
        let left = A::BITS - self.offset;
        self.bits = (usize::BITS - starts.len().leading_zeros()).min(16).min(u32::from(left)) as u8;
        self.slots.resize(1 << self.bits, 0);
        self.slots.shrink_to_fit();
        self.steps = 0;
        self.lead(starts, 0..1 << self.bits);
        if self.steps + STEPS_SAVED > steps(starts.len()) {
            self.steps = steps(starts.len());
            self.slots.truncate(0);
            self.slots.shrink_to_fit();
        }
    }

    /// Fills some slots.
    fn lead(&mut self, starts: &[A], slots: Range<usize>) {
        let head = self.first & A::mask(self.offset);
        let first_of = |slot| head | A::from_bits(slot as u64, self.offset, self.bits);
        let mut at = starts.partition_point(|&start| start <= first_of(slots.start)).max(1) - 1;
        let mut fullest = 1;
        for slot in slots.clone() {
            let first = first_of(slot);
            let before = at;
            while starts.get(at + 1).is_some_and(|&next| next <= first) {
                at += 1;
            }
            if slot > slots.start {
                fullest = fullest.max(at - before + 1);
            }
            self.slots[slot] = at as u16;
        }
        // Those of the last slot, and of the one before the first.
        let next = self.slots.get(slots.end).map_or(starts.len() - 1, |&next| usize::from(next));
        fullest = fullest.max(next.saturating_sub(at) + 1);
        if let Some(before) = slots.start.checked_sub(1) {
            let (before, first) = (self.slots[before], self.slots[slots.start]);
            fullest = fullest.max(usize::from(first.saturating_sub(before)) + 1);
        }
        self.steps = self.steps.max(steps(fullest));
    }

    /// Follows a change of the starts from `first` to `last`; there were `before` of them. O(slots)
    /// at the speed of a copy, and O(starts) where all slots are filled.
    pub(super) fn follow(&mut self, starts: &[A], before: usize, first: A, last: A) {
        let is_another = !(self.filled / 2..=self.filled * 2).contains(&starts.len());
        if self.slots.is_empty() && !is_another {
            self.steps = steps(starts.len());
            return;
        }
        let fits = starts.len() <= INTERVALS_MOST
            && starts.get(1).is_some_and(|&second| self.first <= second)
            && starts.last().is_some_and(|&end| end <= self.last);
        if is_another || !fits {
            return self.fill(starts);
        }
        let [from, to] = [first, last].map(|address| self.slot(address.max(self.first)));
        // Those after the change have moved, maybe backwards.
        let moved = starts.len().wrapping_sub(before) as u16;
        for slot in &mut self.slots[to + 1..] {
            *slot = slot.wrapping_add(moved);
        }
        self.lead(starts, from..to + 1);
    }

    #[inline(always)]
    fn slot(&self, address: A) -> usize {
        address.min(self.last).bits(self.offset, self.bits) as usize
    }

    /// Returns the interval where the search for an address begins.
    #[inline(always)]
    pub(super) fn begin<M: Meter>(&self, address: A, meter: &mut M) -> usize {
        if self.slots.is_empty() {
            return 0;
        }
        let slot = usize::from(meter.load(&self.slots[self.slot(address)]));
        select_unpredictable(address < self.first, 0, slot)
    }

    /// Returns the number of intervals, from the first on, that a search is among: a power of two.
    #[inline(always)]
    pub(super) fn among(&self) -> usize {
        1 << self.steps
    }

    pub(super) fn bytes(&self) -> usize {
        self.slots.bytes()
    }
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
    fn check<A: Address>(guide: &Guide<A>, starts: &[A]) {
        for &start in starts {
            for address in [Some(start), start.previous(), start.next(), Some(A::MAX)].into_iter().flatten() {
                let right = starts.partition_point(|&start| start <= address) - 1;
                let begin = guide.begin(address, &mut Unmetered);
                assert!((begin..begin + guide.among()).contains(&right), "{address:?}: {right} from {begin}");
            }
        }
    }

    #[test]
    fn a_search_begins_before_the_interval_and_not_far_from_it() {
        let spread: Vec<u32> = (0..100).map(|at| at << 25).collect();
        let guide = Guide::of(&spread, Pages::default());
        check(&guide, &spread);
        assert_eq!(guide.among(), 2);
        // Half of them in one slot.
        let crowded: BTreeSet<u32> = (0..100).map(|at| at << if at % 2 == 0 { 25 } else { 1 }).collect();
        let crowded: Vec<u32> = crowded.into_iter().collect();
        let guide = Guide::of(&crowded, Pages::default());
        check(&guide, &crowded);
        assert_eq!(guide.bytes(), 0);
        let near: Vec<u128> = [0].into_iter().chain((0..100).map(|at| (0x2001_0DB8 << 96) + at)).collect();
        let guide = Guide::of(&near, Pages::default());
        check(&guide, &near);
        assert_eq!(guide.among(), 2);
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
