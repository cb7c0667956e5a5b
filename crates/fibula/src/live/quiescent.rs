//! The reclamation of tables between one writer and any number of readers: quiescent-state-based
//! reclamation.
//!
//! The writer publishes a table by one store, and counts its publications: the *epoch*. Each reader
//! has a slot on cache lines of its own. Before it loads the pointer to the published table, it
//! stores the epoch it has seen in its slot. That declares a quiescent state: the reader holds
//! nothing that it loaded before. What was published up to epoch *e* and then replaced is unused
//! once every slot shows more than *e*, or that its reader rests.
//!
//! ```text
//! reader                            writer
//!   seen = epoch     (acquire)        pointer = new       (release)
//!   slot = seen      (release)        epoch   = epoch + 1 (release)
//!   table = pointer  (acquire)        fence; all slots > epoch before (acquire)?
//!                                     reuse the old table
//! ```
//! A reader that has seen the new epoch finds the new pointer or a later one. A reader that has not
//! shows an old epoch, and the writer does not touch the old table. Only a reader that comes back
//! from rest needs a fence: the writer may have looked at its slot just before.
#![allow(unsafe_code, reason = "readers follow a pointer that the writer keeps valid")]

use super::sync::{AtomicPtr, AtomicU64, Mutex, Ordering, fence};
use std::collections::VecDeque;
use std::sync::Arc;

/// The value of the slot of a resting reader: later than every epoch.
const RESTING: u64 = u64::MAX;

/// The epoch that a reader has seen, on two cache lines of its own, because processors fetch lines
/// in pairs.
#[repr(align(128))]
#[derive(Debug)]
struct Slot(AtomicU64);

/// The state that writer and readers share.
#[derive(Debug)]
struct Domain<T> {
    pointer: AtomicPtr<T>,
    epoch: AtomicU64,
    /// Locked when a reader is created or dropped, and when the writer checks for a grace period;
    /// never by a guard.
    slots: Mutex<Vec<Arc<Slot>>>,
    /// The tables that the writer leaves for readers that outlive it.
    left: Mutex<Vec<Arc<T>>>,
}

/// The writer's end: publishes tables, and reclaims them after a grace period.
#[derive(Debug)]
pub(crate) struct Publisher<T> {
    domain: Arc<Domain<T>>,
    /// The published table. Neither it nor a retired one is written or dropped: `Arc` gives only
    /// `&T` as long as this exists.
    current: Arc<T>,
    /// Tables that were published, oldest first, each with the last epoch in which a reader may
    /// have loaded it.
    retired: VecDeque<(u64, Arc<T>)>,
    epoch: u64,
}

/// A reader's end.
#[derive(Debug)]
pub(crate) struct Subscriber<T> {
    domain: Arc<Domain<T>>,
    slot: Arc<Slot>,
    resting: bool,
}

impl<T> Publisher<T> {
    /// Publishes a first table.
    pub(crate) fn new(first: Arc<T>) -> Self {
        let domain = Domain {
            pointer: AtomicPtr::new(Arc::as_ptr(&first).cast_mut()),
            epoch: AtomicU64::new(0),
            slots: Mutex::new(Vec::new()),
            left: Mutex::new(Vec::new()),
        };
        Self { domain: Arc::new(domain), current: first, retired: VecDeque::new(), epoch: 0 }
    }

    /// Returns a new reader, which rests.
    pub(crate) fn subscribe(&self) -> Subscriber<T> {
        Subscriber::of(Arc::clone(&self.domain))
    }

    /// Returns the published table.
    pub(crate) fn current(&self) -> &Arc<T> {
        &self.current
    }

    /// Returns the tables that were published before and not reclaimed yet, oldest first.
    pub(crate) fn retired(&self) -> impl Iterator<Item = &T> {
        self.retired.iter().map(|(_, table)| &**table)
    }

    /// Returns the last epoch in which a reader may have loaded the oldest of the
    /// [retired](Self::retired) tables.
    pub(crate) fn oldest_retired(&self) -> Option<u64> {
        self.retired.front().map(|&(epoch, _)| epoch)
    }

    /// Publishes a table and retires the previous one. Readers see it from the next guard they
    /// take.
    pub(crate) fn publish(&mut self, next: Arc<T>) {
        self.domain.pointer.store(Arc::as_ptr(&next).cast_mut(), Ordering::Release);
        let before = std::mem::replace(&mut self.current, next);
        let last = self.advance();
        self.retired.push_back((last, before));
    }

    /// Counts what was written into the published table itself, and returns the epoch that ends
    /// with it.
    pub(crate) fn advance(&mut self) -> u64 {
        self.epoch += 1;
        self.domain.epoch.store(self.epoch, Ordering::Release);
        self.epoch - 1
    }

    /// Reclaims the previously published table, if all readers have passed it, and drops those
    /// before.
    pub(crate) fn take_back(&mut self) -> Option<Arc<T>> {
        self.drop_passed(1);
        let passed = self.retired.len() == 1 && self.has_passed(self.retired[0].0);
        if passed { self.retired.pop_front().map(|(_, table)| table) } else { None }
    }

    /// Returns whether [`take_back`](Self::take_back) would return a table.
    pub(crate) fn is_passed(&self) -> bool {
        self.retired.back().is_some_and(|&(epoch, _)| self.has_passed(epoch))
    }

    /// Drops the retired tables that all readers have passed, except the last `kept` ones.
    pub(crate) fn drop_passed(&mut self, kept: usize) {
        while self.retired.len() > kept && self.has_passed(self.retired[0].0) {
            self.retired.pop_front();
        }
    }

    /// Returns whether no reader can still hold what was published up to `epoch`.
    pub(crate) fn has_passed(&self, epoch: u64) -> bool {
        // Pairs with the fence of a reader that comes back from rest: either its slot is seen here,
        // or it sees what was published before.
        fence(Ordering::SeqCst);
        let slots = self.domain.slots.lock().expect("nobody panics with the lock");
        // Acquire: what those readers have read comes before any write after this returns true.
        slots.iter().all(|slot| slot.0.load(Ordering::Acquire) > epoch)
    }
}

impl<T> Drop for Publisher<T> {
    /// Leaves the tables to the readers that may hold them, the last of which drops them.
    fn drop(&mut self) {
        self.drop_passed(0);
        let tables = self.retired.drain(..).map(|(_, table)| table);
        let mut left = self.domain.left.lock().expect("nobody panics with the lock");
        left.extend(tables.chain([Arc::clone(&self.current)]));
    }
}

impl<T> Subscriber<T> {
    fn of(domain: Arc<Domain<T>>) -> Self {
        let slot = Arc::new(Slot(AtomicU64::new(RESTING)));
        domain.slots.lock().expect("nobody panics with the lock").push(Arc::clone(&slot));
        Self { domain, slot, resting: true }
    }

    /// Returns the table that is published now, which does not change or go away while it is
    /// borrowed.
    #[inline]
    pub(crate) fn guard(&mut self) -> &T {
        let seen = self.domain.epoch.load(Ordering::Acquire);
        // Release: what was read under the last guard comes before this.
        self.slot.0.store(seen, Ordering::Release);
        if self.resting {
            self.resting = false;
            fence(Ordering::SeqCst); // see `has_passed`
        }
        let table = self.domain.pointer.load(Ordering::Acquire);
        // The publisher keeps the `Arc` of this pointer, as `current` or as retired, until every
        // slot shows a later epoch than those in which it was published; if dropped itself, it
        // leaves the `Arc` to the domain. This reader's slot shows an epoch no later than the
        // table's last one, or the load above had found a later table. It keeps that value until
        // `guard` or `rest` is called again or the subscriber is dropped, which the borrow of
        // `self` forbids.
        // SAFETY: the pointer is that of an `Arc` which is kept while `self` is borrowed.
        unsafe { &*table }
    }

    /// Holds nothing from now on, until the next guard.
    #[inline]
    pub(crate) fn rest(&mut self) {
        self.resting = true;
        self.slot.0.store(RESTING, Ordering::Release);
    }
}

impl<T> Clone for Subscriber<T> {
    /// Returns another reader, which rests.
    fn clone(&self) -> Self {
        Self::of(Arc::clone(&self.domain))
    }
}

impl<T> Drop for Subscriber<T> {
    fn drop(&mut self) {
        self.rest();
        let mut slots = self.domain.slots.lock().expect("nobody panics with the lock");
        slots.retain(|slot| !Arc::ptr_eq(slot, &self.slot));
    }
}
