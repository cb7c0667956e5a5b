//! The worked example of the module page, slots and cells that are full, windows at all bits,
//! addresses outside, updates, and the structural check.

use super::node::{Intervals as _, MARK, NEXT_HOPS_MAX};
use super::*;
use crate::engine::{Engine as _, Update};
use crate::testing::{apply, is_right_around_bounds, meeting, rib};
use crate::{Limit, NextHop, Prefix, Route};
use proptest::prelude::*;

/// Builds a table, and checks it around every bound.
fn check(rib: &Rib<u128>) -> Casement<u128> {
    let engine = Casement::build(rib, &Config::default()).unwrap();
    is_right_around_bounds(&engine, rib);
    engine
}

/// As [`check`], with a given extent.
fn check_in<A: InWindow>(extent: Extent<A>, rib: &Rib<A>) -> Casement<A> {
    let config = Config::default();
    let engine = Casement::before(Window::build_in(Some(extent), rib, &config).unwrap(), &config).unwrap();
    is_right_around_bounds(&engine, rib);
    engine
}

#[test]
fn the_worked_example() {
    let rib = rib(&[("2001:db8::/32", 1), ("2001:db8:0:1::/64", 2), ("2001:db8:0:1::7/128", 3)]);
    let extent = Extent { network: "2001:db8::/32".parse().unwrap(), position: 48, held: 3 };
    let engine: Casement<u128> = check_in(extent, &rib);
    let window = &engine.view.part;
    assert_eq!((window.slots(), window.root[0], window.root[65_536], window.cover), (65_536, 0x8001, 0, 1));
    assert!(window.root[1..65_536].iter().all(|&word| word == 0x7FFF));
    let short = [(0, COVER), (1, 0x8001), (u16::MAX, COVER)];
    assert_eq!(window.shorts[..], [Short::default(), Short::of(&short)]);
    assert_eq!(window.longs[..], [Long::default(), Long::of(&[(6, 2), (7, 3), (u64::MAX, 2)])]);
    assert!(window.shorts[1].intervals(u16::MAX).eq(short));
}

/// Returns a table of 2,000 /48 with `longer` routes in each third of them, and routes elsewhere.
fn office(longer: impl Fn(u128) -> Vec<Prefix<u128>>) -> Rib<u128> {
    let sites = (0..2000).map(|at| 0x2001_0DB8 << 96 | (at * 29) << 80);
    let networks = sites.clone().map(|site| Prefix::containing(site, 48));
    let elsewhere = ["::/0", "fd00::/8", "fe80::/10", "2001:db8::/31", "2001:db8:4000::/34"];
    let elsewhere = elsewhere.map(|prefix| prefix.parse().unwrap());
    let prefixes = networks.chain(sites.step_by(3).flat_map(longer)).chain(elsewhere);
    // No route has the next hop of its cover.
    let next_hop = |at: usize, len: u8| NextHop(at as u32 % 100 + if len > 48 { 101 } else { 1 });
    let route = |(at, prefix): (usize, Prefix<u128>)| Route { prefix, next_hop: next_hop(at, prefix.len()) };
    prefixes.enumerate().map(route).collect()
}

#[test]
fn slots_and_cells_with_too_many_intervals_ask_the_other_engine() {
    // Each route but the last is one of a pair, so n of them are in 2 n + 1 intervals.
    let networks = |count: u128| {
        office(move |site| (0..count).map(|at| Prefix::containing(site | (2 * at + 1) << 64, 64)).collect())
    };
    let hosts = |count: u128| {
        office(move |site| (0..count).map(|at| Prefix::host(site | 5 << 64 | (2 * at + 1))).collect())
    };
    for (rib, nodes, others) in [
        (networks(3), [667, 0], 4),
        (networks(4), [0, 0], 4 + 4 * 667 + 2001),
        (hosts(3), [667, 667], 4),
        (hosts(4), [667, 0], 4 + 4 * 667 + 2001),
    ] {
        let engine = check(&rib);
        let window = &engine.view.part;
        assert_eq!([window.shorts.len() - 1, window.longs.len() - 1], nodes);
        assert_eq!(engine.others.len(), others);
    }
}

#[test]
fn slots_may_end_at_any_bit() {
    let longer = |site: u128| {
        vec![
            Prefix::containing(site | 1 << 77, 51),
            Prefix::containing(site | 3 << 70, 58),
            Prefix::containing(site | 3 << 70 | 1 << 63, 65),
            Prefix::host(site | 3 << 70 | 1 << 60),
            Prefix::host(site | 0xFFFF_FFFF_FFFF_FFFF_FFFF),
        ]
    };
    let rib = office(longer);
    for position in u128::POSITIONS {
        for len in [40, 44, 48] {
            let network = Prefix::containing(0x2001_0DB8 << 96 | 29 << 80, len);
            check_in(Extent { network, position, held: 0 }, &rib);
        }
    }
}

#[test]
fn the_ends_of_the_address_space() {
    const LAST: &str = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128";
    for routes in [
        &[][..],
        &[("::/0", 1)],
        &[("::/128", 1)],
        &[(LAST, 255)],
        &[("::/128", 1), (LAST, 2)],
        &[("ffff:ffff::/32", 255), (LAST, 1)],
        &[("::/0", 255), ("ffff:ffff:ffff:ffff::/64", 1), (LAST, 255)],
    ] {
        let rib = rib(routes);
        check(&rib);
        let network = Prefix::containing(u128::MAX, 44);
        check_in(Extent { network, position: 60, held: 0 }, &rib);
    }
}

#[test]
fn ipv4_tables_with_and_without_a_network() {
    for routes in [
        &[][..],
        &[("0.0.0.0/0", 1)],
        &[("0.0.0.0/32", 1), ("255.255.255.255/32", 2)],
        &[("10.1.0.0/16", 1), ("10.1.2.0/24", 2), ("10.1.2.3/32", 3), ("0.0.0.0/0", 4)],
    ] {
        let rib = rib::<u32>(routes);
        let engine = Casement::<u32>::build(&rib, &Config::default()).unwrap();
        is_right_around_bounds(&engine, &rib);
    }
}

#[test]
fn a_table_with_greater_next_hops_than_a_word_holds_asks_the_other_engine() {
    let mut rib = office(|site| vec![Prefix::containing(site | 1 << 64, 64)]);
    assert!(check(&rib).others.len() < rib.len());
    rib.insert("2001:db8:0:7::/64".parse().unwrap(), NextHop(NEXT_HOPS_MAX));
    assert!(check(&rib).others.len() < rib.len());
    rib.insert("2001:db8:0:7::/64".parse().unwrap(), NextHop(NEXT_HOPS_MAX + 1));
    assert_eq!(check(&rib).others.len(), rib.len());
}

#[test]
fn more_nodes_than_fit_are_named() {
    let network = |at: u128| Prefix::containing(0x2001_0DB8 << 96 | at << 80, 64);
    let networks = (0..40_000).map(|at| Route { prefix: network(at), next_hop: NextHop(1) });
    let limit = Casement::<u128>::build(&networks.collect(), &Config::default()).unwrap_err().limit();
    assert_eq!(limit, Some(Limit { what: NODES, had: 32_769, max: NODES_MAX }));
}

#[test]
fn a_default_route_over_all_slots_writes_no_word() {
    let mut rib = office(|site| vec![Prefix::containing(site | 1 << 64, 64)]);
    let mut engine = check(&rib);
    let root = engine.view.part.root.to_vec();
    for hop in [7, 0, 9] {
        apply(&mut engine, &mut rib, &[("::/0", hop)]);
        assert_eq!(engine.view.part.root[..], root);
    }
    is_right_around_bounds(&engine, &rib);
}

#[test]
fn a_slot_turns_to_the_inner_engine_and_back() {
    let mut rib = office(|site| vec![Prefix::containing(site | 1 << 64, 64)]);
    let mut engine = check(&rib);
    let others = engine.others.len();
    let networks: Vec<String> = (0..5).map(|at| format!("2001:db8:0:{:x}::/64", 2 * at + 3)).collect();
    let all = |hop: u32| networks.iter().map(move |network| (&**network, hop)).collect::<Vec<_>>();
    // No slot has asked so far, so the inner engine lacks the routes over slots.
    let deltas: Vec<_> = all(200)
        .into_iter()
        .filter_map(|(network, hop)| rib.insert(network.parse().unwrap(), NextHop(hop)))
        .collect();
    assert_eq!(engine.apply(&rib, &deltas), Update::Rebuild);
    let mut engine = check(&rib);
    assert_eq!(engine.others.len(), others + 2001 + 6);
    apply(&mut engine, &mut rib, &[("2001:db8:0:3::/64", 201), ("2001:db8:1::/48", 202)]);
    is_right_around_bounds(&engine, &rib);
    for (hop, in_slot) in [(0, 0), (203, 6)] {
        apply(&mut engine, &mut rib, &all(hop));
        assert_eq!(engine.others.len(), others + 2002 + in_slot);
        is_right_around_bounds(&engine, &rib);
    }
}

#[test]
fn a_change_that_does_not_fit_is_taken_back() {
    let mut rib = office(|site| vec![Prefix::containing(site | 1 << 64, 64)]);
    let mut engine = check(&rib);
    let before = rib.clone();
    let changes = ["::/0", "2001:db8:0:7::/64", "2001:db8::/40"].map(|prefix| prefix.parse().unwrap());
    let last = [("2001:db8:0:9::/64".parse().unwrap(), NextHop(NEXT_HOPS_MAX + 1))];
    let changes = changes.map(|prefix| (prefix, NextHop(77))).into_iter().chain(last);
    let deltas: Vec<_> = changes.filter_map(|(prefix, next_hop)| rib.insert(prefix, next_hop)).collect();
    assert_eq!(engine.apply(&rib, &deltas), Update::Rebuild);
    is_right_around_bounds(&engine, &before);
    // The nodes are used up before the changes are made.
    let sites = (0..40_000).map(|at| Prefix::containing(0x2001_0DB8 << 96 | at << 80 | 2 << 64, 64));
    let mut rib = before.clone();
    let deltas: Vec<_> = sites.filter_map(|prefix| rib.insert(prefix, NextHop(78))).collect();
    assert_eq!(engine.apply(&rib, &deltas), Update::Rebuild);
    is_right_around_bounds(&engine, &before);
}

#[test]
fn validation_sees_what_is_wrong() {
    let rib = office(|site| vec![Prefix::containing(site | 1 << 64, 64), Prefix::host(site | 7 << 64 | 7)]);
    let spoiled = |spoil: fn(&mut Window<u128>)| {
        let mut engine = check(&rib);
        spoil(&mut engine.view.part);
        engine.validate(&rib).unwrap_err()
    };
    assert!(spoiled(|v| v.first += 1).contains("the slots are"));
    assert!(spoiled(|v| v.root[1] ^= 2).contains("the word is"));
    assert!(spoiled(|v| v.cover ^= 2).contains("the slots are"));
    assert!(spoiled(|v| v.root[0] = MARK).contains("names node"));
    assert!(spoiled(|v| v.shorts[1][0][0] = 9).contains("end at"));
    assert!(spoiled(|v| v.shorts[1][1][0] = 9).contains("the word is 9"));
    assert!(spoiled(|v| v.longs[1][0] = 9).contains("end at"));
    assert!(spoiled(|v| v.longs[1][6] += 1 << 16).contains("the word is"));
    assert!(spoiled(|v| _ = v.longs.insert(&[Long::default()])).contains("counted"));
    let mut engine = check(&rib);
    engine.others.insert("2001:db8:0:1::/64".parse().unwrap(), rib.iter().next_back().unwrap().next_hop);
    assert!(engine.validate(&rib).is_err());
}

proptest! {
    #[test]
    fn tables_around_the_ends_of_slots_are_those_of_the_oracle(
        routes in proptest::collection::vec(
            (meeting(prop_oneof![0..=128_u8, 46..=68_u8, 120..=128_u8]), 1..4_u32), 0..60,
        ),
        (len, position) in (29..=48_u8, u128::POSITIONS),
    ) {
        let route = |(prefix, hop)| Route { prefix, next_hop: NextHop(252 + hop) };
        let rib: Rib<u128> = routes.into_iter().map(route).collect();
        check(&rib);
        let middle = rib.iter().nth(rib.len() / 2).map_or(0, |route| route.prefix.first());
        if position - len <= 18 {
            check_in(Extent { network: Prefix::containing(middle, len), position, held: 0 }, &rib);
        }
    }

    #[test]
    fn updates_answer_as_the_oracle(
        routes in proptest::collection::vec(
            (meeting(prop_oneof![0..=128_u8, 46..=68_u8, 120..=128_u8]), 0..4_u32), 1..120,
        ),
        (len, position, batch) in (29..=48_u8, u128::POSITIONS, 1..7_usize),
    ) {
        follows(len.max(position - 16), position, &routes, batch);
    }

    #[test]
    fn updates_of_ipv4_answer_as_the_oracle(
        routes in proptest::collection::vec(
            ((proptest::collection::vec(prop_oneof![Just(0_u8), Just(1), Just(255)], 4), 0..=32_u8), 0..4_u32),
            1..120,
        ),
        (len, position, batch) in (0..=32_u8, u32::POSITIONS, 1..7_usize),
    ) {
        let prefix = |bytes: Vec<u8>, len| {
            Prefix::containing(u32::from_be_bytes(bytes.try_into().expect("four of them")), len)
        };
        let routes: Vec<_> = routes.into_iter().map(|((bytes, len), hop)| (prefix(bytes, len), hop)).collect();
        follows(len.max(position.saturating_sub(16)).min(position), position, &routes, batch);
    }
}

/// Applies changes in batches to a table with a given window (next hop 0 withdraws).
fn follows<A: InWindow>(len: u8, position: u8, routes: &[(Prefix<A>, u32)], batch: usize) {
    let mut rib = Rib::new();
    let extent = Extent { network: Prefix::containing(routes[0].0.first(), len), position, held: 0 };
    let mut engine: Casement<A> = check_in(extent, &rib);
    for changes in routes.chunks(batch) {
        let changes = changes.iter().map(|&(prefix, hop)| match hop {
            0 => Change::Withdraw(prefix),
            _ => Change::Announce(Route { prefix, next_hop: NextHop(hop) }),
        });
        let deltas = rib.apply_all(changes).deltas;
        if engine.apply(&rib, &deltas) == Update::Rebuild {
            engine = check_in(extent, &rib);
        }
        is_right_around_bounds(&engine, &rib);
    }
}
