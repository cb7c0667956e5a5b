//! The bound of He, Guan, Xie and Salamatian (ICCCN 2012), section V, on an update of `hybrid`:
//! over every single insert and delete of the prefixes of a table, covers included, and of covers
//! where the table has none.

#[path = "../../fibula-io/tests/common/mod.rs"]
mod common;

use fibula::engine::{Config, Engine, Update};
use fibula::{Change, NextHop, Prefix, Rib, Route};
use fibula_engines::hybrid::{Hybrid, MOST_BYTES_COPIED};
use fibula_io::Source;
use fibula_io::generate::{NextHopModel, Size, internet};
use fibula_io::table::{self, ReadOptions};
use std::collections::BTreeSet;

/// The bytes of a node, the nodes of a full child array, and the bytes that the paper's section V
/// allows an update.
const NODE: u64 = 8;
const FULL_ARRAY: u64 = 16;
const PAPER: u64 = 256;

/// The table that the paper's successors measure, or a made one with long routes below /24s.
fn table() -> Rib<u32> {
    if let Some(path) = common::data("ipv4-20140513-routeviews-asn.tsv.gz") {
        return table::read(&Source::from(path), &ReadOptions::default()).unwrap().tables.ipv4;
    }
    internet(Size { ipv4: 40_000, ipv6: 0 }, NextHopModel::Near(200), 5).unwrap().ipv4
}

/// The prefixes of a table, all its covers of 8, 16, 17 and 24 bits, and the default route.
fn with_covers(rib: &Rib<u32>) -> BTreeSet<Prefix<u32>> {
    let prefixes = rib.iter().map(|route| route.prefix);
    let covers = prefixes.clone().flat_map(|prefix| {
        let shorter = [0, 8, 16, 17, 24].into_iter().filter(move |&len| len < prefix.len());
        shorter.map(move |len| Prefix::containing(prefix.first(), len))
    });
    prefixes.chain(covers).collect()
}

/// Returns the most nodes that one update copies: each prefix comes, if it is not there, and goes,
/// or the other way round.
fn most_nodes_copied(rib: &Rib<u32>) -> u64 {
    let (original, mut rib) = (rib, rib.clone());
    let mut engine: Hybrid<u32> = Hybrid::build(&rib, &Config::default()).unwrap();
    let mut most = 0;
    for prefix in with_covers(original) {
        let own = original.get(prefix).unwrap_or_default();
        let other = if own.is_some() { NextHop::NONE } else { NextHop(1) };
        for next_hop in [other, own] {
            let announce = Change::Announce(Route { prefix, next_hop });
            let delta = rib.apply(if next_hop.is_some() { announce } else { Change::Withdraw(prefix) });
            let delta = delta.unwrap();
            let Update::Applied(cost) = engine.apply(&rib, &[delta]) else {
                panic!("{prefix} was not followed");
            };
            let is_cover = prefix.len() <= 24;
            assert!(!is_cover || cost.nodes_copied == 0, "{prefix} to {next_hop:?}: {cost:?}");
            most = most.max(cost.nodes_copied);
        }
    }
    engine.validate(original).unwrap();
    most
}

#[test]
fn no_single_update_of_a_table_copies_more_than_the_paper_allows() {
    let mut rib = table();
    let most = most_nodes_copied(&rib);
    assert!(most <= FULL_ARRAY && FULL_ARRAY * NODE <= MOST_BYTES_COPIED as u64, "{most} nodes");
    // A /17 over 128 sub-tries, each of whose child arrays is full on both levels.
    let full = Prefix::<u32>::containing(0x0A00_0000, 17);
    for slot in 0..128 {
        for host in 0..32 {
            // 16 children of the root, and 16 below its first child.
            let host = if host < 16 { host << 4 } else { host & 15 };
            rib.insert(Prefix::host(full.first() | slot << 8 | host), NextHop(2));
        }
    }
    let most = most_nodes_copied(&rib);
    assert_eq!((most, PAPER / NODE), (FULL_ARRAY - 1, 2 * FULL_ARRAY));
}
