//! Every engine that supports snapshots is restored as it was; bytes that are not a whole snapshot
//! are refused.

use super::*;
use crate::arch::Level;
use crate::engine::find;
use crate::sections::Section;
use crate::{Fib, Prefix, Route};
use std::panic::catch_unwind;

/// The engines that support snapshots.
const KEEPING: [&str; 13] = [
    "dir24-8",
    "sail-l",
    "mosaic",
    "mosaic-runs",
    "mosaic-deep",
    "poptrie",
    "dxr",
    "dxr16",
    "tree-bitmap",
    "tree-bitmap/strides=11-7-7-7",
    "mosaic6",
    "planb",
    "terrace",
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
    assert_eq!(changed(12, &1_u32.to_ne_bytes()), "a snapshot of format version 1, this fibula reads 2");
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

/// Returns a file with altered sections and matching checksums.
fn forged(whole: &[u8], random: &mut fastrand::Rng) -> Vec<u8> {
    let mut header = Header::read(whole).unwrap();
    let mut sections: Vec<Vec<u8>> = Vec::new();
    for section in &header.sections {
        let (start, bytes) = (section.offset as usize, section.bytes as usize);
        let mut contents = whole[start..start + bytes].to_vec();
        for _ in 0..random.usize(..40) {
            if bytes > 0 {
                contents[random.usize(..bytes)] = random.u8(..);
            }
        }
        if random.u8(..6) == 0 {
            contents.truncate(random.usize(..=bytes));
        }
        sections.push(contents);
    }
    for (Section { bytes, checksum, .. }, contents) in header.sections.iter_mut().zip(&mut sections) {
        *bytes = contents.len() as u64;
        contents.resize(contents.len().next_multiple_of(64), 0);
        *checksum = xxhash_rust::xxh3::xxh3_64(contents);
    }
    let file_bytes = header.place();
    let mut file = header.write(file_bytes);
    file.extend(sections.concat());
    file
}

#[test]
fn a_forged_file_with_right_checksums_reads_nothing_but_its_own_bytes() {
    let (rib, next_hops) = table::<u32>(400, 300);
    let addresses = probes(&rib);
    let mut random = fastrand::Rng::with_seed(2);
    let (mut opened, mut answered) = (0, 0);
    // Engines whose lookups terminate whatever they read.
    for specification in ["sail-l", "mosaic", "mosaic-runs", "mosaic-deep", "dxr16", "tree-bitmap"] {
        let whole = image(specification, &rib, &next_hops, true);
        for _ in 0..40 {
            let snapshot = Snapshot::from_bytes(&forged(&whole, &mut random)).unwrap();
            let _ = (snapshot.rib::<u32>(), snapshot.next_hops());
            let Ok(view) = snapshot.view::<u32>() else { continue };
            opened += 1;
            let all = |mut view: Box<dyn View<u32>>| {
                let mut answers = vec![NextHop::NONE; addresses.len()];
                for &isa in Level::available() {
                    view.set_isa(isa);
                    view.lookup_batch(&addresses, &mut answers);
                }
            };
            answered += u32::from(catch_unwind(std::panic::AssertUnwindSafe(|| all(view))).is_ok());
        }
    }
    assert!(opened > 20 && answered > 10, "{opened} opened, {answered} answered");
}
