//! Figure 2 of the paper pushed to four levels, and the one word that an update writes.

use super::*;
use fibula::engine::Lookup as _;
use fibula::engine::{Accesses, Config, Engine};
use fibula::testing::{apply, rib};
use fibula::{NextHop, Prefix, Rib};
use proptest::prelude::*;

/// The table of the paper's Figure 2, its levels 1 and 2 mapped to 17 and 18, 3 and 4 to 23 and 24,
/// 5 and 6 to 31 and 32.
const FIGURE_2: [(&str, u32); 9] = [
    ("0.0.0.0/0", 6),    // *
    ("0.0.128.0/17", 4), // 1*
    ("0.0.64.0/18", 3),  // 01*
    ("0.0.2.0/23", 3),   // 001*
    ("0.0.194.0/23", 7), // 111*
    ("0.0.3.0/24", 1),   // 0011*
    ("0.0.194.0/24", 8), // 1110*
    ("0.0.194.0/31", 2), // 11100*
    ("0.0.2.3/32", 9),   // 001011
];

fn build(rib: &Rib<u32>) -> SailU<u8> {
    SailU::build(rib, &Config::default()).unwrap()
}

#[test]
fn figure_2_of_the_paper() {
    let rib = rib(&FIGURE_2);
    let engine = build(&rib);
    let level = |depth: usize, slots: std::ops::Range<usize>| -> Vec<Option<u32>> {
        slots
            .map(|slot| engine.bit(depth, slot).then(|| engine.next_hop_at(depth, slot).map_or(99, |n| n.0)))
            .collect()
    };
    assert_eq!(level(0, 0..64), [Some(6); 64]);
    assert!(level(1, 0..1 << 12).iter().all(Option::is_none));
    assert_eq!(level(2, 0..6), [None, Some(3), Some(4), Some(4), None, None]);
    // 99: below, in a chunk.
    assert_eq!(level(3, 0..5), [None, None, Some(99), Some(1), None]);
    assert_eq!(level(3, 192..197), [None, None, Some(99), Some(7), None]);
    assert_eq!(
        (&engine.chunk_at(2).unwrap()[..5], engine.chunk_at(2).unwrap()[255]),
        (&[3, 3, 3, 9, 3][..], 3)
    );
    assert_eq!(
        (&engine.chunk_at(194).unwrap()[..4], engine.chunk_at(194).unwrap()[255]),
        (&[2, 2, 8, 8][..], 8)
    );
    assert_eq!([0x0000_0202, 0].map(|address| engine.lookup(address)), [3, 6]); // 001010
    engine.validate(&rib).unwrap();
}

#[test]
fn the_maps_take_half_of_what_they_take_in_sail_b() {
    let engine = build(&rib(&FIGURE_2));
    let memory = engine.memory();
    assert_eq!(memory.total_on_chip(), ((1 << 6) + (1 << 12) + (1 << 18) + (1 << 24)) / 8);
    // "It reduces the on-chip memory usage by 49.2%", section 4.1.
    let of_sail_b = memory.total_on_chip() as f64 / ((1 << 25) / 8) as f64;
    assert_eq!(format!("{:.1}", 100.0 - 100.0 * of_sail_b), "49.2");
    let figures: Vec<(String, u32)> =
        engine.figures().into_iter().map(|figure| (figure.name.into_owned(), figure.value as u32)).collect();
    let expected = [
        ("solid nodes on level 6", 64),
        ("solid nodes on level 12", 0),
        ("solid nodes on level 18", 3),
        ("nodes on level 24", 4),
        ("chunks of N32", 2),
        ("on-chip bound, bits", (1 << 6) + (1 << 12) + (1 << 18) + (1 << 24)),
    ];
    assert_eq!(figures, expected.map(|(name, value)| (name.to_string(), value)));
}

#[test]
fn a_lookup_probes_four_maps_at_most() {
    let table = rib(&[("0.0.0.0/0", 1), ("10.0.0.0/8", 2), ("10.1.1.0/24", 3), ("10.1.2.0/25", 4)]);
    let engine = build(&table);
    for (address, next_hop, loads) in
        [(0x0A01_0100, 3, 1 + 1), (0x0A01_0200, 4, 1 + 2), (0x0A00_0000, 2, 3 + 1), (0, 1, 4 + 1)]
    {
        let mut accesses = Accesses::new();
        assert_eq!(engine.lookup_metered(address, &mut accesses), next_hop);
        assert_eq!(accesses.loads(), loads);
    }
}

#[test]
fn a_cover_on_the_same_level_takes_the_slots_back() {
    let mut table = rib(&[("10.0.0.0/19", 1), ("10.0.0.0/24", 2)]);
    let mut engine = build(&table);
    // The /19 is 32 slots of level 24; the /20 is 16 of them, one of which is the /24's.
    let costs =
        [("10.0.0.0/20", 3), ("10.0.0.0/20", 4), ("10.0.0.0/20", 0), ("10.0.0.0/19", 0)].map(|change| {
            let cost = apply(&mut engine, &mut table, &[change]);
            (cost.on_chip_writes, cost.entries_set)
        });
    assert_eq!(costs, [(0, 15), (0, 15), (0, 15), (1, 0)]);
    assert_eq!([0x0A00_0000, 0x0A00_0100].map(|address| engine.lookup(address)), [2, 0]);
}

#[test]
fn the_check_notices_a_bit_of_a_run() {
    let table = rib(&FIGURE_2);
    let mut engine = build(&table);
    engine.flip(2, 2);
    assert!(engine.validate(&table).unwrap_err().starts_with("0.0.128.0/18: not"));
    engine.flip(2, 2);
    engine.set_next_hop_at(0, 63, NextHop(5));
    assert!(engine.validate(&table).unwrap_err().starts_with("252.0.0.0/6: not"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn an_update_writes_one_word_at_most(
        changes in proptest::collection::vec((0..4_u32, 0..=32_u8, 0..3_u32), 1..60),
    ) {
        let mut table = Rib::new();
        let mut engine = build(&table);
        for (at, len, next_hop) in changes {
            let prefix = Prefix::containing(at.wrapping_mul(0x5555_5555), len).to_string();
            let cost = apply(&mut engine, &mut table, &[(&prefix, next_hop)]);
            prop_assert!(cost.on_chip_writes <= 1, "{prefix}: {cost:?}");
        }
    }
}
