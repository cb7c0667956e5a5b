//! [`Classes`]: values of which equal ones are stored once.

use super::slots::Slots;
use super::store::{Replaced, Store};
use crate::{Address, Error, NextHop, Prefix, Rib};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::hash::{BuildHasher, Hash, RandomState};

/// The values of one family, each once. The next hop of a route is the number of its value; with
/// `LENGTHS`, the length of its prefix follows in the last bits. So an answer says what prefix it
/// is of, and no memory is read for that.
#[derive(Clone, Debug)]
pub struct Classes<V, const LENGTHS: bool> {
    slots: Slots<V>,
    /// The number of routes of each value, by slot.
    routes: Vec<u32>,
    /// The number of each value: its next hop, with a length of 0.
    by_value: HashTable<NextHop>,
    hasher: RandomState,
    /// The greatest length that fits into the last bits of a next hop.
    lengths: u32,
}

impl<V: Clone + Eq + Hash, const LENGTHS: bool> Classes<V, LENGTHS> {
    /// Returns the next hop of the value of this number and of a prefix of length `len`.
    fn next_hop(number: NextHop, len: u8) -> NextHop {
        NextHop(number.0 | if LENGTHS { u32::from(len) } else { 0 })
    }

    /// Returns the number of the value of a next hop.
    fn number(&self, next_hop: NextHop) -> NextHop {
        NextHop(next_hop.0 & !self.lengths)
    }

    /// Returns the length that a next hop tells, with `LENGTHS`.
    #[inline]
    fn len(&self, next_hop: NextHop) -> u8 {
        (next_hop.0 & self.lengths) as u8
    }

    /// Adds a route to a value, which is stored if it is new. Returns the next hop.
    fn count(&mut self, len: u8, value: V) -> Result<NextHop, Error> {
        let Self { slots, routes, by_value, hasher, .. } = self;
        let hash_of = |&number: &NextHop| slots.value(number).map_or(0, |value| hasher.hash_one(value));
        let is_equal = |&number: &NextHop| slots.value(number) == Some(&value);
        let number = match by_value.entry(hasher.hash_one(&value), is_equal, hash_of) {
            Entry::Occupied(found) => {
                let number = *found.get();
                routes[slots.position(number)] += 1;
                number
            }
            Entry::Vacant(vacant) => {
                let number = slots.next()?;
                let position = slots.position(number);
                vacant.insert(number);
                slots.insert(0, value)?;
                routes.resize(routes.len().max(position + 1), 0);
                routes[position] = 1;
                number
            }
        };
        Ok(Self::next_hop(number, len))
    }
}

impl<V: Clone + Eq + Hash, const LENGTHS: bool> Store for Classes<V, LENGTHS> {
    type Value = V;

    fn new(bits: u8) -> Self {
        let length_bits = if LENGTHS { u8::BITS - bits.leading_zeros() } else { 0 };
        Self {
            slots: Slots::new(length_bits),
            routes: Vec::new(),
            by_value: HashTable::new(),
            hasher: RandomState::new(),
            lengths: (1 << length_bits) - 1,
        }
    }

    fn reserve(&mut self, _routes: usize) {}

    fn shrink_to_fit(&mut self) {
        let Self { slots, routes, by_value, hasher, .. } = self;
        slots.shrink();
        routes.shrink_to_fit();
        by_value.shrink_to_fit(|&number| slots.value(number).map_or(0, |value| hasher.hash_one(value)));
    }

    fn try_add(&mut self, len: u8, value: V) -> Result<NextHop, Error> {
        self.count(len, value)
    }

    fn replace(&mut self, next_hop: NextHop, value: V) -> Replaced<V> {
        let is_equal = self.slots.value(next_hop) == Some(&value);
        if is_equal { Replaced::Equal(value) } else { Replaced::Apart(value) }
    }

    fn release(&mut self, next_hop: NextHop) -> Option<V> {
        let position = self.slots.position(next_hop);
        let routes = self.routes.get_mut(position).filter(|routes| **routes > 0)?;
        if *routes > 1 {
            *routes -= 1;
            return None;
        }
        let hash = self.hasher.hash_one(self.slots.value(next_hop)?);
        let gone = self.number(next_hop);
        if let Ok(found) = self.by_value.find_entry(hash, |&number| number == gone) {
            found.remove();
        }
        self.routes[position] = 0;
        self.slots.remove(next_hop)
    }

    fn remove(&mut self, next_hop: NextHop) -> Option<V> {
        let is_shared = self.routes.get(self.slots.position(next_hop)).is_some_and(|&routes| routes > 1);
        let value = self.release(next_hop);
        if is_shared { self.slots.value(next_hop).cloned() } else { value }
    }

    fn slots(&self) -> &Slots<V> {
        &self.slots
    }

    #[inline]
    fn matching<A: Address>(&self, rib: &Rib<A>, next_hop: NextHop, address: A) -> Option<(Prefix<A>, &V)> {
        let value = self.slots.value(next_hop)?;
        if LENGTHS {
            // No next hop that this table has given tells more than all bits.
            return Some((Prefix::containing(address, self.len(next_hop).min(A::BITS)), value));
        }
        Some((rib.longest_match(address)?.prefix, value))
    }

    fn bytes(&self) -> usize {
        self.slots.bytes()
            + self.routes.capacity() * size_of::<u32>()
            // A byte of control beside each entry.
            + self.by_value.capacity() * 8 / 7 * (size_of::<NextHop>() + 1)
    }

    #[cfg(any(test, feature = "engines"))]
    fn validate<A: Address>(&self, rib: &Rib<A>) -> Result<(), String> {
        let mut routes = vec![0; self.routes.len()];
        for route in rib {
            if self.slots.value(route.next_hop).is_none() {
                return Err(format!("{route:?} has no value"));
            }
            if LENGTHS && self.len(route.next_hop) != route.prefix.len() {
                return Err(format!("{} has a next hop of a /{}", route.prefix, self.len(route.next_hop)));
            }
            routes[self.slots.position(route.next_hop)] += 1;
        }
        if routes != self.routes {
            return Err(format!("values of {:?} routes have {routes:?}", self.routes));
        }
        let used = self.slots.used();
        if used != self.by_value.len() || used != routes.iter().filter(|&&routes| routes > 0).count() {
            return Err(format!("{} numbers of values in {used} slots", self.by_value.len()));
        }
        Ok(())
    }
}
