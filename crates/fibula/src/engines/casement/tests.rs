//! The worked example of the module page, slots and cells that are full, windows at all bits,
//! addresses outside, and the structural check.

use super::node::{Long, Short};
use super::*;
use crate::testing::{is_right_around_bounds, meeting, rib};
use crate::{Limit, NextHop, Prefix, Route};
use proptest::prelude::*;

/// Builds a table, and checks it around every bound.
fn check<W: Width>(rib: &Rib<u128>) -> Casement<W> {
    let engine = Casement::build(rib, &Config::default()).unwrap();
    is_right_around_bounds(&engine, rib);
    engine
}

/// As [`check`], with the window of some other table.
fn check_in(window: Window, rib: &Rib<u128>) {
    let engine = Casement::<u16>::build_in(window, rib, &Config::default()).unwrap();
    for range in rib.ranges() {
        for address in [range.first, range.last] {
            use crate::engine::Lookup as _;
            assert_eq!(NextHop(engine.view.lookup(address).into()), range.next_hop, "{address:x}");
        }
    }
}

#[test]
fn the_worked_example() {
    let rib = rib(&[("2001:db8::/32", 1), ("2001:db8:0:1::/64", 2), ("2001:db8:0:1::7/128", 3)]);
    let window = Window { network: "2001:db8::/32".parse().unwrap(), position: 48, held: 3 };
    let engine = Casement::<u8>::build_in(window, &rib, &Config::default()).unwrap();
    check_in(window, &rib);
    let view = engine.view();
    assert_eq!((view.slots(), view.root[0], view.root[65_536]), (65_536, 0x8001, 0));
    assert!(view.root[1..65_536].iter().all(|&word| word == 1));
    let short = [(0, 1), (1, 0x8001), (u16::MAX, 1)];
    assert_eq!(view.shorts[..], [Short::default(), Short::of(&short)]);
    assert_eq!(view.longs[..], [Long::default(), Long::of(&[(6, 2), (7, 3), (u64::MAX, 2)])]);
    assert!(view.shorts[1].intervals().eq(short));
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
        (networks(4), [0, 0], 4 + 4 * 667),
        (hosts(3), [667, 667], 4),
        (hosts(4), [667, 0], 4 + 4 * 667),
    ] {
        let engine = check::<u16>(&rib);
        assert_eq!([engine.view.shorts.len() - 1, engine.view.longs.len() - 1], nodes);
        assert_eq!(engine.others, others + 2001);
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
    for position in Window::POSITIONS {
        for len in [40, 44, 48] {
            let network = Prefix::containing(0x2001_0DB8 << 96 | 29 << 80, len);
            check_in(Window { network, position, held: 0 }, &rib);
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
        check::<u8>(&rib);
        check::<u32>(&rib);
        let network = Prefix::containing(u128::MAX, 44);
        check_in(Window { network, position: 60, held: 0 }, &rib);
    }
}

#[test]
fn a_table_with_greater_next_hops_than_a_word_holds_asks_the_other_engine() {
    let mut rib = office(|site| vec![Prefix::containing(site | 1 << 64, 64)]);
    assert!(check::<u32>(&rib).others < rib.len());
    rib.insert("2001:db8:0:7::/64".parse().unwrap(), NextHop(Window::NEXT_HOPS_MAX));
    assert!(check::<u32>(&rib).others < rib.len());
    rib.insert("2001:db8:0:7::/64".parse().unwrap(), NextHop(Window::NEXT_HOPS_MAX + 1));
    assert_eq!(check::<u32>(&rib).others, rib.len());
}

#[test]
fn more_nodes_than_fit_are_named() {
    let network = |at: u128| Prefix::containing(0x2001_0DB8 << 96 | at << 80, 64);
    let networks = (0..40_000).map(|at| Route { prefix: network(at), next_hop: NextHop(1) });
    let limit = Casement::<u8>::build(&networks.collect(), &Config::default()).unwrap_err().limit();
    assert_eq!(limit, Some(Limit { what: NODES, had: 40_001, max: NODES_MAX }));
}

#[test]
fn validation_sees_what_is_wrong() {
    let rib = office(|site| vec![Prefix::containing(site | 1 << 64, 64), Prefix::host(site | 7 << 64 | 7)]);
    let spoiled = |spoil: fn(&mut CasementView<u8>)| {
        let mut engine = check(&rib);
        spoil(&mut engine.view);
        engine.validate(&rib).unwrap_err()
    };
    assert!(spoiled(|v| v.first += 1).contains("the slots are"));
    assert!(spoiled(|v| v.root[1] ^= 2).contains("next hop is"));
    assert!(spoiled(|v| v.root[0] = 0).contains("names node"));
    assert!(spoiled(|v| v.shorts[1].ends[0] = 9).contains("end at"));
    assert!(spoiled(|v| v.shorts[1].words[0] = 9).contains("next hop is 9"));
    assert!(spoiled(|v| v.longs[1].ends[0] = 9).contains("end at"));
    assert!(spoiled(|v| v.longs[1].words[1] += 1).contains("next hop is"));
    assert!(spoiled(|v| v.longs.push(Long::default())).contains("counted"));
    let mut engine = check::<u8>(&rib);
    engine.others += 1;
    assert!(engine.validate(&rib).unwrap_err().contains("the other engine has"));
}

proptest! {
    #[test]
    fn tables_around_the_ends_of_slots_are_those_of_the_oracle(
        routes in proptest::collection::vec(
            (meeting(prop_oneof![0..=128_u8, 46..=68_u8, 120..=128_u8]), 1..4_u32), 0..60,
        ),
        (len, position) in (29..=48_u8, Window::POSITIONS),
    ) {
        let route = |(prefix, hop)| Route { prefix, next_hop: NextHop(252 + hop) };
        let rib: Rib<u128> = routes.into_iter().map(route).collect();
        check::<u8>(&rib);
        let middle = rib.iter().nth(rib.len() / 2).map_or(0, |route| route.prefix.first());
        if position - len <= 18 {
            check_in(Window { network: Prefix::containing(middle, len), position, held: 0 }, &rib);
        }
    }
}
