//! `fibula lookup`: the longest match of addresses.

use crate::exit::Verdict;
use crate::output::Output;
use crate::reading::{Reading, verdict};
use clap::Args;
use fibula::{Address, NextHops, Rib};
use fibula_io::Source;
use serde::Serialize;
use std::net::IpAddr;

/// Find the longest match of addresses: the prefix and its next hop or origin AS
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The table, a file or `-`
    #[arg(short, long)]
    table: String,
    /// The addresses, of either family
    #[arg(required = true, value_name = "ADDR")]
    addresses: Vec<IpAddr>,
    #[command(flatten)]
    reading: Reading,
}

/// One answer.
#[derive(Debug, Serialize)]
struct Row {
    address: String,
    prefix: Option<String>,
    next_hop: Option<String>,
}

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        let loaded = self.reading.read(&Source::from(self.table.as_str()))?;
        let tables = &loaded.tables;
        output.rows(self.addresses.iter().map(|address| match address {
            IpAddr::V4(ip) => row(&tables.ipv4, &tables.next_hops, ip.to_bits()),
            IpAddr::V6(ip) => row(&tables.ipv6, &tables.next_hops, ip.to_bits()),
        }))?;
        Ok(verdict(&loaded))
    }
}

fn row<A: Address>(rib: &Rib<A>, next_hops: &NextHops, address: A) -> Row {
    let route = rib.longest_match(address);
    Row {
        address: address.to_ip().to_string(),
        prefix: route.map(|route| route.prefix.to_string()),
        next_hop: route.and_then(|route| next_hops.get(route.next_hop)).map(ToString::to_string),
    }
}
