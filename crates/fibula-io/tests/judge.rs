//! What is known of BGP, beside a judge that knows only a map and a sort.
//!
//! ```text
//!   seed ──▶ updates, and a dump written meanwhile ──▶ MRT ──▶ each reader ──▶ answers ┐
//!              └───────────────────────────────────────────▶ the judge ──────▶ answers ┴▶ equal
//! ```
//!
//! `FIBULA_HISTORIES=100000 cargo test -p fibula-io --test judge` takes that many histories.

mod common;
#[path = "judge/history.rs"]
mod history;
#[path = "judge/naive.rs"]
mod naive;
#[path = "judge/views.rs"]
mod views;

use fibula::{IpPrefix, NextHopInfo, NextHops};
use fibula_io::follow::{Expired, Followed};
use fibula_io::mrt::Events;
use fibula_io::mrt::bmp::{Policy, Session, View, Views, Vrfs};
use fibula_io::rov::{Origins, Validity, Vrps};
use fibula_io::table::{self, AddPath, Loaded, ReadOptions, Tables, Value, read_at};
use fibula_io::{Budget, Source, update};
use history::{History, Peer, Prefix, Record, bytes};
use naive::{Naive, Origin};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::thread;
use std::time::Duration;

/// What a reader or the judge answers for each prefix.
type Answers = BTreeMap<Prefix, String>;

/// The values that are compared.
const VALUES: [Value; 4] = [Value::NextHop, Value::Peer, Value::OriginAs, Value::Origins];

fn histories() -> u64 {
    const FEW: u64 = 400;
    std::env::var("FIBULA_HISTORIES").map_or(FEW, |count| count.parse().expect("a number"))
}

/// Calls `judge` with each history, and the random numbers that it may take more of.
fn each(mut judge: impl FnMut(u64, &History, &mut fastrand::Rng)) {
    for seed in 0..histories() {
        let mut random = fastrand::Rng::with_seed(seed);
        let history = History::draw(&mut random);
        judge(seed, &history, &mut random);
    }
}

fn options(value: Value, peer: Option<Peer>) -> ReadOptions {
    let peer = peer.map(|peer| peer.address.to_string());
    ReadOptions { value, peer, add_path: AddPath::No, keep_going: true, ..ReadOptions::default() }
}

/// Returns what the judge answers, as tables have it.
fn judged(naive: &Naive, value: Value, peer: Option<Peer>) -> Answers {
    let set = |set: &BTreeSet<u32>| set.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let named = |origin: &Origin, [open, close]: [&str; 2]| match origin {
        Origin::As(number) => number.to_string(),
        Origin::Set(numbers) => format!("{open}{}{close}", set(numbers)),
    };
    let list = |origins: &BTreeSet<Origin>| {
        let mut origins: Vec<&Origin> = origins.iter().collect();
        origins.sort_by_key(|origin| match origin {
            Origin::As(number) => (vec![*number], false),
            Origin::Set(numbers) => (numbers.iter().copied().collect(), true),
        });
        let names: Vec<String> = origins.into_iter().map(|origin| named(origin, ["[", "]"])).collect();
        format!("[{}]", names.join(","))
    };
    match value {
        Value::NextHop => naive.next_hops(peer),
        Value::Peer => naive.peers(peer),
        Value::OriginAs => {
            let origins = naive.origin(peer).into_iter();
            origins.map(|(prefix, origin)| (prefix, named(&origin, ["{", "}"]))).collect()
        }
        _ => naive.origins(peer).into_iter().map(|(prefix, origins)| (prefix, list(&origins))).collect(),
    }
}

fn answers(tables: &Tables) -> Answers {
    let name = |next_hop| tables.next_hops.get(next_hop).unwrap().to_string();
    let route =
        |route: fibula::Route<u32>| ((route.prefix.first(), route.prefix.len()), name(route.next_hop));
    tables.ipv4.iter().map(route).collect()
}

/// Returns a peer of some record, or `None` for all.
fn any_peer(history: &History, random: &mut fastrand::Rng) -> Option<Peer> {
    let peers = history.updates.iter().filter_map(|record| match record {
        Record::Update { peer, is_sent: false, announced, .. } if !announced.is_empty() => Some(*peer),
        _ => None,
    });
    let peers: Vec<Peer> = peers.collect();
    (!peers.is_empty() && random.bool()).then(|| peers[random.usize(..peers.len())])
}

#[test]
fn a_file_is_read_as_the_judge_reads_it() {
    each(|seed, history, random| {
        let peer = any_peer(history, random);
        let file = bytes(&[&history.dump[..], &history.updates].concat());
        let naive = Naive::of(&history.updates).knowing(&history.dump);
        for value in VALUES {
            let loaded = table::parse(&file, &options(value, peer)).unwrap();
            let judged = judged(&naive, value, peer);
            assert_eq!(answers(&loaded.tables), judged, "history {seed}, {value:?}");
            if seed % 16 == 0 {
                let loaded = through_a_pipe(&file, &options(value, peer));
                assert_eq!(answers(&loaded.tables), judged, "history {seed} through a pipe, {value:?}");
            }
        }
    });
}

/// Reads a table from a pipe, which cannot be read again.
fn through_a_pipe(file: &[u8], options: &ReadOptions) -> Loaded {
    let (from, mut to) = std::io::pipe().unwrap();
    let source = Source::File(format!("/dev/fd/{}", from.as_raw_fd()).into());
    thread::scope(|threads| {
        threads.spawn(move || to.write_all(file).unwrap());
        table::read(&source, options).unwrap()
    })
}

#[test]
fn a_table_at_a_time_is_the_judges_however_files_are_cut() {
    let file = |bytes: &[u8]| {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        let source = Source::File(file.path().to_owned());
        (file, source)
    };
    each(|seed, history, random| {
        let Some(dumped) = history.dumped else { return };
        // A record of the dump is what was known within its second.
        let dumped = dumped * 1_000_000 + 999_999;
        let peer = any_peer(history, random);
        let (_dump, dump) = file(&bytes(&history.dump));
        let mut rest = &history.updates[..];
        let mut files = Vec::new();
        while !rest.is_empty() {
            let (first, after) = rest.split_at(random.usize(1..=rest.len()));
            files.push(file(&bytes(first)));
            rest = after;
        }
        let sources: Vec<Source> = files.iter().map(|(_, source)| source.clone()).collect();
        let last = history.updates[history.updates.len() - 1].time();
        let until = random.u64(dumped..=last.max(dumped));
        let told = history.updates.iter().filter(|record| record.time() <= until);
        let naive = Naive::of(told).knowing(&history.dump);
        for value in VALUES {
            let time = Duration::from_micros(until);
            let loaded: Loaded = read_at(&dump, &sources, time, &options(value, peer)).unwrap();
            assert_eq!(answers(&loaded.tables), judged(&naive, value, peer), "history {seed}, {value:?}");
        }
    });
}

#[test]
fn each_row_of_changes_is_one() {
    each(|seed, history, random| {
        let peer = any_peer(history, random);
        for value in VALUES {
            let name = peer.map(|peer| peer.address.to_string());
            let mut followed = Followed::new(name.as_deref(), value, Budget::default()).unwrap();
            let mut table = Answers::new();
            let mut naive = Naive::default().knowing(&history.dump);
            let mut play = |record: &Record, table: &mut Answers, peers: &[u8]| {
                let record = [peers, &bytes(std::slice::from_ref(record))].concat();
                for event in Events::with(&record[..], AddPath::No) {
                    let change = |prefix: IpPrefix, value: Option<&NextHopInfo>| {
                        let IpPrefix::V4(prefix) = prefix else { panic!("{prefix}") };
                        let key = (prefix.first(), prefix.len());
                        let value = value.map(ToString::to_string);
                        let before = match &value {
                            Some(value) => table.insert(key, value.clone()),
                            None => table.remove(&key),
                        };
                        assert_ne!(before, value, "history {seed}, {prefix}");
                    };
                    followed.play("", &event.unwrap(), change).unwrap();
                }
            };
            let mut peers = Vec::new();
            for record in &history.dump {
                match record {
                    Record::Peers { .. } => peers.extend(bytes(std::slice::from_ref(record))),
                    _ => play(record, &mut table, &peers),
                }
            }
            for (at, record) in history.updates.iter().enumerate() {
                play(record, &mut table, &[]);
                naive.take(record);
                // While the dump was written, it may know more than the updates so far.
                let next = history.updates.get(at + 1).map_or(u64::MAX, Record::time);
                if history.dumped.is_none_or(|dumped| next / 1_000_000 > dumped) {
                    assert_eq!(table, judged(&naive, value, peer), "history {seed}, {value:?}, update {at}");
                }
            }
        }
    });
}

#[test]
fn what_a_lost_router_has_told_stays_until_it_has_told_again() {
    let mut seen = [false; 3];
    each(|seed, history, random| {
        let mut followed = Followed::new(None, Value::Peer, Budget::default()).unwrap();
        let mut table = Answers::new();
        let mut naive = Naive::default();
        for (at, record) in history.updates.iter().enumerate() {
            if random.u8(..8) == 0 {
                followed.lose("");
                naive.lose();
            }
            if random.u8(..16) == 0 {
                let expired = followed.expire("", |prefix, value| change(&mut table, prefix, value));
                assert_eq!(expired != Expired::Nothing, naive.is_stale(), "history {seed}, update {at}");
                seen[expired as usize] = true;
                naive.expire();
                if expired == Expired::All {
                    // What was known of its peers is forgotten too.
                    assert_eq!(judged(&naive, Value::Peer, None), Answers::new(), "history {seed}");
                    naive = Naive::default();
                    table.clear();
                }
            }
            for event in Events::with(&bytes(std::slice::from_ref(record))[..], AddPath::No) {
                let change = |prefix: IpPrefix, value: Option<&_>| change(&mut table, prefix, value);
                followed.play("", &event.unwrap(), change).unwrap();
            }
            naive.take(record);
            assert_eq!(table, judged(&naive, Value::Peer, None), "history {seed}, update {at}");
            assert_eq!(followed.len(""), table.len(), "history {seed}, update {at}");
            assert_eq!(followed.is_stale(""), naive.is_stale(), "history {seed}, update {at}");
        }
    });
    assert_eq!(seen, [true; 3]);
}

/// Makes a change of a table.
fn change(table: &mut Answers, prefix: IpPrefix, value: Option<&NextHopInfo>) {
    let IpPrefix::V4(prefix) = prefix else { panic!("{prefix}") };
    let key = (prefix.first(), prefix.len());
    match value {
        Some(value) => table.insert(key, value.to_string()),
        None => table.remove(&key),
    };
}

#[test]
fn each_view_of_a_router_is_as_the_judge_sees_it() {
    each(|seed, history, random| {
        let messages = views::draw(&history.updates, random);
        let stream = views::stream(&messages);
        let value = VALUES[random.usize(..VALUES.len())];
        let all_views = Views::new(Policy::ALL.to_vec(), Vrfs::All);
        let all = followed(&stream, all_views, value);
        for table in views::TABLES {
            for policy in Policy::ALL {
                let view = views::view(policy, table);
                let naive = Naive::of(&views::of_view(&messages, policy, table));
                let judged = judged(&naive, value, None);
                let found = all.get(&name(&view)).cloned().unwrap_or_default();
                assert_eq!(found, judged, "history {seed}, {value:?}, {view:?}");
                let options = ReadOptions {
                    vrf: view.vrf.as_ref().map(ToString::to_string),
                    table: Some(policy.to_string()),
                    add_path: AddPath::Guess,
                    ..options(value, None)
                };
                if !stream.is_empty() {
                    let read = table::parse(&stream, &options).unwrap();
                    assert_eq!(answers(&read.tables), judged, "history {seed}, {view:?} as a table");
                }
                let alone = followed(&stream, view.clone(), value);
                let found = alone.get(&name(&view)).cloned().unwrap_or_default();
                assert_eq!(found, judged, "history {seed}, {value:?}, {view:?} alone");
            }
        }
    });
}

fn name(view: &View) -> String {
    format!("{} of {:?}", view.policy, view.vrf.as_ref().map(ToString::to_string))
}

/// Follows views of what a router tells. Returns the tables, each by the name of its view.
fn followed(stream: &[u8], views: impl Into<Views>, value: Value) -> BTreeMap<String, Answers> {
    let mut followed = Followed::new(None, value, Budget::default()).unwrap();
    let mut tables: BTreeMap<String, Answers> = BTreeMap::new();
    let mut session = Session::new(stream, views);
    while let Some(event) = session.next_of() {
        let (number, event) = event.unwrap();
        let view = session.view(number);
        let name = name(view);
        let table = tables.entry(name.clone()).or_default();
        followed.play(&name, &event, |prefix, value| change(table, prefix, value)).unwrap();
    }
    tables
}

#[test]
fn a_stream_of_changes_ends_where_the_judge_does() {
    each(|seed, history, random| {
        let peer = any_peer(history, random);
        let naive = Naive::of(&history.updates);
        for value in [Value::NextHop, Value::OriginAs, Value::Origins] {
            let mut next_hops = NextHops::new();
            let ReadOptions { value, peer: name, add_path, keep_going, .. } = options(value, peer);
            let options =
                update::ReadOptions { value, peer: name, add_path, keep_going, ..Default::default() };
            let updates = update::parse(&bytes(&history.updates), &options, &mut next_hops).unwrap();
            let mut ipv4 = fibula::Rib::new();
            for update in &updates.ipv4 {
                ipv4.apply(update.change);
            }
            let tables = Tables { ipv4, ipv6: fibula::Rib::new(), next_hops };
            assert_eq!(answers(&tables), judged(&naive, value, peer), "history {seed}, {value:?}");
        }
    });
}

#[test]
fn origins_are_validated_as_the_judge_does() {
    each(|seed, history, random| {
        let mut payloads: Vec<(Prefix, u8, u32)> = Vec::new();
        let mut csv = b"ASN,IP Prefix,Max Length\n".to_vec();
        for _ in 0..random.u8(..6) {
            let (second, length) = (random.u32(..=4), random.u8(14..=17));
            let mask = u32::MAX << (32 - length);
            let (prefix, asn) = (((10 << 24 | second << 16) & mask, length), random.u32(64_500..=64_504));
            let asn = if random.u8(..6) == 0 { 0 } else { asn };
            let most = random.u8(length..=18);
            payloads.push((prefix, most, asn));
            writeln!(csv, "AS{asn},{}/{length},{most}", std::net::Ipv4Addr::from(prefix.0)).unwrap();
        }
        let (vrps, _) = Vrps::parse(&csv, &ReadOptions::default()).unwrap();
        let naive = Naive::of(&history.updates);
        let loaded = table::parse(&bytes(&history.updates), &options(Value::Origins, None)).unwrap();
        let mut found = BTreeMap::new();
        vrps.each(&loaded.tables, |prefix, next_hop, validity| {
            let IpPrefix::V4(prefix) = prefix else { panic!("{prefix}") };
            let Origins::Several(origins) = Origins::of(loaded.tables.next_hops.get(next_hop).unwrap())
            else {
                panic!("{next_hop:?}")
            };
            let mut all: Vec<Validity> = origins.into_iter().map(validity).collect();
            all.sort_by_key(|validity| validity.name());
            found.insert((prefix.first(), prefix.len()), all);
        });
        // RFC 6811 section 2.1, payload by payload.
        let judge = |(address, length): Prefix, origin: &Origin| {
            let covers = |&&((first, len), ..): &&(Prefix, u8, u32)| {
                len <= length && (address ^ first).checked_shr(32 - u32::from(len)).unwrap_or(0) == 0
            };
            let covering: Vec<_> = payloads.iter().filter(covers).collect();
            let is_own = |asn: u32| asn != 0 && *origin == Origin::As(asn);
            let own: Vec<u8> = covering.iter().filter(|it| is_own(it.2)).map(|it| it.1).collect();
            match own.iter().max() {
                _ if covering.is_empty() => Validity::NotFound,
                None => Validity::InvalidAs,
                Some(most) if length <= *most => Validity::Valid,
                Some(_) => Validity::InvalidLength,
            }
        };
        let expected = naive.origins(None).into_iter().map(|(prefix, origins)| {
            let mut all: Vec<Validity> = origins.iter().map(|origin| judge(prefix, origin)).collect();
            all.sort_by_key(|validity| validity.name());
            (prefix, all)
        });
        assert_eq!(found, expected.collect(), "history {seed}");
    });
}
