//! The choice of `best`: the engine that fibula takes when none is named.

use super::{Entry, Shape};
use crate::{Address, Rib};

/// The specification that leaves the choice of an engine to fibula.
pub const BEST: &str = "best";

/// Returns the engines of a table's family in the order in which `best` tries them: by the
/// [cost](super::About::cost) that each states for this table, the least first. Equal ones are in
/// registry order. O(n).
pub(crate) fn candidates<'e, A: Address>(engines: &'e [Entry], rib: &Rib<A>) -> Vec<&'e Entry> {
    let mut longer = [0; 3];
    for route in rib {
        for (count, len) in longer.iter_mut().zip([24, 48, 64]) {
            *count += usize::from(route.prefix.len() > len);
        }
    }
    let [longer_than_24, longer_than_48, longer_than_64] = longer;
    let shape =
        Shape { family: A::FAMILY, routes: rib.len(), longer_than_24, longer_than_48, longer_than_64 };
    let mut candidates: Vec<&Entry> = engines.iter().filter(|entry| entry.does(A::FAMILY)).collect();
    candidates.sort_by(|one, other| (one.about.cost)(shape).total_cmp(&(other.about.cost)(shape)));
    candidates
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{About, ENGINES};
    use crate::{Fib, NextHop, Prefix};

    #[test]
    fn there_is_a_best_for_both_families_and_it_says_its_name() {
        let fib = Fib::build(BEST, &Rib::<u32>::new()).unwrap();
        assert_eq!(fib.entry().about.name, candidates::<u32>(ENGINES, &Rib::new())[0].about.name);
        let fib = Fib::build(BEST, &Rib::<u128>::new()).unwrap();
        assert_eq!(fib.entry().about.name, candidates::<u128>(ENGINES, &Rib::new())[0].about.name);
    }

    #[test]
    fn a_table_of_hosts_is_for_the_engine_that_looks_hosts_up_in_lockstep() {
        let best = |hosts: u128| {
            let networks = (0..1600).map(|at| Prefix::containing((0x2A00_0000 + at) << 96, 32));
            let hosts = (0..hosts).map(Prefix::host);
            let rib: Rib<u128> =
                networks.chain(hosts).map(|prefix| crate::Route { prefix, next_hop: NextHop(1) }).collect();
            Fib::build(BEST, &rib).unwrap().entry().about.name
        };
        assert_eq!([0, 100, 200].map(best), ["mosaic6", "planb", "planb"]);
    }

    #[test]
    fn a_large_table_that_changes_gets_an_engine_that_follows_in_place() {
        let follow = |spec: &str, hosts: u128| {
            let hosts = (0..hosts).map(|at| Prefix::host(at << 8));
            let mut rib: Rib<u128> =
                hosts.map(|prefix| crate::Route { prefix, next_hop: NextHop(1) }).collect();
            let mut fib = Fib::build(spec, &rib).unwrap();
            let mut names = vec![fib.entry().about.name];
            for (host, next_hop) in [(1, 2), (2, 3)] {
                let delta = rib.insert(Prefix::host(host), NextHop(next_hop)).unwrap();
                fib.apply(&rib, &[delta]).unwrap();
                assert_eq!(fib.lookup_index(host), NextHop(next_hop));
                names.push(fib.entry().about.name);
            }
            names
        };
        assert_eq!(follow(BEST, 5000), ["planb", "terrace", "terrace"]);
        assert_eq!(follow(BEST, 500), ["planb"; 3]);
        assert_eq!(follow("planb", 5000), ["planb"; 3]);
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
        assert_eq!([0, 20, 100, 2000].map(best), ["mosaic", "mosaic", "mosaic-deep", "mosaic-deep"]);
    }

    #[test]
    fn measured_engines_go_before_others_and_the_oracle_comes_last() {
        static KNOWN: About = About { name: "known", cost: |_| 9.0, ..About::DEFAULT };
        static OTHER: About = About { name: "other", ..About::DEFAULT };
        let oracle = ENGINES[0];
        let engines = [oracle, Entry { about: &OTHER, ..oracle }, Entry { about: &KNOWN, ..oracle }];
        let names: Vec<&str> =
            candidates::<u128>(&engines, &Rib::new()).iter().map(|entry| entry.about.name).collect();
        assert_eq!(names, ["known", "other", "oracle"]);
    }
}
