//! The batch path: blocks of addresses go down the first tree in lockstep. Addresses in marked /64s
//! wait until there is a block of them, which then goes down its second trees in lockstep too.
//!
//! The inner nodes are in the near caches, but the leaves and the answers of a large table are not.
//! There both are prefetched, and read when other blocks have gone down the inner nodes meanwhile.

use super::PlanBView;
use super::node::Tree;
use super::view::tree_of;
use crate::arch::{Isa, Reached, prefetch};
use crate::blocks::linear_tree::{CHILDREN, Node, Rounds, Waiting, child, for_lanes, halves, in_rounds};
use crate::engine::Width;

/// The addresses of a block.
const BLOCK: usize = 16;
/// The addresses that wait at most. What was found for each is its interval, as the index of the
/// answer.
const WAITING_MAX: usize = 2 * BLOCK;
/// The stages: inner nodes, leaves, answers.
const STAGES: usize = 3;

/// The most bytes of leaves and answers that are not prefetched: the second-level cache is near
/// enough.
const NEAR: usize = 2 << 20;

/// The arrays that every block reads, and what is known of the first tree. Without marks there is a
/// copy of the code that notes no addresses: the notes take registers from the way down the tree.
/// Another copy prefetches nothing.
struct Batch<'v, W, I, const MARKED: bool, const FAR: bool> {
    inner: &'v [Node],
    leaves: &'v [Node],
    answers: &'v [W],
    marks: &'v [[u64; 2]],
    trees: &'v [Tree],
    /// The first tree.
    networks: Tree,
    isa: I,
}

impl<W: Width> PlanBView<W> {
    /// Looks up a batch.
    #[inline(always)]
    pub(super) fn many<I: Isa>(&self, isa: I, addresses: &[u128], next_hops: &mut [W]) {
        let is_far = size_of_val(&self.leaves[..]) + size_of_val(&self.answers[..]) > NEAR;
        match (self.marks.is_empty(), is_far) {
            (true, false) => self.many_in::<_, false, false>(isa, addresses, next_hops),
            (true, true) => self.many_in::<_, false, true>(isa, addresses, next_hops),
            (false, false) => self.many_in::<_, true, false>(isa, addresses, next_hops),
            (false, true) => self.many_in::<_, true, true>(isa, addresses, next_hops),
        }
    }

    #[inline(always)]
    fn many_in<I: Isa, const MARKED: bool, const FAR: bool>(
        &self,
        isa: I,
        addresses: &[u128],
        next_hops: &mut [W],
    ) {
        let batch = Batch::<_, _, MARKED, FAR> {
            inner: &self.inner,
            leaves: &self.leaves,
            answers: &self.answers,
            marks: &self.marks,
            trees: &self.trees,
            networks: self.trees[0],
            isa,
        };
        in_rounds::<BLOCK, WAITING_MAX, STAGES, _, _>(&batch, addresses, next_hops);
    }
}

impl<W: Width, I: Isa, const MARKED: bool, const FAR: bool> Rounds<W, WAITING_MAX, STAGES>
    for Batch<'_, W, I, MARKED, FAR>
{
    const IS_FAR: bool = FAR;

    type Found<const N: usize> = Reached<N>;

    #[inline(always)]
    fn nothing<const N: usize>() -> Reached<N> {
        Reached::ROOT
    }

    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index runs through arrays of one block")]
    fn run<const N: usize>(&self, stage: usize, addresses: &[u128; N], found: &mut Reached<N>) {
        let mut keys = [0; N];
        for lane in 0..N {
            keys[lane] = halves(addresses[lane]).0;
        }
        if stage == 0 {
            let mut reached = Reached::ROOT;
            let (mut above, mut width) = (0, 1);
            for _ in 1..self.networks.levels {
                self.isa.step_down(&self.inner[above..], &keys, &mut reached);
                (above, width) = (above + width, width * CHILDREN);
            }
            if FAR {
                for lane in 0..N {
                    prefetch(self.leaves, reached.index(lane) as usize);
                }
            }
            *found = reached;
        } else {
            self.isa.step_down(self.leaves, &keys, found);
            if FAR {
                for lane in 0..N {
                    prefetch(self.answers, found.index(lane) as usize);
                }
            }
        }
    }

    #[inline(always)]
    fn end<const N: usize>(
        &self,
        _: &[u128; N],
        found: &Reached<N>,
        len: usize,
        start: usize,
        next_hops: &mut [W],
        waiting: &mut Waiting<WAITING_MAX>,
    ) {
        let next_hops = &mut next_hops[start..start + len];
        for (lane, next_hop) in next_hops.iter_mut().enumerate() {
            *next_hop = self.answers[found.index(lane) as usize];
        }
        if MARKED {
            waiting.push(len, start, |lane| (found.index(lane), next_hops[lane].widen().0 == W::MAX));
        }
    }

    /// Each goes down the tree of its /64. Addresses whose tree has fewer levels stay at their leaf
    /// until all are there.
    #[inline(always)]
    fn finish(&self, waiting: &mut Waiting<WAITING_MAX>, addresses: &[u128], next_hops: &mut [W]) {
        let (intervals, indices) = waiting.pop::<BLOCK>();
        let (mut is_marked, mut keys) = ([false; BLOCK], [0; BLOCK]);
        let mut trees = [Tree::default(); BLOCK];
        let mut levels = 1;
        for lane in 0..BLOCK {
            let word = self.marks[intervals[lane] as usize / u64::BITS as usize];
            let tree;
            (tree, is_marked[lane]) = tree_of(word, intervals[lane]);
            // Where the next hop is the greatest, but no mark, the first tree is as good as any.
            trees[lane] = self.trees[if is_marked[lane] { tree as usize } else { 0 }];
            keys[lane] = halves(addresses[indices[lane]]).1;
            levels = trees[lane].levels.max(levels);
        }
        let mut at = [0; BLOCK];
        for level in 1..levels {
            for_lanes::<BLOCK>(|lane| {
                let is_inner = level < trees[lane].levels;
                let node = if is_inner { trees[lane].inner.wrapping_add(at[lane]) } else { 0 };
                let below = self.isa.count_below(&self.inner[node as usize], keys[lane]);
                at[lane] = if is_inner { child(at[lane], below) } else { at[lane] };
            });
        }
        for_lanes::<BLOCK>(|lane| {
            let Tree { leaves, answers, .. } = trees[lane];
            let node = &self.leaves[leaves.wrapping_add(at[lane]) as usize];
            let at = answers.wrapping_add(child(at[lane], self.isa.count_below(node, keys[lane])));
            let at = if is_marked[lane] { at } else { intervals[lane] };
            next_hops[indices[lane]] = self.answers[at as usize];
        });
    }
}
