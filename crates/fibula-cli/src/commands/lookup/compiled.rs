//! [`Compiled`]: a table whose lookups tell the route, not only its next hop.

use fibula::{Address, Fib, NextHop, Prefix, Rib, Route, View};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of addresses that are looked up in the plain table before an engine is built. It
/// takes about as long as building one.
const ONE_BY_ONE: usize = 20_000;

/// A compiled table. Its next hops are indices of routes, so that the answer to an address is the
/// route itself. For a table that was compiled before and whose routes are not known, they are
/// indices of next hops.
#[derive(Debug)]
pub(super) struct Compiled<A: Address> {
    rib: Rib<A>,
    routes: Vec<Route<A>>,
    /// The next hops, where the routes are not known.
    next_hops: Option<usize>,
    view: OnceLock<Option<Box<dyn View<A>>>>,
    one_by_one: AtomicUsize,
}

impl<A: Address> Compiled<A> {
    pub(super) fn new(rib: Rib<A>) -> Self {
        let routes = rib.iter().collect();
        Self { rib, routes, next_hops: None, view: OnceLock::new(), one_by_one: AtomicUsize::new(0) }
    }

    /// Takes a table that was compiled before, if there is one, with `next_hops` next hops.
    pub(super) fn opened(view: Option<Box<dyn View<A>>>, next_hops: usize) -> Self {
        Self { view: OnceLock::from(view), next_hops: Some(next_hops), ..Self::new(Rib::new()) }
    }

    /// Returns the number of indices.
    pub(super) fn len(&self) -> usize {
        self.next_hops.unwrap_or(self.routes.len())
    }

    /// Returns whether the routes are known, not only the next hops.
    pub(super) fn knows_routes(&self) -> bool {
        self.next_hops.is_none()
    }

    /// Returns the prefix, if it is known, and the next hop of an index, counted from 1.
    pub(super) fn answer(&self, place: NextHop) -> (Option<Prefix<A>>, NextHop) {
        if self.next_hops.is_some() {
            return (None, place);
        }
        let route = (place.0 as usize).checked_sub(1).and_then(|place| self.routes.get(place));
        (route.map(|route| route.prefix), route.map_or(NextHop::NONE, |route| route.next_hop))
    }

    /// Writes the index of each address's route, counted from 1; [`NextHop::NONE`] where no route
    /// matches.
    pub(super) fn places(&self, addresses: &[A], places: &mut Vec<NextHop>) {
        places.clear();
        let view = if self.view.get().is_some()
            || self.one_by_one.fetch_add(addresses.len(), Ordering::Relaxed) + addresses.len() > ONE_BY_ONE
        {
            self.view.get_or_init(|| self.compile()).as_ref()
        } else {
            None
        };
        match view {
            Some(view) => {
                places.resize(addresses.len(), NextHop::NONE);
                view.lookup_batch(addresses, places);
            }
            None => places.extend(addresses.iter().map(|&address| self.place(address))),
        }
    }

    fn place(&self, address: A) -> NextHop {
        self.cover(Prefix::host(address))
    }

    /// Returns the index of the longest route that covers a prefix, as [`places`](Self::places).
    /// The routes are [known](Self::knows_routes).
    pub(super) fn cover(&self, prefix: Prefix<A>) -> NextHop {
        let route = self.rib.longest_cover(prefix);
        let place =
            route.and_then(|route| self.routes.binary_search_by_key(&route.prefix, |r| r.prefix).ok());
        place.map_or(NextHop::NONE, |place| NextHop(place as u32 + 1))
    }

    /// Compiles the routes; `None` if no engine holds them.
    fn compile(&self) -> Option<Box<dyn View<A>>> {
        let numbered = self.routes.iter().zip(1..);
        let numbered =
            numbered.map(|(route, place)| Route { prefix: route.prefix, next_hop: NextHop(place) });
        Some(Fib::new(&numbered.collect()).ok()?.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engine_says_what_the_plain_table_says() {
        let rib: Rib<u32> = ["0.0.0.0/1", "10.0.0.0/8", "10.1.0.0/16", "10.1.2.3/32", "192.0.2.0/24"]
            .iter()
            .map(|prefix| Route { prefix: prefix.parse().unwrap(), next_hop: NextHop(7) })
            .collect();
        let compiled = Compiled::new(rib);
        let addresses: Vec<u32> = compiled
            .routes
            .iter()
            .flat_map(|route| {
                [route.prefix.first(), route.prefix.last(), route.prefix.last().wrapping_add(1)]
            })
            .collect();
        let (mut plain, mut fast) = (Vec::new(), Vec::new());
        compiled.places(&addresses, &mut plain);
        assert!(compiled.view.get().is_none());
        compiled.one_by_one.store(ONE_BY_ONE, Ordering::Relaxed);
        compiled.places(&addresses, &mut fast);
        assert!(matches!(compiled.view.get(), Some(Some(_))));
        assert_eq!(plain, fast);
        assert_eq!(plain[0], NextHop(1));
        assert_eq!(plain[plain.len() - 1], NextHop::NONE);
    }
}
