//! [`Pieces`]: the walk behind [`Ranges`](super::Ranges) and [`Leaves`](super::Leaves).

use super::Rib;
use crate::{Address, NextHop, Prefix, Route};
use std::collections::btree_map;
use std::iter::Peekable;

/// A longest interval inside which no route begins or ends: it has one innermost cover, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece<A> {
    pub(super) first: A,
    pub(super) last: A,
    /// The innermost route around it.
    pub(super) route: Option<Route<A>>,
}

/// The pieces of a prefix in order, without gap or overlap: one walk over the routes with a stack
/// of the covers that are still open.
#[derive(Clone, Debug)]
pub(super) struct Pieces<'a, A: Address> {
    /// The routes not yet reached.
    routes: Peekable<Routes<'a, A>>,
    /// The covers around [`Self::at`], outermost first: the end of each, and its route. The first
    /// represents everything outside the walked prefix's own routes; when it is closed the walk has
    /// ended.
    open: Vec<(A, Option<Route<A>>)>,
    /// The start of the next piece; `None` past the end of the address space.
    at: Option<A>,
}

/// The routes of a part of a table that have at least `len` bits, in order.
#[derive(Clone, Debug)]
struct Routes<'a, A> {
    range: btree_map::Range<'a, Prefix<A>, NextHop>,
    len: u8,
}

impl<'a, A: Address> Iterator for Routes<'a, A> {
    type Item = (&'a Prefix<A>, &'a NextHop);

    fn next(&mut self) -> Option<Self::Item> {
        self.range.find(|(prefix, _)| prefix.len() >= self.len)
    }
}

impl<'a, A: Address> Pieces<'a, A> {
    /// Returns the pieces that routes of at least `len` bits make.
    pub(super) fn new(rib: &'a Rib<A>, within: Prefix<A>, len: u8) -> Self {
        let range = rib.routes.range(within..=Prefix::host(within.last()));
        let mut routes = Routes { range, len }.peekable();
        // A route of the walked prefix itself hides any cover, so there is no need to look for one.
        let is_route = routes.peek().is_some_and(|&(&prefix, _)| prefix == within);
        let outside = if is_route { None } else { rib.parent(within) };
        let outside = outside.filter(|route| route.prefix.len() >= len);
        Self { routes, open: vec![(within.last(), outside)], at: Some(within.first()) }
    }
}

impl<A: Address> Iterator for Pieces<'_, A> {
    type Item = Piece<A>;

    fn next(&mut self) -> Option<Piece<A>> {
        let first = self.at?;
        while let Some((&prefix, &next_hop)) = self.routes.next_if(|(prefix, _)| prefix.first() == first) {
            self.open.push((prefix.last(), Some(Route { prefix, next_hop })));
        }
        let &(end, route) = self.open.last()?;
        let last = match self.routes.peek().and_then(|(prefix, _)| prefix.first().previous()) {
            Some(before_next) if before_next < end => before_next,
            _ => end,
        };
        while self.open.last().is_some_and(|&(end, _)| end == last) {
            self.open.pop();
        }
        self.at = last.next();
        Some(Piece { first, last, route })
    }
}
