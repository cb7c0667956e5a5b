//! [`Rib::each_with_covers`]: one table against what covers its routes in another.

use super::Rib;
use super::merged::merged;
use crate::{Address, Route};

impl<A: Address> Rib<A> {
    /// Calls `each` for every route, in order, with the routes of `others` that cover its prefix,
    /// the prefix itself included, shortest first. One walk over both, O(n + m).
    ///
    /// ```
    /// use fibula::{NextHop, Rib};
    /// let (mut routes, mut others): (Rib<u32>, Rib<u32>) = (Rib::new(), Rib::new());
    /// for text in ["10.1.2.0/24", "192.0.2.0/24"] {
    ///     routes.insert(text.parse()?, NextHop(1));
    /// }
    /// for text in ["10.0.0.0/8", "10.1.0.0/16", "10.1.0.0/24"] {
    ///     others.insert(text.parse()?, NextHop(2));
    /// }
    /// let mut found = Vec::new();
    /// routes.each_with_covers(&others, |route, covers| {
    ///     found.push((route.prefix.to_string(), covers.len()));
    /// });
    /// assert_eq!(found, [("10.1.2.0/24".to_string(), 2), ("192.0.2.0/24".to_string(), 0)]);
    /// # Ok::<(), fibula::Error>(())
    /// ```
    pub fn each_with_covers(&self, others: &Self, mut each: impl FnMut(Route<A>, &[Route<A>])) {
        // In this order a prefix comes before all it covers, so the covers are a stack.
        let mut covers: Vec<Route<A>> = Vec::new();
        for (prefix, next_hop, other) in merged(self.pairs(), others.pairs()) {
            while covers.last().is_some_and(|cover| !cover.prefix.covers(prefix)) {
                covers.pop();
            }
            covers.extend(other.map(|next_hop| Route { prefix, next_hop }));
            if let Some(next_hop) = next_hop {
                each(Route { prefix, next_hop }, &covers);
            }
        }
    }
}
