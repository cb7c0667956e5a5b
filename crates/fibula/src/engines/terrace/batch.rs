//! The batch path: blocks of addresses go down the first tree in lockstep. Addresses in marked /64s
//! wait until there is a block of them, which then goes down its second trees in lockstep too.

use super::block::words;
use super::handle::{Handle, MARK, answer_at};
use super::view::{TerraceView, next_hop};
use crate::arch::{Isa, Reached, Roots};
use crate::blocks::linear_tree::{Node, Rounds, Waiting, halves, in_rounds, nodes_above};

/// The addresses of a block.
const BLOCK: usize = 32;
/// The addresses that wait at most. What was found for each is the handle of its tree.
const WAITING_MAX: usize = 2 * BLOCK;

/// What every block reads.
struct Batch<'v, I, const LEAF: u32> {
    lines: &'v [Node],
    words: &'v [u32],
    /// The tree of /64s.
    root: Handle,
    has_marks: bool,
    isa: I,
}

impl<const LEAF: u32> TerraceView<LEAF> {
    /// Looks up a batch.
    #[inline(always)]
    pub(in crate::engines) fn many<I: Isa>(&self, isa: I, addresses: &[u128], next_hops: &mut [u32]) {
        let lines: &[Node] = &self.trees.blocks.lines;
        let (words, has_marks) = (words(lines), self.trees.marked > 0);
        let batch = Batch::<I, LEAF> { lines, words, root: self.root, has_marks, isa };
        in_rounds::<BLOCK, WAITING_MAX, _, _, _>(&batch, addresses, next_hops);
    }
}

impl<I: Isa, const LEAF: u32> Rounds<u128, u32> for Batch<'_, I, LEAF> {
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index runs through arrays of one block")]
    fn begin<const N: usize, const MOST: usize>(
        &self,
        addresses: &[u128; N],
        len: usize,
        start: usize,
        next_hops: &mut [u32],
        waiting: &mut Waiting<MOST>,
    ) {
        let mut keys = [0; N];
        for lane in 0..N {
            keys[lane] = halves(addresses[lane]).0;
        }
        let (mut reached, mut found) = (Reached::<N>::ROOT, [0; N]);
        for level in 0..self.root.levels {
            let first = self.root.origin as usize + nodes_above(level);
            self.isa.step_down(&self.lines[first..], &keys, &mut reached);
        }
        for lane in 0..N {
            found[lane] = self.words[answer_at(self.root.origin, reached.index(lane)) as usize];
        }
        if self.root.is_directory {
            let (leaves, mut reached) = (Roots::at(&found), Reached::<N>::ROOT);
            for level in 0..LEAF {
                let above = nodes_above(level) as u32;
                self.isa.step_down_from(self.lines, &leaves, above, &keys, &mut reached);
            }
            for lane in 0..N {
                found[lane] = self.words[answer_at(found[lane], reached.index(lane)) as usize];
            }
        }
        let next_hops = &mut next_hops[start..start + len];
        for lane in 0..len {
            next_hops[lane] = next_hop(found[lane]);
        }
        if self.has_marks {
            waiting.push(len, start, |lane| (found[lane], found[lane] & MARK != 0));
        }
    }

    /// Each goes down the tree of its /64. Addresses whose root block has fewer levels, or that
    /// need no leaf block, stay where they are until all are there.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index runs through arrays of one block")]
    fn finish<const N: usize, const MOST: usize>(
        &self,
        waiting: &mut Waiting<MOST>,
        addresses: &[u128],
        next_hops: &mut [u32],
    ) {
        let (mut found, indices) = waiting.pop::<N>();
        let (mut origins, mut levels) = ([0; N], [0; N]);
        let (mut keys, mut in_leaves) = ([0; N], [false; N]);
        let (mut most_levels, mut any_in_leaves) = (0, false);
        for lane in 0..N {
            let tree = Handle::unpack(found[lane]);
            keys[lane] = halves(addresses[indices[lane]]).1;
            (origins[lane], levels[lane], in_leaves[lane]) = (tree.origin, tree.levels, tree.is_directory);
            most_levels = tree.levels.max(most_levels);
            any_in_leaves |= tree.is_directory;
        }
        let (roots, mut reached) = (Roots::at(&origins), Reached::ROOT);
        for level in 0..most_levels {
            let mut going = [false; N];
            for lane in 0..N {
                going[lane] = level < levels[lane];
            }
            let from = (&roots, nodes_above(level) as u32);
            self.isa.step_some_down_from(self.lines, from, &going, &keys, &mut reached);
        }
        for lane in 0..N {
            found[lane] = self.words[answer_at(origins[lane], reached.index(lane)) as usize];
        }
        if any_in_leaves {
            for lane in 0..N {
                origins[lane] = if in_leaves[lane] { found[lane] } else { origins[lane] };
            }
            let (roots, mut reached) = (Roots::at(&origins), Reached::ROOT);
            for level in 0..LEAF {
                let from = (&roots, nodes_above(level) as u32);
                self.isa.step_some_down_from(self.lines, from, &in_leaves, &keys, &mut reached);
            }
            for lane in 0..N {
                let word = self.words[answer_at(origins[lane], reached.index(lane)) as usize];
                found[lane] = if in_leaves[lane] { word } else { found[lane] };
            }
        }
        for lane in 0..N {
            next_hops[indices[lane]] = next_hop(found[lane]);
        }
    }
}
