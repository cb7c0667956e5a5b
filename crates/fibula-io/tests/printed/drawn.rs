//! Random routes.

use super::kernel::DEVICES;
use fastrand::Rng;
use fibula::{IpPrefix, Prefix};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Where a packet may go.
#[derive(Clone, Debug)]
pub(crate) struct Hop {
    pub(crate) via: Option<IpAddr>,
    pub(crate) dev: &'static str,
    pub(crate) weight: u8,
}

/// A route: to hops, or of a type that does not forward.
#[derive(Clone, Debug)]
pub(crate) struct Drawn {
    pub(crate) prefix: IpPrefix,
    pub(crate) kind: &'static str,
    pub(crate) hops: Vec<Hop>,
}

impl Drawn {
    pub(crate) fn new(random: &mut Rng) -> Self {
        let is_ipv6 = random.bool();
        let (kind, hops) = match random.u8(..12) {
            0 => ("blackhole", 0),
            1 => ("unreachable", 0),
            2 => ("prohibit", 0),
            3..=5 => ("", random.usize(2..=4)),
            _ => ("", 1),
        };
        let prefix = if is_ipv6 { ipv6(random) } else { ipv4(random) };
        let mut hops: Vec<Hop> = (0..hops).map(|_| hop(random, is_ipv6)).collect();
        // Of several, each goes to a router, and no two to one.
        let is_one = hops.len() == 1;
        hops.retain(|hop| is_one || hop.via.is_some());
        hops.sort_by_key(|hop| (hop.via, hop.dev));
        hops.dedup_by_key(|hop| (hop.via, hop.dev));
        let kind = if hops.is_empty() && kind.is_empty() { "blackhole" } else { kind };
        Self { prefix, kind, hops }
    }

    pub(crate) fn is_ipv6(&self) -> bool {
        matches!(self.prefix, IpPrefix::V6(_))
    }

    /// Returns addresses that the route may answer: its first, and one of the others. A default
    /// route answers those [elsewhere].
    pub(crate) fn addresses(&self, random: &mut Rng) -> Vec<IpAddr> {
        match self.prefix {
            _ if self.prefix.len() == 0 => Vec::new(),
            IpPrefix::V4(prefix) => {
                let within = random.u32(prefix.first()..=prefix.last());
                [prefix.first(), within].map(|address| Ipv4Addr::from_bits(address).into()).to_vec()
            }
            IpPrefix::V6(prefix) => {
                let within = random.u128(prefix.first()..=prefix.last());
                [prefix.first(), within].map(|address| Ipv6Addr::from_bits(address).into()).to_vec()
            }
        }
    }
}

/// Addresses that no drawn route but a default may answer, and those that are connected.
pub(crate) fn elsewhere() -> impl Iterator<Item = IpAddr> {
    ["198.51.100.1", "192.0.1.77", "2001:db8:2::77", "2001:db8:7001::1", "3fff::1"]
        .into_iter()
        .map(|text| text.parse().unwrap())
}

/// Prefixes of few bits, so that many cover others and some come twice.
fn ipv4(random: &mut Rng) -> IpPrefix {
    if random.u8(..100) == 0 {
        return IpPrefix::V4(Prefix::ALL);
    }
    let address = 10 << 24 | random.u32(..) & 0x003F_8103;
    IpPrefix::V4(Prefix::containing(address, random.u8(8..=32)))
}

fn ipv6(random: &mut Rng) -> IpPrefix {
    if random.u8(..100) == 0 {
        return IpPrefix::V6(Prefix::ALL);
    }
    let bits = u128::from(random.u32(..) & 0x3F00_8103) << 64 | random.u128(..) & 3;
    IpPrefix::V6(Prefix::containing(0x2001_0DB8_8000_u128 << 80 | bits, random.u8(33..=128)))
}

fn hop(random: &mut Rng, is_ipv6: bool) -> Hop {
    let at = random.usize(..DEVICES.len());
    let last = random.u16(2..250);
    let via: IpAddr = match random.u8(..6) {
        0 if is_ipv6 => Ipv6Addr::new(0x2001, 0xDB8, at as u16, 0, 0, 0, 0, last).into(),
        _ if is_ipv6 => Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, last).into(),
        _ => Ipv4Addr::new(192, 0, at as u8, last as u8).into(),
    };
    Hop { via: (random.u8(..6) > 0).then_some(via), dev: DEVICES[at], weight: random.u8(1..=9) }
}
