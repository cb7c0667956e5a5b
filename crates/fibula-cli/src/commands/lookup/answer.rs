//! [`Answer`]: what is said about one address, as a sentence or as a row.

use fibula::{Address, NextHopInfo, NextHops, Rib, Route};
use fibula_io::table::Tables;
use serde::{Serialize, Serializer};
use std::fmt;
use std::net::IpAddr;

/// One address and one route that covers it, or none at all.
#[derive(Debug, Serialize)]
pub(super) struct Answer<'t> {
    address: IpAddr,
    prefix: Option<String>,
    next_hop: Option<Text<'t>>,
}

/// A next hop, in a row its text.
#[derive(Clone, Copy, Debug)]
struct Text<'t>(&'t NextHopInfo);

impl Serialize for Text<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self.0)
    }
}

/// What a table says about an address: its longest match, or with `all` every route that covers it, longest first.
/// Never empty: where no route matches, there is one answer that says so.
pub(super) fn answers(tables: &Tables, address: IpAddr, all: bool) -> Vec<Answer<'_>> {
    let next_hops = &tables.next_hops;
    match address {
        IpAddr::V4(ip) => of_family(&tables.ipv4, next_hops, ip.to_bits(), all),
        IpAddr::V6(ip) => of_family(&tables.ipv6, next_hops, ip.to_bits(), all),
    }
}

fn of_family<'t, A: Address>(
    rib: &Rib<A>,
    next_hops: &'t NextHops,
    address: A,
    all: bool,
) -> Vec<Answer<'t>> {
    let covering = rib.covering(fibula::Prefix::host(address));
    let answer = |route: Option<Route<A>>| Answer {
        address: address.to_ip(),
        prefix: route.map(|route| route.prefix.to_string()),
        next_hop: route.and_then(|route| next_hops.get(route.next_hop)).map(Text),
    };
    let mut answers: Vec<_> =
        covering.take(if all { usize::MAX } else { 1 }).map(|route| answer(Some(route))).collect();
    if answers.is_empty() {
        answers.push(answer(None));
    }
    answers
}

/// The sentence `ip route get` would say.
impl fmt::Display for Answer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Route types of the kernel that lead nowhere: they are no names of a router.
        const NOWHERE: [&str; 4] = ["blackhole", "prohibit", "throw", "unreachable"];
        let (Some(prefix), Some(Text(next_hop))) = (&self.prefix, self.next_hop) else {
            return write!(f, "{} has no route", self.address);
        };
        write!(f, "{} ", self.address)?;
        match next_hop {
            NextHopInfo::AutonomousSystem(number) => write!(f, "origin AS{number}"),
            NextHopInfo::Gateway { address: None, .. } => next_hop.fmt(f),
            NextHopInfo::Label(label) if NOWHERE.contains(&label.as_ref()) => next_hop.fmt(f),
            NextHopInfo::Gateway { .. } | NextHopInfo::Label(_) => write!(f, "via {next_hop}"),
        }?;
        write!(f, " prefix {prefix}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(next_hop: &NextHopInfo) -> String {
        let address = IpAddr::from([192, 0, 2, 1]);
        Answer { address, prefix: Some("192.0.2.0/24".into()), next_hop: Some(Text(next_hop)) }.to_string()
    }

    #[test]
    fn every_kind_of_next_hop_has_its_words() {
        let device = NextHopInfo::Gateway { address: None, interface: Some("eth0".into()) };
        assert_eq!(said(&device), "192.0.2.1 dev eth0 prefix 192.0.2.0/24");
        assert_eq!(said(&NextHopInfo::parse("64500")), "192.0.2.1 origin AS64500 prefix 192.0.2.0/24");
        assert_eq!(said(&NextHopInfo::parse("2001:db8::1")), "192.0.2.1 via 2001:db8::1 prefix 192.0.2.0/24");
        assert_eq!(said(&NextHopInfo::parse("blackhole")), "192.0.2.1 blackhole prefix 192.0.2.0/24");
        assert_eq!(said(&NextHopInfo::parse("transit-3")), "192.0.2.1 via transit-3 prefix 192.0.2.0/24");
    }
}
