//! A table as it was at a time, by updates of MRT and of text.
//!
//! ```text
//!   FILE ──▶ read_at, by peer ─────────────────────────────▶ table ┐
//!        └─▶ the lines of bgpdump, replayed up to the time ──▶ table ┴▶ equal
//! ```

mod common;

use common::made::{down, peer_index, rib, update};
use fibula_io::Source;
use fibula_io::table::{AddPath, Loaded, ReadOptions, read_at};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

fn routes(loaded: &Loaded) -> BTreeMap<String, String> {
    let name = |next_hop| loaded.tables.next_hops.get(next_hop).unwrap().to_string();
    let four = loaded.tables.ipv4.iter().map(|route| (route.prefix.to_string(), name(route.next_hop)));
    let six = loaded.tables.ipv6.iter().map(|route| (route.prefix.to_string(), name(route.next_hop)));
    four.chain(six).collect()
}

fn file(bytes: &[u8]) -> (tempfile::NamedTempFile, Source) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    let source = Source::File(file.path().to_owned());
    (file, source)
}

fn at(table: &[u8], updates: &[&[u8]], seconds: u64, options: &ReadOptions) -> Result<Loaded, String> {
    let (_table, source) = file(table);
    let updates: Vec<_> = updates.iter().map(|bytes| file(bytes)).collect();
    let sources: Vec<Source> = updates.iter().map(|(_, source)| source.clone()).collect();
    read_at(&source, &sources, Duration::from_secs(seconds), options).map_err(|error| error.to_string())
}

#[test]
fn a_withdrawal_leaves_the_next_best_of_the_dump() {
    let dump = [peer_index(2), rib([10, 1], &[(0, &[64_501]), (1, &[64_502, 64_503])])].concat();
    let first = [update(999, 1, &[[10, 1]], &[], &[]), update(1_010, 1, &[[10, 1]], &[], &[])].concat();
    let second = [update(1_020, 2, &[], &[64_502], &[[10, 2]]), down(1_030, 2)].concat();
    let at = |seconds, peer: Option<&str>| {
        let options = ReadOptions { peer: peer.map(Into::into), ..ReadOptions::default() };
        let loaded = at(&dump, &[&first, &second], seconds, &options).unwrap();
        // The update from before the dump is none of those that follow it.
        assert_eq!(loaded.report.notes[0].count, 1);
        routes(&loaded).into_iter().map(|(prefix, hop)| format!("{prefix} {hop}")).collect::<Vec<_>>()
    };
    assert_eq!(at(1_000, None), ["10.1.0.0/16 203.0.113.0"]);
    assert_eq!(at(1_010, None), ["10.1.0.0/16 203.0.113.1"]);
    assert_eq!(at(1_020, None), ["10.1.0.0/16 203.0.113.1", "10.2.0.0/16 203.0.113.2"]);
    assert!(at(1_030, None).is_empty());
    assert_eq!(at(1_009, Some("192.0.2.1")), ["10.1.0.0/16 203.0.113.0"]);
    assert!(at(1_010, Some("192.0.2.1")).is_empty());
}

#[test]
fn text_follows_a_table_of_any_kind() {
    let updates = b"A 10.0.0.0/8 192.0.2.9 5\nA 10.0.0.0/8 - 6\nW 10.1.0.0/16 - 7\nW 11.0.0.0/8\n";
    let table = b"10.0.0.0/8 192.0.2.1\n10.1.0.0/16 192.0.2.1\n11.0.0.0/8 192.0.2.1\n";
    let loaded = at(table, &[updates], 6, &ReadOptions::default()).unwrap();
    let expected = [("10.0.0.0/8", "192.0.2.9"), ("10.1.0.0/16", "192.0.2.1")];
    assert_eq!(routes(&loaded), expected.map(|(a, b)| (a.into(), b.into())).into());
    assert_eq!((loaded.report.notes[0].count, loaded.report.kept), (1, 2));
    let dump = [peer_index(1), rib([10, 1], &[(0, &[64_501])])].concat();
    let loaded =
        at(&dump, &[b"W 10.1.0.0/16 - 2000\nA 10.2.0.0/16 x 2001\n"], 2_000, &ReadOptions::default());
    assert!(routes(&loaded.unwrap()).is_empty());
    let mrt = update(1_010, 1, &[[10, 1]], &[64_501], &[[10, 2]]);
    let loaded = at(b"10.1.0.0/16 192.0.2.1\n", &[&mrt], 1_010, &ReadOptions::default()).unwrap();
    assert_eq!(routes(&loaded), [("10.2.0.0/16".into(), "203.0.113.1".into())].into());
}

/// A message of BMP with an UPDATE of a peer at a time: 10.N.0.0/16 is withdrawn or announced.
fn monitoring(seconds: u32, prefix: u8, is_announced: bool) -> Vec<u8> {
    let prefix = [16, 10, prefix];
    // ORIGIN, AS_PATH of 64501, NEXT_HOP.
    let attributes: &[u8] = &[0x40, 1, 1, 0, 0x40, 2, 6, 2, 1, 0, 0, 0xFB, 0xF5, 0x40, 3, 4, 203, 0, 113, 1];
    let body = if is_announced {
        [&[0, 0, 0, attributes.len() as u8], attributes, &prefix].concat()
    } else {
        [&[0, 3], &prefix[..], &[0, 0]].concat()
    };
    let peer = [&[0; 22][..], &[192, 0, 2, 1, 0, 0, 0xFB, 0xF5, 0, 0, 0, 1], &seconds.to_be_bytes(), &[0; 4]];
    let update = [&[0xFF; 16][..], &[0, body.len() as u8 + 19, 2], &body].concat();
    let length = (6 + 42 + update.len() as u32).to_be_bytes();
    [&[3][..], &length, &[0], &peer.concat(), &update].concat()
}

#[test]
fn a_recording_of_bmp_is_read_up_to_the_time_however_it_is_cut() {
    let told = [(1_000, 1, true), (1_010, 2, true), (1_020, 1, false), (1_030, 3, true)];
    let all = told.map(|(seconds, prefix, is_announced)| monitoring(seconds, prefix, is_announced)).concat();
    let prefixes = |parts: &[&[u8]], seconds| {
        let loaded = at(parts[0], &parts[1..], seconds, &ReadOptions::default())?;
        Ok::<Vec<String>, String>(routes(&loaded).into_keys().collect())
    };
    for cut in [0, 1, 50, 100, all.len() / 2, all.len() - 10] {
        let (first, second) = all.split_at(all.len() - cut);
        let parts = [first, second];
        assert_eq!(prefixes(&parts, 1_009).unwrap(), ["10.1.0.0/16"], "{cut}");
        assert_eq!(prefixes(&parts, 1_019).unwrap(), ["10.1.0.0/16", "10.2.0.0/16"], "{cut}");
        assert_eq!(prefixes(&parts, 1_020).unwrap(), ["10.2.0.0/16"], "{cut}");
        assert_eq!(prefixes(&parts, 9_999).unwrap(), ["10.2.0.0/16", "10.3.0.0/16"], "{cut}");
        let error = prefixes(&parts, 999).unwrap_err();
        assert!(
            error.ends_with("the messages begin at 1000, after the time 999 that is asked for"),
            "{error}"
        );
    }
    // A time that the router does not know.
    let untimed = [monitoring(0, 1, true), monitoring(1_000, 2, true)].concat();
    let loaded = at(&untimed, &[], 999, &ReadOptions::default()).unwrap();
    assert_eq!((routes(&loaded).len(), loaded.report.notes[0].count), (1, 1));
}

#[test]
fn what_is_wrong_is_said() {
    let dump = [peer_index(1), rib([10, 1], &[(0, &[64_501])])].concat();
    let error = at(&dump, &[], 999, &ReadOptions::default()).unwrap_err();
    assert!(error.ends_with("the table was dumped at 1000, after the time 999 that is asked for"), "{error}");
    let error = read_at(&Source::StandardInput, &[], Duration::ZERO, &ReadOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "standard input: is read once, expected files");
    let strict = ReadOptions { strict: true, ..ReadOptions::default() };
    assert!(
        at(b"", &[b"A 10.0.0.0/8 x\n"], 0, &strict).unwrap_err().contains("a guess, which --strict refuses")
    );
}

/// Replays the lines of `bgpdump -m`. Returns the next hop of each prefix by peer.
fn replayed(text: &str, until: u64) -> BTreeMap<String, BTreeMap<String, String>> {
    let mut peers: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split('|').collect();
        let [_, time, kind, peer, _, rest @ ..] = &fields[..] else { continue };
        if time.parse::<f64>().is_ok_and(|time| time as u64 > until) {
            continue;
        }
        let routes = peers.entry((*peer).to_owned()).or_default();
        match (*kind, rest) {
            ("A" | "B", [prefix, _, _, next_hop, ..]) => {
                routes.insert((*prefix).to_owned(), (*next_hop).to_owned());
            }
            ("W", [prefix, ..]) => {
                routes.remove(*prefix);
            }
            ("STATE", ["6", to, ..]) if *to != "6" => routes.clear(),
            _ => {}
        }
    }
    peers
}

fn text_of(path: &Path) -> String {
    let mut text = String::new();
    Source::File(path.to_owned()).open(None).unwrap().read_to_string(&mut text).unwrap();
    text
}

#[test]
fn each_peer_is_as_the_lines_of_bgpdump_say() {
    for name in ["updates.20071015.1505", "updates.20100722.2015", "updates.20020722.2238"] {
        let Some(text) = common::data(&format!("mrt/{name}.bgpdump.txt.gz")) else { return };
        let Some(file) = common::data(&format!("mrt/{name}.gz")) else { return };
        let text = text_of(&text);
        let times: BTreeSet<u64> = text
            .lines()
            .filter_map(|line| Some(line.split('|').nth(1)?.parse::<f64>().ok()? as u64))
            .collect();
        let (first, last) = (*times.first().unwrap(), *times.last().unwrap());
        for until in [first, u64::midpoint(first, last), last] {
            // The peers with most routes.
            let mut peers: Vec<_> = replayed(&text, until).into_iter().collect();
            peers.sort_by_key(|(_, routes)| std::cmp::Reverse(routes.len()));
            for (peer, expected) in peers.into_iter().filter(|(_, routes)| !routes.is_empty()).take(6) {
                let options =
                    ReadOptions { peer: Some(peer.clone()), add_path: AddPath::No, ..ReadOptions::default() };
                let source = Source::File(file.clone());
                // Fractions of the last second are before the next.
                let time = Duration::new(until, 999_999_999);
                let loaded = read_at(&source, &[], time, &options).unwrap();
                assert_eq!(routes(&loaded), expected, "{name} of {peer} at {until}");
            }
        }
    }
}

#[test]
fn a_day_of_five_peers_is_as_bgpdump_prints_it() {
    if Command::new("bgpdump").output().is_err() {
        println!("skipped: bgpdump is not installed");
        return;
    }
    let mut random = fastrand::Rng::with_seed(1);
    let prefix = |random: &mut fastrand::Rng| [10 + random.u8(..4), random.u8(..16)];
    let mut dump = peer_index(5);
    for prefix in (0..40).map(|_| prefix(&mut random)).collect::<BTreeSet<_>>() {
        dump.extend(rib(prefix, &[0, 1, 2, 3, 4].map(|peer| (peer, &[64_501, 64_510][..]))));
    }
    // A message every 40 seconds; each hundredth ends a session.
    let mut updates = Vec::new();
    for seconds in (1_001..87_400).step_by(40) {
        let peer = random.u8(1..=5);
        let (first, second) = (prefix(&mut random), prefix(&mut random));
        updates.extend(match random.u8(..100) {
            0 => down(seconds, peer),
            1..45 => update(seconds, peer, &[first], &[], &[]),
            _ => update(seconds, peer, &[], &[64_500 + u32::from(peer), 64_520], &[first, second]),
        });
    }
    let ((dump, of_dump), (updates, of_updates)) = (file(&dump), file(&updates));
    let printed = [dump.path(), updates.path()].map(|path| {
        let output = Command::new("bgpdump").arg("-m").arg(path).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    });
    let mut compared = 0;
    for until in (0..=96).map(|quarter| 1_000 + 900 * quarter) {
        let replayed = replayed(&printed.concat(), until);
        for (peer, expected) in replayed {
            let options = ReadOptions { peer: Some(peer.clone()), ..ReadOptions::default() };
            let sources = std::slice::from_ref(&of_updates);
            let loaded = read_at(&of_dump, sources, Duration::from_secs(until), &options).unwrap();
            assert_eq!(routes(&loaded), expected, "of {peer} at {until}");
            compared += expected.len();
        }
    }
    assert!(compared > 5_000, "{compared}");
}

#[test]
fn a_record_of_the_dump_holds_from_its_own_time_on() {
    let dump = [peer_index(1), rib([10, 1], &[(0, &[64_501])]), rib([11, 1], &[(0, &[64_501])])];
    let mut dump = dump.concat();
    let last = dump.len() - rib([11, 1], &[(0, &[64_501])]).len();
    dump[last..last + 4].copy_from_slice(&1_010_u32.to_be_bytes());
    // Withdrawn while the dump was written: 10.1.0.0/16 after its record, 11.1.0.0/16 before.
    let updates = [update(1_005, 1, &[[10, 1], [11, 1]], &[], &[]), update(1_006, 1, &[], &[1], &[[12, 1]])];
    let loaded = at(&dump, &[&updates.concat()], 1_020, &ReadOptions::default()).unwrap();
    assert_eq!(routes(&loaded).into_keys().collect::<Vec<_>>(), ["11.1.0.0/16", "12.1.0.0/16"]);
}

#[test]
fn how_updates_are_cut_into_files_does_not_matter() {
    let updates = [
        update(1_001, 1, &[], &[64_501, 64_700], &[[10, 1]]),
        update(1_002, 2, &[], &[64_502, 64_601, 64_700], &[[10, 1]]),
        update(1_003, 1, &[[10, 1]], &[], &[]),
        update(1_004, 2, &[[10, 1]], &[], &[]),
    ];
    let dump = [peer_index(1), rib([10, 1], &[(0, &[64_501])])].concat();
    for table in [&b"10.1.0.0/16 192.0.2.77\n"[..], &dump] {
        for cut in 0..1 << 3 {
            let mut files = vec![Vec::new()];
            for (number, record) in updates.iter().enumerate() {
                files.last_mut().unwrap().extend_from_slice(record);
                if cut >> number & 1 == 1 {
                    files.push(Vec::new());
                }
            }
            let files: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
            let hop = |seconds, peer: Option<&str>| {
                let options = ReadOptions { peer: peer.map(Into::into), ..ReadOptions::default() };
                routes(&at(table, &files, seconds, &options).unwrap()).into_values().next()
            };
            assert_eq!(hop(1_002, None).as_deref(), Some("203.0.113.1"), "cut {cut:b}");
            assert_eq!(hop(1_003, None).as_deref(), Some("203.0.113.2"), "cut {cut:b}");
            assert_eq!(hop(1_004, None), None, "cut {cut:b}");
            assert_eq!(hop(1_002, Some("192.0.2.2")).as_deref(), Some("203.0.113.2"), "cut {cut:b}");
        }
    }
}
