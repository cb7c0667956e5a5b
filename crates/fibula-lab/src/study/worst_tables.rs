//! Made tables in which a change of one route is expensive.

use fibula::{Address, NextHop, Prefix, Rib, Route};

/// The next hops of these tables.
const NEXT_HOPS: usize = 40;

/// Returns a table of these prefixes, neighbours with different next hops.
fn table<A: Address>(prefixes: impl Iterator<Item = Prefix<A>>) -> Rib<A> {
    let next_hops = (1..=NEXT_HOPS as u32).map(NextHop).cycle();
    prefixes.zip(next_hops).map(|(prefix, next_hop)| Route { prefix, next_hop }).collect()
}

/// Returns IPv4 tables with their names: /24s in a row with two hosts each, and the hosts of a /16.
#[must_use]
pub fn worst_ipv4_tables() -> Vec<(&'static str, Rib<u32>)> {
    let row = (0..160_000).flat_map(|at| {
        let first = 0x0A00_0000 + (at << 8);
        [Prefix::containing(first, 24), Prefix::host(first + 1), Prefix::host(first + 2)]
    });
    let hosts = (0..1 << 16).map(|at| Prefix::host(0x0A00_0000 + at));
    vec![("160,000 networks with two hosts each", table(row)), ("65,536 hosts in a row", table(hosts))]
}

/// Returns IPv6 tables with their names: hosts of one /48, hosts of as many /48, /48s in a row, and
/// hosts anywhere.
#[must_use]
pub fn worst_ipv6_tables() -> Vec<(&'static str, Rib<u128>)> {
    const NETWORK: u128 = 0x2001_0DB8 << 96;
    let mut random = fastrand::Rng::with_seed(1);
    let of_one = (0..100_000).map(|at| Prefix::host(NETWORK | at << 40));
    let of_each = (0..15_000).map(|at| Prefix::host(NETWORK + (at << 80 | 1)));
    let networks = (0..245_000).map(|at| Prefix::containing(NETWORK + (at << 80), 48));
    let anywhere = (0..1_000_000).map(|_| Prefix::host(1 << 125 | random.u128(..) >> 3));
    vec![
        ("100,000 hosts of one network", table(of_one)),
        ("15,000 networks with a host each", table(of_each)),
        ("245,000 networks in a row", table(networks)),
        ("1,000,000 hosts anywhere", table(anywhere)),
    ]
}
