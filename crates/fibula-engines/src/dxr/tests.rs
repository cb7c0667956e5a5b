use super::layout::{Paper, WideRanges};
use super::table::capacity;
use super::*;
use fibula::engine::Cost;
use fibula::parts::arch::Scalar;
use fibula::testing::Oracle;
use fibula::testing::rib;
use fibula::{Change, Prefix, Route};
use proptest::prelude::*;

fn build<W: Width>(rib: &Rib<u32>, k: u8) -> Dxr<W> {
    let dxr = Dxr::build(rib, &Config::default().with("k", k.to_string())).unwrap();
    dxr.validate(rib).unwrap();
    dxr
}

/// Returns `count` host routes from `first` on with two alternating next hops: `count` ranges, and
/// one more after them.
fn hosts(first: u32, count: u32) -> impl Iterator<Item = Route<u32>> {
    (0..count).map(move |i| Route { prefix: Prefix::host(first + i), next_hop: NextHop(1 + i % 2) })
}

/// Checks the structure and the answers.
fn check<W: Width>(dxr: &Dxr<W>, rib: &Rib<u32>) -> Result<(), String> {
    dxr.validate(rib)?;
    check_answers(dxr, rib)
}

/// Compares answers, one by one and in a batch, on both sides of every border of the table.
fn check_answers<W: Width>(dxr: &Dxr<W>, rib: &Rib<u32>) -> Result<(), String> {
    let oracle: Oracle<u32, W> = Oracle::build(rib, &Config::default()).map_err(|e| e.to_string())?;
    let borders = rib.iter().flat_map(|route| [route.prefix.first(), route.prefix.last()]);
    let around = borders.flat_map(|address| [address.wrapping_sub(1), address, address.wrapping_add(1)]);
    let addresses: Vec<u32> = around.chain([0, 1, u32::MAX]).collect();
    let mut next_hops = vec![W::default(); addresses.len()];
    dxr.lookup_batch(Scalar, &addresses, &mut next_hops);
    for (&address, &batch) in addresses.iter().zip(&next_hops) {
        let (single, right) = (dxr.lookup(address), Lookup::lookup(&oracle, address));
        if (single, batch) != (right, right) {
            return Err(format!("{address:#x}: {single:?} alone, {batch:?} in a batch, but {right:?}"));
        }
    }
    Ok(())
}

#[test]
fn the_papers_five_routes_become_seven_ranges_and_one_short_chunk() {
    let (a, b, c, d) = (1, 2, 3, 4);
    let rib =
        rib(&[("0.0.0.0/0", a), ("1.0.0.0/8", b), ("1.2.0.0/16", c), ("1.2.3.0/24", d), ("1.2.4.5/32", c)]);
    let ranges: Vec<(u32, u32)> = rib.ranges().map(|range| (range.first, range.next_hop.0)).collect();
    let merged = [
        (0x0000_0000, a),
        (0x0100_0000, b),
        (0x0102_0000, c),
        (0x0102_0300, d),
        (0x0102_0400, c),
        (0x0103_0000, b),
        (0x0200_0000, a),
    ];
    assert_eq!(ranges, merged);

    let dxr: Dxr<u8> = build(&rib, 16);
    let Form::Paper(table) = &dxr.form else { panic!("{dxr:?}") };
    assert_eq!(table.direct[0x0101], 2 << 13, "next hop B, no ranges");
    assert_eq!(table.direct[0x0102], 3 << 1, "three short ranges from index 0 on");
    assert_eq!(table.short.to_vec(), [0x0003, 0x0304, 0x0403], "(0, C), (3, D), (4, C)");
    assert_eq!(dxr.statistics().bytes, 4 * 65_536 + 3 * 2);
    check(&dxr, &rib).unwrap();
}

#[test]
fn tables_1_and_2_are_counted_as_the_paper_counts() {
    let mut rib = rib(&[("10.0.0.0/8", 1), ("10.1.1.0/24", 2), ("10.2.3.4/32", 3), ("240.1.1.0/24", 4)]);
    let statistics = build::<u8>(&rib, 16).statistics();
    assert_eq!(
        (statistics.full_chunks, statistics.short_chunks, statistics.short_ranges, statistics.long_ranges),
        (3, 2, 6, 3)
    );
    assert_eq!(statistics.bytes, 65_536 * 4 + 6 * 2 + 3 * 4);
    let [none, one, two, ..] = statistics.addresses_by_search_steps.map(|addresses| addresses >> 16);
    assert_eq!((none, one, two), (57_344 - 2, 0, 2), "240.0.0.0/4 is not unicast");
    assert!((statistics.percent_with_search_steps(2) - 100.0 * 2.0 / 57_344.0).abs() < 1e-9);
    rib.insert("10.2.3.5/32".parse().unwrap(), NextHop(4));
    let dxr: Dxr<u8> = build(&rib, 18);
    assert_eq!([0x0A01_0000, 0x0A02_0000, 0x0A03_0000].map(|a| dxr.search_steps(a)), [2, 2, 0]);
}

#[test]
fn a_next_hop_past_a_format_widens_it() {
    for (next_hop, layout, short, long) in [
        (255, "paper", 3, 0),
        (256, "paper", 0, 3),
        (65_535, "paper", 0, 3),
        (65_536, "wide ranges", 3, 0),
        ((1 << 19) - 1, "wide ranges", 3, 0),
        (1 << 19, "wide", 3, 0),
        ((1 << 24) - 1, "wide", 3, 0),
        (1 << 24, "wide", 0, 3),
        (u32::MAX, "wide", 0, 3),
    ] {
        let rib = rib(&[("1.2.0.0/16", 1), ("1.2.3.0/24", next_hop)]);
        let dxr: Dxr<u32> = build(&rib, 16);
        let statistics = dxr.statistics();
        let found = (statistics.layout, statistics.short_ranges, statistics.long_ranges);
        assert_eq!(found, (layout, short, long), "{next_hop}");
        check(&dxr, &rib).unwrap();
    }
}

#[test]
fn a_chunk_past_4095_ranges_widens_the_granule_and_at_last_the_entry() {
    for (ranges, layout, granule) in [
        (4095, "paper", 1),
        (4096, "paper", 2),
        (8190, "paper", 2),
        (8191, "paper", 4),
        (32_760, "paper", 8),
        (32_761, "wide", 1),
        (65_536, "wide", 1),
    ] {
        // After the hosts comes a last range without a route, unless they fill the chunk.
        let count = if ranges == 65_536 { ranges } else { ranges - 1 };
        let rib: Rib<u32> = hosts(0x0102_0000, count).collect();
        let dxr: Dxr<u8> = build(&rib, 16);
        let statistics = dxr.statistics();
        assert_eq!((statistics.layout, statistics.granule), (layout, granule), "{ranges}");
        assert_eq!(statistics.long_ranges, ranges as usize);
        check(&dxr, &rib).unwrap();
    }
}

#[test]
fn more_ranges_than_19_bits_count_widen_the_granule() {
    // 2^17 chunks of 6 ranges: none, two hosts, none, one host, none.
    let rib: Rib<u32> =
        (0..1 << 17).flat_map(|i| hosts(i << 14 | 5, 2).chain(hosts(i << 14 | 9, 1))).collect();
    let dxr: Dxr<u8> = build(&rib, 18);
    let statistics = dxr.statistics();
    assert_eq!((statistics.layout, statistics.granule), ("paper", 2));
    assert_eq!((statistics.long_ranges, statistics.full_chunks), (6 << 17, 1 << 17));
    for address in [5, 6, 7, 9, 10, (1 << 31) - (1 << 14) + 9, 1 << 31] {
        let right = rib.longest_match(address).map_or(0, |route| route.next_hop.0);
        assert_eq!(u32::from(dxr.lookup(address)), right, "{address:#x}");
    }
}

#[test]
fn an_update_past_a_limit_asks_for_a_rebuild_and_changes_no_answer() {
    let mut rib: Rib<u32> = hosts(0x0102_0000, 4094).collect();
    let mut dxr: Dxr<u32> = build(&rib, 16);
    let before = rib.clone();
    let more = Route { prefix: Prefix::host(0x0102_8000), next_hop: NextHop(1) };
    let delta = rib.apply(Change::Announce(more)).unwrap();
    assert_eq!(dxr.apply(&rib, &[delta]), Update::Rebuild);
    check(&dxr, &before).unwrap();

    let mut rib = before.clone();
    let far = Route { prefix: Prefix::host(0), next_hop: NextHop(65_536) };
    let delta = rib.apply(Change::Announce(far)).unwrap();
    assert_eq!(dxr.apply(&rib, &[delta]), Update::Rebuild);
    check(&dxr, &before).unwrap();
    assert_eq!(build::<u32>(&rib, 16).statistics().layout, "wide ranges");
}

#[test]
fn the_limits_are_the_papers() {
    assert_eq!((Paper::SIZE_MAX, capacity::<Paper>(0), Paper::NEXT_HOP_MAX), (4095, 1 << 19, 65_535));
    assert_eq!((WideRanges::NEXT_HOP_MAX, Wide::BASE_BITS), ((1 << 19) - 1, 39));
}

#[test]
fn changes_of_one_chunk_rebuild_it_once() {
    let mut rib = rib(&[("1.0.0.0/8", 1)]);
    let mut dxr: Dxr<u8> = build(&rib, 16);
    let mut deltas = Vec::new();
    for (prefix, next_hop) in [("1.2.3.0/24", 2), ("1.2.5.0/24", 3), ("1.2.3.4/32", 4)] {
        deltas.extend(rib.set(prefix.parse().unwrap(), NextHop(next_hop)));
    }
    let once = Update::Applied(Cost { chunks_rebuilt: 1, ..Cost::default() });
    assert_eq!(dxr.apply(&rib, &deltas), once);
    check(&dxr, &rib).unwrap();
    let short = rib.insert("1.0.0.0/14".parse().unwrap(), NextHop(5)).unwrap();
    let last = rib.remove("1.2.3.4/32".parse().unwrap()).unwrap();
    let all = Update::Applied(Cost { chunks_rebuilt: 4, ..Cost::default() });
    assert_eq!(dxr.apply(&rib, &[last, short]), all);
    check(&dxr, &rib).unwrap();
}

#[test]
fn bytes_stay_within_a_tenth_of_a_fresh_build() {
    let mut seed = 1_u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 32) as u32
    };
    let mut rib: Rib<u32> = Rib::new();
    let mut dxr: Dxr<u8> = build(&rib, 16);
    // The table grows, churns, and shrinks again.
    for round in 0..60 {
        let (insert, remove) = [(1500, 100), (800, 800), (100, 1500)][round / 20];
        let mut deltas: Vec<Delta<u32>> = Vec::new();
        for _ in 0..insert {
            let prefix = Prefix::containing(random() >> 4, 20 + (random() % 6) as u8);
            deltas.extend(rib.insert(prefix, NextHop(1 + random() % 250)));
        }
        let gone: Vec<_> = rib.iter().filter(|_| random() % 4 == 0).take(remove).collect();
        for route in gone {
            if deltas.iter().all(|delta| delta.prefix != route.prefix) {
                deltas.extend(rib.remove(route.prefix));
            }
        }
        deltas.sort_unstable_by_key(|delta| delta.prefix);
        deltas.reverse(); // the last change of a prefix counts
        deltas.dedup_by_key(|delta| delta.prefix);
        assert!(matches!(dxr.apply(&rib, &deltas), Update::Applied(_)));
        dxr.validate(&rib).unwrap();
        let (now, fresh) = (dxr.memory().total(), build::<u8>(&rib, 16).memory().total());
        assert!(now * 10 <= fresh * 11, "{now} bytes after {round} rounds, {fresh} fresh");
    }
    check(&dxr, &rib).unwrap();
}

/// Generates a change of a table whose prefixes crowd and nest in few chunks.
fn change(next_hops: u32) -> impl Strategy<Value = Change<u32>> {
    let prefix = (0_u32..4, any::<u16>(), 0..=32_u8, any::<bool>());
    (prefix, 0..=next_hops).prop_map(move |((chunk, low, len, aligned), next_hop)| {
        let low = if aligned { u32::from(low) & 0x0700 } else { u32::from(low) & 0xF0F };
        let prefix =
            Prefix::containing([0, 0x0102_0000, 0x0103_C000, 0xFFFF_F000][chunk as usize] | low, len);
        match next_hop {
            0 => Change::Withdraw(prefix),
            // The greatest next hops are past every layout.
            1 if next_hops > 65_535 => Change::Announce(Route { prefix, next_hop: NextHop(u32::MAX) }),
            next_hop => Change::Announce(Route { prefix, next_hop: NextHop(next_hop) }),
        }
    })
}

/// Applies updates, and checks the table after each.
fn follows<W: Width>(k: u8, batches: Vec<Vec<Change<u32>>>) -> Result<(), TestCaseError> {
    follows_as::<W>(|rib| build(rib, k), batches)
}

fn follows_as<W: Width>(
    build: impl Fn(&Rib<u32>) -> Dxr<W>,
    batches: Vec<Vec<Change<u32>>>,
) -> Result<(), TestCaseError> {
    let mut rib: Rib<u32> = Rib::new();
    let mut dxr = build(&rib);
    for batch in batches {
        let before = rib.clone();
        let mut deltas: Vec<Delta<u32>> = Vec::new();
        for change in batch {
            if deltas.iter().all(|delta| delta.prefix != change.prefix()) {
                deltas.extend(rib.apply(change));
            }
        }
        match dxr.apply(&rib, &deltas) {
            Update::Applied(_) => {}
            Update::Rebuild => {
                check(&dxr, &before).map_err(TestCaseError::fail)?;
                dxr = build(&rib);
            }
            Update::Limit(limit) => return Err(TestCaseError::fail(limit.to_string())),
        }
        check(&dxr, &rib).map_err(TestCaseError::fail)?;
    }
    Ok(())
}

fn batches(next_hops: u32) -> impl Strategy<Value = Vec<Vec<Change<u32>>>> {
    proptest::collection::vec(proptest::collection::vec(change(next_hops), 1..12), 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_sequence_of_updates_is_followed_with_8_bits(k in 16..=19_u8, batches in batches(6)) {
        follows::<u8>(k, batches)?;
    }

    #[test]
    fn any_sequence_of_updates_is_followed_with_16_bits(k in 16..=19_u8, batches in batches(300)) {
        follows::<u16>(k, batches)?;
    }

    #[test]
    fn any_sequence_of_updates_is_followed_with_32_bits(k in 16..=19_u8, batches in batches(1 << 20)) {
        follows::<u32>(k, batches)?;
    }
}

/// The modes that the paper prints, each alone and both.
const PRINTED: [&[(&str, &str)]; 3] =
    [&[("tables", "one")], &[("search", "hit")], &[("tables", "one"), ("search", "hit")]];

fn build_with<W: Width>(rib: &Rib<u32>, k: u8, parameters: &[(&str, &str)]) -> Result<Dxr<W>, Error> {
    let config = Config::default().with("k", k.to_string());
    let config = parameters.iter().fold(config, |config, &(name, value)| config.with(name, value));
    let dxr = Dxr::build(rib, &config)?;
    dxr.validate(rib).unwrap();
    Ok(dxr)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn as_the_paper_prints_it_any_sequence_of_updates_is_followed(
        k in 16..=19_u8, mode in 0..PRINTED.len(), batches in batches(300),
    ) {
        follows_as::<u16>(|rib| build_with(rib, k, PRINTED[mode]).unwrap(), batches)?;
    }
}

#[test]
fn one_table_has_two_short_ranges_in_a_word_and_each_chunk_begins_a_word() {
    let rib = rib(&[("1.2.3.0/24", 1), ("1.3.0.7/32", 2), ("1.4.3.0/24", 3)]);
    let dxr: Dxr<u8> = build_with(&rib, 16, PRINTED[0]).unwrap();
    let Form::OneTable(table) = &dxr.form else { panic!("{dxr:?}") };
    assert_eq!(
        [0x0102, 0x0103, 0x0104].map(|at| table.direct[at]),
        [3 << 1, 2 << 13 | 3 << 1 | 1, 5 << 13 | 3 << 1]
    );
    assert_eq!((table.long.len(), table.short.len(), dxr.statistics().bytes), (7, 0, 4 * (65_536 + 7)));
    check(&dxr, &rib).unwrap();
}

#[test]
fn one_table_widens_the_granule_for_short_ranges_too() {
    // 2^18 chunks of three short ranges, each two words: one word more than 19 bits address.
    let rib: Rib<u32> = (0..(1_u32 << 18) - (1 << 12))
        .map(|i| Route { prefix: Prefix::containing(i << 14 | 0x700, 24), next_hop: NextHop(1) })
        .collect();
    let dxr: Dxr<u8> = build_with(&rib, 18, PRINTED[2]).unwrap();
    let statistics = dxr.statistics();
    assert_eq!((statistics.layout, statistics.granule), ("paper, one table, ends at a hit", 2));
    for address in [0x700, 0x7FF, 0x800, 0x6FF, (1 << 31) | 0x700, (1 << 31) | 0x900] {
        assert_eq!(u32::from(dxr.lookup(address)), u32::from(address >> 8 & 63 == 7), "{address:#x}");
    }
}

#[test]
fn a_search_ends_at_a_hit() {
    let iterations = |ranges: u32| {
        let rib: Rib<u32> = hosts(0x0102_0000, ranges - 1).collect();
        let dxr: Dxr<u8> = build_with(&rib, 16, PRINTED[1]).unwrap();
        (0..ranges).map(|range| dxr.search_steps(0x0102_0000 + range)).collect::<Vec<_>>()
    };
    assert_eq!((iterations(2), iterations(3)), (vec![1, 1], vec![2, 1, 1]));
    // No range takes more than the logarithm, and the middle one takes one.
    let of_255 = iterations(255);
    assert_eq!((of_255.iter().max(), of_255[127]), (Some(&8), 1));
}

#[test]
fn steps_count_addresses_and_not_ranges() {
    let rib = rib(&[("0.0.0.0/0", 1), ("10.0.1.0/24", 2)]);
    let statistics = build_with::<u8>(&rib, 16, PRINTED[1]).unwrap().statistics();
    // In the one full chunk: 256 addresses before the /24, the /24 in the middle, the rest.
    let [none, one, two, ..] = statistics.addresses_by_search_steps;
    assert_eq!([none, one, two], [0xE000_0000 - 65_536, 256 + 65_536 - 512, 256]);
}

#[test]
fn what_the_papers_entries_cannot_hold_is_refused() {
    let refused = |rib: &Rib<u32>| build_with::<u32>(rib, 16, PRINTED[0]).unwrap_err().to_string();
    let wide = rib(&[("1.2.3.0/24", 65_536)]);
    assert_eq!(refused(&wide), "next hops of the paper's ranges: 65536 is more than the 65535 that fit");
    let crowded: Rib<u32> = hosts(0x0102_0000, 32_760).collect();
    assert_eq!(
        refused(&crowded),
        "ranges of one of the paper's chunks: 32761 is more than the 32760 that fit"
    );
}

#[test]
fn the_deepest_direct_table_answers_too() {
    let rib = rib(&[("0.0.0.0/0", 1), ("1.2.3.0/24", 2), ("1.2.3.128/25", 3), ("255.255.255.255/32", 4)]);
    let dxr: Dxr<u8> = build(&rib, 24);
    assert_eq!(dxr.statistics().long_ranges, 4);
    check(&dxr, &rib).unwrap();
}
