//! [`Resident`]: a table on a device that changes while batches run.
//!
//! ```text
//!   batches ──▶ current ◀─┐ swapped when the patch is in place
//!               spare   ──┘ ◀── patches, when the last batch that holds it has finished
//! ```
//! Two versions take turns. A burst of changes is one patch of the bytes it wrote; it goes to the version that nobody is given any
//! more, after the one that version has missed, and then that version is current. A batch keeps the version it was started with, so it
//! sees the table before or after a burst and never between.

use crate::Error;
use crate::device::{Device, Image};
use crate::table::{Patch, Version};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A table on a device, in two versions.
#[derive(Debug)]
pub struct Resident<D: Device> {
    device: D,
    current: Mutex<Arc<D::Table>>,
    /// The other version and what it has missed; one writer at a time.
    spare: Mutex<Spare<D::Table>>,
}

#[derive(Debug)]
struct Spare<T> {
    table: Arc<T>,
    missed: Option<Patch>,
    /// The version that is current.
    current: Version,
}

/// How a burst of changes came to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Published {
    /// The bytes of the burst's own patch.
    pub bytes: usize,
    /// Whether the table had to be placed anew: a part had outgrown its room.
    pub anew: bool,
    /// From the call until batches are given the new version.
    pub delay: Duration,
}

impl<D: Device> Resident<D> {
    /// Places a table on a device, twice.
    ///
    /// # Errors
    /// If it does not fit, or the device fails.
    pub fn new(device: D, image: Image<'_>) -> Result<Self, Error> {
        let current = Mutex::new(Arc::new(device.place(image)?));
        let spare =
            Mutex::new(Spare { table: Arc::new(device.place(image)?), missed: None, current: image.version });
        Ok(Self { device, current, spare })
    }

    /// The device.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// The version that a batch is to be started with.
    pub fn table(&self) -> Arc<D::Table> {
        Arc::clone(&self.current.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether batches still hold the version that the next burst of changes needs.
    pub fn is_held(&self) -> bool {
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::strong_count(&spare.table) > 1
    }

    /// Brings a burst of changes to the device. `image` is the table after it. Waits for the batches that still hold the
    /// version before the current one.
    ///
    /// # Errors
    /// If the patch is not the next one of this table, or the device fails: batches are given the version they were given
    /// before.
    pub fn update(&self, image: Image<'_>, patch: Patch) -> Result<Published, Error> {
        let start = Instant::now();
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        patch.onto(spare.current)?;
        image.is(patch.after())?;
        let bytes = patch.bytes();
        let anew = match self.patch(&mut spare, &patch) {
            Ok(()) => false,
            Err(error) if error.is_full() => {
                spare.table = Arc::new(self.device.place(image)?);
                true
            }
            Err(error) => return Err(error),
        };
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut *current, &mut spare.table);
        spare.current = patch.after();
        spare.missed = Some(patch);
        Ok(Published { bytes, anew, delay: start.elapsed() })
    }

    /// Lays what the spare version has missed on it, then a patch.
    fn patch(&self, spare: &mut Spare<D::Table>, patch: &Patch) -> Result<(), Error> {
        let table = loop {
            // Only batches that were started before the last swap hold it: they end.
            match Arc::get_mut(&mut spare.table) {
                Some(table) => break table,
                None => std::thread::yield_now(),
            }
        };
        if let Some(missed) = &spare.missed {
            self.device.patch(table, missed)?;
            spare.missed = None;
        }
        self.device.patch(table, patch)
    }
}
