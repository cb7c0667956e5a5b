//! [`Resident`]: a table on a device that changes while batches run.
//!
//! ```text
//!   batches ──▶ current ◀─┐ swapped when the patch is in place
//!               spare   ──┘ ◀── patches, when the last batch that holds it has finished
//! ```
//! The table is double-buffered. A burst of changes is one patch of the bytes that it changed. The
//! patch is applied to the version that new batches do not get, after the patch that this version
//! has missed. Then that version is current. A batch keeps the version that it was started with, so
//! it sees the table before or after a burst and never between.

use crate::Error;
use crate::device::{Device, Image, SILENCE};
use crate::table::{Patch, Version};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a writer sleeps before it looks again whether a batch has ended.
const NAP: Duration = Duration::from_micros(50);
/// The times that it yields the processor before the first sleep.
const YIELDS: u32 = 64;

/// A table on a device, in two versions.
#[derive(Debug)]
pub struct Resident<D: Device> {
    device: D,
    current: Mutex<Arc<D::Table>>,
    /// The other version and the patch that it has missed; one writer at a time.
    spare: Mutex<Spare<D::Table>>,
}

#[derive(Debug)]
struct Spare<T> {
    table: Arc<T>,
    missed: Option<Patch>,
    /// The current version.
    current: Version,
}

/// The cost of bringing a burst of changes to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Published {
    /// The bytes of the burst's own patch.
    pub bytes: usize,
    /// Whether the table had to be copied again: a part had outgrown its room.
    pub whole: bool,
    /// The time from the call until batches are given the new version.
    pub delay: Duration,
}

impl<D: Device> Resident<D> {
    /// Copies a table to a device, twice.
    ///
    /// # Errors
    /// If it does not fit, or the device fails.
    pub fn new(device: D, image: Image<'_>) -> Result<Self, Error> {
        let current = Mutex::new(Arc::new(device.place(image)?));
        let spare = Mutex::new(Spare {
            table: Arc::new(device.place(image)?),
            missed: None,
            current: image.version(),
        });
        Ok(Self { device, current, spare })
    }

    /// Returns the device.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// Returns the version to start a batch with.
    pub fn table(&self) -> Arc<D::Table> {
        Arc::clone(&self.current.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns whether batches still hold the version that the next burst of changes needs.
    pub fn is_held(&self) -> bool {
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::strong_count(&spare.table) > 1
    }

    /// Waits until no batch holds the version that the next burst of changes needs, but no longer
    /// than `patience`. No batch can then get it before that burst.
    ///
    /// # Errors
    /// If a batch [holds it up](Error::is_held_up). Nothing has changed then.
    pub fn wait(&self, patience: Duration) -> Result<(), Error> {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        self.free(&mut spare.table, patience).map(drop)
    }

    /// Brings a burst of changes to the device. `image` is the table after it. Waits for the
    /// batches that still hold the version before the current one, up to [`SILENCE`].
    ///
    /// # Errors
    /// If the patch is not the next one of this table, the device fails, or a batch [holds it
    /// up](Error::is_held_up). Batches are then given the same version as before. After a batch has
    /// held it up, the same burst can be brought again.
    pub fn update(&self, image: Image<'_>, patch: Patch) -> Result<Published, Error> {
        let start = Instant::now();
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        patch.onto(spare.current)?;
        image.is(patch.after())?;
        let bytes = patch.bytes();
        let whole = match self.patch(&mut spare, &patch) {
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
        Ok(Published { bytes, whole, delay: start.elapsed() })
    }

    /// Applies the patch that the spare version has missed, then `patch`.
    fn patch(&self, spare: &mut Spare<D::Table>, patch: &Patch) -> Result<(), Error> {
        let table = self.free(&mut spare.table, SILENCE)?;
        if let Some(missed) = &spare.missed {
            self.device.patch(table, missed)?;
            spare.missed = None;
        }
        self.device.patch(table, patch)
    }

    /// Returns the spare version once no batch holds it. Only batches that were started before the
    /// last swap do, and a card that does not answer never ends them.
    fn free<'s>(&self, spare: &'s mut Arc<D::Table>, patience: Duration) -> Result<&'s mut D::Table, Error> {
        let (start, mut looks) = (Instant::now(), 0);
        while Arc::get_mut(spare).is_none() {
            if start.elapsed() >= patience {
                return Err(Error::held(self.device.name(), patience));
            }
            looks += 1;
            if looks <= YIELDS { std::thread::yield_now() } else { std::thread::sleep(NAP) }
        }
        Ok(Arc::get_mut(spare).expect("nobody else gets the spare version"))
    }
}
