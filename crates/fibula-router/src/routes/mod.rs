//! [`Tables`]: one table for each id and family, of the best route of each prefix.
//!
//! Several feeds, and the kernel by several metrics, may have a route of one prefix. The lowest
//! metric wins, and the earlier feed where metrics are equal. A route for some packets alone (by
//! type of service, by source) goes before all of them, and leads to the kernel. The kernel's local
//! table (id 255), which it asks before all others, overlays every table: packets to this machine's
//! addresses and to broadcast addresses go to the kernel.
//!
//! A destination on a link that is connected goes to the kernel, which resolves it. Once the kernel
//! knows the neighbour, a host route (/32, /128) leads to its adjacency. It is there as long as the
//! longest match without it leads to the link of that neighbour.

mod half;

use crate::Error;
use crate::adjacencies::Adjacencies;
use crate::control::Limits;
use crate::feed::{Feed, RouteKey, RouteUpdate};
use crate::next_hops::NextHops;
use crate::plane::{Plane, Routes};
use fibula::{Family, IpPrefix, Limit, NextHop};
use half::{Candidate, Half};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

/// The id of the kernel's table of local and broadcast addresses.
pub const LOCAL: u32 = 255;

/// The id of the table that routes are in unless they say otherwise.
pub const MAIN: u32 = 254;

/// The tables of both families with one id.
#[derive(Debug, Default)]
struct Table {
    ipv4: Half<u32>,
    ipv6: Half<u128>,
}

/// All tables.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    by_id: BTreeMap<u32, Table>,
    local: Table,
    /// Routes that feeds have told, the local table's among them.
    told: usize,
    /// Those of zebra among them.
    by_zebra: usize,
}

/// The number of routes of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableSize {
    /// The id of the table.
    pub table: u32,
    /// Prefixes of IPv4.
    pub ipv4: usize,
    /// Prefixes of IPv6.
    pub ipv6: usize,
}

/// What is new in what a feed said of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// The session had told the route, or there is none to remove.
    None,
    /// There was no such route.
    New,
    /// A route of an earlier session was told again or removed.
    Again,
}

/// A route as it forwards, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chosen {
    pub(crate) prefix: IpPrefix,
    pub(crate) next_hop: NextHop,
    /// Who told it; `None` for host routes of neighbours and the overlay of local addresses.
    pub(crate) by: Option<(Feed, u8, u32)>,
}

/// Runs one expression for the half of either family.
macro_rules! of_either {
    ($table:expr, $prefix:expr, ($half:ident, $of:ident) => $what:expr) => {
        match $prefix {
            IpPrefix::V4($of) => {
                let $half = &mut $table.ipv4;
                $what
            }
            IpPrefix::V6($of) => {
                let $half = &mut $table.ipv6;
                $what
            }
        }
    };
}

impl Tables {
    /// Takes what a feed last said of a route. Returns what is new in that.
    ///
    /// # Errors
    /// If the route would exceed a limit. What was there of it stays.
    pub(crate) fn update(
        &mut self,
        key: RouteKey,
        update: RouteUpdate,
        hops: &mut NextHops,
        adjacencies: &mut Adjacencies,
        limits: &Limits,
    ) -> Result<News, Limit> {
        let RouteUpdate { session, metric, protocol, target, was } = update;
        let is_local = key.table == LOCAL;
        let name = |id| crate::feed::ObjectKey { feed: key.feed, session, id };
        if let Some(was) = was.map(|was| was.with_object(name))
            && let Some(candidate) = self.candidate(&key).filter(|candidate| candidate.session == session)
            && hops.key(candidate.next_hop) != Some(&was)
        {
            return Ok(News::None);
        }
        let target = target.map(|target| target.with_object(name));
        if let Some(target) = &target {
            hops.check_room(target, limits.next_hops)?;
            if !is_local && !self.by_id.contains_key(&key.table) {
                Limit::check("tables", self.by_id.len() as u64 + 1, limits.tables as u64)?;
            }
            if self.told >= limits.routes && self.candidate(&key).is_none() {
                Limit::check("routes", self.told as u64 + 1, limits.routes as u64)?;
            }
        } else if !is_local && !self.by_id.contains_key(&key.table) {
            return Ok(News::None);
        }
        let candidate = target.map(|target| {
            let next_hop = hops.acquire(target);
            let (feed, selector) = (key.feed, key.selector);
            Candidate { next_hop, metric, session, protocol, feed, selector }
        });
        self.count(key.feed, isize::from(candidate.is_some()));
        let table = if is_local {
            &mut self.local
        } else {
            self.by_id.entry(key.table).or_insert_with(|| self.local.overlay())
        };
        let old = of_either!(table, key.prefix, (half, prefix) => half.replace(prefix, &key, candidate));
        if is_local {
            for table in self.by_id.values_mut() {
                of_either!(table, key.prefix, (half, prefix) => half.mark(prefix));
            }
        }
        let Some(old) = old else {
            return Ok(if candidate.is_some() { News::New } else { News::None });
        };
        self.count(key.feed, -1);
        if let Some(candidate) = candidate {
            hops.follow(old.next_hop, candidate.next_hop);
        }
        hops.release(old.next_hop, adjacencies);
        Ok(if old.session < session { News::Again } else { News::None })
    }

    fn count(&mut self, feed: Feed, more: isize) {
        self.told = self.told.saturating_add_signed(more);
        if feed == Feed::Fpm {
            self.by_zebra = self.by_zebra.saturating_add_signed(more);
        }
    }

    /// Returns the number of routes that zebra has told.
    pub(crate) fn by_zebra(&self) -> usize {
        self.by_zebra
    }

    /// Returns the route of a key, if it is known.
    fn candidate(&self, key: &RouteKey) -> Option<&Candidate> {
        let table = if key.table == LOCAL { Some(&self.local) } else { self.by_id.get(&key.table) };
        table.and_then(|table| match key.prefix {
            IpPrefix::V4(prefix) => table.ipv4.candidate(prefix, key),
            IpPrefix::V6(prefix) => table.ipv6.candidate(prefix, key),
        })
    }

    /// Removes what a feed did not say again in a session. O(routes).
    pub(crate) fn sweep(
        &mut self,
        feed: Feed,
        session: u32,
        hops: &mut NextHops,
        adjacencies: &mut Adjacencies,
    ) -> usize {
        self.remove(feed, |candidate| candidate.session < session, hops, adjacencies)
    }

    /// Removes the routes of the kernel to these next hops. O(routes).
    pub(crate) fn remove_to(
        &mut self,
        next_hops: &[NextHop],
        hops: &mut NextHops,
        adjacencies: &mut Adjacencies,
    ) -> usize {
        self.remove(Feed::Kernel, |candidate| next_hops.contains(&candidate.next_hop), hops, adjacencies)
    }

    fn remove(
        &mut self,
        feed: Feed,
        is_gone: impl Fn(&Candidate) -> bool,
        hops: &mut NextHops,
        adjacencies: &mut Adjacencies,
    ) -> usize {
        let is_gone = |candidate: &Candidate| candidate.feed == feed && is_gone(candidate);
        let mut removed = 0_usize;
        let mut release = |candidate: Candidate| {
            removed += 1;
            hops.release(candidate.next_hop, adjacencies);
        };
        let local4 = self.local.ipv4.remove(&is_gone, &mut release);
        let local6 = self.local.ipv6.remove(&is_gone, &mut release);
        for table in self.by_id.values_mut() {
            table.ipv4.remove(&is_gone, &mut release);
            table.ipv6.remove(&is_gone, &mut release);
            table.ipv4.mark_all(&local4);
            table.ipv6.mark_all(&local6);
        }
        self.count(feed, -removed.cast_signed());
        removed
    }

    /// Looks at the host routes of neighbours between two addresses again, in every table.
    pub(crate) fn follow_neighbours(&mut self, addresses: &[IpAddr]) {
        for table in self.by_id.values_mut() {
            for &address in addresses {
                of_either!(table, IpPrefix::host(address), (half, host) => half.recheck(host));
            }
        }
    }

    /// Applies to the plane what changed. A table that the plane refuses stays as it is, and is
    /// tried again the next time. Returns the number of changed prefixes.
    ///
    /// # Errors
    /// The first error of the plane, after the other tables were applied.
    pub(crate) fn commit(
        &mut self,
        plane: &mut impl Plane,
        hops: &mut NextHops,
        adjacencies: &mut Adjacencies,
    ) -> Result<u64, Error> {
        for (address, is_own) in self.local.ipv4.changed_hosts() {
            plane.set_own_address(Ipv4Addr::from_bits(address), is_own);
        }
        // The local table's own changes are in the tables that it overlays.
        self.local.ipv4.clear_marks();
        self.local.ipv6.clear_marks();
        let (mut count, mut result) = (0, Ok(()));
        for (&id, table) in &mut self.by_id {
            let halves = [
                table.ipv4.commit(id, &self.local.ipv4, plane, hops, adjacencies, |rib, deltas| {
                    Routes::V4(rib, deltas)
                }),
                table.ipv6.commit(id, &self.local.ipv6, plane, hops, adjacencies, |rib, deltas| {
                    Routes::V6(rib, deltas)
                }),
            ];
            for half in halves {
                match half {
                    Ok(changed) => count += changed,
                    Err(error) => result = result.and(Err(error)),
                }
            }
        }
        result.map(|()| count)
    }

    /// Returns the route that answers for an address.
    pub(crate) fn lookup(&self, table: u32, address: IpAddr) -> Option<Chosen> {
        let table = self.by_id.get(&table)?;
        match address {
            IpAddr::V4(address) => table.ipv4.lookup(address.to_bits()),
            IpAddr::V6(address) => table.ipv6.lookup(address.to_bits()),
        }
    }

    /// Returns the routes of a table after a prefix, or all, in order.
    pub(crate) fn routes(
        &self,
        table: u32,
        family: Family,
        after: Option<IpPrefix>,
    ) -> Box<dyn Iterator<Item = Chosen> + '_> {
        let Some(table) = self.by_id.get(&table) else { return Box::new(std::iter::empty()) };
        match (family, after) {
            (Family::Ipv4, Some(IpPrefix::V4(after))) => Box::new(table.ipv4.routes(Some(after))),
            (Family::Ipv6, Some(IpPrefix::V6(after))) => Box::new(table.ipv6.routes(Some(after))),
            (Family::Ipv4, _) => Box::new(table.ipv4.routes(None)),
            (Family::Ipv6, _) => Box::new(table.ipv6.routes(None)),
        }
    }

    /// Returns the number of prefixes that feeds have told, in all tables.
    pub(crate) fn told(&self) -> usize {
        self.by_id.values().map(|table| table.ipv4.told() + table.ipv6.told()).sum()
    }

    /// Returns the sizes of the tables.
    pub(crate) fn sizes(&self) -> Vec<TableSize> {
        let size = |(&id, table): (&u32, &Table)| TableSize {
            table: id,
            ipv4: table.ipv4.len(),
            ipv6: table.ipv6.len(),
        };
        self.by_id.iter().map(size).collect()
    }
}

impl Table {
    /// Returns an empty table in which every prefix of this one is still to be overlaid.
    fn overlay(&self) -> Self {
        Self { ipv4: self.ipv4.overlay(), ipv6: self.ipv6.overlay() }
    }
}
