//! Linearised 9-ary trees over the ends of intervals (PlanB, NSDI 2026): nodes of one cache line,
//! numbered level by level, so that nothing points anywhere.
//!
//! - [`node`] makes one, and [`nodes_above`] and [`levels_of`] number them.
//! - [`Intervals`] are what a tree is made of, and [`cut`] makes them of the ranges of an IPv6
//!   table.
//! - [`in_rounds`] looks up a batch. [`Waiting`] collects the addresses that have a second tree to
//!   go down.

mod intervals;
mod waiting;

pub use intervals::{Intervals, Piece, cut, halves};
pub use waiting::{Rounds, Waiting, for_lanes, in_rounds};

use crate::arch::KEYS;

/// A cache line of separators: the last number of each of the first eight children. Where there is
/// no child it is the greatest number, which is below no key.
pub type Node = [u64; KEYS];

/// The children of a node.
pub const CHILDREN: usize = KEYS + 1;

/// Returns the number of nodes above level `level` of a full tree, which is the number of that
/// level's first node.
#[must_use]
#[inline(always)]
pub const fn nodes_above(level: u32) -> usize {
    (CHILDREN.pow(level) - 1) / (CHILDREN - 1)
}

/// Returns the number of levels of a tree of `intervals` intervals, at least 1.
#[must_use]
pub fn levels_of(intervals: usize) -> u32 {
    let mut levels = 1;
    while CHILDREN.pow(levels) < intervals {
        levels += 1;
    }
    levels
}

/// Returns the node at index `at` of a level whose children each cover `span` intervals.
#[must_use]
pub fn node(ends: &[u64], at: usize, span: usize) -> Node {
    std::array::from_fn(|separator| {
        let child = at * CHILDREN + separator;
        ends.get((child + 1) * span - 1).copied().unwrap_or(u64::MAX)
    })
}
