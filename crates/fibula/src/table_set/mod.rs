//! [`TableSet`]: many tables in one process, as a router with virtual routing and forwarding
//! instances (VRFs) has them.
//!
//! A provider's edge router has a thousand tables, most of them small and many of them empty. A
//! table without routes takes the bytes of its slot in the set. Every other is compiled by the
//! set's specification. Where that is [`best`](crate::engine::BEST), a table may take 4 KiB and 64
//! bytes a route: many small tables with a root of half a megabyte each would lose in the caches
//! what the root gains.
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

mod mixed;
#[cfg(test)]
mod tests;

pub use mixed::Mixed;

use crate::engine::BEST;
use crate::{Address, Delta, Error, ErrorKind, Fib, Limit, NextHop, Rib};

/// The number of a table in its set. Numbers of removed tables are reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct TableId(pub u32);

/// The bytes a route that tables may take in a set whose engines are chosen.
const ROOM: usize = 64;

/// A table: `None` while it has no routes.
type Table<A> = Option<Box<Fib<A>>>;

/// Many tables of one family; see the [module page](self).
#[derive(Debug)]
pub struct TableSet<A: Address> {
    specification: String,
    /// The tables by id; `None` for a free id.
    tables: Vec<Option<Table<A>>>,
    free: Vec<u32>,
}

impl<A: Address> TableSet<A> {
    /// Creates a set without tables, which are compiled by the engine of `specification`.
    #[must_use]
    pub fn new(specification: impl Into<String>) -> Self {
        let mut specification = specification.into();
        if specification == BEST {
            specification = format!("{BEST}/room={ROOM}");
        }
        Self { specification, tables: Vec::new(), free: Vec::new() }
    }

    /// Adds a table without routes. O(1) amortised.
    pub fn create(&mut self) -> TableId {
        if let Some(id) = self.free.pop() {
            self.tables[id as usize] = Some(None);
            return TableId(id);
        }
        self.tables.push(Some(None));
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
        let build = || Fib::build(&self.specification, rib).map(Box::new);
        let compiled = if rib.is_empty() { None } else { Some(build()?) };
        *self.table(id)? = compiled;
        Ok(())
    }

    /// Follows the routes of a table: `rib` has changed by `deltas`, at most one a prefix.
    ///
    /// # Errors
    /// As [`TableSet::set`].
    pub fn apply(&mut self, id: TableId, rib: &Rib<A>, deltas: &[Delta<A>]) -> Result<(), Error> {
        match self.table(id)? {
            Some(fib) if !rib.is_empty() => fib.apply(rib, deltas).map(|_| ()),
            _ => self.set(id, rib),
        }
    }

    /// Returns the answer of a table for one address, or `None` if no route matches or there is no
    /// such table.
    #[must_use]
    pub fn lookup(&self, id: TableId, address: impl Into<A>) -> Option<NextHop> {
        self.fib(id)?.lookup(address)
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
        match self.fib(id) {
            Some(fib) => fib.lookup_batch(addresses, next_hops),
            None => next_hops.fill(NextHop::NONE),
        }
    }

    /// Returns a table as it is compiled. `None` if it has no routes, or is not there.
    #[must_use]
    pub fn fib(&self, id: TableId) -> Option<&Fib<A>> {
        self.tables.get(id.0 as usize)?.as_ref()?.as_deref()
    }

    /// Returns the bytes of all tables and their slots in the set.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let slots = self.tables.capacity() * size_of::<Option<Table<A>>>() + self.free.capacity() * 4;
        let compiled = self.tables.iter().flatten().flatten();
        slots + compiled.map(|fib| size_of::<Fib<A>>() + fib.memory().total()).sum::<usize>()
    }

    fn table(&mut self, id: TableId) -> Result<&mut Table<A>, Error> {
        let tables = self.tables.len() as u64;
        Limit::check("number of a table", u64::from(id.0) + 1, tables)?;
        let table = self.tables[id.0 as usize].as_mut();
        table.ok_or_else(|| Error::new(ErrorKind::Usage, format!("table {} was removed", id.0)))
    }
}
