//! The worked example of the module page, the ends of the address space, trees of all shapes, and
//! the structural check.

use super::node::Tree;
use super::*;
use fibula::parts::memory::Pages;
use fibula::testing::{is_right_around_bounds, meeting, rib};
use fibula::{Limit, NextHop, Prefix, Route};
use proptest::prelude::*;

/// Builds a table, and checks it around every bound.
fn check<W: Width>(rib: &Rib<u128>) -> PlanB<W> {
    let engine = PlanB::build(rib, &Config::default()).unwrap();
    is_right_around_bounds(&engine, rib);
    engine
}

#[test]
fn the_worked_example() {
    let rib = rib(&[("2001:db8::/32", 1), ("2001:db8:0:1::/64", 2), ("2001:db8:0:1::7/128", 3)]);
    let engine = check::<u8>(&rib);
    let view = engine.view();
    let mut leaves = [[u64::MAX; 8]; 2];
    leaves[0][..4].copy_from_slice(&[
        0x2001_0DB7_FFFF_FFFF,
        0x2001_0DB8_0000_0000,
        0x2001_0DB8_0000_0001,
        0x2001_0DB8_FFFF_FFFF,
    ]);
    leaves[1][..2].copy_from_slice(&[6, 7]);
    assert_eq!((view.inner.len(), &view.leaves[..]), (0, &leaves[..]));
    assert_eq!(view.answers[..], [0, 1, 255, 1, 0, 2, 3, 2]);
    assert_eq!(view.marks[..], [[0b100, 0]]);
    // The intervals of a tree of one level have the numbers from 1 on.
    let first = Tree { inner: 0, leaves: 0, answers: u32::MAX, levels: 1 };
    assert_eq!(view.trees[..], [first, Tree { leaves: 1, answers: 4, ..first }]);
    let figures: Vec<f64> = engine.figures().iter().map(|figure| figure.value).collect();
    assert_eq!(figures, [5.0, 1.0, 1.0, 3.0, 1.0]);
}

#[test]
fn the_ends_of_the_address_space_and_a_next_hop_that_looks_like_a_mark() {
    const LAST: &str = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128";
    for routes in [
        &[][..],
        &[("::/0", 1)],
        &[("::/128", 1)],
        &[("2001:db8::1/128", 1)],
        &[(LAST, 255)],
        &[("::/128", 1), (LAST, 2)],
        &[("::/0", 255), ("ffff:ffff:ffff:ffff::/64", 1), (LAST, 255)],
        &[("::/0", 255), ("2001:db8::/64", 3), ("2001:db8::7/128", 255), ("2001:db8:1::/64", 255)],
        &[("2001:db8::/63", 1), ("2001:db8:0:0:8000::/65", 2), ("2001:db8:0:1::/65", 2)],
    ] {
        let rib = rib(routes);
        check::<u8>(&rib);
        check::<u32>(&rib);
    }
}

/// Returns a table of `intervals` intervals below a /32: of /64s, or of hosts in one /64.
fn comb(intervals: u128, is_of_hosts: bool) -> Rib<u128> {
    let (shift, len) = if is_of_hosts { (0, 128) } else { (64, 64) };
    // Every other one has a route. The first interval has none, nor has the last.
    let routes = (0..intervals / 2).map(|at| {
        let prefix = Prefix::containing(0x2001_0DB8 << 96 | (2 * at + 1) << shift, len);
        Route { prefix, next_hop: NextHop(1 + at as u32 % 200) }
    });
    routes.collect()
}

#[test]
fn trees_grow_by_a_level_at_powers_of_nine() {
    for (intervals, inner, leaves) in [
        (3, 0, 1),
        (9, 0, 1),
        (11, 1, 2),
        (81, 1, 9),
        (83, 3, 10),
        (729, 10, 81),
        (731, 20, 82),
        (6561, 91, 729),
    ] {
        let engine = check::<u8>(&comb(intervals, false));
        assert_eq!((engine.view.inner.len(), engine.view.leaves.len()), (inner, leaves), "{intervals}");
        // Inside a /64, and one leaf for what is around it.
        let engine = check::<u8>(&comb(intervals, true));
        assert_eq!((engine.view.inner.len(), engine.view.leaves.len()), (inner, leaves + 1), "{intervals}");
    }
}

#[test]
fn a_batch_mixes_trees_of_all_depths() {
    let mut rib = comb(700, false);
    for (network, hosts) in [(1_u128, 1), (2, 8), (40, 90), (41, 800), (90, 2)] {
        for host in 0..hosts {
            rib.insert(
                Prefix::host(0x2001_0DB8 << 96 | network << 64 | (host * 3 + 5)),
                NextHop(host as u32 % 250 + 2),
            );
        }
    }
    let engine = check::<u16>(&rib);
    let levels: Vec<u32> = engine.view.trees.iter().map(|tree| tree.levels).collect();
    assert_eq!(levels, [3, 1, 2, 3, 4, 1]);
}

#[test]
fn more_intervals_than_fit_are_named() {
    let rib = rib(&[("2001:db8::/64", 1), ("2001:db8:1::1/128", 2)]);
    let limit = PlanB::<u8>::build_at_most(7, &rib, Pages::Small).unwrap_err().limit();
    assert_eq!(limit, Some(Limit { what: "intervals", had: 8, max: 7 }));
    assert!(PlanB::<u8>::build_at_most(8, &rib, Pages::Small).is_ok());
}

#[test]
fn validation_sees_what_is_wrong() {
    let mut rib = comb(100, false);
    rib.insert("2001:db8::7/128".parse().unwrap(), NextHop(3));
    let spoiled = |spoil: fn(&mut PlanBView<u8>)| {
        let mut engine = check(&rib);
        spoil(&mut engine.view);
        engine.validate(&rib).unwrap_err()
    };
    assert!(spoiled(|v| v.inner[0][0] += 1).contains("end at"));
    assert!(spoiled(|v| v.leaves[0].swap(0, 1)).contains("end at"));
    assert!(spoiled(|v| v.leaves[11][7] = 9).contains("end at"));
    assert!(spoiled(|v| v.answers[2] = 9).contains("expected"));
    assert_eq!(spoiled(|v| v.marks[0] = [0; 2]), "1 marks before interval 64, counted 0");
    assert_eq!(spoiled(|v| v.marks[1][1] = 0), "0 marks before interval 64, counted 1");
    assert!(spoiled(|v| v.trees[0].levels = 2).contains("has 2 levels"));
    assert!(spoiled(|v| v.trees[1].leaves += 1).contains("begins at nodes"));
    assert!(spoiled(|v| v.leaves.push([0; 8])).starts_with("ranges, trees and nodes are"));
}

proptest! {
    #[test]
    fn tables_around_64_bits_are_those_of_the_oracle(
        routes in proptest::collection::vec((meeting(prop_oneof![0..=128_u8, 60..=68_u8, 120..=128_u8]), 1..4_u32), 0..60),
    ) {
        let routes = routes.into_iter().map(|(prefix, hop)| Route { prefix, next_hop: NextHop(252 + hop) });
        check::<u8>(&routes.collect());
    }
}
