//! Closes the holes that updates leave.

use super::direct::Direct;
use super::node::Node;
use super::{Poptrie, new_pools};
use crate::blocks::chunks::SharedPool;
use crate::engine::Width;
use crate::{Address, Limit};

/// A pool is compacted when a `1 / HOLES` part of it is holes. Each compaction moves everything
/// once and frees at least that part. Real updates rarely lead to one, because best fit leaves few
/// holes.
const HOLES: usize = 16;

/// With fewer elements of holes than this, there is nothing to gain.
const HOLES_IGNORED: usize = 1024;

impl<A: Address, W: Width> Poptrie<A, W> {
    /// Moves the trie into new pools without holes if there are too many holes. O(trie), rarely.
    pub(super) fn compact_if_worth_it(&mut self) {
        let worth_it = |len: usize, free: usize| free > HOLES_IGNORED && free * HOLES > len;
        if worth_it(self.nodes.len(), self.nodes.free_total())
            || worth_it(self.leaves.len(), self.leaves.free_total())
        {
            // What is in use fits, because it did with the holes in between.
            let moved = self.compact();
            debug_assert_eq!(moved, Ok(()));
        }
    }

    fn compact(&mut self) -> Result<(), Limit> {
        let (mut nodes, mut leaves) = new_pools(self.max_nodes, self.max_leaves, self.pages);
        let direct = self.direct.resized(self.direct.len(), self.pages);
        for slot in 0..direct.len() {
            if let Some(root) = direct.get(slot).root() {
                let root = self.moved(self.nodes.get(root), &mut nodes, &mut leaves)?;
                direct.set(slot, Direct::node(nodes.insert(&[root])? as u32));
            }
        }
        nodes.shrink_to_fit();
        leaves.shrink_to_fit();
        (self.direct, self.nodes, self.leaves) = (direct, nodes, leaves);
        Ok(())
    }

    /// Returns `node` with everything below it moved to other pools.
    fn moved(
        &self,
        mut node: Node,
        nodes: &mut SharedPool<Node>,
        leaves: &mut SharedPool<W>,
    ) -> Result<Node, Limit> {
        let (start, len) = node.children();
        let children: Result<Vec<Node>, Limit> =
            (start..start + len).map(|child| self.moved(self.nodes.get(child), nodes, leaves)).collect();
        node.base0 = nodes.insert(&children?)? as u32;
        let (start, len) = node.leaves();
        node.base1 = leaves.insert(&self.leaves_in(start, len))? as u32;
        Ok(node)
    }
}
