//! [`TableSet`]: many tables in one process, as a router with virtual routing and forwarding
//! instances (VRFs) has them.
//!
//! A provider's edge router has a thousand tables, most of them small and many of them empty. An
//! engine built for a full table has a root of some hundred kilobytes whatever it holds. So a set
//! compiles every table by its size:
//!
//! | routes | compiled to | bytes |
//! | --- | --- | --- |
//! | none | nothing | those of its slot in the set |
//! | up to [`SMALL_MOST`] | its sorted intervals: a binary search | 8 (IPv4), 20 (IPv6) each |
//! | more | the engine of the set's specification | the engine's |
//!
//! Next hops are indices into one [`NextHops`](crate::NextHops), which all tables share.
//!
//! Batches mix tables: there is an id beside every address. One pass sorts a batch by table, so
//! that each table looks up all of its addresses together. The answers are then written at the
//! indexes of their addresses.
//!
//! ```
//! use fibula::table_set::{Mixed, TableSet};
//! use fibula::{NextHop, Rib};
//! let mut tables: TableSet<u32> = TableSet::new("best");
//! let (red, blue) = (tables.create(), tables.create());
//! let mut rib = Rib::new();
//! rib.insert("10.0.0.0/8".parse()?, NextHop(1));
//! tables.set(red, &rib)?;
//! let address = 0x0A01_0203;
//! let mut next_hops = [NextHop::NONE; 3];
//! tables.lookup_batch(&[blue, red, blue], &[address; 3], &mut next_hops, &mut Mixed::default());
//! assert_eq!(next_hops, [NextHop::NONE, NextHop(1), NextHop::NONE]);
//! # Ok::<(), fibula::Error>(())
//! ```

mod intervals;
mod mixed;
#[cfg(test)]
mod tests;

pub use mixed::Mixed;

use crate::engine::WidthBits;
use crate::{Address, Delta, Error, ErrorKind, Fib, Limit, NextHop, Rib};
use intervals::Intervals;

/// The most routes of a table that is stored as its intervals. A larger table becomes small again
/// only at half of it, so that a table at the border is not recompiled by every change.
pub const SMALL_MOST: usize = 4096;

/// The number of a table in its set. Numbers of removed tables are reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct TableId(pub u32);

/// A table as lookups read it.
#[derive(Debug)]
enum Compiled<A: Address> {
    Small(Intervals<A>),
    Large(Box<Fib<A>>),
}

impl<A: Address> Compiled<A> {
    fn bytes(&self) -> usize {
        match self {
            Self::Small(intervals) => intervals.bytes(),
            Self::Large(fib) => size_of::<Fib<A>>() + fib.memory().total(),
        }
    }
}

/// Many tables of one family; see the [module page](self).
#[derive(Debug)]
pub struct TableSet<A: Address> {
    specification: String,
    small_most: usize,
    /// The tables by id; `None` for a free id.
    tables: Vec<Option<Compiled<A>>>,
    free: Vec<u32>,
}

impl<A: Address> TableSet<A> {
    /// Creates a set without tables, whose large ones are compiled by the engine of
    /// `specification`.
    #[must_use]
    pub fn new(specification: impl Into<String>) -> Self {
        Self::with_small(specification, SMALL_MOST)
    }

    /// As [`TableSet::new`], with another limit for small tables; with 0 only empty tables are
    /// small.
    #[must_use]
    pub fn with_small(specification: impl Into<String>, small_most: usize) -> Self {
        Self { specification: specification.into(), small_most, tables: Vec::new(), free: Vec::new() }
    }

    /// Adds a table without routes. O(1) amortised.
    pub fn create(&mut self) -> TableId {
        let empty = Some(Compiled::Small(Intervals::default()));
        if let Some(id) = self.free.pop() {
            self.tables[id as usize] = empty;
            return TableId(id);
        }
        self.tables.push(empty);
        TableId(self.tables.len() as u32 - 1)
    }

    /// Removes a table, and returns whether there was one. From now on its number answers "no
    /// route", until it is reused.
    pub fn remove(&mut self, id: TableId) -> bool {
        let table = self.tables.get_mut(id.0 as usize).and_then(Option::take);
        self.free.extend(table.is_some().then_some(id.0));
        table.is_some()
    }

    /// Returns the number of tables.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tables.len() - self.free.len()
    }

    /// Returns whether there are no tables.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sets the routes of a table, whatever it had.
    ///
    /// # Errors
    /// If there is no such table, or the routes exceed a limit of the engine; the table then
    /// answers as before.
    pub fn set(&mut self, id: TableId, rib: &Rib<A>) -> Result<(), Error> {
        let small = rib.len() <= self.small_most;
        let compiled = if small {
            Compiled::Small(Intervals::of(rib))
        } else {
            Compiled::Large(Box::new(Fib::build(&self.specification, rib)?))
        };
        *self.table(id)? = compiled;
        Ok(())
    }

    /// Follows the routes of a table: `rib` has changed by `deltas`, at most one a prefix. A small
    /// table is recompiled, in O(routes).
    ///
    /// # Errors
    /// As [`TableSet::set`].
    pub fn apply(&mut self, id: TableId, rib: &Rib<A>, deltas: &[Delta<A>]) -> Result<(), Error> {
        let keep_large = rib.len() > self.small_most / 2;
        match self.table(id)? {
            Compiled::Large(fib) if keep_large => fib.apply(rib, deltas).map(|_| ()),
            _ => self.set(id, rib),
        }
    }

    /// Returns the answer of a table for one address, or `None` if no route matches or there is no
    /// such table.
    #[must_use]
    pub fn lookup(&self, id: TableId, address: impl Into<A>) -> Option<NextHop> {
        let address = address.into();
        let next_hop = match self.tables.get(id.0 as usize)?.as_ref()? {
            Compiled::Small(intervals) => intervals.lookup(address),
            Compiled::Large(fib) => fib.lookup_index(address),
        };
        next_hop.is_some().then_some(next_hop)
    }

    /// Looks up many addresses, each in its own table: writes the answer for `addresses[i]` in
    /// `ids[i]` to `next_hops[i]`. O(addresses), whatever the number of tables.
    ///
    /// # Panics
    /// If the three differ in length.
    pub fn lookup_batch(
        &self,
        ids: &[TableId],
        addresses: &[A],
        next_hops: &mut [NextHop],
        mixed: &mut Mixed<A>,
    ) {
        let lengths = (addresses.len(), addresses.len());
        assert_eq!((ids.len(), next_hops.len()), lengths, "as many tables and next hops as addresses");
        match ids.first() {
            Some(&only) if ids.iter().all(|&id| id == only) => self.lookup_all(only, addresses, next_hops),
            _ => mixed.lookup(self, ids, addresses, next_hops),
        }
    }

    /// Looks up many addresses in one table.
    fn lookup_all(&self, id: TableId, addresses: &[A], next_hops: &mut [NextHop]) {
        match self.tables.get(id.0 as usize) {
            Some(Some(Compiled::Small(intervals))) => intervals.lookup_all(addresses, next_hops),
            Some(Some(Compiled::Large(fib))) => fib.lookup_batch(addresses, next_hops),
            _ => next_hops.fill(NextHop::NONE),
        }
    }

    /// Returns the width of a table's answers in its engine, or `None` if it is small or absent.
    #[must_use]
    pub fn engine_width(&self, id: TableId) -> Option<WidthBits> {
        match self.tables.get(id.0 as usize) {
            Some(Some(Compiled::Large(fib))) => Some(fib.width()),
            _ => None,
        }
    }

    /// Returns the bytes of all tables and their slots in the set.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let places = self.tables.capacity() * size_of::<Option<Compiled<A>>>() + self.free.capacity() * 4;
        places + self.tables.iter().flatten().map(Compiled::bytes).sum::<usize>()
    }

    fn table(&mut self, id: TableId) -> Result<&mut Compiled<A>, Error> {
        let tables = self.tables.len() as u64;
        Limit::check("number of a table", u64::from(id.0) + 1, tables)?;
        let table = self.tables[id.0 as usize].as_mut();
        table.ok_or_else(|| Error::new(ErrorKind::Usage, format!("table {} was removed", id.0)))
    }
}
