//! The structural check.

use super::LcTrie;
use super::node::Node;
use super::strings::Strings;
use fibula::engine::Width;
use fibula::parts::memory::Pages;
use fibula::{Address, Prefix, Rib};

impl<A: Address, W: Width> LcTrie<A, W> {
    /// Checks that the two vectors are the table's, and the trie over them:
    ///
    /// - The children of every node are in the array and belong to no other node, and no node is
    ///   left over.
    /// - Every base string has exactly the leaves under it. Every other leaf has a base string
    ///   whose chain has the right cover.
    /// - Everything below a node shares the bits that the node skips.
    pub(super) fn check(&self, rib: &Rib<A>) -> Result<(), String> {
        let expected = Strings::<A, W>::of(rib, Pages::Small);
        if self.strings.bases[..] != expected.bases[..] {
            return Err("the base vector is not that of the table".into());
        }
        if self.strings.covers[..] != expected.covers[..] {
            return Err("the prefix vector is not that of the table".into());
        }
        let bases = &self.strings.bases;
        let mut reached = vec![false; self.trie.len()];
        let mut leaves = vec![0_u64; bases.len()];
        let mut ahead = vec![(0, Prefix::ALL)];
        while let Some((at, path)) = ahead.pop() {
            let Some(&node) = self.trie.get(at) else {
                return Err(format!("node {at} of {}", self.trie.len()));
            };
            if std::mem::replace(&mut reached[at], true) {
                return Err(format!("two pointers to node {at}"));
            }
            let first = bases.partition_point(|base| base.prefix().last() < path.first());
            let last = bases.partition_point(|base| base.string <= path.last());
            if node.is_leaf() {
                self.check_leaf(rib, at, path, first..last)?;
                leaves[node.base()] += u64::from(first < last);
                continue;
            }
            if last - first < 2 {
                return Err(format!("node {at}: a branch for {} base strings", last - first));
            }
            let common = bases[first].string.common_prefix_len(bases[last - 1].string);
            let (position, end) = (path.len() + node.skip(), path.len() + node.skip() + node.branch());
            if position > common || end > A::BITS {
                return Err(format!("node {at}: bits {position} to {end}, of which {common} are shared"));
            }
            let children = node.children()..node.children() + (1 << node.branch());
            ahead.extend(children.clone().map(|child| {
                let bits = A::from_bits((child - children.start) as u64, position, node.branch());
                (child, Prefix::containing(bases[first].string & A::mask(position) | bits, end))
            }));
        }
        if let Some(base) = leaves.iter().position(|&leaves| leaves == 0) {
            return Err(format!("{} has no leaf", bases[base].prefix()));
        }
        // The node after the root is there only so that children begin at even indices.
        let unused = (0..self.trie.len()).find(|&at| at != 1 && !reached[at]);
        unused.map_or(Ok(()), |at| Err(format!("no pointer to node {at}")))
    }

    /// Checks a leaf that addresses on `path` reach. `found` are the base strings that share
    /// addresses with it.
    fn check_leaf(
        &self,
        rib: &Rib<A>,
        at: usize,
        path: Prefix<A>,
        found: std::ops::Range<usize>,
    ) -> Result<(), String> {
        let index = Node::base(self.trie[at]);
        let Some(base) = self.strings.bases.get(index) else {
            return Err(format!("node {at}: base string {index} of {}", self.strings.bases.len()));
        };
        if !found.is_empty() {
            return if found == (index..index + 1) {
                Ok(())
            } else {
                Err(format!("node {at}: base string {index} where {found:?} are"))
            };
        }
        let common = base.string.common_prefix_len(path.first());
        let cover = self.strings.chain(base).find(|cover| cover.len <= common);
        let found = cover.map(|cover| (cover.len, cover.next_hop.widen()));
        let expected = rib.longest_cover(path).map(|route| (route.prefix.len(), route.next_hop));
        if found == expected {
            Ok(())
        } else {
            Err(format!("node {at}: {path} leads to {found:?}, the table has {expected:?}"))
        }
    }
}
