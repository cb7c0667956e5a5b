//! [`Index`]: the list of each prefix. An entry of IPv4 has no room for an IPv6 prefix: most
//! prefixes are of IPv4, and would take four times as much.

use fibula::{IpPrefix, Prefix};
use std::collections::HashMap;

/// The number of the list that each prefix has.
#[derive(Debug, Default)]
pub(super) struct Index {
    ipv4: HashMap<Prefix<u32>, u32>,
    ipv6: HashMap<Prefix<u128>, u32>,
}

impl Index {
    pub(super) fn get(&self, prefix: IpPrefix) -> Option<u32> {
        match prefix {
            IpPrefix::V4(prefix) => self.ipv4.get(&prefix).copied(),
            IpPrefix::V6(prefix) => self.ipv6.get(&prefix).copied(),
        }
    }

    pub(super) fn insert(&mut self, prefix: IpPrefix, list: u32) {
        match prefix {
            IpPrefix::V4(prefix) => self.ipv4.insert(prefix, list),
            IpPrefix::V6(prefix) => self.ipv6.insert(prefix, list),
        };
    }

    pub(super) fn remove(&mut self, prefix: IpPrefix) {
        match prefix {
            IpPrefix::V4(prefix) => self.ipv4.remove(&prefix),
            IpPrefix::V6(prefix) => self.ipv6.remove(&prefix),
        };
    }

    /// Returns prefixes and lists in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (IpPrefix, u32)> {
        let ipv4 = self.ipv4.iter().map(|(&prefix, &list)| (IpPrefix::V4(prefix), list));
        ipv4.chain(self.ipv6.iter().map(|(&prefix, &list)| (IpPrefix::V6(prefix), list)))
    }

    pub(super) fn len(&self) -> usize {
        self.ipv4.len() + self.ipv6.len()
    }

    /// Returns the bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        2 * (self.ipv4.len() * size_of::<(Prefix<u32>, u32)>()
            + self.ipv6.len() * size_of::<(Prefix<u128>, u32)>())
    }
}
