//! [`Pieces`]: the walk behind [`Ranges`](super::Ranges) and [`Leaves`](super::Leaves).

use super::{Rib, tree};
use crate::{Address, Prefix, Route};
use std::iter::Peekable;

/// A longest interval inside which no route begins or ends: it has one innermost cover, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub struct Piece<A: Address> {
    /// Its first address.
    pub first: A,
    /// Its last address.
    pub last: A,
    /// The innermost route around it.
    pub route: Option<Route<A>>,
}

/// The pieces of a prefix in order, without gap or overlap: one walk over the routes with a stack
/// of the covers that are still open.
#[derive(Clone, Debug)]
pub(crate) struct Pieces<'a, A: Address> {
    /// The routes not yet reached.
    routes: Peekable<Routes<'a, A>>,
    /// The covers around [`Self::at`], outermost first: the end of each, and its route. The first
    /// represents everything outside the walked prefix's own routes; when it is closed the walk has
    /// ended.
    open: Vec<(A, Option<Route<A>>)>,
    /// The start of the next piece; `None` past the end of the address space.
    at: Option<A>,
}

/// The routes of a part of a table that have `least` to `most` bits, in order.
#[derive(Clone, Debug)]
struct Routes<'a, A: Address> {
    rib: &'a Rib<A>,
    range: tree::Walk<'a, A>,
    last: Prefix<A>,
    least: u8,
    most: u8,
    /// The number of routes in a row that were too long.
    passed: u32,
}

impl<A: Address> Routes<'_, A> {
    /// The routes that are passed one by one before a search finds the next network.
    const PASSED: u32 = 16;

    /// Passes a route that is too long, or all of its network.
    fn pass(&mut self, prefix: Prefix<A>) {
        self.passed += 1;
        if self.passed < Self::PASSED {
            return;
        }
        self.passed = 0;
        let past = Prefix::containing(prefix.first(), self.most).last().next();
        self.range = match past.filter(|&past| past <= self.last.first()) {
            Some(past) => {
                // The shortest prefix that begins there comes first.
                let shortest = A::BITS - past.to_u128().trailing_zeros() as u8;
                self.rib.routes.range(Prefix::containing(past, shortest), self.last)
            }
            None => tree::Walk::default(),
        };
    }
}

impl<A: Address> Iterator for Routes<'_, A> {
    type Item = Route<A>;

    fn next(&mut self) -> Option<Route<A>> {
        loop {
            let route = self.range.next()?;
            if route.prefix.len() > self.most {
                self.pass(route.prefix);
            } else if route.prefix.len() >= self.least {
                self.passed = 0;
                return Some(route);
            }
        }
    }
}

impl<A: Address> Rib<A> {
    /// Returns the pieces of the table.
    pub(crate) fn pieces(&self) -> Pieces<'_, A> {
        Pieces::new(self, Prefix::ALL, 0, A::BITS)
    }

    /// Returns the pieces of a prefix, of which [`ranges_within`](Self::ranges_within) merges
    /// those of equal next hop.
    #[doc(hidden)]
    pub fn pieces_within(&self, prefix: Prefix<A>) -> impl Iterator<Item = Piece<A>> {
        Pieces::new(self, prefix, 0, A::BITS)
    }
}

impl<'a, A: Address> Pieces<'a, A> {
    /// Returns the pieces that routes of `least` to `most` bits make. `within` is not longer than
    /// `most`.
    pub(super) fn new(rib: &'a Rib<A>, within: Prefix<A>, least: u8, most: u8) -> Self {
        let last = Prefix::host(within.last());
        let range = rib.routes.range(within, last);
        let mut routes = Routes { rib, range, last, least, most, passed: 0 }.peekable();
        // A route of the walked prefix itself hides any cover, so there is no need to look for one.
        let is_route = routes.peek().is_some_and(|route| route.prefix == within);
        let outside = if is_route { None } else { rib.parent(within) };
        let outside = outside.filter(|route| route.prefix.len() >= least);
        Self { routes, open: vec![(within.last(), outside)], at: Some(within.first()) }
    }
}

impl<A: Address> Iterator for Pieces<'_, A> {
    type Item = Piece<A>;

    fn next(&mut self) -> Option<Piece<A>> {
        let first = self.at?;
        while let Some(route) = self.routes.next_if(|route| route.prefix.first() == first) {
            self.open.push((route.prefix.last(), Some(route)));
        }
        let &(end, route) = self.open.last()?;
        let last = match self.routes.peek().and_then(|route| route.prefix.first().previous()) {
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
