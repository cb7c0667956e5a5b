//! [`Leaves`]: a table as the leaves of its leaf-pushed binary trie.

use super::pieces::Pieces;
use super::{Prefixes, Rib};
use crate::{Address, Prefix, Route};
use std::iter::FusedIterator;

/// A leaf of the leaf-pushed trie: addresses with one route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Leaf<A: Address> {
    /// The path from the root to the leaf, which gives its addresses.
    pub prefix: Prefix<A>,
    /// The route that was pushed down to it; its prefix covers the leaf's.
    pub route: Route<A>,
}

/// The leaves of a table's leaf-pushed binary trie, in order; see [`Rib::leaves`].
#[derive(Clone, Debug)]
pub struct Leaves<'a, A: Address> {
    pieces: Pieces<'a, A>,
    /// The leaves of the current piece, and its route.
    current: Option<(Prefixes<A>, Route<A>)>,
}

impl<A: Address> Rib<A> {
    /// Returns the leaves of the binary trie of all prefixes once every next hop is pushed down to
    /// them. They are disjoint prefixes, in order, that together are exactly the addresses that
    /// have a route.
    ///
    /// A leaf without a route is left out. Neighbours with the same next hop stay separate, because
    /// they are different paths of the trie ([`Rib::ranges`] merges them). A route that
    /// more-specific routes cover entirely has no leaf. O(1) a leaf; one route adds at most one
    /// leaf for each bit of its length.
    ///
    /// The longest leaf of each route is the *Random Match Set*, from which the trace of that name
    /// is drawn.
    ///
    /// ```
    /// use fibula::{NextHop, Rib};
    /// let mut rib: Rib<u32> = Rib::new();
    /// rib.insert("10.0.0.0/8".parse()?, NextHop(1));
    /// rib.insert("10.64.0.0/10".parse()?, NextHop(2));
    /// let leaves =
    ///     rib.leaves().map(|leaf| format!("{} -> {}", leaf.prefix, leaf.route.next_hop.0));
    /// assert!(leaves.eq(["10.0.0.0/10 -> 1", "10.64.0.0/10 -> 2", "10.128.0.0/9 -> 1"]));
    /// # Ok::<(), fibula::Error>(())
    /// ```
    #[must_use]
    pub fn leaves(&self) -> Leaves<'_, A> {
        Leaves { pieces: self.pieces(), current: None }
    }
}

impl<A: Address> Iterator for Leaves<'_, A> {
    type Item = Leaf<A>;

    fn next(&mut self) -> Option<Leaf<A>> {
        loop {
            // The maximal blocks inside a piece are trie nodes below which no route begins, and
            // whose parents have one below: the leaves.
            if let Some((prefixes, route)) = &mut self.current
                && let Some(prefix) = prefixes.next()
            {
                return Some(Leaf { prefix, route: *route });
            }
            let piece = self.pieces.next()?;
            self.current = piece.route.map(|route| (Prefixes::between(piece.first, piece.last), route));
        }
    }
}

impl<A: Address> FusedIterator for Leaves<'_, A> {}
