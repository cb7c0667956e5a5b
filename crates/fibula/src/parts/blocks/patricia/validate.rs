//! The structural check.

use super::Patricia;
use super::node::NIL;
use crate::engine::Width;
use crate::{Address, Prefix, Route};

impl<A: Address, W: Width> Patricia<A, W> {
    /// Walks the tree and checks that
    ///
    /// - every pointer leads to an allocated node that nothing else points to, below its parent and
    ///   on its side,
    /// - every branch has two children,
    /// - the routes passed are `routes`, one for one and in order,
    /// - no allocated node is left out.
    ///
    /// # Errors
    /// Returns the first contradiction found.
    pub fn validate(&self, routes: impl IntoIterator<Item = Route<A>>) -> Result<(), String> {
        self.nodes.validate()?;
        let mut routes = routes.into_iter();
        let mut reached = vec![false; self.nodes.len()];
        let mut ahead = vec![(self.root, Prefix::ALL)];
        while let Some((at, within)) = ahead.pop() {
            if at == NIL {
                continue;
            }
            let Some(node) = self.nodes.get(at as usize) else {
                return Err(format!("node {at} of {}", self.nodes.len()));
            };
            if std::mem::replace(&mut reached[at as usize], true) {
                return Err(format!("two pointers to node {at}"));
            }
            if node.len > A::BITS || node.key & A::mask(node.len) != node.key {
                return Err(format!("node {at}: {:?}/{} is no prefix", node.key, node.len));
            }
            let prefix = node.prefix();
            if !within.covers(prefix) {
                return Err(format!("node {at}: {prefix} does not belong under {within}"));
            }
            if node.is_route() {
                let route = Route { prefix, next_hop: node.next_hop.widen() };
                let expected = routes.next();
                if expected != Some(route) {
                    return Err(format!("node {at}: {route:?} where the table has {expected:?}"));
                }
            } else if node.children.contains(&NIL) {
                return Err(format!("node {at}: {prefix} is neither a route nor a branch"));
            }
            match prefix.halves() {
                // Last in, first out: the walk keeps the order of addresses.
                Some([zero, one]) => ahead.extend([(node.children[1], one), (node.children[0], zero)]),
                None if node.children == [NIL; 2] => {}
                None => return Err(format!("node {at}: children below {prefix}")),
            }
        }
        if let Some(route) = routes.next() {
            return Err(format!("{route:?} is in no node"));
        }
        let reached = reached.into_iter().filter(|&reached| reached).count();
        if reached != self.node_count() {
            return Err(format!("{} nodes are allocated, {reached} reached", self.node_count()));
        }
        Ok(())
    }
}
