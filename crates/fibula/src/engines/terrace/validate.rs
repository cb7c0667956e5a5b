//! The structural check.

use super::block::Size;
use super::handle::{Handle, MARK};
use super::tree::Trees;
use super::view::TerraceView;
use crate::NextHop;
use crate::blocks::linear_tree::Intervals;
use crate::blocks::reached::Reached;
use crate::engine::Figure;
use crate::rib::OfLengths;

impl<const LEAF: u32> Trees<LEAF> {
    /// Reads a block back, marks its lines as reached, and checks that a search finds each of its
    /// intervals. The block begins at `begins` and ends at `last`.
    fn read_block(
        &self,
        origin: u32,
        size: Size,
        (begins, last): (u64, u64),
        reached: &mut Reached,
    ) -> Result<Intervals<u32>, String> {
        let Some(start) = (origin as usize).checked_sub(size.answer_lines()) else {
            return Err(format!("the block at {origin} begins before the first line"));
        };
        reached.mark((start, size.lines()))?;
        let len = self.blocks.len_of(origin);
        if len == 0 || len > size.capacity {
            return Err(format!("the block at {origin} has {len} of {} intervals", size.capacity));
        }
        let mut intervals = Intervals::default();
        self.blocks.read(origin, size.levels, last, &mut intervals);
        let mut first = begins;
        for (at, &end) in intervals.ends.iter().enumerate() {
            let found = [first, end].map(|key| self.blocks.interval_of(origin, size.levels, key) as usize);
            if end < first || found != [at; 2] {
                return Err(format!("interval {at} of the block at {origin} is {first:x} to {end:x}"));
            }
            first = end.wrapping_add(1);
        }
        Ok(intervals)
    }

    /// Returns the size that the block at `origin` must have, of `levels` levels.
    fn size_at(&self, origin: u32, levels: u32) -> Result<Size, String> {
        if origin == 0 || origin as usize > self.blocks.lines.len() {
            return Err(format!("a block at {origin}, which is outside the lines"));
        }
        let len = self.blocks.len_of(origin);
        if len == 0 || len > Size::full(levels).capacity {
            return Err(format!("a block of {len} intervals has {levels} levels"));
        }
        Ok(Size::with_levels(levels, len))
    }

    /// Reads a tree back.
    pub(super) fn read_back(&self, tree: Handle, reached: &mut Reached) -> Result<Intervals<u32>, String> {
        let size = self.size_at(tree.origin, tree.levels)?;
        let levels_max = if tree.is_directory { u32::MAX } else { LEAF };
        if size != Size::of(self.blocks.len_of(tree.origin)) || tree.levels > levels_max {
            return Err(format!("a tree of {} levels, {size:?}", tree.levels));
        }
        let root = self.read_block(tree.origin, size, (0, u64::MAX), reached)?;
        if !tree.is_directory {
            return Ok(root);
        }
        if root.len() < 2 {
            return Err(format!("a directory of {} blocks", root.len()));
        }
        let (mut all, mut begins) = (Intervals::default(), 0);
        for (end, leaf) in root.iter() {
            let size = self.size_at(leaf, LEAF)?;
            let intervals = self.read_block(leaf, size, (begins, end), reached)?;
            if intervals.len() < Self::FEWEST {
                return Err(format!("the leaf block at {leaf} has {} intervals", intervals.len()));
            }
            intervals.iter().for_each(|(end, word)| all.push(end, word));
            begins = end.wrapping_add(1);
        }
        Ok(all)
    }
}

impl<const LEAF: u32> TerraceView<LEAF> {
    /// Reads all trees back, and compares their intervals with the ranges of the table. Each line
    /// must belong to one block or be free.
    pub(in crate::engines) fn check(&self, routes: OfLengths<'_, u128>) -> Result<(), String> {
        let trees = &self.trees;
        trees.blocks.lines.validate()?;
        let mut reached = Reached::new("lines", trees.blocks.lines.len());
        let networks = trees.read_back(self.root, &mut reached)?;
        let mut found: Vec<(u128, u32)> = Vec::new();
        let mut add = |end, answer| match found.last_mut() {
            Some(last) if last.1 == answer => last.0 = end,
            _ => found.push((end, answer)),
        };
        let (mut marked, mut begins) = (0, 0);
        for (network, word) in networks.iter() {
            let end = u128::from(network) << 64;
            if word & MARK == 0 {
                add(end | u128::from(u64::MAX), word);
            } else {
                marked += 1;
                let hosts = trees.read_back(Handle::unpack(word), &mut reached)?;
                if begins != network || hosts.len() < 2 {
                    return Err(format!(
                        "a tree of {} intervals from {begins:x} to {network:x}",
                        hosts.len()
                    ));
                }
                hosts.iter().for_each(|(host, answer)| add(end | u128::from(host), answer));
            }
            begins = network.wrapping_add(1);
        }
        reached.check(trees.blocks.lines.free_total())?;
        if marked != trees.marked {
            return Err(format!("{marked} marked /64s, counted {}", trees.marked));
        }
        let mut expected = routes.ranges().map(|range| (range.last, range.next_hop));
        for (end, answer) in found {
            let expected = expected.next();
            if expected != Some((end, NextHop(answer))) {
                return Err(format!("an interval ends at {end:x}, answer {answer}, expected {expected:x?}"));
            }
        }
        expected.next().map_or(Ok(()), |missing| Err(format!("missing: {missing:x?}")))
    }

    /// Counts what the trees consist of.
    pub(super) fn count(&self) -> Vec<Figure> {
        let trees = &self.trees;
        let networks = trees.all_of(self.root);
        let handles = networks.answers.iter().filter(|&&word| word & MARK != 0);
        let (mut hosts, mut deepest) = (0, 0);
        for tree in handles.map(|&word| Handle::unpack(word)) {
            hosts += trees.all_of(tree).len();
            deepest = Self::levels(tree).max(deepest);
        }
        let free = trees.blocks.lines.free_total();
        vec![
            Figure::count("intervals of /64s", networks.len()),
            Figure::count("levels", Self::levels(self.root) as usize),
            Figure::count("/64s with intervals inside", trees.marked),
            Figure::count("intervals inside /64s", hosts),
            Figure::count("levels inside /64s", deepest as usize),
            Figure::count("free lines of 64 bytes", free),
        ]
    }

    /// Returns the levels that a search in a tree takes.
    fn levels(tree: Handle) -> u32 {
        tree.levels + if tree.is_directory { LEAF } else { 0 }
    }
}
