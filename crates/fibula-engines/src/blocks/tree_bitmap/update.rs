//! Updates by node copy, and compaction of what they leave unused.

use super::node::{Map, Node, path, position};
use super::trie::Trie;
use fibula::engine::{Cost, Unmetered, Width};
use fibula::{Address, Limit, Prefix, Route};

/// Words are compacted when there is one in holes or unused capacity for every `WASTE` in use, so
/// that an updated trie stays within a tenth of a fresh one. A pool that grows leaves less unused,
/// so each compaction moves everything once for some part of it that was added or removed.
const WASTE: usize = 11;

/// Below this many unused words compaction gains nothing.
const WASTE_IGNORED: usize = 1024;

impl<W: Width, M: Map> Trie<W, M> {
    /// Returns a new root without routes, whose block has the answer above it.
    ///
    /// # Panics
    /// If the words are used up; [`Self::has_room_for`] tells in advance.
    #[must_use]
    pub fn new_root(&mut self, above: W) -> Node<M> {
        let root = self.allocate(M::bit(Node::<M>::ABOVE), M::NONE).expect("there is room");
        self.set_above(root, above);
        root
    }

    /// Inserts a route below a root that has a block, or changes its next hop, and returns the
    /// root.
    ///
    /// # Panics
    /// If the words are used up; [`Self::has_room_for`] tells in advance.
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
            cost.entries_set += 1;
            return self.write(root, position(route.prefix, offset), W::narrow(route.next_hop), cost);
        }
        let path = path::<A, M>(route.prefix.first(), offset);
        let before = root.child(path).map_or(Node::EMPTY, |at| self.node(at, &mut Unmetered));
        let child = self.insert(before, end, route, cost);
        if child == before {
            return root;
        }
        let node = self.reshape(root, root.internal, root.external | M::bit(path), cost);
        self.set_node(node.child_place(path), child);
        node
    }

    /// Removes a route below a root and returns the root. A route that is absent changes nothing.
    ///
    /// # Panics
    /// If the words are used up; [`Self::has_room_for`] tells in advance.
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
            return self.erase(root, position(prefix, offset), cost);
        }
        let path = path::<A, M>(prefix.first(), offset);
        let Some(at) = root.child(path) else { return root };
        let before = self.node(at, &mut Unmetered);
        let child = self.remove(before, end, prefix, cost);
        if child == before {
            return root;
        }
        if child.is_empty() {
            return self.reshape(root, root.internal, root.external & !M::bit(path), cost);
        }
        let node = self.reshape(root, root.internal, root.external, cost);
        self.set_node(node.child_place(path), child);
        node
    }

    /// Changes the answer of a root that has a block, for what no route below it covers: one word,
    /// in place.
    pub fn set_above(&mut self, root: Node<M>, above: W) {
        self.set_result(root, Node::<M>::ABOVE, above);
    }

    /// Returns the answer of a root where no route below it matches, or 0.
    pub(super) fn above(&self, root: Node<M>) -> W {
        if root.internal.has(Node::<M>::ABOVE) {
            self.result_at(Self::result_place(root, Node::<M>::ABOVE), &mut Unmetered)
        } else {
            W::default()
        }
    }

    /// Returns the node with a result, unchanged if it has that result already.
    fn write(&mut self, node: Node<M>, position: u32, result: W, cost: &mut Cost) -> Node<M> {
        let is_there = |place| self.result_at(place, &mut Unmetered) == result;
        if node.internal.has(position) && is_there(Self::result_place(node, position)) {
            return node;
        }
        let node = self.reshape(node, node.internal | M::bit(position), node.external, cost);
        self.set_result(node, position, result);
        node
    }

    /// Returns the node without a result.
    fn erase(&mut self, node: Node<M>, position: u32, cost: &mut Cost) -> Node<M> {
        if node.internal.has(position) {
            self.reshape(node, node.internal & !M::bit(position), node.external, cost)
        } else {
            node
        }
    }

    /// Returns a node with other maps: its block moves to an allocation of the new size. The caller
    /// writes what is new in it.
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
            cost.results_moved += 1;
        }
        self.free(old);
        cost.nodes_allocated += u64::from(!node.is_empty());
        node
    }

    /// Moves everything below these roots into new words without holes, if too many are unused.
    /// O(trie), rarely.
    pub fn compact_if_worth_it(&mut self, roots: &mut [M::Words]) {
        let in_use = self.words.len() - self.words.free_total();
        let waste = self.words.bytes() / size_of::<u32>() - in_use;
        if waste > WASTE_IGNORED && waste * WASTE > in_use {
            // What is in use fits, because it fitted with the holes between.
            let moved = self.compact(roots);
            debug_assert_eq!(moved, Ok(()));
        }
    }

    fn compact(&mut self, roots: &mut [M::Words]) -> Result<(), Limit> {
        let mut moved = self.another()?;
        for root in roots {
            *root = M::pack(self.moved(M::unpack(*root), &mut moved)?);
        }
        moved.shrink_to_fit();
        *self = moved;
        Ok(())
    }

    /// Returns the node after moving it, with all below it, to another trie.
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
