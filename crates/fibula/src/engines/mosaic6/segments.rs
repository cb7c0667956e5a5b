//! A table as intervals of whole /48s: what the trie is built from.

use super::LAST_LEVEL;
use super::word::ANSWER;
use crate::{Address, NextHop, Prefix, Rib};

/// Intervals of /48s in order, neighbours different, from the first address of some prefix to its last.
///
/// A /48 with more than one answer inside is one value too: the next hop of the addresses that no longer route covers,
/// without the flag [`ANSWER`].
#[derive(Debug, Default)]
pub(super) struct Segments {
    /// The first /48 of each, as a number of 48 bits.
    pub(super) starts: Vec<u64>,
    /// What each says: an answer with the flag, or, without it, that longer routes are below.
    pub(super) values: Vec<u32>,
}

/// The bits of an address below a /48.
const BELOW: u128 = (1 << (128 - LAST_LEVEL)) - 1;

impl Segments {
    /// Those of a prefix of at most 48 bits. O(n) for *n* routes in it, a longest match aside.
    pub(super) fn of(rib: &Rib<u128>, within: Prefix<u128>) -> Self {
        let mut segments = Self::default();
        for range in rib.ranges_within(within) {
            let (mut from, to) = (number(range.first), number(range.last));
            let (first_in_part, last_in_part) = (range.first & BELOW != 0, range.last & BELOW != BELOW);
            if first_in_part || (from == to && last_in_part) {
                segments.push_beyond(from, rib);
                from += 1;
            }
            if from > to {
                continue;
            }
            if !last_in_part || from < to {
                segments.push(from, ANSWER | range.next_hop.0);
            }
            if last_in_part {
                segments.push_beyond(to, rib);
            }
        }
        segments
    }

    /// None, and room for so many.
    pub(super) fn with_capacity(count: usize) -> Self {
        Self { starts: Vec::with_capacity(count), values: Vec::with_capacity(count) }
    }

    /// One interval with one answer.
    pub(super) fn uniform(start: u64, value: u32) -> Self {
        let mut segments = Self::with_capacity(1);
        segments.push(start, value);
        segments
    }

    /// These intervals, but others from where those begin to before `past`; the last of these ends before `end`.
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
        let node = Prefix::containing(u128::from(start) << (128 - LAST_LEVEL), LAST_LEVEL);
        self.push(start, rib.longest_cover(node).map_or(NextHop::NONE, |route| route.next_hop).0);
    }

    pub(super) fn push(&mut self, start: u64, value: u32) {
        if self.values.last() != Some(&value) {
            self.starts.push(start);
            self.values.push(value);
        }
    }

    /// The node that they are the intervals of, where that is a prefix of `depth` bits.
    pub(super) fn node(&self, depth: u8) -> Node {
        Node { depth, first: self.starts[0], lo: 1, hi: self.starts.len() }
    }

    /// The part of the node's bounds that lies in a node below it.
    pub(super) fn within(&self, node: Node, first: u64, depth: u8) -> Node {
        let past = first + (1 << (LAST_LEVEL - depth));
        let bounds = &self.starts[node.lo..node.hi];
        let lo = node.lo + bounds.partition_point(|&start| start <= first);
        let hi = node.lo + bounds.partition_point(|&start| start < past);
        Node { depth, first, lo, hi }
    }

    /// The two halves of a node.
    pub(super) fn halves(&self, node: Node) -> [Node; 2] {
        let (depth, first) = (node.depth + 1, node.first);
        let middle = first + (1 << (LAST_LEVEL - depth));
        let hi = node.lo + self.starts[node.lo..node.hi].partition_point(|&start| start < middle);
        let lo = hi + usize::from(self.starts[hi..node.hi].first() == Some(&middle));
        [Node { depth, first, lo: node.lo, hi }, Node { depth, first: middle, lo, hi: node.hi }]
    }

    /// What the node says where it begins.
    pub(super) fn value(&self, node: Node) -> u32 {
        self.values[node.lo - 1]
    }
}

/// The /48 of an address as a number.
pub(super) fn number(address: u128) -> u64 {
    address.bits(0, LAST_LEVEL)
}

/// The number after those of the /48s of a prefix.
pub(super) fn number_past(prefix: Prefix<u128>) -> u64 {
    number(prefix.last()) + 1
}

/// A node of the binary trie down to /48s: the bounds between intervals in it are `lo..hi`, that at its own beginning
/// left out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) depth: u8,
    /// Its first /48.
    pub(super) first: u64,
    pub(super) lo: usize,
    pub(super) hi: usize,
}

impl Node {
    /// How many bounds are inside.
    pub(super) fn bounds(self) -> usize {
        self.hi - self.lo
    }

    /// The prefix it stands for.
    pub(super) fn prefix(self) -> Prefix<u128> {
        Prefix::containing(u128::from(self.first) << (128 - LAST_LEVEL), self.depth)
    }
}
