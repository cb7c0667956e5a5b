//! Builds the trie over a base vector: Section III-A of the paper, level by level from the root.

use super::node::{MAX_BRANCH, MAX_SKIP, Node};
use super::strings::{Base, Strings};
use super::{NODES, Shape};
use fibula::engine::Width;
use fibula::parts::memory::{Array, Pages};
use fibula::{Address, Limit};
use std::cmp::Reverse;
use std::ops::Range;

/// The root gets at most 2^`ROOT_SLACK` times as many children as there are base strings, whatever
/// the configuration. A table of ten routes should not be as large as a full one.
const ROOT_SLACK: u8 = 3;

/// A node still to be made, for two base strings or more.
struct Task {
    /// Its index in the trie.
    at: usize,
    /// Its first base string.
    first: usize,
    /// Its last base string.
    last: usize,
    /// The address bits that the path to it has used.
    depth: u8,
}

/// A trie that is being built.
struct Growth<'s, A: Address, W: Width> {
    strings: &'s Strings<A, W>,
    /// The number of bits that each base string shares with the next. Base strings are in order, so
    /// any two share the least that neighbours between them do. So these numbers tell where a
    /// node's children separate.
    shared: Vec<u8>,
    shape: Shape,
    max_nodes: u64,
    trie: Array<Node>,
    tasks: Vec<Task>,
}

/// Returns the trie over `strings`, of at most `max_nodes` nodes. O(n · depth), and the depth is
/// small: see the paper.
pub(super) fn grow<A: Address, W: Width>(
    strings: &Strings<A, W>,
    shape: Shape,
    pages: Pages,
    max_nodes: u64,
) -> Result<Array<Node>, Limit> {
    let bases = &strings.bases;
    // Every base string has a leaf of its own. This also ensures that indices fit into 32 bits.
    Limit::check(NODES, bases.len() as u64, max_nodes)?;
    let mut trie = Array::new(pages);
    trie.push(Node::leaf(0));
    if bases.len() == 1 {
        return Ok(trie);
    }
    trie.push(Node::leaf(0)); // so that children begin at even indices
    let shared = bases.windows(2).map(|pair| pair[0].string.common_prefix_len(pair[1].string)).collect();
    let root = Task { at: 0, first: 0, last: bases.len() - 1, depth: 0 };
    let mut growth = Growth { strings, shared, shape, max_nodes, trie, tasks: vec![root] };
    while let Some(task) = growth.tasks.pop() {
        growth.branch(&task)?;
    }
    growth.trie.shrink_to_fit();
    Ok(growth.trie)
}

impl<A: Address, W: Width> Growth<'_, A, W> {
    /// Makes a node and the leaves among its children. The other children become tasks.
    fn branch(&mut self, task: &Task) -> Result<(), Limit> {
        let (skip, branch) = self.skip_and_branch(task);
        let (position, end) = (task.depth + skip, task.depth + skip + branch);
        let children = self.trie.len();
        let needed = children + (1 << branch);
        Limit::check(NODES, needed as u64, self.max_nodes)?;
        self.trie.resize(needed, Node::leaf(0));
        self.trie[task.at] = Node::branching(branch, skip, children);

        let (mut first, mut empty) = (task.first, 0);
        while first <= task.last {
            let parts = |&at: &usize| self.shared[at] < end;
            let last = (first..task.last).find(parts).unwrap_or(task.last);
            let base = self.strings.bases[first];
            let child = base.string.bits(position, branch) as usize;
            let before = (first > task.first).then(|| first - 1);
            self.fill_empty(children, empty..child, position, branch, (before, Some(first)));
            // A base string that ends inside these bits has all the children that begin with it.
            let width = 1 << end.saturating_sub(base.len);
            if first == last {
                self.trie[children + child..][..width].fill(Node::leaf(first));
            } else {
                debug_assert_eq!(width, 1, "no base string covers another");
                self.tasks.push(Task { at: children + child, first, last, depth: end });
            }
            empty = child + width;
            first = last + 1;
        }
        self.fill_empty(children, empty..1 << branch, position, branch, (Some(task.last), None));
        Ok(())
    }

    /// Returns the number of bits that all base strings of a node share past its depth, and the
    /// number of bits on which it branches. The branch takes the most bits for which the share of
    /// children with a base string never falls below the fill factor, but no more than separate all
    /// base strings.
    fn skip_and_branch(&self, task: &Task) -> (u8, u8) {
        let bases = &self.strings.bases;
        let common = bases[task.first].string.common_prefix_len(bases[task.last].string);
        let skip = common - task.depth;
        if skip > MAX_SKIP {
            return (MAX_SKIP, 1);
        }
        let widest = MAX_BRANCH.min(A::BITS - common);
        if task.at == 0 && self.shape.root > 0 {
            let worth = (task.last + 1).ilog2() as u8 + ROOT_SLACK;
            return (skip, self.shape.root.min(worth).min(widest));
        }
        // The number of neighbours that separate at each bit from `common` on. Branching on *k*
        // bits gives one more non-empty child than the first *k* of these add up to.
        let mut parting = [0_u64; MAX_BRANCH as usize];
        for &shared in &self.shared[task.first..task.last] {
            if let Some(count) = parting.get_mut(usize::from(shared - common)) {
                *count += 1;
            }
        }
        let strings = (task.last - task.first + 1) as u64;
        let (mut branch, mut filled) = (1, 1 + parting[0]);
        while filled < strings && branch < widest {
            filled += parting[usize::from(branch)];
            if filled * 100 < u64::from(self.shape.fill) << (branch + 1) {
                break;
            }
            branch += 1;
        }
        (skip, branch)
    }

    /// Gives a leaf to each child that no base string begins. It is the leaf of the neighbour,
    /// before or after, whose chain has the longest cover of the child. Such a cover has base
    /// strings under the node, including those next to the child. Of two equal neighbours it takes
    /// the one whose chain reaches the cover in fewer steps.
    fn fill_empty(
        &mut self,
        children: usize,
        empty: Range<usize>,
        position: u8,
        branch: u8,
        neighbours: (Option<usize>, Option<usize>),
    ) {
        let neighbours = match neighbours {
            (Some(before), Some(after)) => [before, after],
            (Some(only), None) | (None, Some(only)) => {
                return self.trie[children + empty.start..children + empty.end].fill(Node::leaf(only));
            }
            (None, None) => unreachable!("a node has base strings"),
        };
        let [before, after] = neighbours.map(|at| self.strings.bases[at]);
        for child in empty {
            let address = before.string & A::mask(position) | A::from_bits(child as u64, position, branch);
            let nearer = self.longest_cover(&after, address) > self.longest_cover(&before, address);
            self.trie[children + child] = Node::leaf(neighbours[usize::from(nearer)]);
        }
    }

    /// Returns the rank of the longest cover of a base string that matches an address: its length
    /// plus one, then the fewest chain steps to it. Returns 0 if there is none.
    fn longest_cover(&self, base: &Base<A, W>, address: A) -> (u8, Reverse<usize>) {
        let common = base.string.common_prefix_len(address);
        let mut chain = self.strings.chain(base).enumerate();
        let found = chain.find(|(_, cover)| cover.len <= common);
        found.map_or((0, Reverse(0)), |(steps, cover)| (cover.len + 1, Reverse(steps)))
    }
}
