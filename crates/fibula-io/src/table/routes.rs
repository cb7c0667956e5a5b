//! [`Routes`]: the routes that a reader has found, in memory by distinct prefixes.

use fibula::{Address, Rib, Route};

/// The routes up to which nobody looks for equal prefixes.
const FEW: usize = 1 << 20;

/// Routes in the order they were found; the last of a prefix counts.
///
/// They are collected in a vector and turned into a [`Rib`] once at the end: to build an ordered
/// map from routes in order costs a tenth of inserting them one by one. Whenever the vector has
/// doubled, routes that others have replaced are removed, so that a small compressed file with one
/// line a million times takes no more memory than that line.
#[derive(Debug)]
pub(super) struct Routes<A: Address> {
    found: Vec<Route<A>>,
    /// The length at which the vector is looked through.
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
        self.settle();
    }

    /// Appends routes that were found later.
    pub(super) fn append(&mut self, later: Self) {
        self.replaced += later.replaced;
        if self.found.is_empty() {
            self.found = later.found;
        } else {
            self.found.extend(later.found);
        }
        self.settle();
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

    /// Removes routes that others have replaced, if it is time. O(n log n), O(n) where routes are
    /// in order.
    #[inline]
    fn settle(&mut self) {
        if self.found.len() >= self.full {
            self.remove_replaced();
        }
    }

    #[cold]
    fn remove_replaced(&mut self) {
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
        self.full = FEW.max(2 * self.found.len());
        self.found.shrink_to(self.full);
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
    fn what_is_replaced_takes_no_memory_and_the_last_counts() {
        let mut routes = Routes::default();
        for at in 0..5 * FEW as u32 {
            routes.push(route(at % 1000, at + 1));
            assert!(routes.len() <= FEW);
        }
        let mut later = Routes::default();
        for at in 0..2 * FEW as u32 {
            later.push(route(at % 10, 7));
        }
        routes.append(later);
        assert!(routes.found.capacity() <= 2 * FEW);
        let (rib, replaced) = routes.finish();
        assert_eq!((rib.len(), replaced), (1000, 7 * FEW as u64 - 1000));
        for at in 0..1000 {
            let last = (0..5 * FEW as u32).rev().find(|found| found % 1000 == at).unwrap();
            let right = if at < 10 { 7 } else { last + 1 };
            assert_eq!(rib.get(Prefix::host(at)), Some(NextHop(right)), "{at}");
        }
    }

    #[test]
    fn a_large_table_is_looked_through_when_it_has_doubled() {
        let mut routes = Routes::default();
        (0..FEW as u32).rev().for_each(|at| routes.push(route(at, 1)));
        assert_eq!((routes.len(), routes.full), (FEW, 2 * FEW));
        assert_eq!(routes.finish().0.len(), FEW);
    }
}
