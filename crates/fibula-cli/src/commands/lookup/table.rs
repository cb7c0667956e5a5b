//! [`Table`]: the table of lookups, either routes that were read or a snapshot that was mapped.

use super::answer::Answer;
use super::compiled::Compiled;
use crate::exit::Verdict;
use crate::reading::{self, Reading};
use crate::registry;
use fibula::snapshot::{Routes, Snapshot};
use fibula::{Address, NextHopInfo, NextHops, Prefix, Rib, View, Views};
use fibula_io::snapshot;
use fibula_io::table::Tables;
use std::net::IpAddr;
use std::path::Path;

/// A table of either kind.
#[derive(Debug)]
pub(super) enum Table {
    /// Routes, of both families.
    Read(Box<Tables>),
    /// A snapshot.
    Mapped(Snapshot, Views),
}

impl Table {
    /// Opens the named table. A snapshot is mapped, anything else is read. Also returns whether it
    /// was read without damage.
    pub(super) fn named(name: Option<&str>, reading: &Reading) -> anyhow::Result<(Self, Verdict)> {
        if let Some(path) = name.map(Path::new)
            && reading.input_format.is_none()
            && snapshot::is_one(path)
        {
            let snapshot = Snapshot::open(path)?;
            let views = snapshot.views_from(registry::engines());
            let views = views.map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?;
            return Ok((Self::Mapped(snapshot, views), Verdict::Good));
        }
        let (tables, whole) = reading::table_or_internet(reading, name)?;
        Ok((Self::Read(Box::new(tables)), whole))
    }

    /// Returns whether all routes that cover an address are known, not only the longest.
    pub(super) fn knows_all(&self) -> bool {
        match self {
            Self::Read(_) => true,
            Self::Mapped(snapshot, _) => snapshot.has_routes(),
        }
    }

    /// Both families, ready for many lookups, and their next hops.
    pub(super) fn compiled(self) -> anyhow::Result<(Compiled<u32>, Compiled<u128>, NextHops)> {
        let (snapshot, views) = match self {
            Self::Read(tables) => {
                let Tables { ipv4, ipv6, next_hops } = *tables;
                return Ok((Compiled::new(ipv4), Compiled::new(ipv6), next_hops));
            }
            Self::Mapped(snapshot, views) => (snapshot, views),
        };
        let next_hops = snapshot.next_hops()?;
        if snapshot.has_routes() {
            return Ok((Compiled::new(snapshot.rib()?), Compiled::new(snapshot.rib()?), next_hops));
        }
        let (all, (ipv4, ipv6)) = (next_hops.len(), views.into_views());
        Ok((Compiled::opened(ipv4, all), Compiled::opened(ipv6, all), next_hops))
    }

    /// Returns the longest match of an address, or with `all` every route that covers it, longest
    /// first. Never empty: where no route matches, there is one answer that says so.
    pub(super) fn answers(&self, address: IpAddr, all: bool) -> Vec<Answer> {
        match (self, address) {
            (Self::Read(tables), IpAddr::V4(ip)) => read(&tables.ipv4, &tables.next_hops, ip.to_bits(), all),
            (Self::Read(tables), IpAddr::V6(ip)) => read(&tables.ipv6, &tables.next_hops, ip.to_bits(), all),
            (Self::Mapped(snapshot, views), IpAddr::V4(ip)) => {
                mapped(snapshot, views.ipv4(), ip.to_bits(), all)
            }
            (Self::Mapped(snapshot, views), IpAddr::V6(ip)) => {
                mapped(snapshot, views.ipv6(), ip.to_bits(), all)
            }
        }
    }
}

fn read<A: Address>(rib: &Rib<A>, next_hops: &NextHops, address: A, all: bool) -> Vec<Answer> {
    let covering = rib.covering(Prefix::host(address)).take(if all { usize::MAX } else { 1 });
    let answer = |prefix: Prefix<A>, next_hop| Answer::new(address, Some(prefix), next_hop);
    let answers = covering.map(|route| answer(route.prefix, next_hops.get(route.next_hop).cloned()));
    or_none(answers.collect(), address)
}

/// The next hop is the engine's answer; prefixes are known where the snapshot keeps its routes.
fn mapped<A: Address>(snapshot: &Snapshot, view: Option<&dyn View<A>>, address: A, all: bool) -> Vec<Answer> {
    let Some(view) = view else { return vec![Answer::none(address.to_ip())] };
    let next_hop = |at| -> Option<NextHopInfo> { snapshot.next_hop(at) };
    let best = view.lookup_index(address);
    let Ok(routes) = snapshot.routes::<A>() else {
        return vec![Answer::new(address, None, next_hop(best))];
    };
    let covering = Routes::covering(&routes, Prefix::host(address)).take(if all { usize::MAX } else { 1 });
    let answers = covering.enumerate().map(|(at, route)| {
        Answer::new(address, Some(route.prefix), next_hop(if at == 0 { best } else { route.next_hop }))
    });
    or_none(answers.collect(), address)
}

fn or_none<A: Address>(mut answers: Vec<Answer>, address: A) -> Vec<Answer> {
    if answers.is_empty() {
        answers.push(Answer::none(address.to_ip()));
    }
    answers
}
