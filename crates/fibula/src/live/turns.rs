//! [`Turns`]: two copies of a value that take turns. One is published; the other takes the next
//! changes when all readers have passed it.

use super::handover::{Handover, ReaderOf, Settings};
use crate::Error;
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// A caught panic.
pub type Panic = Box<dyn Any + Send>;

/// What can be published in [`Turns`].
pub trait Turn: Sized {
    /// A change of it.
    type Change: Clone;

    /// Returns a copy. O(n).
    ///
    /// # Errors
    /// If there is no room for one.
    fn copy(&self) -> Result<Self, Error>;

    /// Returns one that is empty, for the same use.
    #[must_use]
    fn emptied(&self) -> Self;

    /// Makes changes in order, or none of them. The inner error is a panic in dropping what was
    /// replaced or removed, where the changes are made all the same.
    ///
    /// # Errors
    /// If they are refused.
    fn change(&mut self, changes: Vec<Self::Change>) -> Result<Result<(), Panic>, Error>;
}

/// What the next publication shows.
struct Pending<T: Turn> {
    /// This, in place of what is published.
    whole: Option<Box<T>>,
    /// These changes of it, in order.
    changes: Vec<T::Change>,
}

impl<T: Turn> Default for Pending<T> {
    fn default() -> Self {
        Self { whole: None, changes: Vec::new() }
    }
}

/// The writer's end of two copies that take turns. [`LiveTable`](crate::table::live::LiveTable)
/// says what holds for its readers and its writer.
pub struct Turns<T: Turn> {
    published: Handover<T>,
    /// What the copy that was published before has missed. `None` if it cannot catch up.
    missed: Option<Vec<T::Change>>,
    /// That copy, if it has been taken back already.
    spare: Option<T>,
    pending: Pending<T>,
    settings: Settings,
}

impl<T: Turn> Turns<T> {
    /// Publishes a first value.
    #[must_use]
    pub fn new(first: T, settings: Settings) -> Self {
        let published = Handover::new(first);
        Self { published, missed: None, spare: None, pending: Pending::default(), settings }
    }

    /// Takes a change in. O(1) amortised.
    pub fn take_in(&mut self, change: T::Change) {
        self.pending.changes.push(change);
    }

    /// Takes changes in, in order.
    pub fn take_in_all(&mut self, changes: impl IntoIterator<Item = T::Change>) {
        self.pending.changes.extend(changes);
    }

    /// Takes a whole value in, in place of all that was taken in before.
    pub fn replace(&mut self, whole: T) {
        let pending = Pending { whole: Some(Box::new(whole)), changes: Vec::new() };
        // Dropping values may panic, so it comes after.
        drop(std::mem::replace(&mut self.pending, pending));
    }

    /// Takes in: an empty value.
    pub fn clear(&mut self) {
        self.replace(self.published().emptied());
    }

    /// Drops what was taken in and not published.
    pub fn discard(&mut self) {
        drop(std::mem::take(&mut self.pending));
    }

    /// Returns the number of changes that were taken in and not published; a whole value is one.
    #[must_use]
    pub fn pending(&self) -> usize {
        usize::from(self.pending.whole.is_some()) + self.pending.changes.len()
    }

    /// Returns the changes that are pending, in order: of what is published, or of the
    /// [whole value](Self::pending_whole) that is pending.
    #[must_use]
    pub fn pending_changes(&self) -> &[T::Change] {
        &self.pending.changes
    }

    /// Returns the whole value that is pending, without the changes that follow it.
    #[must_use]
    pub fn pending_whole(&self) -> Option<&T> {
        self.pending.whole.as_deref()
    }

    /// Publishes what was taken in. Where nothing was, as [`collect`](Self::collect).
    ///
    /// # Errors
    /// Of kind [`ErrorKind::ReadersHeldUp`](crate::ErrorKind::ReadersHeldUp), if after what the
    /// settings say readers hold up the copy that is needed: then all stays pending. Of another
    /// kind, if the changes are refused: then they are dropped.
    ///
    /// # Panics
    /// If cloning a change panics, which is then dropped; if copying what is published panics; if
    /// dropping what was replaced or removed panics, which is then published all the same.
    pub fn publish(&mut self) -> Result<(), Error> {
        self.publish_within(self.settings)
    }

    /// As [`publish`](Self::publish), but neither waits for readers nor copies because of them.
    ///
    /// # Errors
    /// As [`publish`](Self::publish).
    pub fn try_publish(&mut self) -> Result<(), Error> {
        self.publish_within(Settings::AT_ONCE)
    }

    /// As [`publish`](Self::publish), with other settings. A whole value takes only the patience
    /// of these.
    ///
    /// # Errors
    /// As [`publish`](Self::publish).
    pub fn publish_within(&mut self, settings: Settings) -> Result<(), Error> {
        if self.pending.whole.is_some() {
            return self.publish_whole(settings);
        }
        if self.pending.changes.is_empty() {
            self.collect();
            return Ok(());
        }
        if self.spare.is_none() {
            self.spare = self.published.take_back(settings)?;
        }
        let copies = copies(&mut self.pending.changes);
        // A panic in dropping values goes on once all is as it should be.
        let (mut next, late) = match self.catch_up() {
            Some(caught_up) => caught_up,
            None => (self.published.current().copy()?, Ok(())),
        };
        let changed = match next.change(copies) {
            Ok(changed) => changed,
            Err(error) => {
                // It is as what is published.
                (self.spare, self.missed) = (Some(next), Some(Vec::new()));
                self.discard();
                late.unwrap_or_else(|panic| resume_unwind(panic));
                return Err(error);
            }
        };
        self.published.publish(next);
        self.missed = Some(std::mem::take(&mut self.pending.changes));
        late.and(changed).unwrap_or_else(|panic| resume_unwind(panic));
        Ok(())
    }

    /// Makes on the spare copy what it has missed, and takes it out. `None` if there is none that
    /// can catch up.
    fn catch_up(&mut self) -> Option<(T, Result<(), Panic>)> {
        let mut spare = self.spare.take()?;
        let late = spare.change(self.missed.take()?).ok()?;
        Some((spare, late))
    }

    /// Publishes a whole value, which needs no other copy.
    fn publish_whole(&mut self, settings: Settings) -> Result<(), Error> {
        let most_retired = self.settings.most_retired;
        let retired = self.published.take_back(Settings { attempts: 0, most_retired, ..settings })?;
        let Pending { whole, changes } = std::mem::take(&mut self.pending);
        let mut changed = Ok(());
        if let Some(mut whole) = whole {
            if !changes.is_empty() {
                changed = whole.change(changes)?;
            }
            self.published.publish(*whole);
        }
        // What was published until now cannot catch up.
        let (other, missed) = (self.spare.take(), self.missed.take());
        drop((retired, other, missed));
        changed.unwrap_or_else(|panic| resume_unwind(panic));
        Ok(())
    }

    /// Drops what was replaced or removed, as far as no reader can reach it. Returns whether all is
    /// dropped. O(changes of the last publication).
    ///
    /// # Panics
    /// If dropping panics.
    pub fn collect(&mut self) -> bool {
        if self.spare.is_none() {
            self.spare = self.published.take_back(Settings::AT_ONCE).ok().flatten();
        }
        if let Some((spare, late)) = self.catch_up() {
            (self.spare, self.missed) = (Some(spare), Some(Vec::new()));
            late.unwrap_or_else(|panic| resume_unwind(panic));
        }
        self.published.retired() == 0
    }

    /// Returns a new reader, which rests. O(readers).
    #[must_use]
    pub fn reader(&self) -> ReaderOf<T> {
        self.published.reader()
    }

    /// Returns what is published: without the changes that are pending.
    #[must_use]
    pub fn published(&self) -> &T {
        self.published.current()
    }

    /// Returns the number of copies, besides the published one, that are kept.
    #[must_use]
    pub fn retired(&self) -> usize {
        self.published.retired() + usize::from(self.spare.is_some())
    }
}

impl<T: Turn> fmt::Debug for Turns<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turns")
            .field("pending", &self.pending())
            .field("retired", &self.retired())
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// Clones changes. If that panics, the change at fault is removed: its value would panic again, and
/// hold up all others.
fn copies<C: Clone>(changes: &mut Vec<C>) -> Vec<C> {
    let mut copies = Vec::with_capacity(changes.len());
    let clone_all = || changes.iter().for_each(|change| copies.push(change.clone()));
    if let Err(panic) = catch_unwind(AssertUnwindSafe(clone_all)) {
        let at_fault = changes.remove(copies.len());
        drop((copies, at_fault));
        resume_unwind(panic);
    }
    copies
}
