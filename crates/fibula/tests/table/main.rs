//! `Table` and `LiveTable` against a plain list of routes.

mod differential;
mod formats;
mod live;
mod model;
mod ownership;
mod panics;
mod refused;

use fibula::{IpPrefix, Table};
use std::net::IpAddr;

fn prefix(text: &str) -> IpPrefix {
    text.parse().unwrap()
}

/// The truth: every question is a walk over a list.
#[derive(Clone, Debug, Default)]
struct Model(Vec<(IpPrefix, u64)>);

impl Model {
    fn position(&self, prefix: IpPrefix) -> Option<usize> {
        self.0.iter().position(|&(other, _)| other == prefix)
    }

    fn get(&self, prefix: IpPrefix) -> Option<u64> {
        self.position(prefix).map(|at| self.0[at].1)
    }

    fn insert(&mut self, prefix: IpPrefix, value: u64) -> Option<u64> {
        if let Some(at) = self.position(prefix) {
            return Some(std::mem::replace(&mut self.0[at].1, value));
        }
        self.0.push((prefix, value));
        None
    }

    fn extend(&mut self, routes: Vec<(IpPrefix, u64)>) {
        for (prefix, value) in routes {
            self.insert(prefix, value);
        }
    }

    fn remove(&mut self, prefix: IpPrefix) -> Option<u64> {
        self.position(prefix).map(|at| self.0.swap_remove(at).1)
    }

    fn lookup(&self, address: IpAddr) -> Option<(IpPrefix, u64)> {
        self.0
            .iter()
            .filter(|(prefix, _)| prefix.contains(address))
            .max_by_key(|(prefix, _)| prefix.len())
            .copied()
    }

    fn sorted(&self) -> Vec<(IpPrefix, u64)> {
        let mut routes = self.0.clone();
        routes.sort_unstable();
        routes
    }

    /// Where longest-prefix match breaks: the first and the last address of each prefix, and those
    /// beside.
    fn probes(&self) -> Vec<IpAddr> {
        let around = |address: IpAddr| match address {
            IpAddr::V4(ip) => [-1, 0, 1].map(|by| IpAddr::V4(ip.to_bits().wrapping_add_signed(by).into())),
            IpAddr::V6(ip) => [-1, 0, 1].map(|by| IpAddr::V6(ip.to_bits().wrapping_add_signed(by).into())),
        };
        self.0.iter().flat_map(|(prefix, _)| [prefix.first(), prefix.last()]).flat_map(around).collect()
    }
}

fn own((prefix, &value): (IpPrefix, &u64)) -> (IpPrefix, u64) {
    (prefix, value)
}

/// Every question that reads, and the structure itself.
fn assert_same(table: &Table<u64>, model: &Model) {
    table.validate().unwrap();
    let sorted = model.sorted();
    assert_eq!((table.len(), table.is_empty()), (sorted.len(), sorted.is_empty()));
    assert_eq!(table.len_ipv4(), sorted.iter().filter(|(p, _)| matches!(p, IpPrefix::V4(_))).count());
    assert_eq!(table.iter().map(own).collect::<Vec<_>>(), sorted);
    assert!(table.iter().rev().map(own).eq(sorted.iter().rev().copied()));
    assert!(table.keys().eq(sorted.iter().map(|&(prefix, _)| prefix)));
    assert!(table.values().eq(sorted.iter().map(|(_, value)| value)));
    for &(prefix, value) in &sorted {
        assert_eq!((table.get(prefix), table[prefix]), (Some(&value), value));
    }
    assert_lookups(table, model, &model.probes());
}

fn assert_lookups(table: &Table<u64>, model: &Model, addresses: &[IpAddr]) {
    let expected: Vec<_> = addresses.iter().map(|&address| model.lookup(address)).collect();
    let mut matches = vec![None; addresses.len()];
    table.lookup_batch(addresses, &mut matches);
    let (mut ipv4, mut ipv6) = (Vec::new(), Vec::new());
    for ((&address, &expected), found) in addresses.iter().zip(&expected).zip(matches) {
        assert_eq!(table.lookup(address).map(own), expected, "{address}");
        assert_eq!(found.map(own), expected, "{address} in a batch");
        assert_eq!(table.lookup_value(address).copied(), expected.map(|(_, value)| value));
        assert_eq!(table.contains(address), expected.is_some());
        match address {
            IpAddr::V4(address) => ipv4.push((address, expected)),
            IpAddr::V6(address) => ipv6.push((address, expected)),
        }
    }
    let (addresses, expected): (Vec<_>, Vec<_>) = ipv4.into_iter().unzip();
    let mut matches = vec![None; addresses.len()];
    table.lookup_batch_ipv4(&addresses, &mut matches);
    let bits: Vec<u32> = addresses.iter().map(|address| address.to_bits()).collect();
    table.lookup_each_ipv4(&bits, |at, found| assert_eq!(found.route(), matches[at]));
    for (found, expected) in matches.into_iter().zip(expected) {
        assert_eq!(found.map(|(prefix, &value)| (prefix.into(), value)), expected);
    }
    let (addresses, expected): (Vec<_>, Vec<_>) = ipv6.into_iter().unzip();
    let mut matches = vec![None; addresses.len()];
    table.lookup_batch_ipv6(&addresses, &mut matches);
    let bits: Vec<u128> = addresses.iter().map(|address| address.to_bits()).collect();
    table.lookup_each_ipv6(&bits, |at, found| assert_eq!(found.route(), matches[at]));
    for (found, expected) in matches.into_iter().zip(expected) {
        assert_eq!(found.map(|(prefix, &value)| (prefix.into(), value)), expected);
    }
}
