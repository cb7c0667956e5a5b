//! MRT reading against the output of `bgpdump -vm`, event by event and in order.

mod common;

use fibula::IpPrefix;
use fibula_io::mrt::{Events, Origin, What};
use fibula_io::{Content, Source};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

/// The fields of an event that both sides have.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    kind: &'static str,
    time: String,
    peer: IpAddr,
    asn: u32,
    prefix: Option<IpPrefix>,
    path_id: Option<u32>,
    next_hop: Option<IpAddr>,
    origin: Option<Origin>,
    length: u32,
    states: Option<(u16, u16)>,
}

fn open(path: &Path) -> Content {
    Source::File(path.to_owned()).open(None).unwrap()
}

fn prefix(text: &str) -> IpPrefix {
    if text.contains(':') { IpPrefix::V6(text.parse().unwrap()) } else { IpPrefix::V4(text.parse().unwrap()) }
}

/// Returns the end and the length of an AS path as `bgpdump` writes it: `1 2 {3,4}`.
fn as_path(text: &str) -> (Origin, u32) {
    let words: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
    let origin = match words.last() {
        None => Origin::Local,
        Some(word) => match word.strip_prefix('{').and_then(|set| set.strip_suffix('}')) {
            Some(set) => {
                let numbers: BTreeSet<u32> = set.split(',').map(|number| number.parse().unwrap()).collect();
                Origin::Set(numbers.into_iter().collect())
            }
            None => Origin::As(word.parse().unwrap()),
        },
    };
    (origin, words.len() as u32)
}

fn reference(path: &Path) -> Vec<Line> {
    let read = |line: String| {
        let fields: Vec<&str> = line.split('|').collect();
        let kind = match fields[2] {
            "A" | "B" => "announce",
            "W" => "withdraw",
            "STATE" => "state",
            other => panic!("{other} in {line}"),
        };
        let (time, peer, asn) = (fields[1].into(), fields[3].parse().unwrap(), fields[4].parse().unwrap());
        let mut found = Line {
            kind,
            time,
            peer,
            asn,
            prefix: None,
            path_id: None,
            next_hop: None,
            origin: None,
            length: 0,
            states: None,
        };
        match kind {
            "state" => found.states = Some((fields[5].parse().unwrap(), fields[6].parse().unwrap())),
            "withdraw" => found.prefix = Some(prefix(fields[5])),
            _ => {
                found.prefix = Some(prefix(fields[5]));
                let add_path = fields[0].ends_with("_AP");
                found.path_id = add_path.then(|| fields[6].parse().unwrap());
                let at = 6 + usize::from(add_path);
                let (origin, length) = as_path(fields[at]);
                (found.origin, found.length) = (Some(origin), length);
                // `bgpdump` writes 255.255.255.255 where a message has no next hop.
                let next_hop = fields[at + 2].parse().unwrap();
                found.next_hop = Some(next_hop).filter(|a| *a != IpAddr::V4(Ipv4Addr::BROADCAST));
            }
        }
        found
    };
    BufReader::new(open(path)).lines().map(|line| read(line.unwrap())).collect()
}

/// The events, and the damage among them.
fn ours(path: &Path) -> (Vec<Line>, Vec<String>) {
    let micros = path.to_str().unwrap().contains("et-header");
    let line = |event: fibula_io::mrt::Event| {
        let time = if micros {
            format!("{}.{:06}", event.time.as_secs(), event.time.subsec_micros())
        } else {
            event.time.as_secs().to_string()
        };
        let mut line = Line {
            kind: "announce",
            time,
            peer: event.peer.address,
            asn: event.peer.asn,
            prefix: None,
            path_id: None,
            next_hop: None,
            origin: None,
            length: 0,
            states: None,
        };
        match event.what {
            What::Announce { prefix, path_id, path, .. } => {
                (line.prefix, line.path_id) = (Some(prefix), path_id);
                (line.next_hop, line.origin, line.length) = (path.next_hop, Some(path.origin), path.length);
            }
            What::Withdraw { prefix, path_id } => {
                (line.kind, line.prefix, line.path_id) = ("withdraw", Some(prefix), path_id);
            }
            // Which `bgpdump -m` does not print.
            What::Open | What::EndOfRib { .. } => return None,
            What::State { from, to } => (line.kind, line.states) = ("state", Some((from, to))),
        }
        Some(line)
    };
    let mut damaged = Vec::new();
    let events: Vec<_> =
        Events::new(open(path)).filter_map(|event| event.map_err(|d| damaged.push(d)).ok()).collect();
    (events.into_iter().filter_map(line).collect(), damaged.iter().map(ToString::to_string).collect())
}

fn compare(name: &str, expected_lines: usize) {
    compare_damaged(name, expected_lines, &[]);
}

fn compare_damaged(name: &str, expected_lines: usize, expected_damage: &[&str]) {
    let (Some(file), Some(text)) =
        (common::data(&format!("mrt/{name}.gz")), common::data(&format!("mrt/{name}.bgpdump.txt.gz")))
    else {
        return;
    };
    let ((ours, damage), reference) = (ours(&file), reference(&text));
    assert_eq!(damage, expected_damage, "{name}");
    assert_eq!(reference.len(), expected_lines, "{name}");
    for (number, (ours, reference)) in (1..).zip(ours.iter().zip(&reference)) {
        assert_eq!(ours, reference, "{name}, line {number} of the reference");
    }
    assert_eq!(ours.len(), reference.len(), "{name}");
}

#[test]
fn bview_64k_stream_overflow() {
    compare("bview.64k_stream_overflow", 23);
}
#[test]
fn bview_ipv4_unicast_add_path() {
    compare("bview.ipv4_unicast_add_path", 62);
}
#[test]
fn bview_ipv6_unicast_add_path() {
    compare("bview.ipv6_unicast_add_path", 62);
}
#[test]
fn updates_20020722() {
    compare("updates.20020722.2238", 3_337);
}
#[test]
fn updates_20070211() {
    compare("updates.20070211.0141", 53_657);
}
#[test]
fn updates_20071015() {
    compare("updates.20071015.1505", 10_496);
}
#[test]
fn updates_20100722() {
    compare("updates.20100722.2015", 5_654);
}
#[test]
fn updates_et_header() {
    compare("updates.et-header.2015", 577_744);
}
#[test]
fn updates_long_withdrawal() {
    compare("updates.long_withdrawal", 4_096);
}
#[test]
fn updates_nlri_mask_trailing_bits() {
    // The one list of prefixes has another length byte after the prefix that `bgpdump` prints, and
    // nothing after it.
    compare_damaged(
        "updates.nlri_mask_trailing_bits",
        1,
        &["byte 0: the announced prefixes cannot be read: a prefix is cut off"],
    );
}
