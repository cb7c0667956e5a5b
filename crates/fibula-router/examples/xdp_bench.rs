//! Measures lookups and packets of the XDP program beside the kernel's trie:
//! `cargo run --release -p fibula-router --example xdp_bench -- TABLE4 TABLE6 [NEXT_HOPS]`.
//!
//! It needs root. It makes its interfaces in a network namespace of its own, which ends with it.

use fibula::{Address, NextHop, Rib, Route};
use fibula_image::table::any::compile;
use fibula_io::Source;
use fibula_io::table::{ReadOptions, read};
use fibula_io::trace::{TraceKind, generate};
use fibula_router::plane::xdp::study::{self, Row, Way, Workload};
use nix::sched::{CloneFlags, unshare};
use std::error::Error;

/// The addresses of each family.
const ADDRESSES: usize = 1 << 20;

/// The rounds of which a figure is the median.
const ROUNDS: usize = 11;

/// The packets of a round.
const PACKETS: u32 = 1 << 17;

/// Returns the routes with `count` next hops: those of one value keep one, and neighbours are as
/// alike as before.
fn with_next_hops<A: Address>(rib: &Rib<A>, count: u32) -> Rib<A> {
    let next_hop = |route: Route<A>| NextHop(1 + route.next_hop.0 % count);
    rib.iter().map(|route| Route { next_hop: next_hop(route), ..route }).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [table4, table6, rest @ ..] = &arguments[..] else {
        return Err("usage: xdp_bench TABLE4 TABLE6 [NEXT_HOPS]".into());
    };
    let count: u32 = rest.first().map_or(Ok(200), |count| count.parse())?;
    let table = |path: &String| read(&Source::File(path.into()), &ReadOptions::default());
    let ipv4 = with_next_hops(&table(table4)?.tables.ipv4, count);
    let ipv6 = with_next_hops(&table(table6)?.tables.ipv6, count);
    let addresses4 = generate(&TraceKind::Prefix, &ipv4, ADDRESSES, 1)?;
    let addresses6 = generate(&TraceKind::Prefix, &ipv6, ADDRESSES, 1)?;
    let workload = Workload { ipv4: &ipv4, ipv6: &ipv6, addresses4: &addresses4, addresses6: &addresses6 };
    let bytes = |image: fibula_image::Image<'_>| image.bytes() as f64 / f64::from(1 << 20);
    println!(
        "tables of {:.1} and {:.1} MiB",
        bytes(compile("gpu-mosaic", None, &ipv4)?.image()),
        bytes(compile("gpu-mosaic6", None, &ipv6)?.image())
    );
    unshare(CloneFlags::CLONE_NEWNET)?;
    let mut study = study::prepare(&workload)?;
    println!(
        "{} IPv4 and {} IPv6 routes, {count} next hops; {ADDRESSES} answers of each compared",
        ipv4.len(),
        ipv6.len()
    );
    println!("medians of {ROUNDS} rounds in turn; addresses drawn from the prefixes");
    shown("lookup inside the program", &study.lookups(ROUNDS)?);
    shown("packet, generator and sink included", &study.packets(ROUNDS, PACKETS)?);
    Ok(())
}

/// Prints rows, and how many times as fast as the kernel's trie each is.
fn shown(what: &str, rows: &[Row]) {
    println!("\n{what}");
    for row in rows {
        let trie = rows.iter().find(|other| other.is_ipv4 == row.is_ipv4 && other.way == Way::Trie);
        let times = trie.map_or(1.0, |trie| trie.nanoseconds / row.nanoseconds);
        let family = if row.is_ipv4 { "IPv4" } else { "IPv6" };
        let (way, nanoseconds) = (row.way, row.nanoseconds);
        println!(
            "{family}  {way:10} {nanoseconds:8.1} ns {:8.2} M/s {times:6.1} times LPM_TRIE",
            1e3 / nanoseconds
        );
    }
}
