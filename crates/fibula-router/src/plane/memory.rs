//! [`Memory`]: a plane in this process. It answers what would become of a packet.

use super::{Action, Adjacency, AdjacencyId, Plane, Routes};
use crate::Error;
use fibula::engine::BEST;
use fibula::{Address, Delta, Fib, Limit, NextHop, Rib};
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use xxhash_rust::xxh3::xxh3_64;

/// What a flow is told by: its packets take one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The sender.
    pub source: IpAddr,
    /// The receiver, which is looked up.
    pub destination: IpAddr,
    /// The protocol above IP.
    pub protocol: u8,
    /// The ports of both, where the protocol has any.
    pub ports: [u16; 2],
}

impl Flow {
    /// Returns the flow of packets to an address, where nothing else matters.
    #[must_use]
    pub fn to(destination: IpAddr) -> Self {
        Self { source: destination, destination, protocol: 0, ports: [0; 2] }
    }

    /// Returns a hash of the flow.
    fn hash(&self) -> u64 {
        let mut bytes = [0; 37];
        let mut write = |at: usize, address: IpAddr| match address {
            IpAddr::V4(address) => bytes[at..at + 4].copy_from_slice(&address.octets()),
            IpAddr::V6(address) => bytes[at..at + 16].copy_from_slice(&address.octets()),
        };
        write(0, self.source);
        write(16, self.destination);
        bytes[32] = self.protocol;
        bytes[33..35].copy_from_slice(&self.ports[0].to_be_bytes());
        bytes[35..].copy_from_slice(&self.ports[1].to_be_bytes());
        xxh3_64(&bytes)
    }
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The kernel gets it: no route matches, or the route says so.
    ToKernel,
    /// The kernel gets it, to resolve this adjacency.
    Unresolved(AdjacencyId),
    /// It is dropped.
    Drop,
    /// It leaves.
    Forward(AdjacencyId, Adjacency),
}

/// The compiled tables of both families with one id.
#[derive(Default)]
struct Table {
    ipv4: Option<Fib<u32>>,
    ipv6: Option<Fib<u128>>,
}

/// A plane in memory: actions and adjacencies in vectors, tables compiled by the engine that
/// suits them best, or by one that is named.
#[derive(Default)]
pub struct Memory {
    adjacencies: Vec<Option<Adjacency>>,
    actions: Vec<Option<Action>>,
    tables: BTreeMap<u32, Table>,
    /// The specification of the engine, if it is not the one that suits the table best.
    engine: Option<&'static str>,
    max_routes: Option<usize>,
    grace_periods: u64,
    has_started: bool,
    remembered: usize,
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").field("tables", &self.tables.keys()).finish_non_exhaustive()
    }
}

impl Memory {
    /// Creates a plane whose tables are compiled by the engine of a specification, as in
    /// `poptrie`. It must know both families.
    #[must_use]
    pub fn with_engine(specification: &'static str) -> Self {
        Self { engine: Some(specification), ..Self::default() }
    }

    /// Changes the greatest number of routes of a table.
    pub fn set_limit(&mut self, max_routes: Option<usize>) {
        self.max_routes = max_routes;
    }

    /// Returns what becomes of a packet of a flow that a table routes.
    #[must_use]
    pub fn forward(&self, table: u32, flow: &Flow) -> Verdict {
        let next_hop = self.next_hop(table, flow.destination);
        match self.action(next_hop) {
            None | Some(Action::ToKernel | Action::ByKernel(_)) => Verdict::ToKernel,
            Some(Action::Drop) => Verdict::Drop,
            Some(Action::Forward(buckets)) => {
                let id = buckets[(flow.hash() % buckets.len() as u64) as usize];
                match self.adjacency(id) {
                    Some(resolved @ Adjacency::Resolved { .. }) => Verdict::Forward(id, resolved),
                    _ => Verdict::Unresolved(id),
                }
            }
        }
    }

    /// Returns the next hop that a table has for an address.
    #[must_use]
    pub fn next_hop(&self, table: u32, address: IpAddr) -> NextHop {
        let table = self.tables.get(&table);
        match address {
            IpAddr::V4(address) => find(table.and_then(|table| table.ipv4.as_ref()), address.to_bits()),
            IpAddr::V6(address) => find(table.and_then(|table| table.ipv6.as_ref()), address.to_bits()),
        }
    }

    /// Returns the action of a next hop.
    #[must_use]
    pub fn action(&self, next_hop: NextHop) -> Option<&Action> {
        self.actions.get(next_hop.0 as usize)?.as_ref()
    }

    /// Returns an adjacency.
    #[must_use]
    pub fn adjacency(&self, id: AdjacencyId) -> Option<Adjacency> {
        *self.adjacencies.get(id.0 as usize)?
    }

    /// Returns the number of grace periods that were asked for.
    #[must_use]
    pub fn grace_periods(&self) -> u64 {
        self.grace_periods
    }

    /// Returns whether it was started.
    #[must_use]
    pub fn has_started(&self) -> bool {
        self.has_started
    }

    /// Checks that an action is known, and its adjacencies before it.
    fn check(&self, next_hop: NextHop) {
        let action = self.action(next_hop);
        let is_known = |id: &AdjacencyId| self.adjacency(*id).is_some();
        let is_whole = match action {
            None => !next_hop.is_some(),
            Some(Action::Forward(buckets) | Action::ByKernel(buckets)) => buckets.iter().all(is_known),
            Some(_) => true,
        };
        assert!(is_whole, "a route leads to next hop {}, which is not there: {action:?}", next_hop.0);
    }

    /// Checks the next hops of changes. Returns the number of routes.
    fn check_all<A: Address>(&self, rib: &Rib<A>, deltas: &[Delta<A>]) -> usize {
        for delta in deltas {
            self.check(delta.after);
        }
        rib.len()
    }
}

fn find<A: Address>(fib: Option<&Fib<A>>, address: A) -> NextHop {
    fib.map_or(NextHop::NONE, |fib| fib.lookup_index(address))
}

/// Sets an element of a vector that grows.
fn set<T>(items: &mut Vec<Option<T>>, index: u32, item: T) {
    let index = index as usize;
    if items.len() <= index {
        items.resize_with(index + 1, || None);
    }
    items[index] = Some(item);
}

/// Follows the changes of one family.
fn follow<A: Address>(
    fib: &mut Option<Fib<A>>,
    engine: Option<&str>,
    rib: &Rib<A>,
    deltas: &[Delta<A>],
) -> Result<(), Error> {
    match fib {
        // With as many changes as this a new table is built sooner.
        Some(fib) if deltas.len() * 4 < rib.len() => {
            fib.apply(rib, deltas)?;
        }
        _ => *fib = Some(Fib::build(engine.unwrap_or(BEST), rib)?),
    }
    Ok(())
}

impl Plane for Memory {
    fn set_adjacency(&mut self, id: AdjacencyId, adjacency: Adjacency) -> Result<(), Error> {
        set(&mut self.adjacencies, id.0, adjacency);
        Ok(())
    }

    /// # Panics
    /// If an adjacency was not set before, or the number of buckets is not a power of two.
    fn set_action(&mut self, next_hop: NextHop, action: &Action) -> Result<(), Error> {
        if let Action::Forward(buckets) = action {
            assert!(buckets.len().is_power_of_two() && buckets.len() <= super::BUCKETS_MAX);
        }
        set(&mut self.actions, next_hop.0, action.clone());
        self.check(next_hop);
        Ok(())
    }

    /// # Panics
    /// If the action of a next hop was not set before.
    fn apply(&mut self, table: u32, routes: Routes<'_>) -> Result<(), Error> {
        let had = match routes {
            Routes::V4(rib, deltas) => self.check_all(rib, deltas),
            Routes::V6(rib, deltas) => self.check_all(rib, deltas),
        };
        if let Some(max) = self.max_routes {
            Limit::check("routes", had as u64, max as u64).map_err(fibula::Error::from)?;
        }
        let table = self.tables.entry(table).or_default();
        match routes {
            Routes::V4(rib, deltas) => follow(&mut table.ipv4, self.engine, rib, deltas),
            Routes::V6(rib, deltas) => follow(&mut table.ipv6, self.engine, rib, deltas),
        }
    }

    fn remember(&mut self, routes: usize) {
        self.remembered = routes;
    }

    fn remembered(&self) -> usize {
        self.remembered
    }

    fn grace_period(&mut self) -> Result<(), Error> {
        self.grace_periods += 1;
        Ok(())
    }

    fn start(&mut self) -> Result<(), Error> {
        self.has_started = true;
        Ok(())
    }
}
