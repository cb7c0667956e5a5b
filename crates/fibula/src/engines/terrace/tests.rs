//! The worked example of the module page, the ends of the address space, blocks that split and
//! join, covers over many /64s, and the structural check.

use super::block::Size;
use super::handle::{Handle, LINES_MAX};
use super::*;
use crate::engines::oracle::Oracle;
use crate::memory::Pages;
use crate::testing::{ViaView, apply, is_right_around_bounds, meeting, rib};
use crate::{NextHop, Prefix, Route};
use proptest::prelude::*;

fn build<const LEAF: u32>(rib: &Rib<u128>) -> Terrace<LEAF> {
    let engine = Terrace::build(rib, &Config::default()).unwrap();
    engine.validate(rib).unwrap();
    engine
}

#[test]
fn the_worked_example() {
    let rib = rib(&[("2001:db8::/32", 1), ("2001:db8:0:1::/64", 2), ("2001:db8:0:1::7/128", 3)]);
    let engine: Terrace = build(&rib);
    is_right_around_bounds(&engine, &rib);
    let lines = &engine.view.trees.blocks.lines;
    let words = block::words(lines);
    let answers = |line: usize| words[16 * line..][..16].iter().rev().take(6).copied().collect::<Vec<u32>>();
    assert_eq!((lines.len(), &answers(0)[..4]), (4, &[3, 2, 3, 2][..]));
    assert_eq!(lines[1], [6, 7, u64::MAX, u64::MAX, u64::MAX, u64::MAX, u64::MAX, u64::MAX]);
    assert_eq!(answers(2), [5, 0, 1, 0x8800_0001, 1, 0]);
    let ends = [0x2001_0DB7_FFFF_FFFF, 0x2001_0DB8_0000_0000, 0x2001_0DB8_0000_0001, 0x2001_0DB8_FFFF_FFFF];
    assert_eq!((&lines[3][..4], &lines[3][4..]), (&ends[..], &[u64::MAX; 4][..]));
    assert_eq!(engine.view.root, Handle { origin: 3, levels: 1, is_directory: false });
    let figures: Vec<f64> = engine.figures().iter().map(|figure| figure.value).collect();
    assert_eq!(figures, [5.0, 1.0, 1.0, 3.0, 1.0, 0.0]);
}

#[test]
fn the_ends_of_the_address_space() {
    const LAST: &str = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128";
    let steps = [
        ("::/0", 1),
        ("::/128", 2),
        (LAST, 3),
        ("ffff:ffff:ffff:ffff::/64", 4),
        ("::/1", 5),
        ("::/0", 0),
        ("::/128", 0),
        ("8000::/1", 6),
        (LAST, 0),
        ("::/64", 1),
        ("::/1", 0),
    ];
    let mut rib = Rib::new();
    let mut engine: Terrace<1> = build(&rib);
    for step in steps {
        apply(&mut engine, &mut rib, &[step]);
        is_right_around_bounds(&engine, &rib);
    }
}

/// Returns every other one of `intervals` intervals below a /32: /64s, or hosts in one /64.
fn comb(intervals: u128, is_of_hosts: bool) -> impl Iterator<Item = Route<u128>> {
    let (shift, len) = if is_of_hosts { (0, 128) } else { (64, 64) };
    (0..intervals / 2).map(move |at| {
        let prefix = Prefix::containing(0x2001_0DB8 << 96 | (2 * at + 1) << shift, len);
        Route { prefix, next_hop: NextHop(1 + at as u32 % 200) }
    })
}

#[test]
fn blocks_split_and_join_as_routes_come_and_go() {
    for is_of_hosts in [false, true] {
        let mut rib = Rib::new();
        let mut engine: Terrace = build(&rib);
        let empty = engine.view.trees.blocks.lines.len();
        let mut routes: Vec<Route<u128>> = comb(8000, is_of_hosts).collect();
        let mut random = fastrand::Rng::with_seed(7);
        for round in 0..2 {
            random.shuffle(&mut routes);
            for (at, &Route { prefix, next_hop }) in routes.iter().enumerate() {
                let delta = if round == 0 { rib.insert(prefix, next_hop) } else { rib.remove(prefix) };
                assert!(matches!(engine.apply(&rib, &[delta.unwrap()]), Update::Applied(_)));
                if at % 100 == 0 {
                    engine.validate(&rib).unwrap();
                }
            }
            is_right_around_bounds(&engine, &rib);
            let levels = engine.figures()[if is_of_hosts { 4 } else { 1 }].value as u32;
            // Two levels of directory and three of leaf blocks.
            let right = if round == 0 { 5 } else { u32::from(!is_of_hosts) };
            assert_eq!(levels, right);
        }
        assert_eq!((rib.len(), engine.view.trees.blocks.lines.len()), (0, empty));
    }
}

#[test]
fn a_build_takes_another_level_only_where_it_must() {
    for (intervals, levels, is_directory) in
        [(9, 1, false), (81, 2, false), (729, 3, false), (731, 1, true), (6300, 1, true), (6561, 2, true)]
    {
        let engine: Terrace = build(&comb(intervals, false).collect());
        let root = engine.view.root;
        assert_eq!((root.levels, root.is_directory), (levels, is_directory), "{intervals}");
    }
}

#[test]
fn a_batch_mixes_trees_of_all_depths() {
    let mut rib: Rib<u128> = comb(7000, false).collect();
    for (network, hosts) in [(1_u128, 1), (2, 8), (40, 90), (41, 800), (90, 2), (91, 7000)] {
        for host in 0..hosts {
            let prefix = Prefix::host(0x2001_0DB8 << 96 | network << 64 | (host * 3 + 5));
            rib.insert(prefix, NextHop(host as u32 % 250 + 2));
        }
    }
    is_right_around_bounds(&build::<3>(&rib), &rib);
    is_right_around_bounds(&build::<2>(&rib), &rib);
}

#[test]
fn a_cover_that_comes_and_goes_over_many_marked_networks_leaves_no_line_behind() {
    let mut rib = Rib::new();
    for network in 0..300_u128 {
        for host in 0..network % 40 {
            let prefix = Prefix::host(0x2001_0DB8 << 96 | network << 66 | host << 9);
            rib.insert(prefix, NextHop(1 + (host + network) as u32 % 5));
        }
    }
    let mut engine: Terrace<1> = build(&rib);
    for cover in ["2001:db8::/32", "2001:db8::/58", "2001:db8::/64", "::/0", "2001:db8:0:40::/60"] {
        for hop in [4, 9, 0] {
            apply(&mut engine, &mut rib, &[(cover, hop)]);
            is_right_around_bounds(&engine, &rib);
        }
    }
    let hosts: Vec<Prefix<u128>> = rib.iter().map(|route| route.prefix).collect();
    let deltas: Vec<_> = hosts.into_iter().filter_map(|prefix| rib.remove(prefix)).collect();
    assert!(matches!(engine.apply(&rib, &deltas), Update::Applied(_)));
    is_right_around_bounds(&engine, &rib);
    assert_eq!(engine.view.trees.blocks.lines.len(), Size::of(1).lines());
}

/// Two hosts in each of 300 /64s in a row. Twenty /64s have one next hop, the next twenty another.
/// A cover with that next hop hides all bounds inside: the /64s are marked no longer and join, and
/// their leaf blocks with them. The next cover parts them again.
fn neighbours_join_and_part<const LEAF: u32>() {
    let mut rib = Rib::new();
    for network in 0..300_u128 {
        for host in [7, 8] {
            let prefix = Prefix::host(0x2001_0DB8 << 96 | network << 64 | host);
            rib.insert(prefix, NextHop(1 + network as u32 / 20 % 3));
        }
    }
    let mut engine: Terrace<LEAF> = build(&rib);
    let steps = [1, 2, 9, 3, 0, 3, 1, 9, 2, 0];
    for cover in ["::/0", "2001:db8::/56", "2001:db8:0:10::/60", "2001:db8:0:13::/64", "2001:db8:0:12::/63"] {
        for hop in steps {
            apply(&mut engine, &mut rib, &[(cover, hop)]);
            is_right_around_bounds(&engine, &rib);
            let oracle: Oracle<u128, u32> = Oracle::build(&rib, &Config::default()).unwrap();
            let mut marked = 0;
            for network in 0..300_u128 {
                let first = 0x2001_0DB8 << 96 | network << 64;
                for address in (6..10).chain([0, u128::from(u64::MAX)]).map(|host| first | host) {
                    assert_eq!(engine.lookup(address), oracle.lookup(address), "{address:x}, {cover} {hop}");
                }
                marked += usize::from(oracle.lookup(first) != oracle.lookup(first | 7));
            }
            assert_eq!(engine.view.trees.marked, marked, "{cover} {hop}");
        }
    }
}

#[test]
fn neighbours_that_a_cover_joins_are_parted_by_the_next() {
    neighbours_join_and_part::<1>();
    neighbours_join_and_part::<2>();
    neighbours_join_and_part::<3>();
}

#[test]
fn a_table_that_might_not_fit_is_built_again_and_one_that_does_not_is_refused() {
    let mut rib: Rib<u128> = comb(1000, true).collect();
    let lines = build::<3>(&rib).view.trees.blocks.lines.len() as u64;
    let mut engine = Terrace {
        view: TerraceView::<LEAF_LEVELS>::build_at_most(lines, rib.at_least(0), Pages::Small).unwrap(),
    };
    let limit = TerraceView::<LEAF_LEVELS>::build_at_most(lines - 1, rib.at_least(0), Pages::Small)
        .unwrap_err()
        .limit()
        .unwrap();
    assert_eq!((limit.what, limit.max), ("lines of 64 bytes", lines - 1));
    let before = rib.clone();
    let delta = rib.insert("2001:db8::/128".parse().unwrap(), NextHop(1)).unwrap();
    assert_eq!(engine.apply(&rib, &[delta]), Update::Rebuild);
    is_right_around_bounds(&engine, &before);
}

#[test]
fn validation_sees_what_is_wrong() {
    let mut rib: Rib<u128> = comb(100, false).collect();
    rib.insert("2001:db8::7/128".parse().unwrap(), NextHop(3));
    let spoiled = |spoil: fn(&mut TerraceView<1>)| {
        let mut engine = build(&rib);
        spoil(&mut engine.view);
        engine.validate(&rib).unwrap_err()
    };
    let error = spoiled(|v| v.trees.blocks.lines[1][0] = 9);
    assert!(error.contains("is 0 to 9"), "{error}");
    let error = spoiled(|v| v.trees.blocks.lines[1][0] = 5);
    assert!(error.contains("expected"), "{error}");
    assert!(spoiled(|v| v.trees.set_word(v.root, 7, 9)).contains("expected"));
    assert!(spoiled(|v| v.root.levels += 1).contains("levels"));
    assert!(spoiled(|v| v.root.origin = 0).contains("outside the lines"));
    assert!(spoiled(|v| v.root.is_directory = false).contains("levels"));
    assert_eq!(spoiled(|v| v.trees.marked = 2), "1 marked /64s, counted 2");
    let lost = |v: &mut TerraceView<1>| assert!(v.trees.blocks.lines.allocate(3).is_ok());
    assert!(spoiled(lost).contains("lines: "));
}

/// Follows random changes with leaf blocks of `LEAF` levels.
fn follows<const LEAF: u32>(batches: Vec<Vec<(Prefix<u128>, u32)>>) {
    let mut rib = Rib::new();
    let mut engine: Terrace<LEAF> = build(&rib);
    for batch in batches {
        // At most one delta a prefix.
        let mut seen = std::collections::BTreeSet::new();
        let firsts = batch.into_iter().filter(|&(prefix, _)| seen.insert(prefix));
        let deltas: Vec<_> = firsts.filter_map(|(prefix, hop)| rib.set(prefix, NextHop(hop))).collect();
        assert!(matches!(engine.apply(&rib, &deltas), Update::Applied(_)));
        is_right_around_bounds(&engine, &rib);
    }
}

/// Generates prefixes that are dense in a few places: in the /64s of one network, and the hosts of
/// a few of these.
fn dense() -> impl Strategy<Value = Prefix<u128>> {
    prop_oneof![
        (0..120_u128, 56..=64_u8).prop_map(|(at, len)| Prefix::containing(0xFD << 120 | at << 64, len)),
        (0..3_u128, 0..200_u128, 118..=128_u8)
            .prop_map(|(network, at, len)| Prefix::containing(0xFD << 120 | network << 64 | at, len)),
        meeting(prop_oneof![0..=128_u8, 60..=68_u8]),
    ]
}

proptest! {
    #[test]
    fn changes_are_followed_with_small_blocks(
        batches in proptest::collection::vec(
            proptest::collection::vec((dense(), prop_oneof![Just(0), 1..5_u32]), 1..40), 0..12),
    ) {
        follows::<1>(batches);
    }

    #[test]
    fn changes_are_followed_with_blocks_of_two_levels(
        start in proptest::collection::vec((dense(), 1..5_u32), 200..600),
        batches in proptest::collection::vec(
            proptest::collection::vec((dense(), prop_oneof![Just(0), 1..5_u32]), 1..20), 0..8),
    ) {
        follows::<2>([vec![start], batches].concat());
    }

    #[test]
    fn handles_come_back(origin in 0..LINES_MAX as u32, levels in 1..=7_u32, is_directory: bool) {
        let tree = Handle { origin, levels, is_directory };
        prop_assert_eq!(Handle::unpack(tree.pack()), tree);
    }
}
