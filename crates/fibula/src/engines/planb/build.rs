//! The build: the intervals of a table, cut at the ends of /64s, as trees.

use super::view::PlanBView;
use super::{INTERVALS, PlanB};
use crate::engine::Width;
use crate::memory::{Array, Pages};
use crate::{Error, Limit, Rib};

/// Returns the halves of an address: the number of its /64, and the rest.
#[inline(always)]
pub(super) fn halves(address: u128) -> (u64, u64) {
    ((address >> 64) as u64, address as u64)
}

/// Intervals of numbers in order, without a gap from 0 on.
#[derive(Debug)]
struct Intervals<W> {
    /// The last number of each.
    ends: Vec<u64>,
    answers: Vec<W>,
}

impl<W> Intervals<W> {
    const fn new() -> Self {
        Self { ends: Vec::new(), answers: Vec::new() }
    }

    fn push(&mut self, end: u64, answer: W) {
        self.ends.push(end);
        self.answers.push(answer);
    }
}

/// The intervals of a table.
#[derive(Debug)]
struct Cut<W> {
    /// Those of /64s. A /64 with bounds inside is an interval by itself, whose answer is the
    /// greatest.
    networks: Intervals<W>,
    /// The indices of the /64s with bounds inside.
    marked: Vec<usize>,
    /// The intervals inside them, one /64 after the other.
    hosts: Intervals<W>,
    /// For each of these /64s, the index in `hosts` where its intervals end.
    hosts_end: Vec<usize>,
}

impl<W: Width> Cut<W> {
    /// Cuts the ranges of a table. O(n).
    fn of(rib: &Rib<u128>) -> Self {
        let mut cut = Self {
            networks: Intervals::new(),
            marked: Vec::new(),
            hosts: Intervals::new(),
            hosts_end: Vec::new(),
        };
        for range in rib.ranges() {
            let answer = W::narrow(range.next_hop);
            let ((first, from), (last, to)) = (halves(range.first), halves(range.last));
            // What the range has of a /64 that it does not begin.
            if from > 0 {
                cut.hosts.push(if last > first { u64::MAX } else { to }, answer);
                cut.end_network(first);
            }
            let begins = if from > 0 { first.checked_add(1) } else { Some(first) };
            let Some(begins) = begins.filter(|&begins| begins <= last) else { continue };
            // Whole /64s, then what it has of a /64 that it does not end.
            let whole = if to == u64::MAX { Some(last) } else { last.checked_sub(1) };
            if let Some(whole) = whole.filter(|&whole| whole >= begins) {
                cut.networks.push(whole, answer);
            }
            if to < u64::MAX {
                cut.hosts.push(to, answer);
            }
        }
        cut
    }

    /// Ends the /64 `network` if the last of its intervals is there.
    fn end_network(&mut self, network: u64) {
        if self.hosts.ends.last() == Some(&u64::MAX) {
            self.marked.push(self.networks.ends.len());
            self.networks.push(network, W::narrow(crate::NextHop(W::MAX)));
            self.hosts_end.push(self.hosts.ends.len());
        }
    }
}

impl<W: Width> PlanB<W> {
    /// Builds a table, or fails if it needs more than `intervals_max` intervals.
    pub(super) fn build_at_most(intervals_max: u64, rib: &Rib<u128>, pages: Pages) -> Result<Self, Error> {
        let Cut { networks, marked, hosts, hosts_end } = Cut::of(rib);
        let intervals = networks.ends.len() + hosts.ends.len();
        Limit::check(INTERVALS, intervals as u64, intervals_max)?;
        let mut engine = Self { view: PlanBView::without_trees(pages) };
        engine.plant(&networks.ends, &networks.answers);
        let mut start = 0;
        for end in hosts_end {
            engine.plant(&hosts.ends[start..end], &hosts.answers[start..end]);
            start = end;
        }
        if !marked.is_empty() {
            engine.view.marks = marks(&marked, networks.ends.len(), pages);
        }
        engine.view.shrink_to_fit();
        Ok(engine)
    }
}

/// Returns words of `len` bits, of which those at `marked` are set, each with the number of bits
/// set before it.
fn marks(marked: &[usize], len: usize, pages: Pages) -> Array<[u64; 2]> {
    let mut words = Array::filled([0_u64; 2], len.div_ceil(64), pages);
    for &at in marked {
        words[at / 64][0] |= 1 << (at % 64);
    }
    let mut before = 0;
    for word in &mut words[..] {
        word[1] = before;
        before += u64::from(word[0].count_ones());
    }
    words
}
