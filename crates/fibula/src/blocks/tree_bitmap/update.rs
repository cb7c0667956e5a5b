//! Updates by node copy, and giving back what they leave unused.

use super::node::{Map, Node, path, position};
use super::trie::Trie;
use crate::engine::{Cost, Unmetered, Width};
use crate::{Address, Limit, Prefix, Route};

/// Words are compacted when there is one in holes or unused capacity for so many in use: a trie under updates stays
/// within a tenth of a fresh one. A pool that grows leaves less unused, so that each compaction moves everything
/// once for some part of it that came or went.
const WASTE: usize = 11;

/// Below this many words there is nothing to gain.
const WASTE_IGNORED: usize = 1024;

impl<W: Width, M: Map> Trie<W, M> {
    /// Inserts a route below a root, or gives it another next hop, and hands back the root.
    ///
    /// # Panics
    /// If the words are used up, which [`Self::has_room_for`] foresees.
    #[must_use]
    pub fn insert<A: Address>(
        &mut self,
        root: Node<M>,
        offset: u8,
        route: Route<A>,
        cost: &mut Cost,
    ) -> Node<M> {
        let end = offset + M::STRIDE;
        if route.prefix.len() < end {
            let position = position(route.prefix, offset);
            let node = self.reshape(root, root.internal | M::bit(position), root.external, cost);
            self.set_result(node, position, W::narrow(route.next_hop));
            cost.entries_set += 1;
            return node;
        }
        let path = path::<A, M>(route.prefix.first(), offset);
        let child = root.child(path).map_or(Node::EMPTY, |at| self.node(at, &mut Unmetered));
        let child = self.insert(child, end, route, cost);
        let node = self.reshape(root, root.internal, root.external | M::bit(path), cost);
        self.set_node(node.child_place(path), child);
        node
    }

    /// Removes a route below a root and hands back the root. One that is absent changes nothing.
    ///
    /// # Panics
    /// If the words are used up, which [`Self::has_room_for`] foresees.
    #[must_use]
    pub fn remove<A: Address>(
        &mut self,
        root: Node<M>,
        offset: u8,
        prefix: Prefix<A>,
        cost: &mut Cost,
    ) -> Node<M> {
        let end = offset + M::STRIDE;
        if prefix.len() < end {
            let gone = M::bit(position(prefix, offset));
            return self.reshape(root, root.internal & !gone, root.external, cost);
        }
        let path = path::<A, M>(prefix.first(), offset);
        let Some(at) = root.child(path) else { return root };
        let child = self.node(at, &mut Unmetered);
        let child = self.remove(child, end, prefix, cost);
        if child.is_empty() {
            return self.reshape(root, root.internal, root.external & !M::bit(path), cost);
        }
        self.set_node(at, child);
        root
    }

    /// Gives a node other maps: its block moves to a place of the new size. What is new in it is still to be written.
    fn reshape(&mut self, old: Node<M>, internal: M, external: M, cost: &mut Cost) -> Node<M> {
        if (internal, external) == (old.internal, old.external) {
            return old;
        }
        let node = self.allocate(internal, external).expect("there is room");
        for path in (old.external & external).positions() {
            let (from, to) = (old.child_place(path), node.child_place(path));
            self.words.copy_within(from..from + M::WORDS, to);
            cost.nodes_copied += 1;
        }
        for position in (old.internal & internal).positions() {
            let result = self.result_at(Self::result_place(old, position), &mut Unmetered);
            self.set_result(node, position, result);
        }
        self.free(old);
        cost.nodes_allocated += u64::from(!node.is_empty());
        node
    }

    /// Moves everything into new words without holes, if too many are unused. The roots that the owner keeps are
    /// handed in. O(trie), rarely.
    pub fn compact_if_worth_it<'r>(&mut self, roots: impl IntoIterator<Item = &'r mut Node<M>>) {
        let in_use = self.words.len() - self.words.free_total();
        let waste = self.words.bytes() / size_of::<u32>() - in_use;
        if waste > WASTE_IGNORED && waste * WASTE > in_use {
            // What is in use fits, since it did with the holes between.
            let moved = self.compact(roots);
            debug_assert_eq!(moved, Ok(()));
        }
    }

    fn compact<'r>(&mut self, roots: impl IntoIterator<Item = &'r mut Node<M>>) -> Result<(), Limit> {
        let mut moved = self.another()?;
        for root in 0..self.roots {
            let node = self.moved(self.root(root), &mut moved)?;
            moved.set_root(root, node);
        }
        for root in roots {
            *root = self.moved(*root, &mut moved)?;
        }
        moved.shrink_to_fit();
        *self = moved;
        Ok(())
    }

    /// The node with all below it moved to another trie.
    fn moved(&self, node: Node<M>, other: &mut Self) -> Result<Node<M>, Limit> {
        let moved = other.allocate(node.internal, node.external)?;
        for path in node.external.positions() {
            let child = self.moved(self.node(node.child_place(path), &mut Unmetered), other)?;
            other.set_node(moved.child_place(path), child);
        }
        for position in node.internal.positions() {
            let result = self.result_at(Self::result_place(node, position), &mut Unmetered);
            other.set_result(moved, position, result);
        }
        Ok(moved)
    }
}
