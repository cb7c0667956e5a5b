//! The batch path: blocks of addresses go down the first tree in lockstep. Addresses in marked /64s
//! wait until there is a block of them, which then goes down its second trees in lockstep too.

use super::PlanBView;
use super::node::Tree;
use super::view::{child, tree_of};
use fibula::engine::Width;
use fibula::parts::arch::{Isa, Reached};
use fibula::parts::blocks::linear_tree::{CHILDREN, Node, Rounds, Waiting, for_lanes, halves, in_rounds};

/// The addresses of a block.
const BLOCK: usize = 16;
/// The addresses that wait at most. What was found for each is its interval, as the index of the
/// answer.
const WAITING_MAX: usize = 2 * BLOCK;

/// The arrays that every block reads, and what is known of the first tree. Without marks there is a
/// copy of the code that notes no addresses: the notes take registers from the way down the tree.
struct Batch<'v, W, I, const MARKED: bool> {
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
        if self.marks.is_empty() {
            self.many_in::<_, false>(isa, addresses, next_hops);
        } else {
            self.many_in::<_, true>(isa, addresses, next_hops);
        }
    }

    #[inline(always)]
    fn many_in<I: Isa, const MARKED: bool>(&self, isa: I, addresses: &[u128], next_hops: &mut [W]) {
        let batch = Batch::<_, _, MARKED> {
            inner: &self.inner,
            leaves: &self.leaves,
            answers: &self.answers,
            marks: &self.marks,
            trees: &self.trees,
            networks: self.trees[0],
            isa,
        };
        in_rounds::<BLOCK, WAITING_MAX, _, _, _>(&batch, addresses, next_hops);
    }
}

impl<W: Width, I: Isa, const MARKED: bool> Rounds<u128, W> for Batch<'_, W, I, MARKED> {
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index runs through arrays of one block")]
    fn begin<const N: usize, const MOST: usize>(
        &self,
        addresses: &[u128; N],
        len: usize,
        start: usize,
        next_hops: &mut [W],
        waiting: &mut Waiting<MOST>,
    ) {
        let mut keys = [0; N];
        for lane in 0..N {
            keys[lane] = halves(addresses[lane]).0;
        }
        let mut reached = Reached::<N>::ROOT;
        let (mut above, mut width) = (0, 1);
        for _ in 1..self.networks.levels {
            self.isa.step_down(&self.inner[above..], &keys, &mut reached);
            (above, width) = (above + width, width * CHILDREN);
        }
        self.isa.step_down(self.leaves, &keys, &mut reached);
        let next_hops = &mut next_hops[start..start + len];
        for lane in 0..len {
            next_hops[lane] = self.answers[reached.index(lane) as usize];
        }
        if MARKED {
            waiting.push(len, start, |lane| (reached.index(lane), next_hops[lane].widen().0 == W::MAX));
        }
    }

    /// Each goes down the tree of its /64. Addresses whose tree has fewer levels stay at their leaf
    /// until all are there.
    #[inline(always)]
    fn finish<const N: usize, const MOST: usize>(
        &self,
        waiting: &mut Waiting<MOST>,
        addresses: &[u128],
        next_hops: &mut [W],
    ) {
        let (intervals, indices) = waiting.pop::<N>();
        let (mut is_marked, mut keys) = ([false; N], [0; N]);
        let mut trees = [Tree::default(); N];
        let mut levels = 1;
        for lane in 0..N {
            let word = self.marks[intervals[lane] as usize / u64::BITS as usize];
            let tree;
            (tree, is_marked[lane]) = tree_of(word, intervals[lane]);
            // Where the next hop is the greatest, but no mark, the first tree is as good as any.
            trees[lane] = self.trees[if is_marked[lane] { tree as usize } else { 0 }];
            keys[lane] = halves(addresses[indices[lane]]).1;
            levels = trees[lane].levels.max(levels);
        }
        let mut at = [0; N];
        for level in 1..levels {
            for_lanes::<N>(|lane| {
                let is_inner = level < trees[lane].levels;
                let node = if is_inner { trees[lane].inner.wrapping_add(at[lane]) } else { 0 };
                let below = self.isa.count_below(&self.inner[node as usize], keys[lane]);
                at[lane] = if is_inner { child(at[lane], below) } else { at[lane] };
            });
        }
        for_lanes::<N>(|lane| {
            let Tree { leaves, answers, .. } = trees[lane];
            let node = &self.leaves[leaves.wrapping_add(at[lane]) as usize];
            let at = answers.wrapping_add(child(at[lane], self.isa.count_below(node, keys[lane])));
            let at = if is_marked[lane] { at } else { intervals[lane] };
            next_hops[indices[lane]] = self.answers[at as usize];
        });
    }
}
