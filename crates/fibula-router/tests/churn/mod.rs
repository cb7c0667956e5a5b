//! [`Churn`]: routes of a table that come and go, and destinations for packets whose ways are known
//! nevertheless.
//!
//! ```text
//!   /16 ─────────── stays: a packet always has a way      the ways that a packet to x may take are
//!     /20 ────────  comes and goes                        those of the routes that contain x, from
//!        /24 x ───  comes and goes                        the longest up to the first that stays
//! ```

use crate::traffic::Destination;
use fibula::{Address, IpPrefix, NextHop, Prefix, Rib};
use fibula_io::table::Tables;
use fibula_io::trace::{TraceKind, generate};
use std::thread;
use std::time::{Duration, Instant};

/// A route that comes and goes.
#[derive(Debug)]
struct Fickle {
    prefix: IpPrefix,
    next_hop: NextHop,
    is_there: bool,
}

/// Routes that come and go, and destinations below them and elsewhere.
#[derive(Debug)]
pub(crate) struct Churn {
    routes: Vec<Fickle>,
    pub(crate) destinations: Vec<Destination>,
    random: fastrand::Rng,
}

impl Churn {
    /// Draws `routes` routes of each family that come and go, each with a route above it, and
    /// `destinations` destinations of each family: half of them below such routes. `way` says
    /// which way a next hop leads.
    pub(crate) fn new(
        tables: &Tables,
        routes: usize,
        destinations: usize,
        way: impl Fn(NextHop) -> usize,
    ) -> Self {
        let random = fastrand::Rng::with_seed(22);
        let mut churn = Self { routes: Vec::new(), destinations: Vec::new(), random };
        churn.draw(&tables.ipv4, routes, destinations, &way);
        churn.draw(&tables.ipv6, routes, destinations, &way);
        churn
    }

    fn draw<A: Address>(
        &mut self,
        rib: &Rib<A>,
        routes: usize,
        destinations: usize,
        way: &impl Fn(NextHop) -> usize,
    ) where
        IpPrefix: From<Prefix<A>>,
    {
        let covered = rib.iter().filter(|route| rib.parent(route.prefix).is_some());
        let fickle: Rib<A> = self.random.choose_multiple(covered, routes).into_iter().collect();
        self.routes.extend(fickle.iter().map(|route| Fickle {
            prefix: route.prefix.into(),
            next_hop: route.next_hop,
            is_there: true,
        }));
        for from in [&fickle, rib] {
            let addresses = generate(&TraceKind::Prefix, from, destinations, self.random.u64(..)).unwrap();
            let destination = |address: A| {
                let mut may = [false; 2];
                for route in rib.covering(Prefix::host(address)) {
                    may[way(route.next_hop)] = true;
                    if fickle.get(route.prefix).is_none() {
                        return Some(Destination { address: address.to_ip(), may });
                    }
                }
                // Nothing that stays contains it.
                None
            };
            self.destinations.extend(addresses.into_iter().filter_map(destination).take(destinations / 2));
        }
    }

    /// Returns the next change: a route, and whether it is there from now on.
    pub(crate) fn change(&mut self) -> (IpPrefix, NextHop, bool) {
        let at = self.random.usize(..self.routes.len());
        let route = &mut self.routes[at];
        route.is_there = !route.is_there;
        (route.prefix, route.next_hop, route.is_there)
    }

    /// Has all routes come back. Returns those that were gone.
    pub(crate) fn restore(&mut self) -> Vec<(IpPrefix, NextHop)> {
        let gone = self.routes.iter_mut().filter(|route| !route.is_there);
        gone.map(|route| {
            route.is_there = true;
            (route.prefix, route.next_hop)
        })
        .collect()
    }
}

/// Calls `work` `per_second` times a second while it returns `true`. Returns how often that was.
pub(crate) fn paced(per_second: u32, mut work: impl FnMut() -> bool) -> u64 {
    let start = Instant::now();
    let mut count = 0;
    while work() {
        count += 1;
        let due = start + Duration::from_secs_f64(count as f64 / f64::from(per_second));
        thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    count
}
