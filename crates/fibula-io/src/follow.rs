//! [`Followed`]: the tables of routers as their peers change them.

use crate::mrt::{Event, Paths, PeerChoice};
use crate::table::Value;
use crate::{Budget, Bytes};
use fibula::{InternedTable, IpPrefix, NextHopInfo};
use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;

/// The present routes of several routers, each with the paths of its peers. A prefix with one path
/// takes some 30 bytes, and each path 16 to 25 where it has several. Equal values are stored once a
/// router.
///
/// The best path of a prefix is that of the decision process, as in
/// [`ReadOptions::peer`](crate::table::ReadOptions::peer).
#[derive(Debug)]
pub struct Followed {
    choice: PeerChoice,
    value: Value,
    memory: u64,
    /// The part of it that one router may take, in percent.
    share: u8,
    is_asked: bool,
    routers: HashMap<String, Router>,
    /// The router that each table is of, of those that are not called by it.
    owners: HashMap<String, String>,
    /// The events since memory was counted.
    uncounted: u32,
}

/// A router whose routes take too much. The text says of what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excess {
    /// The router, as [`Followed::play`] was given it.
    pub router: String,
    what: String,
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

/// What [`Followed::expire`] has dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expired {
    /// Nothing was stale.
    Nothing,
    /// Some routes. Each change was told.
    Some,
    /// All routes of the router, which is forgotten. No change was told.
    All,
}

/// What is known of a router.
#[derive(Debug)]
struct Router {
    paths: Paths,
    /// The number of the best value of each prefix, if addresses are looked up.
    best: Option<InternedTable<u32>>,
}

impl Router {
    /// Takes the numbers of the best values in, and passes each value on.
    fn change(
        &mut self,
        outcomes: Vec<(IpPrefix, Option<u32>)>,
        mut changed: impl FnMut(IpPrefix, Option<&NextHopInfo>),
    ) {
        let Self { paths, best } = self;
        for (prefix, value) in outcomes {
            if let Some(best) = best {
                match value {
                    Some(value) => drop(best.insert(prefix, value)),
                    None => drop(best.remove(prefix)),
                }
            }
            changed(prefix, value.map(|value| paths.value(value)));
        }
    }

    /// Forgets values that no path has any more, if they are many.
    fn forget_unused(&mut self) {
        let Self { paths, best } = self;
        if paths.forget_unused()
            && let Some(best) = best
        {
            *best = paths.answers().into_iter().collect();
        }
    }

    fn bytes(&self) -> u64 {
        let best = self.best.as_ref().map_or(0, |best| best.memory().total());
        self.paths.bytes() + best as u64
    }
}

impl Followed {
    /// Follows the routes of `peer`, of all if not named, with values of this kind.
    ///
    /// # Errors
    /// If `peer` is neither an address nor an AS number.
    pub fn new(peer: Option<&str>, value: Value, budget: Budget) -> Result<Self, String> {
        let choice = PeerChoice::parse(peer)?;
        let (routers, owners) = (HashMap::new(), HashMap::new());
        let memory = budget.memory;
        Ok(Self { choice, value, memory, share: 100, is_asked: false, routers, owners, uncounted: 0 })
    }

    /// Compiles the table of each router as it changes, so that addresses can be
    /// [looked up](Self::lookup).
    #[must_use]
    pub fn compiled(self) -> Self {
        Self { is_asked: true, ..self }
    }

    /// Lets one router take this part of the memory, in percent.
    #[must_use]
    pub fn sharing(self, share: u8) -> Self {
        Self { share, ..self }
    }

    /// Counts what `table` takes for `router`, whose other tables are followed too: under a name
    /// for each, as if they were of several routers.
    pub fn charge(&mut self, table: &str, router: &str) {
        if table != router {
            self.owners.insert(table.to_owned(), router.to_owned());
        }
    }

    /// Applies an event of a router. Calls `changed` for each prefix that has another value now,
    /// with that value, or `None` if no path is left.
    ///
    /// # Errors
    /// If the routes of a router take more than its share, or all routes together more than the
    /// budget: it names the router whose routes take most, whatever this event is of. The event was
    /// applied.
    pub fn play(
        &mut self,
        router: &str,
        event: &Event,
        changed: impl FnMut(IpPrefix, Option<&NextHopInfo>),
    ) -> Result<(), Excess> {
        const COUNT_EVERY: u32 = 1024;
        if !self.routers.contains_key(router) {
            let paths = Paths::new(self.choice, self.value);
            let best = self.is_asked.then(InternedTable::default);
            self.routers.insert(router.to_owned(), Router { paths, best });
        }
        let Some(known) = self.routers.get_mut(router) else { return Ok(()) };
        let mut outcomes = Vec::new();
        known.paths.play(event, |prefix, outcome| {
            if outcome.is_change {
                outcomes.push((prefix, outcome.value));
            }
        });
        known.change(outcomes, changed);
        self.uncounted += 1;
        if self.uncounted < COUNT_EVERY {
            return Ok(());
        }
        self.uncounted = 0;
        known.forget_unused();
        self.excess().map_or(Ok(()), Err)
    }

    fn excess(&self) -> Option<Excess> {
        let mut each: HashMap<&String, u64> = HashMap::new();
        for (name, router) in &self.routers {
            *each.entry(self.owners.get(name).unwrap_or(name)).or_default() += router.bytes();
        }
        let all: u64 = each.values().sum();
        let most = each.into_iter().map(|(router, bytes)| (bytes, router)).max();
        let (most, router) = most?;
        let (memory, share) = (Bytes(self.memory), self.share);
        let what = if all > self.memory {
            format!("the routes take more than {memory} of memory, the limit")
        } else if u128::from(most) * 100 > u128::from(self.memory) * u128::from(share) {
            format!("its routes take more than {share}% of {memory} of memory, the share of one router")
        } else {
            return None;
        };
        Some(Excess { router: router.clone(), what })
    }

    /// Returns the longest prefix of a router that contains an address, and the value of its best
    /// path. `None` if there is none, the router is not known, or its table is not
    /// [compiled](Self::compiled).
    #[must_use]
    pub fn lookup(&self, router: &str, address: IpAddr) -> Option<(IpPrefix, &NextHopInfo)> {
        let Router { paths, best } = self.routers.get(router)?;
        let (prefix, &value) = best.as_ref()?.lookup(address)?;
        Some((prefix, paths.value(value)))
    }

    /// Returns whether a router has told anything, and is not forgotten.
    #[must_use]
    pub fn knows(&self, router: &str) -> bool {
        self.routers.contains_key(router)
    }

    /// Keeps the routes of a router whose session is lost, as stale. When it connects again, each
    /// that it tells is stale no more, and those that it has not told by the End-of-RIB of their
    /// peer are dropped. Returns the number of its prefixes.
    pub fn lose(&mut self, router: &str) -> usize {
        let Some(Router { paths, .. }) = self.routers.get_mut(router) else { return 0 };
        paths.lose();
        paths.len()
    }

    /// Returns whether some routes of a router are from before its session was lost.
    #[must_use]
    pub fn is_stale(&self, router: &str) -> bool {
        self.routers.get(router).is_some_and(|router| router.paths.is_stale())
    }

    /// Drops the routes of a router that are still stale: whoever has not told them again is waited
    /// for no longer. Calls `changed` as [`play`](Self::play) does, unless all routes are stale:
    /// then the router is [forgotten](Self::forget), which takes no time for each.
    pub fn expire(&mut self, router: &str, changed: impl FnMut(IpPrefix, Option<&NextHopInfo>)) -> Expired {
        let Some(known) = self.routers.get_mut(router).filter(|known| known.paths.is_stale()) else {
            return Expired::Nothing;
        };
        if known.paths.is_all_stale() {
            self.routers.remove(router);
            return Expired::All;
        }
        let mut outcomes = Vec::new();
        known.paths.expire(&mut |prefix, outcome| {
            if outcome.is_change {
                outcomes.push((prefix, outcome.value));
            }
        });
        known.change(outcomes, changed);
        Expired::Some
    }

    /// Forgets the routes of a router. Returns the number of its prefixes.
    pub fn forget(&mut self, router: &str) -> usize {
        self.owners.remove(router);
        self.routers.remove(router).map_or(0, |router| router.paths.len())
    }

    /// Returns the bytes that all routes take, about.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.routers.values().map(Router::bytes).sum()
    }

    /// Returns the number of prefixes of a router.
    #[must_use]
    pub fn len(&self, router: &str) -> usize {
        self.routers.get(router).map_or(0, |router| router.paths.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mrt::{Origin, Path, Peer, Preference, Speaker, What};
    use std::time::Duration;

    fn announce(peer: u8, at: u32) -> Event {
        let prefix = IpPrefix::new((at << 8).to_be_bytes(), 24).unwrap();
        let next_hop = Some([192, 0, 2, peer].into());
        let (origin, preference) = (Origin::As(64_500), Preference::default());
        let path = Path { next_hop, origin, length: 2, preference, details: None };
        let what = What::Announce { prefix, path_id: None, path, dumped: None };
        let peer = Peer { address: [192, 0, 2, peer].into(), asn: 64_500 };
        let (time, speaker) = (Duration::ZERO, Speaker::default());
        Event { offset: 0, time, peer, speaker, multicast: false, what }
    }

    fn none(prefix: IpPrefix, _: Option<&NextHopInfo>) {
        panic!("{prefix} is told");
    }

    #[test]
    fn a_route_takes_little_and_a_lost_router_no_time() {
        const ROUTES: u32 = 40_000;
        let mut followed = Followed::new(None, Value::NextHop, Budget::default()).unwrap();
        for at in 0..ROUTES {
            followed.play("one", &announce(1, at), |_, _| {}).unwrap();
        }
        let of_one = followed.bytes() / u64::from(ROUTES);
        assert!((26..=32).contains(&of_one), "{of_one} bytes a route");
        for peer in 2..=10 {
            for at in 0..ROUTES {
                followed.play("one", &announce(peer, at), |_, _| {}).unwrap();
            }
        }
        let of_ten = followed.bytes() / u64::from(10 * ROUTES);
        assert!((16..=28).contains(&of_ten), "{of_ten} bytes a route");
        assert_eq!(followed.lose("one"), ROUTES as usize);
        // One route that is told again holds up the others.
        followed.play("one", &announce(1, 7), none).unwrap();
        let mut gone = 0;
        assert_eq!(followed.expire("one", |_, value| gone += u32::from(value.is_none())), Expired::Some);
        assert_eq!((gone, followed.len("one"), followed.is_stale("one")), (ROUTES - 1, 1, false));
        assert_eq!(followed.lose("one"), 1);
        assert_eq!(followed.expire("one", none), Expired::All);
        assert_eq!((followed.bytes(), followed.knows("one")), (0, false));
        assert_eq!(followed.expire("one", none), Expired::Nothing);
    }

    #[test]
    fn values_that_no_path_has_are_forgotten() {
        for value in [Value::OriginAs, Value::Origins] {
            let mut followed = Followed::new(None, value, Budget::default()).unwrap().compiled();
            let mut random = fastrand::Rng::with_seed(7);
            let mut told: HashMap<IpPrefix, String> = HashMap::new();
            for step in 0..40_000 {
                let mut event = announce(random.u8(1..=3), random.u32(..20));
                if let What::Announce { prefix, path, .. } = &mut event.what {
                    (path.origin, path.preference.exit) = (Origin::As(random.u32(1..)), random.u32(..));
                    path.preference.neighbour = 64_500;
                    if random.u8(..3) == 0 {
                        event.what = What::Withdraw { prefix: *prefix, path_id: None };
                    }
                }
                let change = |prefix, value: Option<&NextHopInfo>| match value {
                    Some(value) => drop(told.insert(prefix, value.to_string())),
                    None => drop(told.remove(&prefix)),
                };
                followed.play("one", &event, change).unwrap();
                for at in (0..20_u32).filter(|_| step % 16 == 0) {
                    let [_, second, third, _] = (at << 8).to_be_bytes();
                    let found = followed.lookup("one", [0, second, third, 9].into());
                    let found = found.map(|(prefix, value)| (prefix, value.to_string()));
                    let prefix = IpPrefix::new((at << 8).to_be_bytes(), 24).unwrap();
                    assert_eq!(found, told.get(&prefix).map(|value| (prefix, value.clone())));
                }
            }
            // 3 paths to each of 20 prefixes, and what has gone since they were last counted.
            assert!(followed.bytes() < 1 << 20, "{} bytes", followed.bytes());
        }
    }
}
