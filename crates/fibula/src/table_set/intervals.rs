//! [`Intervals`]: a small table as its address intervals.

use crate::{Address, NextHop, Rib};
use std::hint::select_unpredictable;

/// The number of searches in step: each waits for its own loads, not for the others'.
const LANES: usize = 16;

/// The start of each interval of equal answers, and its answer. The first begins at the first
/// address. If there are none, there is no route.
#[derive(Debug)]
pub(super) struct Intervals<A> {
    starts: Box<[A]>,
    next_hops: Box<[NextHop]>,
}

impl<A> Default for Intervals<A> {
    fn default() -> Self {
        Self { starts: Box::new([]), next_hops: Box::new([]) }
    }
}

impl<A: Address> Intervals<A> {
    /// Returns the intervals of a table. O(n).
    pub(super) fn of(rib: &Rib<A>) -> Self {
        if rib.is_empty() {
            return Self::default();
        }
        let (starts, next_hops): (Vec<A>, Vec<NextHop>) =
            rib.ranges().map(|range| (range.first, range.next_hop)).unzip();
        Self { starts: starts.into(), next_hops: next_hops.into() }
    }

    /// Returns the answer for an address. O(log n).
    pub(super) fn lookup(&self, address: A) -> NextHop {
        let at = self.starts.partition_point(|&start| start <= address);
        at.checked_sub(1).map_or(NextHop::NONE, |at| self.next_hops[at])
    }

    /// Looks up many addresses.
    pub(super) fn lookup_all(&self, addresses: &[A], next_hops: &mut [NextHop]) {
        if self.starts.is_empty() {
            return next_hops.fill(NextHop::NONE);
        }
        let (groups, rest) = addresses.as_chunks::<LANES>();
        let (answers, rest_answers) = next_hops.as_chunks_mut::<LANES>();
        for (addresses, answers) in groups.iter().zip(answers) {
            self.search(addresses, answers);
        }
        for (&address, answer) in rest.iter().zip(rest_answers) {
            *answer = self.lookup(address);
        }
    }

    /// Runs `LANES` searches. All halve the same number of intervals at every step, so none ends
    /// before another.
    fn search(&self, addresses: &[A; LANES], answers: &mut [NextHop; LANES]) {
        let mut at = [0; LANES];
        let mut left = self.starts.len();
        while left > 1 {
            let half = left / 2;
            for (at, &address) in at.iter_mut().zip(addresses) {
                *at = select_unpredictable(self.starts[*at + half] <= address, *at + half, *at);
            }
            left -= half;
        }
        for (answer, at) in answers.iter_mut().zip(at) {
            *answer = self.next_hops[at];
        }
    }

    /// Returns the bytes it occupies.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.starts) + size_of_val(&*self.next_hops)
    }
}
