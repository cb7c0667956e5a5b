//! The worked example of the module page, the bound on an update, the limits, and what `validate`
//! detects.

use super::*;
use crate::blocks::tree_bitmap::Node;
use fibula::engine::Lookup as _;
use fibula::engine::{Accesses, Cost};
use fibula::testing::{apply, rib};
use fibula::{Limit, NextHop};

fn build(rib: &Rib<u32>) -> Hybrid<u32> {
    Hybrid::build(rib, &Config::default()).unwrap()
}

#[test]
fn the_worked_example() {
    let mut rib = rib(&[("10.0.0.0/8", 1), ("10.1.0.0/16", 2), ("10.1.128.0/17", 3), ("10.1.129.0/25", 4)]);
    let mut engine = build(&rib);
    let found = |address: u32| {
        let mut accesses = Accesses::new();
        (engine.lookup_metered(address, &mut accesses), accesses.loads())
    };
    // TBL24; the root of the sub-trie and a result; the root of the short routes and a result.
    assert_eq!(found(0x0A01_8105), (4, 1 + 1 + 1));
    assert_eq!(found(0x0A01_81C8), (3, 1 + 1 + 1));
    assert_eq!(found(0x0A01_8200), (3, 1));
    assert_eq!(found(0x0A01_0200), (2, 1 + 2));
    assert_eq!(found(0x0AC8_0000), (1, 1 + 2));
    assert_eq!((engine.tbl24[0x0A_0181].chunk(), engine.tbl24[0x0A_0182].0), (Some(0), 0x2200_0003));
    assert_eq!((engine.tbl24[0x0A_0102], engine.tbl24[0x0A_C800]), (Entry::NO_ROUTE, Entry::NO_ROUTE));
    assert_eq!((engine.owners[0].entry.0, engine.root(0).internal), (0x2200_0003, 1 << 2 | 1));
    assert_eq!(engine.tbl24.iter().filter(|&&entry| entry != Entry::NO_ROUTE).count(), 128);
    assert_eq!(apply(&mut engine, &mut rib, &[("10.0.0.0/8", 0)]).entries_set, 32);
}

/// Section V: any update copies at most one full child array.
#[test]
fn an_update_copies_at_most_one_full_child_array() {
    let mut rib = Rib::new();
    // Sixteen children and fifteen routes: 10.0.0.0/24 with all its prefixes of 25 to 32 bits.
    for len in 25..=32 {
        for index in 0..1_u32 << (len - 24) {
            rib.insert(Prefix::containing(0x0A00_0000 | index << (32 - len), len as u8), NextHop(70_000));
        }
    }
    rib.remove("10.0.0.128/25".parse().unwrap());
    let mut engine = build(&rib);
    let joins = apply(&mut engine, &mut rib, &[("10.0.0.128/25", 5)]);
    let expected = Cost { entries_set: 1, nodes_copied: 16, nodes_allocated: 1, ..Cost::default() };
    assert_eq!(joins, Cost { results_moved: joins.results_moved, ..expected });
    assert!(
        joins.nodes_copied * 8 + joins.results_moved * 4 <= MOST_BYTES_COPIED as u64
            && MOST_BYTES_COPIED <= 256
    );
    for (prefix, next_hop) in
        [("10.0.0.7/32", 0), ("10.0.0.7/32", 1), ("10.1.0.0/16", 1), ("10.0.0.0/14", 2), ("10.0.0.0/14", 0)]
    {
        assert!(apply(&mut engine, &mut rib, &[(prefix, next_hop)]).nodes_copied <= 16);
    }
}

/// Covers of 128 full sub-tries, announced where none was, changed and withdrawn: each writes the
/// answers above what it covers, and copies no node of the 2,048.
#[test]
fn a_cover_copies_nothing_of_what_it_covers() {
    let hosts = (0x0A00_0000..0x0A00_8000).step_by(16);
    let start: Rib<u32> =
        hosts.map(|host| Route { prefix: Prefix::host(host), next_hop: NextHop(1) }).collect();
    let (mut rib, mut engine) = (start.clone(), build(&start));
    let nodes = engine.figures();
    assert!(nodes.contains(&Figure::count("/25 to /32: nodes after 28 bits", 2048)), "{nodes:?}");
    for (prefix, entries) in [
        ("0.0.0.0/0", 8192),
        ("10.0.0.0/8", 32),
        ("10.0.0.0/12", 2),
        ("10.0.0.0/17", 128),
        ("10.0.9.0/24", 1),
    ] {
        for next_hop in [2, 3, 0] {
            let cost = apply(&mut engine, &mut rib, &[(prefix, next_hop)]);
            assert_eq!(cost, Cost { entries_set: entries, ..Cost::default() }, "{prefix}");
            assert_eq!([0x0A00_0900, 0x0A00_0901].map(|address| engine.lookup(address)), [1, next_hop]);
        }
    }
}

#[test]
fn a_middle_route_writes_its_entries_and_moves_no_sub_trie() {
    let mut rib = rib(&[("10.0.0.0/17", 1), ("10.0.4.0/22", 2), ("10.0.5.0/26", 3)]);
    let mut engine = build(&rib);
    let root = engine.root(0);
    assert_eq!(apply(&mut engine, &mut rib, &[("10.0.0.0/17", 4)]).entries_set, 124);
    assert_eq!(apply(&mut engine, &mut rib, &[("10.0.4.0/23", 5)]).entries_set, 2);
    assert_eq!(engine.root(0), root);
    assert_eq!((engine.lookup(0x0A00_0501), engine.lookup(0x0A00_0541)), (3, 5));
    assert_eq!(apply(&mut engine, &mut rib, &[("10.0.4.0/22", 0)]).entries_set, 2);
    assert_eq!(apply(&mut engine, &mut rib, &[("10.0.4.0/23", 0), ("10.0.0.0/17", 0)]).entries_set, 128);
    assert_eq!((engine.lookup(0x0A00_0501), engine.lookup(0x0A00_0541)), (3, 0));
}

#[test]
fn sub_tries_come_with_the_first_long_route_and_go_with_the_last() {
    let mut rib = rib(&[("192.0.2.0/24", 1), ("198.51.100.0/32", 9)]);
    let mut engine = build(&rib);
    let fresh = engine.memory();
    let cost = apply(&mut engine, &mut rib, &[("192.0.2.0/25", 2)]);
    assert_eq!((cost.nodes_allocated, cost.entries_set), (1, 2));
    apply(&mut engine, &mut rib, &[("192.0.2.0/25", 0)]);
    assert_eq!(engine.owners.len(), 1);
    // The remaining sub-trie takes the number of the freed one.
    apply(&mut engine, &mut rib, &[("192.0.2.1/32", 4)]);
    apply(&mut engine, &mut rib, &[("198.51.100.0/32", 0)]);
    assert_eq!((engine.lookup(0xC000_0201), engine.lookup(0xC000_0202)), (4, 1));
    apply(&mut engine, &mut rib, &[("198.51.100.0/32", 9), ("192.0.2.1/32", 0)]);
    assert!(engine.memory().total() <= fresh.total() + 4096);
}

#[test]
fn a_batch_may_withdraw_a_route_and_its_covers_and_announce_new_ones() {
    let start =
        [("10.0.0.0/8", 1), ("10.1.0.0/18", 2), ("10.1.1.0/24", 3), ("10.1.1.0/25", 4), ("10.1.1.128/26", 5)];
    let changes = [
        ("10.1.0.0/17", 6),
        ("10.1.0.0/18", 0),
        ("10.1.1.0/24", 0),
        ("10.1.1.0/25", 0),
        ("10.1.1.128/26", 0),
    ];
    for turn in 0..changes.len() {
        let mut order = changes;
        order.rotate_left(turn);
        let mut rib = rib(&start);
        let mut engine = build(&rib);
        apply(&mut engine, &mut rib, &order);
        assert_eq!((engine.lookup(0x0A01_0180), engine.lookup(0x0A01_8000)), (6, 1));
    }
}

#[test]
fn limits_are_named() {
    let mut rib = rib(&[("10.0.0.0/8", NEXT_HOPS_MAX), ("10.0.0.0/32", NEXT_HOPS_MAX)]);
    let fib = crate::build("hybrid", &rib).unwrap();
    assert_eq!([0x0A00_0000, 0x0AFF_FFFF].map(|a: u32| fib.lookup_index(a)), [NextHop(NEXT_HOPS_MAX); 2]);
    let config = Config::default();
    let words = (1 << INITIAL_BITS) + 2;
    let error = Hybrid::<u32>::build_within(&rib, &config, words - 1).unwrap_err();
    assert_eq!(error.limit(), Some(Limit { what: WORDS, had: words, max: words - 1 }));
    let mut engine: Hybrid<u32> = Hybrid::build_within(&rib, &config, words).unwrap();
    let old = rib.clone();
    let delta = rib.insert("10.0.0.0/16".parse().unwrap(), NextHop(2)).unwrap();
    assert_eq!(engine.apply(&rib, &[delta]), Update::Rebuild);
    engine.validate(&old).unwrap();
    rib.insert("10.0.0.0/16".parse().unwrap(), NextHop(NEXT_HOPS_MAX + 1));
    let limit = Limit { what: "next hops", had: u64::from(NEXT_HOPS_MAX) + 1, max: NEXT_HOPS_MAX.into() };
    assert_eq!(crate::build("hybrid", &rib).unwrap_err().limit(), Some(limit));
}

#[test]
fn validate_sees_what_is_wrong() {
    let rib = rib(&[("10.0.0.0/9", 1), ("10.0.0.0/20", 2), ("10.0.1.0/28", 3), ("10.0.2.0/28", 3)]);
    build(&rib).validate(&rib).unwrap();
    let wrong = |damage: &dyn Fn(&mut Hybrid<u32>), expected: &str| {
        let mut engine = build(&rib);
        damage(&mut engine);
        let error = engine.validate(&rib).unwrap_err();
        assert!(error.contains(expected), "{error}");
    };
    let (first, second) = (0x0A_0001, 0x0A_0002);
    wrong(&|engine| engine.tbl24[0x0A_0003] = Entry::NO_ROUTE, "0xa0003 of TBL24: /0 to 0 where /20 to 2");
    wrong(&|engine| engine.tbl24[7] = engine.tbl24[0x0A_0003], "0x7 of TBL24");
    wrong(&|engine| engine.tbl24[first] = engine.tbl24[second], "sub-trie 0 is lost to 0xa0001");
    wrong(&|engine| engine.tbl24[0x0A_0003] = Entry::pointing_to(1), "3 entries point to 2 sub-tries");
    wrong(&|engine| engine.owners[1].entry = Entry(0x2600_0002), "0xa0002 of TBL24");
    wrong(&|engine| engine.owners[1].entry = Entry::NO_ROUTE, "2 above 10.0.2.0/24 where 0 is expected");
    wrong(&|engine| engine.set_root(1, Node::EMPTY), "the sub-trie of 10.0.2.0/24 is empty");
    wrong(&|engine| engine.set_root(1, engine.root(0)), "two pointers to one of words");
    wrong(&|engine| assert_eq!(engine.owners.push(engine.owners[0]), 2), "3 sub-tries owned and 2 kept");
}
