//! Figure 2 of the paper, what updates write, and what the check detects.

use super::*;
use fibula::engine::Lookup as _;
use fibula::engine::{Accesses, Config, Engine};
use fibula::testing::{apply, rib};
use fibula::{Limit, NextHop, Prefix, Rib};

/// The table of the paper's Figure 2, its levels 0 to 6 mapped to 20 to 26.
const FIGURE_2: [(&str, u32); 9] = [
    ("0.0.0.0/20", 6),   // *
    ("0.0.8.0/21", 4),   // 1*
    ("0.0.4.0/22", 3),   // 01*
    ("0.0.2.0/23", 3),   // 001*
    ("0.0.14.0/23", 7),  // 111*
    ("0.0.3.0/24", 1),   // 0011*
    ("0.0.14.0/24", 8),  // 1110*
    ("0.0.14.0/25", 2),  // 11100*
    ("0.0.2.192/26", 9), // 001011*
];

fn build(rib: &Rib<u32>) -> SailB<u8> {
    SailB::build(rib, &Config::default()).unwrap()
}

#[test]
fn figure_2_of_the_paper() {
    let rib = rib(&FIGURE_2);
    let engine = build(&rib);
    // B0 to B4 of the figure and, where a bit is set, N0 to N4; level 4 after pivot pushing.
    let bits = |level: usize| -> Vec<u8> {
        (0..1 << (level - 20)).map(|slot| u8::from(engine.bit(level, slot))).collect()
    };
    assert_eq!(bits(20), [1]);
    assert_eq!(bits(21), [0, 1]);
    assert_eq!(bits(22), [0, 1, 0, 0]);
    assert_eq!(bits(23), [0, 1, 0, 0, 0, 0, 0, 1]);
    assert_eq!(bits(24), [0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0]);
    let next_hops = |level: usize| -> Vec<u32> {
        (0..1 << (level - 20)).map(|slot| engine.next_hop_at(level, slot).unwrap().0).collect()
    };
    assert_eq!(next_hops(20), [6]);
    assert_eq!(next_hops(21), [0, 4]);
    assert_eq!(next_hops(22), [0, 3, 0, 0]);
    assert_eq!(next_hops(23), [0, 3, 0, 0, 0, 0, 0, 7]);
    assert_eq!([2, 3, 14].map(|slot| engine.next_hop_at(24, slot)), [None, Some(NextHop(1)), None]);
    assert_eq!(engine.chunk_at(2).unwrap(), [[3; 64], [3; 64], [3; 64], [9; 64]].concat());
    assert_eq!(engine.chunk_at(14).unwrap(), [[2; 128], [8; 128]].concat());
    assert_eq!(engine.lookup(0x0000_0280), 3); // 001010
    engine.validate(&rib).unwrap();
}

#[test]
fn the_maps_are_the_papers_and_a_bit_a_word() {
    let engine = build(&rib(&FIGURE_2));
    let parts: Vec<_> = engine.memory().parts.iter().map(|p| (p.name, p.bytes, p.on_chip)).collect();
    // One bit in 64 of the maps above level 24 is unused: of 2^18 + 2^12 + 2^6 + 1 words.
    let nobodys = ((1 << 18) + (1 << 12) + (1 << 6) + 1) / 8;
    let expected = [
        ("B0..B24", ((1 << 25) - 1 + 8 * nobodys + 1) / 8, true),
        ("N0..N23", 1 << 24, false),
        ("N24", 4 * ((1 << 24) + 1), false),
        ("N32", 2 * 256, false),
        ("chunk owners", 2 * (4 + 10), false),
    ];
    assert_eq!(parts, expected);
    let figures = engine.figures();
    let figure =
        |name: &str| figures.iter().find(|figure| figure.name == name).map(|figure| figure.value as u32);
    let named = ["solid nodes on level 20", "solid nodes on level 23", "nodes on level 24", "chunks of N32"];
    assert_eq!(named.map(figure), [Some(1), Some(2), Some(3), Some(2)]);
    assert_eq!(figure("on-chip bound, bits"), Some((1 << 25) - 1));
}

#[test]
fn every_slot_has_a_bit_of_its_own() {
    let mut taken = vec![0_u64; WORDS];
    for level in 0..=24_usize {
        for slot in 0..1 << level {
            let (word, bit) = SixLevelsAWord::place(level, slot);
            assert_eq!(taken[word] >> bit & 1, 0, "slot {slot} of level {level}");
            taken[word] |= 1 << bit;
        }
    }
    let free: u32 = taken.iter().map(|word| word.count_zeros()).sum();
    assert_eq!(free, (1 << 18) + (1 << 12) + (1 << 6) + 1);
}

#[test]
fn one_mask_finds_what_algorithm_1_finds_probe_by_probe() {
    for len in 0..=24 {
        let mut words = vec![0; WORDS];
        assert_eq!(SixLevelsAWord::deepest(&words, 0x9A5C_3B7E), 0);
        for shorter in (0..=len).step_by(3) {
            let (word, bit) = SixLevelsAWord::place(shorter, (0x9A5C_3B7E_u64 >> (32 - shorter)) as usize);
            words[word] |= 1 << bit;
            assert_eq!(SixLevelsAWord::deepest(&words, 0x9A5C_3B7E), shorter as u32 + 1);
            assert_eq!(SixLevelsAWord::deepest(&words, !0x9A5C_3B7E), 1);
        }
    }
}

#[test]
fn a_lookup_probes_24_first_and_then_23_to_0() {
    let table = rib(&[("0.0.0.0/0", 1), ("10.0.0.0/8", 2), ("10.1.1.0/24", 3), ("10.1.2.0/25", 4)]);
    let engine = build(&table);
    // The probes up to the level that hits, and one load of N, or N24 and N32.
    for (address, next_hop, loads) in
        [(0x0A01_0100, 3, 1 + 1), (0x0A01_0200, 4, 1 + 2), (0x0A00_0000, 2, 17 + 1), (0, 1, 25 + 1)]
    {
        let mut accesses = Accesses::new();
        assert_eq!(engine.lookup_metered(address, &mut accesses), next_hop);
        let probes = if address == 0x0A01_0200 { 1 } else { loads - 1 };
        assert_eq!((accesses.loads(), accesses.loads_on_chip()), (loads, probes));
    }
}

#[test]
fn an_update_writes_one_bit_and_at_most_one_next_hop() {
    for len in 0..=24_u8 {
        let mut table = rib(&FIGURE_2);
        let mut engine = build(&table);
        let prefix = Prefix::containing(0xC0A8_6530_u32, len).to_string();
        // Even for the default route: what the chunks hold belongs to more-specific routes.
        let announced = apply(&mut engine, &mut table, &[(&prefix, 5)]);
        let replaced = apply(&mut engine, &mut table, &[(&prefix, 6)]);
        let withdrawn = apply(&mut engine, &mut table, &[(&prefix, 0)]);
        let costs = [announced, replaced, withdrawn].map(|cost| (cost.on_chip_writes, cost.entries_set));
        assert_eq!(costs, [(1, 1), (0, 1), (1, 0)], "{prefix}");
    }
}

#[test]
fn a_chunk_comes_with_the_first_longer_route_and_inherits() {
    let mut table = rib(&[("10.0.0.0/8", 1), ("192.0.2.0/24", 7), ("192.0.2.9/32", 8)]);
    let mut engine = build(&table);
    let fresh = engine.memory().total();
    let cost = apply(&mut engine, &mut table, &[("10.0.0.128/25", 2)]);
    assert_eq!((cost.nodes_allocated, cost.on_chip_writes, cost.entries_set), (1, 1, 1 + 256));
    // What the chunk inherits is pushed again when the cover changes, and only that.
    let cost = apply(&mut engine, &mut table, &[("10.0.0.0/8", 3)]);
    assert_eq!((cost.on_chip_writes, cost.entries_set), (0, 1 + 128));
    let cost = apply(&mut engine, &mut table, &[("10.0.0.0/23", 4)]);
    assert_eq!((cost.on_chip_writes, cost.entries_set), (1, 1 + 128));
    let cost = apply(&mut engine, &mut table, &[("10.0.0.0/8", 1)]);
    assert_eq!((cost.on_chip_writes, cost.entries_set), (0, 1));
    // A /24 that has a chunk has its bit already: its route is pushed below.
    let cost = apply(&mut engine, &mut table, &[("10.0.0.0/24", 5)]);
    assert_eq!((cost.on_chip_writes, cost.entries_set), (0, 128));
    assert_eq!([0x0A00_0000, 0x0A00_0080, 0x0A00_0100].map(|a| engine.lookup(a)), [5, 2, 4]);
    apply(&mut engine, &mut table, &[("10.0.0.0/24", 0), ("10.0.0.0/23", 0)]);
    let cost = apply(&mut engine, &mut table, &[("192.0.2.9/32", 0)]);
    assert_eq!((cost.nodes_copied, cost.on_chip_writes), (1, 0));
    let cost = apply(&mut engine, &mut table, &[("10.0.0.128/25", 0)]);
    assert_eq!((cost.nodes_copied, cost.on_chip_writes), (0, 1));
    assert!(engine.memory().total() <= fresh + 4096);
}

#[test]
fn one_batch_may_take_a_chunk_away_and_change_what_covers_it() {
    let start = [("10.0.0.0/8", 1), ("10.1.1.0/24", 2), ("10.1.1.0/25", 3), ("10.1.1.128/26", 4)];
    let changes = [("10.0.0.0/9", 5), ("10.1.1.0/24", 0), ("10.1.1.0/25", 0), ("10.1.1.128/26", 0)];
    for turn in 0..changes.len() {
        let mut order = changes;
        order.rotate_left(turn);
        let mut table = rib(&start);
        let mut engine = build(&table);
        apply(&mut engine, &mut table, &order);
        assert_eq!((engine.lookup(0x0A01_0180), engine.bit(24, 0x0A_0101)), (5, false));
    }
}

#[test]
fn the_check_notices_what_is_spoilt() {
    let table = rib(&FIGURE_2);
    let spoilt = |spoil: fn(&mut SailB<u8>)| {
        let mut engine = build(&table);
        spoil(&mut engine);
        engine.validate(&table).unwrap_err()
    };
    assert_eq!(spoilt(|e| e.flip(17, 9)), "9 bits are set, 8 should be");
    assert!(spoilt(|e| e.flip(23, 1)).starts_with("0.0.2.0/23: not"));
    assert!(spoilt(|e| e.flip(24, 14)).contains("0.0.14.0/24"));
    assert!(spoilt(|e| e.set_next_hop_at(22, 1, NextHop(9))).starts_with("0.0.4.0/22: not"));
    assert!(spoilt(|e| e.set_next_hop_at(24, 3, NextHop(9))).starts_with("0.0.3.0/24: not"));
    assert!(spoilt(|e| e.misdirect(2)).contains("is lost to 0x2"));
    assert!(spoilt(|e| e.misdirect(3)).starts_with("0.0.3.0/24: not"));
    assert!(spoilt(|e| e.spoil_chunk_at(14, 255, 1)).contains("chunk of 0.0.14.0/24"));
    let longer = rib(&[("0.0.15.0/32", 1)]).iter().chain(&table).collect();
    assert!(build(&table).validate(&longer).unwrap_err().contains("[2, 2, 2, 3]"));
}

#[test]
fn the_greatest_next_hop_fits_and_the_next_does_not() {
    for name in ["sail-b", "sail-u"] {
        let mut rib = rib(&[
            ("10.0.0.0/8", NEXT_HOPS_MAX),
            ("10.0.0.0/32", NEXT_HOPS_MAX),
            ("11.0.0.0/24", NEXT_HOPS_MAX),
        ]);
        let mut fib = crate::build(name, &rib).unwrap();
        let addresses = [0x0A00_0000, 0x0AFF_FFFF, 0x0B00_0000];
        assert_eq!(addresses.map(|a: u32| fib.lookup_index(a)), [NextHop(NEXT_HOPS_MAX); 3]);
        let delta = rib.insert(Prefix::ALL, NextHop(NEXT_HOPS_MAX + 1)).unwrap();
        let limit = Limit { what: "next hops", had: u64::from(NEXT_HOPS_MAX) + 1, max: NEXT_HOPS_MAX.into() };
        assert_eq!(fib.apply(&rib, &[delta]).unwrap_err().limit(), Some(limit));
        assert_eq!(crate::build(name, &rib).unwrap_err().limit(), Some(limit));
    }
}
