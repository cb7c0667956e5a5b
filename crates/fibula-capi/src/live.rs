//! Tables that change while other threads look up.

use crate::abi::{CPrefix, given, given_mut, hand_over, interface, take_back};
use crate::error::{Failure, call};
use crate::table::{Asked, Table};
use fibula::live::ReaderOf;
use fibula::live::handover::{Handover, Settings};
use std::ffi::c_int;
use std::mem;
use std::time::Duration;

/// What the next publication shows.
#[derive(Debug)]
enum Pending {
    /// The published table with these changes, in order.
    Changes(Vec<Asked>),
    /// This table.
    Table(Box<Table>),
}

impl Default for Pending {
    fn default() -> Self {
        Self::Changes(Vec::new())
    }
}

/// The writer's end of a table that is published whole. Two copies take turns: the one that nobody
/// reads any more catches up, takes the new changes, and is published by one store.
#[derive(Debug)]
pub(crate) struct Live {
    published: Handover<Table>,
    /// What the copy published before this one has missed; `None` if it cannot catch up.
    missed: Option<Vec<Asked>>,
    /// A copy of what is published, which a refused publication leaves.
    spare: Option<Table>,
    pending: Pending,
}

/// One thread's way to what is published.
#[derive(Debug)]
pub(crate) struct Reader(ReaderOf<Table>);

/// Returns how a publication waits for readers: at most for `timeout`.
pub(crate) fn waiting(timeout: Duration) -> Settings {
    let attempts = if timeout.is_zero() { 0 } else { 1000 };
    Settings { attempts, most_retired: 1, stuck_after: timeout }
}

impl Live {
    fn new(table: Table) -> Self {
        Self { published: Handover::new(table), missed: None, spare: None, pending: Pending::default() }
    }

    fn take_in(&mut self, asked: Asked) -> Result<(), Failure> {
        match &mut self.pending {
            Pending::Changes(changes) => changes.push(asked),
            Pending::Table(table) => drop(table.apply([asked])?),
        }
        Ok(())
    }

    fn pending(&self) -> usize {
        match &self.pending {
            Pending::Changes(changes) => changes.len(),
            Pending::Table(table) => table.len().max(1),
        }
    }

    fn publish(&mut self, timeout: Duration) -> Result<(), Failure> {
        if self.pending() == 0 {
            return Ok(());
        }
        let caught_up = if let Some(spare) = self.spare.take() {
            Some(spare)
        } else {
            let before = self.published.take_back(waiting(timeout))?;
            before.zip(self.missed.take()).and_then(caught_up)
        };
        let copy = match &self.pending {
            Pending::Changes(_) => Some(caught_up.map_or_else(|| self.published.current().copy(), Ok)?),
            Pending::Table(_) => None,
        };
        match (mem::take(&mut self.pending), copy) {
            (Pending::Table(table), _) => self.published.publish(*table),
            (Pending::Changes(changes), Some(mut next)) => {
                if let Err(failure) = next.apply(changes.iter().copied()) {
                    // The copy is as what is published, and the changes are gone.
                    self.spare = Some(next);
                    return Err(failure);
                }
                self.published.publish(next);
                self.missed = Some(changes);
            }
            (Pending::Changes(_), None) => unreachable!("changes are made on a copy"),
        }
        Ok(())
    }
}

/// Makes the changes on a copy that it has missed. `None` if it has no room for them.
fn caught_up((mut copy, missed): (Table, Vec<Asked>)) -> Option<Table> {
    copy.apply(missed).is_ok().then_some(copy)
}

interface! {
    /// Publishes a first table, which is taken.
    fn fibula_live_new(table: *mut Table, out: *mut *mut Live) {
        given(table, "the table")?;
        if out.is_null() {
            return Err(Failure::null("the place for the result"));
        }
        hand_over(out, Live::new(*Box::from_raw(table)))
    }

    /// Takes in: set the value of a prefix.
    fn fibula_live_insert(live: *mut Live, prefix: *const CPrefix, value: u64) {
        let prefix = given(prefix, "the prefix")?.read()?;
        given_mut(live, "the live table")?.take_in((prefix, Some(value)))?;
        Ok(0)
    }

    /// Takes in: remove a prefix.
    fn fibula_live_remove(live: *mut Live, prefix: *const CPrefix) {
        let prefix = given(prefix, "the prefix")?.read()?;
        given_mut(live, "the live table")?.take_in((prefix, None))?;
        Ok(0)
    }

    /// Takes in: another table, which is taken.
    fn fibula_live_replace(live: *mut Live, table: *mut Table) {
        let live = given_mut(live, "the live table")?;
        given(table, "the table")?;
        live.pending = Pending::Table(Box::from_raw(table));
        Ok(0)
    }

    /// Drops what was taken in and is not published.
    fn fibula_live_discard(live: *mut Live) {
        given_mut(live, "the live table")?.pending = Pending::default();
        Ok(0)
    }

    /// Publishes what was taken in.
    fn fibula_live_publish(live: *mut Live, timeout_ns: u64) {
        given_mut(live, "the live table")?.publish(Duration::from_nanos(timeout_ns))?;
        Ok(0)
    }

    /// Makes a reader.
    fn fibula_reader_new(live: *const Live, out: *mut *mut Reader) {
        hand_over(out, Reader(given(live, "the live table")?.published.reader()))
    }

    /// Reads nothing until the next table is asked for.
    fn fibula_reader_offline(reader: *mut Reader) {
        given_mut(reader, "the reader")?.0.rest();
        Ok(0)
    }
}

/// Returns the number of changes that wait to be published; 0 for NULL.
///
/// # Safety
/// `live` is null or a live table that nobody changes meanwhile.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fibula_live_pending(live: *const Live) -> usize {
    // SAFETY: the caller's promise.
    unsafe { live.as_ref() }.map_or(0, Live::pending)
}

/// Returns the table that is published now; NULL for NULL.
///
/// # Safety
/// `reader` is null or a reader that no other thread uses meanwhile.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fibula_reader_table(reader: *mut Reader) -> *const Table {
    // SAFETY: the caller's promise.
    unsafe { reader.as_mut() }.map_or(std::ptr::null(), |reader| std::ptr::from_ref(reader.0.guard()))
}

/// Frees a live table. Its readers go on, and see what was published last.
///
/// # Safety
/// `live` is null, or a live table that is not used any more.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fibula_live_free(live: *mut Live) {
    // SAFETY: the caller's promise.
    unsafe { take_back(live) }
}

/// Frees a reader.
///
/// # Safety
/// `reader` is null, or a reader that is not used any more.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fibula_reader_free(reader: *mut Reader) {
    // SAFETY: the caller's promise.
    unsafe { take_back(reader) }
}
