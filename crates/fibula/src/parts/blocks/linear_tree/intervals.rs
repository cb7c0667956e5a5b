//! [`Intervals`]: what a tree is made of, and [`cut`], which cuts the ranges of an IPv6 table at
//! the ends of /64s.

use crate::NextHop;
use crate::rib;
use std::ops::Range;

/// Returns the halves of an address: the number of its /64, and the rest.
#[must_use]
#[inline(always)]
pub fn halves(address: u128) -> (u64, u64) {
    ((address >> 64) as u64, address as u64)
}

/// Intervals of numbers in order, without a gap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intervals<T> {
    /// The last number of each.
    pub ends: Vec<u64>,
    /// The answer of each.
    pub answers: Vec<T>,
}

impl<T> Default for Intervals<T> {
    fn default() -> Self {
        Self { ends: Vec::new(), answers: Vec::new() }
    }
}

impl<T: Copy + PartialEq> Intervals<T> {
    /// Returns their number.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Removes all.
    pub fn clear(&mut self) {
        self.ends.clear();
        self.answers.clear();
    }

    /// Appends the interval that ends at `end`.
    pub fn push(&mut self, end: u64, answer: T) {
        self.ends.push(end);
        self.answers.push(answer);
    }

    /// As [`push`](Self::push), but lengthens the last interval instead if it has the same answer.
    pub fn join(&mut self, end: u64, answer: T) {
        match (self.ends.last_mut(), self.answers.last()) {
            (Some(last), Some(&before)) if before == answer => *last = end,
            _ => self.push(end, answer),
        }
    }

    /// Appends those of `others` at the indices `range`, the first as [`join`](Self::join) does.
    pub fn append(&mut self, others: &Self, range: Range<usize>) {
        if let (Some(&end), Some(&answer)) = (others.ends.get(range.start), others.answers.get(range.start))
            && !range.is_empty()
        {
            self.join(end, answer);
            self.ends.extend_from_slice(&others.ends[range.start + 1..range.end]);
            self.answers.extend_from_slice(&others.answers[range.start + 1..range.end]);
        }
    }

    /// Returns the index of the first interval that does not end before `number`, not less than
    /// `from`; their number if there is none. O(1) if it is near `from`, else O(log n).
    #[must_use]
    pub(crate) fn interval_of(&self, number: u64, from: usize) -> usize {
        /// The intervals that are compared one by one.
        const NEAR: usize = 4;
        let ends = &self.ends[from..];
        let near = ends.iter().take(NEAR).position(|&end| end >= number);
        from + near.unwrap_or_else(|| ends.partition_point(|&end| end < number))
    }

    /// Returns the end and the answer of each, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, T)> {
        self.ends.iter().copied().zip(self.answers.iter().copied())
    }
}

/// A part of a range that is whole /64s, or inside one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Whole /64s.
    Networks {
        /// The number of the first.
        first: u64,
        /// The number of the last.
        last: u64,
    },
    /// A part of one /64.
    Hosts {
        /// The number of the /64.
        network: u64,
        /// The first number of the part.
        first: u64,
        /// The last number of the part; the greatest one where the /64 ends.
        last: u64,
    },
}

impl Piece {
    /// Cuts the addresses from `first` to `last` where the /64s end of which they are a part.
    pub fn between(first: u128, last: u128) -> impl Iterator<Item = Self> {
        let ((first, from), (last, to)) = (halves(first), halves(last));
        // What there is of a /64 that does not begin here.
        let end = if last > first { u64::MAX } else { to };
        let before = (from > 0).then_some(Self::Hosts { network: first, first: from, last: end });
        let begins = if from > 0 { first.checked_add(1) } else { Some(first) };
        let begins = begins.filter(|&begins| begins <= last);
        // Whole /64s, then what there is of a /64 that does not end here.
        let ends = if to == u64::MAX { Some(last) } else { last.checked_sub(1) };
        let whole = begins.zip(ends).filter(|(begins, ends)| begins <= ends);
        let whole = whole.map(|(first, last)| Self::Networks { first, last });
        let is_cut = begins.is_some() && to < u64::MAX;
        let after = is_cut.then_some(Self::Hosts { network: last, first: 0, last: to });
        [before, whole, after].into_iter().flatten()
    }
}

/// Cuts ranges at the ends of the /64s that they share with others, and calls `with` with each
/// piece and its next hop, in order. The first range begins and the last one ends where a /64 does.
pub fn cut(ranges: impl Iterator<Item = rib::Range<u128>>, mut with: impl FnMut(Piece, NextHop)) {
    for range in ranges {
        Piece::between(range.first, range.last).for_each(|piece| with(piece, range.next_hop));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Prefix, Rib};

    #[test]
    fn ranges_are_cut_where_the_networks_that_they_share_end() {
        let mut rib: Rib<u128> = Rib::new();
        for (prefix, next_hop) in [("::/62", 1), ("::1:0:0:0:7/128", 2), ("::3:ffff:ffff:ffff:fff0/124", 3)] {
            rib.insert(prefix.parse().unwrap(), NextHop(next_hop));
        }
        let mut pieces = Vec::new();
        let within = Prefix::containing(0, 62);
        cut(rib.ranges_within(within), |piece, next_hop| pieces.push((piece, next_hop.0)));
        let networks = |at| Piece::Networks { first: at, last: at };
        let hosts = |network, first, last| Piece::Hosts { network, first, last };
        let right = [
            (networks(0), 1),
            (hosts(1, 0, 6), 1),
            (hosts(1, 7, 7), 2),
            (hosts(1, 8, u64::MAX), 1),
            (networks(2), 1),
            (hosts(3, 0, u64::MAX - 16), 1),
            (hosts(3, u64::MAX - 15, u64::MAX), 3),
        ];
        assert_eq!(pieces, right);
    }

    #[test]
    fn a_part_is_appended_and_an_interval_found_near_or_far() {
        let mut all = Intervals::default();
        (0..100).for_each(|at| all.push(10 * at + 9, at % 3));
        for from in 0..=100 {
            for number in (0..1010).step_by(5) {
                let right = (number as usize / 10).clamp(from, 100);
                assert_eq!(all.interval_of(number, from), right, "{number} from {from}");
            }
        }
        let mut part = Intervals::default();
        part.append(&all, 3..3);
        part.append(&all, 100..100);
        assert!(part.is_empty());
        part.append(&all, 3..5);
        part.append(&all, 7..9);
        assert!(part.iter().eq([(39, 0), (79, 1), (89, 2)]));
    }

    #[test]
    fn equal_neighbours_are_joined() {
        let mut intervals = Intervals::default();
        for (end, answer) in [(3, 1), (5, 1), (9, 2)] {
            intervals.join(end, answer);
        }
        assert!(intervals.iter().eq([(5, 1), (9, 2)]));
    }
}
