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
//! A publication that readers hold up leaves its changes pending: nothing is lost.
//! [`try_publish`](LiveTable::try_publish) fails at once, for writers that may not wait.
//!
//! A table with [`Settings`](super::Settings) of its own may refuse changes, as
//! [`Table::try_apply`] does. Then all that is pending is dropped: readers see nothing of it, and
//! the next publication works as if it had never been taken in.
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
pub use crate::live::handover::Settings;
use crate::live::turns::{Panic, Turn, Turns};
use std::fmt;

/// The writer's end; see the [module page](self).
pub struct LiveTable<V: Clone, F: Form<V, Store: Clone> = PerRoute> {
    turns: Turns<Table<V, F>>,
}

impl<V: Clone, F: Form<V, Store: Clone>> LiveTable<V, F> {
    /// Publishes a first table.
    #[must_use]
    pub fn new(table: Table<V, F>, settings: Settings) -> Self {
        Self { turns: Turns::new(table, settings) }
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
    /// needed and [`Settings::most_retired`] tables. Then the changes stay pending. Of the kinds of
    /// [`Table::try_apply`], if the table refuses them. Then they are dropped.
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
        self.turns.publish()
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
    /// tables. If the table refuses the changes: as [`publish`](LiveTable::publish).
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
        self.turns.try_publish()
    }

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
        self.turns.collect()
    }

    /// Takes in: insert a route, or replace the value of its prefix. O(1) amortised.
    pub fn insert(&mut self, prefix: impl Into<IpPrefix>, value: V) {
        self.turns.take_in((prefix.into(), Some(value)));
    }

    /// Takes in: remove the route of exactly this prefix. O(1) amortised.
    pub fn remove(&mut self, prefix: impl Into<IpPrefix>) {
        self.turns.take_in((prefix.into(), None));
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
        self.turns.replace(table);
    }

    /// Takes in: remove all routes. As [`replace`](LiveTable::replace) with an empty table.
    pub fn clear(&mut self) {
        self.turns.clear();
    }

    /// Drops what was taken in and not published: the next publication shows what is published now,
    /// and what is taken in until then. O(pending).
    pub fn discard(&mut self) {
        self.turns.discard();
    }

    /// Returns the number of changes that were taken in and not published yet. A whole table is one
    /// change. O(1).
    #[must_use]
    pub fn pending(&self) -> usize {
        self.turns.pending()
    }

    /// Returns the changes that are pending, in order: insertions with their values, and removals
    /// with `None`. They are changes of what is published, or of the [whole
    /// table](LiveTable::pending_table) that is pending.
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
        self.turns.pending_changes().iter().map(|(prefix, value)| (*prefix, value.as_ref()))
    }

    /// Returns the table that was taken in by [`replace`](LiveTable::replace) or
    /// [`clear`](LiveTable::clear), without the changes that followed. `None` unless one is
    /// pending.
    #[must_use]
    pub fn pending_table(&self) -> Option<&Table<V, F>> {
        self.turns.pending_whole()
    }

    /// Returns a new reader, which rests. O(readers).
    #[must_use]
    pub fn reader(&self) -> TableReader<V, F> {
        self.turns.reader()
    }

    /// Returns the published table: without the changes that are pending.
    #[must_use]
    pub fn published(&self) -> &Table<V, F> {
        self.turns.published()
    }

    /// Returns the number of tables, besides the published one, that are kept: the other copy, and
    /// those that readers hold up.
    #[must_use]
    pub fn retired(&self) -> usize {
        self.turns.retired()
    }
}

/// Takes the insertions in, in order.
impl<P: Into<IpPrefix>, V: Clone, F: Form<V, Store: Clone>> Extend<(P, V)> for LiveTable<V, F> {
    fn extend<I: IntoIterator<Item = (P, V)>>(&mut self, routes: I) {
        self.turns.take_in_all(routes.into_iter().map(|(prefix, value)| (prefix.into(), Some(value))));
    }
}

impl<V: Clone, F: Form<V, Store: Clone>> fmt::Debug for LiveTable<V, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let routes = self.published().len();
        f.debug_struct("LiveTable").field("routes", &routes).field("turns", &self.turns).finish()
    }
}

impl<V: Clone, F: Form<V, Store: Clone>> Turn for Table<V, F> {
    type Change = (IpPrefix, Option<V>);

    fn copy(&self) -> Result<Self, Error> {
        Ok(self.clone())
    }

    fn emptied(&self) -> Self {
        self.emptied()
    }

    fn change(&mut self, changes: Vec<Self::Change>) -> Result<Result<(), Panic>, Error> {
        self.change(changes).map(|(_, dropped)| dropped)
    }
}

/// One thread's way to the published table.
pub type TableReader<V, F = PerRoute> = ReaderOf<Table<V, F>>;
