//! Traces are the same on every machine, and have the distribution that they claim.

use super::*;
use crate::Source;
use crate::generate::{NextHopModel, Size, internet};
use fibula::{NextHop, Prefix};
use std::collections::{HashMap, HashSet};

fn kind(text: &str) -> TraceKind {
    text.parse().unwrap()
}

fn table() -> crate::table::Tables {
    internet(Size { ipv4: 3000, ipv6: 3000 }, NextHopModel::Near(40), 1).unwrap()
}

fn checksum<A: Address>(addresses: &[A]) -> u64 {
    let bytes = addresses.iter().flat_map(|address| address.to_u128().to_le_bytes());
    bytes.fold(0xCBF2_9CE4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3))
}

/// A temporary file, removed when dropped.
struct File(std::path::PathBuf);

impl File {
    fn new(name: &str, content: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("fibula-trace-{}-{name}", std::process::id()));
        std::fs::write(&path, content).unwrap();
        Self(path)
    }

    fn source(&self) -> Source {
        Source::File(self.0.clone())
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // Nothing is lost if the file stays.
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn the_same_addresses_on_every_machine() {
    let tables = table();
    let kinds = ["prefix", "match", "zipf", "sequential", "repeat", "miss=30"];
    let of4 = kinds.map(|text| checksum(&generate(&kind(text), &tables.ipv4, 5000, 1).unwrap()));
    let of6 = kinds.map(|text| checksum(&generate(&kind(text), &tables.ipv6, 5000, 1).unwrap()));
    assert_eq!(
        of4,
        [
            7_693_031_813_928_480_280,
            16_192_986_974_711_127_810,
            13_751_047_871_179_086_596,
            4_266_542_503_045_135_357,
            8_621_615_018_146_795_094,
            16_680_500_064_576_935_709
        ]
    );
    assert_eq!(
        of6,
        [
            4_725_159_997_306_411_264,
            6_949_987_783_757_477_510,
            13_030_731_683_219_893_948,
            12_450_023_297_343_851_989,
            2_404_657_414_269_623_282,
            2_259_785_330_336_354_216
        ]
    );
    assert_eq!(
        checksum(&generate(&TraceKind::Random, &tables.ipv4, 5000, 1).unwrap()),
        13_280_543_449_730_402_742
    );
}

#[test]
fn every_kind_has_the_length_asked_for() {
    let tables = table();
    for text in ["prefix", "match", "zipf", "sequential", "repeat", "miss=0", "miss=50", "miss=100"] {
        for count in [0, 1, 33, 1000] {
            assert_eq!(generate(&kind(text), &tables.ipv4, count, 1).unwrap().len(), count, "{text}");
            assert_eq!(generate(&kind(text), &tables.ipv6, count, 1).unwrap().len(), count, "{text}");
        }
    }
}

#[test]
fn random_keeps_to_unicast_space_and_to_ipv4() {
    let tables = table();
    let addresses = generate(&TraceKind::Random, &tables.ipv4, 100_000, 1).unwrap();
    let firsts: HashSet<u64> = addresses.iter().map(|address| address.bits(0, 8)).collect();
    assert_eq!(firsts.len(), 221);
    assert!(!firsts.contains(&0) && !firsts.contains(&127) && !firsts.contains(&224));
    let error = generate(&TraceKind::Random, &tables.ipv6, 1, 1).unwrap_err().to_string();
    assert!(error.starts_with(r#"trace "random": IPv4 only"#), "{error}");
}

#[test]
fn prefix_reaches_every_prefix() {
    let tables = table();
    let addresses = generate(&TraceKind::Prefix, &tables.ipv6, 60_000, 1).unwrap();
    let met: HashSet<Prefix<u128>> = addresses
        .iter()
        .flat_map(|&address| tables.ipv6.covering(Prefix::host(address)))
        .map(|r| r.prefix)
        .collect();
    assert_eq!(met.len(), tables.ipv6.len());
}

#[test]
fn match_draws_the_longest_leaf_of_each_prefix() {
    // 10.0.0.0/8 without 10.1.2.0/24: the leaves are 10.128/9, ..., 10.1.3.0/24; the longest is the
    // last.
    let mut rib: Rib<u32> = Rib::new();
    for text in ["10.0.0.0/8", "10.1.2.0/24", "192.0.2.0/25", "192.0.2.128/25", "192.0.2.0/24"] {
        rib.insert(text.parse().unwrap(), NextHop(1));
    }
    let addresses = generate(&TraceKind::Match, &rib, 10_000, 1).unwrap();
    let drawn: HashSet<Prefix<u32>> = addresses
        .iter()
        .map(|&address| Prefix::containing(address, if address >> 24 == 10 { 24 } else { 25 }))
        .collect();
    // 192.0.2.0/24 answers for nothing.
    let expected = ["10.1.2.0/24", "10.1.3.0/24", "192.0.2.0/25", "192.0.2.128/25"];
    assert_eq!(drawn, expected.map(|text| text.parse().unwrap()).into());
}

#[test]
fn zipf_frequencies_fall_as_one_over_the_rank() {
    let tables = table();
    let addresses = generate(&TraceKind::Zipf, &tables.ipv6, 1_000_000, 1).unwrap();
    let mut counts: HashMap<u128, usize> = HashMap::new();
    for address in addresses {
        *counts.entry(address).or_default() += 1;
    }
    let mut counts: Vec<usize> = counts.into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    // The k-th of 65,536 has 1/k of 1/11.67, the 65,536th harmonic number.
    for rank in [1, 2, 3, 5, 10, 30, 100] {
        let expected = 1_000_000.0 / 11.667 / f64::from(rank);
        let drawn = counts[rank as usize - 1] as f64;
        assert!((drawn / expected - 1.0).abs() < 0.1, "rank {rank}: {drawn}, expected {expected}");
    }
    assert!((40_000..=ZIPF_DESTINATIONS).contains(&counts.len()));
}

#[test]
fn sequential_and_repeat() {
    let tables = table();
    let addresses = generate(&TraceKind::Sequential, &tables.ipv4, 1000, 1).unwrap();
    assert!(addresses.windows(2).all(|pair| pair[1] == pair[0].wrapping_add(1)));
    assert!(tables.ipv4.longest_match(addresses[0]).is_some());
    let addresses = generate(&TraceKind::Sequential, &tables.ipv6, 1000, 1).unwrap();
    assert!(addresses.windows(2).all(|pair| pair[1] == pair[0].wrapping_add(1 << 64)));
    let addresses = generate(&TraceKind::Repeat, &tables.ipv4, 1000, 1).unwrap();
    assert!(addresses.windows(BURST + 1).all(|window| window[0] == window[BURST]));
    assert!(addresses[..BURST].iter().collect::<HashSet<_>>().len() > BURST / 2);
}

#[test]
fn miss_has_the_matching_ratio() {
    let tables = table();
    for percent in [0, 1, 30, 50, 99, 100] {
        let matching = |matches: usize| {
            // Four standard deviations of a binomial draw of 20,000.
            let (expected, deviation) = (200 * usize::from(percent), 284);
            assert!(
                matches.abs_diff(expected) <= if percent % 100 == 0 { 0 } else { deviation },
                "{percent}: {matches}"
            );
        };
        let addresses = generate(&TraceKind::Miss(percent), &tables.ipv4, 20_000, 1).unwrap();
        matching(addresses.iter().filter(|&&a| tables.ipv4.longest_match(a).is_some()).count());
        let addresses = generate(&TraceKind::Miss(percent), &tables.ipv6, 20_000, 1).unwrap();
        matching(addresses.iter().filter(|&&a| tables.ipv6.longest_match(a).is_some()).count());
    }
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let empty: Rib<u32> = Rib::new();
    for text in ["prefix", "match", "zipf", "sequential", "repeat", "miss=1"] {
        let error = generate(&kind(text), &empty, 1, 1).unwrap_err().to_string();
        assert_eq!(error, format!("trace {text:?}: the ipv4 table has no route to draw from"));
    }
    assert_eq!(generate(&kind("miss=0"), &empty, 10, 1).unwrap().len(), 10);
    let mut full: Rib<u128> = Rib::new();
    full.insert(Prefix::ALL, NextHop(1));
    let error = generate(&kind("miss=99"), &full, 1, 1).unwrap_err().to_string();
    assert_eq!(error, r#"trace "miss=99": the ipv6 table has a route for every address"#);
    assert_eq!(generate(&kind("miss=100"), &full, 10, 1).unwrap().len(), 10);
}

#[test]
fn gaps_at_both_ends_of_the_space_are_met() {
    let mut rib: Rib<u32> = Rib::new();
    rib.extend(
        ["0.0.0.1/32", "0.0.0.2/31", "0.0.0.4/30", "0.0.0.8/29"]
            .map(|text| fibula::Route { prefix: text.parse().unwrap(), next_hop: NextHop(1) }),
    );
    let addresses = generate(&kind("miss=0"), &rib, 1000, 1).unwrap();
    assert!(addresses.iter().all(|&address| address == 0 || address > 15));
    assert!(addresses.contains(&0) && addresses.iter().any(|&address| address > u32::MAX / 2));
}

#[test]
fn files_keep_their_order_and_begin_again() {
    let file = File::new("order", b"# made\n192.0.2.1\r\n\n2001:db8::1\n192.0.2.2\n");
    let empty: Rib<u32> = Rib::new();
    let addresses = generate(&TraceKind::File(file.source()), &empty, 5, 1).unwrap();
    assert_eq!(addresses, [0xC000_0201, 0xC000_0202, 0xC000_0201, 0xC000_0202, 0xC000_0201]);
    let addresses = generate(&TraceKind::File(file.source()), &Rib::<u128>::new(), 1, 1).unwrap();
    assert_eq!(addresses, [0x2001_0DB8 << 96 | 1]);
    let only4 = File::new("only4", b"192.0.2.1\n");
    let error = generate(&TraceKind::File(only4.source()), &Rib::<u128>::new(), 1, 1).unwrap_err();
    assert!(error.to_string().ends_with("holds no ipv6 address"), "{error}");
}

#[test]
fn damaged_files_say_where() {
    let error = parse(b"192.0.2.1\n\xFF\n", &Source::StandardInput).unwrap_err().to_string();
    assert!(error.starts_with("standard input, line 2: "), "{error}");
    let cut = [&[0xD4, 0xC3, 0xB2, 0xA1, 2, 0, 4, 0][..], &[0; 15]].concat();
    let error = parse(&cut, &Source::StandardInput).unwrap_err().to_string();
    assert!(error.starts_with("standard input, byte 0: the capture is cut off"), "{error}");
    let missing = Source::File("no such file".into());
    let error = generate(&TraceKind::File(missing), &Rib::<u32>::new(), 1, 1).unwrap_err().to_string();
    assert!(error.starts_with("no such file: "), "{error}");
}

#[test]
fn mapped_keeps_the_locality_and_matches() {
    let real = ["192.0.2.1", "192.0.2.2", "192.0.2.1", "2001:db8::1", "192.0.2.2", "192.0.2.1"];
    let file = File::new("mapped", real.join("\n").as_bytes());
    let tables = table();
    let addresses = generate(&TraceKind::Mapped(file.source()), &tables.ipv6, 12, 1).unwrap();
    for (i, j) in (0..12).flat_map(|i| (0..12).map(move |j| (i, j))) {
        assert_eq!(addresses[i] == addresses[j], real[i % 6] == real[j % 6]);
    }
    assert!(addresses.iter().all(|&address| tables.ipv6.longest_match(address).is_some()));
    // Another seed maps to other addresses. The order is the file's, whatever the table.
    assert_ne!(addresses, generate(&TraceKind::Mapped(file.source()), &tables.ipv6, 12, 2).unwrap());
}

#[test]
fn deep_addresses_are_those_that_cost_the_engine_most() {
    let mut rib: Rib<u32> = Rib::new();
    rib.insert("10.0.0.0/8".parse().unwrap(), NextHop(1));
    rib.insert("10.1.2.3/32".parse().unwrap(), NextHop(2));
    // One load ends at /24, the second finds the host: a quarter of all that are drawn.
    let addresses = generate(&kind("deep=dir24-8"), &rib, 1000, 1).unwrap();
    assert!(addresses.len() == 1000 && addresses.iter().all(|&address| address >> 8 == 0x0A_0102));
    let error = |text| generate(&kind(text), &rib, 1, 1).unwrap_err().to_string();
    assert_eq!(error("deep"), "trace \"deep\": expected an engine, as in deep=dxr");
    assert!(error("deep=none").starts_with("trace \"deep=none\": no engine \"none\" (there are: oracle"));
    assert!(error("deep=mosaic6").starts_with("trace \"deep=mosaic6\": "));
}

#[test]
fn deep_addresses_are_the_same_each_time() {
    let table = table();
    let [once, again, other] =
        [1, 1, 2].map(|seed| generate(&kind("deep=poptrie"), &table.ipv6, 1000, seed).unwrap());
    assert!(once == again && once != other);
}
