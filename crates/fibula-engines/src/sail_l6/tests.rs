//! The worked example of the module page, routes longer than /64, the limits, and the cost of
//! updates.

use super::*;
use fibula::Route;
use fibula::testing::{apply, follows_the_oracle, meeting, rib};
use proptest::prelude::*;

/// The table of the paper's Figure 2 below 2001:db8::/32, its levels 2, 4, 6 mapped to 40, 48, 64,
/// and a host route.
const FIGURE_2: [(&str, u32); 10] = [
    ("2001:db8::/32", 6),       // *
    ("2001:db8:200::/39", 4),   // 1*
    ("2001:db8:100::/40", 3),   // 01*
    ("2001:db8:2::/47", 3),     // 001*
    ("2001:db8:302::/47", 7),   // 111*
    ("2001:db8:3::/48", 1),     // 0011*
    ("2001:db8:302::/48", 8),   // 1110*
    ("2001:db8:302::/63", 2),   // 11100*
    ("2001:db8:2:3::/64", 9),   // 001011
    ("2001:db8:2:3::1/128", 5), // below it
];

fn build(rib: &Rib<u128>) -> SailL6<u8> {
    SailL6::build(rib, &Config::default()).unwrap()
}

fn address(text: &str) -> u128 {
    text.parse::<std::net::Ipv6Addr>().unwrap().to_bits()
}

/// Returns the first entries of a chunk, and the one that all further entries hold.
fn chunk<T: Copy + PartialEq + std::fmt::Debug>(entries: &[T], id: usize) -> ([T; 4], T) {
    let chunk = &entries[id * CHUNK..(id + 1) * CHUNK];
    assert!(chunk[4..].iter().all(|entry| *entry == chunk[4]), "{chunk:?}");
    ([chunk[0], chunk[1], chunk[2], chunk[3]], chunk[4])
}

#[test]
fn figure_2_of_the_paper() {
    let rib = rib(&FIGURE_2);
    let engine = build(&rib);
    let answer = |next_hop: u32| ANSWER | next_hop;
    let [bcn16, bcn24, bcn32, bcn40] = engine.upper.each_ref().map(|level| &level.bcn);
    for (bcn, first, at) in [(bcn16, 0, 0x2001), (bcn24, CHUNK, CHUNK + 0x0d), (bcn32, CHUNK, CHUNK + 0xb8)] {
        let others: Vec<usize> = (first..bcn.len()).filter(|&slot| bcn[slot] != answer(0)).collect();
        assert_eq!((others, bcn[at]), (vec![at], 1));
    }
    assert_eq!(chunk(bcn40, 1), ([1, answer(3), answer(4), 2], answer(6)));
    let Level48 { bn, c, .. } = &engine.level_48;
    assert_eq!((chunk(bn, 1), chunk(bn, 2)), (([6, 6, 0, 1], 6), ([4, 4, 0, 7], 4)));
    let c: Vec<u32> = (0..3 * CHUNK).map(|slot| c.get(slot, &mut Unmetered)).collect();
    assert_eq!((chunk(&c, 1), chunk(&c, 2)), (([0, 0, 1, 0], 0), ([0, 0, 2, 0], 0)));
    let [bcn56, bcn64] = engine.lower.each_ref().map(|level| &level.bcn);
    assert_eq!(chunk(bcn56, 1), ([1, answer(3), answer(3), answer(3)], answer(3)));
    assert_eq!(chunk(bcn56, 2), ([2, answer(8), answer(8), answer(8)], answer(8)));
    assert_eq!(chunk(bcn64, 1), ([answer(3), answer(3), answer(3), 9], answer(3)));
    assert_eq!(chunk(bcn64, 2), ([answer(2), answer(2), answer(8), answer(8)], answer(8)));
    assert_eq!(engine.chunks(), [1, 1, 1, 2, 2, 2]);
    let answers = ["2001:db8:2:2::", "2001:db8:2:3::1", "2001:db8:2:3::2", "2001:db8:300::", "::"]
        .map(|text| engine.lookup(address(text)));
    assert_eq!(answers, [3, 5, 9, 4, 0]);
    engine.validate(&rib).unwrap();
}

#[test]
fn memory_is_split_at_48() {
    let engine = build(&rib(&FIGURE_2));
    let parts: Vec<_> = engine.memory().parts.iter().map(|p| (p.name, p.bytes, p.on_chip)).collect();
    let expected = [
        ("BCN16", 4 << 16, true),
        ("BCN24", 2 * 1024, true),
        ("BCN32", 2 * 1024, true),
        ("BCN40", 2 * 1024, true),
        ("B48", 3 * 256 / 8, true),
        ("N48", 3 * 256 - 3 * 256 / 8, false),
        // A row for each of chunks 0 (which has none), 1 and 2; room for more came with the first.
        ("C48", engine.level_48.c.bytes(), false),
        ("BCN56", 3 * 1024, false),
        ("BCN64", 3 * 1024, false),
        ("longer routes", 32, false),
        ("chunk owners", 9 * 16, false),
    ];
    assert_eq!(parts, expected);
    let figures: Vec<_> =
        engine.figures().into_iter().map(|figure| (figure.name.into_owned(), figure.value)).collect();
    let chunks = [(24, 1.0), (32, 1.0), (40, 1.0), (48, 2.0), (56, 2.0), (64, 2.0)];
    let expected = chunks
        .map(|(level, chunks)| (format!("chunks of level {level}"), chunks))
        .into_iter()
        .chain([("nodes of level 64 with longer routes".into(), 1.0)]);
    assert_eq!(figures, expected.collect::<Vec<_>>());
}

#[test]
fn a_host_route_makes_its_way_and_takes_it_along() {
    let mut table = rib(&[("::/0", 1)]);
    let mut engine = build(&table);
    let fresh = engine.memory().total();
    let cost = apply(&mut engine, &mut table, &[("2001:db8::1/128", 2)]);
    // A chunk on each of six levels, and a node of the tree.
    assert_eq!((cost.nodes_allocated, engine.chunks()), (6 + 1, [1; 6]));
    assert_eq!(["2001:db8::", "2001:db8::1", "2001:db8::2"].map(|a| engine.lookup(address(a))), [1, 2, 1]);
    // The node has no route of its own: the default route answers beside the host route.
    apply(&mut engine, &mut table, &[("::/0", 3)]);
    assert_eq!(["2001:db8::", "2001:db8::1", "::"].map(|a| engine.lookup(address(a))), [3, 2, 3]);
    apply(&mut engine, &mut table, &[("2001:db8::1/128", 0)]);
    assert_eq!((engine.chunks(), engine.lookup(address("2001:db8::1"))), ([0; 6], 3));
    assert!(engine.memory().total() <= fresh + 64 * 1024);
}

#[test]
fn an_update_above_48_writes_words_of_entries_and_on_48_words_of_bits() {
    let mut table = rib(&[("2001:db8::/48", 2), ("2001:db8:1::/48", 3)]);
    let mut engine = build(&table);
    // The other 255 slots of the /32 on level 40 are 128 words. In the chunk on level 48, 254 slots
    // stop being "look below", which changes all four words of B48.
    let cost = apply(&mut engine, &mut table, &[("2001:db8::/32", 1)]);
    assert_eq!((cost.entries_set, cost.on_chip_writes), (255 + 254, 128 + 4));
    // Another next hop changes no bit of B48.
    let cost = apply(&mut engine, &mut table, &[("2001:db8::/48", 4)]);
    assert_eq!((cost.entries_set, cost.on_chip_writes), (1, 0));
    // Two chunks below, the slot of level 48 that leads to them and half a chunk; on chip, one bit.
    let cost = apply(&mut engine, &mut table, &[("2001:db8::/57", 5)]);
    assert_eq!((cost.nodes_allocated, cost.entries_set, cost.on_chip_writes), (2, 2 * 256 + 2 + 1 + 128, 1));
}

#[test]
fn a_table_with_more_chunks_than_fit_names_the_number() {
    let table: Rib<u128> = rib(&[("2001:db8::/64", 1), ("2001:db8:1::/64", 2), ("2001:db8:2::/47", 3)]);
    let at_most = |chunks, bytes| SailL6::<u8>::build_at_most([chunks, bytes], &table, Pages::Small);
    let too_few = at_most(1, CHUNK_BYTES_MAX).unwrap_err();
    assert_eq!(too_few.limit(), Some(Limit { what: "chunks of a level", had: 2, max: 1 }));
    assert!(at_most(2, CHUNK_BYTES_MAX).is_ok());
    // Chunks of 1024 bytes: one each of levels 24 to 40, two of 56 and of 64, and one of C48. One
    // of 256 bytes of BN48, with a row of 4.
    let bytes = 8 * 1024 + 260;
    let too_few = at_most(2, bytes - 1).unwrap_err();
    assert_eq!(too_few.limit(), Some(Limit { what: "bytes of chunks", had: bytes, max: bytes - 1 }));
    assert!(at_most(2, bytes).is_ok());
}

#[test]
fn the_bytes_of_scattered_hosts_are_known_before_they_are_taken() {
    let mut random = fastrand::Rng::with_seed(1);
    let host = |_| Route { prefix: Prefix::host(random.u128(..)), next_hop: NextHop(1) };
    let rib: Rib<u128> = (0..2000).map(host).collect();
    let engine: SailL6<u16> = SailL6::build(&rib, &Config::default()).unwrap();
    let arrays = ["BCN24", "BCN32", "BCN40", "B48", "N48", "C48", "BCN56", "BCN64"];
    let parts = engine.memory().parts;
    let taken: usize = parts.iter().filter(|part| arrays.contains(&part.name)).map(|part| part.bytes).sum();
    let predicted = SailL6::<u16>::bytes_of(engine.chunks()) as usize;
    assert!(predicted <= taken && taken - predicted < predicted / 16, "{predicted} predicted, {taken} taken");
}

#[test]
fn the_greatest_next_hop_fits_and_the_next_does_not() {
    let hosts = [("2001:db8::/32", NEXT_HOPS_MAX), ("2001:db8::/64", NEXT_HOPS_MAX), ("2001:db8::1/128", 1)];
    let mut rib = rib(&hosts);
    let mut fib = crate::build("sail-l6", &rib).unwrap();
    let answers = ["2001:db8::", "2001:db8::1", "2001:db9::"].map(|a| fib.lookup_index(address(a)).0);
    assert_eq!(answers, [NEXT_HOPS_MAX, 1, 0]);
    let delta = rib.insert(Prefix::ALL, NextHop(NEXT_HOPS_MAX + 1)).unwrap();
    let limit = Limit { what: "next hops", had: u64::from(NEXT_HOPS_MAX) + 1, max: NEXT_HOPS_MAX.into() };
    assert_eq!(fib.apply(&rib, &[delta]).unwrap_err().limit(), Some(limit));
    assert_eq!(fib.lookup_index(0), NextHop::NONE);
}

#[test]
fn validation_sees_what_is_wrong() {
    let rib = rib(&FIGURE_2);
    let spoiled = |spoil: fn(&mut SailL6<u8>)| {
        let mut engine = build(&rib);
        spoil(&mut engine);
        engine.validate(&rib).unwrap_err()
    };
    assert_eq!(spoiled(|e| e.upper[2].bcn.push(0)), "3 chunks of a level, 1 owned");
    assert_eq!(spoiled(|e| e.lower[1].bcn[7] = 1), "chunk 0 of a level is not all zeros");
    assert_eq!(spoiled(|e| e.level_48.bn[7] = 1), "chunk 0 of level 48 is not all zeros");
    assert_eq!(spoiled(|e| e.level_48.bn[CHUNK + 2] = 1), "both BN48 and C48 speak at 258");
    assert_eq!(spoiled(|e| e.level_48.c.push()), "3 chunks of BN48, 4 of C48, 2 owned");
    assert!(spoiled(|e| e.lower[1].bcn[CHUNK + 3] |= ANSWER).contains("level 64: Answer"));
    assert!(spoiled(|e| e.lower[1].bcn[CHUNK + 3] = 8).contains("expected 9"));
    assert!(spoiled(|e| e.upper[3].bcn[CHUNK] = 2).contains("is lost to 2001:db8::"));
    assert!(spoiled(|e| e.longer = Patricia::plant([], Pages::Small).unwrap()).contains("is in no node"));
}

/// Generates prefixes that meet near the ends of the levels, below few nodes.
fn prefixes() -> impl Strategy<Value = Prefix<u128>> {
    meeting(prop_oneof![14..=18_u8, 38..=50_u8, 55..=68_u8, 126..=128_u8])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn updates_about_64_bits_follow_the_oracle(
        batches in proptest::collection::vec(proptest::collection::vec((prefixes(), 0..4_u32), 1..6), 1..30),
    ) {
        follows_the_oracle::<SailL6<u8>>(batches);
    }
}
