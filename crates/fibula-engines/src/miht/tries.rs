//! [`Tries`]: all priority tries of a table, in one array.
//!
//! A node of level *i*, whose path is *i* bits, is
//!
//! - an *ordinary* node, if the prefix that is exactly its path is in the trie: then it holds that
//!   one;
//! - else a *priority* node: it holds the longest prefix of its subtree, of equally long ones the
//!   first.
//!
//! So the trie of a set of prefixes is the same whatever came before, and has as many nodes as
//! prefixes. `base` is the level of a trie's root: the first bit that it branches on.

use super::dnode::Dnode;
use super::inode::NIL;
use crate::blocks::dense::ChunkArray;
use fibula::engine::{Cost, Meter, Width};
use fibula::parts::memory::Pages;
use fibula::{Address, Prefix, Route};

/// The nodes of all tries, without holes.
#[derive(Debug)]
pub(super) struct Tries<A: Address, W: Width> {
    pub(super) dnodes: ChunkArray<Dnode<A, W>, 1>,
}

impl<A: Address, W: Width> Tries<A, W> {
    /// Returns no tries, with room for `routes` routes.
    pub(super) fn new(pages: Pages, routes: usize) -> Self {
        Self { dnodes: ChunkArray::new(pages, routes) }
    }

    /// Adds a trie of some routes and returns its root. They are inserted longest first, so that
    /// hardly any is pushed down by a later one. The nodes of the first levels, which most searches
    /// read, then share cache lines.
    pub(super) fn plant(&mut self, routes: &mut [Route<A>], base: u8) -> u32 {
        routes.sort_by_key(|route| std::cmp::Reverse(route.prefix.len()));
        let insert = |root, &route: &Route<A>| self.insert(root, base, route, &mut Cost::default());
        routes.iter().fold(NIL, insert)
    }

    /// Returns the next hop of the longest match of an address in one trie, or 0 if there is none.
    #[inline(always)]
    pub(super) fn search(&self, root: u32, base: u8, address: A, meter: &mut impl Meter) -> W {
        let mut best = W::default();
        let (mut at, mut level) = (root, base);
        while let Some(node) = self.dnodes.get(at as usize) {
            let node = meter.load(node);
            if node.matches(address) {
                best = node.next_hop;
                if node.has_longest() {
                    break;
                }
            }
            at = node.child(address, level);
            level += 1;
        }
        best
    }

    /// Iterates over the nodes of one trie and their levels, each before those below it.
    pub(super) fn nodes(&self, root: u32, base: u8) -> impl Iterator<Item = (u8, &Dnode<A, W>)> {
        let mut ahead = vec![(root, base)];
        std::iter::from_fn(move || {
            loop {
                let (at, level) = ahead.pop()?;
                if let Some(node) = self.dnodes.get(at as usize) {
                    ahead.extend(node.children.map(|child| (child, level + 1)));
                    return Some((level, node));
                }
            }
        })
    }

    /// Returns the node of a prefix that is in the trie, found as a search would find it.
    fn position(&self, root: u32, base: u8, prefix: Prefix<A>) -> usize {
        let (mut at, mut level) = (root as usize, base);
        while self.dnodes[at].prefix() != prefix {
            at = self.dnodes[at].child(prefix.first(), level) as usize;
            level += 1;
        }
        at
    }

    /// Replaces the next hop of a route that is in the trie.
    pub(super) fn replace(&mut self, root: u32, base: u8, route: Route<A>, cost: &mut Cost) {
        let at = self.position(root, base, route.prefix);
        self.dnodes[at].next_hop = W::narrow(route.next_hop);
        cost.entries_set += 1;
    }

    /// Inserts a route that is not in the trie. Returns the root, which is new only if there was
    /// none. A route stored where the new one belongs moves down in turn. O(depth).
    pub(super) fn insert(&mut self, root: u32, base: u8, route: Route<A>, cost: &mut Cost) -> u32 {
        let mut moving = Dnode::of(route);
        let (mut at, mut level) = (root, base);
        let mut parent = None;
        while let Some(node) = self.dnodes.get_mut(at as usize) {
            node.longest = node.longest.max(moving.len);
            if moving.len == level || node.len > level && moving.goes_before(node) {
                let displaced = *node;
                node.take_route(&moving);
                moving.take_route(&displaced);
                cost.entries_set += 1;
            }
            let side = usize::from(moving.key.bit(level));
            parent = Some((at as usize, side));
            at = node.children[side];
            level += 1;
        }
        let leaf = self.dnodes.chunks() as u32;
        self.dnodes.push(Dnode { longest: moving.len, ..moving });
        cost.nodes_allocated += 1;
        let Some((parent, side)) = parent else { return leaf };
        self.dnodes[parent].children[side] = leaf;
        cost.entries_set += 1;
        root
    }

    /// Removes a route that is in the trie. What is longest below its node moves up in turn, until
    /// a leaf is left over. Returns the root, [`NIL`] if the trie is empty now, and that leaf,
    /// which the caller must [free](Self::free). O(depth).
    pub(super) fn remove(&mut self, root: u32, base: u8, prefix: Prefix<A>, cost: &mut Cost) -> (u32, u32) {
        let (mut at, mut level) = (root, base);
        let mut path = Vec::new();
        // Down to the node of the prefix, then from each vacant node to the one that fills it.
        let mut vacant = None;
        loop {
            let node = self.dnodes[at as usize];
            path.push(at);
            if let Some(above) = vacant {
                if node.has_longest() {
                    self.dnodes[above as usize].take_route(&node);
                    cost.entries_set += 1;
                    vacant = Some(at);
                }
            } else if node.prefix() == prefix {
                vacant = Some(at);
            }
            let side = match vacant {
                None => usize::from(prefix.first().bit(level)),
                Some(_) => self.longer_side(node.children),
            };
            if node.children[side] == NIL {
                break;
            }
            at = node.children[side];
            level += 1;
        }
        self.unlink(&path, cost);
        (if path.len() == 1 { NIL } else { root }, at)
    }

    /// Returns which of two children has the longest prefix below; of equals, the first.
    fn longer_side(&self, children: [u32; 2]) -> usize {
        let [zero, one] = children.map(|child| self.dnodes.get(child as usize).map(|node| node.longest));
        usize::from(one > zero)
    }

    /// Removes the leaf that ends a path from its parent, and updates the lengths on the path.
    fn unlink(&mut self, path: &[u32], cost: &mut Cost) {
        let mut below = path.iter().rev();
        let Some(leaf) = below.next() else { return };
        for (depth, &at) in below.enumerate() {
            let mut children = self.dnodes[at as usize].children;
            if depth == 0 {
                children = children.map(|child| if child == *leaf { NIL } else { child });
                cost.entries_set += 1;
            }
            let lens = children.map(|child| self.dnodes.get(child as usize).map_or(0, |node| node.longest));
            let node = &mut self.dnodes[at as usize];
            node.children = children;
            node.longest = node.len.max(lens[0]).max(lens[1]);
        }
    }

    /// Frees a node that nothing leads to. If another moved to its index, returns that node's old
    /// index.
    pub(super) fn free(&mut self, hole: u32) -> Option<u32> {
        let last = self.dnodes.chunks() as u32 - 1;
        self.dnodes.swap_remove(hole);
        (hole != last).then_some(last)
    }

    /// Makes the trie of `root` lead to the node at `to`, which was at `from` before. Returns its
    /// root.
    pub(super) fn relink(&mut self, root: u32, base: u8, from: u32, to: u32) -> u32 {
        if root == from {
            return to;
        }
        let key = self.dnodes[to as usize].key;
        let (mut at, mut level) = (root as usize, base);
        loop {
            let child = &mut self.dnodes[at].children[usize::from(key.bit(level))];
            if *child == from {
                *child = to;
                return root;
            }
            at = *child as usize;
            level += 1;
        }
    }
}
