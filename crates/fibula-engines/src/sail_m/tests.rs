//! The worked example of the module page, tables that stay separate, the bound on chip, and the
//! cost of updates.

use super::overlay::slot16;
use super::*;
use crate::sail_l::tests::FIGURE_2;
use fibula::engine::Lookup;
use fibula::engine::{Accesses, Config, Engine};
use fibula::testing::{self, rib};
use fibula::{Address, Fib, Route};
use proptest::prelude::*;

fn build(ribs: &[&Rib<u32>]) -> SailM<u8> {
    let tables = SailM::build(ribs, Pages::Small).unwrap();
    tables.validate(ribs).unwrap();
    tables
}

/// Changes one table (next hop 0 withdraws) and updates the structure in one batch.
fn apply(tables: &mut SailM<u8>, table: u16, rib: &mut Rib<u32>, changes: &[(&str, u32)]) -> Cost {
    let changes = changes.iter().map(|&(prefix, next_hop)| (prefix.parse().unwrap(), NextHop(next_hop)));
    let deltas: Vec<_> = changes.filter_map(|(prefix, next_hop)| rib.set(prefix, next_hop)).collect();
    let Update::Applied(cost) = tables.apply(table, rib, &deltas) else { panic!("not applied") };
    cost
}

#[test]
fn the_worked_example() {
    let ribs = [rib(&FIGURE_2), rib(&[("0.1.2.0/24", 5), ("0.0.2.0/24", 7)])];
    let tables = build(&[&ribs[0], &ribs[1]]);
    let answered = |slot| tables.overlay.is_answered(slot);
    assert_eq!([0, 1, 2, 3, 4].map(answered), [false, false, true, false, true]);
    assert_eq!([0, 1, 3].map(|node| tables.overlay.chunk(node)), [0, 2, 1]);
    let upper = |slot: usize| [0, 1].map(|table| tables.tables[table].upper[slot]);
    let lower = |slot: usize| [0, 1].map(|table| tables.tables[table].lower[slot]);
    assert_eq!([2, 4, 65_535].map(upper), [[4, 0], [6, 0], [6, 0]]);
    let chunk24 = |chunk: usize| {
        let slots = NODES16 + chunk * CHUNK..NODES16 + (chunk + 1) * CHUNK;
        slots.map(|slot| answered(slot).then(|| upper(slot))).collect::<Vec<_>>()
    };
    let hops = |n: u8| Some([n / 10, n % 10]);
    assert_eq!(chunk24(0)[..5], [hops(60), hops(60), None, hops(10), hops(60)]);
    assert_eq!(chunk24(1)[..5], [hops(40), hops(40), None, hops(70), hops(40)]);
    assert_eq!(chunk24(2)[..5], [hops(30), hops(30), hops(35), hops(30), hops(30)]);
    let internal = [0, 1].map(|chunk| tables.overlay.chunk(NODES16 + chunk * CHUNK + 2));
    assert_eq!(internal, [0, 1]);
    let chunk32 = |chunk: usize| [0, 1, 2, 3, 4].map(|slot| lower(chunk * CHUNK + slot));
    assert_eq!(chunk32(0), [[3, 7], [3, 7], [3, 7], [9, 7], [3, 7]]);
    assert_eq!(chunk32(1), [[2, 0], [2, 0], [8, 0], [8, 0], [8, 0]]);
    assert_eq!([0, 1].map(|table| tables.lookup(0x0000_0202, table)), [3, 7]);
}

#[test]
fn a_lookup_reads_bc16_and_b24_on_chip_and_at_most_two_entries_off_chip() {
    let ribs = [rib(&FIGURE_2), rib(&[("0.1.2.0/24", 5), ("0.0.2.0/24", 7)])];
    let tables = build(&[&ribs[0], &ribs[1]]);
    for table in 0..2 {
        // BC16, N16; BC16, B24, N24; BC16, B24, C24, N32.
        for (address, loads, on_chip) in [(0x0002_0000, 2, 1), (0x0001_0200, 3, 2), (0x0000_0203, 4, 2)] {
            let mut accesses = Accesses::new();
            tables.lookup_metered(address, table, &mut accesses);
            let counted = (accesses.loads(), accesses.loads_on_chip());
            assert_eq!(counted, (loads, on_chip), "{}", address.to_ip());
        }
    }
}

#[test]
fn memory_is_split_as_in_figure_4() {
    let ribs = [rib(&FIGURE_2), rib(&[("0.1.2.0/24", 5), ("0.0.2.0/24", 7)])];
    let tables = build(&[&ribs[0], &ribs[1]]);
    let parts: Vec<_> = tables.memory().parts.iter().map(|p| (p.name, p.bytes, p.on_chip)).collect();
    let expected = [
        ("BC16", 65_536 * 17 / 8, true),
        ("B24", 3 * 256 / 8, true),
        ("N16", 2 * 65_536, false),
        ("N24", 2 * 3 * 256, false),
        ("C24", 3 * 256 * 4, false),
        ("N32", 2 * 2 * 256, false),
        ("chunk owners and routes", 5 * 8, false),
    ];
    assert_eq!(parts, expected);
    let figures: Vec<f64> = tables.figures().iter().map(|figure| figure.value).collect();
    assert_eq!(figures, [2.0, 3.0, 2.0]);
}

#[test]
fn a_chunk_comes_with_the_first_table_that_needs_it_and_goes_with_the_last() {
    let (mut red, mut blue) = (rib(&[("0.0.0.0/0", 1)]), rib(&[]));
    let mut tables = build(&[&red, &blue]);
    // 256 C24, 2 × 256 N24, C16, zeros in N16, and then what is painted: one slot of N24. On chip
    // one entry of BC16 and four words of B24.
    let cost = apply(&mut tables, 0, &mut red, &[("10.0.0.0/24", 2)]);
    assert_eq!(
        (cost.nodes_allocated, cost.entries_set, cost.on_chip_writes),
        (1, 3 * 256 + 1 + 2 + 1, 1 + 4)
    );
    let cost = apply(&mut tables, 1, &mut blue, &[("10.0.7.0/25", 3)]);
    assert_eq!((cost.nodes_allocated, cost.entries_set, cost.on_chip_writes), (1, 2 * 256 + 1 + 2 + 128, 1));
    assert_eq!([0x0A00_0001, 0x0A00_0701, 0x0A00_0781].map(|a| tables.lookup(a, 0)), [2, 1, 1]);
    assert_eq!([0x0A00_0001, 0x0A00_0701, 0x0A00_0781].map(|a| tables.lookup(a, 1)), [0, 3, 0]);
    // Another next hop writes nothing on chip.
    let cost = apply(&mut tables, 1, &mut blue, &[("10.0.7.0/25", 4)]);
    assert_eq!((cost.entries_set, cost.on_chip_writes), (128, 0));
    let cost = apply(&mut tables, 0, &mut red, &[("10.0.0.0/24", 0)]);
    assert_eq!((tables.overlay.below16.len(), cost.on_chip_writes), (1, 0));
    tables.validate(&[&red, &blue]).unwrap();
    apply(&mut tables, 1, &mut blue, &[("10.0.7.0/25", 0)]);
    assert_eq!((tables.overlay.below16.len(), tables.overlay.below24.len()), (0, 0));
    tables.validate(&[&red, &blue]).unwrap();
}

#[test]
fn chunks_that_move_keep_their_pointers_and_counts() {
    let mut red = rib(&[("10.0.0.9/32", 1), ("11.0.0.0/25", 2), ("12.0.0.0/24", 3), ("12.0.1.0/30", 4)]);
    let blue = rib(&[("12.0.0.0/25", 5), ("11.0.0.0/17", 6)]);
    let mut tables = build(&[&red, &blue]);
    let cost = apply(&mut tables, 0, &mut red, &[("10.0.0.9/32", 0), ("11.0.0.0/25", 0)]);
    assert_eq!(cost.nodes_copied, 3); // of level 32 twice, of level 24 once: that of 11.0.0.0 stays
    tables.validate(&[&red, &blue]).unwrap();
    assert_eq!([0x0B00_0001, 0x0C00_0001, 0x0C00_0101].map(|a| tables.lookup(a, 0)), [0, 3, 4]);
}

/// Generates prefixes that meet each other: few bits, every length, both ends of the space.
fn prefixes() -> impl Strategy<Value = Prefix<u32>> {
    let address = any::<u32>().prop_map(|bits| bits & 0x8001_8181);
    let base = prop_oneof![Just(0), Just(u32::MAX), address];
    (base, 0..=32_u8).prop_map(|(address, len)| Prefix::containing(address, len))
}

/// Compares every table around every prefix of all, one by one and in batches that mix ids.
fn check(tables: &SailM<u8>, ribs: &[Rib<u32>]) {
    tables.validate(&ribs.iter().collect::<Vec<_>>()).unwrap();
    let around = |p: Prefix<u32>| [p.first().wrapping_sub(1), p.first(), p.last(), p.last().wrapping_add(1)];
    let mut addresses: Vec<u32> =
        ribs.iter().flat_map(|rib| rib.iter().flat_map(|r| around(r.prefix))).collect();
    addresses.extend([0, u32::MAX]);
    let oracles: Vec<Fib<u32>> = ribs.iter().map(|rib| crate::build("oracle", rib).unwrap()).collect();
    let (mut asked, mut ids, mut expected) = (Vec::new(), Vec::new(), Vec::new());
    for address in addresses {
        for (id, oracle) in (0..).zip(&oracles) {
            asked.push(address);
            ids.push(id);
            expected.push(oracle.lookup_index(address).0 as u8);
            assert_eq!(tables.lookup(address, id), *expected.last().unwrap());
        }
    }
    for &isa in Level::available() {
        let mut found = vec![u8::MAX; asked.len()];
        tables.lookup_batch(isa, &asked, &ids, &mut found);
        assert_eq!(found, expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn tables_change_come_and_go_apart_from_each_other(
        steps in proptest::collection::vec(
            (0..8_usize, proptest::collection::vec((prefixes(), 0..6_u32), 1..6)), 1..40),
    ) {
        let mut ribs: Vec<Rib<u32>> = vec![Rib::new(); 3];
        let mut tables = build(&[&ribs[0], &ribs[1], &ribs[2]]);
        for (step, changes) in steps {
            match step {
                0 => {
                    let routes = changes.iter().filter(|&&(_, n)| n != 0);
                    let routes = routes.map(|&(prefix, n)| Route { prefix, next_hop: NextHop(n) });
                    let rib: Rib<u32> = routes.collect();
                    prop_assert_eq!(usize::from(tables.push_table(&rib).unwrap()), ribs.len());
                    ribs.push(rib);
                }
                1 if let Some(rib) = ribs.pop() => tables.pop_table(&rib),
                _ if ribs.is_empty() => {}
                _ => {
                    let table = step % ribs.len();
                    let rib = &mut ribs[table];
                    let before = rib.clone();
                    for (prefix, next_hop) in changes {
                        rib.set(prefix, NextHop(next_hop));
                    }
                    let deltas: Vec<_> = before.diff(rib).collect();
                    prop_assert!(matches!(tables.apply(table as u16, rib, &deltas), Update::Applied(_)));
                }
            }
            tables.validate(&ribs.iter().collect::<Vec<_>>()).map_err(TestCaseError::fail)?;
        }
        check(&tables, &ribs);
        let fresh = build(&ribs.iter().collect::<Vec<_>>()).memory().total();
        prop_assert!(tables.memory().total() <= fresh + fresh / 10 + (64 << 10));
    }
}

/// Returns a different table for each seed, in which the prefixes of some others recur.
fn made(seed: u32, routes: u32) -> Rib<u32> {
    let route = |i: u32| {
        let hash = i.wrapping_add(seed / 3 * 1_000_003).wrapping_mul(0x9E37_79B9).rotate_left(seed % 3);
        let len = [8, 14, 16, 19, 20, 22, 23, 24, 24, 24, 24, 24, 24, 24, 28, 32][(hash % 16) as usize];
        Route {
            prefix: Prefix::containing(hash.wrapping_mul(0x85EB_CA6B), len),
            next_hop: NextHop(1 + (hash ^ seed) % 250),
        }
    };
    (0..routes).map(route).collect()
}

#[test]
fn twelve_tables_keep_apart_and_within_the_bound_on_chip() {
    let ribs: Vec<Rib<u32>> = (0..12).map(|seed| made(seed, 2000)).collect();
    let tables = build(&ribs.iter().collect::<Vec<_>>());
    assert_eq!(tables.tables(), 12);
    assert!(tables.memory().total_on_chip() <= ON_CHIP_MAX);
    check(&tables, &ribs);
}

#[test]
fn the_bound_on_chip_is_met_to_the_byte_and_not_exceeded_by_growth() {
    assert_eq!(ON_CHIP_MAX, 2_236_416); // 2.13 MiB
    let mut red: Rib<u32> = Rib::new();
    let mut tables = build(&[&red]);
    let prefixes = (0..65_536_u32).map(|node| Prefix::containing(node << 16, 17));
    let deltas: Vec<_> = prefixes.filter_map(|prefix| red.insert(prefix, NextHop(7))).collect();
    for deltas in deltas.chunks(8192) {
        assert!(matches!(tables.apply(0, &red, deltas), Update::Applied(_)));
    }
    assert_eq!(tables.memory().total_on_chip(), ON_CHIP_MAX);
    assert_eq!((tables.lookup(u32::MAX << 16, 0), tables.lookup(u32::MAX, 0)), (7, 0));
    tables.validate(&[&red]).unwrap();
}

#[test]
fn what_does_not_fit_is_named_and_changes_nothing() {
    let mut red = rib(&[("10.0.0.0/8", 255)]);
    let error = SailM::<u8>::build(&vec![&red; TABLES_MAX + 1], Pages::Small).unwrap_err();
    assert_eq!(error.limit(), Some(Limit { what: "tables", had: 65_537, max: 65_536 }));
    let mut tables = build(&[&red]);
    let delta = red.insert("10.1.0.0/24".parse().unwrap(), NextHop(256)).unwrap();
    let limit = Limit { what: "next hops", had: 256, max: 255 };
    assert_eq!(tables.apply(0, &red, &[delta]), Update::Limit(limit));
    assert_eq!(tables.push_table(&red).unwrap_err().limit(), Some(limit));
    assert_eq!(SailM::<u8>::build(&[&red], Pages::Small).unwrap_err().limit(), Some(limit));
    assert_eq!((tables.lookup(0x0A01_0000, 0), tables.tables()), (255, 1));
    assert_eq!(SailM::<u16>::build(&[&red], Pages::Small).unwrap().lookup(0x0A01_0000, 0), 256);
}

#[test]
#[should_panic(expected = "the len is 2 but the index is 2")]
fn a_batch_refuses_a_table_that_does_not_exist() {
    let table = rib(&FIGURE_2);
    build(&[&table, &table]).lookup_batch(Level::SCALAR, &[0; 3], &[0, 2, 1], &mut [0; 3]);
}

#[test]
fn copies_of_a_table_answer_and_follow_as_one() {
    let mut table = rib(&FIGURE_2);
    let config = Config::default().with("tables", "12");
    let mut engine: Replicated<u16> = Replicated::build(&table, &config).unwrap();
    engine.validate(&table).unwrap();
    let cost = testing::apply(&mut engine, &mut table, &[("0.0.2.3/32", 0), ("0.3.2.0/31", 500)]);
    assert_eq!(cost.on_chip_writes, 1); // a chunk that all share has gone
    let addresses: Vec<u32> = (0..0x0004_0000).step_by(37).collect();
    let mut found = vec![0; addresses.len()];
    let expected = crate::build("oracle", &table).unwrap();
    engine.lookup_batch(fibula::parts::arch::Scalar, &addresses, &mut found);
    for (&address, found) in addresses.iter().zip(found) {
        let expected = expected.lookup_index(address).0 as u16;
        assert_eq!((engine.lookup(address), found), (expected, expected), "{}", address.to_ip());
    }
    let error = crate::build("sail-m/tables=0", &table).unwrap_err().to_string();
    assert_eq!(error, "parameter tables=0: expected 1 to 65536");
}

#[test]
fn validation_finds_what_is_spoiled() {
    let ribs = [rib(&FIGURE_2), rib(&[("0.1.2.0/24", 5), ("0.0.2.0/24", 7)])];
    let spoiled = |spoil: fn(&mut SailM<u8>)| {
        let mut tables = build(&[&ribs[0], &ribs[1]]);
        spoil(&mut tables);
        tables.validate(&[&ribs[0], &ribs[1]]).unwrap_err()
    };
    let complaint = spoiled(|tables| tables.tables[1].upper[9] = 3);
    assert!(complaint.starts_with("table 1, slots Upper(4..65536): not all answer"), "{complaint}");
    let complaint = spoiled(|tables| tables.tables[0].lower[CHUNK + 7] = 1);
    assert!(complaint.starts_with("table 0, slots Lower(258..512): not all answer"), "{complaint}");
    let complaint = spoiled(|tables| tables.tables[1].upper[0] = 7);
    assert_eq!(complaint, "a next hop at the internal slot 0");
    let complaint = spoiled(|tables| tables.tables[1].lower.push(7));
    assert!(complaint.ends_with("of table 1, expected [66304, 512]"), "{complaint}");
    let complaint = spoiled(|tables| tables.overlay.below16.count_in(2));
    assert!(complaint.starts_with("chunk 2 below level 16: 2 routes"), "{complaint}");
    let complaint = spoiled(|tables| tables.overlay.split(slot16(0x0A00_0000), 0x0A00_0000));
    assert!(complaint.contains("of table 0, expected [66560, 512]"), "{complaint}");
    let complaint = spoiled(|tables| {
        let slot = tables.overlay.below(0x0000_0202);
        tables.overlay.merge(slot);
    });
    assert!(complaint.contains("of table 0, expected [66304, 256]"), "{complaint}");
}
