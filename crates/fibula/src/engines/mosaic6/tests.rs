//! The worked example of the module page, routes longer than /48, the limits, and what updates
//! leave behind.

use super::lines::{Lines, answers, pair_bytes, slots};
use super::word::Spot;
use super::*;
use crate::arch::{Isa, Kernel, Level, dispatch};
use crate::engine::Lookup as _;
use crate::testing::{ViaView, apply, follows_the_oracle, is_right_around_bounds, meeting, rib};
use crate::{Change, Fib, Limit, Route};
use proptest::prelude::*;

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
    assert_eq!((slots, engine.root.get(0x2001)), (vec![0x2001], array(5, 48)));
    let words = engine.blocks.arrays.to_vec();
    let words = words.as_flattened();
    let spot = Spot { line: 0, slot: 0 };
    let bucket = Word::Bucket { spot, longer: false }.pack();
    for (stride, base, at, word) in [(5, 48, 1, array(5, 32)), (5, 32, 22, array(6, 0)), (6, 0, 56, bucket)] {
        for slot in 0..1 << stride {
            assert_eq!(words[2 * base + slot], if slot == at { word } else { answer(0) });
        }
    }
    let pairs: Vec<_> = engine.blocks.lines.pairs(spot).collect();
    assert_eq!(pairs, [(0x7FFF, 1), (0x8000, 2), (0x8001, 3), (0xBFFF, 2), (0xFFFF, 1)]);
    let line = engine.blocks.lines.to_vec();
    assert_eq!(
        (&line[..10], &line[42..47]),
        (&[255, 127, 0, 128, 1, 128, 255, 191, 255, 255][..], &[1, 2, 3, 2, 1][..])
    );
    assert_eq!(
        (engine.blocks.used(), engine.memory().total()),
        (64 * 8 + 5 * 3, (1 << 18) + 8 * 65 + (4 + 2) * 64)
    );
    let answers = ["2001:db8:8001::", "2001:db8:8002::", "2001:db8:ffff::", "2001:db9::"]
        .map(|text| engine.lookup(address(text)));
    assert_eq!(answers, [3, 2, 1, 0]);
    let figures = engine.figures();
    let figures: Vec<_> = figures.iter().map(|figure| (figure.name.as_ref(), figure.value)).collect();
    let expected = [
        ("arrays", 3.0),
        ("cells of arrays", 64.0),
        ("buckets", 1.0),
        ("slots of buckets", 5.0),
        ("words with longer routes", 0.0),
        ("arrays in the longest way", 3.0),
        ("arrays that batches make a detour to", 0.0),
    ];
    assert_eq!(figures, expected);
    engine.validate(&rib).unwrap();
}

#[test]
fn what_a_line_holds() {
    assert_eq!([slots::<u8>(), slots::<u16>(), slots::<u32>()], [21, 16, 10]);
    assert_eq!([answers::<u8>(), answers::<u16>(), answers::<u32>()], [42, 16, 5]);
    assert_eq!([pair_bytes::<u8>(), pair_bytes::<u16>(), pair_bytes::<u32>()], [3, 4, 6]);
    let spot = Spot { line: word::LINES_MAX as usize - 1, slot: 20 };
    for word in [false, true].map(|longer| Word::Bucket { spot, longer }) {
        assert_eq!(Word::unpack(word.pack()), word);
    }
}

#[test]
fn buckets_share_lines_and_leave_their_neighbours_alone() {
    fn written<W: Width>(wide: u32) {
        let mut lines = Lines::<W>::new(Pages::Small);
        let bucket = |at: u32| [(7 * at as u16, at), (8 * at as u16, wide - at), (u16::MAX, at + 1)];
        let mut spots: Vec<Spot> = (1..=40).map(|at| lines.insert(&bucket(at)).unwrap()).collect();
        for at in (0..40).step_by(3) {
            lines.remove(spots[at]);
            spots[at] = lines.insert(&bucket(at as u32 + 1)).unwrap();
        }
        for (spot, at) in spots.iter().zip(1..) {
            assert_eq!(lines.pairs(*spot).collect::<Vec<_>>(), bucket(at));
        }
        assert_eq!((lines.used(), lines.validate()), (120, Ok(())));
        for spot in spots {
            lines.remove(spot);
        }
        assert_eq!((lines.used(), lines.count(), lines.validate()), (0, 0, Ok(())));
    }
    written::<u8>(255);
    written::<u16>(1 << 15);
    written::<u32>(1 << 30);
}

#[test]
fn a_host_route_makes_its_way_and_takes_it_along() {
    let mut table = rib(&[("::/0", 1)]);
    let mut engine = build(&table);
    let cost = apply(&mut engine, &mut table, &[("2001:db8::1/128", 2)]);
    assert_eq!((cost.entries_set, engine.blocks.used()), (1, pair_bytes::<u8>()));
    assert_eq!(["2001:db8::", "2001:db8::1", "2001:db8::2"].map(|a| engine.lookup(address(a))), [1, 2, 1]);
    apply(&mut engine, &mut table, &[("::/0", 3), ("2001:db8::/48", 4)]);
    assert_eq!(["2001:db8::", "2001:db8::1", "::"].map(|a| engine.lookup(address(a))), [4, 2, 3]);
    apply(&mut engine, &mut table, &[("2001:db8::1/128", 0), ("2001:db8::/48", 0)]);
    assert_eq!(
        (engine.blocks.used(), engine.bookkeeping.len(), engine.lookup(address("2001:db8::1"))),
        (0, 0, 3)
    );
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
    assert_eq!((engine.blocks.used(), engine.root.get(0x2001)), (0, answer(0)));
}

#[test]
fn holes_are_closed_and_slots_planned_again() {
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
    let bucket = engine.blocks.lines.pairs(Spot { line: 0, slot: 0 }).nth(2);
    assert_eq!((view.root.get(0x2001), bucket), (before, Some((0x8001, 3))));
    assert_eq!((engine.blocks.lines.used(), engine.blocks.lines.holes()), (3, 0));
    engine.readers_passed();
    engine.readers_passed();
    assert_eq!(engine.blocks.lines.holes(), 2); // five slots came free where three were taken
    engine.validate(&table).unwrap();
    // A route longer than the trie keeps needs a rebuild.
    let delta = table.insert("2001:db8::/49".parse().unwrap(), NextHop(7)).unwrap();
    assert!(matches!(engine.apply(&table, &[delta]), Update::Rebuild));
}

#[test]
fn tables_of_many_longer_routes_are_not_shared() {
    let hosts = |count: u32| {
        let host = |at| Route { prefix: Prefix::host(u128::from(at)), next_hop: NextHop(at % 200 + 1) };
        build(&(0..count).map(host).collect())
    };
    // Each takes an interval of 12 bytes.
    let most = SHARED_LONGER_BYTES as u32 / 12;
    assert!(hosts(most / 2).share().is_some() && hosts(most).share().is_none());
}

#[test]
fn a_table_that_needs_more_cells_than_fit_names_the_number() {
    let table = rib(&EXAMPLE);
    let too_few = Mosaic6::<u8>::build_at_most(63, &table, Pages::Small).unwrap_err();
    assert_eq!(too_few.limit(), Some(Limit { what: CELLS, had: 64, max: 63 }));
    assert!(Mosaic6::<u8>::build_at_most(64, &table, Pages::Small).is_ok());
}

#[test]
fn the_greatest_next_hop_fits_and_the_next_does_not() {
    let hosts = [("2001:db8::/32", NEXT_HOPS_MAX), ("2001:db8::/64", NEXT_HOPS_MAX), ("2001:db8::1/128", 1)];
    let mut rib = rib(&hosts);
    let mut fib = Fib::build("mosaic6", &rib).unwrap();
    let answers = ["2001:db8::", "2001:db8::1", "2001:db9::"].map(|a| fib.lookup_index(address(a)).0);
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
    assert!(spoiled(|e| e.root.set(7, e.root.get(0x2001))).contains(": Bucket {"));
    assert!(spoiled(|e| e.blocks.lines.spoil(0, |element| element - 1)).contains("end 0 is 0x7ffe"));
    assert!(spoiled(|e| e.blocks.lines.spoil(42, |element| element ^ 1)).contains("answer 0 is"));
    assert!(spoiled(|e| assert!(e.blocks.arrays.allocate(1).is_ok())).contains("bytes are in use"));
    assert!(spoiled(|e| e.bookkeeping.clear()).contains("the bookkeeping of the slots"));
    assert!(
        spoiled(|e| e.view.longer =
            Arc::new(TerraceView::build_at_most(99, Rib::new().at_least(0), Pages::Small).unwrap()))
        .contains("an interval ends at ffff")
    );
}

/// Generates prefixes that meet near the ends of keys, of the trie and of addresses, below few
/// nodes.
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

/// Looks up a batch both by gathers and by the software pipeline.
struct Both<'e, W: Width>(&'e Mosaic6View<W>, &'e [u128]);

impl<W: Width> Kernel for Both<'_, W> {
    type Output = [Vec<W>; 2];

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> [Vec<W>; 2] {
        [true, false].map(|gathers| {
            let mut next_hops = vec![W::default(); self.1.len()];
            self.0.many_by(isa, gathers, self.1, &mut next_hops);
            next_hops
        })
    }
}

#[test]
fn both_ways_of_the_batch_agree_with_single_lookups() {
    fn check<W: Width>(rib: &Rib<u128>, addresses: &[u128]) {
        let engine: Mosaic6<W> = Mosaic6::build(rib, &Config::default()).unwrap();
        let expected: Vec<W> = addresses.iter().map(|&address| engine.lookup(address)).collect();
        for &level in Level::available() {
            let [gathered, pipelined] = dispatch(level, Both(engine.view(), addresses));
            assert!(gathered == expected && pipelined == expected, "{level}");
        }
    }
    // Long routes, answers at every depth, and more arrays in a row than the batch path takes.
    let mut routes = vec![Route { prefix: Prefix::new(0, 0).unwrap(), next_hop: NextHop(1) }];
    let mut random = 1_u128;
    for at in 0..4000_u32 {
        random = random
            .wrapping_mul(0x2360_ED05_1FC6_5DA4_4385_DF64_9FCC_F645)
            .wrapping_add(0x9E37_79B9_7F4A_7C15);
        let address = 0x2001 << 112 | random >> 16 & !(0xFF << 100);
        let prefix = Prefix::containing(address, 20 + (at % 45) as u8);
        routes.push(Route { prefix, next_hop: NextHop(2 + at % 200) });
    }
    let rib: Rib<u128> = routes.iter().copied().collect();
    let addresses: Vec<u128> =
        routes.iter().flat_map(|route| [route.prefix.first(), route.prefix.last()]).collect();
    for count in [0, 15, 16, 96, 1000, addresses.len()] {
        check::<u8>(&rib, &addresses[..count]);
    }
    check::<u16>(&rib, &addresses);
    check::<u32>(&rib, &addresses);
}

#[test]
fn updates_make_no_detours() {
    // A network that fills unevenly with /48s: what began as a few buckets ends as arrays.
    let route = |at: u128| {
        let random = at.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835) >> 96;
        let network = (random & random >> 5 & 0xFFFF) as u64 | (at as u64 % 5) << 16;
        let prefix = Prefix::containing(u128::from(0x2001_0DB8_u64 << 32 | network << 16) << 64, 48);
        Change::Announce(Route { prefix, next_hop: NextHop(1 + at as u32 % 200) })
    };
    let mut rib = Rib::new();
    for at in 0..200 {
        rib.apply(route(at));
    }
    let mut engine = build(&rib);
    let detours = |engine: &Mosaic6<u8>| {
        let figures = engine.count_blocks();
        figures.iter().find(|figure| figure.name.contains("detour")).unwrap().value
    };
    let mut follow = |engine: &mut Mosaic6<u8>, change| {
        if let Some(delta) = rib.apply(change) {
            assert!(matches!(engine.apply(&rib, &[delta]), Update::Applied(_)));
        }
        if rib.len().is_multiple_of(100) {
            engine.validate(&rib).unwrap();
        }
        // Counting walks the whole structure.
        if rib.len().is_multiple_of(10) { detours(engine) } else { 0.0 }
    };
    for at in 200..3000 {
        assert!(follow(&mut engine, route(at)) < 0.5, "after {at}");
    }
    for at in 0..3000 {
        assert!(follow(&mut engine, Change::Withdraw(route(at).prefix())) < 0.5, "without {at}");
    }
}

/// Covers come and go above /48s that are buckets, /48s with hosts, and a /48 of many hosts.
#[test]
fn a_cover_leaves_arrays_where_they_are() {
    let route = |text: String, hop| Route { prefix: text.parse().unwrap(), next_hop: NextHop(hop) };
    let networks = (0..2000_u32).map(|at| route(format!("2001:db8:{:x}::/48", 7 * at), at % 9 + 1));
    let mut table: Rib<u128> = networks.collect();
    let mut engine = build(&table);
    let fresh = engine.memory().total();
    for cover in ["::/0", "2000::/3", "2001::/16", "2001:c00::/22", "2001:db8::/32", "2001:db8:100::/40"] {
        for next_hop in [10, 3, 11, 0] {
            let cost = apply(&mut engine, &mut table, &[(cover, next_hop)]);
            let blocks = cost.chunks_rebuilt;
            // With next hop 3 a bucket has fewer intervals. Any other is written where it was.
            let is_in_place = ![3, 11].contains(&next_hop);
            assert!(!is_in_place || cost.nodes_allocated <= 4, "{cover}: {cost:?} for {blocks} buckets");
            is_right_around_bounds(&engine, &table);
        }
    }
    assert!(engine.memory().total() <= fresh + fresh / 8);
    let hosts: Vec<String> = (0..300).map(|at| format!("2001:db8:9::{:x}/128", 3 * at)).collect();
    let hosts: Vec<(&str, u32)> =
        hosts.iter().zip((1..10).cycle()).map(|(host, hop)| (&**host, hop)).collect();
    apply(&mut engine, &mut table, &hosts);
    for cover in ["::/0", "2001:db8::/45", "2001:db8:8::/47", "2001:db8:9::/48", "2001:db8:9::/64"] {
        for next_hop in [12, 1, 0] {
            apply(&mut engine, &mut table, &[(cover, next_hop)]);
            is_right_around_bounds(&engine, &table);
        }
    }
}
