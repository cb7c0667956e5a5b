//! The hand-over of tables between one writer and any number of readers: quiescent-state-based reclamation.
//!
//! The writer publishes a table by one store, and counts what it has published: the *epoch*. Each reader has a slot on lines of
//! its own, in which it notes, before it takes up the table that is now published, the epoch it has seen. That says: whatever I read
//! before, I have done with. What was published up to epoch *e* and then replaced is read by nobody once every slot shows
//! more than *e*, or that its reader rests.
//!
//! ```text
//! reader                                     writer
//!   seen = epoch        (acquire)              pointer = new       (release)
//!   slot = seen         (release)              epoch   = epoch + 1 (release)
//!   table = pointer     (acquire)              fence; all slots > epoch before (acquire)?  reuse the old table
//! ```
//! A reader that has seen the new epoch finds the new pointer or a later one. One that has not shows an old epoch, and the writer leaves
//! the old table alone. Only a reader that comes back from rest needs a fence: the writer may have looked at its slot just before.
#![allow(unsafe_code, reason = "readers follow a pointer that the writer keeps valid")]

use super::sync::{AtomicPtr, AtomicU64, Mutex, Ordering, fence};
use std::collections::VecDeque;
use std::sync::Arc;

/// What the slot of a reader shows that reads nothing: later than every epoch.
const RESTING: u64 = u64::MAX;

/// The epoch that a reader has seen, on a pair of lines of its own: processors fetch lines in pairs.
#[repr(align(128))]
#[derive(Debug)]
struct Slot(AtomicU64);

/// What writer and readers share.
#[derive(Debug)]
struct Domain<T> {
    pointer: AtomicPtr<T>,
    epoch: AtomicU64,
    /// Locked when a reader comes or goes, and by the writer when it asks who has passed; never on the way to a table.
    slots: Mutex<Vec<Arc<Slot>>>,
    /// What the writer leaves behind for readers that outlive it.
    left: Mutex<Vec<Arc<T>>>,
}

/// The writer's end: publishes tables, and gets back those that every reader has passed.
#[derive(Debug)]
pub(crate) struct Publisher<T> {
    domain: Arc<Domain<T>>,
    /// The published table. Neither it nor a retired one is written or dropped: `Arc` gives out `&T` as long as this is here.
    current: Arc<T>,
    /// Tables that were published, oldest first, each with the last epoch in which a reader may have taken it up.
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

    /// A new reader, which rests.
    pub(crate) fn subscribe(&self) -> Subscriber<T> {
        Subscriber::of(Arc::clone(&self.domain))
    }

    /// The published table.
    pub(crate) fn current(&self) -> &Arc<T> {
        &self.current
    }

    /// The tables that were published before and have not been taken back, oldest first.
    pub(crate) fn retired(&self) -> impl Iterator<Item = &T> {
        self.retired.iter().map(|(_, table)| &**table)
    }

    /// Publishes a table; the one before is retired. Readers see it from the next guard they take.
    pub(crate) fn publish(&mut self, next: Arc<T>) {
        self.domain.pointer.store(Arc::as_ptr(&next).cast_mut(), Ordering::Release);
        let before = std::mem::replace(&mut self.current, next);
        let last = self.advance();
        self.retired.push_back((last, before));
    }

    /// Counts what has been written into the published table itself, and returns the epoch that ends with it.
    pub(crate) fn advance(&mut self) -> u64 {
        self.epoch += 1;
        self.domain.epoch.store(self.epoch, Ordering::Release);
        self.epoch - 1
    }

    /// Takes back the table that was published before this one, if every reader has passed it, and lets go of those before.
    pub(crate) fn take_back(&mut self) -> Option<Arc<T>> {
        self.drop_passed(1);
        let passed = self.retired.len() == 1 && self.has_passed(self.retired[0].0);
        if passed { self.retired.pop_front().map(|(_, table)| table) } else { None }
    }

    /// Whether [`take_back`](Self::take_back) gives a table.
    pub(crate) fn is_passed(&self) -> bool {
        self.retired.back().is_some_and(|&(epoch, _)| self.has_passed(epoch))
    }

    /// Lets go of the retired tables that every reader has passed, but for so many that were published last.
    pub(crate) fn drop_passed(&mut self, kept: usize) {
        while self.retired.len() > kept && self.has_passed(self.retired[0].0) {
            self.retired.pop_front();
        }
    }

    /// Whether no reader can still be at what was published up to an epoch.
    pub(crate) fn has_passed(&self, epoch: u64) -> bool {
        // Pairs with the fence of a reader that comes back from rest: either its slot is seen here, or it sees what has been
        // published before.
        fence(Ordering::SeqCst);
        let slots = self.domain.slots.lock().expect("nobody panics with the lock");
        // Acquire: what those readers have read comes before whatever is written once this has answered.
        slots.iter().all(|slot| slot.0.load(Ordering::Acquire) > epoch)
    }
}

impl<T> Drop for Publisher<T> {
    /// Readers that are still there go on reading: the last of them drops the tables.
    fn drop(&mut self) {
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

    /// The table that is published now; it stays as it is for as long as it is borrowed.
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
        // SAFETY: the pointer is that of an `Arc` which the publisher keeps, as `current` or as retired, until every slot shows
        // a later epoch than those in which it was published, and then leaves to the domain if it goes itself. This reader's
        // slot shows an epoch no later than the table's last one, or the load above had found a later table; and it shows
        // that until `guard` or `rest` are called again or the subscriber is dropped, which the borrow of `self` forbids.
        unsafe { &*table }
    }

    /// Reads nothing from now on, until the next guard.
    #[inline]
    pub(crate) fn rest(&mut self) {
        self.resting = true;
        self.slot.0.store(RESTING, Ordering::Release);
    }
}

impl<T> Clone for Subscriber<T> {
    /// Another reader, which rests.
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
