//! [`Table`]: the table of lookups, either routes that were read or a snapshot that was mapped.

use super::answer::Answer;
use super::compiled::Compiled;
use crate::exit::Verdict;
use crate::reading::{self, Reading};
use crate::registry;
use anyhow::Context;
use fibula::snapshot::{Routes, Snapshot};
use fibula::{Address, IpPrefix, NextHopInfo, NextHops, Prefix, Rib, View, Views};
use fibula_io::snapshot;
use fibula_io::table::{Format, Tables};
use std::path::Path;

/// Why a prefix is not answered.
pub(super) const ADDRESSES_ALONE: &str = "a snapshot without its routes answers addresses, not prefixes";

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
            reading.was_in(Format::Snapshot)?;
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

    /// Returns the longest match of an address or a prefix, or with `all` every route that covers
    /// it, longest first. Never empty: where no route matches, there is one answer that says so.
    ///
    /// # Errors
    /// If a prefix is asked of a snapshot without its routes.
    pub(super) fn answers(&self, asked: IpPrefix, all: bool) -> anyhow::Result<Vec<Answer>> {
        match (self, asked) {
            (Self::Read(tables), IpPrefix::V4(asked)) => {
                Ok(read(&tables.ipv4, &tables.next_hops, asked, all))
            }
            (Self::Read(tables), IpPrefix::V6(asked)) => {
                Ok(read(&tables.ipv6, &tables.next_hops, asked, all))
            }
            (Self::Mapped(snapshot, views), IpPrefix::V4(asked)) => {
                mapped(snapshot, views.ipv4(), asked, all)
            }
            (Self::Mapped(snapshot, views), IpPrefix::V6(asked)) => {
                mapped(snapshot, views.ipv6(), asked, all)
            }
        }
    }
}

fn read<A: Address>(rib: &Rib<A>, next_hops: &NextHops, asked: Prefix<A>, all: bool) -> Vec<Answer> {
    let covering = rib.covering(asked).take(if all { usize::MAX } else { 1 });
    let answer = |prefix: Prefix<A>, next_hop| Answer::new(asked, Some(prefix), next_hop);
    let answers = covering.map(|route| answer(route.prefix, next_hops.get(route.next_hop).cloned()));
    or_none(answers.collect(), asked)
}

/// The next hop is the engine's answer; prefixes are known where the snapshot keeps its routes.
fn mapped<A: Address>(
    snapshot: &Snapshot,
    view: Option<&dyn View<A>>,
    asked: Prefix<A>,
    all: bool,
) -> anyhow::Result<Vec<Answer>> {
    let Some(view) = view else { return Ok(vec![Answer::none(asked)]) };
    let next_hop = |at| -> Option<NextHopInfo> { snapshot.next_hop(at) };
    let best = (asked.len() == A::BITS).then(|| view.lookup_index(asked.first()));
    let Ok(routes) = snapshot.routes::<A>() else {
        let best = best.with_context(|| format!("{asked}: {ADDRESSES_ALONE}"))?;
        return Ok(vec![Answer::new(asked, None, next_hop(best))]);
    };
    let covering = Routes::covering(&routes, asked).take(if all { usize::MAX } else { 1 });
    let answers = covering.enumerate().map(|(at, route)| {
        let best = best.filter(|_| at == 0);
        Answer::new(asked, Some(route.prefix), next_hop(best.unwrap_or(route.next_hop)))
    });
    Ok(or_none(answers.collect(), asked))
}

fn or_none<A: Address>(mut answers: Vec<Answer>, asked: Prefix<A>) -> Vec<Answer> {
    if answers.is_empty() {
        answers.push(Answer::none(asked));
    }
    answers
}
