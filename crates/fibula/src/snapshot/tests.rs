//! Bytes that are not a whole snapshot are refused, and the reason is said. What every engine's
//! snapshots do is in the engine suite.

use super::*;
use crate::{Fib, Prefix, Route};

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
    let image = Image::new(next_hops).with(&fib, rib, keep_routes).unwrap();
    image.write(&mut bytes).unwrap();
    assert_eq!(bytes.len() as u64, image.bytes());
    bytes
}

#[test]
fn an_engine_without_snapshots_says_so() {
    let (rib, next_hops) = table::<u32>(10, 5);
    let fib = Fib::build("radix", &rib).unwrap();
    let error = Image::new(&next_hops).with(&fib, &rib, false).unwrap_err();
    assert_eq!(error.to_string(), "radix: this engine keeps no snapshots");
}

#[test]
fn next_hops_must_be_those_of_the_table() {
    let (rib, _) = table::<u32>(10, 5);
    let fib = Fib::build("poptrie", &rib).unwrap();
    let error = Image::new(&NextHops::new()).with(&fib, &rib, false).unwrap_err();
    let Route { prefix, next_hop } = rib.iter().next().unwrap();
    assert_eq!(error.to_string(), format!("{prefix}: next hop {}, of a snapshot that has 0", next_hop.0));
}

/// Both families are in one file, and each answers as alone.
#[test]
fn two_families_are_one_snapshot() {
    let ((ipv4, next_hops), (ipv6, _)) = (table::<u32>(100, 40), table::<u128>(90, 40));
    let fibs = (Fib::build("poptrie", &ipv4).unwrap(), Fib::build("poptrie/s=4", &ipv6).unwrap());
    let first = || Image::new(&next_hops).with(&fibs.0, &ipv4, true).unwrap();
    let error = first().with(&fibs.0, &ipv4, true).unwrap_err().to_string();
    assert_eq!(error, "a snapshot has one ipv4 table");
    let mut bytes = Vec::new();
    first().with(&fibs.1, &ipv6, true).unwrap().write(&mut bytes).unwrap();

    let snapshot = Snapshot::from_bytes(&bytes).unwrap();
    assert_eq!((snapshot.rib::<u32>().unwrap(), snapshot.rib::<u128>().unwrap()), (ipv4, ipv6.clone()));
    assert_eq!((snapshot.next_hops().unwrap(), snapshot.has_routes()), (next_hops.clone(), true));
    assert_eq!(snapshot.parts()[1].specification, "poptrie/s=4");
    let views = snapshot.views_from(ENGINES).unwrap();
    for route in &ipv6 {
        let address = route.prefix.last();
        assert_eq!(views.lookup(address.to_ip()), fibs.1.lookup_index(address));
    }
    let alone = Snapshot::from_bytes(&image("poptrie", &ipv6, &next_hops, false)).unwrap();
    assert!(alone.part(Family::Ipv4).is_none() && alone.rib::<u32>().unwrap().is_empty());
    assert_eq!((alone.parts()[0].prefixes, alone.has_routes()), (ipv6.len() as u64, false));
}

/// A file of the version before: one table, of which all sections are.
#[test]
fn files_of_one_table_are_read() {
    let (rib, next_hops) = table::<u128>(100, 40);
    let now = image("poptrie/s=4", &rib, &next_hops, true);
    let mut header = Header::begin(&now).unwrap();
    let contents = now[header.sections[0].offset as usize..].to_vec();
    header.version = 3;
    header.parts[0].sections = 0..header.sections.len();
    let file_bytes = header.place();
    let older = [header.write(file_bytes), contents].concat();
    assert_eq!(older[..16], [&now[..12], &3_u32.to_ne_bytes()].concat());

    let snapshot = Snapshot::from_bytes(&older).unwrap();
    assert_eq!((snapshot.rib::<u128>().unwrap(), snapshot.next_hops().unwrap()), (rib.clone(), next_hops));
    let view = snapshot.view::<u128>().unwrap();
    for route in &rib {
        let address = route.prefix.first();
        assert_eq!(view.lookup_index(address), rib.longest_match(address).unwrap().next_hop);
    }
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
    assert_eq!(
        changed(12, &1_u32.to_ne_bytes()),
        "a snapshot of format version 1, this fibula reads 3 and 4"
    );
    assert_eq!(changed(40, &[0xFF]), "damaged: the header does not have its checksum");
    assert_eq!(changed(whole.len() - 1, &[1]), "damaged: section \"leaves\" does not have its checksum");
    let half = whole.len() / 2;
    assert_eq!(
        refusal(&whole[..half]),
        format!("cut short or grown: {half} bytes, expected {}", whole.len())
    );
    let snapshot = Snapshot::from_bytes(&whole).unwrap();
    assert_eq!(snapshot.view::<u128>().unwrap_err().to_string(), "a snapshot without an ipv6 table");
    assert!(
        snapshot.view_from::<u32>(&ENGINES[..1]).unwrap_err().to_string().contains("no engine \"poptrie\"")
    );
}

/// A node that leads back to itself, in each engine that walks from node to node.
#[test]
fn a_cycle_of_nodes_is_refused() {
    let (rib, next_hops) = table::<u128>(120, 200);
    for (specification, section, value) in [
        // Bit maps without a leaf, first child 0; a stride of 1 at cell 0.
        ("poptrie/s=2", "nodes", [&[0xFF; 8][..], &[0; 16]].concat()),
        ("mosaic6", "arrays", vec![0; 8]),
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
