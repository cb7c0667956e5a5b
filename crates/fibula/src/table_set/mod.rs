//! [`TableSet`]: many tables in one process, as a router with virtual routing and forwarding instances (VRFs) has them.
//!
//! A provider's edge router has a thousand tables, most of them small and many of them empty. An engine built for a full
//! table has a root of some hundred kilobytes whatever it holds, so a set compiles every table by its size:
//!
//! | routes | compiled to | bytes |
//! | --- | --- | --- |
//! | none | nothing | those of its place in the set |
//! | up to [`SMALL_MOST`] | its intervals, sorted: a binary search | 8 an interval for IPv4, 20 for IPv6 |
//! | more | the engine of the set's specification | the engine's |
//!
//! Next hops are indices into one [`NextHops`](crate::NextHops), which all tables share.
//!
//! Batches mix tables: an id beside every address. A batch is sorted by table in one pass over it, so that each table is asked
//! once, for all of its addresses together; the answers go back to their places.
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

/// The most routes of a table that is kept as its intervals. At half of it a table that was larger becomes small again, so that
/// one at the border is not compiled anew by every change.
pub const SMALL_MOST: usize = 4096;

/// The number of a table in its set. Numbers of removed tables are given out again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct TableId(pub u32);

/// A table as it is looked up in.
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
    /// By id; `None` for an id that is free.
    tables: Vec<Option<Compiled<A>>>,
    free: Vec<u32>,
}

impl<A: Address> TableSet<A> {
    /// A set without tables, whose large ones are compiled by this engine.
    #[must_use]
    pub fn new(specification: impl Into<String>) -> Self {
        Self::with_small(specification, SMALL_MOST)
    }

    /// As [`TableSet::new`], with another greatest number of routes for small tables; with 0 only empty ones are small.
    #[must_use]
    pub fn with_small(specification: impl Into<String>, small_most: usize) -> Self {
        Self { specification: specification.into(), small_most, tables: Vec::new(), free: Vec::new() }
    }

    /// A new table without routes. O(1) amortised.
    pub fn create(&mut self) -> TableId {
        let empty = Some(Compiled::Small(Intervals::default()));
        if let Some(id) = self.free.pop() {
            self.tables[id as usize] = empty;
            return TableId(id);
        }
        self.tables.push(empty);
        TableId(self.tables.len() as u32 - 1)
    }

    /// Removes a table; whether there was one. From now on its number answers "no route", until it is given out again.
    pub fn remove(&mut self, id: TableId) -> bool {
        let table = self.tables.get_mut(id.0 as usize).and_then(Option::take);
        self.free.extend(table.is_some().then_some(id.0));
        table.is_some()
    }

    /// How many tables there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tables.len() - self.free.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Gives a table its routes, whatever it had.
    ///
    /// # Errors
    /// If there is no such table, or they exceed a limit of the engine: the table answers as before then.
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

    /// Lets a table follow its routes: `rib` has changed by `deltas`, at most one a prefix. A small table is compiled anew,
    /// in O(routes).
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

    /// Returns the answer of a table for one address; `None` if no route matches or there is no such table.
    #[must_use]
    pub fn lookup(&self, id: TableId, address: impl Into<A>) -> Option<NextHop> {
        let address = address.into();
        let next_hop = match self.tables.get(id.0 as usize)?.as_ref()? {
            Compiled::Small(intervals) => intervals.lookup(address),
            Compiled::Large(fib) => fib.lookup_index(address),
        };
        next_hop.is_some().then_some(next_hop)
    }

    /// The answers for many addresses, each in a table of its own: `next_hops[i]` for `addresses[i]` in `ids[i]`. O(addresses),
    /// whatever the number of tables.
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

    /// The answers of one table.
    fn lookup_all(&self, id: TableId, addresses: &[A], next_hops: &mut [NextHop]) {
        match self.tables.get(id.0 as usize) {
            Some(Some(Compiled::Small(intervals))) => intervals.lookup_all(addresses, next_hops),
            Some(Some(Compiled::Large(fib))) => fib.lookup_batch(addresses, next_hops),
            _ => next_hops.fill(NextHop::NONE),
        }
    }

    /// The width of a table's answers in its engine; `None` if it is small or not there.
    #[must_use]
    pub fn engine_width(&self, id: TableId) -> Option<WidthBits> {
        match self.tables.get(id.0 as usize) {
            Some(Some(Compiled::Large(fib))) => Some(fib.width()),
            _ => None,
        }
    }

    /// The bytes of all tables, with their places in the set.
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
