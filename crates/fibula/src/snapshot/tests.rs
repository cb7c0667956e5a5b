//! Every engine that supports snapshots is restored as it was; bytes that are not a whole snapshot
//! are refused.

use super::*;
use crate::arch::Level;
use crate::engine::{Config, find};
use crate::{Fib, Prefix, Route};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The engines that support snapshots.
const KEEPING: [&str; 18] = [
    "dir24-8",
    "sail-l",
    "mosaic",
    "mosaic-runs",
    "mosaic-deep",
    "mosaic-spans",
    "poptrie",
    "dxr",
    "dxr16",
    "tree-bitmap",
    "tree-bitmap/strides=12-5-5-5-5",
    "tree-bitmap/strides=14-6-6-6",
    "tree-bitmap/strides=11-7-7-7",
    "mosaic6",
    "planb",
    "terrace",
    "ledger",
    "casement",
];

/// Returns a table with routes of all lengths and next hops up to `greatest`.
fn table<A: Address>(routes: u32, greatest: u32) -> (Rib<A>, NextHops) {
    let mut next_hops = NextHops::new();
    let labels = [
        NextHopInfo::Label("10.0.0.1".into()),
        NextHopInfo::parse("4200000000"),
        NextHopInfo::parse("dev eth0"),
    ];
    let others = (4..=greatest).map(NextHopInfo::AutonomousSystem);
    for info in labels.into_iter().chain(others) {
        next_hops.intern(info).unwrap();
    }

    let mut random = fastrand::Rng::with_seed(greatest.into());
    let routes = (0..routes).map(|at| {
        let near = A::from_bits(random.u64(..97) * 0x0201_0101, 0, 32)
            | A::from_bits(random.u64(..1 << 32), A::BITS - 32, 32);
        let prefix = Prefix::containing(near, random.u8(1..=A::BITS));
        Route { prefix, next_hop: NextHop(if at == 0 { greatest } else { random.u32(1..=greatest) }) }
    });
    (routes.collect(), next_hops)
}

fn image<A: Address>(specification: &str, rib: &Rib<A>, next_hops: &NextHops, keep_routes: bool) -> Vec<u8> {
    let fib = Fib::build(specification, rib).unwrap();
    let mut bytes = Vec::new();
    let image = Image::new(&fib, rib, next_hops, keep_routes).unwrap();
    image.write(&mut bytes).unwrap();
    assert_eq!(bytes.len() as u64, image.bytes());
    bytes
}

/// Returns the ends of every route and their neighbours.
fn probes<A: Address>(rib: &Rib<A>) -> Vec<A> {
    let ends = rib.iter().map(|route| [route.prefix.first(), route.prefix.last()]);
    let neighbours = |at: A| [at.previous(), Some(at), at.next()];
    ends.flatten().flat_map(neighbours).flatten().collect()
}

fn comes_back<A: Address>(specification: &str, greatest: u32) {
    let name = specification.split('/').next().unwrap();
    if !find(ENGINES, name).unwrap().does(A::FAMILY) {
        return;
    }
    let (rib, next_hops) = table::<A>(2000, greatest);
    let bytes = image(specification, &rib, &next_hops, greatest > 255);
    let snapshot = Snapshot::from_bytes(&bytes).unwrap();
    assert_eq!((snapshot.family(), snapshot.specification()), (A::FAMILY, specification));
    assert_eq!((snapshot.prefixes(), snapshot.bytes()), (rib.len() as u64, bytes.len()));
    assert_eq!(snapshot.width(), WidthBits::holding(NextHop(greatest)));
    assert_eq!(snapshot.next_hops().unwrap(), next_hops);
    assert!(next_hops.iter().all(|(at, info)| snapshot.next_hop(at).as_ref() == Some(info)));
    assert_eq!([NextHop::NONE, NextHop(greatest + 1)].map(|at| snapshot.next_hop(at)), [None, None]);
    match snapshot.rib::<A>() {
        Ok(kept) => {
            assert_eq!((snapshot.has_routes(), &kept), (true, &rib));
            let routes = snapshot.routes::<A>().unwrap();
            for address in probes(&rib).into_iter().map(Prefix::host) {
                assert!(routes.covering(address).eq(rib.covering(address)));
            }
        }
        Err(error) => assert_eq!(error.to_string(), "a snapshot without its routes"),
    }

    let built = Fib::build(specification, &rib).unwrap();
    let mut view = snapshot.view::<A>().unwrap();
    drop(snapshot); // the arrays hold the mapping
    assert_eq!(view.width(), built.width());
    let addresses = probes(&rib);
    let mut answers = vec![NextHop::NONE; addresses.len()];
    for &isa in Level::available() {
        view.set_isa(isa);
        view.lookup_batch(&addresses, &mut answers);
        for (&address, &answer) in addresses.iter().zip(&answers) {
            let right = rib.longest_match(address).map_or(NextHop::NONE, |route| route.next_hop);
            assert_eq!((answer, view.lookup_index(address)), (right, right), "{address:?}");
        }
    }
}

#[test]
fn every_engine_that_keeps_snapshots_comes_back_at_every_width() {
    for specification in KEEPING {
        for greatest in [200, 60_000, 70_000] {
            comes_back::<u32>(specification, greatest);
            comes_back::<u128>(specification, greatest);
        }
    }
}

#[test]
fn an_engine_without_snapshots_says_so() {
    let (rib, next_hops) = table::<u32>(10, 5);
    let fib = Fib::build("radix", &rib).unwrap();
    let error = Image::new(&fib, &rib, &next_hops, false).unwrap_err();
    assert_eq!(error.to_string(), "radix: this engine keeps no snapshots");
}

#[test]
fn next_hops_must_be_those_of_the_table() {
    let (rib, _) = table::<u32>(10, 5);
    let fib = Fib::build("poptrie", &rib).unwrap();
    let error = Image::new(&fib, &rib, &NextHops::new(), false).unwrap_err();
    assert_eq!(error.to_string(), "next hops: 5 is more than the 0 that fit");
}

/// Returns the one-line reason why bytes are not a snapshot.
fn refusal(bytes: &[u8]) -> String {
    let said = Snapshot::from_bytes(bytes).expect_err("refused").to_string();
    assert!(!said.contains('\n') && !said.is_empty(), "{said:?}");
    said
}

#[test]
fn whatever_is_not_whole_is_refused() {
    let (rib, next_hops) = table::<u128>(150, 40);
    let whole = image("poptrie/s=4", &rib, &next_hops, true);
    let mut random = fastrand::Rng::with_seed(1);
    for round in 0..10_000 {
        let mut bytes = whole.clone();
        match round % 4 {
            0 => bytes[random.usize(..whole.len())] ^= 1 << random.u8(..8),
            1 => bytes.truncate(random.usize(..whole.len())),
            2 => bytes.extend((0..random.usize(1..200)).map(|_| random.u8(..))),
            _ => {
                let (from, to) = (random.usize(..whole.len()), random.usize(..whole.len()));
                let count = random.usize(1..100).min(whole.len() - from.max(to));
                bytes.copy_within(from..from + count, to);
                if bytes == whole {
                    continue; // zeros replaced by zeros
                }
            }
        }
        refusal(&bytes);
    }
    assert!(Snapshot::from_bytes(&whole).is_ok());
}

#[test]
fn what_is_wrong_is_said() {
    let (rib, next_hops) = table::<u32>(100, 40);
    let whole = image("poptrie/s=4", &rib, &next_hops, false);
    let changed = |at: usize, value: &[u8]| {
        let mut bytes = whole.clone();
        bytes[at..at + value.len()].copy_from_slice(value);
        refusal(&bytes)
    };
    assert_eq!(refusal(b""), "not a snapshot of fibula");
    assert_eq!(refusal(b"10.0.0.0/8 1\n"), "not a snapshot of fibula");
    let other = u32::from_ne_bytes(whole[8..12].try_into().unwrap()).swap_bytes();
    assert_eq!(
        changed(8, &other.to_ne_bytes()),
        "a snapshot from a machine of the other byte order: build it here"
    );
    assert_eq!(changed(12, &1_u32.to_ne_bytes()), "a snapshot of format version 1, this fibula reads 3");
    assert_eq!(changed(40, &[0xFF]), "damaged: the header does not have its checksum");
    assert_eq!(
        changed(whole.len() - 1, &[1]),
        "damaged: section \"next hop texts\" does not have its checksum"
    );
    let half = whole.len() / 2;
    assert_eq!(
        refusal(&whole[..half]),
        format!("cut short or grown: {half} bytes, expected {}", whole.len())
    );
    let snapshot = Snapshot::from_bytes(&whole).unwrap();
    assert_eq!(
        snapshot.view::<u128>().unwrap_err().to_string(),
        "a snapshot of an ipv4 table, not of an ipv6 one"
    );
    assert!(
        snapshot.view_from::<u32>(&ENGINES[..1]).unwrap_err().to_string().contains("no engine \"poptrie\"")
    );
}

/// Returns the first 64 bits of addresses.
fn leading_bits<A: Address>(addresses: &[A]) -> Vec<u64> {
    addresses.iter().map(|address| address.bits(0, 64)).collect()
}

/// Opens `rounds` forged files of an engine at a width and looks up addresses in each. Returns how
/// many were opened, and how many of those answered without a panic.
fn forge<A: Address>(specification: &str, width: WidthBits, rounds: u32) -> [u32; 2] {
    let name = specification.split('/').next().unwrap();
    if !find(ENGINES, name).unwrap().does(A::FAMILY) {
        return [0, 0];
    }
    let (rib, next_hops) = table::<A>(120, 200);
    let mut addresses = probes(&rib);
    addresses.truncate(256);
    let probes = leading_bits(&addresses);
    let mut config = Config::default();
    config.width = Some(width);
    let fib = Fib::build_from(ENGINES, specification, &rib, config).unwrap();
    let mut whole = Vec::new();
    Image::new(&fib, &rib, &next_hops, true).unwrap().write(&mut whole).unwrap();
    let mut random = fastrand::Rng::with_seed(width.bits().into());
    let mut counts = [0, 0];
    for _ in 0..rounds {
        let file = forged(&whole, &probes, |below| random.u64(..below));
        let snapshot = Snapshot::from_bytes(&file).unwrap();
        let _ = (snapshot.rib::<A>(), snapshot.next_hops(), snapshot.next_hop(NextHop(1)));
        let Ok(mut view) = snapshot.view::<A>() else { continue };
        counts[0] += 1;
        let mut answers = vec![NextHop::NONE; addresses.len()];
        // A panic in one path must not keep the others from being tried.
        let mut is_answered = catch_unwind(AssertUnwindSafe(|| {
            for &address in &addresses {
                view.lookup_index(address);
            }
        }))
        .is_ok();
        for &isa in Level::available() {
            view.set_isa(isa);
            let batch = AssertUnwindSafe(|| view.lookup_batch(&addresses, &mut answers));
            is_answered &= catch_unwind(batch).is_ok();
        }
        counts[1] += u32::from(is_answered);
    }
    counts
}

/// The engines whose snapshots are small, and those that begin with a table of megabytes.
const FORGED: [(&str, u32); 15] = [
    ("sail-l", 80),
    ("mosaic", 60),
    ("mosaic-runs", 60),
    ("mosaic-deep", 60),
    ("mosaic-spans", 60),
    ("poptrie/s=2", 150),
    ("dxr16", 60),
    ("tree-bitmap", 100),
    ("tree-bitmap/strides=11-7-7-7", 100),
    ("mosaic6", 80),
    ("planb", 200),
    ("terrace", 200),
    ("ledger", 60),
    ("casement", 60),
    ("dir24-8", 1),
];

#[test]
fn a_forged_file_with_right_checksums_is_refused_or_every_lookup_ends() {
    // As property tests do, this one runs fewer cases where each takes long.
    let part = if std::env::var_os("PROPTEST_CASES").is_some() { 20 } else { 1 };
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ())); // a panic is one of the results
    let results = FORGED.map(|(specification, rounds)| {
        let all = WidthBits::ALL.map(|width| {
            let rounds = (rounds / part).max(1);
            let [four, six] =
                [forge::<u32>(specification, width, rounds), forge::<u128>(specification, width, rounds)];
            [four[0] + six[0], four[1] + six[1]]
        });
        (specification, all)
    });
    std::panic::set_hook(hook);
    let sum = |which: usize| results.iter().flat_map(|(_, all)| all).map(|counts| counts[which]).sum::<u32>();
    assert!(sum(0) > 1000 / part && sum(1) > sum(0) / 2, "[opened, answered]: {results:?}");
}

/// A node that leads back to itself, in each engine that walks from node to node.
#[test]
fn a_cycle_of_nodes_is_refused() {
    let (rib, next_hops) = table::<u128>(120, 200);
    for (specification, section, value) in [
        // Bit maps without a leaf, first child 0; a stride of 1 at cell 0; the greatest tree.
        ("poptrie/s=2", "nodes", [&[0xFF; 8][..], &[0; 16]].concat()),
        ("mosaic6", "arrays", vec![0; 8]),
        ("planb", "trees", vec![0xFF; 16]),
    ] {
        let whole = image(specification, &rib, &next_hops, false);
        let header = Header::begin(&whole).unwrap();
        let which = header.sections.iter().position(|found| found.name() == section.as_bytes()).unwrap();
        let at = header.sections[which].offset as usize;
        let bytes = header.sections[which].bytes as usize;
        let mut file = whole.clone();
        file[at..at + bytes]
            .chunks_exact_mut(value.len())
            .for_each(|element| element.copy_from_slice(&value));
        let file = resealed(file);
        let error = Snapshot::from_bytes(&file).unwrap().view::<u128>().unwrap_err().to_string();
        assert!(error.starts_with(&format!("unsound: section {section:?}")), "{specification}: {error}");
    }
}

/// Returns a file with the checksums that fit its contents.
fn resealed(mut file: Vec<u8>) -> Vec<u8> {
    let mut header = Header::begin(&file).unwrap();
    for section in &mut header.sections {
        let bytes = (section.bytes as usize).next_multiple_of(64);
        section.checksum = xxhash_rust::xxh3::xxh3_64(&file[section.offset as usize..][..bytes]);
    }
    let header = header.write(file.len() as u64);
    file[..header.len()].copy_from_slice(&header);
    file
}
