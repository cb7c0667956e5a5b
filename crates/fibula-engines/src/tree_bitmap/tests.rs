//! The worked example of the module page, an example of the paper's Table IV, and the strides that
//! are not the default.

use super::*;
use crate::blocks::tree_bitmap::Node;
use fibula::engine::{Accesses, Cost};
use fibula::testing::{apply, rib};
use fibula::{Applied, Change, Limit, NextHop, Prefix, Route};
use proptest::prelude::*;

const STRIDE_7: &str = "11-7-7-7";

/// The strides whose roots are longer than a word.
const LONGER_STRIDES: [&str; 3] = ["12-5-5-5-5", "14-6-6-6", STRIDE_7];

fn build<A: Address, W: Width>(rib: &Rib<A>, strides: &str) -> TreeBitmap<A, W> {
    TreeBitmap::build(rib, &Config::default().with("strides", strides)).unwrap()
}

#[test]
fn the_worked_example() {
    let rib = rib(&[
        ("10.0.0.0/8", 1),
        ("10.0.0.0/16", 2),
        ("10.0.128.0/17", 3),
        ("10.0.192.0/20", 4),
        ("10.0.192.1/32", 5),
    ]);
    let engine: TreeBitmap<u32, u32> = TreeBitmap::build(&rib, &Config::default()).unwrap();
    let address = |text: &str| text.parse::<std::net::Ipv4Addr>().unwrap().to_bits();
    let accesses = |text| {
        let mut accesses = Accesses::new();
        (engine.lookup_metered(address(text), &mut accesses), accesses.loads())
    };
    // Loads: the root, the nodes below, then the result.
    assert_eq!(accesses("10.0.192.1"), (5, 5 + 1));
    assert_eq!(accesses("10.0.192.2"), (4, 5 + 1));
    assert_eq!(accesses("10.0.128.9"), (3, 2 + 1));
    assert_eq!(accesses("10.0.1.0"), (2, 1 + 1));
    assert_eq!(accesses("10.200.0.1"), (1, 1 + 1));
    let figures: Vec<(String, usize)> =
        engine.figures().into_iter().map(|figure| (figure.name.into(), figure.value as usize)).collect();
    let expected = [("trie nodes", 5), ("child arrays", 4), ("results", 4)];
    let levels = [13, 17, 21, 25, 29].map(|bits| (format!("nodes after {bits} bits"), 1));
    assert_eq!(figures[..3], expected.map(|(name, count)| (name.to_owned(), count)));
    assert_eq!(figures[3..], levels);
    let TreeBitmap::Stride4(array) = &engine else { panic!("not the default") };
    let (a, b) = (array.node(&[320]), array.node(&[320, 1]));
    assert_eq!((a.internal, a.external), (1 << 8 | 1, 1 << 1));
    assert_eq!((b.internal, b.external), (1 << 1 | 1 << 12, 1 << 8));
    let [c, d, e] = [&[320, 1, 8][..], &[320, 1, 8, 0], &[320, 1, 8, 0, 0]].map(|path| array.node(path));
    assert_eq!((c.internal, d.internal, e), (0, 0, Node { internal: 1 << 9, external: 0, block: e.block }));
    // 2^13 roots of 8 bytes with lengths of 1 byte; four nodes below and an unused one; four
    // results of 4 bytes, and one for each entry under the /8.
    let bytes: Vec<usize> = engine.memory().parts.iter().map(|part| part.bytes).collect();
    assert_eq!(bytes, [8192 * (8 + 1), 5 * 8, (4 + 32) * 4]);
    engine.validate(&rib).unwrap();
}

/// Routes of 8 to 16 bits come and go above more-specific ones: the cost here and in DIR-24-8, as
/// in Table IV.
#[test]
fn table_iv_of_the_paper_on_a_small_table() {
    let start = [("10.1.0.0/24", 1), ("10.2.0.0/24", 2), ("10.2.128.0/17", 3), ("10.2.130.0/24", 3)];
    let (mut rib, mut other) = (rib(&start), rib::<u32>(&start));
    let mut engine: TreeBitmap<u32, u8> = build(&rib, "13-4-4-4-4-3");
    let mut dir24_8 = crate::build("dir24-8", &other).unwrap();
    let mut costs = |prefix: &str, next_hop| {
        let cost = apply(&mut engine, &mut rib, &[(prefix, next_hop)]);
        let delta = other.set(prefix.parse().unwrap(), NextHop(next_hop)).unwrap();
        let Applied::InPlace(other) = dir24_8.apply(&other, &[delta]).unwrap() else { panic!("rebuilt") };
        (cost.entries_set, cost.nodes_copied, cost.nodes_allocated, other.entries_set)
    };
    // The node of 10.0.0.0/13 has three children, which move whenever a route joins or leaves them.
    assert_eq!(costs("10.1.0.0/16", 5), (1, 3, 1, 255));
    assert_eq!(costs("10.2.0.0/15", 5), (1, 3, 1, 383));
    // A route that is shorter than the array is an answer above them, which has its place already.
    assert_eq!(costs("10.0.0.0/12", 6), (2, 0, 0, 3328));
    assert_eq!(costs("10.0.0.0/12", 5), (2, 0, 0, 3328));
    assert_eq!(costs("11.0.0.0/8", 7), (32, 0, 0, 65_536));
    assert_eq!(costs("11.8.0.0/16", 7), (1, 0, 1, 256));
    // Another next hop for an old route is written in place.
    assert_eq!(costs("10.1.0.0/16", 6), (1, 0, 0, 255));
    // A withdrawal writes no result, except in an entry of the array below which nothing is left.
    assert_eq!(costs("10.1.0.0/16", 0), (0, 3, 1, 255));
    assert_eq!(costs("10.2.0.0/15", 0), (0, 3, 1, 383));
    assert_eq!(costs("10.0.0.0/12", 0), (2, 0, 0, 3966));
    assert_eq!(costs("11.8.0.0/16", 0), (1, 0, 0, 256));
    assert_eq!(costs("11.0.0.0/8", 0), (32, 0, 0, 65_536));
}

#[test]
fn a_new_path_allocates_its_own_nodes_only() {
    let mut rib = rib(&[("2001:db8::/32", 1)]);
    let mut engine: TreeBitmap<u128, u8> = build(&rib, "13-4-4-4-4-3");
    // The nodes after 29, 33, ... 125 bits are below each other; the first joins a block of one
    // result.
    let cost = apply(&mut engine, &mut rib, &[("2001:db8::1/128", 2)]);
    assert_eq!(cost, Cost { entries_set: 1, results_moved: 1, nodes_allocated: 25, ..Cost::default() });
    let cost = apply(&mut engine, &mut rib, &[("2001:db8::1/128", 0)]);
    // The result that the first node had joined moves to a block of its own again.
    assert_eq!(cost, Cost { results_moved: 1, nodes_allocated: 1, ..Cost::default() });
}

#[test]
fn the_last_nodes_of_both_families_and_strides() {
    let ends = |last: &str| {
        [("0.0.0.0/0", 1), ("255.255.255.254/31", 2), ("255.255.255.255/32", 3), ("255.255.255.128/25", 4)]
            .map(|(prefix, next_hop)| (prefix.to_owned(), next_hop))
            .into_iter()
            .chain([(last.to_owned(), 5)])
            .collect::<Vec<_>>()
    };
    for strides in ["13-4-4-4-4-3"].iter().chain(&LONGER_STRIDES) {
        let routes = ends("255.255.255.252/30");
        let routes: Vec<(&str, u32)> = routes.iter().map(|(prefix, hop)| (prefix.as_str(), *hop)).collect();
        let rib: Rib<u32> = rib(&routes);
        let engine: TreeBitmap<u32, u8> = build(&rib, strides);
        engine.validate(&rib).unwrap();
        let last = [0, 2, 1, 0].map(|back: u32| engine.lookup(u32::MAX - back));
        assert_eq!((last, engine.lookup(u32::MAX - 4), engine.lookup(7)), ([3, 5, 2, 3], 4, 1));
    }
}

#[test]
fn a_limit_is_named_and_an_update_past_it_changes_nothing() {
    let mut rib: Rib<u32> = rib(&[("10.0.0.0/24", 1)]);
    let config = Config::default();
    let words = 2 + 2 * 2 + 1 + 1;
    let error = TreeBitmap::<u32, u8>::build_within(&rib, &config, words - 1).unwrap_err();
    assert_eq!(error.limit(), Some(Limit { what: WORDS, had: words, max: words - 1 }));
    let mut engine: TreeBitmap<u32, u8> = TreeBitmap::build_within(&rib, &config, words).unwrap();
    let old = rib.clone();
    let delta = rib.insert("10.0.0.0/32".parse().unwrap(), NextHop(2)).unwrap();
    assert_eq!(engine.apply(&rib, &[delta]), Update::Rebuild);
    engine.validate(&old).unwrap();
}

#[test]
fn strides_are_chosen_by_name() {
    let rib: Rib<u32> = Rib::new();
    let error = crate::build("tree-bitmap/strides=8-8-8-8", &rib).unwrap_err().to_string();
    assert_eq!(
        error,
        "parameter strides=8-8-8-8: expected one of 13-4-4-4-4-3, 12-5-5-5-5, 14-6-6-6, 11-7-7-7"
    );
    assert!(crate::build("tree-bitmap/strides=11-7-7-7", &rib).is_ok());
}

fn changes<A: Address>() -> impl Strategy<Value = Vec<Change<A>>> {
    let trunk = prop_oneof![Just(u128::MAX), Just(0), Just(0x2001_0db8_5555_aaaa_cccc_3333_0f0f_1234)];
    let noise = prop_oneof![Just(0_u128), any::<u128>(), (0..128_u32).prop_map(|bit| 1 << bit)];
    let len = prop_oneof![0..=A::BITS, A::BITS - 8..=A::BITS, 10..=26_u8];
    let change = (trunk, noise, len, 0..6_u32).prop_map(|(trunk, noise, len, next_hop)| {
        let bits = (trunk ^ noise) >> (128 - u32::from(A::BITS));
        let prefix = Prefix::containing(A::from_u128(bits).unwrap(), len);
        match next_hop {
            0 => Change::Withdraw(prefix),
            _ => Change::Announce(Route { prefix, next_hop: NextHop(next_hop) }),
        }
    });
    proptest::collection::vec(change, 1..60)
}

/// Applies the changes one by one and compares answers around every prefix, alone and in batches on
/// every instruction set.
fn follow<A: Address>(strides: &str, changes: &[Change<A>]) {
    let mut rib: Rib<A> = Rib::new();
    let mut engine: TreeBitmap<A, u8> = build(&rib, strides);
    for delta in changes.iter().filter_map(|&change| rib.apply(change).map(|delta| (delta, rib.clone()))) {
        assert!(matches!(engine.apply(&delta.1, &[delta.0]), Update::Applied(_)));
        engine.validate(&delta.1).unwrap();
    }
    let mut addresses = vec![A::ZERO, A::MAX];
    for Route { prefix, .. } in &rib {
        let ends =
            [prefix.first().previous(), Some(prefix.first()), Some(prefix.last()), prefix.last().next()];
        addresses.extend(ends.into_iter().flatten());
    }
    let oracle = crate::build("oracle", &rib).unwrap();
    let expected: Vec<NextHop> = addresses.iter().map(|&address| oracle.lookup_index(address)).collect();
    let lived: Vec<NextHop> = addresses.iter().map(|&address| engine.lookup(address).widen()).collect();
    assert_eq!(lived, expected);
    let mut fresh = crate::build(&format!("tree-bitmap/strides={strides}"), &rib).unwrap();
    for &level in fibula::parts::arch::Level::available() {
        fresh.set_isa(level);
        let mut found = vec![NextHop(9); addresses.len()];
        fresh.lookup_batch(&addresses, &mut found);
        assert_eq!(found, expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn longer_strides_follow_any_sequence(ipv4 in changes::<u32>(), ipv6 in changes::<u128>()) {
        for strides in LONGER_STRIDES {
            follow(strides, &ipv4);
            follow(strides, &ipv6);
        }
    }
}
