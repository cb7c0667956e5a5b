//! Many routing tables in one process, as a provider's edge router has them: one for each customer,
//! whose addresses overlap. One batch mixes the packets of all of them.
//!
//! ```text
//! red   10.1.2.3 via 192.0.2.1
//! blue  10.1.2.3 via 192.0.2.2
//! red   172.16.0.1 dropped
//! blue  172.16.0.1 via 192.0.2.3
//! green 10.1.2.3 dropped
//! 3 tables
//! ```

use fibula::table_set::{Mixed, TableSet};
use fibula::{NextHop, NextHopInfo, NextHops, Rib};
use std::net::Ipv4Addr;

const ROUTES: [(&str, &[(&str, &str)]); 3] = [
    ("red", &[("10.0.0.0/8", "192.0.2.1")]),
    ("blue", &[("10.1.0.0/16", "192.0.2.2"), ("172.16.0.0/12", "192.0.2.3")]),
    ("green", &[]),
];

const PACKETS: [(&str, &str); 5] = [
    ("red", "10.1.2.3"),
    ("blue", "10.1.2.3"),
    ("red", "172.16.0.1"),
    ("blue", "172.16.0.1"),
    ("green", "10.1.2.3"),
];

fn main() -> anyhow::Result<()> {
    let mut next_hops = NextHops::new();
    let mut tables: TableSet<u32> = TableSet::new("best")?;
    let mut ids = Vec::new();
    for (customer, routes) in ROUTES {
        let mut rib: Rib<u32> = Rib::new();
        for (prefix, gateway) in routes {
            rib.insert(prefix.parse()?, next_hops.intern(NextHopInfo::parse(gateway))?);
        }
        let id = tables.create();
        tables.set(id, &rib)?;
        ids.push((customer, id));
    }

    // An id beside every address. The batch is sorted by table once, whatever the number of tables.
    let (mut of_packets, mut addresses) = (Vec::new(), Vec::new());
    for (customer, address) in PACKETS {
        of_packets.extend(ids.iter().filter(|(name, _)| *name == customer).map(|&(_, id)| id));
        addresses.push(address.parse::<Ipv4Addr>()?.to_bits());
    }
    let mut answers = [NextHop::NONE; PACKETS.len()];
    tables.lookup_batch(&of_packets, &addresses, &mut answers, &mut Mixed::default());

    for ((customer, address), answer) in PACKETS.into_iter().zip(answers) {
        match next_hops.get(answer) {
            Some(gateway) => println!("{customer:5} {address} via {gateway}"),
            None => println!("{customer:5} {address} dropped"),
        }
    }
    println!("{} tables", tables.len());
    Ok(())
}
