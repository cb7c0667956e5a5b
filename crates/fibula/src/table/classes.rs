//! [`Classes`]: values of which equal ones are stored once.

use super::slots::{Slots, position};
use super::store::Store;
use crate::{Address, NextHop, Prefix, Rib};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::hash::{BuildHasher, Hash, RandomState};

/// The values of one family, each once; with `LENGTHS` once for each length of a prefix. The next
/// hop of a route is the class that it belongs to.
#[derive(Clone, Debug)]
pub struct Classes<V, const LENGTHS: bool> {
    slots: Slots<V>,
    /// The number of routes of each class.
    routes: Vec<u32>,
    /// The classes by length and value.
    by_value: HashTable<NextHop>,
    hasher: RandomState,
}

impl<V: Eq + Hash, const LENGTHS: bool> Classes<V, LENGTHS> {
    /// Returns the length that a class is told by.
    fn length(len: u8) -> u8 {
        if LENGTHS { len } else { 0 }
    }

    fn hash(&self, len: u8, value: &V) -> u64 {
        self.hasher.hash_one((len, value))
    }

    /// Adds a route to the class of a value, which is created if there is none. Returns the class,
    /// and the value if it was not needed.
    fn count(&mut self, len: u8, value: V) -> (NextHop, Option<V>) {
        let len = Self::length(len);
        let hash = self.hash(len, &value);
        let Self { slots, routes, by_value, hasher } = self;
        let hash_of = |&class: &NextHop| slots.class(class).map_or(0, |class| hasher.hash_one(class));
        let is_equal = |&class: &NextHop| slots.class(class) == Some((len, &value));
        match by_value.entry(hash, is_equal, hash_of) {
            Entry::Occupied(found) => {
                let class = *found.get();
                routes[position(class)] += 1;
                (class, Some(value))
            }
            Entry::Vacant(vacant) => {
                let class = slots.next();
                vacant.insert(class);
                slots.insert(len, value);
                routes.resize(routes.len().max(position(class) + 1), 0);
                routes[position(class)] = 1;
                (class, None)
            }
        }
    }
}

impl<V: Clone + Eq + Hash, const LENGTHS: bool> Store for Classes<V, LENGTHS> {
    type Value = V;

    fn new() -> Self {
        Self {
            slots: Slots::default(),
            routes: Vec::new(),
            by_value: HashTable::new(),
            hasher: RandomState::new(),
        }
    }

    fn reserve(&mut self, _routes: usize) {}

    fn add(&mut self, len: u8, value: V) -> NextHop {
        self.count(len, value).0
    }

    fn replace(&mut self, before: NextHop, len: u8, value: V) -> (NextHop, V) {
        let was = self.slots.value(before).expect("a route has a value");
        if *was == value {
            return (before, value);
        }
        let shared = (self.routes[position(before)] > 1).then(|| was.clone());
        let (after, _) = self.count(len, value);
        let was = self.release(before).or(shared).expect("a value that no other route has is returned");
        (after, was)
    }

    fn release(&mut self, next_hop: NextHop) -> Option<V> {
        let routes = self.routes.get_mut(position(next_hop)).filter(|routes| **routes > 0)?;
        if *routes > 1 {
            *routes -= 1;
            return None;
        }
        let (len, value) = self.slots.class(next_hop)?;
        let hash = self.hash(len, value);
        if let Ok(found) = self.by_value.find_entry(hash, |&class| class == next_hop) {
            found.remove();
        }
        self.routes[position(next_hop)] = 0;
        self.slots.remove(next_hop)
    }

    fn remove(&mut self, next_hop: NextHop) -> Option<V> {
        let shared = self.routes.get(position(next_hop)).is_some_and(|&routes| routes > 1);
        let value = if shared { self.slots.value(next_hop).cloned() } else { None };
        self.release(next_hop).or(value)
    }

    fn slots(&self) -> &Slots<V> {
        &self.slots
    }

    #[inline]
    fn matching<A: Address>(&self, rib: &Rib<A>, next_hop: NextHop, address: A) -> Option<(Prefix<A>, &V)> {
        if LENGTHS {
            return self.slots.matching(next_hop, address);
        }
        let value = self.slots.value(next_hop)?;
        Some((rib.longest_match(address)?.prefix, value))
    }

    fn bytes(&self) -> usize {
        self.slots.bytes()
            + self.routes.capacity() * size_of::<u32>()
            // A byte of control beside each entry.
            + self.by_value.capacity() * 8 / 7 * (size_of::<NextHop>() + 1)
    }

    fn validate<A: Address>(&self, rib: &Rib<A>) -> Result<(), String> {
        let mut routes = vec![0; self.routes.len()];
        for route in rib {
            let class = self.slots.class(route.next_hop).ok_or_else(|| format!("{route:?} has no class"))?;
            if class.0 != Self::length(route.prefix.len()) {
                return Err(format!("{} is in a class of length {}", route.prefix, class.0));
            }
            routes[position(route.next_hop)] += 1;
        }
        if routes != self.routes {
            return Err(format!("classes of {:?} routes have {routes:?}", self.routes));
        }
        let used = self.slots.used();
        if used != self.by_value.len() || used != routes.iter().filter(|&&routes| routes > 0).count() {
            return Err(format!("{} classes by value in {used} slots", self.by_value.len()));
        }
        Ok(())
    }
}
