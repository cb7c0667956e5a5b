//! [`PlanBView`]: what lookups read, and the lookup of one address. Batches are in
//! [`batch`](super::batch).

use super::node::Tree;
use fibula::engine::{Lookup, Meter, Unmetered, Width};
use fibula::parts::arch::{Isa, Scalar};
use fibula::parts::blocks::linear_tree::{CHILDREN, Node, halves};
use fibula::parts::blocks::rank::rank_before;
use fibula::parts::memory::{Array, Pages};

/// The trees as lookups read them.
#[derive(Clone, Debug)]
pub struct PlanBView<W: Width> {
    /// The nodes above the leaves, tree by tree.
    pub(super) inner: Array<Node>,
    /// The leaves, tree by tree.
    pub(super) leaves: Array<Node>,
    /// The answers of all intervals, tree by tree.
    pub(super) answers: Array<W>,
    /// A bit for each interval of the first tree, set for a /64 with bounds inside. Each word is
    /// stored beside the number of bits set before it. Empty if no bit is set.
    pub(super) marks: Array<[u64; 2]>,
    /// The tree of /64s, then the tree of each marked /64.
    pub(super) trees: Array<Tree>,
}

impl<W: Width> PlanBView<W> {
    /// Returns a view without any tree, which cannot look up yet.
    pub(super) fn without_trees(pages: Pages) -> Self {
        Self {
            inner: Array::new(pages),
            leaves: Array::new(pages),
            answers: Array::new(pages),
            marks: Array::new(pages),
            trees: Array::new(pages),
        }
    }

    /// Frees unused capacity.
    pub(super) fn shrink_to_fit(&mut self) {
        self.inner.shrink_to_fit();
        self.leaves.shrink_to_fit();
        self.answers.shrink_to_fit();
        self.trees.shrink_to_fit();
    }

    /// Returns the index of the answer of the interval of `tree` that `key` is in.
    #[inline(always)]
    fn interval(&self, isa: impl Isa, tree: Tree, key: u64, meter: &mut impl Meter) -> u32 {
        let mut at = 0;
        for level in 1..=tree.levels {
            let node = if level < tree.levels {
                &self.inner[tree.inner.wrapping_add(at) as usize]
            } else {
                &self.leaves[tree.leaves.wrapping_add(at) as usize]
            };
            at = child(at, isa.count_below(&meter.load::<Node>(node), key));
        }
        tree.answers.wrapping_add(at)
    }

    /// Looks up one address.
    #[inline(always)]
    fn one(&self, isa: impl Isa, address: u128, meter: &mut impl Meter) -> W {
        let (network, host) = halves(address);
        let at = self.interval(isa, self.trees[0], network, meter);
        let answer = meter.load(&self.answers[at as usize]);
        if answer.widen().0 != W::MAX {
            return answer;
        }
        // Such an answer may be a next hop all the same.
        let Some(word) = self.marks.get(at as usize / u64::BITS as usize) else { return answer };
        let (tree, true) = tree_of(meter.load(word), at) else { return answer };
        let tree = meter.load(&self.trees[tree as usize]);
        let at = self.interval(isa, tree, host, meter);
        meter.load(&self.answers[at as usize])
    }
}

/// Returns the number of the tree of a marked /64, and whether the interval at `at` is one, by its
/// word of the marks.
#[inline(always)]
pub(super) fn tree_of([bits, before]: [u64; 2], at: u32) -> (u32, bool) {
    let number = (before as u32).wrapping_add(1 + rank_before(bits, at));
    (number, bits >> (at % u64::BITS) & 1 == 1)
}

impl<W: Width> Lookup<u128> for PlanBView<W> {
    type Width = W;

    #[inline(always)]
    fn lookup_metered<M: Meter>(&self, address: u128, meter: &mut M) -> W {
        self.one(Scalar, address, meter)
    }

    #[inline(always)]
    fn lookup_on<I: Isa>(&self, isa: I, address: u128) -> W {
        self.one(isa, address, &mut Unmetered)
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, isa: I, addresses: &[u128], next_hops: &mut [W]) {
        self.many(isa, addresses, next_hops);
    }
}

/// Returns the number of the child of node `at` that has `below` children before it.
#[inline(always)]
pub(super) fn child(at: u32, below: u32) -> u32 {
    // Wraps only in snapshots that somebody forged, and then an index is past the end.
    at.wrapping_mul(CHILDREN as u32).wrapping_add(1 + below)
}
