//! The worked example of the module page, the paper's numbers, the parameters, and updates checked
//! bit by bit.

use super::*;
use fibula::engine::{Accesses, Cost};
use fibula::testing::{apply, rib};
use fibula::{Address, NextHop, Prefix, Route};

fn build<E: Engine<u32>>(rib: &Rib<u32>) -> E {
    E::build(rib, &Config::default()).unwrap()
}

/// The engine's default form.
type OfBuckets<H> = Groups<u8, H, InBuckets<u8, Scaled>>;

fn entries<W: Width, H: Hashing, T: HashTable<u32, Expanded<W>>>(
    group: &Group<W, H, T>,
) -> Vec<(u32, W, u8)> {
    let mut entries: Vec<_> = group.iter().map(|(slot, entry)| (slot, entry.next_hop, entry.len)).collect();
    entries.sort_unstable();
    entries
}

fn example() -> Rib<u32> {
    rib(&[("10.1.16.0/20", 1), ("10.1.16.0/22", 2), ("10.1.18.0/23", 3), ("10.1.18.128/31", 4)])
}

fn the_worked_example_of<H: Configured>() {
    let mut rib = example();
    let mut engine: OfBuckets<H> = build(&rib);
    assert_eq!(engine.direct.at(0x0A011), Expanded { next_hop: 1, len: 20, longer: false });
    let g1 = [(0x0A_0110, 2, 22), (0x0A_0111, 2, 22), (0x0A_0112, 3, 23), (0x0A_0113, 3, 23)];
    assert_eq!(entries(&engine.g1), g1);
    assert_eq!(entries(&engine.g2), [(0x0A01_1280, 4, 31), (0x0A01_1281, 4, 31)]);
    assert_eq!(
        [0x0A01_1281, 0x0A01_1282, 0x0A01_1000, 0x0A01_1F00, 0].map(|a| engine.lookup(a)),
        [4, 3, 2, 1, 0]
    );
    apply(&mut engine, &mut rib, &[("10.1.18.0/23", 0)]);
    assert_eq!(entries(&engine.g1)[2..], [(0x0A_0112, 2, 22), (0x0A_0113, 2, 22)]);
}

#[test]
fn the_worked_example() {
    the_worked_example_of::<Drawn>();
    the_worked_example_of::<Mixed>();
}

#[test]
fn the_hash_of_the_tables_changes_no_answer() {
    let rib = example();
    for table in ["reuse", "h2", "murmur", "knuth", "fmix"] {
        let config = Config::default().with("table-hash", table);
        let engine = OfBuckets::<Mixed>::build(&rib, &config).unwrap();
        engine.validate(&rib).unwrap();
        let addresses = [0x0A01_1281, 0x0A01_1282, 0x0A01_1000, 0x0A01_1F00, 0].repeat(20);
        let mut next_hops = vec![0; addresses.len()];
        engine.lookup_blocks(&addresses, &mut next_hops);
        assert_eq!(next_hops, [4, 3, 2, 1, 0].repeat(20), "{table}");
        assert_eq!(addresses.iter().map(|&a| engine.lookup(a)).collect::<Vec<_>>(), next_hops, "{table}");
    }
}

#[test]
fn expansion_and_filters_as_sections_6_1_and_6_2_print_them() {
    let engine: Bloom<u8> = build(&example());
    let figures = engine.figures();
    let value = |name: &str| figures.iter().find(|figure| figure.name == name).unwrap().value as u64;
    assert_eq!(
        [value("prefixes /0../20 before expansion"), value("prefixes /0../20 after expansion")],
        [1, 1_048_576]
    );
    assert_eq!(
        [value("prefixes /21../24 before expansion"), value("prefixes /21../24 after expansion")],
        [2, 4]
    );
    assert_eq!(
        [value("prefixes /25../32 before expansion"), value("prefixes /25../32 after expansion")],
        [1, 2]
    );
    // A filter has a size for at least 16 keys.
    assert_eq!([value("G1 filter: bits (m)"), value("G1 filter: hashes (k)")], [77, 4]);
    assert_eq!(value("G2 filter: keys (n)"), 2);
}

#[test]
fn a_lookup_pays_for_each_filter_and_for_the_tables_that_pass() {
    let rib = example();
    let (base, bloom): (BloomBase<u8>, Bloom<u8>) = (build(&rib), build(&rib));
    let count = |engine: &dyn Fn(&mut Accesses) -> u8| {
        let mut accesses = Accesses::new();
        let found = engine(&mut accesses);
        (found, accesses.hashes(), accesses.loads())
    };
    // In G2: four bits, then the keys of a bucket and one value. The baseline hashes for each bit
    // and for the bucket, the other engine twice in all.
    assert_eq!(count(&|accesses| base.lookup_metered(0x0A01_1280, accesses)), (4, 5, 6));
    assert_eq!(count(&|accesses| bloom.lookup_metered(0x0A01_1280, accesses)), (4, 2, 6));
}

#[test]
fn an_update_touches_only_entries_that_are_not_longer() {
    let mut rib = example();
    let mut engine: Bloom<u8> = build(&rib);
    // Of eight /24s, four are new, two belong to the /22 and two to the /23.
    let cost = apply(&mut engine, &mut rib, &[("10.1.16.0/21", 5)]);
    assert_eq!(cost.entries_set, 4);
    assert!(cost.on_chip_writes <= 16);
    assert_eq!(
        apply(&mut engine, &mut rib, &[("10.1.16.0/22", 6)]),
        Cost { entries_set: 2, ..Cost::default() }
    );
    assert_eq!(
        apply(&mut engine, &mut rib, &[("10.1.16.0/22", 0)]),
        Cost { entries_set: 2, ..Cost::default() }
    );
    assert_eq!(engine.lookup(0x0A01_1000), 5);
    assert_eq!(apply(&mut engine, &mut rib, &[("0.0.0.0/0", 7)]).entries_set, (1 << 20) - 1);
    assert_eq!(apply(&mut engine, &mut rib, &[("10.1.16.0/20", 0)]).entries_set, 1);
    assert_eq!([0x0A01_1F00, 0x0A01_1700].map(|a| engine.lookup(a)), [7, 5]);
}

#[test]
fn a_batch_may_withdraw_a_route_and_its_covers_and_announce_new_ones() {
    let start =
        [("10.0.0.0/19", 1), ("10.0.0.0/21", 2), ("10.0.0.0/23", 3), ("10.0.0.0/25", 4), ("10.0.0.0/30", 5)];
    let changes =
        [("10.0.0.0/20", 6), ("10.0.0.0/21", 0), ("10.0.0.0/22", 7), ("10.0.0.0/25", 0), ("10.0.0.0/30", 8)];
    for turn in 0..changes.len() {
        for reversed in [false, true] {
            let mut order = changes;
            order.rotate_left(turn);
            if reversed {
                order.reverse();
            }
            let mut rib = rib(&start);
            let mut engine: Bloom<u8> = build(&rib);
            apply(&mut engine, &mut rib, &order);
            let found = [0x0A00_0000, 0x0A00_0004, 0x0A00_0200, 0x0A00_0400, 0x0A00_1000];
            assert_eq!(found.map(|a| engine.lookup(a)), [8, 3, 7, 6, 1]);
        }
    }
}

/// Returns prefixes of all lengths without a pattern, many of them near each other.
fn mixed() -> Rib<u32> {
    (0..4000_u32)
        .map(|i| {
            let bits = i.wrapping_mul(0x9E37_79B1);
            let (address, len) = ((bits >> 20 | 0x0A00) << 16 | bits & 0xFFFF, 12 + (bits >> 7) as u8 % 21);
            Route { prefix: Prefix::containing(address, len), next_hop: NextHop(i % 300 + 1) }
        })
        .collect()
}

/// Checks engines of these specifications at both ends of every prefix and at the addresses that
/// differ from them by `flipped`, alone and in batches on every instruction set.
pub(crate) fn answer_as_the_oracle<A: Address>(rib: &Rib<A>, flipped: A, specifications: &[&str]) {
    let ends = rib.iter().flat_map(|route| [route.prefix.first(), route.prefix.last()]);
    let addresses: Vec<A> = ends.clone().chain(ends.map(|address| address ^ flipped)).collect();
    let mut expected = vec![NextHop::NONE; addresses.len()];
    crate::build("oracle", rib).unwrap().lookup_batch(&addresses, &mut expected);
    for specification in specifications {
        let mut fib = crate::build(specification, rib).unwrap();
        fib.validate(rib).unwrap();
        for &level in fibula::parts::arch::Level::available() {
            fib.set_isa(level);
            let mut found = vec![NextHop::NONE; addresses.len()];
            fib.lookup_batch(&addresses, &mut found);
            assert!(found == expected, "{specification} on {level}");
        }
        let alone = addresses.iter().map(|&address| fib.lookup_index(address));
        assert!(alone.eq(expected.iter().copied()), "{specification}");
    }
}

#[test]
fn every_hash_function_and_ratio_gives_the_oracles_answers() {
    let specifications = [
        "bloom/hash=h2/fpr=1",
        "bloom/hash=murmur/fpr24=10/fpr32=60",
        "bloom/hash=knuth/fpr=50/fpr32=1",
        "bloom/hash=knuth/fpr=90",
        "bloom/hash=fmix/fpr=30",
        "bloom-base/fpr=1",
        "bloom-base/fpr24=90/fpr32=40",
        "bloom/reduce=remainder/hash=knuth",
        "bloom/order=g2-first",
        "bloom/tables=chains/fpr=60",
        "bloom-base/tables=chains/reduce=remainder/order=g2-first",
    ];
    answer_as_the_oracle(&mixed(), 0x155, &specifications);
}

#[test]
fn ratios_are_set_for_each_filter() {
    let fib = crate::build("bloom/fpr24=1/fpr32=60", &mixed()).unwrap();
    let value = |name| fib.figures().iter().find(|figure| figure.name == name).map(|figure| figure.value);
    assert_eq!(value("G1 filter: hashes (k)"), Some(7.0));
    assert_eq!(value("G2 filter: hashes (k)"), Some(1.0));
    assert_eq!(value("G1 filter: false positives asked for, %"), Some(1.0));
    let met = value("G2 filter: false positives met, %").unwrap();
    assert!((50.0..70.0).contains(&met), "{met} %");
    let errors = ["bloom/fpr=91", "bloom/fpr24=0", "bloom/hash=crc"];
    let errors = errors.map(|specification| crate::build(specification, &mixed()).unwrap_err().to_string());
    assert_eq!(
        errors,
        [
            "parameter fpr=91: expected 1 to 90",
            "parameter fpr24=0: expected 1 to 90",
            "parameter hash=crc: expected one of h2, murmur, knuth, fmix",
        ]
    );
}

#[test]
fn more_expanded_prefixes_than_fit_are_refused_and_the_old_table_answers() {
    let too_many = EXPANDED_MAX / 128 + 1;
    let host_routes: Rib<u32> = (0..too_many as u32)
        .map(|i| Route { prefix: Prefix::containing(i << 8, 25), next_hop: NextHop(1) })
        .collect();
    let limit = Limit { what: EXPANDED, had: EXPANDED_MAX + 128, max: EXPANDED_MAX };
    assert_eq!(crate::build("bloom", &host_routes).unwrap_err().limit(), Some(limit));
    let mut engine: Bloom<u8> = build(&Rib::new());
    let deltas: Vec<_> = host_routes
        .iter()
        .map(|route| Delta { prefix: route.prefix, before: NextHop::NONE, after: route.next_hop })
        .collect();
    assert_eq!(engine.apply(&host_routes, &deltas), Update::Limit(limit));
    assert_eq!(engine.lookup(0), 0);
    engine.validate(&Rib::new()).unwrap();
}

#[test]
fn what_is_not_the_tables_is_found() {
    let rib = example();
    let fresh: OfBuckets<Mixed> = build(&rib);
    let complaint = |spoil: &dyn Fn(&mut OfBuckets<Mixed>)| {
        let mut engine = fresh.clone();
        spoil(&mut engine);
        engine.validate(&rib).unwrap_err()
    };
    let stray = Expanded { next_hop: 9, len: 24, longer: false };
    assert!(complaint(&|engine| engine.direct.set(7, stray)).starts_with("DLA 0x7"));
    assert!(
        complaint(&|engine| {
            engine.g1.set(7, stray);
        })
        .starts_with("G1: 5 entries, expected 4")
    );
    assert!(
        complaint(&|engine| {
            engine.g1.set(0x0A_0110, stray);
        })
        .starts_with("G1: 0xa0110 leads to")
    );
    assert!(
        complaint(&|engine| {
            engine.g2.set(0x0A01_1280, Expanded::default());
        })
        .starts_with("G2: 1 entries")
    );
    assert_eq!(complaint(&|engine| engine.routes[1] = 3), "group 1: 3 routes counted, 2 there");
}
