//! The answers of the plane beside those of the kernel, whose table zebra writes, and beside the
//! table that was announced.

use crate::network::{Network, ip};
use crate::table::path;
use anyhow::Context;
use fibula::{Address, IpPrefix, Prefix, Rib};
use fibula_io::table::Tables;
use fibula_io::trace::{TraceKind, generate};
use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;

/// How many differences are shown.
const SHOWN: usize = 5;

/// A gateway and the name of its interface.
type Leads = (Option<IpAddr>, Option<String>);

/// What was compared.
#[derive(Debug, Default)]
pub(crate) struct Compared {
    pub(crate) count: usize,
    pub(crate) different: usize,
    shown: Vec<String>,
}

impl fmt::Display for Compared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} addresses, {} different", self.count, self.different)?;
        self.shown.iter().try_for_each(|text| write!(f, "\n  {text}"))
    }
}

/// Compares `count` addresses of each family.
pub(crate) fn compare(network: &Network, tables: &Tables, count: usize) -> anyhow::Result<[Compared; 2]> {
    Ok([of_family(network, &tables.ipv4, count)?, of_family(network, &tables.ipv6, count)?])
}

fn of_family<A: Address>(network: &Network, rib: &Rib<A>, count: usize) -> anyhow::Result<Compared>
where
    IpPrefix: From<Prefix<A>>,
{
    let addresses = drawn(rib, count)?;
    let asked: Vec<IpAddr> = addresses.iter().map(|address| address.to_ip()).collect();
    let lines: Vec<String> = asked.iter().map(|address| format!("route get {address}")).collect();
    let text = ip(&network.lab, lines.join("\n") + "\n")?;
    let kernel: HashMap<IpAddr, Leads> = text.lines().filter_map(answer).collect();
    let mut compared = Compared { count: addresses.len(), ..Compared::default() };
    for (row, address) in network.router.lookup(&asked)?.into_iter().zip(addresses) {
        let ways = row.route.map(|route| route.ways).unwrap_or_default();
        let plane: Vec<Leads> = ways.into_iter().map(|way| (way.gateway, way.interface)).collect();
        let announced = rib.longest_match(address).context("a drawn address has a route")?;
        let gateway = path(announced.next_hop, A::BITS == u128::BITS as u8).gateway;
        let kernel = kernel.get(&row.address);
        let is_equal = plane.len() == 1 && Some(&plane[0]) == kernel && plane[0].0 == Some(gateway);
        if !is_equal {
            compared.different += 1;
            if compared.shown.len() < SHOWN {
                let text =
                    format!("{}: the plane {plane:?}, the kernel {kernel:?}, BGP {gateway}", row.address);
                compared.shown.push(text);
            }
        }
    }
    Ok(compared)
}

/// Draws addresses that have a route: half of them within prefixes, half at and beside their
/// edges.
fn drawn<A: Address>(rib: &Rib<A>, count: usize) -> anyhow::Result<Vec<A>> {
    let mut addresses = generate(&TraceKind::Prefix, rib, count / 2, 22)?;
    let mut random = fastrand::Rng::with_seed(22);
    let edges = random.choose_multiple(rib.iter(), count / 2).into_iter().filter_map(|route| {
        let (first, last) = (route.prefix.first(), route.prefix.last());
        let of = [first.previous(), Some(first), Some(last), last.next()][random.usize(..4)]?;
        rib.longest_match(of).map_or(Some(first), |_| Some(of))
    });
    addresses.extend(edges);
    Ok(addresses)
}

/// Reads a line of `ip route get`: the address, `via` a gateway, `dev` an interface.
fn answer(line: &str) -> Option<(IpAddr, Leads)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let after = |word: &str| words.iter().position(|other| *other == word).and_then(|at| words.get(at + 1));
    let gateway = after("via").and_then(|text| text.parse().ok());
    Some((words.first()?.parse().ok()?, (gateway, after("dev").map(|name| (*name).to_owned()))))
}
