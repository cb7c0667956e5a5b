//! The choice of `best`: the engine fibula takes when none is asked for.

use super::Entry;
use crate::{Address, Family, Rib};

/// The specification that stands for the engine fibula would choose.
pub const BEST: &str = "best";

/// The rule: engines in the order in which they are tried; the first that holds the table is taken.
///
/// Engines are ordered by their worst case: the slowest of the `prefix`, `random` and `zipf` traces that `fibula bench`
/// measures over full Internet tables (`random` only in IPv4). So `mosaic` comes first for IPv4, with next hops of 8, 16 and
/// 32 bits, near and different (`mosaic-runs` has 0.7 to 0.85 of its speed in half the bytes), and `mosaic6` for IPv6;
/// `sail-l` before `dir24-8`, which is faster where lookups keep to a part of the table and slower where they go everywhere.
/// `poptrie` and `sail-l6` come out even for IPv6 (0.78 to 1.22 of each other from run to run, by how much of the last-level
/// cache others leave); the one with a tenth of the memory goes first. The lists are no formula over table and machine,
/// because the worst cases came in this order on every full table measured.
///
/// The shape of a table matters once: `mosaic6` and `sail-l6` keep IPv6 routes past /48 and /64 in a tree beside. With 2 % of them in a table of 100,000 the
/// former is at 79 million lookups a second where `poptrie` has 55, with 5 % at 54 and 51, with 11 % at 32 and 43, with 23 % at 18 and 35
/// (`prefix`). So from one in sixteen on ([`LONG_SHARE`]) `poptrie` goes first.
fn order<A: Address>(rib: &Rib<A>) -> &'static [&'static str] {
    match A::FAMILY {
        Family::Ipv6 if has_many_long(rib) => &["poptrie", "mosaic6", "sail-l6", "lc-trie", "radix"],
        Family::Ipv4 => &["mosaic", "sail-l", "poptrie", "dir24-8", "dxr18", "lc-trie", "radix"],
        Family::Ipv6 => &["mosaic6", "poptrie", "sail-l6", "lc-trie", "radix"],
    }
}

/// One in so many routes past /48 is many.
const LONG_SHARE: usize = 16;

/// Whether many routes are longer than networks of the Internet's table. O(n).
fn has_many_long<A: Address>(rib: &Rib<A>) -> bool {
    let long = rib.iter().filter(|route| route.prefix.len() > 48).count();
    long * LONG_SHARE > rib.len()
}

/// The engines of a table's family in the order in which `best` tries them: those of the rule, then the others as
/// registered, those a table always fits (the oracle) last.
pub(crate) fn candidates<'e, A: Address>(engines: &'e [Entry], rib: &Rib<A>) -> Vec<&'e Entry> {
    let order = order(rib);
    let rank = |entry: &&Entry| {
        let name = entry.about.name;
        let known = order.iter().position(|&known| known == name);
        (name == crate::engines::oracle::ABOUT.name, known.unwrap_or(order.len()))
    };
    let mut candidates: Vec<&Entry> = engines.iter().filter(|entry| entry.does(A::FAMILY)).collect();
    candidates.sort_by_key(rank); // stable: the registry's order among those the rule does not name
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
    fn a_table_of_hosts_is_for_the_engine_that_has_no_tree_beside() {
        let best = |hosts: u128| {
            let networks = (0..1600).map(|at| Prefix::containing((0x2A00_0000 + at) << 96, 32));
            let hosts = (0..hosts).map(Prefix::host);
            let rib: Rib<u128> =
                networks.chain(hosts).map(|prefix| crate::Route { prefix, next_hop: NextHop(1) }).collect();
            Fib::build(BEST, &rib).unwrap().entry().about.name
        };
        assert_eq!([0, 100, 200].map(best), ["mosaic6", "mosaic6", "poptrie"]);
    }

    #[test]
    fn the_rule_goes_before_the_registry_and_the_oracle_comes_last() {
        static RADIX: About = About { name: "radix", ..crate::engines::oracle::ABOUT };
        static OTHER: About = About { name: "other", ..crate::engines::oracle::ABOUT };
        let oracle = ENGINES[0];
        let engines = [oracle, Entry { about: &OTHER, ..oracle }, Entry { about: &RADIX, ..oracle }];
        let names: Vec<&str> =
            candidates::<u128>(&engines, &Rib::new()).iter().map(|entry| entry.about.name).collect();
        assert_eq!(names, ["radix", "other", "oracle"]);
    }
}
