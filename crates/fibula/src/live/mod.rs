//! Live tables: one writer changes the table, any number of readers look up, and no reader ever waits.
//!
//! A [`Live`] owns a [`Rib`] and the [`Fib`]s compiled from it. Each thread that looks up has a [`Reader`], and takes
//! a *guard* from it for every batch: a reference to the table that is published at that moment. The writer makes the next
//! table where nobody reads, publishes it by one store, and takes the old one back when every reader has passed it.
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
//! As long as it is borrowed, the table does not move or go away. Each answer is that of the published [`Rib`] at some moment since the guard was taken;
//! of a table that is not changed in place all answers under one guard are those of one moment, that of the guard. Taking a guard
//! is one load of a word that only publications write, one store to a line that no other reader touches, and one load of the
//! pointer: no lock, no allocation, no loop, nothing that another thread could delay.
//!
//! In return, a reader takes guards again and again (one a batch), or [rests](Reader::rest) before it waits for anything. One that does
//! neither keeps the writer from reusing the copy it may be at: changes are late by [`Settings::patience`], then a copy is built beside,
//! and when several tables are held up [`Live::publish`] says so.
//!
//! # How a table follows
//! - An engine that can [share](crate::engine::Share) its memory is changed **in place**: what a change needs is built beside what is
//!   read, and each address goes from its old answer to its new one by the store of one word. What is replaced is used again when every
//!   reader has passed.
//! - Any other engine whose [`About::updates`](crate::engine::About::updates) is in place is kept **twice**. A publication carries out on
//!   the copy nobody reads what this copy has missed, and the new changes, and publishes it. Twice the memory, twice the work for a
//!   change, none of it where readers are.
//! - Any other is **built anew** beside, and the old table dropped when every reader has passed it.
//!
//! In every way no-ops never reach an engine, changes may be gathered ([`Settings`]), and a change that exceeds a limit of any engine
//! is taken back from the table: the published tables go on answering, and the error is told.

mod attached;
mod gatherer;
pub(crate) mod quiescent;
mod sync;
#[cfg(test)]
mod tests;

use crate::engine::View;
use crate::memory::Memory;
use crate::{Address, Applied, Change, Error, ErrorKind, Fib, Rib};
use attached::{Attached, Published};
pub use gatherer::Gatherer;
use quiescent::Subscriber;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

/// When gathered changes are published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// As soon as there are so many.
    pub most_changes: usize,
    /// As soon as the oldest has waited so long. By default not at all.
    pub longest_delay: Duration,
    /// How much longer they wait where readers are still at the copy that is to be changed, before a new one is built.
    pub patience: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { most_changes: 1024, longest_delay: Duration::ZERO, patience: Duration::from_secs(1) }
    }
}

/// What became of the changes so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Changes of single prefixes that were published.
    pub applied: u64,
    /// Changes that changed nothing.
    pub suppressed: u64,
    /// Changes that a later one in the same publication replaced or took back.
    pub coalesced: u64,
    /// Changes of single prefixes that exceeded a limit and were taken back.
    pub refused: u64,
    /// Publications: moments at which readers began to see something new.
    pub publications: u64,
    /// How many tables were built anew for them.
    pub rebuilt: u64,
}

/// A table that changes while readers look up: the writer's end.
///
/// Times are since any moment of the caller's choice; they must not run backwards.
#[derive(Debug)]
pub struct Live<A: Address> {
    gatherer: Gatherer<A>,
    attached: Vec<Attached<A>>,
}

impl<A: Address> Live<A> {
    /// Goes live with tables compiled from `rib`: by one engine or by several. An engine that is kept twice is built a
    /// second time.
    ///
    /// # Errors
    /// If a second copy cannot be built.
    pub fn new(
        rib: Rib<A>,
        fibs: impl IntoIterator<Item = Fib<A>>,
        settings: Settings,
    ) -> Result<Self, Error> {
        let attached = fibs.into_iter().map(|fib| Attached::new(fib, &rib)).collect::<Result<_, _>>()?;
        Ok(Self { gatherer: Gatherer::new(rib, settings), attached })
    }

    /// A new reader of the table of the `which`th engine, from 0 on.
    ///
    /// # Panics
    /// If there are not so many.
    #[must_use]
    pub fn reader(&self, which: usize) -> Reader<A> {
        Reader { subscriber: self.attached[which].published.subscribe() }
    }

    /// The published table of the `which`th engine, frozen: for as long as it is kept it answers as now, for jobs that take
    /// longer than a reader may hold a guard. A table that is changed in place is built again for it. Any other costs nothing by itself,
    /// and where two copies take turns the next change but one builds one in the place of the frozen, once.
    ///
    /// # Errors
    /// If it cannot be built.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn freeze(&self, which: usize) -> Result<Frozen<A>, Error> {
        self.attached[which].frozen(self.gatherer.rib()).map(Frozen)
    }

    /// Takes a change in, and publishes what is due; see [`Live::poll`].
    ///
    /// # Errors
    /// See [`Live::publish`].
    pub fn change(&mut self, change: Change<A>, now: Duration) -> Result<(), Error> {
        self.gatherer.take_in(change, now);
        self.poll(now)
    }

    /// Publishes the changes that were taken in, if they are due. Where readers are still at the copy that is to be
    /// changed, this leaves them pending for [`Settings::patience`]: call it again, with or without other changes.
    ///
    /// # Errors
    /// See [`Live::publish`].
    pub fn poll(&mut self, now: Duration) -> Result<(), Error> {
        self.attached.iter_mut().for_each(Attached::tidy);
        let is_held = self.attached.iter().any(Attached::is_waiting);
        if self.gatherer.is_due(now, is_held) { self.publish() } else { Ok(()) }
    }

    /// When the changes that were taken in are to be published; `None` if there are none.
    #[must_use]
    pub fn due(&self) -> Option<Duration> {
        self.gatherer.due()
    }

    /// How many changes are taken in and not published yet.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.gatherer.pending()
    }

    /// Publishes all changes that were taken in: when this returns, every guard taken from now on shows them. Gives readers that are
    /// at the copy to be changed a moment to pass, then builds a new one.
    ///
    /// # Errors
    /// If the table exceeds a limit of an engine: then all these changes are taken back, and everything is as it was before them.
    /// If readers that neither take guards nor rest hold up several tables: then the changes stay pending.
    pub fn publish(&mut self) -> Result<(), Error> {
        if self.gatherer.pending() == 0 {
            return Ok(());
        }
        if self.attached.iter_mut().any(Attached::is_held_up) {
            return Err(Error::new(
                ErrorKind::ReadersHeldUp,
                "a reader neither takes guards nor rests: too many tables wait for it",
            ));
        }
        let deltas = self.gatherer.apply();
        if deltas.is_empty() {
            return Ok(());
        }
        // Those first whose readers see nothing of it yet.
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
                        self.attached[prepared].cancel(self.gatherer.rib(), &deltas)?;
                    }
                    return Err(error);
                }
            }
        }
        self.attached.iter_mut().for_each(|attached| attached.publish(&deltas));
        self.gatherer.count_published(&deltas, rebuilt);
        Ok(())
    }

    /// Whether the `which`th engine's table is changed in place: then answers under one guard may be of several moments.
    ///
    /// # Panics
    /// If there are not so many.
    #[must_use]
    pub fn is_in_place(&self, which: usize) -> bool {
        self.attached[which].is_in_place()
    }

    /// The table as it is published: without the changes that are pending.
    #[must_use]
    pub fn rib(&self) -> &Rib<A> {
        self.gatherer.rib()
    }

    /// What became of the changes so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.gatherer.counts()
    }

    /// What the `which`th engine's tables occupy: the published one by part, and all its other copies.
    ///
    /// # Panics
    /// If there are not so many.
    #[must_use]
    pub fn memory(&self, which: usize) -> Memory {
        self.attached[which].memory()
    }
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

/// One thread's way to the published table.
///
/// A clone is another reader. A reader that is dropped holds nothing up; readers may outlive their [`Live`], and then see its last
/// table.
#[derive(Clone, Debug)]
pub struct Reader<A: Address> {
    subscriber: Subscriber<Published<A>>,
}

impl<A: Address> Reader<A> {
    /// The table that is published now, for one batch. See [the promises](self#what-a-guard-promises).
    #[inline]
    pub fn guard(&mut self) -> &dyn View<A> {
        &*self.subscriber.guard().view
    }

    /// Reads nothing until the next guard: before waiting for packets, a lock, or sleep. One store; the guard after it also costs a
    /// fence.
    #[inline]
    pub fn rest(&mut self) {
        self.subscriber.rest();
    }
}
