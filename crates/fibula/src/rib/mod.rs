//! [`Rib`]: the control-plane table, plain and complete; the source of truth every engine is
//! compiled from.
//!
//! Routes are stored in one ordered map, (address, length) to next hop. That order is the
//! depth-first walk of the prefix tree: a prefix comes directly before all it covers. So every
//! question about nesting is a range or a predecessor of the map, and no trie is needed. The map is
//! a B+ tree made for prefixes, [`tree`].

mod addresses;
mod aggregate;
mod by_length;
mod coalesced;
mod covers;
mod diff;
mod leaves;
mod memory;
mod merged;
mod pieces;
mod ranges;
mod statistics;
mod tree;

pub use addresses::AddressSet;
pub(crate) use by_length::{Gaps, OfLengths};
pub use coalesced::Coalesced;
pub(crate) use coalesced::Deltas;
pub use leaves::{Leaf, Leaves};
pub(crate) use merged::merged;
#[doc(hidden)]
pub use pieces::Piece;
pub use ranges::{Prefixes, Range, Ranges};
pub use statistics::Statistics;
pub(crate) use tree::{Firsts, Halves};

use crate::{Address, Change, Delta, NextHop, Prefix, Route};
use std::iter::FusedIterator;
use tree::Tree;

/// A routing table of one family: each prefix at most once.
///
/// Costs for a table of *n* routes:
/// - a change or an exact match takes O(log n);
/// - a longest match takes O(b log n), where *b* is how often the tree of the prefixes branches off
///   the address's path: at most its bits, and usually few;
/// - a walk takes O(1) a route once begun.
///
/// One route takes 10.4 bytes for IPv4 and 15.4 for IPv6 if inserted in random order, 9.6 and 14.2
/// if collected in order (tables of the Internet). IPv6 routes longer than /64 and their neighbours
/// take 8 more each. An empty table allocates nothing.
///
/// ```
/// use fibula::{NextHop, Prefix, Rib};
/// let mut rib: Rib<u32> = Rib::new();
/// rib.insert("10.0.0.0/8".parse()?, NextHop(1));
/// rib.insert("10.1.0.0/16".parse()?, NextHop(2));
/// let route = rib.longest_match(0x0A01_0203).unwrap();
/// assert_eq!((route.prefix.to_string().as_str(), route.next_hop), ("10.1.0.0/16", NextHop(2)));
/// # Ok::<(), fibula::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rib<A: Address> {
    routes: Tree<A>,
}

impl<A: Address> Rib<A> {
    /// Creates an empty table.
    #[must_use]
    pub fn new() -> Self {
        Self { routes: Tree::default() }
    }

    /// Returns the number of routes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.routes.len()
    }

    /// Returns whether there are no routes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.routes.len() == 0
    }

    /// Inserts a route or replaces its next hop. Returns what changed, or `None` if the same route
    /// was there.
    ///
    /// # Panics
    /// If `next_hop` is [`NextHop::NONE`]. [`remove`](Rib::remove) is the way to remove a route.
    #[track_caller]
    pub fn insert(&mut self, prefix: Prefix<A>, next_hop: NextHop) -> Option<Delta<A>> {
        check_next_hop(prefix, next_hop);
        let before = self.routes.insert(prefix, next_hop).unwrap_or_default();
        (before != next_hop).then_some(Delta { prefix, before, after: next_hop })
    }

    /// As [`insert`](Rib::insert), where tests write 0 for a route that goes.
    #[cfg(any(test, feature = "testing"))]
    #[doc(hidden)]
    pub fn set(&mut self, prefix: Prefix<A>, next_hop: NextHop) -> Option<Delta<A>> {
        if next_hop.is_some() { self.insert(prefix, next_hop) } else { self.remove(prefix) }
    }

    /// Removes a route. Returns what changed, or `None` if it was absent.
    pub fn remove(&mut self, prefix: Prefix<A>) -> Option<Delta<A>> {
        let before = self.routes.remove(prefix)?;
        Some(Delta { prefix, before, after: NextHop::NONE })
    }

    /// Applies a change. Returns what changed, or `None` if nothing did.
    ///
    /// # Panics
    /// If it announces a route to [`NextHop::NONE`].
    pub fn apply(&mut self, change: Change<A>) -> Option<Delta<A>> {
        match change {
            Change::Announce(route) => self.insert(route.prefix, route.next_hop),
            Change::Withdraw(prefix) => self.remove(prefix),
        }
    }

    /// Returns the next hop of exactly this prefix.
    #[must_use]
    pub fn get(&self, prefix: Prefix<A>) -> Option<NextHop> {
        self.routes.get(prefix)
    }

    /// Returns the route with the longest prefix that contains an address.
    #[must_use]
    pub fn longest_match(&self, address: A) -> Option<Route<A>> {
        self.longest_cover(Prefix::host(address))
    }

    /// Returns the route with the longest prefix that covers `prefix`, itself included.
    ///
    /// The greatest entry not after `prefix` either covers it, or shares only its first *c* bits.
    /// In the second case every cover comes before that entry, so it covers the entry too and has
    /// at most *c* bits. The search then continues from that shorter prefix.
    #[must_use]
    pub fn longest_cover(&self, prefix: Prefix<A>) -> Option<Route<A>> {
        let mut bound = prefix;
        loop {
            let candidate = self.routes.last_to(bound)?;
            if candidate.prefix.covers(prefix) {
                return Some(candidate);
            }
            // Shorter than `bound`: the candidate comes first, so they differ where `bound` has a
            // 1, and its bits after its length are 0.
            let common = candidate.prefix.first().common_prefix_len(bound.first());
            debug_assert!(common < bound.len());
            bound = Prefix::containing(bound.first(), common);
        }
    }

    /// Returns the route directly above `prefix`: the longest that covers it and is shorter.
    #[must_use]
    pub fn parent(&self, prefix: Prefix<A>) -> Option<Route<A>> {
        self.longest_cover(prefix.parent()?)
    }

    /// Returns every route that covers `prefix`, itself included, longest first.
    pub fn covering(&self, prefix: Prefix<A>) -> impl Iterator<Item = Route<A>> {
        std::iter::successors(self.longest_cover(prefix), |route| self.parent(route.prefix))
    }

    /// Returns every route that `prefix` covers, itself included, in order.
    pub fn covered(&self, prefix: Prefix<A>) -> impl DoubleEndedIterator<Item = Route<A>> {
        self.routes.range(prefix, Prefix::host(prefix.last()))
    }

    /// Returns all routes, ordered by address, then by length.
    #[must_use]
    pub fn iter(&self) -> Iter<'_, A> {
        Iter { routes: self.routes.walk(), left: self.len() }
    }

    /// Returns the routes from `prefix` on, itself included, in the order of [`Rib::iter`].
    /// O(log n) to begin. Whoever walks a table that changes begins again after the last prefix
    /// seen.
    ///
    /// ```
    /// use fibula::{NextHop, Rib};
    /// let mut rib: Rib<u32> = Rib::new();
    /// for text in ["10.0.0.0/8", "10.0.0.0/16", "192.0.2.0/24"] {
    ///     rib.insert(text.parse()?, NextHop(1));
    /// }
    /// let from = rib.iter_from("10.0.0.0/9".parse()?).map(|route| route.prefix.to_string());
    /// assert!(from.eq(["10.0.0.0/16", "192.0.2.0/24"]));
    /// # Ok::<(), fibula::Error>(())
    /// ```
    pub fn iter_from(&self, prefix: Prefix<A>) -> impl DoubleEndedIterator<Item = Route<A>> {
        self.routes.range(prefix, Prefix::GREATEST)
    }

    /// Returns the whole address space as merged intervals of equal next hop; see [`Ranges`]. O(n)
    /// in all.
    #[must_use]
    pub fn ranges(&self) -> Ranges<'_, A> {
        self.ranges_within(Prefix::ALL)
    }

    /// Returns the addresses of `prefix` as merged intervals of equal next hop. O(b log n) to
    /// begin, as a longest match, then O(1) a covered route.
    #[must_use]
    pub fn ranges_within(&self, prefix: Prefix<A>) -> Ranges<'_, A> {
        Ranges::new(self, prefix, 0, A::BITS)
    }

    /// Returns the greatest next-hop index in use, which decides the width of an engine's entries.
    /// O(n).
    #[must_use]
    pub fn max_next_hop(&self) -> NextHop {
        self.iter().map(|route| route.next_hop).max().unwrap_or_default()
    }
}

/// The routes of a [`Rib`] in order; see [`Rib::iter`].
#[derive(Clone, Debug)]
pub struct Iter<'a, A: Address> {
    routes: tree::Walk<'a, A>,
    /// How many they are.
    left: usize,
}

impl<A: Address> Iterator for Iter<'_, A> {
    type Item = Route<A>;

    fn next(&mut self) -> Option<Route<A>> {
        let route = self.routes.next()?;
        self.left -= 1;
        Some(route)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<A: Address> DoubleEndedIterator for Iter<'_, A> {
    fn next_back(&mut self) -> Option<Route<A>> {
        let route = self.routes.next_back()?;
        self.left -= 1;
        Some(route)
    }
}

impl<A: Address> ExactSizeIterator for Iter<'_, A> {}

impl<A: Address> FusedIterator for Iter<'_, A> {}

impl<'a, A: Address> IntoIterator for &'a Rib<A> {
    type Item = Route<A>;
    type IntoIter = Iter<'a, A>;

    fn into_iter(self) -> Iter<'a, A> {
        self.iter()
    }
}

/// Checks that a route has a next hop.
#[track_caller]
fn check_next_hop<A: Address>(prefix: Prefix<A>, next_hop: NextHop) {
    assert!(next_hop.is_some(), "a route needs a next hop, and {prefix} has none: `remove` removes a route");
}

/// Inserts one route after the other: a later route replaces an earlier one of the same prefix.
/// O(n) for input that is already in order, O(n log n) for any other. Panics as [`Rib::insert`].
impl<A: Address> FromIterator<Route<A>> for Rib<A> {
    fn from_iter<I: IntoIterator<Item = Route<A>>>(routes: I) -> Self {
        let checked = routes.into_iter().inspect(|route| check_next_hop(route.prefix, route.next_hop));
        let mut routes: Vec<_> = checked.collect();
        // Stable, so that the last of equal prefixes stays the last, and one pass if in order.
        routes.sort_by_key(|route| route.prefix);
        routes.dedup_by(|later, earlier| {
            let is_same = later.prefix == earlier.prefix;
            if is_same {
                *earlier = *later;
            }
            is_same
        });
        Self { routes: Tree::of(&routes) }
    }
}

impl<A: Address> Extend<Route<A>> for Rib<A> {
    fn extend<I: IntoIterator<Item = Route<A>>>(&mut self, routes: I) {
        for route in routes {
            self.insert(route.prefix, route.next_hop);
        }
    }
}
