//! Tables that change while other threads look up: one writer, any number of readers, and no reader
//! ever waits.
//!
//! A [`LiveTable`] keeps two copies of a [`Table`] in turn. Readers look up in the published one.
//! The writer gathers changes; [`publish`](LiveTable::publish) carries them out on the other copy,
//! and publishes that by one store. When all readers have passed a quiescent state, the copy that
//! was published before comes back, and the next publication first repeats on it what it has
//! missed. [`collect`](LiveTable::collect) does so before, and drops the values that were replaced
//! or removed.
//!
//! ```
//! use fibula::table::live::{LiveTable, Settings};
//! use fibula::{IpPrefix, Table};
//!
//! let mut live = LiveTable::new(Table::new(), Settings::default());
//! let mut reader = live.reader(); // one a thread
//!
//! let prefix: IpPrefix = "192.0.2.0/24".parse()?;
//! live.insert(prefix, "red");
//! assert_eq!(reader.guard().lookup([192, 0, 2, 1]), None);
//! live.publish()?;
//! assert_eq!(reader.guard().lookup([192, 0, 2, 1]), Some((prefix, &"red")));
//! # Ok::<(), fibula::Error>(())
//! ```
//!
//! [`replace`](LiveTable::replace) and [`clear`](LiveTable::clear) take in a whole table, which the
//! next publication shows. Nothing is copied for it.
//!
//! # What a guard promises
//! All answers under one guard are those of one publication. Taking a guard is two loads and one
//! store: no lock, no allocation, no loop.
//!
//! In return, a reader takes a guard for each batch, and [rests](TableReader::rest) before it waits
//! for anything else. A reader that does neither keeps the writer from reusing the copy that it may
//! be reading. [`Settings`] says how long the writer tries, and whether it then makes another copy.
//! A publication that fails leaves its changes pending: nothing is lost.
//! [`try_publish`](LiveTable::try_publish) fails at once, for writers that may not wait.
//!
//! # Values that panic
//! If cloning a value that was taken in panics, [`publish`](LiveTable::publish) discards that one
//! change: it would panic again. Readers see what they have seen, and all other changes stay
//! pending. If dropping a value panics that was replaced or removed, the publication is first
//! completed. If a value of the published table cannot be cloned when another copy is made, all
//! changes stay pending; `replace` and `clear` clone nothing.
//!
//! # Costs
//! Twice the memory and twice the work of each change, none of it on the readers' threads. The
//! first publication of changes copies the table, and so does the first after a table was replaced.
//! Any other costs what [`Extend`] costs for its changes and for those of the publication before:
//! publish many changes at once where they come fast.
//!
//! [`live::Live`](crate::live::Live) is the same for those who keep their own [`Rib`](crate::Rib)
//! and engines: it changes one copy in place where the engine can.

use super::form::{Form, PerRoute};
use super::{IpPrefix, Table};
use crate::Error;
use crate::live::ReaderOf;
use crate::live::handover::Handover;
pub use crate::live::handover::Settings;
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// A change that was taken in.
#[derive(Clone, Debug)]
enum Change<V> {
    Insert(IpPrefix, V),
    Remove(IpPrefix),
}

/// What the next publication shows.
enum Pending<V, F: Form<V>> {
    /// The published table with these changes, in order.
    Changes(Vec<Change<V>>),
    /// This table.
    Table(Box<Table<V, F>>),
}

impl<V, F: Form<V>> Default for Pending<V, F> {
    fn default() -> Self {
        Self::Changes(Vec::new())
    }
}

/// The writer's end; see the [module page](self).
pub struct LiveTable<V, F: Form<V> = PerRoute> {
    published: Handover<Table<V, F>>,
    /// What the table that was published last before this one has missed. `None` if that one cannot
    /// catch up.
    missed: Option<Vec<Change<V>>>,
    /// That one, if it has been taken back already.
    spare: Option<Table<V, F>>,
    pending: Pending<V, F>,
    settings: Settings,
}

impl<V: Clone, F: Form<V, Store: Clone>> LiveTable<V, F> {
    /// Publishes a first table.
    #[must_use]
    pub fn new(table: Table<V, F>, settings: Settings) -> Self {
        let published = Handover::new(table);
        Self { published, missed: None, spare: None, pending: Pending::default(), settings }
    }

    /// Publishes all changes that were taken in, in order. When this returns `Ok`, every guard
    /// taken from now on shows them.
    ///
    /// # Panics
    /// If cloning or dropping a value panics; see the [module page](self#values-that-panic).
    ///
    /// # Errors
    /// Of kind [`ErrorKind::ReadersHeldUp`](crate::ErrorKind::ReadersHeldUp), if after
    /// [`Settings::attempts`] and [`Settings::stuck_after`] readers still hold up the copy that is
    /// needed and [`Settings::most_retired`] tables. Then the changes stay pending.
    ///
    /// ```
    /// use fibula::table::live::{LiveTable, Settings};
    /// use fibula::{ErrorKind, IpPrefix, Table};
    /// use std::time::Duration;
    /// let settings = Settings { attempts: 0, most_retired: 1, stuck_after: Duration::ZERO };
    /// let mut live = LiveTable::new(Table::new(), settings);
    /// let mut reader = live.reader();
    /// let guard = reader.guard();
    /// let prefix: IpPrefix = "192.0.2.0/24".parse()?;
    /// live.insert(prefix, 1);
    /// live.publish()?;
    /// live.insert(prefix, 2);
    /// assert_eq!(live.publish().unwrap_err().kind(), ErrorKind::ReadersHeldUp);
    /// assert!(guard.is_empty()); // as when it was taken
    /// reader.rest();
    /// live.publish()?;
    /// assert_eq!(reader.guard().get(prefix), Some(&2));
    /// # Ok::<(), fibula::Error>(())
    /// ```
    pub fn publish(&mut self) -> Result<(), Error> {
        self.publish_as(self.settings)
    }

    /// As [`publish`](LiveTable::publish), for a writer that may not wait. It fails at once where
    /// readers hold up the copy that is needed. Call it again later: the changes stay pending.
    ///
    /// It copies the table only where there is no other copy: for the first changes, and for the
    /// first after a table was replaced.
    ///
    /// # Errors
    /// Of kind [`ErrorKind::ReadersHeldUp`](crate::ErrorKind::ReadersHeldUp), if readers hold up
    /// the copy that is needed. For a whole table: if they hold up [`Settings::most_retired`]
    /// tables.
    ///
    /// # Panics
    /// As [`publish`](LiveTable::publish).
    ///
    /// ```
    /// use fibula::table::live::{LiveTable, Settings};
    /// use fibula::{ErrorKind, IpPrefix, Table};
    /// let mut live = LiveTable::new(Table::new(), Settings::default());
    /// let mut reader = live.reader();
    /// reader.guard();
    /// let prefix: IpPrefix = "192.0.2.0/24".parse()?;
    /// live.insert(prefix, 1);
    /// live.try_publish()?;
    /// live.insert(prefix, 2);
    /// assert_eq!(live.try_publish().unwrap_err().kind(), ErrorKind::ReadersHeldUp);
    /// assert_eq!(live.pending(), 1);
    /// reader.rest();
    /// live.try_publish()?;
    /// assert_eq!(reader.guard().get(prefix), Some(&2));
    /// # Ok::<(), fibula::Error>(())
    /// ```
    pub fn try_publish(&mut self) -> Result<(), Error> {
        self.publish_as(Settings::AT_ONCE)
    }

    fn publish_as(&mut self, settings: Settings) -> Result<(), Error> {
        let Pending::Changes(changes) = &mut self.pending else { return self.publish_table(settings) };
        if changes.is_empty() {
            self.collect();
            return Ok(());
        }
        if self.spare.is_none() {
            self.spare = self.published.take_back(settings)?;
        }
        let copies = copies(changes);
        let (mut next, caught_up) = match (self.spare.take(), self.missed.take()) {
            (Some(mut spare), Some(missed)) => {
                let caught_up = spare.change(missed);
                (spare, caught_up)
            }
            (_, missed) => {
                self.missed = missed;
                (self.published.current().clone(), Ok(()))
            }
        };
        let changed = next.change(copies);
        self.published.publish(next);
        let missed = self.missed.replace(std::mem::take(changes));
        // From here on all is as it should be, whatever panics.
        drop(missed);
        caught_up.and(changed).unwrap_or_else(|panic| resume_unwind(panic));
        Ok(())
    }

    /// Publishes a table that was taken in as a whole, which needs no other copy.
    fn publish_table(&mut self, settings: Settings) -> Result<(), Error> {
        let most_retired = self.settings.most_retired;
        let spare = self.published.take_back(Settings { attempts: 0, most_retired, ..settings })?;
        if let Pending::Table(table) = std::mem::take(&mut self.pending) {
            self.published.publish(*table);
        }
        // The table that was published until now cannot catch up.
        let (other, missed) = (self.spare.take(), self.missed.take());
        drop((spare, other, missed));
        Ok(())
    }
}

impl<V, F: Form<V>> LiveTable<V, F> {
    /// Drops the values that were replaced or removed, as far as no reader can reach them. Returns
    /// whether all are dropped; until then readers hold them up. Each publication does this for the
    /// one before, and an empty one for the last. O(changes of the last publication).
    ///
    /// ```
    /// use fibula::table::live::{LiveTable, Settings};
    /// use fibula::{IpPrefix, Table};
    /// use std::sync::Arc;
    /// let (prefix, value) = ("192.0.2.0/24".parse::<IpPrefix>()?, Arc::new(7));
    /// let table = Table::from([(prefix, Arc::clone(&value))]);
    /// let mut live = LiveTable::new(table, Settings::default());
    /// let mut reader = live.reader();
    /// reader.guard();
    /// live.remove(prefix);
    /// live.publish()?;
    /// assert!(!live.collect());
    /// reader.rest();
    /// assert!(live.collect());
    /// assert_eq!(Arc::strong_count(&value), 1);
    /// # Ok::<(), fibula::Error>(())
    /// ```
    pub fn collect(&mut self) -> bool {
        if self.spare.is_none() {
            self.spare = self.published.take_back(Settings::AT_ONCE).ok().flatten();
        }
        match (self.spare.take(), self.missed.take()) {
            (Some(mut spare), Some(missed)) => {
                let caught_up = spare.change(missed);
                (self.spare, self.missed) = (Some(spare), Some(Vec::new()));
                caught_up.unwrap_or_else(|panic| resume_unwind(panic));
            }
            // A copy that cannot catch up is of no use.
            (_, missed) => self.missed = missed,
        }
        self.published.retired() == 0
    }

    /// Takes in: insert a route, or replace the value of its prefix. O(1) amortised; after
    /// [`replace`](LiveTable::replace) that of [`Table::insert`].
    pub fn insert(&mut self, prefix: impl Into<IpPrefix>, value: V) {
        match &mut self.pending {
            Pending::Changes(changes) => changes.push(Change::Insert(prefix.into(), value)),
            Pending::Table(table) => drop(table.insert(prefix, value)),
        }
    }

    /// Takes in: remove the route of exactly this prefix. O(1) amortised; after
    /// [`replace`](LiveTable::replace) that of [`Table::remove`].
    pub fn remove(&mut self, prefix: impl Into<IpPrefix>) {
        match &mut self.pending {
            Pending::Changes(changes) => changes.push(Change::Remove(prefix.into())),
            Pending::Table(table) => drop(table.remove(prefix)),
        }
    }

    /// Takes in: replace all routes by those of `table`. Changes that are pending are dropped, and
    /// those that follow change `table`. Readers see the whole old table until the next
    /// publication, and from then on the whole new one. No value is cloned. O(pending).
    ///
    /// ```
    /// use fibula::table::live::{LiveTable, Settings};
    /// use fibula::{IpPrefix, Table};
    /// let prefixes: [IpPrefix; 2] = ["192.0.2.0/24".parse()?, "2001:db8::/32".parse()?];
    /// let mut live = LiveTable::new(Table::from([(prefixes[0], "old")]), Settings::default());
    /// let mut reader = live.reader();
    /// live.replace(Table::from([(prefixes[1], "new")]));
    /// live.publish()?;
    /// let table = reader.guard();
    /// assert_eq!((table.get(prefixes[0]), table.get(prefixes[1])), (None, Some(&"new")));
    /// # Ok::<(), fibula::Error>(())
    /// ```
    pub fn replace(&mut self, table: Table<V, F>) {
        // Dropping values may panic, so it comes after.
        drop(std::mem::replace(&mut self.pending, Pending::Table(Box::new(table))));
    }

    /// Takes in: remove all routes. As [`replace`](LiveTable::replace) with an empty table.
    pub fn clear(&mut self) {
        self.replace(Table::default());
    }

    /// Drops what was taken in and not published: the next publication shows what is published now,
    /// and what is taken in until then. O(pending).
    pub fn discard(&mut self) {
        drop(std::mem::take(&mut self.pending));
    }

    /// Returns the number of changes that were taken in and not published yet. A whole table is one
    /// change, with all that followed it. O(1).
    #[must_use]
    pub fn pending(&self) -> usize {
        match &self.pending {
            Pending::Changes(changes) => changes.len(),
            Pending::Table(_) => 1,
        }
    }

    /// Returns the changes that are pending, in order: insertions with their values, and removals
    /// with `None`. None are left where a [whole table](LiveTable::pending_table) is pending, which
    /// has them already.
    ///
    /// ```
    /// use fibula::table::live::{LiveTable, Settings};
    /// use fibula::{IpPrefix, Table};
    /// let prefix: IpPrefix = "192.0.2.0/24".parse()?;
    /// let mut live = LiveTable::new(Table::new(), Settings::default());
    /// live.insert(prefix, "red");
    /// live.remove(prefix);
    /// assert!(live.pending_changes().eq([(prefix, Some(&"red")), (prefix, None)]));
    /// live.discard();
    /// assert_eq!(live.pending(), 0);
    /// # Ok::<(), fibula::Error>(())
    /// ```
    #[must_use]
    pub fn pending_changes(&self) -> impl ExactSizeIterator<Item = (IpPrefix, Option<&V>)> {
        let changes = match &self.pending {
            Pending::Changes(changes) => changes.as_slice(),
            Pending::Table(_) => &[],
        };
        changes.iter().map(|change| match change {
            Change::Insert(prefix, value) => (*prefix, Some(value)),
            Change::Remove(prefix) => (*prefix, None),
        })
    }

    /// Returns the table that the next publication shows as a whole. `None` unless one was taken in
    /// by [`replace`](LiveTable::replace) or [`clear`](LiveTable::clear).
    #[must_use]
    pub fn pending_table(&self) -> Option<&Table<V, F>> {
        match &self.pending {
            Pending::Changes(_) => None,
            Pending::Table(table) => Some(table),
        }
    }

    /// Returns a new reader, which rests. O(readers).
    #[must_use]
    pub fn reader(&self) -> TableReader<V, F> {
        self.published.reader()
    }

    /// Returns the published table: without the changes that are pending.
    #[must_use]
    pub fn published(&self) -> &Table<V, F> {
        self.published.current()
    }

    /// Returns the number of tables, besides the published one, that are kept: the other copy, and
    /// those that readers hold up.
    #[must_use]
    pub fn retired(&self) -> usize {
        self.published.retired() + usize::from(self.spare.is_some())
    }
}

/// Takes the insertions in, in order.
impl<P: Into<IpPrefix>, V, F: Form<V>> Extend<(P, V)> for LiveTable<V, F> {
    fn extend<I: IntoIterator<Item = (P, V)>>(&mut self, routes: I) {
        match &mut self.pending {
            Pending::Changes(changes) => {
                changes
                    .extend(routes.into_iter().map(|(prefix, value)| Change::Insert(prefix.into(), value)));
            }
            Pending::Table(table) => table.extend(routes),
        }
    }
}

impl<V, F: Form<V>> fmt::Debug for LiveTable<V, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveTable")
            .field("routes", &self.published().len())
            .field("pending", &self.pending())
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// A caught panic.
type Panic = Box<dyn Any + Send>;

/// Clones changes. If that panics, the change at fault is removed: its value would panic again, and
/// hold up all others.
fn copies<V: Clone>(changes: &mut Vec<Change<V>>) -> Vec<Change<V>> {
    let mut copies = Vec::with_capacity(changes.len());
    let clone_all = || changes.iter().for_each(|change| copies.push(change.clone()));
    if let Err(panic) = catch_unwind(AssertUnwindSafe(clone_all)) {
        let at_fault = changes.remove(copies.len());
        drop((copies, at_fault));
        resume_unwind(panic);
    }
    copies
}

impl<V, F: Form<V>> Table<V, F> {
    /// Carries out changes in order, and compiles once.
    ///
    /// # Errors
    /// If dropping a value panicked that was replaced or removed. All changes are carried out then
    /// too.
    fn change(&mut self, changes: Vec<Change<V>>) -> Result<(), Panic> {
        let (mut ipv4, mut ipv6) = (self.ipv4.edit(), self.ipv6.edit());
        for change in changes {
            match change {
                Change::Insert(IpPrefix::V4(prefix), value) => ipv4.insert(prefix, value),
                Change::Insert(IpPrefix::V6(prefix), value) => ipv6.insert(prefix, value),
                Change::Remove(IpPrefix::V4(prefix)) => ipv4.remove(prefix),
                Change::Remove(IpPrefix::V6(prefix)) => ipv6.remove(prefix),
            }
        }
        // Each of these compiles, and drops the values last.
        let ipv4 = catch_unwind(AssertUnwindSafe(|| drop(ipv4)));
        let ipv6 = catch_unwind(AssertUnwindSafe(|| drop(ipv6)));
        ipv4.and(ipv6)
    }
}

/// One thread's way to the published table.
pub type TableReader<V, F = PerRoute> = ReaderOf<Table<V, F>>;
