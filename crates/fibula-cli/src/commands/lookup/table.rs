//! [`Table`]: the table of lookups, either routes that were read or a snapshot that was mapped.

use super::answer::Answer;
use super::compiled::Compiled;
use crate::exit::Verdict;
use crate::reading::{self, Reading};
use crate::registry;
use fibula::snapshot::{Routes, Snapshot};
use fibula::{Address, Family, NextHopInfo, NextHops, Prefix, Rib, View};
use fibula_io::snapshot;
use fibula_io::table::Tables;
use std::net::IpAddr;
use std::path::Path;

/// A table of either kind.
#[derive(Debug)]
pub(super) enum Table {
    /// Routes, of both families.
    Read(Box<Tables>),
    /// A compiled table of one family.
    Mapped(Snapshot, Mapped),
}

/// The compiled table of a snapshot.
#[derive(Debug)]
pub(super) enum Mapped {
    Ipv4(Box<dyn View<u32>>),
    Ipv6(Box<dyn View<u128>>),
}

impl Table {
    /// Opens the named table. A snapshot is mapped, anything else is read. Also returns whether it
    /// was read without damage.
    pub(super) fn named(name: Option<&str>, reading: &Reading) -> anyhow::Result<(Self, Verdict)> {
        if let Some(path) = name.map(Path::new)
            && reading.input_format.is_none()
            && snapshot::is_one(path)
        {
            let snapshot = snapshot::open(path)?;
            let engines = registry::engines();
            let mapped = match snapshot.family() {
                Family::Ipv4 => snapshot.view_from(engines).map(Mapped::Ipv4),
                Family::Ipv6 => snapshot.view_from(engines).map(Mapped::Ipv6),
            };
            let mapped = mapped.map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?;
            return Ok((Self::Mapped(snapshot, mapped), Verdict::Good));
        }
        let (tables, whole) = reading::table_or_internet(reading, name)?;
        Ok((Self::Read(Box::new(tables)), whole))
    }

    /// Both families, ready for many lookups, and their next hops.
    pub(super) fn compiled(self) -> anyhow::Result<(Compiled<u32>, Compiled<u128>, NextHops)> {
        let (snapshot, mapped) = match self {
            Self::Read(tables) => {
                let Tables { ipv4, ipv6, next_hops } = *tables;
                return Ok((Compiled::new(ipv4), Compiled::new(ipv6), next_hops));
            }
            Self::Mapped(snapshot, mapped) => (snapshot, mapped),
        };
        let next_hops = snapshot.next_hops()?;
        let all = next_hops.len();
        let kept = snapshot.has_routes();
        Ok(match mapped {
            Mapped::Ipv4(_) if kept => (Compiled::new(snapshot.rib()?), Compiled::new(Rib::new()), next_hops),
            Mapped::Ipv6(_) if kept => (Compiled::new(Rib::new()), Compiled::new(snapshot.rib()?), next_hops),
            Mapped::Ipv4(view) => (Compiled::opened(view, all), Compiled::new(Rib::new()), next_hops),
            Mapped::Ipv6(view) => (Compiled::new(Rib::new()), Compiled::opened(view, all), next_hops),
        })
    }

    /// Returns the longest match of an address, or with `all` every route that covers it, longest
    /// first. Never empty: where no route matches, there is one answer that says so.
    pub(super) fn answers(&self, address: IpAddr, all: bool) -> Vec<Answer> {
        match (self, address) {
            (Self::Read(tables), IpAddr::V4(ip)) => read(&tables.ipv4, &tables.next_hops, ip.to_bits(), all),
            (Self::Read(tables), IpAddr::V6(ip)) => read(&tables.ipv6, &tables.next_hops, ip.to_bits(), all),
            (Self::Mapped(snapshot, Mapped::Ipv4(view)), IpAddr::V4(ip)) => {
                mapped(snapshot, &**view, ip.to_bits(), all)
            }
            (Self::Mapped(snapshot, Mapped::Ipv6(view)), IpAddr::V6(ip)) => {
                mapped(snapshot, &**view, ip.to_bits(), all)
            }
            (Self::Mapped(..), _) => vec![Answer::none(address)],
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
fn mapped<A: Address>(snapshot: &Snapshot, view: &dyn View<A>, address: A, all: bool) -> Vec<Answer> {
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
