//! Adds the network and its owner to each line of an access log, in both address families.
//!
//! ```text
//! 198.51.100.7 GET / 200 198.51.100.0/24 Antwerp office
//! 198.51.100.200 GET /login 403 198.51.100.192/26 Antwerp guests
//! 2001:db8:7::1 GET / 200 2001:db8::/32 Ghent office
//! 203.0.113.9 GET /admin 404 - unknown
//! lines by owner: Antwerp guests 1, Antwerp office 1, Ghent office 1
//! ```

use fibula::{IpPrefix, Table};
use std::net::IpAddr;

const NETWORKS: &str = "\
198.51.100.0/24 Antwerp office
198.51.100.192/26 Antwerp guests
2001:db8::/32 Ghent office";

const LOG: &str = "\
198.51.100.7 GET / 200
198.51.100.200 GET /login 403
2001:db8:7::1 GET / 200
203.0.113.9 GET /admin 404";

struct Network<'n> {
    owner: &'n str,
    lines: u32,
}

fn main() -> anyhow::Result<()> {
    let mut networks: Table<Network<'_>> = Table::new();
    for line in NETWORKS.lines() {
        let (prefix, owner) = line.split_once(' ').unwrap_or((line, ""));
        networks.insert(prefix.parse::<IpPrefix>()?, Network { owner, lines: 0 });
    }

    for line in LOG.lines() {
        let (client, _) = line.split_once(' ').unwrap_or((line, ""));
        match networks.lookup_mut(client.parse::<IpAddr>()?) {
            Some((prefix, network)) => {
                network.lines += 1;
                println!("{line} {prefix} {}", network.owner);
            }
            None => println!("{line} - unknown"),
        }
    }

    let mut by_owner: Vec<String> =
        networks.values().map(|network| format!("{} {}", network.owner, network.lines)).collect();
    by_owner.sort();
    println!("lines by owner: {}", by_owner.join(", "));
    Ok(())
}
