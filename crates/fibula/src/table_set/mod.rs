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
//! [`live`] has sets that change while other threads look up.
//!
//! Batches mix tables: there is an id beside every address. One pass sorts a batch by table, so
//! that each table looks up all of its addresses together. The answers are then written at the
//! indexes of their addresses.
//!
//! ```
//! use fibula::table_set::{Mixed, TableSet};
//! use fibula::{NextHop, Rib};
//! let mut tables: TableSet<u32> = TableSet::new("best")?;
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

pub mod live;
mod mixed;
#[cfg(test)]
mod tests;

pub use mixed::Mixed;

use crate::engine::BEST;
use crate::fib::check_name;
use crate::{Address, Delta, Error, ErrorKind, Fib, Limit, NextHop, Rib};
use std::sync::Arc;

/// The name of a table in its set.
///
/// The numbers of removed tables are given to others. The generation says how many tables had the
/// number before: an id of a removed table never reaches its successor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId {
    number: u32,
    generation: u32,
}

impl TableId {
    /// Creates the id of a number and a generation, which some set may have given to a table.
    #[must_use]
    pub const fn new(number: u32, generation: u32) -> Self {
        Self { number, generation }
    }

    /// Returns the number: less than the greatest number of tables that the set had at a time.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.number
    }

    /// Returns how many tables had the number before.
    #[must_use]
    pub const fn generation(self) -> u32 {
        self.generation
    }
}

/// The bytes a route that tables may take in a set whose engines are chosen.
const ROOM: usize = 64;

/// A number, and the table that has it.
#[derive(Clone, Debug)]
struct Slot<A: Address> {
    /// The generation of the table, or of the next one.
    generation: u32,
    is_used: bool,
    /// `None` while the table has no routes.
    fib: Option<Arc<Fib<A>>>,
}

/// Many tables of one family; see the [module page](self).
///
/// A clone shares the compiled tables: O(tables). A table that is shared is built again by its next
/// change, in the set that is changed.
#[derive(Clone, Debug)]
pub struct TableSet<A: Address> {
    specification: String,
    /// By number.
    slots: Vec<Slot<A>>,
    /// The numbers that can be given again.
    free: Vec<u32>,
    len: usize,
}

impl<A: Address> TableSet<A> {
    /// Creates a set without tables, which are compiled by the engine of `specification`.
    ///
    /// # Errors
    /// If there is no such engine, or it does not look up this family.
    pub fn new(specification: impl Into<String>) -> Result<Self, Error> {
        let mut specification = specification.into();
        check_name::<A>(&specification)?;
        if specification == BEST {
            specification = format!("{BEST}/room={ROOM}");
        }
        Ok(Self { specification, slots: Vec::new(), free: Vec::new(), len: 0 })
    }

    /// Adds a table without routes. O(1) amortised.
    pub fn create(&mut self) -> TableId {
        self.len += 1;
        let number = self.free.pop().unwrap_or(self.slots.len() as u32);
        if number as usize == self.slots.len() {
            self.slots.push(Slot { generation: 0, is_used: false, fib: None });
        }
        let slot = &mut self.slots[number as usize];
        slot.is_used = true;
        TableId { number, generation: slot.generation }
    }

    /// Removes a table, and returns whether there was one. From now on its id answers "no route".
    ///
    /// ```
    /// use fibula::table_set::TableSet;
    /// use fibula::{NextHop, Rib};
    /// let mut tables: TableSet<u32> = TableSet::new("best")?;
    /// let mut rib = Rib::new();
    /// rib.insert("0.0.0.0/0".parse()?, NextHop(1));
    /// let red = tables.create();
    /// tables.remove(red);
    /// let blue = tables.create();
    /// tables.set(blue, &rib)?;
    /// assert_eq!((red.number(), tables.lookup(red, 0_u32)), (blue.number(), None));
    /// assert_eq!(tables.lookup(blue, 0_u32), Some(NextHop(1)));
    /// # Ok::<(), fibula::Error>(())
    /// ```
    pub fn remove(&mut self, id: TableId) -> bool {
        let Ok(slot) = self.slot(id) else { return false };
        (slot.is_used, slot.fib) = (false, None);
        // A number whose generations are used up is not given again.
        if let Some(next) = slot.generation.checked_add(1) {
            slot.generation = next;
            self.free.push(id.number);
        }
        self.len -= 1;
        true
    }

    /// Returns the number of tables.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
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
        self.slot(id)?;
        let fib = self.compile(rib)?;
        self.slot(id)?.fib = fib;
        Ok(())
    }

    /// Follows the routes of a table: `rib` has changed by `deltas`, at most one a prefix.
    ///
    /// # Errors
    /// As [`TableSet::set`].
    pub fn apply(&mut self, id: TableId, rib: &Rib<A>, deltas: &[Delta<A>]) -> Result<(), Error> {
        match self.slot(id)?.fib.as_mut().and_then(Arc::get_mut) {
            Some(fib) if !rib.is_empty() => fib.apply(rib, deltas).map(|_| ()),
            _ => self.set(id, rib),
        }
    }

    /// Compiles routes as those of a table of this set.
    fn compile(&self, rib: &Rib<A>) -> Result<Option<Arc<Fib<A>>>, Error> {
        let build = || Fib::build(&self.specification, rib).map(Arc::new);
        if rib.is_empty() { Ok(None) } else { build().map(Some) }
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
            Some(&only) if ids.iter().all(|&id| id == only) => {
                Self::lookup_all(self.fib(only), addresses, next_hops);
            }
            _ => mixed.lookup(self, ids, addresses, next_hops),
        }
    }

    /// Looks up many addresses in one table.
    fn lookup_all(fib: Option<&Fib<A>>, addresses: &[A], next_hops: &mut [NextHop]) {
        match fib {
            Some(fib) => fib.lookup_batch(addresses, next_hops),
            None => next_hops.fill(NextHop::NONE),
        }
    }

    /// Returns a table as it is compiled. `None` if it has no routes, or is not there.
    #[must_use]
    pub fn fib(&self, id: TableId) -> Option<&Fib<A>> {
        let slot = self.slots.get(id.number as usize)?;
        if slot.generation == id.generation { slot.fib.as_deref() } else { None }
    }

    /// Returns the bytes of all tables and their slots in the set.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let slots = self.slots.capacity() * size_of::<Slot<A>>() + self.free.capacity() * 4;
        let compiled = self.slots.iter().filter_map(|slot| slot.fib.as_deref());
        slots + compiled.map(|fib| size_of::<Fib<A>>() + fib.memory().total()).sum::<usize>()
    }

    fn slot(&mut self, id: TableId) -> Result<&mut Slot<A>, Error> {
        let numbers = self.slots.len() as u64;
        Limit::check("number of a table", u64::from(id.number) + 1, numbers)?;
        let slot = &mut self.slots[id.number as usize];
        if slot.is_used && slot.generation == id.generation {
            return Ok(slot);
        }
        let TableId { number, generation } = id;
        Err(Error::new(ErrorKind::Usage, format!("table {number} of generation {generation} was removed")))
    }
}
