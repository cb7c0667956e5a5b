//! Live tables: one writer changes the table, any number of readers look up, and no reader ever
//! waits.
//!
//! A [`Live`] owns a [`Rib`] and the [`Fib`]s compiled from it. Each thread that looks up has a
//! [`Reader`], and takes a *guard* from it for every batch: a reference to the table that is
//! published at that moment. The writer prepares the next table where nobody reads and publishes it
//! by one store. It reclaims the old one when all readers have passed a quiescent state.
//!
//! ```
//! use fibula::live::{Live, Settings};
//! use fibula::{Change, Fib, NextHop, Rib, Route};
//! use std::time::Duration;
//!
//! let rib: Rib<u32> = Rib::new();
//! let fib = Fib::build("best", &rib)?;
//! let mut live = Live::new(rib, [fib], Settings::default())?;
//! let mut reader = live.reader(0); // one a thread
//!
//! let route = Route { prefix: "192.0.2.0/24".parse()?, next_hop: NextHop(1) };
//! live.change(Change::Announce(route), Duration::ZERO)?;
//! assert_eq!(reader.guard().lookup(0xC000_0201_u32), Some(NextHop(1)));
//! # Ok::<(), fibula::Error>(())
//! ```
//!
//! # What a guard promises
//! While a guard is borrowed, the table neither moves nor goes away. Each answer is that of the
//! published [`Rib`] at some moment since the guard was taken. If the table is not changed in
//! place, all answers under one guard are those of the moment of the guard.
//!
//! Taking a guard is one load of a word that only publications write, one store to a cache line
//! that no other reader touches, and one load of the pointer. There is no lock, no allocation, no
//! loop, and nothing that another thread could delay.
//!
//! In return, a reader takes guards again and again (one a batch), or [rests](Reader::rest) before
//! it waits for anything. A reader that does neither keeps the writer from reusing the copy it may
//! hold. Changes are then delayed by [`Settings::patience`], after which another copy is built.
//! When several tables are held up, [`Live::publish`] waits for [`Settings::stuck_after`] and then
//! returns an error. A reader that only waits for a processor is not called stuck: the writer
//! sleeps meanwhile, and counts only the time that it asked to sleep.
//!
//! # How a table follows
//! - An engine that can [share](crate::engine::Share) its memory is changed **in place**:
//!   what a change needs is built beside what is read. Each address goes from its old answer to its
//!   new one by the store of one word. What is replaced is reused after a grace period. Of several
//!   engines, only the first that can share is changed in place.
//! - Any other engine whose [`About::updates`](crate::engine::About::updates) is in place is
//!   **double-buffered**. A publication applies to the copy that nobody reads the changes it has
//!   missed and the new ones, and publishes it. This takes twice the memory and twice the work for
//!   a change, none of it where readers are.
//! - Any other is **rebuilt** beside the old table, which is dropped after a grace period.
//!
//! In each of these cases, changes without effect never reach an engine, and changes may be
//! gathered ([`Settings`]).
//!
//! # When an engine refuses
//! A publication has two steps. The first may fail, and nothing that it writes is visible: each
//! table is rebuilt, or a copy is changed that nobody reads. The table that is changed in place
//! comes last, and is changed only where all others have succeeded. The second step publishes the
//! other tables, and cannot fail. So if any engine refuses the changes, no reader of any engine has
//! seen them. They are undone in the [`Rib`], the error is returned, and the next publication works
//! as if they had never been taken.
//!
//! [`Live::replace`] builds all tables beside the old ones, and publishes each as a whole.

mod attached;
mod gatherer;
#[doc(hidden)]
pub mod handover;
mod quiescent;
mod sync;
#[cfg(test)]
mod tests;
pub mod turns;
mod waiting;

use crate::View;
use crate::memory::Memory;
use crate::{Address, Applied, Change, Error, ErrorKind, Fib, Rib};
pub(crate) use attached::merged;
use attached::{Attached, Published};
pub use gatherer::Gatherer;
pub use handover::ReaderOf;
use quiescent::Subscriber;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

/// When gathered changes are published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// As soon as there are this many.
    pub most_changes: usize,
    /// As soon as the oldest has waited this long; zero by default.
    pub longest_delay: Duration,
    /// How much longer they wait while readers still hold the copy that is to be changed, before a
    /// new one is built.
    pub patience: Duration,
    /// How long [`Live::publish`] sleeps, once too many tables wait for readers, before it calls a
    /// reader stuck; 10 s by default. Only sleep that was asked for counts. On a busy machine,
    /// where sleeps last longer, so does the wait. A reader that was called stuck and has not moved
    /// since is not waited for again.
    pub stuck_after: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            most_changes: 1024,
            longest_delay: Duration::ZERO,
            patience: Duration::from_secs(1),
            stuck_after: Duration::from_secs(10),
        }
    }
}

/// The results of the changes so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// The number of changes of single prefixes that were published.
    pub applied: u64,
    /// The number of changes without effect.
    pub suppressed: u64,
    /// The number of changes that a later one in the same publication replaced or undid.
    pub coalesced: u64,
    /// The number of changes of single prefixes that exceeded a limit and were undone.
    pub refused: u64,
    /// The number of publications: moments at which readers began to see something new.
    pub publications: u64,
    /// The number of tables that were rebuilt for them.
    pub rebuilt: u64,
}

/// A table that changes while readers look up: the writer's end.
///
/// Times count from any moment of the caller's choice, and must not run backwards.
#[derive(Debug)]
pub struct Live<A: Address> {
    gatherer: Gatherer<A>,
    attached: Vec<Attached<A>>,
}

impl<A: Address> Live<A> {
    /// Goes live with tables that one or several engines compiled from `rib`. A double-buffered
    /// engine is built a second time. Only the first engine that can share its memory is
    /// [changed in place](Live::is_in_place).
    ///
    /// If [`BEST`](crate::engine::BEST) chose an engine that is rebuilt for each change, a large
    /// table gets the best engine that follows in place ([`Fib::apply`]).
    ///
    /// # Errors
    /// If a second copy cannot be built.
    pub fn new(
        rib: Rib<A>,
        fibs: impl IntoIterator<Item = Fib<A>>,
        settings: Settings,
    ) -> Result<Self, Error> {
        let mut attached: Vec<Attached<A>> = Vec::new();
        for fib in fibs {
            let may_share = !attached.iter().any(Attached::is_in_place);
            attached.push(Attached::new(fib, &rib, may_share)?);
        }
        // What readers of two tables see at once could not be taken back if one refuses a change.
        let in_place = attached.iter().position(Attached::is_in_place).unwrap_or(0);
        let others = attached.iter_mut().enumerate().filter(|&(which, _)| which != in_place);
        others.for_each(|(_, attached)| attached.never_share());
        Ok(Self { gatherer: Gatherer::new(rib, settings), attached })
    }

    /// Returns a new reader of the table of engine `which`, counted from 0.
    ///
    /// # Panics
    /// If there is no such engine.
    #[must_use]
    pub fn reader(&self, which: usize) -> Reader<A> {
        Reader { subscriber: self.attached[which].published.subscribe() }
    }

    /// Returns the published table of engine `which`, frozen: as long as it is kept it answers as
    /// now. It is for jobs that take longer than a reader may hold a guard.
    ///
    /// A table that is changed in place is built again for it. Any other costs nothing by itself;
    /// if the table is double-buffered, the next change but one replaces the frozen table with a
    /// fresh build, once.
    ///
    /// # Errors
    /// If it cannot be built.
    ///
    /// # Panics
    /// If there is no such engine.
    pub fn freeze(&self, which: usize) -> Result<Frozen<A>, Error> {
        self.attached[which].frozen(self.gatherer.rib()).map(Frozen)
    }

    /// Takes a change, and publishes what is due; see [`Live::poll`].
    ///
    /// # Errors
    /// See [`Live::publish`].
    pub fn change(&mut self, change: Change<A>, now: Duration) -> Result<(), Error> {
        self.gatherer.take_in(change, now);
        self.poll(now)
    }

    /// Publishes the changes that were taken, if they are due. While readers hold the copy that is
    /// to be changed, this leaves them pending for [`Settings::patience`]: call it again, with or
    /// without other changes.
    ///
    /// # Errors
    /// See [`Live::publish`].
    pub fn poll(&mut self, now: Duration) -> Result<(), Error> {
        self.attached.iter_mut().for_each(Attached::tidy);
        let is_held = self.attached.iter().any(Attached::is_waiting);
        if self.gatherer.is_due(now, is_held) { self.publish() } else { Ok(()) }
    }

    /// Returns the time at which the pending changes are to be published, or `None` if there are
    /// none.
    #[must_use]
    pub fn due(&self) -> Option<Duration> {
        self.gatherer.due()
    }

    /// Returns the number of changes taken and not yet published.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.gatherer.pending()
    }

    /// Returns the changes taken and not yet published, in order.
    #[must_use]
    pub fn pending_changes(&self) -> &[Change<A>] {
        self.gatherer.pending_changes()
    }

    /// Drops the changes taken and not yet published.
    pub fn discard(&mut self) {
        self.gatherer.discard();
    }

    /// Publishes all pending changes: when this returns, every guard taken from now on shows them.
    /// Gives readers that hold the copy to be changed a moment to pass, then builds a new one.
    /// Where too many tables wait for readers, sleeps for up to [`Settings::stuck_after`].
    ///
    /// # Errors
    /// - The table exceeds a limit of an engine. Then all these changes are undone, and everything
    ///   is as before them.
    /// - Readers that neither take guards nor rest hold up several tables. Then the changes stay
    ///   pending.
    pub fn publish(&mut self) -> Result<(), Error> {
        if self.gatherer.pending() == 0 {
            return Ok(());
        }
        self.make_room()?;
        self.publish_pending()
    }

    /// As [`publish`](Live::publish), for a writer that may not wait: it neither waits for readers
    /// nor builds a copy because of them. Call it again later: the changes stay pending.
    ///
    /// # Errors
    /// As [`publish`](Live::publish), and of kind [`ErrorKind::ReadersHeldUp`] as soon as readers
    /// hold the copy that is to be changed.
    ///
    /// ```
    /// use fibula::live::{Live, Settings};
    /// use fibula::{Change, Fib, ErrorKind, NextHop, Rib, Route};
    /// use std::time::Duration;
    /// let rib: Rib<u32> = Rib::new();
    /// let fib = Fib::build("radix", &rib)?; // double-buffered
    /// let mut live = Live::new(rib, [fib], Settings::default())?;
    /// let mut reader = live.reader(0);
    /// reader.guard();
    /// for next_hop in [1, 2] {
    ///     let route = Route { prefix: "192.0.2.0/24".parse()?, next_hop: NextHop(next_hop) };
    ///     live.change(Change::Announce(route), Duration::ZERO)?;
    /// }
    /// assert_eq!(live.pending_changes().len(), 1);
    /// assert_eq!(live.try_publish().unwrap_err().kind(), ErrorKind::ReadersHeldUp);
    /// reader.rest();
    /// live.try_publish()?;
    /// assert_eq!(reader.guard().lookup(0xC000_0201_u32), Some(NextHop(2)));
    /// # Ok::<(), fibula::Error>(())
    /// ```
    pub fn try_publish(&mut self) -> Result<(), Error> {
        if self.gatherer.pending() == 0 {
            return Ok(());
        }
        self.attached.iter_mut().for_each(Attached::tidy);
        if self.attached.iter().any(Attached::is_waiting) {
            return Err(held_up());
        }
        self.publish_pending()
    }

    /// Publishes another table as a whole and at once: each guard shows the old or the new one,
    /// also where changes are made in place. Drops the pending changes. Costs a build for each
    /// engine, and room for the old and the new table.
    ///
    /// # Errors
    /// - `rib` exceeds a limit of an engine. Then everything is as before.
    /// - Readers hold up several tables, as in [`publish`](Live::publish). Then everything is as
    ///   before.
    pub fn replace(&mut self, rib: Rib<A>) -> Result<(), Error> {
        self.make_room()?;
        let built: Vec<Fib<A>> =
            self.attached.iter().map(|attached| attached.compile(&rib)).collect::<Result<_, _>>()?;
        let deltas: Vec<_> = self.gatherer.rib().diff(&rib).collect();
        let rebuilt = built.len() as u64;
        for (attached, built) in self.attached.iter_mut().zip(built) {
            attached.publish_built(built, &deltas);
        }
        self.gatherer.replace(rib);
        self.gatherer.count_published(&deltas, rebuilt);
        Ok(())
    }

    /// Waits until another table may be published.
    fn make_room(&mut self) -> Result<(), Error> {
        let stuck_after = self.gatherer.settings().stuck_after;
        let is_held_up = self.attached.iter_mut().any(|attached| attached.is_held_up(stuck_after));
        if is_held_up { Err(held_up()) } else { Ok(()) }
    }

    /// Publishes all pending changes, where no reader is in the way.
    fn publish_pending(&mut self) -> Result<(), Error> {
        let deltas = self.gatherer.apply();
        if deltas.is_empty() {
            return Ok(());
        }
        // The table that is changed in place comes last: once its readers see the changes, no other
        // table can refuse them.
        let mut order: Vec<usize> = (0..self.attached.len()).collect();
        order.sort_by_key(|&which| self.attached[which].is_in_place());
        let mut rebuilt = 0;
        for (at, &which) in order.iter().enumerate() {
            match self.attached[which].prepare(self.gatherer.rib(), &deltas) {
                Ok(Applied::InPlace(_)) => {}
                Ok(Applied::Rebuilt) => rebuilt += 1,
                Err(error) => {
                    self.gatherer.refuse(&deltas);
                    for &prepared in &order[..at] {
                        self.attached[prepared].cancel(self.gatherer.rib(), &deltas);
                    }
                    return Err(error);
                }
            }
        }
        self.attached.iter_mut().for_each(|attached| attached.publish(&deltas));
        self.gatherer.count_published(&deltas, rebuilt);
        Ok(())
    }

    /// Returns whether the table of engine `which` is changed in place; then answers under one
    /// guard may be of several moments.
    ///
    /// # Panics
    /// If there is no such engine.
    #[must_use]
    pub fn is_in_place(&self, which: usize) -> bool {
        self.attached[which].is_in_place()
    }

    /// Returns the table as it is published, without the pending changes.
    #[must_use]
    pub fn rib(&self) -> &Rib<A> {
        self.gatherer.rib()
    }

    /// Returns the results of the changes so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.gatherer.counts()
    }

    /// Returns the memory of engine `which`: the published table by part, and all its other copies.
    ///
    /// # Panics
    /// If there is no such engine.
    #[must_use]
    pub fn memory(&self, which: usize) -> Memory {
        self.attached[which].memory()
    }
}

fn held_up() -> Error {
    Error::new(
        ErrorKind::ReadersHeldUp,
        "a reader neither takes guards nor rests: too many tables wait for it",
    )
}

/// A published table that answers as it did when it was frozen; see [`Live::freeze`].
#[derive(Clone, Debug)]
pub struct Frozen<A: Address>(Arc<Published<A>>);

impl<A: Address> Deref for Frozen<A> {
    type Target = dyn View<A>;

    fn deref(&self) -> &(dyn View<A> + 'static) {
        &*self.0.view
    }
}

/// One thread's access to the published table.
///
/// A clone is another reader. A dropped reader holds nothing up. Readers may outlive their
/// [`Live`], and then see its last table.
#[derive(Clone, Debug)]
pub struct Reader<A: Address> {
    subscriber: Subscriber<Published<A>>,
}

impl<A: Address> Reader<A> {
    /// Returns the table that is published now, for one batch. See [the
    /// promises](self#what-a-guard-promises).
    #[inline]
    pub fn guard(&mut self) -> &dyn View<A> {
        &*self.subscriber.guard().view
    }

    /// Holds nothing until the next guard. Call it before waiting for packets, for a lock, or
    /// sleeping. It costs one store; the guard after it also costs a fence.
    #[inline]
    pub fn rest(&mut self) {
        self.subscriber.rest();
    }
}
