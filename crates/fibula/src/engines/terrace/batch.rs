//! The batch path: blocks of addresses go down the first tree in lockstep. Addresses in marked /64s
//! wait until there is a block of them, which then goes down its second trees in lockstep too.

use super::block::words;
use super::handle::{Handle, MARK, answer_at};
use super::view::{TerraceView, child, narrow};
use crate::arch::{Isa, Reached};
use crate::blocks::linear_tree::{self, Node, for_lanes, halves, nodes_above};
use crate::blocks::pipeline::ask_ahead;
use crate::engine::Width;

/// The addresses of a block.
const BLOCK: usize = 16;
/// The addresses of each block at the end of a batch, the last of which is filled up.
const SHORT_BLOCK: usize = 8;

/// The words of addresses in marked /64s.
type Waiting = linear_tree::Waiting<{ 2 * BLOCK }>;

/// What every block reads.
struct Batch<'v, I, const LEAF: u32> {
    lines: &'v [Node],
    words: &'v [u32],
    /// The tree of /64s.
    root: Handle,
    has_marks: bool,
    isa: I,
}

impl<W: Width, const LEAF: u32> TerraceView<W, LEAF> {
    /// Looks up a batch.
    #[inline(always)]
    pub(super) fn many<I: Isa>(&self, isa: I, addresses: &[u128], next_hops: &mut [W]) {
        let lines: &[Node] = &self.trees.blocks.lines;
        let (words, has_marks) = (words(lines), self.trees.marked > 0);
        let batch = Batch::<I, LEAF> { lines, words, root: self.root, has_marks, isa };
        let mut waiting = Waiting::NONE;
        let mut done = 0;
        while let Some(block) = addresses[done..].first_chunk() {
            ask_ahead::<BLOCK, u128>(addresses, done);
            batch.block::<W, BLOCK>(block, BLOCK, done, next_hops, &mut waiting);
            if waiting.len() >= BLOCK {
                batch.finish(&mut waiting, addresses, next_hops);
            }
            done += BLOCK;
        }
        for rest in addresses[done..].chunks(SHORT_BLOCK) {
            let mut block = [0; SHORT_BLOCK];
            block[..rest.len()].copy_from_slice(rest);
            batch.block(&block, rest.len(), done, next_hops, &mut waiting);
            done += rest.len();
        }
        while !waiting.is_empty() {
            batch.finish(&mut waiting, addresses, next_hops);
        }
    }
}

impl<I: Isa, const LEAF: u32> Batch<'_, I, LEAF> {
    /// Looks up the first `len` addresses of a block in the first tree. The block is at index
    /// `start` of the batch. Those that are not done yet go to `waiting`.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index runs through arrays of one block")]
    fn block<W: Width, const N: usize>(
        &self,
        addresses: &[u128; N],
        len: usize,
        start: usize,
        next_hops: &mut [W],
        waiting: &mut Waiting,
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
            let mut at = [0; N];
            for level in 0..LEAF {
                for_lanes::<N>(|lane| at[lane] = self.step(found[lane], level, at[lane], keys[lane]));
            }
            for lane in 0..N {
                found[lane] = self.words[answer_at(found[lane], at[lane]) as usize];
            }
        }
        let next_hops = &mut next_hops[start..start + len];
        for lane in 0..len {
            next_hops[lane] = narrow(found[lane]);
        }
        if self.has_marks {
            for lane in 0..len {
                waiting.push(found[lane], start + lane, found[lane] & MARK != 0);
            }
        }
    }

    /// Returns the child that a key takes from node `at` of a level of the block at `origin`.
    #[inline(always)]
    fn step(&self, origin: u32, level: u32, at: u32, key: u64) -> u32 {
        let node = origin.wrapping_add(nodes_above(level) as u32).wrapping_add(at);
        child(at, self.isa.count_below(&self.lines[node as usize], key))
    }

    /// Looks up a block of waiting addresses, each in the tree of its /64. Addresses whose root
    /// block has fewer levels, or that need no leaf block, stay where they are until all are there.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index runs through arrays of one block")]
    fn finish<W: Width>(&self, waiting: &mut Waiting, addresses: &[u128], next_hops: &mut [W]) {
        let (mut found, indices) = waiting.pop::<BLOCK>();
        let (mut trees, mut keys) = ([Handle::default(); BLOCK], [0; BLOCK]);
        let (mut levels, mut have_directory) = (0, false);
        for lane in 0..BLOCK {
            trees[lane] = Handle::unpack(found[lane]);
            keys[lane] = halves(addresses[indices[lane]]).1;
            levels = trees[lane].levels.max(levels);
            have_directory |= trees[lane].is_directory;
        }
        let mut at = [0; BLOCK];
        for level in 0..levels {
            for_lanes::<BLOCK>(|lane| {
                let Handle { origin, levels, .. } = trees[lane];
                let goes_on = level < levels;
                // A line that is loaded already takes the place of one that is not needed.
                let below = self.step(
                    origin,
                    if goes_on { level } else { 0 },
                    if goes_on { at[lane] } else { 0 },
                    keys[lane],
                );
                at[lane] = if goes_on { below } else { at[lane] };
            });
        }
        for lane in 0..BLOCK {
            found[lane] = self.words[answer_at(trees[lane].origin, at[lane]) as usize];
        }
        if have_directory {
            let (mut blocks, mut at) = ([0; BLOCK], [0; BLOCK]);
            for lane in 0..BLOCK {
                blocks[lane] = if trees[lane].is_directory { found[lane] } else { trees[lane].origin };
            }
            for level in 0..LEAF {
                for_lanes::<BLOCK>(|lane| {
                    let goes_on = trees[lane].is_directory;
                    let below =
                        self.step(blocks[lane], if goes_on { level } else { 0 }, at[lane], keys[lane]);
                    at[lane] = if goes_on { below } else { 0 };
                });
            }
            for lane in 0..BLOCK {
                let word = self.words[answer_at(blocks[lane], at[lane]) as usize];
                found[lane] = if trees[lane].is_directory { word } else { found[lane] };
            }
        }
        for lane in 0..BLOCK {
            next_hops[indices[lane]] = narrow(found[lane]);
        }
    }
}
