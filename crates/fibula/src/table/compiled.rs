//! [`Compiled`]: the compiled routes of one family, which may have none.
//!
//! Hidden and not promised: the Python package keeps its own routes beside it.

use crate::{Address, Delta, Fib, NextHop, Rib};

/// The compiled routes of one family. Without routes it has no engine and takes no memory.
#[derive(Debug)]
pub struct Compiled<A: Address>(Option<Fib<A>>);

impl<A: Address> Default for Compiled<A> {
    fn default() -> Self {
        Self::new()
    }
}

impl<A: Address> Compiled<A> {
    /// Returns the engine of a table without routes.
    #[must_use]
    pub const fn new() -> Self {
        Self(None)
    }

    /// Compiles `rib`.
    ///
    /// # Panics
    /// Never: among the engines that [`best`](crate::engine::BEST) takes is the oracle, whose only
    /// limit is the number of next-hop indices.
    #[must_use]
    pub fn of(rib: &Rib<A>) -> Self {
        Self((!rib.is_empty()).then(|| Fib::new(rib).expect("the oracle holds every table")))
    }

    /// Returns the index of the longest matching prefix.
    #[inline]
    #[must_use]
    pub fn lookup(&self, address: A) -> NextHop {
        self.0.as_ref().map_or(NextHop::NONE, |fib| fib.lookup_index(address))
    }

    /// As [`Compiled::lookup`], for many addresses.
    ///
    /// # Panics
    /// If the two slices differ in length.
    pub fn lookup_batch(&self, addresses: &[A], indices: &mut [NextHop]) {
        match &self.0 {
            Some(fib) => fib.lookup_batch(addresses, indices),
            None => indices.fill(NextHop::NONE),
        }
    }

    /// Follows `rib`, which has just changed by `deltas`, at most one a prefix. Where the engine
    /// refuses, another is built.
    pub fn follow(&mut self, rib: &Rib<A>, deltas: &[Delta<A>]) {
        if deltas.is_empty() {
            return;
        }
        if rib.is_empty() || self.0.as_mut().is_none_or(|fib| fib.apply(rib, deltas).is_err()) {
            *self = Self::of(rib);
        }
    }

    /// Returns the engine. `None` for a table without routes.
    #[must_use]
    pub fn fib(&self) -> Option<&Fib<A>> {
        self.0.as_ref()
    }

    /// Returns the name of the engine. `None` for a table without routes.
    #[must_use]
    pub fn engine(&self) -> Option<&'static str> {
        self.0.as_ref().map(|fib| fib.entry().about.name)
    }

    /// Checks the engine's structure against `rib`.
    ///
    /// # Errors
    /// With the first contradiction found.
    pub fn validate(&self, rib: &Rib<A>) -> Result<(), String> {
        match &self.0 {
            Some(fib) => fib.validate(rib),
            None if rib.is_empty() => Ok(()),
            None => Err(format!("{} routes and no engine", rib.len())),
        }
    }
}
