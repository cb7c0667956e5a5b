//! A table as intervals of whole /48s, from which the trie is built.

use super::LAST_LEVEL;
use super::word::ANSWER;
use crate::rib::Prefixes;
use crate::{Address, NextHop, Prefix, Rib};

/// Intervals of /48s in order, with different values in neighbours, from the first address of some
/// prefix to its last.
///
/// A /48 with more than one answer inside has one value too: the next hop of the addresses that no
/// more-specific route covers, without the flag [`ANSWER`].
#[derive(Debug, Default)]
pub(super) struct Segments {
    /// The first /48 of each interval, as a 48-bit number.
    pub(super) starts: Vec<u64>,
    /// The value of each interval: an answer with the flag; or, without it, the sign that
    /// more-specific routes are below.
    pub(super) values: Vec<u32>,
}

/// The bits of an address below a /48.
const BELOW: u128 = (1 << (128 - LAST_LEVEL)) - 1;

impl Segments {
    /// Returns the intervals of `within`, a prefix of at most 48 bits. O(n) for *n* routes in it,
    /// not counting those past the first few ranges of a /48, and one longest match.
    pub(super) fn of(rib: &Rib<u128>, within: Prefix<u128>) -> Self {
        let mut segments = Self::default();
        let mut parts = vec![within];
        while let Some(part) = parts.pop() {
            if let Some(past) = segments.push_part(rib, part) {
                let rest: Vec<_> = Prefixes::between(past, part.last()).collect();
                parts.extend(rest.into_iter().rev());
            }
        }
        segments
    }

    /// Appends the intervals of `part`. If a /48 in it turns out to hold many routes, stops there
    /// and returns the address after that /48.
    fn push_part(&mut self, rib: &Rib<u128>, part: Prefix<u128>) -> Option<u128> {
        /// The ranges of a /48 that are walked before the others are skipped. A skip costs a few
        /// searches in the table.
        const WALKED: u32 = 64;
        let (mut beyond, mut walked) = (None, 0);
        for range in rib.ranges_within(part) {
            let (mut from, to) = (number(range.first), number(range.last));
            let (first_in_part, last_in_part) = (range.first & BELOW != 0, range.last & BELOW != BELOW);
            if first_in_part || (from == to && last_in_part) {
                if beyond == Some(from) {
                    walked += 1;
                    if walked == WALKED {
                        return network(from).last().next().filter(|&past| past <= part.last());
                    }
                } else {
                    (beyond, walked) = (Some(from), 0);
                    self.push_beyond(from, rib);
                }
                from += 1;
            }
            if from > to {
                continue;
            }
            if !last_in_part || from < to {
                self.push(from, ANSWER | range.next_hop.0);
            }
            if last_in_part {
                (beyond, walked) = (Some(to), 0);
                self.push_beyond(to, rib);
            }
        }
        None
    }

    /// Returns no intervals, with room for `count`.
    pub(super) fn with_capacity(count: usize) -> Self {
        Self { starts: Vec::with_capacity(count), values: Vec::with_capacity(count) }
    }

    /// Returns one interval with one value.
    pub(super) fn uniform(start: u64, value: u32) -> Self {
        let mut segments = Self::with_capacity(1);
        segments.push(start, value);
        segments
    }

    /// Returns these intervals with `others` in place of the part from where `others` begin to
    /// before `past`. The last of these intervals ends before `end`.
    pub(super) fn with(&self, others: &Self, past: u64, end: u64) -> Self {
        let mut all = Self::with_capacity(self.starts.len() + others.starts.len() + 1);
        let own = || self.starts.iter().copied().zip(self.values.iter().copied());
        let before = self.starts.partition_point(|&start| start < others.starts[0]);
        own().take(before).for_each(|(start, value)| all.push(start, value));
        others.starts.iter().zip(&others.values).for_each(|(&start, &value)| all.push(start, value));
        if past < end {
            let after = self.starts.partition_point(|&start| start <= past);
            all.push(past, self.values[after - 1]);
            own().skip(after).for_each(|(start, value)| all.push(start, value));
        }
        all
    }

    fn push_beyond(&mut self, start: u64, rib: &Rib<u128>) {
        self.push(start, beside_longer(rib, network(start)));
    }

    pub(super) fn push(&mut self, start: u64, value: u32) {
        if self.values.last() != Some(&value) {
            self.starts.push(start);
            self.values.push(value);
        }
    }

    /// Returns the node that these intervals describe, a prefix of `depth` bits.
    pub(super) fn node(&self, depth: u8) -> Node {
        Node { depth, first: self.starts[0], lo: 1, hi: self.starts.len() }
    }

    /// Returns a walk over the nodes below `node`.
    pub(super) fn below(&self, node: Node) -> Below<'_> {
        Below { starts: &self.starts[..node.hi], at: node.lo }
    }

    /// Returns the node of `depth` bits that begins at `first` below `node`, with its part of the
    /// bounds.
    pub(super) fn within(&self, node: Node, first: u64, depth: u8) -> Node {
        let past = first + (1 << (LAST_LEVEL - depth));
        let bounds = &self.starts[node.lo..node.hi];
        let lo = node.lo + bounds.partition_point(|&start| start <= first);
        let hi = node.lo + bounds.partition_point(|&start| start < past);
        Node { depth, first, lo, hi }
    }

    /// Returns the two halves of a node.
    pub(super) fn halves(&self, node: Node) -> [Node; 2] {
        let (depth, first) = (node.depth + 1, node.first);
        let middle = first + (1 << (LAST_LEVEL - depth));
        let hi = node.lo + self.starts[node.lo..node.hi].partition_point(|&start| start < middle);
        let lo = hi + usize::from(self.starts[hi..node.hi].first() == Some(&middle));
        [Node { depth, first, lo: node.lo, hi }, Node { depth, first: middle, lo, hi: node.hi }]
    }

    /// Returns the value at the first /48 of a node.
    pub(super) fn value(&self, node: Node) -> u32 {
        self.values[node.lo - 1]
    }
}

/// A walk over nodes in order, which finds their bounds without a search.
#[derive(Clone, Debug)]
pub(super) struct Below<'s> {
    starts: &'s [u64],
    /// The index of the first bound that no node before had.
    at: usize,
}

impl Below<'_> {
    /// Returns the node of `depth` bits that begins at `first`, which is past those before.
    pub(super) fn next(&mut self, first: u64, depth: u8) -> Node {
        let past = first + (1 << (LAST_LEVEL - depth));
        let bounds_below = |from: usize, end| self.starts[from..].iter().take_while(|&&at| at < end).count();
        let lo = self.at + bounds_below(self.at, first + 1);
        let hi = lo + bounds_below(lo, past);
        self.at = hi;
        Node { depth, first, lo, hi }
    }
}

/// Returns the next hop of the addresses of a /48 that no longer route covers.
pub(super) fn beside_longer(rib: &Rib<u128>, network: Prefix<u128>) -> u32 {
    rib.longest_cover(network).map_or(NextHop::NONE, |route| route.next_hop).0
}

/// Returns the /48 with this number.
pub(super) fn network(number: u64) -> Prefix<u128> {
    Prefix::containing(u128::from(number) << (128 - LAST_LEVEL), LAST_LEVEL)
}

/// Returns the number of the /48 that contains `address`.
pub(super) fn number(address: u128) -> u64 {
    address.bits(0, LAST_LEVEL)
}

/// Returns the number after that of the last /48 of `prefix`.
pub(super) fn number_past(prefix: Prefix<u128>) -> u64 {
    number(prefix.last()) + 1
}

/// A node of the binary trie down to /48s. The bounds between intervals in it are `lo..hi`, without
/// a bound at its own beginning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) depth: u8,
    /// Its first /48.
    pub(super) first: u64,
    pub(super) lo: usize,
    pub(super) hi: usize,
}

impl Node {
    /// Returns the number of bounds inside.
    pub(super) fn bounds(self) -> usize {
        self.hi - self.lo
    }

    /// Returns the prefix of the node.
    pub(super) fn prefix(self) -> Prefix<u128> {
        Prefix::containing(u128::from(self.first) << (128 - LAST_LEVEL), self.depth)
    }
}
