//! Inserting, replacing and deleting routes in place.

use super::Patricia;
use super::node::{MAX_NODES, NIL, Node};
use crate::engine::{Cost, Width};
use crate::{Address, Delta, Prefix};

/// The pointer to a node.
#[derive(Clone, Copy)]
enum Link {
    Root,
    /// The parent and the side.
    Child(u32, usize),
}

impl<A: Address, W: Width> Patricia<A, W> {
    /// Applies the changes and returns their cost. A new route needs a node and perhaps a branch
    /// above it. Returns `None` and changes nothing where these might not fit. O(bits) each.
    pub fn follow<'d>(
        &mut self,
        deltas: impl IntoIterator<Item = &'d Delta<A>, IntoIter: Clone>,
    ) -> Option<Cost> {
        let deltas = deltas.into_iter();
        let new_routes = deltas.clone().filter(|delta| !delta.before.is_some()).count();
        if (self.node_count() + 2 * new_routes) as u64 > MAX_NODES {
            return None;
        }
        let mut cost = Cost::default();
        for delta in deltas {
            if delta.after.is_some() {
                self.announce(delta.prefix, W::narrow(delta.after), &mut cost);
            } else {
                self.withdraw(delta.prefix, &mut cost);
            }
        }
        Some(cost)
    }

    /// Inserts a route or replaces its next hop.
    fn announce(&mut self, prefix: Prefix<A>, next_hop: W, cost: &mut Cost) {
        let mut link = Link::Root;
        loop {
            let at = self.at(link);
            let Some(&node) = self.nodes.get(at as usize) else {
                let leaf = self.allocate(Node::new(prefix, next_hop), cost);
                return self.set(link, leaf, cost);
            };
            let shared = node.key.common_prefix_len(prefix.first()).min(node.len).min(prefix.len());
            if shared == node.len {
                if shared == prefix.len() {
                    cost.entries_set += 1;
                    self.nodes[at as usize].next_hop = next_hop;
                    return;
                }
                link = Link::Child(at, node.side(prefix.first()));
                continue;
            }
            // The two part before the node's prefix ends: the new route itself goes above the node,
            // or a branch to both.
            let mut above = Node::new(Prefix::containing(prefix.first(), shared), W::default());
            above.children[above.side(node.key)] = at;
            if shared == prefix.len() {
                above.next_hop = next_hop;
            } else {
                let leaf = self.allocate(Node::new(prefix, next_hop), cost);
                above.children[above.side(prefix.first())] = leaf;
            }
            let above = self.allocate(above, cost);
            return self.set(link, above, cost);
        }
    }

    /// Removes a route, its node unless that must stay as a branch, and a branch above that would
    /// keep only one child.
    fn withdraw(&mut self, prefix: Prefix<A>, cost: &mut Cost) {
        let (mut link, mut parent) = (Link::Root, None);
        loop {
            let at = self.at(link);
            let Some(node) = self.nodes.get_mut(at as usize) else { return };
            if node.len < prefix.len() && node.begins(prefix.first()) {
                parent = Some((link, at));
                link = Link::Child(at, node.side(prefix.first()));
                continue;
            }
            if node.prefix() != prefix || !node.is_route() {
                return;
            }
            match node.children {
                [NIL, NIL] => {
                    self.unlink(link, at, NIL, cost);
                    if let Some((link, at)) = parent {
                        let node = &self.nodes[at as usize];
                        if let (false, [NIL, child] | [child, NIL]) = (node.is_route(), node.children) {
                            self.unlink(link, at, child, cost);
                        }
                    }
                }
                [NIL, child] | [child, NIL] => self.unlink(link, at, child, cost),
                _ => {
                    cost.entries_set += 1;
                    node.next_hop = W::default();
                }
            }
            return;
        }
    }

    /// Replaces node `at` with `instead` and frees the node.
    fn unlink(&mut self, link: Link, at: u32, instead: u32, cost: &mut Cost) {
        self.set(link, instead, cost);
        // A pointer left behind would lead to what no tree has; see `Node::default`.
        self.nodes[at as usize] = Node::default();
        self.nodes.remove(at as usize, 1);
    }

    fn at(&self, link: Link) -> u32 {
        match link {
            Link::Root => self.root,
            Link::Child(parent, side) => self.nodes[parent as usize].children[side],
        }
    }

    fn set(&mut self, link: Link, to: u32, cost: &mut Cost) {
        cost.entries_set += 1;
        match link {
            Link::Root => self.root = to,
            Link::Child(parent, side) => self.nodes[parent as usize].children[side] = to,
        }
    }

    fn allocate(&mut self, node: Node<A, W>, cost: &mut Cost) -> u32 {
        cost.nodes_allocated += 1;
        self.nodes.insert(&[node]).expect("`follow` has counted the nodes") as u32
    }
}
