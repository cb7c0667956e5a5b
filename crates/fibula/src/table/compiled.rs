//! [`Compiled`]: the engine of one family's routes, and when it is built again.
//!
//! Hidden and not promised: the Python package keeps its own routes beside it.

use crate::engine::BEST;
use crate::{Address, Delta, Fib, NextHop, Rib};

/// Up to this many routes a table is compiled by [`SMALL`]. An engine for full tables has a root of
/// some hundred kilobytes and takes some milliseconds to build, whatever it holds. At half of it a
/// table that was larger becomes small again, so that one at the border is not built by each
/// change.
const SMALL_MOST: usize = 256;

/// The engines of small tables, the first that is there. An LC-trie takes some 30 bytes a route and
/// answers at the speed of `best`; each change builds it again, which takes as long as some changes
/// in place. A radix tree is there without the feature `papers`.
const SMALL: [&str; 2] = ["lc-trie", "radix"];

/// A large table that has more than this many times the routes of its last build is built again:
/// the engine that `best` chooses depends on the table, and a build leaves no unused room. The cost
/// is O(1) a route, as that of a vector's growth.
const GROWTH: usize = 4;

/// Building costs one route about this part of what applying one delta costs.
const BUILD_SHARE: usize = 16;

/// What an engine's root costs to build, in routes.
const ROOT: usize = 4096;

/// The compiled routes. A table without routes has no engine.
#[derive(Debug)]
pub struct Compiled<A: Address> {
    fib: Option<Fib<A>>,
    /// The number of routes at the last build.
    built: usize,
}

impl<A: Address> Default for Compiled<A> {
    fn default() -> Self {
        Self::new()
    }
}

impl<A: Address> Compiled<A> {
    /// Returns the engine of a table without routes.
    #[must_use]
    pub const fn new() -> Self {
        Self { fib: None, built: 0 }
    }

    /// Compiles `rib`.
    ///
    /// # Panics
    /// Never: `best` falls back to the oracle, whose only limit is the number of next hops.
    #[must_use]
    pub fn of(rib: &Rib<A>) -> Self {
        let build = || {
            let is_small = rib.len() <= SMALL_MOST;
            let mut small = SMALL.into_iter().filter(|_| is_small);
            let small = small.find_map(|engine| Fib::build(engine, rib).ok());
            // `best` falls back to the oracle, whose only limit is the number of indices, which the
            // slots guard.
            small.unwrap_or_else(|| Fib::build(BEST, rib).expect("the oracle holds every table"))
        };
        Self { fib: (!rib.is_empty()).then(build), built: rib.len() }
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

    /// Follows `rib`, which has just changed by `deltas`, at most one a prefix: in place, or by a
    /// build where that is cheaper or the engine refuses.
    pub fn follow(&mut self, rib: &Rib<A>, deltas: &[Delta<A>]) {
        if deltas.is_empty() {
            return;
        }
        let has_outgrown = if self.built <= SMALL_MOST {
            rib.len() > SMALL_MOST
        } else {
            rib.len() > self.built * GROWTH || rib.len() < SMALL_MOST / 2
        };
        let are_many = deltas.len() * BUILD_SHARE > rib.len() + ROOT;
        if !has_outgrown
            && !are_many
            && !rib.is_empty()
            && let Some(fib) = &mut self.fib
            && fib.apply(rib, deltas).is_ok()
        {
            return;
        }
        *self = Self::of(rib);
    }

    /// Returns the engine. `None` for a table without routes.
    #[must_use]
    pub fn fib(&self) -> Option<&Fib<A>> {
        self.fib.as_ref()
    }

    /// Returns the name of the engine. `None` for a table without routes.
    #[must_use]
    pub fn engine(&self) -> Option<&'static str> {
        self.fib.as_ref().map(|fib| fib.entry().about.name)
    }

    /// Checks the engine's structure against `rib`.
    ///
    /// # Errors
    /// With the first contradiction found.
    pub fn validate(&self, rib: &Rib<A>) -> Result<(), String> {
        match &self.fib {
            Some(fib) => fib.validate(rib),
            None if rib.is_empty() => Ok(()),
            None => Err(format!("{} routes and no engine", rib.len())),
        }
    }
}
