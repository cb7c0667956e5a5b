//! Tables that change while other threads look up: one writer, any number of readers, and no reader
//! ever waits.
//!
//! A [`LiveTable`] keeps two copies of a [`Table`] in turn. Readers look up in the published one.
//! The writer gathers changes; [`publish`](LiveTable::publish) carries them out on the other copy,
//! and publishes that by one store. When all readers have passed a quiescent state, the copy that
//! was published before comes back, and the next publication first repeats on it what it has
//! missed.
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
//! # What a guard promises
//! All answers under one guard are those of one publication. Taking a guard is two loads and one
//! store: no lock, no allocation, no loop.
//!
//! In return, a reader takes a guard for each batch, and [rests](TableReader::rest) before it waits
//! for anything else. A reader that does neither keeps the writer from reusing the copy that it may
//! be reading. [`Settings`] says how long the writer tries, and whether it then makes another copy.
//! A publication that fails leaves its changes pending: nothing is lost.
//!
//! # Costs
//! Twice the memory and twice the work of each change, none of it on the readers' threads. The
//! first publication copies the table. A publication costs what [`Extend`] costs for its changes
//! and for those of the publication before: publish many changes at once where they come fast.
//!
//! [`live::Live`](crate::live::Live) is the same for those who keep their own [`Rib`](crate::Rib)
//! and engines: it changes one copy in place where the engine can.

use super::{IpPrefix, Table};
use crate::live::quiescent::{Publisher, Subscriber};
use crate::live::waiting::Stuck;
use crate::{Error, ErrorKind};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What a publication does when readers may still be reading the copy that it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How often it looks again, and yields the processor before each time. By default 1000 times.
    pub attempts: u32,
    /// How many tables, besides the published one, may wait for readers. Below that it copies the
    /// published table, in O(n); from there on it fails. By default 4. With 1 it never copies for
    /// this reason.
    pub most_retired: usize,
    /// How long it sleeps before it fails; as
    /// [`live::Settings::stuck_after`](crate::live::Settings::stuck_after). By default 10 s.
    pub stuck_after: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { attempts: 1000, most_retired: 4, stuck_after: Duration::from_secs(10) }
    }
}

/// A change that was taken in.
#[derive(Clone, Debug)]
enum Change<V> {
    Insert(IpPrefix, V),
    Remove(IpPrefix),
}

/// The writer's end; see the [module page](self).
pub struct LiveTable<V> {
    published: Publisher<Table<V>>,
    /// What the table that was published last before this one has missed.
    missed: Vec<Change<V>>,
    pending: Vec<Change<V>>,
    settings: Settings,
    stuck: Stuck,
}

impl<V: Clone> LiveTable<V> {
    /// Publishes a first table.
    #[must_use]
    pub fn new(table: Table<V>, settings: Settings) -> Self {
        let published = Publisher::new(Arc::new(table));
        Self { published, missed: Vec::new(), pending: Vec::new(), settings, stuck: Stuck::default() }
    }

    /// Takes in: insert a route, or replace the value of its prefix. O(1) amortised.
    pub fn insert(&mut self, prefix: impl Into<IpPrefix>, value: V) {
        self.pending.push(Change::Insert(prefix.into(), value));
    }

    /// Takes in: remove the route of exactly this prefix. O(1) amortised.
    pub fn remove(&mut self, prefix: impl Into<IpPrefix>) {
        self.pending.push(Change::Remove(prefix.into()));
    }

    /// Publishes all changes that were taken in, in order. When this returns `Ok`, every guard
    /// taken from now on shows them.
    ///
    /// If cloning a value panics, the changes stay pending and readers see what they have seen.
    ///
    /// # Errors
    /// Of kind [`ErrorKind::ReadersHeldUp`], if after [`Settings::attempts`] and
    /// [`Settings::stuck_after`] readers still hold up the copy that is needed and
    /// [`Settings::most_retired`] tables. Then the changes stay pending.
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
        if self.pending.is_empty() {
            return Ok(());
        }
        let spare = self.take_spare()?;
        // Whatever panics from here on, `missed` stays as long as the copy that it belongs to: a
        // spare copy that is lost is made again from the published one.
        let pending = self.pending.clone();
        let mut next = if let Some(mut spare) = spare {
            spare.change(std::mem::take(&mut self.missed));
            spare
        } else {
            Table::clone(self.published.current())
        };
        next.change(pending);
        self.published.publish(Arc::new(next));
        self.missed = std::mem::take(&mut self.pending);
        Ok(())
    }

    /// Takes back the copy that was published before, if all readers have passed it. `None` if
    /// another is to be made.
    fn take_spare(&mut self) -> Result<Option<Table<V>>, Error> {
        let mut attempts = 0;
        loop {
            if let Some(table) = self.published.take_back() {
                self.stuck.forget();
                return Ok(Arc::into_inner(table));
            }
            let retired = self.published.retired().count();
            if retired == 0 || attempts == self.settings.attempts && retired < self.settings.most_retired {
                return Ok(None);
            }
            if attempts == self.settings.attempts {
                break;
            }
            attempts += 1;
            std::thread::yield_now();
        }
        let oldest = self.published.oldest_retired();
        let mut waiting = self.stuck.patience(oldest, self.settings.stuck_after);
        let (published, most) = (&mut self.published, self.settings.most_retired);
        let mut spare = None;
        waiting.until(|| {
            spare = published.take_back();
            spare.is_some() || published.retired().count() < most
        });
        let retired = self.published.retired().count();
        if spare.is_none() && retired >= self.settings.most_retired {
            self.stuck.remember(self.published.oldest_retired());
            return Err(held_up(retired));
        }
        self.stuck.forget();
        Ok(spare.and_then(Arc::into_inner))
    }
}

impl<V> LiveTable<V> {
    /// Returns a new reader, which rests. O(readers).
    #[must_use]
    pub fn reader(&self) -> TableReader<V> {
        TableReader { subscriber: self.published.subscribe() }
    }

    /// Returns the published table: without the changes that are pending.
    #[must_use]
    pub fn published(&self) -> &Table<V> {
        self.published.current()
    }

    /// Returns the number of changes that were taken in and not published yet.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Returns the number of tables, besides the published one, that are kept: the other copy, and
    /// those that readers hold up.
    #[must_use]
    pub fn retired(&self) -> usize {
        self.published.retired().count()
    }
}

fn held_up(tables: usize) -> Error {
    let text = format!("a reader neither takes guards nor rests: {tables} tables wait for it");
    Error::new(ErrorKind::ReadersHeldUp, text)
}

/// Takes the insertions in, in order.
impl<P: Into<IpPrefix>, V> Extend<(P, V)> for LiveTable<V> {
    fn extend<I: IntoIterator<Item = (P, V)>>(&mut self, routes: I) {
        self.pending.extend(routes.into_iter().map(|(prefix, value)| Change::Insert(prefix.into(), value)));
    }
}

impl<V> fmt::Debug for LiveTable<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveTable")
            .field("routes", &self.published().len())
            .field("pending", &self.pending())
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl<V> Table<V> {
    /// Carries out changes in order, and compiles once.
    fn change(&mut self, changes: Vec<Change<V>>) {
        let (mut ipv4, mut ipv6) = (self.ipv4.edit(), self.ipv6.edit());
        for change in changes {
            match change {
                Change::Insert(IpPrefix::V4(prefix), value) => ipv4.insert(prefix, value),
                Change::Insert(IpPrefix::V6(prefix), value) => ipv6.insert(prefix, value),
                Change::Remove(IpPrefix::V4(prefix)) => ipv4.remove(prefix),
                Change::Remove(IpPrefix::V6(prefix)) => ipv6.remove(prefix),
            }
        }
    }
}

/// One thread's way to the published table.
///
/// A clone is another reader, which rests. A reader that is dropped holds nothing up. Readers may
/// outlive their [`LiveTable`], and then see its last table.
pub struct TableReader<V> {
    subscriber: Subscriber<Table<V>>,
}

impl<V> TableReader<V> {
    /// Returns the table that is published now. It stays as it is for as long as it is borrowed.
    /// Never waits.
    #[inline]
    pub fn guard(&mut self) -> &Table<V> {
        self.subscriber.guard()
    }

    /// Reads nothing until the next guard: to be called before waiting for packets, a lock, or
    /// sleep. One store; the guard after it costs a fence.
    #[inline]
    pub fn rest(&mut self) {
        self.subscriber.rest();
    }
}

impl<V> Clone for TableReader<V> {
    fn clone(&self) -> Self {
        Self { subscriber: self.subscriber.clone() }
    }
}

impl<V> fmt::Debug for TableReader<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableReader").finish_non_exhaustive()
    }
}
