//! Checks of the structure itself.

use super::direct::Direct;
use super::node::Node;
use super::{MAX_LEAVES, MAX_NODES, Poptrie};
use crate::blocks::reached::Reached;
use crate::engine::{Config, Width};
use crate::memory::Shareable;
use crate::{Address, Rib};

impl<A: Address, W: Width> Poptrie<A, W> {
    /// Checks that every pointer is in range, nothing is pointed to twice or lost, and the
    /// bookkeeping of the pools is right.
    pub(super) fn check_bookkeeping(&self) -> Result<(), String> {
        self.nodes.validate()?;
        self.leaves.validate()?;
        if self.direct.len() != 1 << self.s {
            return Err(format!("{} entries in a direct table of {} bits", self.direct.len(), self.s));
        }
        let mut nodes = Reached::new("nodes", self.nodes.len());
        let mut leaves = Reached::new("leaves", self.leaves.len());
        for root in self.direct.iter().filter_map(|entry| Direct::load(entry).root()) {
            nodes.mark((root, 1))?;
            self.check_below(&self.nodes.get(root), self.s, &mut nodes, &mut leaves)?;
        }
        nodes.check(self.nodes.free_total())?;
        leaves.check(self.leaves.free_total())
    }

    fn check_below(
        &self,
        node: &Node,
        offset: u8,
        nodes: &mut Reached,
        leaves: &mut Reached,
    ) -> Result<(), String> {
        if offset >= A::BITS {
            return Err(format!("a node at bit {offset}"));
        }
        if node.vector & node.leafvec != 0 {
            return Err(format!("a slot is both child and leaf: {node:?}"));
        }
        // The first slot that is a leaf must begin a run. Otherwise its rank would lead into
        // another node's run.
        let first_leaf = !node.vector & node.vector.wrapping_add(1);
        if node.leafvec & first_leaf != first_leaf {
            return Err(format!("a leaf without a run: {node:?}"));
        }
        leaves.mark(node.leaves())?;
        let (start, len) = node.children();
        nodes.mark((start, len))?;
        for child in start..start + len {
            self.check_below(&self.nodes.get(child), offset + super::node::STRIDE, nodes, leaves)?;
        }
        Ok(())
    }

    /// Checks that the trie is the one that a build gives, except for where its parts are stored.
    pub(super) fn check_against(&self, rib: &Rib<A>) -> Result<(), String> {
        let config = Config::default().with("s", self.s.to_string());
        let fresh =
            Self::build_within(rib, &config, MAX_NODES, MAX_LEAVES).map_err(|error| error.to_string())?;
        for slot in 0..self.direct.len() {
            let (have, want) = (self.direct.get(slot), fresh.direct.get(slot));
            let same = match (have.root(), want.root()) {
                (Some(have), Some(want)) => self.same(self.nodes.get(have), &fresh, fresh.nodes.get(want)),
                _ => have == want,
            };
            if !same {
                return Err(format!("entry {slot} of the direct table is not what a build gives"));
            }
        }
        Ok(())
    }

    fn same(&self, node: Node, other: &Self, twin: Node) -> bool {
        let leaves = |trie: &Self, (start, len)| trie.leaves_in(start, len);
        node.is_shaped_like(&twin)
            && leaves(self, node.leaves()) == leaves(other, twin.leaves())
            && (node.base0..).zip(twin.base0..).take(node.vector.count_ones() as usize).all(
                |(child, twin)| {
                    self.same(self.nodes.get(child as usize), other, other.nodes.get(twin as usize))
                },
            )
    }
}
