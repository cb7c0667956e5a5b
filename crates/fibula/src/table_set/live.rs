//! Sets of tables that change while other threads look up: routes change, tables come and go, and
//! no reader ever waits.
//!
//! A [`LiveTableSet`] keeps the routes of each table and gathers changes.
//! [`publish`](LiveTableSet::publish) compiles the tables that have changed, and publishes the
//! whole set by one store. Readers take a guard for each batch: a [`TableSet`]. All answers under
//! one guard are those of one publication.
//!
//! ```
//! use fibula::table_set::live::{LiveTableSet, Settings};
//! use fibula::{Change, NextHop, Route};
//!
//! let mut live: LiveTableSet<u32> = LiveTableSet::new("best", Settings::default())?;
//! let mut reader = live.reader(); // one a thread
//!
//! let red = live.create();
//! let route = Route { prefix: "10.0.0.0/8".parse()?, next_hop: NextHop(1) };
//! live.change(red, Change::Announce(route))?;
//! live.publish()?;
//! assert_eq!(reader.guard().lookup(red, 0x0A01_0203_u32), Some(NextHop(1)));
//!
//! live.remove(red);
//! let blue = live.create(); // of the same number
//! live.change(blue, Change::Announce(route))?;
//! live.publish()?;
//! assert_eq!(reader.guard().lookup(red, 0x0A01_0203_u32), None);
//! # Ok::<(), fibula::Error>(())
//! ```
//!
//! # Ids
//! An id has a generation. That of a removed table answers "no route" from the publication on that
//! shows the removal, also when another table has its number. So does the id of a table that is not
//! published yet.
//!
//! # Costs
//! A publication costs O(tables), and for each table that has changed what
//! [`Fib::apply`] costs for its changes and for those of its publication before. Tables are shared
//! by the sets that are published one after another. A table that changes takes twice its memory.
//! It is built where there is no other copy of it yet, and where readers still hold that.

use super::{TableId, TableSet};
use crate::live::handover::Handover;
pub use crate::live::handover::Settings;
use crate::live::{ReaderOf, merged};
use crate::rib::Deltas;
use crate::{Address, Change, Delta, Error, Fib, Rib};
use std::sync::Arc;

/// One thread's way to the published set.
pub type SetReader<A> = ReaderOf<TableSet<A>>;

/// The writer's end; see the [module page](self).
#[derive(Debug)]
pub struct LiveTableSet<A: Address> {
    published: Handover<TableSet<A>>,
    /// The set that the next publication shows, once all changes are compiled.
    next: TableSet<A>,
    /// By number.
    tables: Vec<Option<Followed<A>>>,
    /// Whether there is anything to publish.
    is_changed: bool,
    settings: Settings,
}

/// The routes of a table, and how its compiled form follows them.
#[derive(Debug)]
struct Followed<A: Address> {
    id: TableId,
    rib: Rib<A>,
    /// The changes of `rib` that are not compiled.
    pending: Option<Deltas<A>>,
    spare: Option<Spare<A>>,
}

/// The copy of a table that was compiled before the last one.
#[derive(Debug)]
struct Spare<A: Address> {
    fib: Arc<Fib<A>>,
    /// What it has missed.
    behind: Vec<Delta<A>>,
}

impl<A: Address> Followed<A> {
    /// Compiles the pending changes into `set`.
    ///
    /// # Errors
    /// If they exceed a limit of the engine. Then they are undone.
    fn compile(&mut self, set: &mut TableSet<A>) -> Result<(), Error> {
        let deltas = self.pending.take().map(Deltas::into_effective).unwrap_or_default();
        if deltas.is_empty() {
            return Ok(());
        }
        let next = self.compiled(set, &deltas).inspect_err(|_| self.rib.take_back(&deltas));
        let before = std::mem::replace(&mut set.slot(self.id)?.fib, next?);
        self.spare = before.map(|fib| Spare { fib, behind: deltas });
        Ok(())
    }

    /// Changes the spare copy, unless a set that may still be read has it. Then builds another.
    fn compiled(&mut self, set: &TableSet<A>, deltas: &[Delta<A>]) -> Result<Option<Arc<Fib<A>>>, Error> {
        let spare = self.spare.take().filter(|_| !self.rib.is_empty());
        let owned = spare.and_then(|spare| Some((Arc::into_inner(spare.fib)?, spare.behind)));
        let Some((mut fib, behind)) = owned else { return set.compile(&self.rib) };
        let applied = fib.apply(&self.rib, &merged(&behind, deltas));
        let fib = Arc::new(fib);
        if let Err(error) = applied {
            // It answers as before, and still misses the same.
            self.spare = Some(Spare { fib, behind });
            return Err(error);
        }
        Ok(Some(fib))
    }
}

impl<A: Address> LiveTableSet<A> {
    /// Publishes a set without tables, which are compiled by the engine of `specification`; see
    /// [`TableSet::new`].
    ///
    /// # Errors
    /// If there is no such engine, or it does not look up this family.
    pub fn new(specification: impl Into<String>, settings: Settings) -> Result<Self, Error> {
        let next = TableSet::new(specification)?;
        let published = Handover::new(next.clone());
        Ok(Self { published, next, tables: Vec::new(), is_changed: false, settings })
    }

    /// Takes in: add a table without routes. O(1) amortised.
    pub fn create(&mut self) -> TableId {
        let id = self.next.create();
        let table = Followed { id, rib: Rib::new(), pending: None, spare: None };
        let number = id.number() as usize;
        self.tables.resize_with(self.tables.len().max(number + 1), || None);
        self.tables[number] = Some(table);
        self.is_changed = true;
        id
    }

    /// Takes in: remove a table. Returns whether there was one. O(routes).
    pub fn remove(&mut self, id: TableId) -> bool {
        let is_removed = self.next.remove(id);
        if is_removed {
            self.tables[id.number() as usize] = None;
            self.is_changed = true;
        }
        is_removed
    }

    /// Takes in: change a route of a table. O(log n).
    ///
    /// # Errors
    /// If there is no such table.
    pub fn change(&mut self, id: TableId, change: Change<A>) -> Result<(), Error> {
        let table = self.table(id)?;
        if let Some(delta) = table.rib.apply(change) {
            table.pending.get_or_insert_default().push(delta);
            self.is_changed = true;
        }
        Ok(())
    }

    /// Takes in: replace all routes of a table by those of `rib`. O(n + m).
    ///
    /// # Errors
    /// If there is no such table.
    ///
    /// ```
    /// use fibula::table_set::live::{LiveTableSet, Settings};
    /// use fibula::{NextHop, Rib};
    /// let mut live: LiveTableSet<u32> = LiveTableSet::new("best", Settings::default())?;
    /// let red = live.create();
    /// let mut rib = Rib::new();
    /// rib.insert("10.0.0.0/8".parse()?, NextHop(1));
    /// live.set(red, rib)?;
    /// assert_eq!((live.rib(red).unwrap().len(), live.published().len()), (1, 0));
    /// live.publish()?;
    /// assert_eq!(live.published().lookup(red, 0x0A01_0203_u32), Some(NextHop(1)));
    /// # Ok::<(), fibula::Error>(())
    /// ```
    pub fn set(&mut self, id: TableId, rib: Rib<A>) -> Result<(), Error> {
        let table = self.table(id)?;
        let pending = table.pending.get_or_insert_default();
        table.rib.diff(&rib).for_each(|delta| pending.push(delta));
        table.rib = rib;
        self.is_changed = true;
        Ok(())
    }

    /// Publishes all that was taken in: when this returns `Ok`, every guard taken from now on shows
    /// it. Waits for readers as the [`Settings`] say, and builds the tables that it then has no
    /// other copy of.
    ///
    /// # Errors
    /// - A table exceeds a limit of its engine. Then the changes of this table are undone since the
    ///   last publication, and all others stay pending.
    /// - Of kind [`ErrorKind::ReadersHeldUp`](crate::ErrorKind::ReadersHeldUp), if readers hold up
    ///   [`Settings::most_retired`] sets. Then all stays pending.
    pub fn publish(&mut self) -> Result<(), Error> {
        self.publish_within(self.settings)
    }

    /// As [`publish`](LiveTableSet::publish), for a writer that may not wait: it fails at once
    /// where readers hold the set that was published before. Call it again later: all stays
    /// pending. It builds only the tables that have no other copy yet.
    ///
    /// # Errors
    /// As [`publish`](LiveTableSet::publish).
    pub fn try_publish(&mut self) -> Result<(), Error> {
        self.publish_within(Settings::AT_ONCE)
    }

    /// As [`publish`](LiveTableSet::publish), waiting for readers as these settings say.
    ///
    /// # Errors
    /// As [`publish`](LiveTableSet::publish).
    pub fn publish_within(&mut self, settings: Settings) -> Result<(), Error> {
        self.prepare_within(settings)?;
        self.publish_prepared();
        Ok(())
    }

    /// Does the first step of a publication: all that may fail, and nothing that readers see.
    /// [`publish_prepared`](Self::publish_prepared) is the second. Between the two, the caller
    /// takes nothing in, and may prepare another set that is to be published with this one.
    ///
    /// # Errors
    /// As [`publish`](LiveTableSet::publish).
    #[doc(hidden)]
    pub fn prepare_within(&mut self, settings: Settings) -> Result<(), Error> {
        if !self.is_changed {
            return Ok(());
        }
        // A set that comes back leaves its tables to the spare copies.
        drop(self.published.take_back(settings)?);
        self.tables.iter_mut().flatten().try_for_each(|table| table.compile(&mut self.next))
    }

    /// Publishes what was prepared. Cannot fail.
    #[doc(hidden)]
    pub fn publish_prepared(&mut self) {
        if self.is_changed {
            self.published.publish(self.next.clone());
            self.is_changed = false;
        }
    }

    /// Returns a new reader, which rests. O(readers).
    #[must_use]
    pub fn reader(&self) -> SetReader<A> {
        self.published.reader()
    }

    /// Returns the published set: without what is pending.
    #[must_use]
    pub fn published(&self) -> &TableSet<A> {
        self.published.current()
    }

    /// Returns the routes of a table, with the changes that are pending. `None` if there is no such
    /// table.
    #[must_use]
    pub fn rib(&self, id: TableId) -> Option<&Rib<A>> {
        let table = self.tables.get(id.number() as usize)?.as_ref()?;
        (table.id == id).then_some(&table.rib)
    }

    /// Returns whether anything that was taken in is not published yet. O(1).
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.is_changed
    }

    fn table(&mut self, id: TableId) -> Result<&mut Followed<A>, Error> {
        self.next.slot(id)?;
        Ok(self.tables[id.number() as usize].as_mut().expect("the set has this table"))
    }
}
