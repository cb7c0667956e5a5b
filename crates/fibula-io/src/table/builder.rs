//! [`Builder`]: where a reader puts the routes it finds.

use super::Tables;
use crate::blocks::record;
use crate::{Damage, Place};
use fibula::{Address, IpPrefix, NextHop, NextHopInfo, NextHops, Rib, Route};
use std::collections::HashMap;

/// Routes in the order they were found, and the damage on the way.
///
/// They are collected in vectors and turned into [`Rib`]s once at the end. To build an ordered map
/// from routes in order costs a tenth of inserting them one by one.
#[derive(Debug, Default)]
pub(super) struct Builder {
    pub(super) ipv4: Vec<Route<u32>>,
    pub(super) ipv6: Vec<Route<u128>>,
    pub(super) next_hops: NextHops,
    pub(super) damage: Vec<Damage>,
    keep_going: bool,
}

impl Builder {
    pub(super) fn new(keep_going: bool) -> Self {
        Self { keep_going, ..Self::default() }
    }

    /// Records a damaged place, as [`record`] does.
    pub(super) fn damaged(&mut self, damage: Damage) -> Result<(), Damage> {
        record(&mut self.damage, self.keep_going, damage)
    }

    /// Returns the index of a next hop.
    pub(super) fn intern(&mut self, place: Place, info: NextHopInfo) -> Result<NextHop, Damage> {
        self.next_hops.intern(info).map_err(|error| Damage { place, what: error.to_string() })
    }

    /// Adds a route.
    pub(super) fn push(&mut self, prefix: IpPrefix, next_hop: NextHop) {
        match prefix {
            IpPrefix::V4(prefix) => self.ipv4.push(Route { prefix, next_hop }),
            IpPrefix::V6(prefix) => self.ipv6.push(Route { prefix, next_hop }),
        }
    }

    /// Returns the tables. Of routes with one prefix the last wins.
    pub(super) fn finish(self) -> (Tables, Vec<Damage>) {
        const WORTH_A_THREAD: usize = 10_000;
        let (ipv4, ipv6) = if self.ipv4.len().min(self.ipv6.len()) < WORTH_A_THREAD {
            (rib(self.ipv4), rib(self.ipv6))
        } else {
            std::thread::scope(|scope| {
                let ipv6 = scope.spawn(|| rib(self.ipv6));
                (rib(self.ipv4), ipv6.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            })
        };
        (Tables { ipv4, ipv6, next_hops: self.next_hops }, self.damage)
    }
}

/// The best route of each prefix, for formats that show several.
#[derive(Debug)]
pub(super) struct Best<R> {
    routes: HashMap<IpPrefix, (R, NextHopInfo)>,
    /// The prefixes as they came first, and their lines.
    order: Vec<(u64, IpPrefix)>,
}

impl<R: PartialOrd> Best<R> {
    pub(super) fn new() -> Self {
        Self { routes: HashMap::new(), order: Vec::new() }
    }

    /// Takes a route of a line if its rank is lower than those of the prefix's routes before it.
    pub(super) fn offer(&mut self, line: u64, prefix: IpPrefix, rank: R, value: NextHopInfo) {
        match self.routes.get_mut(&prefix) {
            Some((best, _)) if *best <= rank => {}
            Some(best) => *best = (rank, value),
            None => {
                self.routes.insert(prefix, (rank, value));
                self.order.push((line, prefix));
            }
        }
    }

    /// Adds the best routes to the tables.
    pub(super) fn finish(mut self, builder: &mut Builder) -> Result<(), Damage> {
        for (line, prefix) in self.order {
            if let Some((_, value)) = self.routes.remove(&prefix) {
                let next_hop = builder.intern(Place::Line(line), value)?;
                builder.push(prefix, next_hop);
            }
        }
        Ok(())
    }
}

fn rib<A: Address>(routes: Vec<Route<A>>) -> Rib<A> {
    routes.into_iter().collect()
}
