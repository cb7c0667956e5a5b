//! [`Rib`]: the control-plane table, plain and complete; the source of truth every engine is compiled from.
//!
//! Routes stand in one ordered map, (address, length) to next hop. That order is the depth-first walk of the
//! prefix tree: a prefix comes directly before all it covers, so every question about nesting is a range
//! or a predecessor of the map, and nothing here needs a tree of its own.

mod coalesced;
mod ranges;

pub use coalesced::Coalesced;
pub use ranges::{Range, Ranges};

use crate::{Address, Change, Delta, NextHop, Prefix, Route};
use std::collections::{BTreeMap, btree_map};

/// A routing table of one family: each prefix at most once.
///
/// Costs, for a table of *n* routes: one change or exact match O(log n); a longest match O(d log n), where *d*
/// is the nesting depth around the address; walks O(1) a route once begun. One route takes about
/// 20 bytes for IPv4, 55 for IPv6.
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
pub struct Rib<A> {
    routes: BTreeMap<Prefix<A>, NextHop>,
}

impl<A: Address> Rib<A> {
    /// An empty table.
    #[must_use]
    pub fn new() -> Self {
        Self { routes: BTreeMap::new() }
    }

    /// The number of routes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.routes.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.routes.is_empty()
    }

    /// Inserts a route or replaces its next hop, and says what changed: `None` if it was there like this.
    /// A route to [`NextHop::NONE`] is no route: inserting one removes.
    pub fn insert(&mut self, prefix: Prefix<A>, next_hop: NextHop) -> Option<Delta<A>> {
        if !next_hop.is_some() {
            return self.remove(prefix);
        }
        let before = self.routes.insert(prefix, next_hop).unwrap_or_default();
        (before != next_hop).then_some(Delta { prefix, before, after: next_hop })
    }

    /// Removes a route and says what changed: `None` if it was absent.
    pub fn remove(&mut self, prefix: Prefix<A>) -> Option<Delta<A>> {
        let before = self.routes.remove(&prefix)?;
        Some(Delta { prefix, before, after: NextHop::NONE })
    }

    /// Carries out a change and says what came of it: `None` if nothing did.
    pub fn apply(&mut self, change: Change<A>) -> Option<Delta<A>> {
        match change {
            Change::Announce(route) => self.insert(route.prefix, route.next_hop),
            Change::Withdraw(prefix) => self.remove(prefix),
        }
    }

    /// The next hop of exactly this prefix.
    #[must_use]
    pub fn get(&self, prefix: Prefix<A>) -> Option<NextHop> {
        self.routes.get(&prefix).copied()
    }

    /// The route with the longest prefix that contains an address.
    #[must_use]
    pub fn longest_match(&self, address: A) -> Option<Route<A>> {
        self.longest_cover(Prefix::host(address))
    }

    /// The route with the longest prefix that covers `prefix`, itself included.
    ///
    /// The greatest entry not after `prefix` either covers it, or shares only its first *c* bits; then every
    /// cover has at most *c* bits and the search goes on from that shorter prefix.
    #[must_use]
    pub fn longest_cover(&self, prefix: Prefix<A>) -> Option<Route<A>> {
        let mut bound = prefix;
        loop {
            let (&candidate, &next_hop) = self.routes.range(..=bound).next_back()?;
            if candidate.covers(prefix) {
                return Some(Route { prefix: candidate, next_hop });
            }
            let common = candidate.first().common_prefix_len(bound.first());
            bound = Prefix::containing(bound.first(), common.min(bound.len()).min(candidate.len()));
        }
    }

    /// The route directly above `prefix`: the longest that covers it and is shorter.
    #[must_use]
    pub fn parent(&self, prefix: Prefix<A>) -> Option<Route<A>> {
        self.longest_cover(prefix.parent()?)
    }

    /// Every route that covers `prefix`, itself included, longest first.
    pub fn covering(&self, prefix: Prefix<A>) -> impl Iterator<Item = Route<A>> {
        std::iter::successors(self.longest_cover(prefix), |route| self.parent(route.prefix))
    }

    /// Every route that `prefix` covers, itself included, in order.
    pub fn covered(&self, prefix: Prefix<A>) -> impl DoubleEndedIterator<Item = Route<A>> {
        let last = Prefix::host(prefix.last());
        self.routes.range(prefix..=last).map(|(&prefix, &next_hop)| Route { prefix, next_hop })
    }

    /// All routes, ordered by address, then by length.
    #[must_use]
    pub fn iter(&self) -> Iter<'_, A> {
        Iter(self.routes.iter())
    }

    /// The whole space as merged intervals of equal next hop, see [`Ranges`]. O(n) in all.
    #[must_use]
    pub fn ranges(&self) -> Ranges<'_, A> {
        self.ranges_within(Prefix::ALL)
    }

    /// The addresses of `prefix` as merged intervals of equal next hop. O(d log n) to begin, then O(1) a
    /// covered route.
    #[must_use]
    pub fn ranges_within(&self, prefix: Prefix<A>) -> Ranges<'_, A> {
        Ranges::new(self, prefix)
    }

    /// The greatest next hop index in use: what decides how wide an engine's entries must be. O(n).
    #[must_use]
    pub fn max_next_hop(&self) -> NextHop {
        self.routes.values().copied().max().unwrap_or_default()
    }
}

/// The routes of a [`Rib`] in order; see [`Rib::iter`].
#[derive(Clone, Debug)]
pub struct Iter<'a, A>(btree_map::Iter<'a, Prefix<A>, NextHop>);

impl<A: Address> Iterator for Iter<'_, A> {
    type Item = Route<A>;

    fn next(&mut self) -> Option<Route<A>> {
        self.0.next().map(|(&prefix, &next_hop)| Route { prefix, next_hop })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<A: Address> ExactSizeIterator for Iter<'_, A> {}

impl<'a, A: Address> IntoIterator for &'a Rib<A> {
    type Item = Route<A>;
    type IntoIter = Iter<'a, A>;

    fn into_iter(self) -> Iter<'a, A> {
        self.iter()
    }
}

/// Later routes replace earlier ones of the same prefix. O(n) for input that is already in order.
impl<A: Address> FromIterator<Route<A>> for Rib<A> {
    fn from_iter<I: IntoIterator<Item = Route<A>>>(routes: I) -> Self {
        let routes = routes.into_iter().filter(|r| r.next_hop.is_some());
        Self { routes: routes.map(|r| (r.prefix, r.next_hop)).collect() }
    }
}

impl<A: Address> Extend<Route<A>> for Rib<A> {
    fn extend<I: IntoIterator<Item = Route<A>>>(&mut self, routes: I) {
        for route in routes {
            self.insert(route.prefix, route.next_hop);
        }
    }
}
