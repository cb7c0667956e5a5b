//! The choice of `best`: the engine that fibula takes when none is named.

use super::{Entry, Shape, Updates};
use crate::arch::Level;
use crate::{Address, Delta, Rib};

/// The specification that leaves the choice of an engine to fibula.
pub const BEST: &str = "best";

/// Returns the engines of a table's family in the order in which [`best`](BEST) tries them, each
/// with the [cost](super::About::cost_on) that it states for this table and instruction set. The
/// least is first. Equal ones are in registry order. O(n).
///
/// ```
/// use fibula::engine::{ENGINES, Level, costs};
/// use fibula::{NextHop, Rib};
/// let mut rib: Rib<u32> = Rib::new();
/// rib.insert("192.0.2.0/24".parse().unwrap(), NextHop(1));
/// let (first, cost) = costs(ENGINES, Level::best(), &rib)[0];
/// assert_eq!((first.about.name, cost), ("mosaic", 2.3));
/// ```
#[must_use]
pub fn costs<'e, A: Address>(engines: &'e [Entry], isa: Level, rib: &Rib<A>) -> Vec<(&'e Entry, f32)> {
    costs_of(engines, isa, &Shape::of(rib))
}

fn costs_of<'e>(engines: &'e [Entry], isa: Level, shape: &Shape) -> Vec<(&'e Entry, f32)> {
    let engines = engines.iter().filter(|entry| entry.does(shape.family));
    let mut costs: Vec<(&Entry, f32)> =
        engines.map(|entry| (entry, entry.about.cost_on(isa, shape))).collect();
    costs.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    costs
}

/// The most routes of a table that is built again in a millisecond. For a larger one that changes,
/// `best` takes an engine that follows in place.
const REBUILT_MOST: usize = 1 << 12;

/// The least number of changes after which `best` looks at the costs again: as many as change a
/// small table's shape.
const CHANGES_LEAST: usize = REBUILT_MOST;

/// The cost of an engine over that of the cheapest, from which on it is replaced. Less would let a
/// table go back and forth.
const REPLACED_FROM: f32 = 1.25;

/// The engines among which `best` chooses for a table that changes.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    engines: Vec<Entry>,
    isa: Level,
    shape: Shape,
    /// The changes since the costs were last compared.
    changes: usize,
}

impl Choice {
    /// Creates the choice among `engines` for a table and an instruction set. O(n).
    pub(crate) fn among<A: Address>(engines: &[Entry], isa: Level, rib: &Rib<A>) -> Self {
        Self { engines: engines.to_vec(), isa, shape: Shape::of(rib), changes: 0 }
    }

    /// Returns the choice among the same engines for another table. O(n).
    pub(crate) fn again<A: Address>(&self, rib: &Rib<A>) -> Self {
        Self::among(&self.engines, self.isa, rib)
    }

    /// Returns the engines in the order in which to try them. With `for_changes`, only those that
    /// follow a large table in place.
    pub(crate) fn candidates(&self, for_changes: bool) -> Vec<Entry> {
        let costs = costs_of(&self.engines, self.isa, &self.shape).into_iter().map(|(&entry, _)| entry);
        let is_large = for_changes && self.shape.routes() > REBUILT_MOST;
        costs.filter(|entry| !is_large || entry.about.updates == Updates::InPlace).collect()
    }

    /// Notes what the table has changed by.
    pub(crate) fn follow<A: Address>(&mut self, deltas: &[Delta<A>]) {
        for delta in deltas {
            self.shape.follow(delta);
        }
        self.changes += deltas.len();
    }

    /// Returns whether `engine` should be replaced: a quarter of the table has changed since the
    /// last look, and another engine costs clearly less now; or it is rebuilt for each change, and
    /// the table is large.
    pub(crate) fn is_outdated(&mut self, engine: &Entry) -> bool {
        if engine.about.updates == Updates::Rebuild && self.shape.routes() > REBUILT_MOST {
            return true;
        }
        if self.changes < CHANGES_LEAST || self.changes < self.shape.routes() / 4 {
            return false;
        }
        self.changes = 0;
        let cost = |entry: &Entry| entry.about.cost_on(self.isa, &self.shape);
        let least = self.candidates(true).first().map_or(f32::INFINITY, cost);
        cost(engine) > REPLACED_FROM * least
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{About, ENGINES, Lengths};
    use crate::live::{Live, Settings};
    use crate::{Family, Fib, NextHop, Prefix};
    use std::time::Duration;

    #[test]
    fn there_is_a_best_for_both_families_and_it_says_its_name() {
        let fib = Fib::build(BEST, &Rib::<u32>::new()).unwrap();
        assert_eq!(fib.entry().about.name, costs::<u32>(ENGINES, Level::best(), &Rib::new())[0].0.about.name);
        let fib = Fib::build(BEST, &Rib::<u128>::new()).unwrap();
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
            let shape = Shape::with_lengths(Family::Ipv6, lengths);
            let compared = ["poptrie", "mosaic6", "planb", "terrace"];
            let costs = costs_of(ENGINES, isa, &shape);
            let first = costs.iter().find(|(entry, _)| compared.contains(&entry.about.name));
            first.map(|(entry, _)| entry.about.name)
        };
        assert_eq!(first(Level::SCALAR, 250_000, 0), Some("poptrie"));
        assert_eq!(first(Level::SCALAR, 2_000, 0), Some("planb"));
        assert_eq!(first(Level::SCALAR, 1_000, 100_000), Some("terrace"));
        let wide = Level::available().last().copied().filter(|&level| level != Level::SCALAR);
        assert!(wide.is_none_or(|wide| first(wide, 250_000, 0) == Some("mosaic6")));
    }

    #[test]
    fn a_table_of_hosts_is_for_the_engine_that_looks_hosts_up_in_lockstep() {
        let best = |hosts: u128| {
            let networks =
                (0..10_000).map(|at| Prefix::containing((0x2A00_0000 + at) << 96, 32 + at as u8 % 12));
            let hosts = (0..hosts).map(Prefix::host);
            let rib: Rib<u128> =
                networks.chain(hosts).map(|prefix| crate::Route { prefix, next_hop: NextHop(1) }).collect();
            Fib::build(BEST, &rib).unwrap().entry().about.name
        };
        assert_eq!([0, 300, 1000].map(best), ["mosaic6", "mosaic6", "planb"]);
    }

    #[test]
    fn a_large_table_that_changes_gets_an_engine_that_follows_in_place() {
        let network = |number: u128| Prefix::containing(number << 64, 64);
        let follow = |spec: &str, networks: u128| {
            let networks = (0..networks).map(|at| Prefix::containing(at << 72, 64 - at as u8 % 8));
            let mut rib: Rib<u128> =
                networks.map(|prefix| crate::Route { prefix, next_hop: NextHop(1) }).collect();
            let mut fib = Fib::build(spec, &rib).unwrap();
            let mut names = vec![fib.entry().about.name];
            for (prefix, next_hop) in [(network(1), 2), (network(2), 3)] {
                let delta = rib.insert(prefix, NextHop(next_hop)).unwrap();
                fib.apply(&rib, &[delta]).unwrap();
                assert_eq!(fib.lookup_index(prefix.last()), NextHop(next_hop));
                names.push(fib.entry().about.name);
            }
            names
        };
        assert_eq!(follow(BEST, 5000), ["casement", "terrace", "terrace"]);
        assert_eq!(follow(BEST, 500), ["casement"; 3]);
        assert_eq!(follow("planb", 5000), ["planb"; 3]);
    }

    #[test]
    fn a_table_that_has_become_another_gets_another_engine() {
        let networks = (0..30_000).map(|at| Prefix::containing(at << 16, 24));
        let mut rib: Rib<u32> =
            networks.map(|prefix| crate::Route { prefix, next_hop: NextHop(1) }).collect();
        let mut fib = Fib::build(BEST, &rib).unwrap();
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
    fn a_live_table_that_has_become_another_gets_another_engine() {
        let route = |at: u128, next_hop| crate::Route {
            prefix: Prefix::containing(at << 72, 64 - (at % 500) as u8 % 8),
            next_hop: NextHop(next_hop),
        };
        let rib: Rib<u128> = (0..500).map(|at| route(at, 1)).collect();
        let fib = Fib::build(BEST, &rib).unwrap();
        let settings = Settings { longest_delay: Duration::MAX, ..Settings::default() };
        let mut live = Live::new(rib, [fib], settings).unwrap();
        let (mut reader, mut ways) = (live.reader(0), Vec::new());
        for at in 500..10_000 {
            live.change(crate::Change::Announce(route(at, 2)), Duration::ZERO).unwrap();
            if at % 500 == 0 {
                live.publish().unwrap();
                let answers = [0, 1].map(|beside| reader.guard().lookup_index(at << 72 | beside << 64));
                assert_eq!(answers, [NextHop(2), NextHop::NONE]);
                reader.rest();
                ways.push(live.counts().rebuilt);
            }
        }
        let rebuilt = |ways: &[u64]| ways[1] > ways[0];
        assert!(rebuilt(&ways[..2]), "a small table is built again for each change");
        assert!(!rebuilt(&ways[ways.len() - 2..]), "a large one follows in place: {ways:?}");
    }

    #[test]
    fn a_table_of_routes_longer_than_24_is_for_the_engine_without_a_hash_table() {
        let best = |hosts: u32| {
            let networks = (0..1000).map(|at| Prefix::containing(at << 16, 24));
            let hosts = (0..hosts).map(|at| Prefix::host(at << 12));
            let rib: Rib<u32> =
                networks.chain(hosts).map(|prefix| crate::Route { prefix, next_hop: NextHop(1) }).collect();
            Fib::build(BEST, &rib).unwrap().entry().about.name
        };
        assert_eq!([0, 10, 100, 2000].map(best), ["mosaic", "mosaic", "mosaic-deep", "mosaic-deep"]);
    }

    #[test]
    fn many_different_24s_are_for_the_engine_that_stores_them_as_runs() {
        // A host and a /31 in each network: alike in all, different in each, and with wider next
        // hops.
        let best = |networks: u32, patterns: u32, next_hops: u32| {
            let longer = (0..networks).flat_map(|at| {
                let (low, high) = (at % patterns % 250, at % patterns / 250);
                let host = (Prefix::host(at << 8 | low), NextHop(1 + high));
                [host, (Prefix::containing(at << 8 | 0xFE, 31), NextHop(next_hops))]
            });
            let routes = longer.map(|(prefix, next_hop)| crate::Route { prefix, next_hop });
            Fib::build(BEST, &routes.collect()).unwrap().entry().about.name
        };
        assert_eq!(best(40_000, 1, 255), "mosaic-deep");
        assert_eq!(best(40_000, 40_000, 255), "mosaic-spans");
        assert_eq!(best(20_000, 20_000, 255), "mosaic-deep");
        assert_eq!(best(20_000, 20_000, 256), "mosaic-spans");
        assert_eq!(best(640_000, 640_000, 255), "mosaic-deep", "neither is in a cache");
    }

    #[test]
    fn a_table_whose_24s_become_different_gets_another_engine() {
        let route = |at: u32| crate::Route { prefix: Prefix::containing(at << 8, 31), next_hop: NextHop(1) };
        let mut rib: Rib<u32> = (0..60_000).map(route).collect();
        let mut fib = Fib::build(BEST, &rib).unwrap();
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
            Fib::build(BEST, &(0..200_000).map(route).collect()).unwrap().entry().about.name
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
        static KNOWN: About = About { name: "known", cost: |_| 9.0, ..About::DEFAULT };
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
