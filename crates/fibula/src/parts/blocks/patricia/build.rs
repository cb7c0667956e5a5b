//! The tree of many routes at once, in depth-first order.

use super::node::{NIL, Node};
use super::{MAX_NODES, NODES, Patricia};
use crate::blocks::chunks::Pool;
use crate::engine::Width;
use crate::memory::Pages;
use crate::{Address, Limit, NextHop, Prefix, Route};

impl<A: Address, W: Width> Patricia<A, W> {
    /// Builds the tree of `routes`, each prefix once and in order, as a [`Rib`](crate::Rib) lists
    /// them. O(n).
    ///
    /// # Errors
    /// If they need more than [`MAX_NODES`] nodes.
    pub fn plant(routes: impl IntoIterator<Item = Route<A>>, pages: Pages) -> Result<Self, Limit> {
        Self::plant_at_most(MAX_NODES, routes, pages)
    }

    pub(super) fn plant_at_most(
        max_nodes: u64,
        routes: impl IntoIterator<Item = Route<A>>,
        pages: Pages,
    ) -> Result<Self, Limit> {
        let routes: Vec<Route<A>> = routes.into_iter().collect();
        let mut tree = Self { nodes: Pool::new(NODES, max_nodes, pages), root: NIL };
        tree.root = tree.plant_below(&routes)?;
        tree.nodes.shrink_to_fit();
        Ok(tree)
    }

    /// Builds the subtree of some neighbouring routes. Recurses at most as deep as an address has
    /// bits.
    fn plant_below(&mut self, routes: &[Route<A>]) -> Result<u32, Limit> {
        let [first, ..] = routes else { return Ok(NIL) };
        let last = &routes[routes.len() - 1];
        // In order, the first and the last share no more bits than all do, and a cover of all comes
        // first.
        let common = first.prefix.first().common_prefix_len(last.prefix.first());
        let prefix = Prefix::containing(first.prefix.first(), common.min(first.prefix.len()));
        let (next_hop, below) =
            if first.prefix == prefix { (first.next_hop, &routes[1..]) } else { (NextHop::NONE, routes) };

        let at = self.nodes.insert(&[Node::new(prefix, W::narrow(next_hop))])?;
        let parting = below.partition_point(|route| !route.prefix.first().bit(prefix.len()));
        let children = [self.plant_below(&below[..parting])?, self.plant_below(&below[parting..])?];
        self.nodes[at].children = children;
        Ok(at as u32)
    }
}
