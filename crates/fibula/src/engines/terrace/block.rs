//! Blocks: how many lines one takes, how it is written and read back.

use super::handle::{Handle, WORDS, answer_at};
use crate::Limit;
use crate::blocks::chunks::Pool;
use crate::blocks::linear_tree::{CHILDREN, Intervals, Node, levels_of, node, nodes_above};
use zerocopy::{FromBytes, IntoBytes};

/// The limit, by its unit.
pub(in crate::engines) const LINES: &str = "lines of 64 bytes";

/// Returns lines as words of 32 bits.
#[inline(always)]
pub(super) fn words(lines: &[Node]) -> &[u32] {
    <[u32]>::ref_from_bytes(lines.as_bytes()).expect("lines are whole words")
}

/// The size of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    /// The levels of nodes.
    pub levels: u32,
    /// The most intervals, a multiple of 9.
    pub capacity: usize,
}

impl Size {
    /// Returns the least size that holds `intervals` intervals.
    pub(super) fn of(intervals: usize) -> Self {
        Self::with_levels(levels_of(intervals), intervals)
    }

    /// Returns the least size of `levels` levels that holds `intervals` intervals. A block of two
    /// levels or more has whole subtrees below its root.
    pub(super) fn with_levels(levels: u32, intervals: usize) -> Self {
        let capacity = intervals.next_multiple_of(CHILDREN.pow(levels - 1)).max(CHILDREN);
        Self { levels, capacity }
    }

    /// Returns the size of a full block of `levels` levels.
    pub(super) const fn full(levels: u32) -> Self {
        Self { levels, capacity: CHILDREN.pow(levels) }
    }

    /// Returns the lines of answers, which are before the nodes.
    pub(super) fn answer_lines(self) -> usize {
        (self.capacity + 1).div_ceil(WORDS as usize)
    }

    /// Returns the number of lines.
    pub(super) fn lines(self) -> usize {
        self.answer_lines() + nodes_above(self.levels - 1) + self.capacity / CHILDREN
    }
}

/// The blocks of all trees, in one array of lines.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    pub(super) lines: Pool<Node>,
}

impl Blocks {
    /// Allocates a block and writes it. Returns its origin.
    pub(super) fn insert(&mut self, size: Size, intervals: Slice<'_>) -> Result<u32, Limit> {
        let start = self.lines.allocate(size.lines())?;
        let origin = (start + size.answer_lines()) as u32;
        self.write(origin, size.levels, intervals);
        Ok(origin)
    }

    /// Frees the block at `origin`.
    pub(super) fn remove(&mut self, origin: u32, size: Size) {
        self.lines.remove(origin as usize - size.answer_lines(), size.lines());
    }

    /// Writes all intervals of a block. Nodes that no interval needs are never read, and keep what
    /// they hold.
    pub(super) fn write(&mut self, origin: u32, levels: u32, intervals: Slice<'_>) {
        let Slice { ends, answers } = intervals;
        let mut span = CHILDREN.pow(levels);
        for level in 0..levels {
            let nodes = ends.len().div_ceil(span);
            span /= CHILDREN;
            let first = origin as usize + nodes_above(level);
            for (at, line) in self.lines[first..first + nodes].iter_mut().enumerate() {
                *line = node(ends, at, span);
            }
        }
        let words = <[u32]>::mut_from_bytes(self.lines.as_mut_bytes()).expect("lines are whole words");
        let before = &mut words[..(origin * WORDS) as usize];
        let (last, before) = before.split_last_mut().expect("a line of answers");
        *last = ends.len() as u32;
        for (word, &answer) in before.iter_mut().rev().zip(answers) {
            *word = answer;
        }
    }

    /// Writes all answers of a block. Returns whether any differs from what was there.
    pub(super) fn write_answers(&mut self, origin: u32, answers: &[u32]) -> bool {
        let end = (origin * WORDS) as usize - 1;
        let words = <[u32]>::mut_from_bytes(self.lines.as_mut_bytes()).expect("lines are whole words");
        let words = &mut words[end - answers.len()..end];
        let differ = !words.iter().rev().eq(answers);
        if differ {
            words.iter_mut().rev().zip(answers).for_each(|(word, &answer)| *word = answer);
        }
        differ
    }

    /// Returns the number of intervals of the block at `origin`.
    pub(super) fn len_of(&self, origin: u32) -> usize {
        words(&self.lines)[(origin * WORDS) as usize - 1] as usize
    }

    /// Returns the size of the root block of a tree.
    pub(super) fn size_of(&self, tree: Handle) -> Size {
        Size { levels: tree.levels, ..Size::of(self.len_of(tree.origin)) }
    }

    /// Returns the last number of interval `interval`, or the greatest number for the last one of a
    /// full block.
    pub(super) fn end_of(&self, origin: u32, levels: u32, interval: usize) -> u64 {
        let mut child = interval;
        for level in (0..levels).rev() {
            let (node, separator) = (child / CHILDREN, child % CHILDREN);
            let node_at = origin as usize + nodes_above(level) + node;
            if let Some(&end) = self.lines[node_at].get(separator) {
                return end;
            }
            child = node;
        }
        u64::MAX
    }

    /// Appends the intervals of a block, the last of which ends at `last`.
    pub(super) fn read(&self, origin: u32, levels: u32, last: u64, into: &mut Intervals<u32>) {
        let len = self.len_of(origin);
        let (before, first) = (into.len(), origin as usize + nodes_above(levels - 1));
        for (at, node) in self.lines[first..first + len.div_ceil(CHILDREN)].iter().enumerate() {
            into.ends.extend_from_slice(node);
            into.ends.push(self.end_of(origin, levels, at * CHILDREN + CHILDREN - 1));
        }
        into.ends.truncate(before + len);
        if let Some(end) = into.ends.last_mut() {
            *end = last;
        }
        let end = (origin * WORDS) as usize - 1;
        into.answers.extend(words(&self.lines)[end - len..end].iter().rev());
    }

    /// Returns the interval of a block that a key is in.
    pub(super) fn interval_of(&self, origin: u32, levels: u32, key: u64) -> u32 {
        let mut at = 0;
        for level in 0..levels {
            let node = &self.lines[origin as usize + nodes_above(level) + at];
            at = at * CHILDREN + node.iter().filter(|&&end| end < key).count();
        }
        at as u32
    }

    /// Returns the answer of an interval of a block.
    pub(super) fn answer_of(&self, origin: u32, interval: u32) -> u32 {
        words(&self.lines)[answer_at(origin, interval) as usize]
    }

    /// Writes the answer of an interval of a block.
    pub(super) fn set_answer(&mut self, origin: u32, interval: u32, answer: u32) {
        let words = <[u32]>::mut_from_bytes(self.lines.as_mut_bytes()).expect("lines are whole words");
        words[answer_at(origin, interval) as usize] = answer;
    }
}

/// Some intervals in a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slice<'i> {
    pub ends: &'i [u64],
    pub answers: &'i [u32],
}

impl<'i> Slice<'i> {
    /// Returns all of `intervals`.
    pub(super) fn all(intervals: &'i Intervals<u32>) -> Self {
        Self { ends: &intervals.ends, answers: &intervals.answers }
    }

    /// Returns those from index `start` to before `end`.
    pub(super) fn part(intervals: &'i Intervals<u32>, start: usize, end: usize) -> Self {
        Self { ends: &intervals.ends[start..end], answers: &intervals.answers[start..end] }
    }
}
