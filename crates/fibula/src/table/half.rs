//! [`Half`]: the routes of one family. What is applied to the [`Rib`] and what is compiled cannot
//! part, because both happen here.

use super::compiled::Compiled;
use super::slots::Slots;
use crate::memory::Memory;
use crate::rib::Deltas;
use crate::{Address, Delta, NextHop, Prefix, Rib, Route};

/// The routes of one family. The next hop of each route is the index of its own slot.
#[derive(Debug)]
pub(super) struct Half<A: Address, V> {
    pub(super) slots: Slots<A, V>,
    pub(super) compiled: Compiled<A>,
}

impl<A: Address, V> Half<A, V> {
    pub(super) fn new() -> Self {
        Self { slots: Slots::new(), compiled: Compiled::default() }
    }

    /// Returns a table of `routes`. Of several with the same prefix the last is kept.
    pub(super) fn of(mut routes: Vec<(Prefix<A>, V)>) -> Self {
        // In order of prefix: what neighbouring addresses lead to is then at neighbouring slots.
        routes.sort_by_key(|&(prefix, _)| prefix);
        let mut slots = Slots::with_capacity(routes.len());
        let mut indexed: Vec<Route<A>> = Vec::with_capacity(routes.len());
        for (prefix, value) in routes {
            if let Some(last) = indexed.last()
                && last.prefix == prefix
            {
                if let Some(before) = slots.value_mut(last.next_hop) {
                    *before = value;
                }
                continue;
            }
            indexed.push(Route { prefix, next_hop: slots.insert(prefix, value) });
        }
        Self { slots, compiled: Compiled::of(indexed.into_iter().collect()) }
    }

    pub(super) fn rib(&self) -> &Rib<A> {
        self.compiled.rib()
    }

    pub(super) fn index(&self, prefix: Prefix<A>) -> Option<NextHop> {
        self.rib().get(prefix)
    }

    /// Returns the prefix and the value of one of the routes.
    pub(super) fn value(&self, route: Route<A>) -> Option<(Prefix<A>, &V)> {
        Some((route.prefix, self.slots.value(route.next_hop)?))
    }

    /// Returns the routes in order.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = (Prefix<A>, &V)> {
        self.rib().iter().filter_map(|route| self.value(route))
    }

    pub(super) fn get(&self, prefix: Prefix<A>) -> Option<&V> {
        self.slots.value(self.rib().get(prefix)?)
    }

    pub(super) fn get_mut(&mut self, prefix: Prefix<A>) -> Option<&mut V> {
        self.slots.value_mut(self.rib().get(prefix)?)
    }

    /// Returns the route of the longest matching prefix.
    #[inline]
    pub(super) fn lookup(&self, address: A) -> Option<(Prefix<A>, &V)> {
        self.slots.matching(self.compiled.lookup(address), address)
    }

    #[inline]
    pub(super) fn lookup_mut(&mut self, address: A) -> Option<(Prefix<A>, &mut V)> {
        self.slots.matching_mut(self.compiled.lookup(address), address)
    }

    pub(super) fn insert(&mut self, prefix: Prefix<A>, value: V) -> Option<V> {
        if let Some(before) = self.get_mut(prefix) {
            return Some(std::mem::replace(before, value));
        }
        self.insert_new(prefix, value);
        None
    }

    /// Inserts a route whose prefix is not in the table, and returns its index.
    pub(super) fn insert_new(&mut self, prefix: Prefix<A>, value: V) -> NextHop {
        let index = self.slots.insert(prefix, value);
        let delta = self.compiled.rib_mut().insert(prefix, index);
        self.compiled.follow(delta.as_slice());
        index
    }

    pub(super) fn remove(&mut self, prefix: Prefix<A>) -> Option<V> {
        let delta = self.compiled.rib_mut().remove(prefix)?;
        self.compiled.follow(&[delta]);
        self.slots.remove(delta.before)
    }

    /// Removes the routes that `prefix` covers. Returns their number.
    pub(super) fn remove_covered(&mut self, prefix: Prefix<A>) -> usize {
        let covered: Vec<Prefix<A>> = self.rib().covered(prefix).map(|route| route.prefix).collect();
        let mut editing = self.edit();
        for &prefix in &covered {
            editing.remove(prefix);
        }
        covered.len()
    }

    /// Returns the prefixes for which `keep` returns false, in order.
    pub(super) fn rejected(&mut self, mut keep: impl FnMut(Prefix<A>, &mut V) -> bool) -> Vec<Prefix<A>> {
        let mut rejected = Vec::new();
        for route in self.compiled.rib() {
            if let Some(value) = self.slots.value_mut(route.next_hop)
                && !keep(route.prefix, value)
            {
                rejected.push(route.prefix);
            }
        }
        rejected
    }

    /// Adds the bytes of the routes, the values and the engine.
    pub(super) fn memory(&self, names: [&'static str; 3], memory: Memory) -> Memory {
        let [routes, values, engine] = names;
        let engine_bytes = self.compiled.fib().map_or(0, |fib| fib.memory().total());
        memory
            .off_chip(routes, self.rib().bytes())
            .off_chip(values, self.slots.bytes())
            .off_chip(engine, engine_bytes)
    }

    /// Checks that each route leads to a slot with its prefix, and the engine against the routes.
    pub(super) fn validate(&self) -> Result<(), String> {
        for route in self.compiled.rib() {
            let found = self.slots.get(route.next_hop).map(|(prefix, _)| prefix);
            if found != Some(route.prefix) {
                return Err(format!("{} leads to the slot of {found:?}", route.prefix));
            }
        }
        if self.slots.used() != self.rib().len() {
            return Err(format!("{} routes in {} slots", self.rib().len(), self.slots.used()));
        }
        self.compiled.validate()
    }

    /// Begins changes that are compiled together.
    pub(super) fn edit(&mut self) -> Editing<'_, A, V> {
        Editing { half: self, deltas: Vec::new(), inserts: false, removes: false, dropped: Vec::new() }
    }
}

impl<A: Address, V: Clone> Clone for Half<A, V> {
    /// Clones the values, and copies the rest. O(n).
    fn clone(&self) -> Self {
        Self { slots: self.slots.clone(), compiled: self.compiled.clone() }
    }
}

/// Changes that are compiled together, when this is dropped: also when the caller's iterator panics
/// in between.
#[derive(Debug)]
pub(super) struct Editing<'h, A: Address, V> {
    half: &'h mut Half<A, V>,
    deltas: Vec<Delta<A>>,
    inserts: bool,
    removes: bool,
    /// Values that were replaced or removed. They are dropped last, since that may panic.
    dropped: Vec<V>,
}

impl<A: Address, V> Editing<'_, A, V> {
    pub(super) fn insert(&mut self, prefix: Prefix<A>, value: V) {
        if let Some(before) = self.half.get_mut(prefix) {
            self.dropped.push(std::mem::replace(before, value));
            return;
        }
        self.inserts = true;
        let index = self.half.slots.insert(prefix, value);
        self.deltas.extend(self.half.compiled.rib_mut().insert(prefix, index));
    }

    pub(super) fn remove(&mut self, prefix: Prefix<A>) {
        let Some(delta) = self.half.compiled.rib_mut().remove(prefix) else { return };
        self.removes = true;
        self.deltas.push(delta);
        self.dropped.extend(self.half.slots.remove(delta.before));
    }
}

impl<A: Address, V> Drop for Editing<'_, A, V> {
    fn drop(&mut self) {
        let mut deltas = std::mem::take(&mut self.deltas);
        // A prefix can come twice only where one change inserted it and another removed it.
        if self.inserts && self.removes {
            let mut coalesced = Deltas::default();
            for delta in deltas {
                coalesced.push(delta);
            }
            deltas = coalesced.into_effective();
        }
        self.half.compiled.follow(&deltas);
    }
}
