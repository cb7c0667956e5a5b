//! [`Routes`]: the routes that a reader has found, in memory by distinct prefixes.

use fibula::{Address, Rib, Route};

/// The routes up to which nobody looks for equal prefixes.
const FEW: usize = 1 << 17;

/// The routes by which a budget may be passed before somebody looks.
const SLACK: usize = 1 << 10;

/// Routes in the order they were found; the last of a prefix counts.
///
/// They are collected in a vector and turned into a [`Rib`] once at the end: to build an ordered
/// map from routes in order costs a tenth of inserting them one by one. Whenever the vector has
/// doubled, or the [budget](crate::Budget) may be used up, routes that others have replaced are
/// removed, so that a small compressed file with one line a million times takes no more memory than
/// that line.
#[derive(Debug)]
pub(super) struct Routes<A: Address> {
    found: Vec<Route<A>>,
    /// The length from which on it is full.
    full: usize,
    /// The routes that were removed.
    replaced: u64,
}

impl<A: Address> Default for Routes<A> {
    fn default() -> Self {
        Self { found: Vec::new(), full: FEW, replaced: 0 }
    }
}

impl<A: Address> Routes<A> {
    /// Returns the number of routes, without those that were removed.
    pub(super) fn len(&self) -> usize {
        self.found.len()
    }

    #[inline]
    pub(super) fn push(&mut self, route: Route<A>) {
        self.found.push(route);
    }

    /// Returns whether it is time to remove the routes that others have replaced.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.found.len() >= self.full
    }

    /// Appends routes that were found later.
    pub(super) fn append(&mut self, later: Self) {
        self.replaced += later.replaced;
        if self.found.is_empty() {
            self.found = later.found;
        } else {
            self.found.extend(later.found);
        }
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Route<A>> {
        self.found.iter_mut()
    }

    /// Returns the table, and how many routes it replaced.
    pub(super) fn finish(self) -> (Rib<A>, u64) {
        let found = self.found.len();
        let rib: Rib<A> = self.found.into_iter().collect();
        let replaced = self.replaced + (found - rib.len()) as u64;
        (rib, replaced)
    }

    /// Removes routes that others have replaced, if it is time.
    #[inline]
    pub(super) fn settle(&mut self) {
        if self.is_full() {
            self.remove_replaced();
            self.set_room(u64::MAX);
        }
    }

    /// Removes routes that others have replaced. O(n log n), O(n) where routes are in order.
    pub(super) fn remove_replaced(&mut self) {
        let before = self.found.len();
        self.found.sort_by_key(|route| route.prefix);
        self.found.dedup_by(|later, kept| {
            let is_same = later.prefix == kept.prefix;
            if is_same {
                *kept = *later;
            }
            is_same
        });
        self.replaced += (before - self.found.len()) as u64;
        self.found.shrink_to(2 * self.found.len());
    }

    /// Sets when it is full next: when it has doubled, or has `room` routes more. An eighth more in
    /// any case, so that it is not looked through again for each of them.
    pub(super) fn set_room(&mut self, room: u64) {
        let len = self.found.len();
        let room = usize::try_from(room).unwrap_or(usize::MAX).max(len / 8).max(SLACK);
        self.full = FEW.max(2 * len).min(len.saturating_add(room));
    }
}

impl<A: Address> FromIterator<Route<A>> for Routes<A> {
    fn from_iter<I: IntoIterator<Item = Route<A>>>(routes: I) -> Self {
        Self { found: routes.into_iter().collect(), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fibula::{NextHop, Prefix};

    fn route(at: u32, next_hop: u32) -> Route<u32> {
        Route { prefix: Prefix::host(at), next_hop: NextHop(next_hop) }
    }

    #[test]
    fn the_last_route_of_a_prefix_counts() {
        let mut routes = Routes::default();
        routes.set_room(u64::MAX);
        for at in 0..FEW as u32 {
            routes.push(route(at % 1000, at + 1));
        }
        assert!(routes.is_full());
        routes.remove_replaced();
        assert_eq!(routes.len(), 1000);
        let later = (0..20).map(|at| route(at % 10, 7)).collect();
        routes.append(later);
        let (rib, replaced) = routes.finish();
        assert_eq!((rib.len(), replaced), (1000, FEW as u64 - 1000 + 20));
        for at in 0..1000 {
            let last = (0..FEW as u32).rev().find(|found| found % 1000 == at).unwrap();
            let right = if at < 10 { 7 } else { last + 1 };
            assert_eq!(rib.get(Prefix::host(at)), Some(NextHop(right)), "{at}");
        }
    }

    #[test]
    fn a_large_table_is_looked_through_when_it_has_doubled_and_a_full_one_now_and_then() {
        let mut routes: Routes<u32> = (0..FEW as u32).rev().map(|at| route(at, 1)).collect();
        routes.set_room(u64::MAX);
        assert_eq!(routes.full, 2 * FEW);
        routes.set_room(0);
        assert_eq!(routes.full, FEW + FEW / 8);
    }
}
