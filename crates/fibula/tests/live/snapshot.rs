//! `LiveSnapshot`: a file is replaced, and readers go on.

use fibula::snapshot::live::{LiveSnapshot, SnapshotReader};
use fibula::snapshot::{Image, Snapshot};
use fibula::{ErrorKind, Fib, NextHop, NextHopInfo, NextHops, Rib};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

const READERS: usize = 3;
const VERSIONS: u32 = 100;

/// Returns a snapshot of both families. The autonomous system of all routes is the version.
fn image(version: u32) -> Vec<u8> {
    let mut next_hops = NextHops::new();
    let next_hop = next_hops.intern(NextHopInfo::AutonomousSystem(version)).unwrap();
    let (mut ipv4, mut ipv6) = (Rib::<u32>::new(), Rib::<u128>::new());
    ipv4.insert("192.0.2.0/24".parse().unwrap(), next_hop);
    ipv6.insert("2001:db8::/32".parse().unwrap(), next_hop);
    let fibs = (Fib::build("poptrie/s=4", &ipv4).unwrap(), Fib::build("poptrie/s=4", &ipv6).unwrap());
    let image = Image::new(&next_hops).with(&fibs.0, &ipv4, false).unwrap();
    let mut bytes = Vec::new();
    image.with(&fibs.1, &ipv6, false).unwrap().write(&mut bytes).unwrap();
    bytes
}

/// Gives the name to a file of these bytes.
fn replace(path: &Path, bytes: &[u8]) {
    let beside = path.with_extension("new");
    fs::write(&beside, bytes).unwrap();
    fs::rename(beside, path).unwrap();
}

fn begin(version: u32) -> (TempDir, LiveSnapshot) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.fib");
    replace(&path, &image(version));
    let live = LiveSnapshot::open(&path).unwrap();
    assert_eq!(live.path(), path);
    (folder, live)
}

/// Returns the version that a new guard shows, which all of it must be of.
fn version(reader: &mut SnapshotReader) -> u32 {
    let opened = reader.guard();
    let answers = ["192.0.2.9", "2001:db8::9"].map(|text| opened.views().lookup(text.parse().unwrap()));
    assert_eq!(answers, [NextHop(1); 2]);
    let Some(NextHopInfo::AutonomousSystem(version)) = opened.snapshot().next_hop(answers[0]) else {
        panic!("no next hop")
    };
    version
}

#[test]
fn readers_see_whole_files_in_order() {
    let (_folder, mut live) = begin(1);
    std::thread::scope(|scope| {
        for _ in 0..READERS {
            let mut reader = live.reader();
            scope.spawn(move || {
                let mut last = 1;
                while last < VERSIONS {
                    let now = version(&mut reader);
                    assert!(now >= last, "{last} and then {now}");
                    last = now;
                }
            });
        }
        for version in 2..=VERSIONS {
            replace(live.path(), &image(version));
            loop {
                match live.refresh() {
                    Ok(is_new) => break assert!(is_new),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::ReadersHeldUp),
                }
            }
            assert!(!live.refresh().unwrap());
        }
    });
}

#[test]
fn what_is_no_sound_file_is_an_error_and_the_old_one_stays() {
    let (_folder, mut live) = begin(1);
    let mut reader = live.reader();
    let path = live.path().to_owned();
    let whole = image(2);
    let mut flipped = whole.clone();
    *flipped.last_mut().unwrap() ^= 1;
    for broken in [&whole[..whole.len() / 2], &flipped, b"10.0.0.0/8 1\n", b""] {
        replace(&path, broken);
        // As often as it is asked.
        for _ in 0..2 {
            let error = live.refresh().unwrap_err();
            assert!(error.to_string().starts_with(&format!("{}: ", path.display())), "{error}");
            assert!(matches!(error.kind(), ErrorKind::Snapshot | ErrorKind::File), "{error}");
            assert_eq!(version(&mut reader), 1);
        }
        assert_eq!(Snapshot::open(&path).unwrap_err(), live.refresh().unwrap_err());
    }
    fs::remove_file(&path).unwrap();
    assert_eq!(live.refresh().unwrap_err().kind(), ErrorKind::File);
    assert_eq!(version(&mut reader), 1);
    replace(&path, &whole);
    assert!(live.refresh().unwrap() && !live.refresh().unwrap());
    assert_eq!(version(&mut reader), 2);
    // Another file with the same contents.
    replace(&path, &whole);
    assert!(live.refresh().unwrap());
    assert!(LiveSnapshot::open(path.with_extension("none")).is_err());
}

#[test]
fn a_reader_that_never_passes_is_told_of_and_keeps_its_file() {
    let (_folder, mut live) = begin(1);
    let (mut stuck, mut other) = (live.reader(), live.reader());
    let opened = stuck.guard();
    let mut at = 1;
    let error = loop {
        replace(live.path(), &image(at + 1));
        match live.refresh() {
            Ok(is_new) => assert!(is_new),
            Err(error) => break error,
        }
        at += 1;
        assert_eq!(version(&mut other), at);
        other.rest();
    };
    assert_eq!((error.kind(), at), (ErrorKind::ReadersHeldUp, 5));
    assert_eq!(opened.snapshot().next_hops().unwrap().get(NextHop(1)).unwrap().to_string(), "1");
    stuck.rest();
    assert!(live.refresh().unwrap());
    assert_eq!((version(&mut stuck), version(&mut other)), (6, 6));
}
