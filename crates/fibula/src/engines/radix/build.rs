//! The tree of a whole table at once, in depth-first order.

use super::node::{NIL, Node};
use super::{ABOUT, Radix};
use crate::blocks::chunks::Pool;
use crate::engine::Width;
use crate::memory::Pages;
use crate::{Address, Limit, NextHop, Prefix, Rib, Route};

impl<A: Address, W: Width> Radix<A, W> {
    /// The tree of a table, of at most `max_nodes` nodes. O(n log n).
    pub(super) fn plant(rib: &Rib<A>, pages: Pages, max_nodes: u64) -> Result<Self, Limit> {
        let routes: Vec<Route<A>> = rib.iter().collect();
        let mut radix = Self { nodes: Pool::new(ABOUT.limits[0].what, max_nodes, pages), root: NIL };
        radix.root = radix.plant_below(&routes)?;
        radix.nodes.shrink_to_fit();
        Ok(radix)
    }

    /// The subtree of some neighbouring routes. Calls itself at most as deep as an address has bits.
    fn plant_below(&mut self, routes: &[Route<A>]) -> Result<u32, Limit> {
        let [first, ..] = routes else { return Ok(NIL) };
        let last = &routes[routes.len() - 1];
        // In order, the first and the last share no more than all do, and a cover of all comes first.
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
