//! What payloads of RPKI say of random routes, beside BIRD's `roa_check`.
//!
//! ```text
//!   random payloads ──▶ CSV ──▶ Vrps ──▶ validity of each route ─┐
//!          └──▶ BIRD's tables ──▶ show route where roa_check ────▶┴▶ equal
//! ```
//!
//! The test is skipped where BIRD is not installed. `FIBULA_ROUTES=100000 cargo test -p fibula-io
//! --test rov_bird` takes that many routes, and half as many payloads.
#![cfg(target_os = "linux")]

#[path = "common/running.rs"]
mod running;

use fastrand::Rng;
use fibula::{IpPrefix, Prefix};
use fibula_io::rov::{Validity, Vrps};
use fibula_io::table::ReadOptions;
use running::{Running, kept, printed};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

/// How long BIRD may take to read its configuration.
const PATIENCE: Duration = Duration::from_mins(2);

/// Draws a prefix, of one of `blocks` /8s of IPv4 or /40s of IPv6.
fn prefix(random: &mut Rng, lengths: [u8; 2], blocks: u32) -> IpPrefix {
    let length = random.u8(lengths[0]..=lengths[1]);
    let bits = (random.u32(..blocks) + 1) << 24 | random.u32(..1 << 24);
    if random.bool() {
        return Prefix::masked(bits, length).unwrap().into();
    }
    Prefix::masked(0x2001_0db8 << 96 | u128::from(bits) << 64, 32 + length).unwrap().into()
}

/// Draws a prefix within another one, of a length up to `most`.
fn within(random: &mut Rng, prefix: IpPrefix, most: u8) -> IpPrefix {
    let length = random.u8(prefix.len()..=most);
    match prefix {
        IpPrefix::V4(prefix) => {
            Prefix::masked(random.u32(prefix.first()..=prefix.last()), length).unwrap().into()
        }
        IpPrefix::V6(prefix) => {
            Prefix::masked(random.u128(prefix.first()..=prefix.last()), length).unwrap().into()
        }
    }
}

/// Returns the prefixes that BIRD shows in the table of a family.
fn shown(bird: &Running, is_ipv6: bool, condition: &str) -> BTreeSet<IpPrefix> {
    let table = if is_ipv6 { "master6" } else { "master4" };
    let mut command = Command::new("birdc");
    command.arg("-s").arg(bird.at("ctl")).args(["show", "route", "table", table, "where", condition]);
    let text = String::from_utf8(printed(&mut command)).unwrap();
    text.lines().filter_map(|line| line.split(' ').next()?.parse().ok()).collect()
}

#[test]
fn bird_finds_each_origin_as_valid() {
    let Some(mut bird) = Running::new("bird", "--version") else { return };
    let count = env::var("FIBULA_ROUTES").map_or(2_000, |text| text.parse().expect("a number"));
    let (random, blocks) = (&mut Rng::with_seed(1), (count / 1_000).clamp(1, 100));
    let origin = |random: &mut Rng| if random.u8(..16) == 0 { 0 } else { random.u32(64_500..64_508) };
    let mut payloads: BTreeSet<(IpPrefix, u8, u32)> = BTreeSet::new();
    for _ in 0..count / 2 {
        let prefix = prefix(random, [16, 24], blocks);
        let most = random.u8(prefix.len()..=prefix.len() + 4);
        payloads.insert((prefix, most, origin(random)));
    }
    let mut routes: BTreeMap<IpPrefix, u32> = BTreeMap::new();
    let all: Vec<(IpPrefix, u8, u32)> = payloads.iter().copied().collect();
    while routes.len() < count as usize {
        let (covering, most, asn) = all[random.usize(..all.len())];
        if random.bool() {
            routes.insert(within(random, covering, most + 1), asn);
        } else {
            routes.insert(prefix(random, [14, 28], blocks), origin(random));
        }
    }

    let mut csv = "ASN,IP Prefix,Max Length\n".to_owned();
    let mut text = "router id 192.0.2.1;\nroa4 table of4;\nroa6 table of6;\n".to_owned();
    for (prefix, most, asn) in &payloads {
        writeln!(csv, "AS{asn},{prefix},{most}").unwrap();
    }
    for family in [4, 6] {
        let is_of = |prefix: &IpPrefix| matches!(prefix, IpPrefix::V6(_)) == (family == 6);
        writeln!(text, "protocol static {{ roa{family} {{ table of{family}; }};").unwrap();
        for (prefix, most, asn) in payloads.iter().filter(|(prefix, ..)| is_of(prefix)) {
            writeln!(text, "  route {prefix} max {most} as {asn};").unwrap();
        }
        writeln!(text, "}}\nprotocol static {{ ipv{family};").unwrap();
        for (prefix, asn) in routes.iter().filter(|(prefix, _)| is_of(prefix)) {
            writeln!(text, "  route {prefix} blackhole {{ igp_metric = {asn}; }};").unwrap();
        }
        text += "}\n";
    }
    fs::write(bird.at("conf"), &text).unwrap();
    let mut command = Command::new("bird");
    command.arg("-f").arg("-c").arg(bird.at("conf")).arg("-s").arg(bird.at("ctl"));
    command.arg("-P").arg(bird.at("pid"));
    bird.start(&mut command);
    let end = Instant::now() + PATIENCE;
    let all = |bird: &Running| [false, true].map(|is_ipv6| shown(bird, is_ipv6, "true").len());
    while all(&bird).iter().sum::<usize>() < routes.len() {
        let log = fs::read_to_string(bird.at("log")).unwrap();
        assert!(Instant::now() < end, "BIRD has {:?} of {} routes: {log}", all(&bird), routes.len());
        thread::sleep(Duration::from_millis(100));
    }

    let (vrps, _) = Vrps::parse(csv.as_bytes(), &ReadOptions::default()).unwrap();
    let mut ours: BTreeMap<&str, BTreeSet<IpPrefix>> = BTreeMap::new();
    for (&prefix, &asn) in &routes {
        let state = match vrps.validity(prefix, Some(asn)) {
            Validity::Valid => "ROA_VALID",
            Validity::InvalidAs | Validity::InvalidLength => "ROA_INVALID",
            Validity::NotFound => "ROA_UNKNOWN",
        };
        ours.entry(state).or_default().insert(prefix);
    }
    assert_eq!(ours.len(), 3);
    for (state, ours) in ours {
        let theirs: BTreeSet<IpPrefix> = [4, 6]
            .into_iter()
            .flat_map(|family| {
                shown(&bird, family == 6, &format!("roa_check(of{family}, net, igp_metric) = {state}"))
            })
            .collect();
        let different: Vec<&IpPrefix> = ours.symmetric_difference(&theirs).collect();
        if !different.is_empty() {
            let folder = kept(&[("conf".to_owned(), text.clone().into_bytes())]);
            panic!("{state} differs for {} routes, as {:?}: {folder}", different.len(), different[0]);
        }
        println!("{state}: 0 different of {} routes", ours.len());
    }
}
