//! [`Compiled`]: the routes of one family and their engine, if there are any.
//!
//! Hidden and not promised: the Python package keeps its own values beside it.

use crate::{Address, Change, Delta, Fib, NextHop, Rib, View};

/// The engine of a table: the best for calls of one address as well as of many.
const ENGINE: &str = "best/calls=any";

/// The routes of one family, compiled. Without routes it has no engine and takes no memory.
#[derive(Debug)]
pub struct Compiled<A: Address> {
    rib: Rib<A>,
    fib: Option<Fib<A>>,
}

impl<A: Address> Default for Compiled<A> {
    fn default() -> Self {
        Self { rib: Rib::new(), fib: None }
    }
}

/// A clone has a copy of the engine.
impl<A: Address> Clone for Compiled<A> {
    fn clone(&self) -> Self {
        let copied = |fib: &Fib<A>| fib.copied(&self.rib).expect("the oracle holds every table");
        Self { rib: self.rib.clone(), fib: self.fib.as_ref().map(copied) }
    }
}

impl<A: Address> Compiled<A> {
    /// Compiles `rib`.
    ///
    /// # Panics
    /// Never: among the engines that [`best`](crate::engine::BEST) takes is the oracle, whose only
    /// limit is the number of next-hop indices.
    #[must_use]
    pub fn of(rib: Rib<A>) -> Self {
        let fib = (!rib.is_empty()).then(|| Fib::build(ENGINE, &rib).expect("the oracle holds every table"));
        Self { rib, fib }
    }

    /// Returns the routes.
    #[must_use]
    pub fn rib(&self) -> &Rib<A> {
        &self.rib
    }

    /// Returns the routes to be changed. [`follow`](Self::follow) must come next.
    pub(super) fn rib_mut(&mut self) -> &mut Rib<A> {
        &mut self.rib
    }

    /// Returns the index of the longest matching prefix.
    #[inline]
    #[must_use]
    pub fn lookup(&self, address: A) -> NextHop {
        self.fib.as_ref().map_or(NextHop::NONE, |fib| fib.lookup_index(address))
    }

    /// As [`Compiled::lookup`], for many addresses.
    ///
    /// # Panics
    /// If the two slices differ in length.
    pub fn lookup_batch(&self, addresses: &[A], indices: &mut [NextHop]) {
        match &self.fib {
            Some(fib) => fib.lookup_batch(addresses, indices),
            None => indices.fill(NextHop::NONE),
        }
    }

    /// Makes changes, in order. Returns what they came to, at most one a prefix.
    pub fn apply_all(&mut self, changes: impl IntoIterator<Item = Change<A>>) -> Vec<Delta<A>> {
        let deltas = self.rib.apply_all(changes).deltas;
        self.follow(&deltas);
        deltas
    }

    /// Follows the routes, which have just changed by `deltas`, at most one a prefix. Where the
    /// engine refuses, another is built.
    pub(super) fn follow(&mut self, deltas: &[Delta<A>]) {
        if deltas.is_empty() {
            return;
        }
        if self.rib.is_empty() || self.fib.as_mut().is_none_or(|fib| fib.apply(&self.rib, deltas).is_err()) {
            *self = Self::of(std::mem::take(&mut self.rib));
        }
    }

    /// Returns the engine. `None` for a table without routes.
    #[must_use]
    pub fn fib(&self) -> Option<&Fib<A>> {
        self.fib.as_ref()
    }

    /// Returns the engine alone. `None` for a table without routes.
    pub(super) fn into_view(self) -> Option<Box<dyn View<A>>> {
        self.fib.map(Into::into)
    }

    /// Returns the name of the engine. `None` for a table without routes.
    #[must_use]
    pub fn engine(&self) -> Option<&'static str> {
        self.fib.as_ref().map(|fib| fib.entry().about.name)
    }

    /// Checks the engine's structure against the routes.
    ///
    /// # Errors
    /// With the first contradiction found.
    pub(super) fn validate(&self) -> Result<(), String> {
        match &self.fib {
            Some(fib) => fib.validate(&self.rib),
            None if self.rib.is_empty() => Ok(()),
            None => Err(format!("{} routes and no engine", self.rib.len())),
        }
    }
}
