//! The paper's worked examples, the number of accesses, every width of next-hop index, and long
//! series of updates inside 2000::/3.

use super::*;
use crate::blocks::dense::Owners;
use entry::{Counting, Entry15_6, FindFirstSet, PopCount};
use fibula::engine::{Accesses, Cost};
use fibula::testing::Oracle;
use fibula::testing::{apply, rib};
use fibula::{Address, Change, NextHop, Prefix, Route};
use nhi::Nhi;
use proptest::prelude::*;
use table::{HASHED_TO, LEVELS, global_unicast};

fn build<W: Width>(rib: &Rib<u128>) -> TrieC<W> {
    let engine = TrieC::build(rib, &Config::default()).unwrap();
    Engine::<u128>::validate(&engine, rib).unwrap();
    engine
}

fn at(text: &str) -> u128 {
    text.parse::<std::net::Ipv6Addr>().unwrap().to_bits()
}

/// Builds with these parameters.
fn build_with<W: Width>(rib: &Rib<u128>, parameters: &[(&str, &str)]) -> TrieC<W> {
    let config = parameters.iter().fold(Config::default(), |config, &(name, value)| config.with(name, value));
    let engine = TrieC::build(rib, &config).unwrap();
    Engine::<u128>::validate(&engine, rib).unwrap();
    engine
}

/// Builds in the layout for many nodes, however few there are.
fn build_32_over_16(rib: &Rib<u128>) -> TrieC<u32> {
    build_with(rib, &[("nhi", "32-16")])
}

/// Returns the table in the paper's own width, which it must have.
fn papers(engine: &TrieC<u8>) -> &Table<Nhi16, Nhi16> {
    match &engine.layout {
        Layout::Bits16(table) => table,
        _ => panic!("wider than the paper's"),
    }
}

#[test]
fn figure_2_of_the_paper() {
    let (a, b) = (1, 2);
    let engine = build::<u8>(&rib(&[("2002:4000::/18", a), ("2002:5000::/20", b)]));
    let table = papers(&engine);
    let answer = |next_hop, len| Nhi16::answer(NextHop(next_hop), len);
    let expected = Entry15_6 {
        atlas: 0x0000_0001_0001_0001,
        nhia: [answer(a, 18), answer(b, 20), answer(a, 18), Nhi16::NONE],
    };
    assert_eq!(table.root[0b000_0000_0000_1001], expected);
    assert_eq!(
        (PopCount::total_entropy(expected.atlas), PopCount::position_entropy(expected.atlas, 0b10_1010)),
        (3, 3)
    );
    let slots = expected.slots(&table.extra);
    let counts = [a, b].map(|n| slots.iter().filter(|slot| slot.next_hop().0 == n).count());
    assert_eq!((counts, size_of_val(&expected)), ([48, 16], 16));
    assert_eq!(engine.lookup(at("2002:6A00::")), 1);
}

#[test]
fn figure_5_of_the_paper() {
    let (a, b) = (1, 2);
    let mut rib = Rib::new();
    // The paper writes these two with bits set after their lengths.
    for (address, len, next_hop) in [("2002:4C60::", 18, a), ("2002:4C6F::", 28, b)] {
        rib.insert(Prefix::containing(at(address), len), NextHop(next_hop));
    }
    let engine = build::<u8>(&rib);
    let table = papers(&engine);
    let entry = table.root[9];
    assert_eq!((entry.atlas, PopCount::position_entropy(entry.atlas, 12)), (1 << 13 | 1 << 12 | 1, 2));
    assert_eq!(entry.nhia[1], Nhi16::pointer(0));
    let below = table.levels[0][0b0110];
    assert_eq!(
        (PopCount::position_entropy(below.atlas.into(), 0b1010), below.nhia[0]),
        (1, Nhi16::answer(NextHop(b), 28))
    );
    let mut accesses = Accesses::new();
    assert_eq!(engine.lookup_metered(at("2002:4C6A::200C"), &mut accesses), 2);
    assert_eq!((accesses.loads(), accesses.hashes()), (2, 0));
    assert_eq!(engine.lookup(at("2002:4C70::")), 1);
}

#[test]
fn a_width_that_is_asked_for_is_taken_or_refused() {
    let few = rib(&[("2002:4000::/18", 511)]);
    let many = rib(&[("2002:4000::/18", 512)]);
    assert!(matches!(build_with::<u32>(&few, &[("nhi", "16")]).layout, Layout::Bits16(_)));
    assert!(matches!(build_with::<u32>(&few, &[("nhi", "32")]).layout, Layout::Bits32(_)));
    assert!(matches!(build_with::<u32>(&few, &[("nhi", "64")]).layout, Layout::Bits64(_)));
    let refused = TrieC::<u32>::build(&many, &Config::default().with("nhi", "16")).unwrap_err();
    assert!(refused.to_string().contains("next hops of a TrieC next-hop index"), "{refused}");
    assert!(TrieC::<u32>::build(&many, &Config::default()).is_ok());
}

/// At every level the address is in slot 0 of an entry with more runs than it has room for.
#[test]
fn the_worst_case_is_eight_accesses_and_one_hash() {
    let address = at("2001:DB8::");
    let mut rib: Rib<u128> = Rib::new();
    for len in LEVELS.into_iter().chain([HASHED_TO]) {
        for slot in 0..6 {
            let next_hop = NextHop(u32::from(len) + slot as u32);
            rib.insert(Prefix::containing(address | slot << (128 - len), len), next_hop);
        }
    }
    let mut engine = build::<u8>(&rib);
    let count = |engine: &TrieC<u8>, address| {
        let mut accesses = Paper::default();
        let next_hop = engine.lookup_metered(address, &mut accesses);
        (next_hop, accesses.trie, accesses.hashes, accesses.hashed)
    };
    assert_eq!(count(&engine, address), (64, 8, 1, 2));
    assert_eq!(count(&engine, at("2001:DB8:0:2::")), (66, 8, 1, 2));
    // Hash16 has nothing for this /64, or there is nothing to have.
    assert_eq!(count(&engine, at("2001:DB8:0:8::")), (48, 8, 1, 2));
    assert_eq!(count(&engine, at("2001:DB8:0:8000::")).0, 48);
    assert_eq!(count(&engine, at("2001:DB8:1::")), (49, 8, 0, 0));
    assert_eq!(count(&engine, at("2001:DB9::")), (33, 4, 0, 0));
    // The flag alone makes the lookup read the tree, here without a match.
    apply(&mut engine, &mut rib, &[("2001:db8::1/128", 7)]);
    assert_eq!(count(&engine, address + 1), (7, 8, 1, 3));
    assert_eq!(count(&engine, address + 2), (64, 8, 1, 3));
    assert_eq!(count(&engine, at("2001:DB8:0:1::")), (65, 8, 1, 2));
    // Outside 2000::/3 there is nothing at all.
    assert_eq!(count(&engine, at("fe80::1")), (0, 0, 0, 0));
}

#[test]
fn next_hop_indices_widen_by_themselves() {
    let bits = |engine: &TrieC<u32>| Engine::<u128>::figures(engine)[0].value as u32;
    let answers = |next_hop| {
        let engine = build::<u32>(&rib(&[("2001:db8::/32", next_hop), ("2001:db8::/64", 1)]));
        assert_eq!(engine.lookup(at("2001:db8:1::")), next_hop);
        bits(&engine)
    };
    let widths = [511, 512, (1 << 25) - 1, 1 << 25, u32::MAX].map(answers);
    assert_eq!(widths, [16, 32, 32, 64, 64]);
}

#[test]
fn the_32769th_node_of_a_level_widens_the_pointers() {
    let long = |i: u64| Route {
        prefix: Prefix::containing(1 << 125 | u128::from(i) << 104, 25),
        next_hop: NextHop(3),
    };
    let mut rib: Rib<u128> = (0..1 << 15).map(long).collect();
    let mut engine: TrieC<u8> = TrieC::build(&rib, &Config::default()).unwrap();
    assert!(matches!(engine.layout, Layout::Bits16(_)));
    let delta = rib.insert(long(1 << 15).prefix, NextHop(4)).unwrap();
    assert_eq!(engine.apply(&rib, &[delta]), Update::Rebuild);
    assert_eq!(engine.lookup(long(1 << 15).prefix.first()), 0);
    let engine: TrieC<u8> = TrieC::build(&rib, &Config::default()).unwrap();
    assert!(matches!(engine.layout, Layout::Bits32Over16(_)));
    assert_eq!([0, 1 << 15].map(|i| engine.lookup(long(i).prefix.first())), [3, 4]);
}

#[test]
fn an_update_writes_what_gives_way_and_no_more() {
    let mut rib = rib(&[("2001:db8::/32", 1), ("2001:db8:8000::/33", 2)]);
    let mut engine = build::<u8>(&rib);
    // 8 entries of the third level, and one of the first in which the route covers other slots.
    let cost = apply(&mut engine, &mut rib, &[("2001:d00::/24", 3)]);
    assert_eq!((cost.entries_set, cost.nodes_allocated), (16, 0));
    // The half that is its own, in the one node below.
    assert_eq!(apply(&mut engine, &mut rib, &[("2001:db8::/32", 4)]).entries_set, 8);
    assert_eq!(apply(&mut engine, &mut rib, &[("2001:db8::/32", 0)]).entries_set, 8);
    assert_eq!(engine.lookup(at("2001:db8::")), 3);
    // The default is written nowhere.
    assert_eq!(apply(&mut engine, &mut rib, &[("2000::/3", 9)]), Cost::default());
    assert_eq!(engine.lookup(at("3fff::")), 9);
    // A /49 is 512 blocks of Hash16 and the path to them; all of it is freed again.
    let before = Engine::<u128>::memory(&engine).total();
    let cost = apply(&mut engine, &mut rib, &[("2001:db8:1::/49", 5)]);
    assert_eq!((cost.nodes_allocated, cost.entries_set), (1, 512 + 2));
    let hashes = papers(&engine).hash16.len();
    apply(&mut engine, &mut rib, &[("2001:db8:1::/49", 0)]);
    assert_eq!((hashes, papers(&engine).hash16.len()), (512, 0));
    assert!(Engine::<u128>::memory(&engine).total() <= before + 1024);
}

#[test]
fn a_life_inside_2000_leaves_no_holes() {
    let mut state = 7_u64;
    let mut random = move |bound: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    let mut prefix = || {
        let address = 0x2A << 120 | u128::from(random(1 << 10)) << 96 | u128::from(random(1 << 12)) << 68;
        Prefix::containing(address, [20, 29, 32, 36, 40, 44, 48, 48, 56, 58, 64, 72][random(12) as usize])
    };
    let prefixes: Vec<_> = (0..3000).map(|_| prefix()).collect();
    let mut rib: Rib<u128> = Rib::new();
    let mut engine = build::<u16>(&rib);
    for round in 0..8_u32 {
        for (i, batch) in (0_u32..).zip(prefixes.chunks(50)) {
            let gone = (i + round) % 3 == 0;
            let deltas: Vec<_> = batch
                .iter()
                .filter_map(|&p| {
                    rib.set(p, NextHop(if gone { 0 } else { (i * 7 + round + u32::from(p.len())) % 300 + 1 }))
                })
                .collect();
            assert!(matches!(engine.apply(&rib, &deltas), Update::Applied(_)));
        }
        Engine::<u128>::validate(&engine, &rib).unwrap();
    }
    let fresh = build::<u16>(&rib);
    let bytes = [&engine, &fresh].map(|engine| Engine::<u128>::memory(engine).total());
    assert!(bytes[0] <= bytes[1] + bytes[1] / 10, "{bytes:?}");
}

/// Spoils a next-hop index of entry 9.
fn set(table: &mut Table<Nhi16, Nhi16>, at: usize, nhi: Nhi16) {
    table.root[9].nhia[at] = nhi;
}

#[test]
fn validation_sees_what_is_wrong() {
    let routes = rib(&[
        ("2002:4000::/18", 1),
        ("2002:4c60::/28", 2),
        ("2002:4c60::/32", 3),
        ("2002:4c62::/32", 4),
        ("2002:4c64:1::/56", 5),
        ("2002:4c64:1::/112", 6),
    ]);
    let spoiled = |spoil: fn(&mut Table<Nhi16, Nhi16>)| {
        let mut engine = build::<u8>(&routes);
        let Layout::Bits16(table) = &mut engine.layout else { panic!("wider than the paper's") };
        spoil(table);
        Engine::<u128>::validate(&engine, &routes).unwrap_err()
    };
    let wrong = spoiled(|table| set(table, 0, Nhi16::answer(NextHop(7), 18)));
    assert!(wrong.starts_with("level 1, node 0, entry 9, slot 0: 0x1d2: /18 to 7, expected"), "{wrong}");
    let length = spoiled(|table| set(table, 0, Nhi16::answer(NextHop(1), 17)));
    assert!(length.starts_with("level 1, node 0, entry 9, slot 0"), "{length}");
    assert_eq!(
        spoiled(|table| set(table, 1, Nhi16::pointer(1))),
        "level 1, node 0, entry 9, slot 12: there is no node 1"
    );
    let lost = spoiled(|table| {
        table.owners[1].push(0x2002 << 48);
    });
    assert_eq!(lost, "level 3: (2, 1) nodes, 1 reached");
    assert_eq!(
        spoiled(|table| table.owners[0] = Owners::from(0)),
        "level 1, node 0, entry 9, slot 12: there is no node 0"
    );
    let moved = spoiled(|table| {
        table.owners[2].swap_remove(0);
        table.owners[2].push(0x2002 << 48);
    });
    assert_eq!(moved, "level 4: node 0 is not 0x2002000000000000's");
    let unreached = spoiled(|table| {
        let _: Entry15_6<Nhi16> = table.extra.entry(&std::array::from_fn(Nhi16::pointer));
    });
    assert_eq!(unreached, "6 ExtraNHIA indices of 70 are reached");
    let flag = spoiled(|table| table.hash16.edit_slot(at_high("2002:4c64:1::"), |nhi| nhi.flagged(false)));
    assert!(flag.contains("not what a build gives"), "{flag}");
    let more = spoiled(|table| table.hash16.edit(1 << 55, |slots| slots[0] = Nhi16::answer(NextHop(1), 3)));
    assert_eq!(more, "5 Hash16 entries of 5, expected 4");

    let mut engine = build::<u8>(&routes);
    engine.side = Side::build(&rib(&[("::/0", 1)]), Pages::Small).unwrap();
    let side = Engine::<u128>::validate(&engine, &routes).unwrap_err();
    assert_eq!(side, "the default is NextHop(1), expected NextHop(0)");
}

fn at_high(text: &str) -> u64 {
    (at(text) >> 64) as u64
}

fn global() -> impl Strategy<Value = u128> {
    // Few bits around the ends of the levels, so that prefixes meet.
    let bits = [3_u8, 17, 18, 23, 24, 27, 28, 31, 32, 36, 39, 40, 47, 48, 49, 57, 58, 63, 64, 65, 127];
    (any::<u32>(), any::<u32>()).prop_map(move |(set, mask)| {
        let set = set & mask;
        bits.iter()
            .enumerate()
            .filter(|(at, _)| set >> at & 1 == 1)
            .fold(1 << 125, |address, (_, &bit)| address | u128::from_bits(1, bit, 1))
    })
}

fn prefixes() -> impl Strategy<Value = Prefix<u128>> {
    let outside = (any::<u128>(), 0..=128_u8).prop_map(|(address, len)| Prefix::containing(address, len));
    let inside = (global(), 0..=128_u8).prop_map(|(address, len)| Prefix::containing(address, len));
    let hashed = (global(), 47..=66_u8).prop_map(|(address, len)| Prefix::containing(address, len));
    prop_oneof![1 => outside, 6 => inside, 3 => hashed]
}

fn changes(next_hops: u32) -> impl Strategy<Value = Vec<Change<u128>>> {
    let change = prop_oneof![
        2 => (prefixes(), 1..=next_hops).prop_map(|(prefix, next_hop)| {
            Change::Announce(Route { prefix, next_hop: NextHop(next_hop) })
        }),
        1 => prefixes().prop_map(Change::Withdraw),
    ];
    proptest::collection::vec(change, 0..60)
}

/// Applies changes in batches, withdraws each at the end, and compares with the oracle all the way.
fn follows_the_oracle(
    changes: &[Change<u128>],
    batch: usize,
    build: fn(&Rib<u128>) -> TrieC<u32>,
) -> Result<(), TestCaseError> {
    let mut rib = Rib::new();
    let mut engine = build(&rib);
    let mut oracle = Oracle::<u128, u32>::build(&rib, &Config::default()).unwrap();
    let mut probes = vec![0, 1 << 125, (1 << 126) - 1, u128::MAX];
    for change in changes {
        let (first, last) = (change.prefix().first(), change.prefix().last());
        probes.extend([first.previous(), Some(first), Some(last), last.next()].into_iter().flatten());
    }
    let withdrawals: Vec<_> = changes.iter().map(|change| Change::Withdraw(change.prefix())).collect();
    for changes in changes.chunks(batch).chain(withdrawals.chunks(batch)) {
        let deltas = rib.apply_all(changes.iter().copied()).deltas;
        if engine.apply(&rib, &deltas) == Update::Rebuild {
            engine = build(&rib);
        }
        oracle.apply(&rib, &deltas);
        engine.validate(&rib).map_err(TestCaseError::fail)?;
        let expected: Vec<u32> = probes.iter().map(|&probe| Lookup::lookup(&oracle, probe)).collect();
        for (&probe, &expected) in probes.iter().zip(&expected) {
            let mut accesses = Paper::default();
            prop_assert_eq!(engine.lookup_metered(probe, &mut accesses), expected, "{:x}", probe);
            if global_unicast().contains(probe) {
                prop_assert!(accesses.trie <= 8 && accesses.hashes <= 1, "{:?}", accesses);
            }
        }
        let mut answers = vec![u32::MAX; probes.len()];
        engine.lookup_batch(fibula::parts::arch::Scalar, &probes, &mut answers);
        prop_assert_eq!(answers, expected);
    }
    prop_assert!(rib.is_empty());
    let fresh = build(&rib);
    let bytes = [&engine, &fresh].map(|engine| Engine::<u128>::memory(engine).total());
    prop_assert!(bytes[0] <= bytes[1] + (64 << 10), "{:?}", bytes);
    Ok(())
}

/// The paper's count: accesses to the tables of the trie, and one hash, with its search.
#[derive(Debug, Default)]
struct Paper {
    trie: u32,
    hashes: u32,
    hashed: u32,
}

impl Meter for Paper {
    fn load<T: Copy>(&mut self, place: &T) -> T {
        if self.hashes == 0 {
            self.trie += 1;
        } else {
            self.hashed += 1;
        }
        *place
    }

    fn hash(&mut self) {
        self.hashes += 1;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_loop_over_ffs_counts_what_one_instruction_does(atlas: u64, position in 0..64_u32) {
        for atlas in [0, atlas, u64::MAX] {
            prop_assert_eq!(FindFirstSet::total_entropy(atlas), PopCount::total_entropy(atlas));
            let (loops, one) = (FindFirstSet::position_entropy, PopCount::position_entropy);
            prop_assert_eq!(loops(atlas, position), one(atlas, position));
        }
    }

    #[test]
    fn counting_by_ffs_it_follows_the_oracle(changes in changes(511), batch in 1..9_usize) {
        follows_the_oracle(&changes, batch, |rib| build_with(rib, &[("count", "ffs")]))?;
    }

    #[test]
    fn in_16_bits_it_follows_the_oracle(changes in changes(4), batch in 1..9_usize) {
        follows_the_oracle(&changes, batch, build)?;
    }

    #[test]
    fn in_32_bits_over_16_it_follows_the_oracle(changes in changes(511), batch in 1..9_usize) {
        follows_the_oracle(&changes, batch, build_32_over_16)?;
    }

    #[test]
    fn growing_it_follows_the_oracle(changes in changes(600), batch in 1..9_usize) {
        follows_the_oracle(&changes, batch, build)?;
    }

    #[test]
    fn in_64_bits_it_follows_the_oracle(changes in changes(u32::MAX), batch in 1..9_usize) {
        follows_the_oracle(&changes, batch, build)?;
    }
}
