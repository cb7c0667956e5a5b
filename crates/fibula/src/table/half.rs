//! [`Half`]: the routes of one family. What is applied to the [`Rib`] and what is compiled cannot
//! part, because both happen here and in its [`Editing`].

use super::compiled::Compiled;
use super::editing::Editing;
use super::settings::Shared;
use super::slots::Slots;
use super::store::{Replaced, Store};
use crate::memory::Memory;
use crate::{Address, Delta, NextHop, Prefix, Rib, Route};

/// The routes of one family. The next hop of each route is what its store says.
pub(super) struct Half<A: Address, S: Store> {
    pub(super) store: S,
    pub(super) compiled: Compiled<A>,
}

impl<A: Address, S: Store> Half<A, S> {
    /// Returns a table without routes.
    pub(super) fn new(settings: Shared) -> Self {
        Self { store: S::new(A::BITS), compiled: Compiled::new(settings) }
    }

    /// Returns a table of `routes`. Of several with the same prefix the last is kept.
    pub(super) fn of(mut routes: Vec<(Prefix<A>, S::Value)>, settings: Shared) -> Self {
        // In order of prefix: what neighbouring addresses lead to is then at neighbouring slots.
        routes.sort_by_key(|&(prefix, _)| prefix);
        let mut store = S::new(A::BITS);
        store.reserve(routes.len());
        let mut stored: Vec<Route<A>> = Vec::with_capacity(routes.len());
        for (prefix, value) in routes {
            match stored.last_mut() {
                Some(last) if last.prefix == prefix => {
                    if let Replaced::Apart(value) = store.replace(last.next_hop, value) {
                        let next_hop = store.add(prefix.len(), value);
                        store.release(std::mem::replace(&mut last.next_hop, next_hop));
                    }
                }
                _ => stored.push(Route { prefix, next_hop: store.add(prefix.len(), value) }),
            }
        }
        store.shrink_to_fit();
        Self { store, compiled: Compiled::with(stored.into_iter().collect(), settings) }
    }

    pub(super) fn rib(&self) -> &Rib<A> {
        self.compiled.rib()
    }

    pub(super) fn index(&self, prefix: Prefix<A>) -> Option<NextHop> {
        self.rib().get(prefix)
    }

    /// Returns the prefix and the value of one of the routes.
    pub(super) fn value(&self, route: Route<A>) -> Option<(Prefix<A>, &S::Value)> {
        Some((route.prefix, self.store.slots().value(route.next_hop)?))
    }

    /// Returns the routes in order.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = (Prefix<A>, &S::Value)> {
        self.rib().iter().filter_map(|route| self.value(route))
    }

    pub(super) fn get(&self, prefix: Prefix<A>) -> Option<&S::Value> {
        self.store.slots().value(self.rib().get(prefix)?)
    }

    /// Returns the route of the longest matching prefix.
    #[inline]
    pub(super) fn lookup(&self, address: A) -> Option<(Prefix<A>, &S::Value)> {
        self.matching(self.compiled.lookup(address), address)
    }

    /// Returns the value of the longest matching prefix.
    #[inline]
    pub(super) fn lookup_value(&self, address: A) -> Option<&S::Value> {
        self.store.slots().value(self.compiled.lookup(address))
    }

    /// Returns the route that the engine's answer for `address` means.
    #[inline]
    pub(super) fn matching(&self, next_hop: NextHop, address: A) -> Option<(Prefix<A>, &S::Value)> {
        self.store.matching(self.rib(), next_hop, address)
    }

    pub(super) fn insert(&mut self, prefix: Prefix<A>, value: S::Value) -> Option<S::Value> {
        let Some(before) = self.index(prefix) else {
            self.insert_new(prefix, value);
            return None;
        };
        match self.store.replace(before, value) {
            Replaced::Was(value) | Replaced::Equal(value) => Some(value),
            Replaced::Apart(value) => {
                self.insert_new(prefix, value);
                self.store.remove(before)
            }
        }
    }

    /// Lets a prefix lead to a value that gets a next hop of its own. Returns that.
    pub(super) fn insert_new(&mut self, prefix: Prefix<A>, value: S::Value) -> NextHop {
        let next_hop = self.store.add(prefix.len(), value);
        let delta = self.compiled.rib_mut().insert(prefix, next_hop);
        self.compiled.follow(delta.as_slice());
        next_hop
    }

    pub(super) fn remove(&mut self, prefix: Prefix<A>) -> Option<S::Value> {
        let delta = self.compiled.rib_mut().remove(prefix)?;
        self.compiled.follow(&[delta]);
        self.store.remove(delta.before)
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

    /// Removes routes of the table, and returns them.
    pub(super) fn extract(&mut self, prefixes: &[Prefix<A>]) -> impl Iterator<Item = (Prefix<A>, S::Value)> {
        let Self { store, compiled } = self;
        let deltas: Vec<Delta<A>> =
            prefixes.iter().filter_map(|&prefix| compiled.rib_mut().remove(prefix)).collect();
        compiled.follow(&deltas);
        deltas.into_iter().filter_map(|delta| Some((delta.prefix, store.remove(delta.before)?)))
    }

    /// Returns the prefixes for which `keep` returns false, in order.
    pub(super) fn rejected(&self, mut keep: impl FnMut(Prefix<A>, &S::Value) -> bool) -> Vec<Prefix<A>> {
        self.iter().filter(|&(prefix, value)| !keep(prefix, value)).map(|(prefix, _)| prefix).collect()
    }

    /// Adds the bytes of the routes, the values and the engine.
    pub(super) fn memory(&self, names: [&'static str; 3], memory: Memory) -> Memory {
        let [routes, values, engine] = names;
        let engine_bytes = self.compiled.fib().map_or(0, |fib| fib.memory().total());
        memory
            .off_chip(routes, self.rib().bytes())
            .off_chip(values, self.store.bytes())
            .off_chip(engine, engine_bytes)
    }

    /// Checks the values and the engine against the routes.
    #[cfg(any(test, feature = "engines"))]
    pub(super) fn validate(&self) -> Result<(), String> {
        self.store.validate(self.rib())?;
        self.compiled.validate()
    }

    /// Begins changes that are compiled together.
    pub(super) fn edit(&mut self) -> Editing<'_, A, S> {
        Editing::new(self)
    }

    /// Gives back the memory that is not used. O(n).
    pub(super) fn shrink_to_fit(&mut self) {
        self.store.shrink_to_fit();
        self.compiled = self.compiled.clone();
    }
}

/// What only a store with a slot for each route has: values to change.
impl<A: Address, V> Half<A, Slots<V>> {
    pub(super) fn get_mut(&mut self, prefix: Prefix<A>) -> Option<&mut V> {
        let index = self.index(prefix)?;
        self.value_mut(index)
    }

    pub(super) fn value_mut(&mut self, index: NextHop) -> Option<&mut V> {
        self.store.class_mut(index).map(|(_, value)| value)
    }

    #[inline]
    pub(super) fn lookup_mut(&mut self, address: A) -> Option<(Prefix<A>, &mut V)> {
        let found = self.store.class_mut(self.compiled.lookup(address))?;
        Some((Prefix::containing(address, found.0), found.1))
    }

    /// As [`Half::rejected`], with the values to change.
    pub(super) fn rejected_mut(&mut self, mut keep: impl FnMut(Prefix<A>, &mut V) -> bool) -> Vec<Prefix<A>> {
        let mut rejected = Vec::new();
        for route in self.compiled.rib() {
            if let Some((_, value)) = self.store.class_mut(route.next_hop)
                && !keep(route.prefix, value)
            {
                rejected.push(route.prefix);
            }
        }
        rejected
    }
}

impl<A: Address, S: Store + Clone> Clone for Half<A, S> {
    /// Clones the values, and copies the rest. O(n).
    fn clone(&self) -> Self {
        Self { store: self.store.clone(), compiled: self.compiled.clone() }
    }
}
