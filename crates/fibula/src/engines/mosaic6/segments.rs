//! A table as intervals of whole /48s, from which the trie is built.

use super::word::ANSWER;
use super::{FIRST_LEVEL, LAST_LEVEL};
use crate::blocks::fallback::Routes;
use crate::rib::Range;
use crate::{Address, Prefix, Rib};

/// Intervals of /48s in order, with different answers in neighbours, from the first address of some
/// prefix to its last. Longer routes are only noted.
#[derive(Debug, Default)]
pub(super) struct Segments {
    /// The first /48 of each interval, as a 48-bit number.
    pub(super) starts: Vec<u64>,
    /// The answer of each interval, with the flag [`ANSWER`].
    pub(super) values: Vec<u32>,
    /// The /48s with longer routes, in order.
    longer: Vec<u64>,
}

impl Segments {
    /// Returns the intervals of `within`, a prefix of at most 48 bits. O(n) for *n* routes in it,
    /// not counting those past the first few of a /48, and one longest match.
    pub(super) fn of(routes: &Routes<'_, u128>, within: Prefix<u128>) -> Self {
        let mut segments = Self::default();
        let mut push = |range: Range<u128>| segments.push(number(range.first), ANSWER | range.next_hop.0);
        let lengths = FIRST_LEVEL..=LAST_LEVEL;
        match routes.withdrawn() {
            None => routes.rib().of_lengths(lengths).ranges_within(within).for_each(&mut push),
            Some(withdrawn) => routes.ranges_beside(withdrawn, lengths, within).for_each(&mut push),
        }
        segments.noting(routes.rib(), within)
    }

    /// Returns these intervals of `within` with its longer routes noted. A walk over its routes,
    /// not counting those past the first of a /48.
    pub(super) fn noting(mut self, rib: &Rib<u128>, within: Prefix<u128>) -> Self {
        let networks = rib.at_least(LAST_LEVEL + 1).networks(within, LAST_LEVEL);
        self.longer = networks.map(|network| number(network.first())).collect();
        self
    }

    /// Returns whether a node has longer routes.
    pub(super) fn has_longer(&self, node: Node) -> bool {
        let past = node.first + (1 << (LAST_LEVEL - node.depth));
        let first = self.longer.partition_point(|&number| number < node.first);
        self.longer.get(first).is_some_and(|&number| number < past)
    }

    /// Returns whether all addresses of a node have the answer that `word` is.
    pub(super) fn are_all(&self, node: Node, word: u32) -> bool {
        node.bounds() == 0 && self.value(node) == word && !self.has_longer(node)
    }

    /// Returns no intervals, with room for `count`.
    pub(super) fn with_capacity(count: usize) -> Self {
        Self { starts: Vec::with_capacity(count), values: Vec::with_capacity(count), longer: Vec::new() }
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
