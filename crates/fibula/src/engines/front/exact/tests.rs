//! The worked example of the module page, lines that are full, routes that become entries or
//! others, and the structural check.

use super::lines::Line;
use super::*;
use crate::arch::Scalar;
use crate::engine::{Engine as _, Update, Width as _};
use crate::memory::Pages;
use crate::testing::{ViaView, apply, follows_the_oracle, is_right_around_bounds, meeting, rib};
use crate::{NextHop, Prefix, Route};
use proptest::prelude::*;

fn build<A: InLines>(rib: &Rib<A>) -> Ledger<A> {
    let engine = Ledger::build(rib, &Config::default()).unwrap();
    engine.validate(rib).unwrap();
    engine
}

#[test]
fn the_worked_example() {
    let rib = rib::<u32>(&[("192.0.2.0/24", 1), ("192.0.2.7/32", 2), ("192.0.2.9/32", 3)]);
    let engine: Ledger<u32> = build(&rib);
    let line: Line = [0xC000_0209 << 32 | 0xC000_0207, 0, 0, 0, 3 << 32 | 2, 0, 0, 0];
    assert_eq!((engine.view.part.length, &engine.view.part.lines.arrays[0][..]), (32, &[line][..]));
    let others: Vec<String> = engine.others.iter().map(|route| route.prefix.to_string()).collect();
    assert_eq!(others, ["192.0.2.0/24"]);
    let answers = [7, 8, 9, 10].map(|host| engine.lookup(0xC000_0200 | host));
    assert_eq!((answers, engine.lookup(0xC000_0300)), ([2, 1, 3, 1], 0));
}

/// Returns hosts of one network whose keys all have the same lines in a table of `count` hosts.
fn in_one_line<A: InLines>(count: usize) -> Vec<Prefix<A>> {
    let lines = Lines::<A>::with_room_for(count, A::BITS, Pages::Small);
    let hosts = (0_u64..).map(|at| A::from_bits(0x2001_0DB8, 0, 32) ^ A::from_bits(at, A::BITS - 24, 24));
    hosts.filter(|&host| lines.places(host) == [0, 0]).take(count).map(Prefix::host).collect()
}

fn full_lines<A: InLines>() {
    let hosts = in_one_line::<A>(50);
    let hop = |at: usize| NextHop(at as u32 % 200 + 1);
    let route = |(at, &prefix): (usize, &Prefix<A>)| Route { prefix, next_hop: hop(at) };
    let mut rib: Rib<A> = hosts.iter().enumerate().map(route).collect();
    let mut engine: Ledger<A> = build(&rib);
    let fit = 2 * A::layout(A::BITS).slots();
    assert_eq!((engine.view.part.lines.entries(), engine.others.len()), (fit, 50 - fit));
    // Half of the hosts are withdrawn. Their slots stay free: another route moves into none.
    for (at, &prefix) in hosts.iter().enumerate() {
        let delta = if at % 2 == 0 { rib.remove(prefix) } else { rib.insert(prefix, hop(at + 1)) };
        let update = engine.apply(&rib, &[delta.unwrap()]);
        assert!(matches!(update, Update::Applied(_)));
        engine.validate(&rib).unwrap();
    }
    for (at, &prefix) in hosts.iter().enumerate().filter(|(at, _)| at % 2 == 0) {
        let delta = rib.insert(prefix, hop(at + 2)).unwrap();
        engine.apply(&rib, &[delta]);
        engine.validate(&rib).unwrap();
        assert_eq!(engine.lookup(prefix.first()).widen(), hop(at + 2));
    }
    assert_eq!(engine.view.part.lines.entries(), fit);
}

#[test]
fn an_entry_whose_lines_are_full_is_one_of_the_others() {
    full_lines::<u32>();
    full_lines::<u128>();
}

#[test]
fn an_entry_with_a_longer_route_inside_becomes_one_of_the_others() {
    let networks = [("2001:db8::/64", 1), ("2001:db8:0:1::/64", 2), ("2001:db8:0:2::/64", 3), ("::/0", 9)];
    let mut rib = rib::<u128>(&networks);
    let mut engine: Ledger<u128> = build(&rib);
    assert_eq!((engine.view.part.length, engine.view.part.lines.entries()), (64, 3));
    let mut entries = |engine: &mut Ledger<u128>, changes: &[(&str, u32)]| {
        apply(engine, &mut rib, changes);
        is_right_around_bounds(engine, &rib);
        engine.view.part.lines.entries()
    };
    assert_eq!(entries(&mut engine, &[("2001:db8::7/128", 4)]), 2);
    assert_eq!(entries(&mut engine, &[("2001:db8::7/128", 0)]), 2, "it stays one");
    assert_eq!(entries(&mut engine, &[("2001:db8::/64", 5)]), 2);
    assert_eq!(entries(&mut engine, &[("2001:db8::/64", 0)]), 2);
    assert_eq!(entries(&mut engine, &[("2001:db8::/64", 6)]), 3);
    // Both at once, in each order.
    assert_eq!(entries(&mut engine, &[("2001:db8:0:1::/64", 7), ("2001:db8:0:1::/65", 8)]), 2);
    assert_eq!(entries(&mut engine, &[("2001:db8:0:2::/100", 8), ("2001:db8:0:2::/64", 0)]), 1);
    assert_eq!(entries(&mut engine, &[("2001:db8:0:1::/64", 0), ("2001:db8:0:1::/65", 0)]), 1);
}

#[test]
fn a_cover_of_many_hosts_changes_no_entry() {
    let hosts = (0..100_000_u32).map(|at| Prefix::host(0x0A00_0000 + at * 97));
    let mut rib: Rib<u32> =
        hosts.map(|prefix| Route { prefix, next_hop: NextHop(prefix.first() % 250 + 1) }).collect();
    let mut engine: Ledger<u32> = build(&rib);
    let lines = engine.view.part.lines.arrays.clone().map(|lines| lines.to_vec());
    let share = engine.view.part.lines.entries() as f32 / rib.len() as f32;
    assert!(share > 1.0 - NO_ENTRY, "{share} of the hosts are entries");
    for hop in [1, 2, 0] {
        apply(&mut engine, &mut rib, &[("0.0.0.0/0", hop)]);
    }
    assert_eq!(engine.view.part.lines.arrays.map(|lines| lines.to_vec()), lines);
}

#[test]
fn a_table_that_has_outgrown_its_lines_is_built_again_and_says_so_before_it_changes() {
    let mut rib: Rib<u128> = Rib::new();
    let mut engine: Ledger<u128> = build(&rib);
    let (mut rebuilt, mut last) = (0, 0);
    for at in 0..20_000_u128 {
        let prefix = Prefix::host(0x2001_0DB8 << 96 | at << 40);
        let delta = rib.insert(prefix, NextHop(at as u32 % 500 + 1)).unwrap();
        if engine.apply(&rib, &[delta]) == Update::Rebuild {
            assert_eq!(engine.lookup(prefix.first()), 0, "it answers for the old table");
            rebuilt += 1;
            engine = build(&rib);
        }
        assert_eq!(engine.lookup(prefix.first()).widen(), delta.after);
        last = engine.view.part.lines.arrays[0].len();
    }
    assert!((2..25).contains(&rebuilt), "{rebuilt} times");
    engine.validate(&rib).unwrap();
    let all: Vec<Prefix<u128>> = rib.iter().map(|route| route.prefix).collect();
    for prefix in all {
        let delta = rib.remove(prefix).unwrap();
        if engine.apply(&rib, &[delta]) == Update::Rebuild {
            assert_eq!(engine.lookup(prefix.first()).widen(), delta.before);
            engine = build(&rib);
        }
    }
    assert!(engine.view.part.lines.arrays[0].len() < last / 4);
}

#[test]
fn another_length_that_has_become_frequent_is_the_next_one() {
    let mut rib = rib::<u128>(&[("2001:db8::1/128", 1)]);
    let mut engine: Ledger<u128> = build(&rib);
    let mut lengths = vec![engine.view.part.length];
    for at in 0..5_000_u128 {
        let delta = rib.insert(Prefix::containing(at << 64, 64), NextHop(2)).unwrap();
        if engine.apply(&rib, &[delta]) == Update::Rebuild {
            engine = build(&rib);
            lengths.push(engine.view.part.length);
        }
    }
    lengths.dedup();
    assert_eq!(lengths, [128, 64]);
    engine.validate(&rib).unwrap();
}

#[test]
fn the_first_and_the_last_key() {
    let (first, last) = ("0.0.0.0/32", "255.255.255.255/32");
    let mut table = rib::<u32>(&[(last, 3)]);
    let mut engine: Ledger<u32> = build(&table);
    assert_eq!([engine.lookup(0), engine.lookup(u32::MAX)], [0, 3]);
    apply(&mut engine, &mut table, &[(first, 4)]);
    assert_eq!([engine.lookup(0), engine.lookup(u32::MAX), engine.lookup(1)], [4, 3, 0]);
    apply(&mut engine, &mut table, &[(last, 0)]);
    assert_eq!([engine.lookup(0), engine.lookup(u32::MAX)], [4, 0]);
    apply(&mut engine, &mut table, &[(first, 0)]);
    assert_eq!(engine.lookup(0), 0);
}

#[test]
fn a_batch_mixes_entries_and_others() {
    let hosts = (0..9_000_u128).map(|at| Prefix::host(0x2001_0DB8 << 96 | (at * 3) << 61));
    let networks = (0..2_000_u128).map(|at| Prefix::containing(0x2001_0DB8 << 96 | at << 67, 61));
    let rib: Rib<u128> = hosts
        .chain(networks)
        .enumerate()
        .map(|(at, prefix)| Route { prefix, next_hop: NextHop(at as u32 % 300 + 1) })
        .collect();
    is_right_around_bounds(&build::<u128>(&rib), &rib);
}

#[test]
fn a_batch_of_which_few_are_entries() {
    let hosts = (0..1000_u32).map(|at| Prefix::host(0x0A00_0000 + at * 97));
    let hosts = hosts.map(|prefix| Route { prefix, next_hop: NextHop(prefix.first() % 250 + 1) });
    let mut rib: Rib<u32> = hosts.collect();
    let mut engine: Ledger<u32> = build(&rib);
    apply(&mut engine, &mut rib, &[("0.0.0.0/0", 7), ("192.0.2.0/24", 9), ("192.0.2.1/32", 10)]);
    let addresses: Vec<u32> = (0..5000)
        .map(|at| if at % 9 == 0 { 0x0A00_0000 + at } else { at << 20 })
        .chain([0xC000_0201])
        .collect();
    for addresses in [&addresses[..], &addresses[4990..], &addresses[5000..]] {
        let mut next_hops = vec![0; addresses.len()];
        engine.lookup_batch(Scalar, addresses, &mut next_hops);
        for (&address, next_hop) in addresses.iter().zip(next_hops) {
            let right = rib.longest_match(address).map(|route| route.next_hop);
            assert_eq!(Some(next_hop.widen()), right, "{address:x}");
        }
    }
}

#[test]
fn the_check_sees_defects() {
    let rib = rib::<u32>(&[("10.0.0.1/32", 1), ("10.0.0.2/32", 2), ("10.0.0.0/24", 3)]);
    let defects: [fn(&mut Ledger<u32>); 7] = [
        |engine| engine.view.part.present[0x0A00 / 64] = 0,
        |engine| engine.view.part.lines.arrays[0][0][4] ^= 4,
        |engine| engine.view.part.lines.arrays[0][0][0] ^= 1 << 40,
        |engine| engine.view.part.lines.arrays[1][0][3] = 1,
        |engine| engine.view.part.lines.remove(0x0A00_0001),
        |engine| _ = engine.others.insert("10.0.0.1/32".parse().unwrap(), NextHop(1)),
        |engine| engine.view.part.lengths.add(7, 1),
    ];
    for (at, defect) in defects.into_iter().enumerate() {
        let mut engine: Ledger<u32> = build(&rib);
        defect(&mut engine);
        assert!(engine.validate(&rib).is_err(), "defect {at}");
    }
}

proptest! {
    #[test]
    fn updates_answer_as_the_oracle(
        batches in proptest::collection::vec(
            proptest::collection::vec((meeting(prop_oneof![Just(64_u8), Just(128), 0..=128_u8]), 0..9_u32), 1..6),
            1..20,
        ),
    ) {
        follows_the_oracle::<Ledger<u128>>(batches);
    }
}
