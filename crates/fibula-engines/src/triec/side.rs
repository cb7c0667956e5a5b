//! [`Side`]: the routes that the paper does not store, so that every table has exact answers.

use super::table::{HASHED_TO, global_unicast};
use fibula::engine::{Cost, Width};
use fibula::parts::blocks::patricia::{MAX_NODES, NODES, Patricia};
use fibula::parts::memory::Pages;
use fibula::{Delta, Limit, NextHop, Prefix, Rib};

/// A default for 2000::/3, and two trees.
#[derive(Debug)]
pub(super) struct Side<W: Width> {
    /// The answer for an address of 2000::/3 without a route in the trie: the next hop of 2000::/3
    /// itself or of a route around it. Figure 4's `Default-Next-HopID`.
    default: NextHop,
    /// The routes of 2000::/3 longer than 64 bits, looked up where a flag says that there are some
    /// near.
    pub(super) longer: Patricia<u128, W>,
    /// All routes that cover some address outside 2000::/3.
    pub(super) outside: Patricia<u128, W>,
}

/// Returns whether a route is in the first tree.
fn is_longer(prefix: Prefix<u128>) -> bool {
    prefix.len() > HASHED_TO && global_unicast().covers(prefix)
}

/// Returns whether a route is in the second tree.
fn is_outside(prefix: Prefix<u128>) -> bool {
    !global_unicast().covers(prefix)
}

fn default(rib: &Rib<u128>) -> NextHop {
    rib.longest_cover(global_unicast()).map_or(NextHop::NONE, |route| route.next_hop)
}

impl<W: Width> Side<W> {
    pub(super) fn build(rib: &Rib<u128>, pages: Pages) -> Result<Self, Limit> {
        let plant = |of: fn(Prefix<u128>) -> bool| {
            Patricia::plant(rib.iter().filter(|route| of(route.prefix)), pages)
        };
        Ok(Self { default: default(rib), longer: plant(is_longer)?, outside: plant(is_outside)? })
    }

    /// Returns `next_hop` if it is one, or else the default.
    #[inline(always)]
    pub(super) fn or_default(&self, next_hop: NextHop) -> NextHop {
        if next_hop.is_some() { next_hop } else { self.default }
    }

    /// Checks that `more` more routes fit, in either tree.
    pub(super) fn check_room(&self, more: usize) -> Result<(), Limit> {
        let nodes = self.longer.node_count().max(self.outside.node_count());
        Limit::check(NODES, (nodes + 2 * more) as u64, MAX_NODES)
    }

    /// Applies changes that `rib` already holds. There must be [room](Self::check_room).
    pub(super) fn follow(&mut self, rib: &Rib<u128>, deltas: &[Delta<u128>]) -> Cost {
        self.default = default(rib);
        let mut cost = Cost::default();
        for (tree, of) in
            [(&mut self.longer, is_longer as fn(Prefix<u128>) -> bool), (&mut self.outside, is_outside)]
        {
            let changes = deltas.iter().filter(|delta| of(delta.prefix));
            let followed = tree.follow(changes);
            cost += followed.expect("there is room");
        }
        cost
    }

    /// Returns the bytes of the two trees.
    pub(super) fn bytes(&self) -> (usize, usize) {
        (self.longer.bytes(), self.outside.bytes())
    }

    pub(super) fn validate(&self, rib: &Rib<u128>) -> Result<(), String> {
        if self.default != default(rib) {
            return Err(format!("the default is {:?}, expected {:?}", self.default, default(rib)));
        }
        self.longer.validate(rib.iter().filter(|route| is_longer(route.prefix)))?;
        self.outside.validate(rib.iter().filter(|route| is_outside(route.prefix)))
    }
}
