//! Trees: how one is planted, and how a part of one is replaced.

use super::block::{Blocks, LINES, Size, Slice};
use super::handle::{Handle, LINES_MAX, MARK};
use crate::Limit;
use crate::blocks::chunks::Pool;
use crate::blocks::linear_tree::{CHILDREN, Intervals, Node, levels_of};
use crate::memory::Pages;

/// All trees. A leaf block has `LEAF` levels.
#[derive(Clone, Debug)]
pub(super) struct Trees<const LEAF: u32> {
    pub(super) blocks: Blocks,
    /// The number of words with the mark.
    pub(super) marked: usize,
    /// The number of blocks written since somebody set it to zero.
    pub(super) written: u64,
    /// Intervals of the change in progress, kept for their memory.
    pub(super) scratch: Vec<Intervals<u32>>,
}

impl<const LEAF: u32> Trees<LEAF> {
    /// The size of a full leaf block.
    pub(super) const FULL: Size = Size::full(LEAF);
    /// The intervals of a leaf block after a build or a split: room for some changes is left.
    const FILLED: usize = Self::FULL.capacity - Self::FULL.capacity.div_ceil(8);
    /// The most intervals of a leaf block where fewer blocks save a level of the directory.
    const TIGHT: usize = Self::FULL.capacity - Self::FULL.capacity / 32;
    /// A leaf block with fewer intervals takes its neighbour in.
    pub(super) const FEWEST: usize = Self::FULL.capacity / 4;

    /// Returns no trees, to take at most `lines_max` lines.
    pub(super) fn new(lines_max: u64, pages: Pages) -> Self {
        Self::holding(Pool::new(LINES, lines_max.min(LINES_MAX), pages), 0)
    }

    /// Returns the trees of lines that are written already.
    pub(super) fn holding(lines: Pool<Node>, marked: usize) -> Self {
        Self { blocks: Blocks { lines }, marked, written: 0, scratch: Vec::new() }
    }

    /// Returns a bound of the lines that are allocated to replace a part of `tree` by `intervals`
    /// intervals.
    pub(super) fn lines_needed(&self, tree: Handle, intervals: usize) -> usize {
        let directory = if tree.is_directory { self.blocks.len_of(tree.origin) } else { 0 };
        // Each block is at least half full; three that were there are written again.
        let blocks = intervals.div_ceil(Self::FULL.capacity / 2) + 2 * 3 + 1;
        blocks * Self::FULL.lines() + Size::of(directory + blocks).lines()
    }

    /// Returns the number of leaf blocks of `intervals` intervals.
    fn leaf_blocks(intervals: usize) -> usize {
        if intervals <= Self::FULL.capacity {
            return 1;
        }
        let blocks = intervals.div_ceil(Self::FILLED);
        let levels = levels_of(intervals.div_ceil(Self::TIGHT));
        blocks.min(CHILDREN.pow(levels))
    }

    /// Plants the tree of some intervals, at least one.
    pub(super) fn plant(&mut self, intervals: &Intervals<u32>) -> Result<Handle, Limit> {
        if intervals.len() > Self::FULL.capacity {
            let mut directory = Intervals::default();
            self.plant_leaves(intervals, None, &mut directory)?;
            return self.plant_root(&directory, true);
        }
        self.plant_root(intervals, false)
    }

    fn plant_root(&mut self, intervals: &Intervals<u32>, is_directory: bool) -> Result<Handle, Limit> {
        let size = Size::of(intervals.len());
        self.written += 1;
        let origin = self.blocks.insert(size, Slice::all(intervals))?;
        Ok(Handle { origin, levels: size.levels, is_directory })
    }

    /// Returns where leaf blocks of `len` intervals end. They have about the same number each;
    /// where the interval `grows` has just come, those on both sides of it are
    /// [filled](Self::FILLED). So routes that come in order leave full blocks behind them, in
    /// either direction.
    fn cuts(len: usize, grows: Option<usize>) -> impl Iterator<Item = usize> {
        let blocks = grows.map_or_else(|| Self::leaf_blocks(len), |_| len.div_ceil(Self::TIGHT));
        let is_tight = blocks < len.div_ceil(Self::FILLED);
        let mut filled = grows
            .filter(|_| blocks > 1 && !is_tight)
            .map_or([0, 0], |at| [at / Self::FILLED, (len - at) / Self::FILLED]);
        let rest = |filled: [usize; 2]| len - (filled[0] + filled[1]) * Self::FILLED;
        if filled != [0, 0] && rest(filled) < Self::FEWEST {
            // Too few for a block: they share the intervals of a filled one.
            filled[usize::from(filled[1] > 0)] -= 1;
        }
        let (rest, [before, after]) = (rest(filled), filled);
        let between = blocks - before - after;
        (1..=blocks).map(move |block| match block {
            _ if block <= before => block * Self::FILLED,
            _ if block <= before + between => before * Self::FILLED + rest * (block - before) / between,
            _ => len - (blocks - block) * Self::FILLED,
        })
    }

    /// Writes intervals as leaf blocks, and appends these to `directory`. See [`cuts`](Self::cuts)
    /// for `grows`.
    fn plant_leaves(
        &mut self,
        intervals: &Intervals<u32>,
        grows: Option<usize>,
        directory: &mut Intervals<u32>,
    ) -> Result<(), Limit> {
        let mut start = 0;
        for end in Self::cuts(intervals.len(), grows) {
            self.written += 1;
            let size = Size::with_levels(LEAF, end - start);
            let origin = self.blocks.insert(size, Slice::part(intervals, start, end))?;
            directory.push(intervals.ends[end - 1], origin);
            start = end;
        }
        Ok(())
    }

    /// Frees the tree that a word names, if it names one.
    pub(super) fn fell(&mut self, word: u32) {
        if word & MARK == 0 {
            return;
        }
        let tree = Handle::unpack(word);
        if tree.is_directory {
            for leaf in 0..self.blocks.len_of(tree.origin) {
                self.remove_leaf(self.blocks.answer_of(tree.origin, leaf as u32));
            }
        }
        self.blocks.remove(tree.origin, self.blocks.size_of(tree));
        self.marked -= 1;
    }

    /// Returns all intervals of a tree.
    pub(super) fn all_of(&self, tree: Handle) -> Intervals<u32> {
        let mut all = Intervals::default();
        if !tree.is_directory {
            self.blocks.read(tree.origin, tree.levels, u64::MAX, &mut all);
            return all;
        }
        let leaves = self.blocks.len_of(tree.origin);
        (0..leaves).for_each(|leaf| self.read_leaf(tree, leaf, leaves, &mut all));
        all
    }

    /// Returns where the word that answers for `key` is: its block and its interval.
    fn place_of(&self, tree: Handle, key: u64) -> (u32, u32) {
        let at = self.blocks.interval_of(tree.origin, tree.levels, key);
        if !tree.is_directory {
            return (tree.origin, at);
        }
        let leaf = self.blocks.answer_of(tree.origin, at);
        (leaf, self.blocks.interval_of(leaf, LEAF, key))
    }

    /// Returns the word that answers for `key`.
    pub(super) fn word_of(&self, tree: Handle, key: u64) -> u32 {
        let (block, interval) = self.place_of(tree, key);
        self.blocks.answer_of(block, interval)
    }

    /// Replaces the word that answers for `key`, which must be an interval by itself.
    pub(super) fn set_word(&mut self, tree: Handle, key: u64, word: u32) {
        let (block, interval) = self.place_of(tree, key);
        self.blocks.set_answer(block, interval, word);
    }

    /// Returns the only word of a tree of one interval.
    pub(super) fn only_word(&self, tree: Handle) -> Option<u32> {
        let is_one = !tree.is_directory && self.blocks.len_of(tree.origin) == 1;
        is_one.then(|| self.blocks.answer_of(tree.origin, 0))
    }

    /// Writes a root block again, where it was if its size stays the same.
    pub(super) fn write_root(&mut self, tree: Handle, intervals: &Intervals<u32>) -> Result<Handle, Limit> {
        let had = self.blocks.size_of(tree);
        let fits = tree.is_directory || intervals.len() <= Self::FULL.capacity;
        if fits && Size::of(intervals.len()) == had {
            self.written += 1;
            self.blocks.write(tree.origin, tree.levels, Slice::all(intervals));
            return Ok(tree);
        }
        self.blocks.remove(tree.origin, had);
        if tree.is_directory { self.plant_root(intervals, true) } else { self.plant(intervals) }
    }

    /// Replaces leaf blocks, from leaf `first` to leaf `last`, by as many as `spliced` needs. The
    /// change began at `key`.
    pub(super) fn replace_leaves(
        &mut self,
        tree: Handle,
        (mut first, mut last): (usize, usize),
        key: u64,
        old: &mut Intervals<u32>,
        spliced: &mut Intervals<u32>,
    ) -> Result<Handle, Limit> {
        let Handle { origin, levels, .. } = tree;
        let leaves = self.blocks.len_of(origin);
        let has_grown = first == last && spliced.len() > Self::FULL.capacity;
        // Too few or too many for a block are shared with a neighbour, and before there is one more
        // with both.
        let is_full = |len: usize, blocks: usize| has_grown && len > blocks * Self::TIGHT;
        let is_shared = first == last || spliced.len() < Self::FEWEST;
        if is_shared && last + 1 < leaves {
            last += 1;
            old.clear();
            self.read_leaf(tree, last, leaves, old);
            old.iter().for_each(|(end, word)| spliced.join(end, word));
        }
        let is_alone = is_shared && last + 1 - first == 1;
        if first > 0 && (is_alone || is_full(spliced.len(), last + 1 - first)) {
            first -= 1;
            old.clear();
            self.read_leaf(tree, first, leaves, old);
            spliced.iter().for_each(|(end, word)| old.join(end, word));
            std::mem::swap(old, spliced);
        }
        old.clear();
        self.blocks.read(origin, levels, u64::MAX, old);
        for &leaf in &old.answers[first..=last] {
            self.remove_leaf(leaf);
        }
        if last + 1 - first == leaves && spliced.len() <= Self::FULL.capacity {
            self.blocks.remove(origin, self.blocks.size_of(tree));
            return self.plant_root(spliced, false);
        }
        let mut directory = Intervals::default();
        let others = |part: std::ops::Range<usize>| old.iter().skip(part.start).take(part.len());
        others(0..first).for_each(|(end, leaf)| directory.push(end, leaf));
        let grows = has_grown.then(|| spliced.interval_of(key, 0));
        self.plant_leaves(spliced, grows, &mut directory)?;
        others(last + 1..leaves).for_each(|(end, leaf)| directory.push(end, leaf));
        self.write_root(tree, &directory)
    }

    /// Frees the leaf block at `origin`.
    fn remove_leaf(&mut self, origin: u32) {
        let size = self.leaf_size(origin);
        self.blocks.remove(origin, size);
    }

    /// Returns the size of the leaf block at `origin`.
    fn leaf_size(&self, origin: u32) -> Size {
        Size::with_levels(LEAF, self.blocks.len_of(origin))
    }

    /// Writes a leaf block again, where it was if its size stays the same. Returns its origin.
    pub(super) fn write_leaf(&mut self, origin: u32, intervals: &Intervals<u32>) -> Result<u32, Limit> {
        let (had, size) = (self.leaf_size(origin), Size::with_levels(LEAF, intervals.len()));
        self.written += 1;
        if had == size {
            self.blocks.write(origin, LEAF, Slice::all(intervals));
            return Ok(origin);
        }
        self.blocks.remove(origin, had);
        self.blocks.insert(size, Slice::all(intervals))
    }

    /// Appends the intervals of leaf `leaf` of a tree of `leaves`.
    pub(super) fn read_leaf(&self, tree: Handle, leaf: usize, leaves: usize, into: &mut Intervals<u32>) {
        let is_last = leaf + 1 == leaves;
        let end = if is_last { u64::MAX } else { self.blocks.end_of(tree.origin, tree.levels, leaf) };
        self.blocks.read(self.blocks.answer_of(tree.origin, leaf as u32), LEAF, end, into);
    }
}
