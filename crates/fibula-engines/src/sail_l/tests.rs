//! The worked example of the module page, the limits, and the cost of updates.

use super::*;
use fibula::engine::Accesses;
use fibula::engine::Lookup as _;
use fibula::testing::{apply, rib};
use fibula::{Limit, NextHop, Prefix, Route};

/// The table of the paper's Figure 2, its levels 2, 4, 6 mapped to 16, 24, 32.
pub(crate) const FIGURE_2: [(&str, u32); 9] = [
    ("0.0.0.0/0", 6),  // *
    ("0.2.0.0/15", 4), // 1*
    ("0.1.0.0/16", 3), // 01*
    ("0.0.2.0/23", 3), // 001*
    ("0.3.2.0/23", 7), // 111*
    ("0.0.3.0/24", 1), // 0011*
    ("0.3.2.0/24", 8), // 1110*
    ("0.3.2.0/31", 2), // 11100*
    ("0.0.2.3/32", 9), // 001011
];

fn build(rib: &Rib<u32>) -> SailL<u8> {
    SailL::build(rib, &Config::default()).unwrap()
}

fn arrays(engine: &SailL<u8>) -> &Arrays<u8, u32> {
    let Form::Bits32(arrays) = &engine.0 else { panic!("entries of 32 bits are the default") };
    arrays
}

#[test]
fn the_worked_example() {
    let rib = rib(&FIGURE_2);
    let engine = build(&rib);
    assert_eq!(arrays(&engine).bcn16[0..5], [1, ANSWER | 3, ANSWER | 4, 2, ANSWER | 6]);
    let starts = |id: usize| id * CHUNK..id * CHUNK + 5;
    let level_24 = |id| (&arrays(&engine).bn24[starts(id)], &arrays(&engine).c24[starts(id)]);
    assert_eq!(level_24(1), (&[6, 6, 0, 1, 6][..], &[0, 0, 1, 0, 0][..]));
    assert_eq!(level_24(2), (&[4, 4, 0, 7, 4][..], &[0, 0, 2, 0, 0][..]));
    assert_eq!(arrays(&engine).n32[starts(1)], [3, 3, 3, 9, 3]);
    assert_eq!(arrays(&engine).n32[2 * CHUNK..3 * CHUNK], [vec![2; 2], vec![8; CHUNK - 2]].concat());
    assert_eq!((arrays(&engine).bn24.chunks(), arrays(&engine).n32.chunks()), (3, 3));
    let figures = [("chunks, level 24", 2), ("chunks, level 32", 2)];
    assert_eq!(engine.figures(), figures.map(|(name, count)| Figure::count(name, count)));
    assert_eq!(engine.lookup(0x0000_0202), 3); // 001010
    // An answer on level 16, on 24 and on 32: there C24 is a load of its own.
    let loads = [0x0001_0000, 0x0000_0000, 0x0000_0202].map(|address| {
        let mut accesses = Accesses::new();
        engine.lookup_metered(address, &mut accesses);
        (accesses.loads(), accesses.loads_on_chip())
    });
    assert_eq!(loads, [(1, 1), (2, 1), (4, 1)]);
    engine.validate(&rib).unwrap();
}

#[test]
fn memory_is_split_as_in_figure_4() {
    let engine = build(&rib(&FIGURE_2));
    let parts: Vec<_> = engine.memory().parts.iter().map(|p| (p.name, p.bytes, p.on_chip)).collect();
    let expected = [
        ("BCN16", 4 << 16, true),
        ("B24", 3 * 256 / 8, true),
        ("N24", 3 * 256 - 3 * 256 / 8, false),
        ("C24", 3 * 256 * 4, false),
        ("N32", 3 * 256, false),
        ("chunk owners", 4 * 4, false),
    ];
    assert_eq!(parts, expected);
}

#[test]
fn chunks_come_with_the_first_longer_route_and_go_with_the_last() {
    let mut table = rib(&FIGURE_2);
    let mut engine = build(&table);
    let fresh = engine.memory().total();
    let both = [("0.0.2.0/23", 0), ("0.0.3.0/24", 0), ("0.0.2.3/32", 0)];
    let cost = apply(&mut engine, &mut table, &both);
    // Node 0 of level 16 becomes a leaf again; the other chunk of either level moves into the hole.
    assert_eq!(
        (cost.nodes_copied, arrays(&engine).owners24.len(), arrays(&engine).owners32.len()),
        (2, 1, 1)
    );
    assert_eq!((arrays(&engine).bcn16[0], arrays(&engine).bcn16[3]), (ANSWER | 6, 1));
    let cost = apply(&mut engine, &mut table, &[("0.0.2.0/23", 3), ("0.0.3.0/24", 1), ("0.0.2.3/32", 9)]);
    assert_eq!(cost.nodes_allocated, 2);
    assert_eq!(table, rib(&FIGURE_2));
    assert!(engine.memory().total() <= fresh + 64 * 1024);
    apply(&mut engine, &mut table, &FIGURE_2.map(|(prefix, _)| (prefix, 0)));
    assert_eq!((arrays(&engine).bn24.chunks(), arrays(&engine).n32.chunks(), engine.lookup(0)), (1, 1, 0));
}

#[test]
fn a_tree_of_chunks_goes_at_once_when_others_move_into_it() {
    let mut table = rib(&[("10.0.0.0/8", 1), ("11.0.0.9/32", 2)]);
    let mut engine = build(&table);
    let hosts: Vec<String> = (0..40).map(|i| format!("10.0.{i}.1/32")).collect();
    let announced: Vec<(&str, u32)> = hosts.iter().map(|host| (host.as_str(), 3)).collect();
    apply(&mut engine, &mut table, &announced);
    assert_eq!(arrays(&engine).n32.chunks(), 42);
    let withdrawn: Vec<(&str, u32)> = hosts.iter().map(|host| (host.as_str(), 0)).collect();
    apply(&mut engine, &mut table, &withdrawn);
    assert_eq!(
        (arrays(&engine).bn24.chunks(), arrays(&engine).n32.chunks(), engine.lookup(0x0B00_0009)),
        (2, 2, 2)
    );
}

#[test]
fn a_short_prefix_writes_what_it_owns_and_words_of_the_bit_map_only_where_bits_change() {
    let mut table = rib(&[("0.0.0.0/0", 1), ("10.0.0.0/24", 2)]);
    let mut engine = build(&table);
    // 255 of the 256 nodes of level 16, two to a word, and 255 slots of the one chunk, whose bits
    // do not change.
    let cost = apply(&mut engine, &mut table, &[("10.0.0.0/8", 3)]);
    assert_eq!((cost.entries_set, cost.on_chip_writes), (255 + 255, 128));
    let cost = apply(&mut engine, &mut table, &[("10.0.0.128/25", 4)]);
    assert_eq!((cost.nodes_allocated, cost.entries_set, cost.on_chip_writes), (1, 256 + 2 + 128, 1));
}

#[test]
fn sixteen_bits_have_a_flag_and_a_value() {
    for value in [0, 1, 255, 32_767] {
        for entry in [value, ANSWER | value] {
            assert_eq!(Bcn::widen(<u16 as Bcn>::narrow(entry)), entry);
        }
    }
    assert_eq!([7, ANSWER | 7].map(<u16 as Bcn>::narrow), [7, 0x8007]);
}

#[test]
fn a_table_that_sixteen_bits_do_not_hold_is_refused() {
    let refused = |rib: &Rib<u32>| crate::build("sail-l/bcn16=16", rib).unwrap_err().to_string();
    let mut table: Rib<u32> = rib(&[("10.0.0.0/8", 32_768)]);
    assert_eq!(refused(&table), "next hops of an entry of BCN16: 32768 is more than the 32767 that fit");
    table = (0..32_767)
        .map(|at| Route { prefix: Prefix::containing(at << 16, 24), next_hop: NextHop(1) })
        .collect();
    let mut fib = crate::build("sail-l/bcn16=16", &table).unwrap();
    let delta = table.insert("255.0.0.0/24".parse().unwrap(), NextHop(2)).unwrap();
    let why = "chunks of level 24 of an entry of BCN16: 32768 is more than the 32767 that fit";
    assert_eq!(fib.apply(&table, &[delta]).unwrap_err().to_string(), why);
    assert_eq!([32_766 << 16, 0xFF00_0000].map(|a: u32| fib.lookup_index(a)), [NextHop(1), NextHop::NONE]);
    assert_eq!(refused(&table), why);
}

#[test]
fn without_a_default_route_a_level_24_slot_may_have_no_route() {
    let table = rib(&[("10.0.0.0/24", 255), ("10.0.1.7/32", 254)]);
    let engine = build(&table);
    let addresses = [0x0A00_0000, 0x0A00_0106, 0x0A00_0107, 0x0A00_0200, 0x0B00_0000];
    assert_eq!(addresses.map(|a| engine.lookup(a)), [255, 0, 254, 0, 0]);
}

#[test]
fn the_greatest_next_hop_fits_and_the_next_does_not() {
    let mut rib = rib(&[("10.0.0.0/8", NEXT_HOPS_MAX), ("10.0.0.0/32", NEXT_HOPS_MAX)]);
    let mut fib = crate::build("sail-l", &rib).unwrap();
    assert_eq!([0x0A00_0000, 0x0AFF_FFFF].map(|a: u32| fib.lookup_index(a)), [NextHop(NEXT_HOPS_MAX); 2]);
    let delta = rib.insert(Prefix::ALL, NextHop(NEXT_HOPS_MAX + 1)).unwrap();
    let limit = Limit { what: "next hops", had: u64::from(NEXT_HOPS_MAX) + 1, max: NEXT_HOPS_MAX.into() };
    assert_eq!(fib.apply(&rib, &[delta]).unwrap_err().limit(), Some(limit));
    assert_eq!(fib.lookup_index(0), NextHop::NONE);
    assert_eq!(crate::build("sail-l", &rib).unwrap_err().limit(), Some(limit));
}
