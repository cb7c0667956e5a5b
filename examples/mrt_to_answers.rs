//! From a route collector's dump (MRT) to answers: who originates the network of an address? The
//! dump is made here, of three routes. Give `table::read` the path of a real one, compressed or
//! not, from RouteViews or RIPE RIS.
//!
//! ```text
//! read 3 routes as mrt
//! 198.51.100.7: 198.51.100.0/24 from AS64501
//! 198.51.100.200: 198.51.100.128/25 from AS64502
//! 203.0.113.9: 203.0.113.0/24 from AS64503
//! 192.0.2.1: nobody
//! ```

use fibula::{NextHopInfo, Prefix, Table};
use fibula_io::Source;
use fibula_io::table::{self, ReadOptions, Value};
use std::net::Ipv4Addr;

/// Returns one route as a record of type TABLE_DUMP (RFC 6396, section 4.2).
fn record(prefix: Prefix<u32>, path: &[u16]) -> Vec<u8> {
    let mut attributes = vec![0x40, 1, 1, 0]; // ORIGIN: IGP
    // AS_PATH: one sequence.
    attributes.extend([0x40, 2, 2 + 2 * path.len() as u8, 2, path.len() as u8]);
    attributes.extend(path.iter().flat_map(|asn| asn.to_be_bytes()));
    attributes.extend([0x40, 3, 4, 192, 0, 2, 254]); // NEXT_HOP

    let mut body = vec![0, 0, 0, 0]; // view, sequence
    body.extend(prefix.first().to_be_bytes());
    body.extend([prefix.len(), 1]); // status
    body.extend([0, 0, 0, 0]); // originated
    body.extend([192, 0, 2, 254]); // peer
    body.extend(path[0].to_be_bytes());
    body.extend((attributes.len() as u16).to_be_bytes());
    body.extend(attributes);

    let mut record = vec![0, 0, 0, 0]; // time
    record.extend([0, 12, 0, 1]); // TABLE_DUMP, IPv4
    record.extend((body.len() as u32).to_be_bytes());
    record.extend(body);
    record
}

fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("rib.mrt");
    let routes = [
        record("198.51.100.0/24".parse()?, &[64500, 64501]),
        record("198.51.100.128/25".parse()?, &[64500, 64502]),
        record("203.0.113.0/24".parse()?, &[64500, 64496, 64503]),
    ];
    std::fs::write(&path, routes.concat())?;

    // The format is recognised by content.
    let options = ReadOptions { value: Value::OriginAs, ..ReadOptions::default() };
    let loaded = table::read(&Source::File(path), &options)?;
    println!("read {} routes as {}", loaded.tables.ipv4.len(), loaded.format);

    let origin = |next_hop| loaded.tables.next_hops.get(next_hop);
    let mut origins: Table<&NextHopInfo> = Table::new();
    origins.extend(loaded.tables.ipv4.iter().filter_map(|r| Some((r.prefix, origin(r.next_hop)?))));
    origins.extend(loaded.tables.ipv6.iter().filter_map(|r| Some((r.prefix, origin(r.next_hop)?))));

    for text in ["198.51.100.7", "198.51.100.200", "203.0.113.9", "192.0.2.1"] {
        let address: Ipv4Addr = text.parse()?;
        match origins.lookup(address) {
            Some((prefix, origin)) => println!("{address}: {prefix} from AS{origin}"),
            None => println!("{address}: nobody"),
        }
    }
    Ok(())
}
