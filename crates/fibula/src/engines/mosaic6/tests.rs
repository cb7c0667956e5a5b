//! The worked example of the module page, longer routes, the limits, and what updates leave behind.

use super::word::{KEYS, bucket_pairs, keys_in};
use super::*;
use crate::engines::testing::{apply, follows_the_oracle, meeting, rib};
use crate::{Fib, Limit, Route};
use proptest::prelude::*;
use std::sync::atomic::Ordering;

/// The table of the module page.
const EXAMPLE: [(&str, u32); 3] =
    [("2001:db8::/32", 1), ("2001:db8:8000::/34", 2), ("2001:db8:8001::/48", 3)];

fn build(rib: &Rib<u128>) -> Mosaic6<u8> {
    Mosaic6::build(rib, &Config::default()).unwrap()
}

fn address(text: &str) -> u128 {
    text.parse::<std::net::Ipv6Addr>().unwrap().to_bits()
}

fn array(stride: u8, base: usize) -> u32 {
    Word::Array { stride, base }.pack()
}

fn answer(next_hop: u32) -> u32 {
    Word::Answer(NextHop(next_hop)).pack()
}

#[test]
fn the_worked_example() {
    let rib = rib(&EXAMPLE);
    let engine = build(&rib);
    let slots: Vec<usize> = (0..1 << ROOT_BITS).filter(|&slot| engine.root.get(slot) != answer(0)).collect();
    assert_eq!((slots, engine.root.get(0x2001)), (vec![0x2001], array(5, 50)));
    let words = engine.blocks.to_vec();
    let words = words.as_flattened();
    let bucket = Word::Bucket { cells: 2, base: 0 }.pack();
    for (stride, base, at, word) in [(5, 50, 1, array(5, 34)), (5, 34, 22, array(6, 2)), (6, 2, 56, bucket)] {
        for slot in 0..1 << stride {
            assert_eq!(words[2 * base + slot], if slot == at { word } else { answer(0) });
        }
    }
    assert_eq!(words[..4], [0x8001_8000, 0xC000_8002, 0x0101_FFFF, 0x0102_0302]);
    assert_eq!((engine.used() - lookup::PADDING, engine.memory().total()), (66, (1 << 18) + 8 * (66 + 4)));
    let answers = ["2001:db8:8001::", "2001:db8:8002::", "2001:db8:ffff::", "2001:db9::"]
        .map(|text| engine.lookup(address(text)));
    assert_eq!(answers, [3, 2, 1, 0]);
    let figures = engine.figures();
    let figures: Vec<_> = figures.iter().map(|figure| (figure.name.as_ref(), figure.value)).collect();
    let expected = [
        ("arrays", 3.0),
        ("cells of arrays", 64.0),
        ("buckets", 1.0),
        ("cells of buckets", 2.0),
        ("words with longer routes", 0.0),
        ("arrays in the longest way", 3.0),
    ];
    assert_eq!(figures, expected);
    engine.validate(&rib).unwrap();
}

#[test]
fn a_cache_line_of_a_bucket() {
    assert_eq!([1, 2, 3, 4, 6, 8].map(keys_in::<u8>), [2, 5, 7, 10, 15, KEYS]);
    assert_eq!([1, 2, 3, 4, 6, 8].map(keys_in::<u16>), [1, 3, 5, 7, 11, 15]);
    assert_eq!([1, 2, 3, 4, 6, 8].map(keys_in::<u32>), [0, 2, 3, 4, 7, 10]);
}

#[test]
fn a_host_route_makes_its_way_and_takes_it_along() {
    let mut table = rib(&[("::/0", 1)]);
    let mut engine = build(&table);
    let cost = apply(&mut engine, &mut table, &[("2001:db8::1/128", 2)]);
    assert!(cost.nodes_allocated > 1 && engine.used() > lookup::PADDING);
    assert_eq!(["2001:db8::", "2001:db8::1", "2001:db8::2"].map(|a| engine.lookup(address(a))), [1, 2, 1]);
    apply(&mut engine, &mut table, &[("::/0", 3), ("2001:db8::/48", 4)]);
    assert_eq!(["2001:db8::", "2001:db8::1", "::"].map(|a| engine.lookup(address(a))), [4, 2, 3]);
    apply(&mut engine, &mut table, &[("2001:db8::1/128", 0), ("2001:db8::/48", 0)]);
    assert_eq!((engine.used(), engine.books.len(), engine.lookup(address("2001:db8::1"))), (4, 0, 3));
}

#[test]
fn an_array_of_one_answer_becomes_it() {
    let mut table = rib(&EXAMPLE);
    let mut engine = build(&table);
    let cost = apply(&mut engine, &mut table, &[("2001:db8:8001::/48", 2)]);
    // A smaller bucket, and the word that leads to it.
    assert_eq!((cost.chunks_rebuilt, cost.nodes_allocated, cost.entries_set), (1, 1, 1));
    apply(&mut engine, &mut table, &[("2001:db8::/32", 0), ("2001:db8:8000::/34", 0)]);
    assert_eq!(engine.lookup(address("2001:db8:8001::")), 2);
    apply(&mut engine, &mut table, &[("2001:db8:8001::/48", 0)]);
    assert_eq!((engine.used(), engine.root.get(0x2001)), (lookup::PADDING, answer(0)));
}

#[test]
fn holes_are_closed_and_slots_planned_anew() {
    let host = |at: u32| (format!("2001:db8:{at:x}::/48"), at % 200 + 1);
    let mut table: Rib<u128> = (0..30_000)
        .map(host)
        .map(|(p, n)| Route { prefix: p.parse().unwrap(), next_hop: NextHop(n) })
        .collect();
    let mut engine = build(&table);
    for batch in 0..30 {
        let gone: Vec<_> = (0..900).map(|at| (host(batch * 1000 + at).0, 0)).collect();
        let gone: Vec<(&str, u32)> = gone.iter().map(|(prefix, hop)| (prefix.as_str(), *hop)).collect();
        apply(&mut engine, &mut table, &gone);
    }
    let (lived, fresh) = (engine.memory().total(), build(&table).memory().total());
    assert!(lived <= fresh + fresh / 10 + (64 << 10), "{lived} after updates, {fresh} when built");
}

#[test]
fn readers_of_a_shared_table_keep_their_blocks_until_they_have_passed() {
    let mut table = rib(&EXAMPLE);
    let mut engine = build(&table);
    let view = engine.share().unwrap();
    let before = view.root.get(0x2001);
    let cost = apply(&mut engine, &mut table, &[("2001:db8:8001::/48", 2)]);
    assert_eq!((cost.entries_set, view.lookup(address("2001:db8:8001::"))), (1, 2));
    let bucket = bucket_pairs::<u8>(&view.blocks[..2]).nth(2);
    assert_eq!((view.root.get(0x2001), bucket, engine.blocks.holes()), (before, Some((0x8001, 3)), 0));
    engine.readers_passed();
    engine.readers_passed();
    assert_eq!(engine.blocks.holes(), 2);
    engine.validate(&table).unwrap();
    // What is longer than the trie keeps is built anew, and so is what a view is told.
    for (prefix, engine) in [("2001:db8::/49", &mut engine), ("2001:db8::/48", &mut { view })] {
        let delta = table.insert(prefix.parse().unwrap(), NextHop(7)).unwrap();
        assert!(matches!(engine.apply(&table, &[delta]), Update::Rebuild));
    }
}

#[test]
fn tables_of_many_longer_routes_are_not_shared() {
    let hosts = |count: u32| {
        let host = |at| Route { prefix: Prefix::host(u128::from(at)), next_hop: NextHop(at % 200 + 1) };
        build(&(0..count).map(host).collect())
    };
    let most = SHARED_LONGER_MAX as u32 / 2; // a branch for every route but one
    assert!(hosts(most).share().is_some() && hosts(most + 1).share().is_none());
}

#[test]
fn a_table_that_needs_more_cells_than_fit_names_the_number() {
    let table = rib(&EXAMPLE);
    let too_few = Mosaic6::<u8>::build_at_most(65, &table, Pages::Small).unwrap_err();
    assert_eq!(too_few.limit(), Some(Limit { what: CELLS, had: 66, max: 65 }));
    assert!(Mosaic6::<u8>::build_at_most(66, &table, Pages::Small).is_ok());
}

#[test]
fn the_greatest_next_hop_fits_and_the_next_does_not() {
    let hosts = [("2001:db8::/32", NEXT_HOPS_MAX), ("2001:db8::/64", NEXT_HOPS_MAX), ("2001:db8::1/128", 1)];
    let mut rib = rib(&hosts);
    let mut fib = Fib::build("mosaic6", &rib).unwrap();
    let answers = ["2001:db8::", "2001:db8::1", "2001:db9::"].map(|a| fib.lookup(address(a)).0);
    assert_eq!(answers, [NEXT_HOPS_MAX, 1, 0]);
    let delta = rib.insert(Prefix::ALL, NextHop(NEXT_HOPS_MAX + 1)).unwrap();
    let limit = Limit { what: "next hops", had: u64::from(NEXT_HOPS_MAX) + 1, max: NEXT_HOPS_MAX.into() };
    assert_eq!(fib.apply(&rib, &[delta]).unwrap_err().limit(), Some(limit));
}

#[test]
fn validation_sees_what_is_wrong() {
    let mut table = rib(&EXAMPLE);
    table.insert("2002::1/128".parse().unwrap(), NextHop(5));
    let spoiled = |spoil: fn(&mut Mosaic6<u8>)| {
        let mut engine = build(&table);
        spoil(&mut engine);
        engine.validate(&table).unwrap_err()
    };
    assert!(spoiled(|e| e.root.set(7, answer(1))).contains("7::/16: Answer"));
    assert!(spoiled(|e| e.root.set(0x2001, answer(1))).contains("where the table has"));
    assert!(spoiled(|e| e.root.set(7, e.root.get(0x2001))).contains("answer 0 is NextHop(1)"));
    assert!(spoiled(|e| _ = e.blocks[0][0].fetch_add(1, Ordering::Relaxed)).contains("key 0 is 0x8001"));
    assert!(spoiled(|e| _ = e.blocks[1][1].fetch_xor(1 << 24, Ordering::Relaxed)).contains("answer 0 is"));
    assert!(spoiled(|e| assert!(e.blocks.allocate(1).is_ok())).contains("cells are in use"));
    assert!(spoiled(|e| e.books.clear()).contains("the books of the slots"));
    assert!(
        spoiled(|e| e.longer = Arc::new(Patricia::plant([], Pages::Small).unwrap()))
            .contains("is in no node")
    );
}

/// Prefixes that meet about the ends of keys, of the trie and of addresses, below few nodes.
fn prefixes() -> impl Strategy<Value = Prefix<u128>> {
    meeting(prop_oneof![0..=18_u8, 28..=36_u8, 38..=50_u8, 126..=128_u8])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn updates_follow_the_oracle(
        batches in proptest::collection::vec(proptest::collection::vec((prefixes(), 0..4_u32), 1..12), 1..30),
    ) {
        follows_the_oracle::<Mosaic6<u8>>(batches);
    }
}
