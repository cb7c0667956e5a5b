//! [`Compiled`]: the routes of one family and their engine, if there are any.
//!
//! Hidden and not promised: the Python package keeps its own values beside it.

use super::settings::Shared;
use crate::{Address, Change, Delta, Error, Fib, NextHop, Rib, Strided, View};

/// The engine of a table: the best for calls of one address as well as of many.
pub(super) const ENGINE: &str = "best/calls=any";

/// The routes of one family, compiled. Without routes it has no engine and takes no memory.
#[derive(Debug)]
pub struct Compiled<A: Address> {
    rib: Rib<A>,
    fib: Option<Fib<A>>,
    settings: Shared,
}

impl<A: Address> Default for Compiled<A> {
    fn default() -> Self {
        Self::new(None)
    }
}

/// A clone has a copy of the engine.
impl<A: Address> Clone for Compiled<A> {
    fn clone(&self) -> Self {
        let copied = |fib: &Fib<A>| fib.copied(&self.rib).expect("the oracle holds every table");
        let settings = self.settings.clone();
        Self { rib: self.rib.clone(), fib: self.fib.as_ref().map(copied), settings }
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
        Self::with(rib, None)
    }

    /// Returns a table without routes.
    pub(super) fn new(settings: Shared) -> Self {
        Self { rib: Rib::new(), fib: None, settings }
    }

    /// Compiles `rib` as the settings say, or where that engine refuses it, as without.
    pub(super) fn with(rib: Rib<A>, settings: Shared) -> Self {
        let mut compiled = Self { rib, ..Self::new(settings) };
        compiled.compile();
        compiled
    }

    pub(super) fn settings(&self) -> &Shared {
        &self.settings
    }

    fn compile(&mut self) {
        self.fib = None;
        if !self.rib.is_empty() {
            let best = |_| Fib::build(ENGINE, &self.rib).expect("the oracle holds every table");
            self.fib = Some(self.build().unwrap_or_else(best));
        }
    }

    fn build(&self) -> Result<Fib<A>, Error> {
        match &self.settings {
            Some(settings) => settings.build(&self.rib),
            None => Fib::build(ENGINE, &self.rib),
        }
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

    /// As [`Compiled::lookup_batch`], for addresses in packet headers.
    pub(super) fn lookup_strided(&self, addresses: Strided<'_, A>, indices: &mut [NextHop]) {
        match &self.fib {
            Some(fib) => fib.lookup_strided(addresses, indices),
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
        if self.try_follow(deltas).is_err() {
            self.compile();
        }
    }

    /// As [`Compiled::follow`].
    ///
    /// # Errors
    /// If the engine refuses the changes. It answers as before then.
    pub(super) fn try_follow(&mut self, deltas: &[Delta<A>]) -> Result<(), Error> {
        match &mut self.fib {
            _ if deltas.is_empty() => {}
            _ if self.rib.is_empty() => self.fib = None,
            Some(fib) => drop(fib.apply(&self.rib, deltas)?),
            None => self.fib = Some(self.build()?),
        }
        Ok(())
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
    #[cfg(any(test, feature = "engines"))]
    pub(super) fn validate(&self) -> Result<(), String> {
        match &self.fib {
            Some(fib) => fib.validate(&self.rib),
            None if self.rib.is_empty() => Ok(()),
            None => Err(format!("{} routes and no engine", self.rib.len())),
        }
    }
}
