//! [`Owned`]: the routes of both families, their engines and their values.

use crate::contents::Contents;
use crate::values::Values;
use fibula::table::compiled::Compiled;
use fibula::{Address, Change, Delta, IpPrefix, NextHop, Route};
use pyo3::prelude::*;
use std::net::IpAddr;

/// A table that can be changed.
#[derive(Debug, Default)]
pub(crate) struct Owned {
    pub(crate) ipv4: Compiled<u32>,
    pub(crate) ipv6: Compiled<u128>,
    pub(crate) values: Values,
    /// Rises with each change.
    pub(crate) changes: u64,
}

/// A change whose value is still a Python object; without one the route goes.
pub(crate) type Wanted<'py> = (IpPrefix, Option<Bound<'py, PyAny>>);

/// Changes by next-hop index, divided by family.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) ipv4: Vec<Change<u32>>,
    pub(crate) ipv6: Vec<Change<u128>>,
}

impl Owned {
    /// Compiles a table, with the interpreter released.
    pub(crate) fn compile(py: Python<'_>, contents: Contents) -> Self {
        let Contents { ipv4, ipv6, values } = contents;
        let families = py.detach(|| (Compiled::of(ipv4), Compiled::of(ipv6)));
        Self::of(py, families, values)
    }

    /// Returns a table that is compiled already. Runs the hashes of values, which may be Python.
    pub(crate) fn of(
        py: Python<'_>,
        (ipv4, ipv6): (Compiled<u32>, Compiled<u128>),
        values: Vec<Option<Py<PyAny>>>,
    ) -> Self {
        let mut routes = vec![0; values.len()];
        let next_hops = ipv4.rib().iter().map(|route| route.next_hop);
        for next_hop in next_hops.chain(ipv6.rib().iter().map(|route| route.next_hop)) {
            routes[next_hop.0 as usize] += 1;
        }
        Self { ipv4, ipv6, values: Values::new(py, values, routes), changes: 0 }
    }

    /// Returns the index of the longest matching prefix.
    #[inline]
    pub(crate) fn lookup(&self, address: IpAddr) -> NextHop {
        match address {
            IpAddr::V4(address) => self.ipv4.lookup(address.to_bits()),
            IpAddr::V6(address) => self.ipv6.lookup(address.to_bits()),
        }
    }

    /// Returns the longest matching prefix, and the index of its value.
    pub(crate) fn longest_match(&self, address: IpAddr) -> Option<(IpPrefix, NextHop)> {
        match address {
            IpAddr::V4(address) => self.ipv4.rib().longest_match(address.to_bits()).map(both),
            IpAddr::V6(address) => self.ipv6.rib().longest_match(address.to_bits()).map(both),
        }
    }

    /// Returns the index of the value of exactly this prefix.
    pub(crate) fn exact(&self, prefix: IpPrefix) -> Option<NextHop> {
        match prefix {
            IpPrefix::V4(prefix) => self.ipv4.rib().get(prefix),
            IpPrefix::V6(prefix) => self.ipv6.rib().get(prefix),
        }
    }

    /// Returns the routes that cover a prefix, longest first.
    pub(crate) fn covering(&self, prefix: IpPrefix) -> Vec<(IpPrefix, NextHop)> {
        match prefix {
            IpPrefix::V4(prefix) => self.ipv4.rib().covering(prefix).map(both).collect(),
            IpPrefix::V6(prefix) => self.ipv6.rib().covering(prefix).map(both).collect(),
        }
    }

    /// Returns the longest prefix that covers another.
    pub(crate) fn longest_cover(&self, prefix: IpPrefix) -> Option<IpPrefix> {
        match prefix {
            IpPrefix::V4(prefix) => self.ipv4.rib().covering(prefix).next().map(|route| route.prefix.into()),
            IpPrefix::V6(prefix) => self.ipv6.rib().covering(prefix).next().map(|route| route.prefix.into()),
        }
    }

    /// Returns whether a route covers a prefix, or the prefix a route.
    pub(crate) fn overlaps(&self, prefix: IpPrefix) -> bool {
        let covers_some = match prefix {
            IpPrefix::V4(prefix) => self.ipv4.rib().covered(prefix).next().is_some(),
            IpPrefix::V6(prefix) => self.ipv6.rib().covered(prefix).next().is_some(),
        };
        covers_some || self.longest_cover(prefix).is_some()
    }

    /// Returns the routes that a prefix covers, in order.
    pub(crate) fn covered(&self, prefix: IpPrefix) -> Vec<(IpPrefix, NextHop)> {
        match prefix {
            IpPrefix::V4(prefix) => self.ipv4.rib().covered(prefix).map(both).collect(),
            IpPrefix::V6(prefix) => self.ipv6.rib().covered(prefix).map(both).collect(),
        }
    }

    /// Returns at most `count` routes in order, from those after `last` on.
    pub(crate) fn after(&self, last: Option<IpPrefix>, count: usize) -> Vec<(IpPrefix, NextHop)> {
        let (four, six) = match last {
            None => (self.ipv4.rib().iter_from(fibula::Prefix::ALL), fibula::Prefix::ALL),
            Some(IpPrefix::V4(prefix)) => (self.ipv4.rib().iter_from(prefix), fibula::Prefix::ALL),
            Some(IpPrefix::V6(prefix)) => {
                let after = self.ipv6.rib().iter_from(prefix).map(both);
                return after.filter(|&(prefix, _)| Some(prefix) != last).take(count).collect();
            }
        };
        let both = four.map(both).chain(self.ipv6.rib().iter_from(six).map(both));
        both.filter(|&(prefix, _)| Some(prefix) != last).take(count).collect()
    }

    /// Returns changes by index, with the new values added.
    pub(crate) fn intern(&mut self, wanted: &[Wanted<'_>]) -> PyResult<Changes> {
        let mut changes = Changes::default();
        for (prefix, value) in wanted {
            let next_hop = value.as_ref().map(|value| self.values.intern(value)).transpose()?;
            match *prefix {
                IpPrefix::V4(prefix) => changes.ipv4.push(change(prefix, next_hop)),
                IpPrefix::V6(prefix) => changes.ipv6.push(change(prefix, next_hop)),
            }
        }
        Ok(changes)
    }

    /// Carries changes out in place.
    pub(crate) fn apply(&mut self, changes: Changes) {
        let (ipv4, ipv6) = (self.ipv4.apply_all(changes.ipv4), self.ipv6.apply_all(changes.ipv6));
        self.count(&ipv4, &ipv6);
    }

    /// Takes note of a change: the routes of each value.
    pub(crate) fn count(&mut self, ipv4: &[Delta<u32>], ipv6: &[Delta<u128>]) {
        self.changes += 1;
        let ipv4 = ipv4.iter().map(|delta| (delta.before, delta.after));
        let ipv6 = ipv6.iter().map(|delta| (delta.before, delta.after));
        for (before, after) in ipv4.chain(ipv6) {
            if after.is_some() {
                self.values.add_route(after);
            }
            if before.is_some() {
                self.values.remove_route(before);
            }
        }
    }
}

fn change<A: Address>(prefix: fibula::Prefix<A>, next_hop: Option<NextHop>) -> Change<A> {
    match next_hop {
        Some(next_hop) => Change::Announce(Route { prefix, next_hop }),
        None => Change::Withdraw(prefix),
    }
}

/// A route of either family.
fn both<A: Address>(route: Route<A>) -> (IpPrefix, NextHop)
where
    fibula::Prefix<A>: Into<IpPrefix>,
{
    (route.prefix.into(), route.next_hop)
}
