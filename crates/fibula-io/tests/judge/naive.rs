//! What updates say of each prefix, by a map of routes and the sentences of the standards.

use super::history::{Attributes, LOCAL_AS, Peer, Prefix, Record};
use std::collections::{BTreeMap, BTreeSet};

/// A route: who sent it, with which identifier, and its attributes.
type Route<'n> = (Peer, u32, &'n Attributes);

/// The routes that are there after some records, and what is known of peers.
#[derive(Clone, Default)]
pub(crate) struct Naive {
    /// By prefix, address of the peer, and identifier.
    routes: BTreeMap<(Prefix, u32, u32), (Peer, Attributes)>,
    /// The peers whose identifier a dump has told, and those that a message shows as our own AS's.
    with_id: BTreeSet<u32>,
    internal: BTreeSet<u32>,
    /// The routes from before the feed was lost, the peers whose end is waited for, and those that
    /// have come back since.
    stale: BTreeSet<(Prefix, u32, u32)>,
    behind: BTreeSet<u32>,
    back: BTreeSet<u32>,
}

/// Where a route began.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Origin {
    As(u32),
    Set(BTreeSet<u32>),
}

impl Naive {
    pub(crate) fn of<'r>(updates: impl IntoIterator<Item = &'r Record>) -> Self {
        let mut naive = Self::default();
        updates.into_iter().for_each(|record| naive.take(record));
        naive
    }

    /// Notes what the records of a dump tell of peers. Of routes they tell nothing new.
    pub(crate) fn knowing<'r>(mut self, dump: impl IntoIterator<Item = &'r Record>) -> Self {
        let mut table: &[Peer] = &[];
        for record in dump {
            match record {
                Record::Peers { peers, .. } => table = peers,
                Record::Rib { entries, .. } => {
                    let peers = entries.iter().map(|(index, ..)| key(table[usize::from(*index)]));
                    self.with_id.extend(peers);
                }
                _ => {}
            }
        }
        self
    }

    pub(crate) fn take(&mut self, record: &Record) {
        match record {
            // A message to the peer is none of its routes (RFC 6396 section 4.4).
            Record::Update { is_sent: false, peer, withdrawn, announced, attributes, .. } => {
                if withdrawn.is_empty() && announced.is_empty() {
                    self.end(*peer);
                }
                if peer.asn == LOCAL_AS {
                    self.internal.insert(key(*peer));
                }
                for (prefix, id) in withdrawn {
                    self.routes.remove(&(*prefix, key(*peer), *id));
                    self.stale.remove(&(*prefix, key(*peer), *id));
                }
                for (prefix, id) in announced {
                    self.back.insert(key(*peer));
                    self.stale.remove(&(*prefix, key(*peer), *id));
                    self.routes.insert((*prefix, key(*peer), *id), (*peer, attributes.clone()));
                }
            }
            Record::Open { peer, .. } => {
                self.with_id.insert(key(*peer));
                if peer.asn == LOCAL_AS {
                    self.internal.insert(key(*peer));
                }
            }
            // RFC 4271 section 8.2.2: what is not Established has no routes.
            Record::State { peer, from, to, .. } if (*from == 6) != (*to == 6) => {
                // A session that begins does not end what is stale.
                let is_begun = *to == 6;
                let Self { routes, stale, .. } = self;
                routes.retain(|route, (of, _)| of != peer || is_begun && stale.contains(route));
                stale.retain(|route| routes.contains_key(route));
                if is_begun {
                    self.back.insert(key(*peer));
                } else {
                    self.behind.remove(&key(*peer));
                    self.back.remove(&key(*peer));
                }
            }
            Record::EndOfRib { peer, .. } => self.end(*peer),
            _ => {}
        }
    }

    /// RFC 4724 section 4.2: what has not been told again by the end of a peer's routes is gone.
    /// With the last peer that has come back go those that have not. Its message is an empty
    /// UPDATE.
    fn end(&mut self, peer: Peer) {
        if peer.asn == LOCAL_AS {
            self.internal.insert(key(peer));
        }
        self.back.insert(key(peer));
        self.behind.remove(&key(peer));
        let is_last = self.behind.is_disjoint(&self.back);
        if is_last {
            self.behind.clear();
        }
        let is_gone = |&(_, of, _): &(Prefix, u32, u32)| is_last || of == key(peer);
        let gone: Vec<_> = self.stale.iter().copied().filter(is_gone).collect();
        for route in gone {
            self.stale.remove(&route);
            self.routes.remove(&route);
        }
    }

    /// Makes all routes stale, because what tells them is lost.
    pub(crate) fn lose(&mut self) {
        self.stale = self.routes.keys().copied().collect();
        self.behind.extend(self.stale.iter().map(|&(_, peer, _)| peer));
        self.back.clear();
    }

    /// Drops all stale routes.
    pub(crate) fn expire(&mut self) {
        for route in std::mem::take(&mut self.stale) {
            self.routes.remove(&route);
        }
        self.behind.clear();
    }

    /// Returns whether some routes are stale.
    pub(crate) fn is_stale(&self) -> bool {
        !self.behind.is_empty()
    }

    /// Returns the routes of a prefix.
    pub(crate) fn routes_of(&self, prefix: Prefix) -> impl Iterator<Item = Route<'_>> {
        let all = self.routes.range((prefix, 0, 0)..=(prefix, u32::MAX, u32::MAX));
        all.map(|(&(_, _, id), (peer, attributes))| (*peer, id, attributes))
    }

    /// Returns the routes of each prefix that has some, of one peer or of all.
    fn routes(&self, peer: Option<Peer>) -> impl Iterator<Item = (Prefix, Vec<Route<'_>>)> {
        let prefixes: BTreeSet<Prefix> = self.routes.keys().map(|&(prefix, ..)| prefix).collect();
        prefixes.into_iter().filter_map(move |prefix| {
            let wanted = |route: &Route<'_>| peer.is_none_or(|peer| route.0 == peer);
            let routes: Vec<Route<'_>> = self.routes_of(prefix).filter(wanted).collect();
            (!routes.is_empty()).then_some((prefix, routes))
        })
    }

    /// Returns the next hop of the best route of each prefix.
    pub(crate) fn next_hops(&self, peer: Option<Peer>) -> BTreeMap<Prefix, String> {
        let best = |routes| self.best(routes).2.next_hop.to_string();
        self.routes(peer).map(|(prefix, routes)| (prefix, best(routes))).collect()
    }

    /// Returns the peer that has sent the best route of each prefix.
    pub(crate) fn peers(&self, peer: Option<Peer>) -> BTreeMap<Prefix, String> {
        let best = |routes| self.best(routes).0.address.to_string();
        self.routes(peer).map(|(prefix, routes)| (prefix, best(routes))).collect()
    }

    /// Returns the origin of the best route of each prefix.
    pub(crate) fn origin(&self, peer: Option<Peer>) -> BTreeMap<Prefix, Origin> {
        self.routes(peer).map(|(prefix, routes)| (prefix, origin(self.best(routes)))).collect()
    }

    /// Returns the origins of all routes of each prefix.
    pub(crate) fn origins(&self, peer: Option<Peer>) -> BTreeMap<Prefix, BTreeSet<Origin>> {
        self.routes(peer).map(|(prefix, routes)| (prefix, routes.into_iter().map(origin).collect())).collect()
    }

    /// RFC 4271 section 9.1.2, step by step: what a step does not keep is out.
    fn best<'n>(&self, mut routes: Vec<Route<'n>>) -> Route<'n> {
        fn keep<K: Ord>(routes: &mut Vec<Route<'_>>, key: impl Fn(&Route<'_>) -> K) {
            let least = routes.iter().map(&key).min();
            routes.retain(|route| Some(key(route)) == least);
        }
        keep(&mut routes, |route| std::cmp::Reverse(route.2.local.unwrap_or(100)));
        keep(&mut routes, |route| length(route.2));
        keep(&mut routes, |route| route.2.origin);
        let all = routes.clone();
        let exit = |route: &Route<'_>| route.2.exit.unwrap_or(0);
        routes.retain(|route| {
            let same = |other: &&Route<'_>| neighbour(other.2) == neighbour(route.2);
            !all.iter().filter(same).any(|other| exit(other) < exit(route))
        });
        keep(&mut routes, |route| self.internal.contains(&key(route.0)));
        keep(&mut routes, |route| if self.with_id.contains(&key(route.0)) { route.0.router_id } else { 0 });
        keep(&mut routes, |route| route.0.address);
        keep(&mut routes, |route| route.1);
        routes[0]
    }
}

fn key(peer: Peer) -> u32 {
    peer.address.to_bits()
}

/// RFC 4271 section 9.1.2.2: a set counts 1; RFC 5065 section 5.3: a confederation counts 0.
fn length(attributes: &Attributes) -> usize {
    attributes
        .path
        .iter()
        .map(|(kind, numbers)| match kind {
            1 => 1,
            2 => numbers.len(),
            _ => 0,
        })
        .sum()
}

fn neighbour(attributes: &Attributes) -> u32 {
    match attributes.path.iter().find(|(kind, _)| *kind <= 2) {
        Some((2, numbers)) => numbers[0],
        _ => 0,
    }
}

/// RFC 6811 section 2, where the AS of the peer stands for that of the speaker.
fn origin((peer, _, attributes): Route<'_>) -> Origin {
    match attributes.path.last() {
        Some((2, numbers)) => Origin::As(numbers[numbers.len() - 1]),
        Some((1, numbers)) => Origin::Set(numbers.iter().copied().collect()),
        _ => Origin::As(peer.asn),
    }
}
