//! A full table from BGP to packets: FRR decides, `fibula router` forwards, and every step is
//! compared and timed. It takes root and Debian's package `frr`.
//!
//! ```sh
//! cargo xtask router-full --minutes 60
//! ```
//! runs it as `full --program FIBULA --minutes N --kills N [TABLE...]`. Without a table of a family
//! it makes one of a like size.
//!
//! ```text
//!     client                          router                            server
//!   ┌──────────┐   ┌───────────────────────────────────┐   ┌──────────────────────────────┐
//!   │ packets  c0 ── r0     bgpd ─▶ zebra ─▶ kernel    │   │ BGP speaker, AS 65001        │
//!   └──────────┘   │          ▲       │               r1 ── s0 10.2.0.2, 25 gateways      │
//!                  │         BGP     FPM               │   │                              │
//!                  │          │       ▼               r2 ── s1 10.3.0.2, 25 gateways      │
//!                  │      speakers  fibula router      │   │ BGP speaker, AS 65002        │
//!                  └───────────────────────────────────┘   └──────────────────────────────┘
//! ```
//! The router's kernel has every route, and forwards nothing: what arrives was forwarded by the
//! plane.

mod bgp;
#[path = "../../tests/churn/mod.rs"]
mod churn;
#[path = "../../tests/common/mod.rs"]
mod common;
mod compare;
#[path = "../../tests/daemons/mod.rs"]
mod daemons;
mod network;
mod sessions;
mod storm;
mod table;
#[path = "../../tests/traffic/mod.rs"]
mod traffic;
mod withdraw;

use anyhow::{Context, bail, ensure};
use churn::Churn;
use fibula_io::table::Tables;
use hdrhistogram::Histogram;
use network::Network;
use std::path::PathBuf;
use storm::Calm;

/// The addresses of each family that are compared.
const ADDRESSES: usize = 100_000;

/// The routes of each family that come and go.
const FICKLE: usize = 10_000;

/// The destinations of each family that packets go to.
const DESTINATIONS: usize = 1024;

/// What was asked for.
#[derive(Debug)]
struct Arguments {
    program: PathBuf,
    minutes: usize,
    kills: u32,
    tables: Vec<String>,
}

impl Arguments {
    fn parse() -> anyhow::Result<Self> {
        let mut all = Self { program: PathBuf::new(), minutes: 1, kills: 50, tables: Vec::new() };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} needs a value"));
            match word.as_str() {
                "--program" => all.program = value()?.into(),
                "--minutes" => all.minutes = value()?.parse().context("--minutes")?,
                "--kills" => all.kills = value()?.parse().context("--kills")?,
                option if option.starts_with('-') => {
                    bail!("usage: full --program FIBULA [--minutes N] [--kills N] [TABLE...]")
                }
                _ => all.tables.push(word),
            }
        }
        Ok(all)
    }
}

/// Prints a figure.
fn say(what: &str, figure: impl AsRef<str>) {
    println!("{what:<52} {}", figure.as_ref());
}

/// Returns the median and the 99th percentile of nanoseconds.
fn microseconds(histogram: &Histogram<u64>) -> String {
    let at = |quantile| histogram.value_at_quantile(quantile) as f64 / 1e3;
    format!("p50 {:.0} us, p99 {:.0} us ({} samples)", at(0.5), at(0.99), histogram.len())
}

/// As [`microseconds`], of what came since `before`.
fn latency(now: &Histogram<u64>, before: &Histogram<u64>) -> anyhow::Result<String> {
    let mut since = now.clone();
    since.subtract(before)?;
    Ok(microseconds(&since))
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse()?;
    let tables = table::load(&arguments.tables)?;
    let count = tables.ipv4.len() + tables.ipv6.len();
    say("routes", format!("{} IPv4, {} IPv6", tables.ipv4.len(), tables.ipv6.len()));
    let churn = Churn::new(&tables, FICKLE, DESTINATIONS, table::way);
    let Some(mut network) = Network::start(&arguments.program)? else { return Ok(()) };
    let mut speakers = network.speakers()?;
    sessions::load(&network, &mut speakers, &tables)?;
    let mut faults = compare(&network, &tables)?;
    sessions::replay(&network)?;
    storm::resolve(&network, &churn)?;
    faults += withdraw::withdraw(&network, &mut speakers)?;
    let calm = Calm { speakers, churn };
    let (calm, of_soak) = storm::soak(&network, calm, arguments.minutes)?;
    let (mut calm, of_kills) = storm::kill(&mut network, calm, arguments.kills)?;
    storm::restore(&network, &mut calm, count)?;
    faults += of_soak + of_kills + compare(&network, &tables)?;
    ensure!(faults == 0, "{faults} faults");
    Ok(())
}

/// Compares the plane with the kernel. Returns how many answers differ.
fn compare(network: &Network, tables: &Tables) -> anyhow::Result<u64> {
    let [ipv4, ipv6] = compare::compare(network, tables, ADDRESSES)?;
    say("compared with the kernel and the table, IPv4", ipv4.to_string());
    say("compared with the kernel and the table, IPv6", ipv6.to_string());
    Ok((ipv4.different + ipv6.different) as u64)
}
