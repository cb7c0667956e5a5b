//! [`Half`]: the routes of one table in one family.

use super::Chosen;
use crate::Error;
use crate::adjacencies::Adjacencies;
use crate::feed::{Feed, RouteKey};
use crate::message::{Leg, Selector, Target};
use crate::next_hops::NextHops;
use crate::plane::{Plane, Routes};
use fibula::{Address, Delta, IpPrefix, NextHop, Prefix, Rib};
use hashbrown::HashMap;
use std::collections::BTreeSet;

/// A route that a feed has told. It holds a use of its next hop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) next_hop: NextHop,
    pub(super) metric: u32,
    pub(super) session: u32,
    pub(super) protocol: u8,
    pub(super) feed: Feed,
    pub(super) selector: Option<Selector>,
}

impl Candidate {
    fn is_of(&self, key: &RouteKey) -> bool {
        let has_metric = !key.feed.has_metrics() || self.metric == key.metric;
        self.feed == key.feed && has_metric && self.selector == key.selector
    }

    fn rank(&self) -> (bool, u32, Feed) {
        (self.selector.is_none(), self.metric, self.feed)
    }
}

/// The routes of one table in one family.
#[derive(Debug, Default)]
pub(super) struct Half<A: Address> {
    /// What the plane forwards by. Each route holds a use of its next hop.
    rib: Rib<A>,
    /// The best candidate of each prefix.
    best: HashMap<Prefix<A>, Candidate>,
    /// The other candidates, where there are any.
    others: HashMap<Prefix<A>, Vec<Candidate>>,
    /// Host routes of neighbours, each with a use of its next hop.
    hosts: HashMap<Prefix<A>, NextHop>,
    /// Prefixes whose route in `rib` may be another now.
    changed: Vec<Prefix<A>>,
    /// Addresses whose host route of a neighbour may come or go.
    unchecked: BTreeSet<Prefix<A>>,
}

impl<A: Address> Half<A>
where
    IpPrefix: From<Prefix<A>>,
{
    /// Replaces the candidate of a key. Returns the one before.
    pub(super) fn replace(
        &mut self,
        prefix: Prefix<A>,
        key: &RouteKey,
        candidate: Option<Candidate>,
    ) -> Option<Candidate> {
        if self.others.is_empty()
            && let Some(candidate) = candidate
            && let Some(best) = self.best.get_mut(&prefix)
            && best.is_of(key)
        {
            let old = std::mem::replace(best, candidate);
            if old.next_hop != candidate.next_hop {
                self.changed.push(prefix);
            }
            return Some(old);
        }
        let mut all = self.others.remove(&prefix).unwrap_or_default();
        all.extend(self.best.remove(&prefix));
        let old = all.iter().position(|other| other.is_of(key)).map(|at| all.swap_remove(at));
        all.extend(candidate);
        if let Some(at) = (0..all.len()).min_by_key(|&at| all[at].rank()) {
            self.best.insert(prefix, all.swap_remove(at));
        }
        if !all.is_empty() {
            self.others.insert(prefix, all);
        }
        self.changed.push(prefix);
        old
    }

    /// Returns the candidate of a key.
    pub(super) fn candidate(&self, prefix: Prefix<A>, key: &RouteKey) -> Option<&Candidate> {
        let others = self.others.get(&prefix).into_iter().flatten();
        others.chain(self.best.get(&prefix)).find(|candidate| candidate.is_of(key))
    }

    /// Notes that the route of a prefix may be another now.
    pub(super) fn mark(&mut self, prefix: Prefix<A>) {
        self.changed.push(prefix);
    }

    /// As [`mark`](Self::mark), for several.
    pub(super) fn mark_all(&mut self, prefixes: &[Prefix<A>]) {
        self.changed.extend(prefixes);
    }

    /// Returns the marked host routes, and whether a feed has told each.
    pub(super) fn changed_hosts(&self) -> impl Iterator<Item = (A, bool)> {
        let hosts = self.changed.iter().filter(|prefix| prefix.len() == A::BITS);
        hosts.map(|prefix| (prefix.first(), self.best.contains_key(prefix)))
    }

    /// Forgets the marks.
    pub(super) fn clear_marks(&mut self) {
        self.changed.clear();
    }

    /// Notes that the host route of a neighbour may come or go.
    pub(super) fn recheck(&mut self, host: Prefix<A>) {
        self.unchecked.insert(host);
    }

    /// Returns an empty half in which every prefix of this one is marked.
    pub(super) fn overlay(&self) -> Self {
        Self { changed: self.best.keys().copied().collect(), ..Self::default() }
    }

    /// Removes the candidates that are gone, and hands them to `removed`. Returns their prefixes.
    pub(super) fn remove(
        &mut self,
        is_gone: &impl Fn(&Candidate) -> bool,
        removed: &mut impl FnMut(Candidate),
    ) -> Vec<Prefix<A>> {
        let all = self.best.iter().map(|(&prefix, candidate)| (prefix, *candidate));
        let others = self.others.iter();
        let others = others.flat_map(|(&prefix, all)| all.iter().map(move |&candidate| (prefix, candidate)));
        let gone: Vec<(Prefix<A>, Candidate)> = all.chain(others).filter(|(_, it)| is_gone(it)).collect();
        for (prefix, candidate) in &gone {
            let &Candidate { feed, metric, selector, .. } = candidate;
            // The table is not looked at.
            let key = RouteKey { feed, table: 0, metric, prefix: (*prefix).into(), selector };
            if let Some(candidate) = self.replace(*prefix, &key, None) {
                removed(candidate);
            }
        }
        gone.into_iter().map(|(prefix, _)| prefix).collect()
    }

    /// Returns the next hop that a prefix should have.
    fn wanted(&self, prefix: Prefix<A>, local: &Self) -> Option<NextHop> {
        let of = |half: &Self| half.best.get(&prefix).map(|candidate| candidate.next_hop);
        of(local).or_else(|| of(self)).or_else(|| self.hosts.get(&prefix).copied())
    }

    /// Applies to the plane what changed. Returns the number of changed prefixes.
    pub(super) fn commit(
        &mut self,
        table: u32,
        local: &Self,
        plane: &mut impl Plane,
        hops: &mut NextHops,
        adjacencies: &mut Adjacencies,
        routes: impl for<'a> Fn(&'a Rib<A>, &'a [Delta<A>]) -> Routes<'a>,
    ) -> Result<u64, Error> {
        let (mut count, mut result) = (0, Ok(()));
        let mut unready = Vec::new();
        // Each turn may bring or end host routes of neighbours, which the next turn applies. They
        // bring no others, so there are at most two.
        while !self.changed.is_empty() || !self.unchecked.is_empty() {
            let mut changed = std::mem::take(&mut self.changed);
            changed.sort_unstable();
            changed.dedup();
            let mut deltas = Vec::new();
            for prefix in changed {
                let delta = match self.wanted(prefix, local) {
                    Some(next_hop) if !hops.is_told(next_hop) => {
                        unready.push(prefix);
                        None
                    }
                    Some(next_hop) => self.rib.insert(prefix, next_hop),
                    None => self.rib.remove(prefix),
                };
                deltas.extend(delta);
            }
            if !deltas.is_empty() {
                for delta in &deltas {
                    hops.acquire_again(delta.after);
                }
                let applied = plane.apply(table, routes(&self.rib, &deltas));
                for delta in &deltas {
                    let unused = if applied.is_ok() { delta.before } else { delta.after };
                    hops.release(unused, adjacencies);
                }
                if let Err(error) = applied {
                    for delta in std::mem::take(&mut deltas) {
                        self.rib.apply(delta.inverse().change());
                        unready.push(delta.prefix);
                    }
                    result = result.and(Err(error));
                }
                count += deltas.len() as u64;
            }
            self.follow(&deltas, hops, adjacencies);
            result = result.and(hops.tell(plane, adjacencies));
        }
        self.changed = unready;
        result.map(|()| count)
    }

    /// Makes and ends host routes of neighbours where routes above them changed, and where they
    /// themselves came or went.
    fn follow(&mut self, deltas: &[Delta<A>], hops: &mut NextHops, adjacencies: &mut Adjacencies) {
        if adjacencies.neighbour_count() > 0 {
            for delta in deltas {
                let (first, last) = (delta.prefix.first().to_ip(), delta.prefix.last().to_ip());
                let within = adjacencies.neighbours_between(first, last);
                self.unchecked
                    .extend(within.filter_map(|(_, address)| A::from_ip(address)).map(Prefix::host));
            }
        }
        for host in std::mem::take(&mut self.unchecked) {
            let address = host.first().to_ip();
            let above = self.rib.parent(host).and_then(|route| hops.on_link(route.next_hop));
            let interface = above.filter(|&interface| adjacencies.has_neighbour(interface, address));
            let now = interface.map(|interface| {
                hops.acquire(Target::Legs([Leg { interface, gateway: Some(address), weight: 1 }].into()))
            });
            let before = match now {
                Some(next_hop) => self.hosts.insert(host, next_hop),
                None => self.hosts.remove(&host),
            };
            if before != now {
                self.changed.push(host);
            }
            if let Some(before) = before {
                hops.release(before, adjacencies);
            }
        }
    }

    /// Returns the route that answers for an address.
    pub(super) fn lookup(&self, address: A) -> Option<Chosen> {
        self.rib.longest_match(address).map(|route| self.chosen(route.prefix, route.next_hop))
    }

    /// Returns the routes after a prefix, or all, in order.
    pub(super) fn routes(&self, after: Option<Prefix<A>>) -> impl Iterator<Item = Chosen> {
        let from = self.rib.iter_from(after.unwrap_or(Prefix::ALL));
        let routes = from.skip_while(move |route| Some(route.prefix) == after);
        routes.map(|route| self.chosen(route.prefix, route.next_hop))
    }

    fn chosen(&self, prefix: Prefix<A>, next_hop: NextHop) -> Chosen {
        let best = self.best.get(&prefix).filter(|best| best.next_hop == next_hop);
        let by = best.map(|best| (best.feed, best.protocol, best.metric));
        Chosen { prefix: prefix.into(), next_hop, by }
    }

    /// Returns the number of prefixes that feeds have told.
    pub(super) fn told(&self) -> usize {
        self.best.len()
    }

    pub(super) fn len(&self) -> usize {
        self.rib.len()
    }
}
