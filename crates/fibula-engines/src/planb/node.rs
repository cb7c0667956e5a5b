//! The trees: where each begins, and how one is written.

use super::PlanB;
use fibula::engine::Width;
use fibula::parts::blocks::linear_tree::{CHILDREN, levels_of, node, nodes_above};
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// One tree. The nodes of a full tree are numbered level by level from the root, 0. The children of
/// node *n* are 9 *n* + 1 to 9 *n* + 9; those of a leaf are the numbers of intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(super) struct Tree {
    /// The index of inner node 0.
    pub inner: u32,
    /// What is added to the number of a leaf, modulo 2^32, to get its index.
    pub leaves: u32,
    /// What is added to the number of an interval, modulo 2^32, to get the index of its answer.
    pub answers: u32,
    /// The number of levels, leaves included, at least 1.
    pub levels: u32,
}

impl<W: Width> PlanB<W> {
    /// Appends the tree of some intervals, each given by its last number and its answer. The last
    /// interval ends at the greatest number. O(n).
    pub(super) fn plant(&mut self, ends: &[u64], answers: &[W]) {
        let view = &mut self.view;
        let levels = levels_of(ends.len());
        view.trees.push(Tree {
            inner: view.inner.len() as u32,
            leaves: (view.leaves.len() as u32).wrapping_sub(nodes_above(levels - 1) as u32),
            answers: (view.answers.len() as u32).wrapping_sub(nodes_above(levels) as u32),
            levels,
        });
        for level in 0..levels - 1 {
            let span = CHILDREN.pow(levels - 1 - level);
            // Only on the last level of inner nodes are those left out that would be empty: the
            // numbers of the leaves below it are made up for it.
            let is_last = level + 2 == levels;
            let nodes = if is_last { ends.len().div_ceil(span * CHILDREN) } else { CHILDREN.pow(level) };
            (0..nodes).for_each(|at| view.inner.push(node(ends, at, span)));
        }
        (0..ends.len().div_ceil(CHILDREN)).for_each(|at| view.leaves.push(node(ends, at, 1)));
        view.answers.extend_from_slice(answers);
    }
}
