//! The table that the speakers announce, and where each of its routes leads.

use crate::bgp::{Path, Speaker};
use fibula::{Address, IpPrefix, NextHop, Prefix, Rib};
use fibula_io::Source;
use fibula_io::generate::{NextHopModel, Size, internet};
use fibula_io::table::{ReadOptions, Tables, read};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The gateways of each way and family.
pub(crate) const GATEWAYS: u32 = 25;

/// The values of a made table: as many as a full table has origins.
const VALUES: u32 = 72_000;

/// The AS of each way's speaker.
pub(crate) const ASN: [u32; 2] = [65_001, 65_002];

/// The first of the numbers that values of the table have as origins.
const ORIGIN: u32 = 100_000;

/// Returns the way that a value of the table leads.
pub(crate) fn way(value: NextHop) -> usize {
    value.0 as usize % 2
}

/// Returns the n-th gateway of a way.
pub(crate) fn nth_gateway(way: usize, n: u32, is_ipv6: bool) -> IpAddr {
    let network = 2 + way as u32;
    if is_ipv6 {
        let network = (0xFD00 + u128::from(network)) << 112;
        Ipv6Addr::from(network + 0x101 + u128::from(n)).into()
    } else {
        Ipv4Addr::from((10 << 24) + (network << 16) + 101 + n).into()
    }
}

/// Returns the path of a value of the table.
pub(crate) fn path(value: NextHop, is_ipv6: bool) -> Path {
    let gateway = nth_gateway(way(value), value.0 / 2 % GATEWAYS, is_ipv6);
    Path { gateway, origin: ORIGIN + value.0 }
}

/// Reads tables, or makes some. Routes that a router has no use for are left out.
pub(crate) fn load(files: &[String]) -> anyhow::Result<Tables> {
    let mut tables = internet(Size::FULL, NextHopModel::Near(VALUES), 1)?;
    for file in files {
        let read = read(&Source::from(file.as_str()), &ReadOptions::default())?.tables;
        if !read.ipv4.is_empty() {
            tables.ipv4 = read.ipv4;
        }
        if !read.ipv6.is_empty() {
            tables.ipv6 = read.ipv6;
        }
    }
    tables.ipv4 = tables.ipv4.iter().filter(|route| is_public4(route.prefix)).collect();
    tables.ipv6 = tables.ipv6.iter().filter(|route| is_public6(route.prefix)).collect();
    Ok(tables)
}

fn is_public4(prefix: Prefix<u32>) -> bool {
    let link_local: Prefix<u32> = Prefix::containing(0xA9FE_0000, 16);
    let first = prefix.first() >> 24;
    prefix.len() >= 8
        && !matches!(first, 0 | 10 | 127 | 224..)
        && !prefix.covers(link_local)
        && !link_local.covers(prefix)
}

fn is_public6(prefix: Prefix<u128>) -> bool {
    prefix.len() >= 3 && prefix.first() >> 125 == 1
}

/// Returns the updates of the routes that lead a way.
pub(crate) fn updates(tables: &Tables, speaker: &Speaker, of: usize) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut add = |value, prefixes: Vec<IpPrefix>, is_ipv6| {
        bytes.extend(speaker.announce(path(value, is_ipv6), &prefixes)?);
        anyhow::Ok(())
    };
    for (value, prefixes) in by_value(&tables.ipv4, of) {
        add(value, prefixes, false)?;
    }
    for (value, prefixes) in by_value(&tables.ipv6, of) {
        add(value, prefixes, true)?;
    }
    Ok(bytes)
}

fn by_value<A: Address>(rib: &Rib<A>, of: usize) -> BTreeMap<NextHop, Vec<IpPrefix>>
where
    IpPrefix: From<Prefix<A>>,
{
    let mut prefixes: BTreeMap<NextHop, Vec<IpPrefix>> = BTreeMap::new();
    for route in rib.iter().filter(|route| way(route.next_hop) == of) {
        prefixes.entry(route.next_hop).or_default().push(route.prefix.into());
    }
    prefixes
}
