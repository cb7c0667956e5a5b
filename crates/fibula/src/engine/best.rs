//! The choice of `best`: the engine fibula takes when none is asked for.

use super::Entry;
use crate::{Address, Family};

/// The specification that stands for the engine fibula would choose.
pub const BEST: &str = "best";

/// The rule: engines in the order in which they are tried; the first that holds the table is taken.
///
/// Engines are ordered by their worst case: the slowest of the `prefix`, `random` and `zipf` traces that `fibula bench`
/// measures over full Internet tables (`random` only in IPv4). So `mosaic` comes first for IPv4, with next hops of 8, 16 and
/// 32 bits, near and different, and `mosaic6` for IPv6; `sail-l` before `dir24-8`, which is faster where lookups keep to
/// a part of the table and slower where they go everywhere. `poptrie` and `sail-l6` come out even for IPv6 (0.78 to 1.22 of each other from
/// run to run, by how much of the last-level cache others leave); the one with a tenth of the memory goes first. It is a list, and not a
/// formula over table and machine, because the worst cases came in this order on every full table measured.
fn order(family: Family) -> &'static [&'static str] {
    match family {
        Family::Ipv4 => &["mosaic", "sail-l", "poptrie", "dir24-8", "dxr18", "lc-trie", "radix"],
        Family::Ipv6 => &["mosaic6", "poptrie", "sail-l6", "lc-trie", "radix"],
    }
}

/// The engines of a family in the order in which `best` tries them: those of the rule, then the others as
/// registered, those a table always fits (the oracle) last.
pub(crate) fn candidates<A: Address>(engines: &[Entry]) -> Vec<&Entry> {
    let order = order(A::FAMILY);
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
    use crate::{Fib, Rib};

    #[test]
    fn there_is_a_best_for_both_families_and_it_says_its_name() {
        let fib = Fib::build(BEST, &Rib::<u32>::new()).unwrap();
        assert_eq!(fib.entry().about.name, candidates::<u32>(ENGINES)[0].about.name);
        let fib = Fib::build(BEST, &Rib::<u128>::new()).unwrap();
        assert_eq!(fib.entry().about.name, candidates::<u128>(ENGINES)[0].about.name);
    }

    #[test]
    fn the_rule_goes_before_the_registry_and_the_oracle_comes_last() {
        static RADIX: About = About { name: "radix", ..crate::engines::oracle::ABOUT };
        static OTHER: About = About { name: "other", ..crate::engines::oracle::ABOUT };
        let oracle = ENGINES[0];
        let engines = [oracle, Entry { about: &OTHER, ..oracle }, Entry { about: &RADIX, ..oracle }];
        let names: Vec<&str> = candidates::<u128>(&engines).iter().map(|entry| entry.about.name).collect();
        assert_eq!(names, ["radix", "other", "oracle"]);
    }
}
