//! [`Leaf`]: the routes at the bottom of the tree.

#[cfg(test)]
use super::Within;
use super::{Firsts, Inserted, Node, append, bytes, insert, remove, split_off};
use crate::{Address, NextHop, Prefix, Route};
use std::iter::FusedIterator;
use std::{ops, slice};

/// Up to `MOST` routes in order.
#[derive(Clone, Default)]
pub(crate) struct Leaf<A: Address, const MOST: usize> {
    /// Apart from the rest, so that a search reads nothing else.
    firsts: A::Firsts,
    rest: Vec<Rest>,
}

/// What a route has beside its first address. Bytes, since an integer of 32 bits would leave three
/// unused.
#[derive(Clone, Copy)]
struct Rest {
    len: u8,
    next_hop: [u8; 4],
}

impl Rest {
    #[inline]
    fn new(len: u8, next_hop: NextHop) -> Self {
        Self { len, next_hop: next_hop.0.to_ne_bytes() }
    }

    #[inline]
    fn route<A: Address>(self, first: A) -> Route<A> {
        Route { prefix: Prefix::of_parts(first, self.len), next_hop: self.next_hop() }
    }

    #[inline]
    fn next_hop(self) -> NextHop {
        NextHop(u32::from_ne_bytes(self.next_hop))
    }
}

impl<A: Address, const MOST: usize> Leaf<A, MOST> {
    #[inline]
    fn route(&self, at: usize) -> Route<A> {
        self.rest[at].route(self.firsts.get(at))
    }

    #[inline]
    fn run(&self, range: ops::Range<usize>) -> Run<'_, A> {
        Run {
            uppers: self.firsts.uppers()[range.clone()].iter(),
            lowers: self.firsts.lowers().get(range.clone()).unwrap_or_default().iter(),
            rest: self.rest[range].iter(),
        }
    }

    /// Returns the number of routes before a prefix, and whether the next one is its route.
    #[inline]
    fn position(&self, prefix: Prefix<A>) -> (usize, bool) {
        // Few prefixes begin at the same address.
        let mut at = self.firsts.position(prefix.first());
        while let Some(rest) = self.rest.get(at)
            && rest.len <= prefix.len()
            && self.firsts.get(at) == prefix.first()
        {
            if rest.len == prefix.len() {
                return (at, true);
            }
            at += 1;
        }
        (at, false)
    }

    fn insert_at(&mut self, at: usize, prefix: Prefix<A>, next_hop: NextHop) {
        // 4, 8, 16, 24 and so on.
        let step = if self.rest.len() < 8 { 4 } else { 8 };
        insert(&mut self.rest, at, Rest::new(prefix.len(), next_hop), step);
        self.firsts.insert(at, prefix.first(), step);
    }
}

impl<A: Address, const MOST: usize> Node for Leaf<A, MOST> {
    type Address = A;
    type Walk<'n> = Run<'n, A>;
    const MOST: usize = MOST;
    const FULL: usize = MOST;

    fn of(routes: &[Route<A>]) -> Self {
        Self {
            firsts: A::Firsts::of(routes.iter().map(|route| route.prefix.first())),
            rest: routes.iter().map(|route| Rest::new(route.prefix.len(), route.next_hop)).collect(),
        }
    }

    fn len(&self) -> usize {
        self.rest.len()
    }

    fn get(&self, prefix: Prefix<A>) -> Option<NextHop> {
        let (at, is_there) = self.position(prefix);
        is_there.then(|| self.rest[at].next_hop())
    }

    fn last_to(&self, bound: Prefix<A>) -> Option<Route<A>> {
        let (at, is_there) = self.position(bound);
        Some(self.route((at + usize::from(is_there)).checked_sub(1)?))
    }

    fn last(&self) -> Option<Route<A>> {
        Some(self.route(self.len().checked_sub(1)?))
    }

    #[inline]
    fn walk(&self) -> Run<'_, A> {
        self.run(0..self.len())
    }

    fn range(&self, first: Prefix<A>, last: Prefix<A>) -> Run<'_, A> {
        let (end, is_there) = self.position(last);
        self.run(self.position(first).0..end + usize::from(is_there))
    }

    fn insert(&mut self, prefix: Prefix<A>, next_hop: NextHop) -> Inserted<Self> {
        let (at, is_there) = self.position(prefix);
        if is_there {
            let before = std::mem::replace(&mut self.rest[at], Rest::new(prefix.len(), next_hop));
            return Inserted::Replaced(before.next_hop());
        }
        if self.len() < MOST {
            self.insert_at(at, prefix, next_hop);
            return Inserted::Added;
        }
        let (separator, mut right) = self.split_off(MOST / 2);
        if at <= self.len() {
            self.insert_at(at, prefix, next_hop);
        } else {
            right.insert_at(at - self.len(), prefix, next_hop);
        }
        Inserted::Split(separator, right)
    }

    fn remove(&mut self, prefix: Prefix<A>) -> Option<NextHop> {
        let (at, is_there) = self.position(prefix);
        is_there.then(|| {
            self.firsts.remove(at);
            remove(&mut self.rest, at).next_hop()
        })
    }

    fn split_off(&mut self, at: usize) -> (Prefix<A>, Self) {
        let right = Self { firsts: self.firsts.split_off(at), rest: split_off(&mut self.rest, at) };
        (right.route(0).prefix, right)
    }

    fn append(&mut self, _: Prefix<A>, right: Self) {
        self.firsts.append(right.firsts);
        append(&mut self.rest, right.rest);
    }

    fn bytes(&self) -> usize {
        self.firsts.bytes() + bytes(&self.rest)
    }

    #[cfg(test)]
    fn validate(&self, (first, end): Within<A>) -> Result<usize, String> {
        self.firsts.validate(self.len())?;
        let prefixes: Vec<_> = self.walk().map(|route| route.prefix).collect();
        let (Some(least), Some(greatest)) = (prefixes.first(), prefixes.last()) else {
            return Err("an empty leaf".to_string());
        };
        if !prefixes.is_sorted_by(|left, right| left < right) {
            return Err(format!("not in order: {prefixes:?}"));
        }
        if first.is_some_and(|first| first > *least) || end.is_some_and(|end| end <= *greatest) {
            return Err(format!("{least} to {greatest} between {first:?} and {end:?}"));
        }
        Ok(self.len())
    }
}

/// Some routes of a leaf.
#[derive(Clone)]
pub(crate) struct Run<'n, A: Address> {
    uppers: slice::Iter<'n, <A::Firsts as Firsts<A>>::Upper>,
    lowers: slice::Iter<'n, u64>,
    rest: slice::Iter<'n, Rest>,
}

impl<A: Address> Default for Run<'_, A> {
    fn default() -> Self {
        Self { uppers: [].iter(), lowers: [].iter(), rest: [].iter() }
    }
}

impl<A: Address> Iterator for Run<'_, A> {
    type Item = Route<A>;

    #[inline]
    fn next(&mut self) -> Option<Route<A>> {
        let rest = self.rest.next()?;
        let first = A::Firsts::join(*self.uppers.next()?, self.lowers.next().copied());
        Some(rest.route(first))
    }
}

impl<A: Address> DoubleEndedIterator for Run<'_, A> {
    #[inline]
    fn next_back(&mut self) -> Option<Route<A>> {
        let rest = self.rest.next_back()?;
        let first = A::Firsts::join(*self.uppers.next_back()?, self.lowers.next_back().copied());
        Some(rest.route(first))
    }
}

impl<A: Address> FusedIterator for Run<'_, A> {}
