//! Tables that change while other threads look up.

use crate::abi::{CPrefix, given, given_mut, hand_over, interface, take_back};
use crate::error::{Failure, call};
use crate::table::{Number, Table};
use fibula::live::ReaderOf;
use fibula::live::handover::Settings;
use fibula::live::turns::Turns;
use std::ffi::c_int;
use std::time::Duration;

/// The writer's end of a table that is published whole.
pub(crate) type Live = Turns<Table>;

/// One thread's way to what is published.
#[derive(Debug)]
pub(crate) struct Reader(ReaderOf<Table>);

/// Returns how a publication waits for readers: at most for `timeout`.
pub(crate) fn waiting(timeout: Duration) -> Settings {
    let attempts = if timeout.is_zero() { 0 } else { 1000 };
    Settings { attempts, most_retired: 1, stuck_after: timeout }
}

interface! {
    /// Publishes a first table, which is taken.
    fn fibula_live_new(table: *mut Table, out: *mut *mut Live) {
        given(table, "the table")?;
        if out.is_null() {
            return Err(Failure::null("the place for the result"));
        }
        hand_over(out, Live::new(*Box::from_raw(table), waiting(Duration::ZERO)))
    }

    /// Takes in: set the value of a prefix.
    fn fibula_live_insert(live: *mut Live, prefix: *const CPrefix, value: u64) {
        let prefix = given(prefix, "the prefix")?.read()?;
        given_mut(live, "the live table")?.take_in((prefix, Some(Number::new(value))));
        Ok(0)
    }

    /// Takes in: remove a prefix.
    fn fibula_live_remove(live: *mut Live, prefix: *const CPrefix) {
        let prefix = given(prefix, "the prefix")?.read()?;
        given_mut(live, "the live table")?.take_in((prefix, None));
        Ok(0)
    }

    /// Takes in: another table, which is taken.
    fn fibula_live_replace(live: *mut Live, table: *mut Table) {
        let live = given_mut(live, "the live table")?;
        given(table, "the table")?;
        live.replace(*Box::from_raw(table));
        Ok(0)
    }

    /// Drops what was taken in and is not published.
    fn fibula_live_discard(live: *mut Live) {
        given_mut(live, "the live table")?.discard();
        Ok(0)
    }

    /// Publishes what was taken in.
    fn fibula_live_publish(live: *mut Live, timeout_ns: u64) {
        given_mut(live, "the live table")?.publish_within(waiting(Duration::from_nanos(timeout_ns)))?;
        Ok(0)
    }

    /// Makes a reader.
    fn fibula_reader_new(live: *const Live, out: *mut *mut Reader) {
        hand_over(out, Reader(given(live, "the live table")?.reader()))
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
