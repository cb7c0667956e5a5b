//! A compiled table in a file that several processes map. Nothing is parsed: they answer from the
//! same pages of memory. This program writes the file, and starts itself twice to read it.
//!
//! ```text
//! written: 2 routes, engine poptrie
//! process 1: 198.51.100.7 via AS64501
//! process 1: 198.51.100.200 via AS64502
//! process 2: 198.51.100.7 via AS64501
//! process 2: 203.0.113.9 via nothing
//! ```

use fibula::snapshot::{Image, Snapshot};
use fibula::{Fib, NextHopInfo, NextHops, Rib};
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;

/// What each process is asked.
const ASKED: [(&str, [&str; 2]); 2] =
    [("1", ["198.51.100.7", "198.51.100.200"]), ("2", ["198.51.100.7", "203.0.113.9"])];

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [path, number, addresses @ ..] => answer(Path::new(path), number, addresses),
        _ => write_and_share(),
    }
}

fn write_and_share() -> anyhow::Result<()> {
    let mut next_hops = NextHops::new();
    let mut rib: Rib<u32> = Rib::new();
    for (prefix, origin) in [("198.51.100.0/24", "64501"), ("198.51.100.128/25", "64502")] {
        rib.insert(prefix.parse()?, next_hops.intern(NextHopInfo::parse(origin))?);
    }
    let fib = Fib::build("poptrie", &rib)?;

    // The name stands for the whole old file or the whole new one at any moment, so readers may
    // open it while it is replaced.
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("table.fib");
    fibula_io::snapshot::write(&Image::new(&next_hops).with(&fib, &rib, false)?, &path)?;
    println!("written: {} routes, engine {}", rib.len(), fib.specification());

    let program = std::env::current_exe()?;
    for (number, addresses) in ASKED {
        let status = Command::new(&program).arg(&path).arg(number).args(addresses).status()?;
        anyhow::ensure!(status.success(), "process {number}: {status}");
    }
    Ok(())
}

fn answer(path: &Path, number: &str, addresses: &[String]) -> anyhow::Result<()> {
    let snapshot = Snapshot::open(path)?;
    let view = snapshot.view::<u32>()?;
    for address in addresses {
        let next_hop = view.lookup(address.parse::<Ipv4Addr>()?);
        let found = next_hop.and_then(|next_hop| snapshot.next_hop(next_hop));
        let origin = found.map_or("nothing".to_owned(), |origin| format!("AS{origin}"));
        println!("process {number}: {address} via {origin}");
    }
    Ok(())
}
