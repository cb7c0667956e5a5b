//! The choice of `best`: the engine that fibula takes when none is named. Whatever compiles a table
//! asks here and nowhere else.
//!
//! Each engine [estimates](super::About::estimate) what it would cost for a table: the nanoseconds
//! of a lookup, by what the table is like and by the instruction set, and the bytes. The engine of
//! the least [cost](Estimate::cost) that holds the table is taken. Estimates were fitted to one
//! processor, so for a table of at least [`RUN_OFF_LEAST`] routes they are checked on the machine
//! at hand, by a [run-off](super::run_off) of the likeliest.
//!
//! Only engines that follow changes in place are taken. For a table that changes the choice is made
//! again once a quarter of it has changed, without a run-off.
//!
//! | parameter | meaning |
//! | --- | --- |
//! | `run-off` | `no` leaves the run-off out: the choice then depends on the table alone |
//! | `calls` | `many`: calls of hundreds of addresses count (default); `any`: single lookups too |
//! | `room` | the most bytes that the compiled table may take for each route, beyond 4 KiB |

use super::run_off::RunOff;
use super::survey::Calls;
use super::{Config, Entry, Estimate, Shape, Survey, Updates, Whole};
use crate::arch::Level;
use crate::{Address, Delta, Error, ErrorKind, Limit, Rib};

/// The specification that leaves the choice of an engine to fibula. It has the parameters
/// `run-off`, `room` and `calls`, as in `best/run-off=no/room=64/calls=any`: the engine is chosen
/// by its estimate alone, among those that take at most 4 KiB and 64 bytes a route, for calls of
/// one address as much as for calls of many.
///
/// ```
/// use fibula::engine::{BEST, ENGINES};
/// use fibula::{Fib, NextHop, Rib};
/// let mut rib: Rib<u32> = Rib::new();
/// rib.insert("192.0.2.0/24".parse()?, NextHop(1));
/// let fib = Fib::build(BEST, &rib)?;
/// assert_eq!(fib.entry().about.name, "intervals");
/// assert!(Fib::build("best/room=0", &rib)?.memory().total() < 4096);
/// # Ok::<(), fibula::Error>(())
/// ```
pub const BEST: &str = "best";

/// The parameters of [`BEST`].
const RUN_OFF: &str = "run-off";
const ROOM: &str = "room";
const CALLS: &str = "calls";

/// The bytes that every compiled table may take.
const FREE: u64 = 4096;

/// The least number of routes of a table for which a run-off is held: building one takes about as
/// long as the run-off besides its builds.
pub(super) const RUN_OFF_LEAST: usize = 1 << 14;

/// Whether there is a clock for a run-off. That of WebAssembly without a system panics.
const HAS_CLOCK: bool = !cfg!(all(target_family = "wasm", target_os = "unknown"));

/// The cost of an engine over the least, up to which it takes part in a run-off.
const NEAR: f32 = 1.3;

/// The most engines of a run-off.
const CONTENDERS_MOST: usize = 3;

/// The bytes of an engine over those of the likeliest, up to which it takes part in a run-off: for
/// what it could gain, no build may take far more memory than the table in the end.
const BYTES_NEAR: usize = 2;

/// The number of changes after which the costs are compared again, beside a quarter of the routes.
const CHANGES_LEAST: usize = 4;

/// The cost of an engine over that of the cheapest, from which on it is replaced. Less would let a
/// table go back and forth.
const REPLACED_FROM: f32 = 1.15;

/// A table that has more than this many times the routes of its last build is built again: a build
/// leaves no unused room. The cost is O(1) a route, as that of a vector's growth.
const GROWTH: usize = 4;

/// Building costs one route about this part of what applying one delta costs, and a root as much as
/// `ROOT` routes. Where many deltas come at once, a build is cheaper.
const BUILD_SHARE: usize = 16;
const ROOT: usize = 4096;

/// Returns the engines of a table's family in the order in which [`best`](BEST) tries them, each
/// with its [cost](Estimate::cost) for this table and instruction set. The least is first. Equal
/// ones are in registry order. O(n).
///
/// ```
/// use fibula::engine::{ENGINES, Level, costs};
/// use fibula::{NextHop, Rib};
/// let mut rib: Rib<u32> = Rib::new();
/// rib.insert("192.0.2.0/24".parse().unwrap(), NextHop(1));
/// let (first, cost) = costs(ENGINES, Level::best(), &rib)[0];
/// assert_eq!(first.about.name, "intervals");
/// assert!(cost < 3.0);
/// ```
#[must_use]
pub fn costs<'e, A: Address>(engines: &'e [Entry], isa: Level, rib: &Rib<A>) -> Vec<(&'e Entry, f32)> {
    let estimates = estimates(engines, isa, &Survey::of(rib), Calls::Many).into_iter();
    estimates.map(|(entry, estimate)| (entry, estimate.cost(Calls::Many, rib.len()))).collect()
}

/// Returns the engines of a table's family, each with its estimate, those of the least cost first.
fn estimates<'e>(
    engines: &'e [Entry],
    isa: Level,
    survey: &Survey<'_>,
    calls: Calls,
) -> Vec<(&'e Entry, Estimate)> {
    let cost = |estimate: &Estimate| estimate.cost(calls, survey.routes());
    let mut estimates: Vec<(&Entry, Estimate)> = Vec::new();
    // Each to its place: for ten of them a sort is twenty times the code.
    for entry in engines.iter().filter(|entry| entry.does(survey.family())) {
        let estimate = (entry.about.estimate)(survey, isa);
        let at = estimates.partition_point(|(_, other)| cost(other).total_cmp(&cost(&estimate)).is_le());
        estimates.insert(at, (entry, estimate));
    }
    estimates
}

/// The choice of an engine for a table, and what it depends on.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    engines: &'static [Entry],
    isa: Level,
    has_run_off: bool,
    calls: Calls,
    /// The most bytes a route, beyond [`FREE`].
    room: u64,
    shape: Shape,
    /// The routes at the last build.
    built: usize,
    /// The changes since the costs were last compared.
    changes: usize,
}

impl Choice {
    /// Creates the choice among `engines` for a table. O(n).
    ///
    /// # Errors
    /// If the configuration sets a parameter that [`BEST`] does not have.
    pub(crate) fn among<A: Address>(
        engines: &'static [Entry],
        config: &Config,
        rib: &Rib<A>,
    ) -> Result<Self, Error> {
        config.check_names(BEST, &[RUN_OFF, ROOM, CALLS])?;
        Ok(Self {
            engines,
            isa: config.isa,
            has_run_off: config.choice(RUN_OFF, &[("yes", HAS_CLOCK), ("no", false)])?,
            calls: config.choice(CALLS, &[("many", Calls::Many), ("any", Calls::Any)])?,
            room: config.parameter(ROOM, 0..=u64::MAX, u64::MAX)?,
            shape: Shape::of(rib),
            built: rib.len(),
            changes: 0,
        })
    }

    /// Returns the choice among the same engines for another table, which has changed. O(n).
    pub(crate) fn again<A: Address>(&self, rib: &Rib<A>) -> Self {
        Self { shape: Shape::of(rib), built: rib.len(), changes: 0, has_run_off: false, ..self.clone() }
    }

    /// Compiles a table by the engine that is chosen for it, and returns that.
    ///
    /// # Errors
    /// If no engine holds the table.
    pub(crate) fn compile<A: Address>(
        &self,
        rib: &Rib<A>,
        mut build: impl FnMut(&Entry) -> Result<Box<dyn Whole<A>>, Error>,
    ) -> Result<(Box<dyn Whole<A>>, Entry), Error> {
        let survey = Survey::with_shape(&self.shape, rib);
        let mut refused = Error::new(ErrorKind::UnknownEngine, format!("no engine does {}", A::FAMILY));
        let mut best: Option<(Box<dyn Whole<A>>, Entry)> = None;
        let (mut run_off, mut least, mut bytes) = (None, f32::INFINITY, usize::MAX);
        let mut contenders = 0;
        for (&entry, estimate) in self.candidates(&survey) {
            let cost = estimate.cost(self.calls, rib.len());
            let takes_part = self.has_run_off
                && rib.len() >= RUN_OFF_LEAST
                && contenders < CONTENDERS_MOST
                && cost <= NEAR * least;
            if best.is_some() && !takes_part {
                break;
            }
            if estimate.bytes > bytes.saturating_mul(BYTES_NEAR) {
                continue;
            }
            let built = match build(&entry).and_then(|built| self.check_room(built, rib.len())) {
                Ok(built) => built,
                // The next may hold it.
                Err(error) if error.limit().is_some() => {
                    refused = error;
                    continue;
                }
                Err(error) => return Err(error),
            };
            (contenders, least) = (contenders + 1, least.min(cost));
            bytes = bytes.min(estimate.bytes);
            if let Some((best, _)) = &best {
                let run_off = run_off.get_or_insert_with(|| RunOff::new(rib, self.calls));
                let [other, first] = [&built, best].map(|table| (&**table, table.engine().memory().total()));
                if !run_off.is_better(other, first) {
                    continue;
                }
            }
            best = Some((built, entry));
        }
        best.ok_or(refused)
    }

    fn check_room<A: Address>(
        &self,
        built: Box<dyn Whole<A>>,
        routes: usize,
    ) -> Result<Box<dyn Whole<A>>, Error> {
        if self.room < u64::MAX {
            let bytes = built.engine().memory().total() as u64;
            Limit::check("bytes of a compiled table", bytes, self.room_for(routes))?;
        }
        Ok(built)
    }

    /// Returns the most bytes that a compiled table of `routes` routes may take.
    fn room_for(&self, routes: usize) -> u64 {
        FREE.saturating_add(self.room.saturating_mul(routes as u64))
    }

    /// Returns the engines in the order in which to try them: those that follow changes in place,
    /// and are thought to fit into the room.
    fn candidates(&self, survey: &Survey<'_>) -> Vec<(&Entry, Estimate)> {
        let mut candidates = estimates(self.engines, self.isa, survey, self.calls);
        let room = self.room_for(survey.routes());
        candidates.retain(|(entry, estimate)| {
            estimate.bytes as u64 <= room && entry.about.updates == Updates::InPlace
        });
        candidates
    }

    /// Notes what the table has changed by.
    pub(crate) fn follow<A: Address>(&mut self, deltas: &[Delta<A>]) {
        for delta in deltas {
            self.shape.follow(delta);
        }
        self.changes += deltas.len();
    }

    /// Returns whether a table that changes by `deltas` is rather built than changed: `engine` is
    /// not the right one any more, the table has outgrown its build, or the changes are many.
    pub(crate) fn is_outdated<A: Address>(&mut self, engine: &Entry, rib: &Rib<A>, deltas: usize) -> bool {
        if rib.len() > GROWTH * self.built.max(ROOT / GROWTH) || deltas * BUILD_SHARE > rib.len() + ROOT {
            return true;
        }
        if self.changes < CHANGES_LEAST + rib.len() / 4 {
            return false;
        }
        self.changes = 0;
        let survey = Survey::with_shape(&self.shape, rib);
        let cost = |estimate: Estimate| estimate.cost(self.calls, rib.len());
        let least = self.candidates(&survey).first().map_or(f32::INFINITY, |&(_, least)| cost(least));
        cost((engine.about.estimate)(&survey, self.isa)) > REPLACED_FROM * least
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{About, ENGINES, Lengths, WidthBits};
    use crate::live::{Live, Settings};
    use crate::{Family, Fib, NextHop, Prefix};
    use std::time::Duration;

    /// What is chosen does not depend on the machine, but for [`has_vectors`].
    const BY_ESTIMATES: &str = "best/run-off=no";

    /// Returns whether the machine has vectors, without which other engines are the fastest.
    fn has_vectors() -> bool {
        Level::best() != Level::SCALAR
    }

    #[test]
    fn there_is_a_best_for_both_families_and_it_says_its_name() {
        let fib = Fib::build(BY_ESTIMATES, &Rib::<u32>::new()).unwrap();
        assert_eq!(fib.entry().about.name, costs::<u32>(ENGINES, Level::best(), &Rib::new())[0].0.about.name);
        let fib = Fib::build(BY_ESTIMATES, &Rib::<u128>::new()).unwrap();
        assert_eq!(
            fib.entry().about.name,
            costs::<u128>(ENGINES, Level::best(), &Rib::new())[0].0.about.name
        );
    }

    #[test]
    fn without_vectors_a_large_table_is_not_for_an_engine_that_compares_lines() {
        let first = |isa: Level, networks: u32, hosts: u32| {
            let mut lengths = Lengths::default();
            lengths.add(48, networks);
            lengths.add(128, hosts);
            let shape = Shape { family: Family::Ipv6, lengths, width: WidthBits::U8 };
            let compared = ["poptrie", "mosaic6", "terrace"];
            let empty = Rib::<u128>::new();
            let estimates = estimates(ENGINES, isa, &Survey::with_shape(&shape, &empty), Calls::Many);
            let first = estimates.iter().find(|(entry, _)| compared.contains(&entry.about.name));
            first.map(|(entry, _)| entry.about.name)
        };
        assert_eq!(first(Level::SCALAR, 250_000, 0), Some("poptrie"));
        assert_eq!(first(Level::SCALAR, 1_000, 100_000), Some("terrace"));
        let wide = Level::available().last().copied().filter(|&level| level != Level::SCALAR);
        assert!(wide.is_none_or(|wide| first(wide, 250_000, 0) == Some("mosaic6")));
    }

    #[test]
    fn a_table_of_hosts_is_for_the_engine_that_looks_hosts_up_in_lockstep() {
        if !has_vectors() {
            return;
        }
        let best = |hosts: u128| {
            let networks =
                (0..10_000).map(|at| Prefix::containing((0x2A00_0000 + at) << 96, 32 + at as u8 % 12));
            let hosts = (0..hosts).map(Prefix::host);
            let rib: Rib<u128> =
                networks.chain(hosts).map(|prefix| crate::Route { prefix, next_hop: NextHop(1) }).collect();
            Fib::build(BY_ESTIMATES, &rib).unwrap().entry().about.name
        };
        assert_eq!([0, 300, 3000].map(best), ["mosaic6", "mosaic6", "terrace"]);
    }

    #[test]
    fn a_change_keeps_the_engine() {
        let networks = (0..5000).map(|at| Prefix::containing(at << 72, 64 - at as u8 % 8));
        let mut rib: Rib<u128> =
            networks.map(|prefix| crate::Route { prefix, next_hop: NextHop(1) }).collect();
        let mut fib = Fib::build(BY_ESTIMATES, &rib).unwrap();
        assert_eq!(fib.entry().about.name, "casement");
        for number in [1, 2] {
            let delta = rib.insert(Prefix::containing(number << 64, 64), NextHop(2)).unwrap();
            assert!(matches!(fib.apply(&rib, &[delta]), Ok(crate::Applied::InPlace(_))));
            assert_eq!(fib.lookup_index(delta.prefix.last()), NextHop(2));
        }
        assert_eq!(fib.entry().about.name, "casement");
    }

    #[test]
    fn a_table_that_has_become_another_gets_another_engine() {
        let networks = (0..30_000).map(|at| Prefix::containing(at << 16, 24));
        let mut rib: Rib<u32> =
            networks.map(|prefix| crate::Route { prefix, next_hop: NextHop(1) }).collect();
        let mut fib = Fib::build(BY_ESTIMATES, &rib).unwrap();
        let mut named = Fib::build("mosaic", &rib).unwrap();
        let mut names = vec![fib.entry().about.name];
        let changed = (0..12_000).map(|at| Prefix::host(at << 12));
        for prefix in changed.clone() {
            let delta = rib.insert(prefix, NextHop(2)).unwrap();
            fib.apply(&rib, &[delta]).unwrap();
            named.apply(&rib, &[delta]).unwrap();
        }
        names.push(fib.entry().about.name);
        for prefix in changed {
            let delta = rib.remove(prefix).unwrap();
            fib.apply(&rib, &[delta]).unwrap();
        }
        // The next look at the costs is a quarter of the table later.
        for _ in 0..rib.len() / 8 {
            let came = rib.insert(Prefix::host(0), NextHop(2)).unwrap();
            fib.apply(&rib, &[came]).unwrap();
            let gone = rib.remove(Prefix::host(0)).unwrap();
            fib.apply(&rib, &[gone]).unwrap();
        }
        names.push(fib.entry().about.name);
        assert_eq!(names, ["mosaic", "mosaic-deep", "mosaic"]);
        assert_eq!(named.entry().about.name, "mosaic");
        fib.validate(&rib).unwrap();
    }

    #[test]
    fn a_live_table_that_grows_follows_in_place() {
        let route = |at: u128, next_hop| crate::Route {
            prefix: Prefix::containing(at << 72, 64 - (at % 500) as u8 % 8),
            next_hop: NextHop(next_hop),
        };
        let rib: Rib<u128> = (0..500).map(|at| route(at, 1)).collect();
        let fib = Fib::build(BY_ESTIMATES, &rib).unwrap();
        let settings = Settings { longest_delay: Duration::MAX, ..Settings::default() };
        let mut live = Live::new(rib, [fib], settings).unwrap();
        let (mut reader, mut ways) = (live.reader(0), Vec::new());
        for at in 500..10_000 {
            live.change(crate::Change::Announce(route(at, 2)), Duration::ZERO).unwrap();
            if at % 100 == 0 {
                live.publish().unwrap();
                let longest = [0, 1].map(|beside| reader.guard().lookup_index(at << 72 | beside << 64));
                let beside = if (at % 500) % 8 == 0 { NextHop::NONE } else { NextHop(2) };
                assert_eq!(longest, [NextHop(2), beside]);
                reader.rest();
                ways.push(live.counts().rebuilt);
            }
        }
        let built = ways.windows(2).filter(|ways| ways[0] != ways[1]).count();
        assert!(built <= 8, "it follows in place, but for growth and another engine: {ways:?}");
    }

    #[test]
    fn a_table_of_routes_longer_than_24_is_for_the_engine_without_a_hash_table() {
        let best = |hosts: u32| {
            let networks = (0..40_000).map(|at| Prefix::containing(at << 14, 24));
            let hosts = (0..hosts).map(|at| Prefix::host(at << 12));
            let rib: Rib<u32> =
                networks.chain(hosts).map(|prefix| crate::Route { prefix, next_hop: NextHop(1) }).collect();
            Fib::build(BY_ESTIMATES, &rib).unwrap().entry().about.name
        };
        assert_eq!([0, 400, 4000, 80_000].map(best), ["mosaic", "mosaic", "mosaic-deep", "mosaic-deep"]);
    }

    #[test]
    fn many_different_24s_are_for_the_engine_that_stores_them_as_runs() {
        if !has_vectors() {
            return;
        }
        // A host and a /31 in each network: alike in all, different in each, and with wider next
        // hops.
        let best = |networks: u32, patterns: u32, next_hops: u32| {
            let longer = (0..networks).flat_map(|at| {
                let (low, high) = (at % patterns % 250, at % patterns / 250);
                let host = (Prefix::host(at << 8 | low), NextHop(1 + high));
                [host, (Prefix::containing(at << 8 | 0xFE, 31), NextHop(next_hops))]
            });
            let routes = longer.map(|(prefix, next_hop)| crate::Route { prefix, next_hop });
            Fib::build(BY_ESTIMATES, &routes.collect()).unwrap().entry().about.name
        };
        assert_eq!(best(40_000, 1, 255), "mosaic-deep");
        assert_eq!(best(40_000, 40_000, 255), "mosaic-spans");
        assert_eq!(best(20_000, 20_000, 255), "casement", "each is one node");
        assert_eq!(best(640_000, 640_000, 255), "mosaic-deep", "neither is in a cache");
    }

    #[test]
    fn a_table_whose_24s_become_different_gets_another_engine() {
        let route = |at: u32| crate::Route { prefix: Prefix::containing(at << 8, 31), next_hop: NextHop(1) };
        let mut rib: Rib<u32> = (0..60_000).map(route).collect();
        let mut fib = Fib::build(BY_ESTIMATES, &rib).unwrap();
        let mut names = vec![fib.entry().about.name];
        for at in 0..60_000 {
            let delta = rib.insert(Prefix::host(at << 8 | (2 + at % 250)), NextHop(300 + at / 250)).unwrap();
            fib.apply(&rib, &[delta]).unwrap();
        }
        names.push(fib.entry().about.name);
        assert_eq!(names, ["mosaic-deep", "mosaic-spans"]);
        fib.validate(&rib).unwrap();
    }

    #[test]
    fn a_table_of_one_length_is_for_the_exact_match() {
        fn best<A: Address>(prefix: impl Fn(u32) -> Prefix<A>) -> &'static str {
            let next_hop = |at: u32| NextHop(1 + at.wrapping_mul(0x9E37_79B9) % 200);
            let route = |at| crate::Route { prefix: prefix(at), next_hop: next_hop(at) };
            Fib::build(BY_ESTIMATES, &(0..200_000).map(route).collect()).unwrap().entry().about.name
        }
        if !has_vectors() {
            return;
        }
        let hosts = |at| Prefix::host(0x2001_0DB8 << 96 | u128::from(at) << 30);
        let racks = |at| Prefix::containing(0x2001_0DB8 << 96 | u128::from(at) << 64, 64);
        assert_eq!([best(hosts), best(racks)], ["ledger"; 2]);
        // Two hosts in each /24 of many, all in a row, and networks.
        assert_eq!(best(|at: u32| Prefix::host((at / 2) << 8 | (at * 7 % 250 + at % 2))), "ledger");
        assert_eq!(best(|at: u32| Prefix::host(0x0A00_0000 | at)), "mosaic-deep");
        assert_eq!(best(|at: u32| Prefix::containing(at << 8, 24)), "mosaic");
    }

    #[test]
    fn measured_engines_go_before_others_and_the_oracle_comes_last() {
        const NINE: Estimate = Estimate { ns: 9.0, bytes: 0 };
        static KNOWN: About = About { name: "known", estimate: |_, _| NINE, ..About::DEFAULT };
        static OTHER: About = About { name: "other", ..About::DEFAULT };
        let oracle = ENGINES[0];
        let engines = [oracle, Entry { about: &OTHER, ..oracle }, Entry { about: &KNOWN, ..oracle }];
        let names: Vec<&str> = costs::<u128>(&engines, Level::best(), &Rib::new())
            .iter()
            .map(|(entry, _)| entry.about.name)
            .collect();
        assert_eq!(names, ["known", "other", "oracle"]);
    }
}
