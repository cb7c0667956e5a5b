//! What routing programs print of random routes, read back, beside the kernel that has them.
//!
//! ```text
//!   random routes ──▶ ip route, FRR, BIRD ──▶ the kernel of a namespace ── ip route get ─┐
//!                         └─ text, JSON, details ──▶ read ──▶ an answer each ────────────▶┴▶ equal
//! ```
//!
//! Nobody here wrote these judges: each prints a table in ways of its own, and the kernel forwards
//! by it. Each test is skipped where its program is not installed, or where no namespace can be
//! made. `FIBULA_ROUTES=10000 FIBULA_SEEDS=5 cargo test -p fibula-io --test printed` takes that
//! many routes of that many seeds.
#![cfg(target_os = "linux")]

#[path = "printed/drawn.rs"]
mod drawn;
#[path = "printed/kernel.rs"]
mod kernel;
#[path = "printed/programs.rs"]
mod programs;
#[path = "common/running.rs"]
mod running;
#[path = "printed/sets.rs"]
mod sets;

use drawn::Drawn;
use fibula::NextHop;
use fibula_io::table::{self, Loaded, ReadOptions, Value};
use kernel::Space;
use programs::{Bird, Frr, Iproute2, Program};
use running::kept;
use sets::{Firewall, IPSET, NFT};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::thread;
use std::time::{Duration, Instant};

fn from_environment(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().expect("a number"))
}

fn next_hop(loaded: &Loaded, address: IpAddr) -> Option<NextHop> {
    match address {
        IpAddr::V4(address) => {
            loaded.tables.ipv4.longest_match(address.to_bits()).map(|route| route.next_hop)
        }
        IpAddr::V6(address) => {
            loaded.tables.ipv6.longest_match(address.to_bits()).map(|route| route.next_hop)
        }
    }
}

/// The next hops of an address, as `gateway device`, or the type of a route that does not forward.
fn answers(loaded: &Loaded, address: IpAddr) -> BTreeSet<String> {
    let Some(next_hop) = next_hop(loaded, address) else { return BTreeSet::new() };
    let list = loaded.tables.next_hops.get(next_hop).unwrap().to_string();
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    let hops = list.as_array().unwrap().iter();
    hops.filter_map(|hop| kernel::fate(hop["type"].as_str(), hop["via"].as_str(), hop["dev"].as_str()))
        .collect()
}

/// Returns what differs: between the ways in which a program prints its routes, and between them
/// and the kernel.
fn differences(texts: &[(String, Vec<u8>)], kernel: &[(IpAddr, Option<String>)]) -> Vec<String> {
    let options = ReadOptions { value: Value::NextHops, ..ReadOptions::default() };
    let mut read: Vec<(&str, bool, Loaded)> = Vec::new();
    for (name, text) in texts {
        match table::parse(text, &options) {
            Ok(loaded) => read.push((name, name.contains('6'), loaded)),
            Err(error) => return vec![format!("{name}: {error}")],
        }
    }
    let mut differences = Vec::new();
    for (address, fate) in kernel {
        for (name, _, loaded) in read.iter().filter(|(_, is_ipv6, _)| *is_ipv6 == address.is_ipv6()) {
            let answers = answers(loaded, *address);
            let is_right = fate.as_ref().map_or(answers.is_empty(), |fate| answers.contains(fate));
            let first = read.iter().find(|(_, is_ipv6, _)| *is_ipv6 == address.is_ipv6()).unwrap();
            let other = self::answers(&first.2, *address);
            if !is_right || other != answers {
                differences.push(format!(
                    "{address}: by `{name}` {answers:?}, by `{}` {other:?}, the kernel {fate:?}",
                    first.0
                ));
            }
        }
    }
    differences
}

/// Has a program install random routes, and compares what it prints with what the kernel does.
fn judged(program: impl Fn() -> Option<Box<dyn Program>>) {
    // FRR takes minutes to read some thousands of lines.
    const LONGEST: Duration = Duration::from_mins(5);
    let count = from_environment("FIBULA_ROUTES", 300) as usize;
    for seed in 1..=from_environment("FIBULA_SEEDS", 1) {
        let Some(mut program) = program() else { return };
        let Some(space) = Space::new(program.name()) else { return };
        let random = &mut fastrand::Rng::with_seed(seed);
        let routes: Vec<Drawn> = (0..count).map(|_| Drawn::new(random)).collect();
        program.install(&space, &routes, random);
        let mut addresses: Vec<IpAddr> = routes.iter().flat_map(|route| route.addresses(random)).collect();
        addresses.extend(drawn::elsewhere());
        let end = Instant::now() + LONGEST;
        loop {
            let (texts, fates) = (program.texts(&space), space.fates(&addresses));
            let kernel: Vec<_> = addresses.iter().copied().zip(fates).collect();
            let differences = differences(&texts, &kernel);
            if differences.is_empty() {
                let bytes: usize = texts.iter().map(|(_, text)| text.len()).sum();
                println!(
                    "{}, seed {seed}: 0 different of {} addresses in {} texts of {bytes} bytes",
                    program.name(),
                    addresses.len(),
                    texts.len()
                );
                break;
            }
            // A daemon installs routes some time after it was told of them.
            if Instant::now() > end || !program.is_asynchronous() {
                let folder = kept(&texts);
                let shown = differences[..differences.len().min(12)].join("\n");
                panic!(
                    "{}, seed {seed}: {} differ:\n{shown}\nwhat it printed is in {}",
                    program.name(),
                    differences.len(),
                    folder
                );
            }
            thread::sleep(Duration::from_millis(500));
        }
    }
}

#[test]
fn what_iproute2_prints() {
    judged(|| Iproute2::new().map(|program| Box::new(program) as _));
}

#[test]
fn what_frr_prints() {
    judged(|| Frr::new().map(|program| Box::new(program) as _));
}

#[test]
fn what_bird_prints() {
    judged(|| Bird::new().map(|program| Box::new(program) as _));
}

/// Has a firewall keep sets, and compares what it prints with what it finds.
fn found(firewall: &Firewall) {
    let count = from_environment("FIBULA_ROUTES", 300) as usize;
    for seed in 1..=from_environment("FIBULA_SEEDS", 1) {
        let Some(space) = Space::new(firewall.name) else { return };
        let random = &mut fastrand::Rng::with_seed(seed);
        let routes: Vec<Drawn> = (0..count).map(|_| Drawn::new(random)).collect();
        if !firewall.load(&space, &routes, random) {
            return;
        }
        let mut addresses: Vec<IpAddr> = routes.iter().flat_map(|route| route.addresses(random)).collect();
        addresses.extend(drawn::elsewhere());
        let members: Vec<(IpAddr, bool)> =
            addresses.into_iter().map(|address| (address, firewall.has(&space, address))).collect();
        for question in firewall.questions {
            let text = firewall.text(&space, question);
            let loaded = table::parse(&text, &ReadOptions::default());
            let loaded = loaded.unwrap_or_else(|error| panic!("{} {question}: {error}", firewall.name));
            let differs =
                |(address, is_in): &&(IpAddr, bool)| next_hop(&loaded, *address).is_some() != *is_in;
            let differ: Vec<_> = members.iter().filter(differs).collect();
            if !differ.is_empty() {
                let folder = kept(&[((*question).to_owned(), text)]);
                panic!(
                    "{} {question}, seed {seed}: {differ:?}\nwhat it printed is in {folder}",
                    firewall.name
                );
            }
        }
        println!("{}, seed {seed}: 0 different of {} addresses", firewall.name, members.len());
    }
}

#[test]
fn what_ipset_prints() {
    found(&IPSET);
}

#[test]
fn what_nft_prints() {
    found(&NFT);
}
