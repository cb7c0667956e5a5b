//! [`NextHops`]: what routes lead to, each kept once, and what the plane does there.
//!
//! | a route leads to | the packet |
//! | --- | --- |
//! | a gateway, on any interface, of either family | goes to the gateway's adjacency |
//! | several gateways with weights | goes to one of them by the hash of its flow ([`buckets`]) |
//! | an interface alone | goes to the kernel, which resolves the destination ([`crate::routes`]) |
//! | blackhole | is dropped |
//! | unreachable, prohibit, local addresses, tunnels, labels | goes to the kernel |
//! | a next-hop object | as the object says; to the kernel while there is none |
//!
//! Of what the kernel sends the plane knows the interfaces: sources that the route leads to may
//! come by them.
//!
//! Gateways that BFD holds down ([`crate::feed::bfd`]) are as if they were not named. Where all
//! are, the kernel gets the packets, as those to a gateway whose MAC address is not known: it has
//! the route too, and answers or tries. Nothing better is known until the route changes.
//!
//! A next-hop object whose members change costs one action. Its routes stay as they are.

pub(crate) mod buckets;

use crate::Error;
use crate::adjacencies::{Adjacencies, Neighbours};
use crate::feed::{Feed, ObjectKey};
use crate::message::{Leg, Object, Target};
use crate::plane::{Action, AdjacencyId, Plane};
use crate::pool::Pool;
use buckets::Buckets;
use fibula::{Limit, NextHop};
use hashbrown::HashMap;
use std::collections::{BTreeMap, BTreeSet};

/// What a route leads to.
pub(crate) type Key = Target<ObjectKey>;

/// A next hop in use.
#[derive(Debug)]
struct Entry {
    key: Key,
    uses: u64,
    buckets: Buckets,
    /// The adjacencies that it uses, each once.
    adjacencies: Vec<AdjacencyId>,
    /// How many of its legs BFD holds down.
    held_down: usize,
    /// What the plane was told last.
    told: Option<Action>,
}

/// The next hops of all routes, by index, and the next-hop objects.
#[derive(Debug)]
pub(crate) struct NextHops {
    entries: Pool<Entry>,
    indices: HashMap<Key, NextHop>,
    objects: HashMap<ObjectKey, Object>,
    /// The legs and members of all entries and objects: what their memory grows with.
    held: usize,
    /// The first session of a feed of which objects may be there.
    first_sessions: BTreeMap<Feed, u32>,
    /// Objects that came or changed since the last [`NextHops::tell`].
    new_objects: Vec<ObjectKey>,
    have_objects_changed: bool,
    /// Whether one of them was there, or a route named it.
    have_meanings_changed: bool,
    /// Next hops that the plane may have to be told.
    changed: BTreeSet<NextHop>,
}

/// What a next hop comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resolved {
    Drop,
    Kernel,
    Legs(Vec<(Neighbours, u64)>),
}

/// The kernel's index of `lo`, in each network namespace.
const LOOPBACK: u32 = 1;

impl NextHops {
    pub(crate) fn new() -> Self {
        Self {
            // Index 0 is "no route".
            entries: Pool::new(1),
            indices: HashMap::new(),
            objects: HashMap::new(),
            held: 0,
            first_sessions: BTreeMap::new(),
            new_objects: Vec::new(),
            have_objects_changed: false,
            have_meanings_changed: false,
            changed: BTreeSet::new(),
        }
    }

    /// Returns the next hop that stands for `key`, which has one use more now.
    pub(crate) fn acquire(&mut self, key: Key) -> NextHop {
        if let Some(&next_hop) = self.indices.get(&key) {
            self.acquire_again(next_hop);
            return next_hop;
        }
        self.held += size_of_key(&key);
        let (buckets, adjacencies) = (Buckets::default(), Vec::new());
        let entry = Entry { key: key.clone(), uses: 1, buckets, adjacencies, held_down: 0, told: None };
        let next_hop = NextHop(self.entries.insert(entry));
        self.indices.insert(key, next_hop);
        self.changed.insert(next_hop);
        next_hop
    }

    /// Has a next hop that the plane does not know yet divide its flows as the one does whose place
    /// it takes for a route: flows keep their legs where these stay.
    pub(crate) fn follow(&mut self, old: NextHop, next_hop: NextHop) {
        let is_new = |entry: &&mut Entry| entry.told.is_none() && entry.buckets == Buckets::default();
        if next_hop != old
            && let Some(buckets) = self.entries.get(old.0).map(|old| old.buckets.clone())
            && let Some(entry) = self.entries.get_mut(next_hop.0).filter(is_new)
        {
            entry.buckets = buckets;
        }
    }

    /// Adds a use of a next hop that is in use.
    pub(crate) fn acquire_again(&mut self, next_hop: NextHop) {
        if let Some(entry) = self.entries.get_mut(next_hop.0) {
            entry.uses += 1;
        }
    }

    /// Ends a use of a next hop. The last one frees it, and no packet may be led to it any more.
    pub(crate) fn release(&mut self, next_hop: NextHop, adjacencies: &mut Adjacencies) {
        let Some(entry) = self.entries.get_mut(next_hop.0) else { return };
        entry.uses -= 1;
        if entry.uses > 0 {
            return;
        }
        self.indices.remove(&entry.key);
        self.held -= size_of_key(&entry.key);
        self.changed.remove(&next_hop);
        for id in self.entries.remove(next_hop.0).into_iter().flat_map(|entry| entry.adjacencies) {
            adjacencies.release(id);
        }
    }

    /// Returns whether `key` is a next hop already, or would be one of at most `max`.
    pub(crate) fn check_room(&self, key: &Key, max: usize) -> Result<(), Limit> {
        if self.indices.contains_key(key) {
            return Ok(());
        }
        Limit::check(Limit::NEXT_HOPS, (self.held + size_of_key(key)) as u64, max as u64)
    }

    /// Sets or removes a next-hop object.
    ///
    /// # Errors
    /// If there would be more than `max` legs and members. The object is then as it was.
    pub(crate) fn set_object(
        &mut self,
        key: ObjectKey,
        object: Option<Object>,
        max: usize,
    ) -> Result<(), Limit> {
        let held = self.held - self.objects.get(&key).map_or(0, size_of_object);
        let after = held + object.as_ref().map_or(0, size_of_object);
        if after > self.held {
            Limit::check(Limit::NEXT_HOPS, after as u64, max as u64)?;
        }
        self.held = after;
        self.have_meanings_changed |= self.indices.contains_key(&Target::Object(key));
        match object {
            Some(object) => {
                if self.objects.insert(key, object.clone()) == Some(object) {
                    return Ok(());
                }
                self.new_objects.push(key);
            }
            None => {
                self.objects.remove(&key);
            }
        }
        self.have_objects_changed = true;
        Ok(())
    }

    /// Returns the next hop that stands for an object, if routes lead there.
    pub(crate) fn of_object(&self, key: ObjectKey) -> Option<NextHop> {
        self.indices.get(&Target::Object(key)).copied()
    }

    /// Returns whether an object is known.
    pub(crate) fn has_object(&self, key: ObjectKey) -> bool {
        self.objects.contains_key(&key)
    }

    /// Removes the objects of earlier sessions of a feed. No route names them any more.
    pub(crate) fn sweep(&mut self, feed: Feed, session: u32) {
        self.objects.retain(|key, object| {
            let stays = key.feed != feed || key.session >= session;
            if !stays {
                self.held -= size_of_object(object);
            }
            stays
        });
        self.first_sessions.insert(feed, session);
        self.have_objects_changed = true;
    }

    /// Gives next hops of earlier sessions the names of this session where the objects are the
    /// same. Then routes that are told again change nothing. Call it after the objects of a batch
    /// were set and before its routes. Returns whether a next hop may mean something else now.
    pub(crate) fn follow_objects(&mut self) -> bool {
        for key in std::mem::take(&mut self.new_objects) {
            if self.indices.contains_key(&Target::Object(key)) {
                continue;
            }
            let now = self.resolve_object(key);
            // There are few: the sessions since the last sweep. Some may have told nothing.
            let first = self.first_sessions.get(&key.feed).copied().unwrap_or(1);
            let earlier = (first..key.session).rev().map(|session| ObjectKey { session, ..key });
            let known = earlier.filter(|earlier| self.objects.contains_key(earlier));
            let same = known.filter(|&earlier| self.resolve_object(earlier) == now);
            let same = same.map(Target::Object).find(|key| self.indices.contains_key(key));
            if let Some(next_hop) = same.and_then(|same| self.indices.remove(&same))
                && let Some(entry) = self.entries.get_mut(next_hop.0)
            {
                entry.key = Target::Object(key);
                self.indices.insert(Target::Object(key), next_hop);
            }
        }
        if std::mem::take(&mut self.have_objects_changed) {
            let of_objects = self.entries.iter().filter(|(_, entry)| matches!(entry.key, Target::Object(_)));
            self.changed.extend(of_objects.map(|(index, _)| NextHop(index)));
        }
        std::mem::take(&mut self.have_meanings_changed)
    }

    /// Notes that BFD may hold other gateways down, or interfaces have other names. O(legs of all).
    pub(crate) fn follow_gateways(&mut self, adjacencies: &Adjacencies) {
        let is_held = |index| match self.resolve(NextHop(index)) {
            Some(Resolved::Legs(legs)) => legs.iter().any(|leg| adjacencies.is_held(leg.0)),
            _ => false,
        };
        let of_them = self.entries.iter().filter(|&(index, entry)| entry.held_down > 0 || is_held(index));
        let of_them: Vec<NextHop> = of_them.map(|(index, _)| NextHop(index)).collect();
        self.changed.extend(of_them);
    }

    /// Tells the plane what changed, adjacencies first. A next hop that it refuses is told again
    /// the next time.
    ///
    /// # Errors
    /// The first error of the plane, after the others were told.
    pub(crate) fn tell(
        &mut self,
        plane: &mut impl Plane,
        adjacencies: &mut Adjacencies,
    ) -> Result<(), Error> {
        let mut result = Ok(());
        for next_hop in std::mem::take(&mut self.changed) {
            if let Err(error) = self.tell_one(next_hop, plane, adjacencies) {
                self.changed.insert(next_hop);
                result = result.and(Err(error));
            }
        }
        result.and(adjacencies.tell(plane))
    }

    fn tell_one(
        &mut self,
        next_hop: NextHop,
        plane: &mut impl Plane,
        adjacencies: &mut Adjacencies,
    ) -> Result<(), Error> {
        let Some(mut resolved) = self.resolve(next_hop) else { return Ok(()) };
        let mut held_down = 0;
        if let Resolved::Legs(legs) = resolved {
            let (down, carry): (Vec<_>, Vec<_>) =
                legs.into_iter().partition(|leg| adjacencies.is_held(leg.0));
            (held_down, resolved) = (down.len(), of_legs(carry));
        }
        let named: Vec<(Neighbours, u64)> = match &resolved {
            Resolved::Legs(legs) => legs.clone(),
            // The kernel knows the neighbours. The plane needs only the interfaces, and what is by
            // `lo` is this machine: no packet comes from there.
            Resolved::Kernel => {
                let legs = self.legs(next_hop).into_iter().map(|((by, _), _)| ((by, None), 1));
                legs.filter(|((by, _), _)| *by != LOOPBACK).collect()
            }
            Resolved::Drop => Vec::new(),
        };
        let Some(entry) = self.entries.get_mut(next_hop.0) else { return Ok(()) };
        entry.held_down = held_down;
        let named: Vec<(AdjacencyId, u64)> =
            named.into_iter().map(|leg| (adjacencies.acquire(leg.0), leg.1)).collect();
        let is_forwarded = matches!(resolved, Resolved::Legs(_));
        // Buckets of another next hop are of no use to one leg, and flows have none in the kernel.
        let is_new = !is_forwarded || (entry.told.is_none() && named.len() < 2);
        let mut buckets = if is_new { Buckets::default() } else { entry.buckets.clone() };
        buckets.set_legs(&named);
        let slots = buckets.slots().to_vec();
        let action = match resolved {
            Resolved::Drop => Action::Drop,
            Resolved::Kernel if slots.is_empty() => Action::ToKernel,
            Resolved::Kernel => Action::ByKernel(slots),
            Resolved::Legs(_) => Action::Forward(slots),
        };
        if !is_forwarded {
            buckets = Buckets::default();
        }
        let mut unused: Vec<AdjacencyId> = named.into_iter().map(|leg| leg.0).collect();
        let told = if entry.told.as_ref() == Some(&action) {
            Ok(())
        } else {
            adjacencies.tell(plane).and_then(|()| plane.set_action(next_hop, &action))
        };
        if told.is_ok() {
            (entry.told, entry.buckets) = (Some(action), buckets);
            std::mem::swap(&mut entry.adjacencies, &mut unused);
        }
        for id in unused {
            adjacencies.release(id);
        }
        told
    }

    /// Returns whether the plane knows a next hop, so that a route may lead to it.
    pub(crate) fn is_told(&self, next_hop: NextHop) -> bool {
        self.entries.get(next_hop.0).is_some_and(|entry| entry.told.is_some())
    }

    /// Returns what a next hop stands for.
    pub(crate) fn key(&self, next_hop: NextHop) -> Option<&Key> {
        self.entries.get(next_hop.0).map(|entry| &entry.key)
    }

    /// Returns what a next hop comes to.
    pub(crate) fn resolve(&self, next_hop: NextHop) -> Option<Resolved> {
        Some(match self.key(next_hop)? {
            Target::Legs(legs) => of_legs(legs_of(legs)),
            Target::Object(key) => self.resolve_object(*key),
            Target::Blackhole => Resolved::Drop,
            Target::Unreachable | Target::Prohibit | Target::Local | Target::Kernel(_) => Resolved::Kernel,
        })
    }

    fn resolve_object(&self, key: ObjectKey) -> Resolved {
        match self.objects.get(&key) {
            Some(Object::Blackhole) => Resolved::Drop,
            Some(Object::Kernel(_)) | None => Resolved::Kernel,
            // The kernel divides the flows where only it can send to a member.
            Some(Object::Group(members)) if members.iter().any(|&(id, _)| self.is_of_kernel(id, key)) => {
                Resolved::Kernel
            }
            Some(Object::Leg(_) | Object::Group(_)) => of_legs(self.object_legs(key)),
        }
    }

    fn is_of_kernel(&self, id: u32, group: ObjectKey) -> bool {
        matches!(self.objects.get(&ObjectKey { id, ..group }), Some(Object::Kernel(_)))
    }

    /// Returns the legs of an object with their weights. A member that is no leg, or is not there,
    /// has no share.
    fn object_legs(&self, key: ObjectKey) -> Vec<(Neighbours, u64)> {
        let leg = |id, weight: u16| match self.objects.get(&ObjectKey { id, ..key }) {
            Some(Object::Leg(leg) | Object::Kernel(leg)) => Some((*leg, weight)),
            _ => None,
        };
        let legs: Vec<(Leg, u16)> = match self.objects.get(&key) {
            Some(Object::Group(members)) => {
                members.iter().filter_map(|&(id, weight)| leg(id, weight)).collect()
            }
            _ => leg(key.id, 1).into_iter().collect(),
        };
        legs.into_iter().map(|(leg, weight)| weighed(&leg, weight)).collect()
    }

    /// Returns the legs that a next hop names, whatever the plane can do with them.
    pub(crate) fn legs(&self, next_hop: NextHop) -> Vec<(Neighbours, u64)> {
        match self.key(next_hop) {
            Some(Target::Legs(legs) | Target::Kernel(legs)) => legs_of(legs),
            Some(Target::Object(key)) => self.object_legs(*key),
            _ => Vec::new(),
        }
    }

    /// Returns the interface whose link has the destination, where a next hop says no more.
    pub(crate) fn on_link(&self, next_hop: NextHop) -> Option<u32> {
        let leg = match self.key(next_hop)? {
            Target::Legs(legs) => match legs.as_ref() {
                [leg] => leg,
                _ => return None,
            },
            Target::Object(key) => match self.objects.get(key)? {
                Object::Leg(leg) => leg,
                _ => return None,
            },
            _ => return None,
        };
        leg.gateway.is_none().then_some(leg.interface)
    }

    /// Returns the number of next hops.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the number of next hops of which BFD holds a gateway down.
    pub(crate) fn held_down(&self) -> usize {
        self.entries.iter().filter(|(_, entry)| entry.held_down > 0).count()
    }

    /// Returns the number of next-hop objects.
    pub(crate) fn object_count(&self) -> usize {
        self.objects.len()
    }

    /// Returns the number of indices that wait for a grace period.
    pub(crate) fn retired(&self) -> usize {
        self.entries.retired()
    }

    /// Frees the indices that waited: a grace period has ended.
    pub(crate) fn recycle(&mut self) {
        self.entries.recycle();
    }
}

/// Returns the number of legs of a next hop, at least 1.
fn size_of_key(key: &Key) -> usize {
    if let Target::Legs(legs) | Target::Kernel(legs) = key { legs.len().max(1) } else { 1 }
}

/// Returns the number of members of an object, at least 1.
fn size_of_object(object: &Object) -> usize {
    if let Object::Group(members) = object { members.len().max(1) } else { 1 }
}

/// Returns a leg with a factor of its weight.
fn weighed(leg: &Leg, factor: u16) -> (Neighbours, u64) {
    ((leg.interface, leg.gateway), u64::from(leg.weight) * u64::from(factor))
}

fn legs_of(legs: &[Leg]) -> Vec<(Neighbours, u64)> {
    legs.iter().map(|leg| weighed(leg, 1)).collect()
}

/// Returns what legs come to. If all of them lead to the link itself, only the kernel can resolve
/// the destination.
fn of_legs(legs: Vec<(Neighbours, u64)>) -> Resolved {
    if legs.iter().all(|(neighbour, _)| neighbour.1.is_none()) {
        return Resolved::Kernel;
    }
    Resolved::Legs(legs)
}
