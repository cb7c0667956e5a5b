//! The structural check.

use super::node::Tree;
use super::{PlanB, PlanBView};
use fibula::Rib;
use fibula::engine::Width;
use fibula::parts::blocks::linear_tree::{CHILDREN, levels_of, nodes_above};

/// The last numbers of intervals, and their answers.
type Intervals<W> = Vec<(u64, W)>;

impl<W: Width> PlanBView<W> {
    /// Returns the index of the first answer of tree `number`, or where the answers end.
    fn answers_start(&self, number: usize) -> usize {
        let start = |tree: &Tree| tree.answers.wrapping_add(nodes_above(tree.levels.min(16)) as u32) as usize;
        self.trees.get(number).map_or(self.answers.len(), start)
    }

    /// Returns the number of intervals of tree `number`.
    pub(super) fn intervals_of(&self, number: usize) -> usize {
        self.answers_start(number + 1).saturating_sub(self.answers_start(number))
    }

    /// Adds the separators below node `at` of a tree to `ends`, in order.
    fn separators(&self, tree: Tree, level: u32, at: u32, ends: &mut Vec<u64>) -> Result<(), String> {
        let (nodes, index) = if level < tree.levels {
            (&self.inner, tree.inner.wrapping_add(at))
        } else {
            (&self.leaves, tree.leaves.wrapping_add(at))
        };
        let Some(node) = nodes.get(index as usize) else {
            return Err(format!("node {index} of level {level} is past the end"));
        };
        for child in 0..CHILDREN {
            // What is behind the end has no nodes.
            if level < tree.levels && (child == 0 || node[child - 1] < u64::MAX) {
                let below = at * CHILDREN as u32 + 1 + child as u32;
                self.separators(tree, level + 1, below, ends)?;
            }
            ends.extend(node.get(child).filter(|&&end| end < u64::MAX));
        }
        Ok(())
    }

    /// Reads a tree back, and counts its nodes into `nodes`, first inner ones, then leaves.
    fn read_back(&self, number: usize, nodes: &mut [usize; 2]) -> Result<Intervals<W>, String> {
        let (tree, intervals) = (self.trees[number], self.intervals_of(number));
        if intervals == 0 || tree.levels != levels_of(intervals) {
            return Err(format!("tree {number} of {intervals} intervals has {} levels", tree.levels));
        }
        let leaves = tree.leaves.wrapping_add(nodes_above(tree.levels - 1) as u32);
        let starts = [tree.inner as usize, leaves as usize];
        if starts != *nodes {
            return Err(format!("tree {number} begins at nodes {starts:?}, expected {nodes:?}"));
        }
        let last = if tree.levels > 1 { intervals.div_ceil(CHILDREN * CHILDREN) } else { 0 };
        nodes[0] += nodes_above(tree.levels.saturating_sub(2)) + last;
        nodes[1] += intervals.div_ceil(CHILDREN);
        let mut ends = Vec::new();
        self.separators(tree, 1, 0, &mut ends)?;
        ends.push(u64::MAX);
        if ends.len() != intervals || !ends.is_sorted_by(|one, next| one < next) {
            return Err(format!("the {intervals} intervals of tree {number} end at {ends:x?}"));
        }
        let start = self.answers_start(number);
        Ok(ends.into_iter().zip(self.answers[start..start + intervals].iter().copied()).collect())
    }
}

impl<W: Width> PlanB<W> {
    /// Reads all trees back, and compares their intervals with the ranges of the table. Each array
    /// must be as long as its trees say.
    pub(super) fn check(&self, rib: &Rib<u128>) -> Result<(), String> {
        let view = &self.view;
        let mut nodes = [0; 2];
        let networks = view.read_back(0, &mut nodes)?;
        let mut found: Vec<(u128, W)> = Vec::new();
        let mut add = |end, answer| match found.last_mut() {
            Some(last) if last.1 == answer => last.0 = end,
            _ => found.push((end, answer)),
        };
        let mut marked = 0;
        for (at, (network, answer)) in networks.into_iter().enumerate() {
            let end = u128::from(network) << 64;
            let [bits, before] = view.marks.get(at / 64).copied().unwrap_or_default();
            if at % 64 == 0 && before != marked as u64 {
                return Err(format!("{before} marks before interval {at}, counted {marked}"));
            }
            if bits >> (at % 64) & 1 == 0 {
                add(end | u128::from(u64::MAX), answer);
                continue;
            }
            marked += 1;
            if answer.widen().0 != W::MAX || marked == view.trees.len() {
                return Err(format!("interval {at} is marked, its answer is {answer:?}"));
            }
            let hosts = view.read_back(marked, &mut nodes)?;
            for (host, answer) in hosts {
                add(end | u128::from(host), answer);
            }
        }
        let expected = rib.ranges().map(|range| (range.last, W::narrow(range.next_hop)));
        if let Some((found, expected)) =
            found.iter().copied().zip(expected.clone()).find(|(found, expected)| found != expected)
        {
            return Err(format!("an interval is {found:x?}, expected {expected:x?}"));
        }
        let said = (found.len(), marked + 1, nodes);
        let are = (expected.count(), view.trees.len(), [view.inner.len(), view.leaves.len()]);
        if said == are {
            Ok(())
        } else {
            Err(format!("ranges, trees and nodes are {are:?}, counted {said:?}"))
        }
    }
}
