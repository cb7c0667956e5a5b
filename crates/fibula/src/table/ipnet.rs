//! Conversions from and to the prefixes of the crate `ipnet`.
//!
//! An `ipnet` prefix may have bits set after its length; ours never has. They are cleared, as
//! `trunc` does.

use crate::{IpPrefix, Prefix};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use std::net::{Ipv4Addr, Ipv6Addr};

const LEN: &str = "a prefix is no longer than its family's addresses";

/// Bits after the length are cleared.
impl From<Ipv4Net> for Prefix<u32> {
    fn from(net: Ipv4Net) -> Self {
        Self::containing(net.addr().to_bits(), net.prefix_len())
    }
}

/// Bits after the length are cleared.
impl From<Ipv6Net> for Prefix<u128> {
    fn from(net: Ipv6Net) -> Self {
        Self::containing(net.addr().to_bits(), net.prefix_len())
    }
}

/// Bits after the length are cleared.
impl From<Ipv4Net> for IpPrefix {
    fn from(net: Ipv4Net) -> Self {
        Self::V4(net.into())
    }
}

/// Bits after the length are cleared.
impl From<Ipv6Net> for IpPrefix {
    fn from(net: Ipv6Net) -> Self {
        Self::V6(net.into())
    }
}

/// Bits after the length are cleared.
impl From<IpNet> for IpPrefix {
    fn from(net: IpNet) -> Self {
        match net {
            IpNet::V4(net) => net.into(),
            IpNet::V6(net) => net.into(),
        }
    }
}

impl From<Prefix<u32>> for Ipv4Net {
    fn from(prefix: Prefix<u32>) -> Self {
        Self::new(Ipv4Addr::from_bits(prefix.first()), prefix.len()).expect(LEN)
    }
}

impl From<Prefix<u128>> for Ipv6Net {
    fn from(prefix: Prefix<u128>) -> Self {
        Self::new(Ipv6Addr::from_bits(prefix.first()), prefix.len()).expect(LEN)
    }
}

impl From<Prefix<u32>> for IpNet {
    fn from(prefix: Prefix<u32>) -> Self {
        Self::V4(prefix.into())
    }
}

impl From<Prefix<u128>> for IpNet {
    fn from(prefix: Prefix<u128>) -> Self {
        Self::V6(prefix.into())
    }
}

impl From<IpPrefix> for IpNet {
    fn from(prefix: IpPrefix) -> Self {
        match prefix {
            IpPrefix::V4(prefix) => prefix.into(),
            IpPrefix::V6(prefix) => prefix.into(),
        }
    }
}
