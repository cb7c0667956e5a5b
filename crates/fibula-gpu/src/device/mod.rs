//! [`Device`]: what runs batches of lookups beside the processor.
//!
//! A device holds tables and has *lanes*. In each lane, one batch at a time is copied in, looked up
//! and copied out; lanes overlap. The rest of this crate knows no more of a card. So everything but
//! the card itself ([`Cuda`]) is tested with a device made of threads ([`Twin`]), which fails when
//! a test tells it to.
//!
//! **Before or after, never between**: a batch holds the version of the table that it was started
//! with until it is finished. A version can be [patched](Device::patch) only with exclusive access
//! (`&mut`), so the compiler checks it.

mod cuda;
mod measure;
pub mod twin;

pub use cuda::{Card, Cuda, cards};
pub use fibula_image::{Image, Kernel};
pub use twin::Twin;

use crate::Error;
use crate::table::{PART_NAMES, PARTS, Patch};
use std::fmt::Debug;
use std::sync::Arc;

/// The threads of a kernel, in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Blocks.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
}

/// A device that runs batches. After the device has failed once, every call fails.
pub trait Device: Debug + Send + Sync {
    /// One version of a table in its memory.
    type Table: Debug + Send + Sync;
    /// Several tables that one batch may name.
    type Tables: Debug + Send + Sync;
    /// A lane, which runs one batch at a time.
    type Lane: Lane<Table = Self::Table, Tables = Self::Tables>;

    /// Returns the device's name.
    fn name(&self) -> String;

    /// Allocates a table on the device, with an eighth more room to grow, and copies it there.
    ///
    /// # Errors
    /// If it does not fit, or the device fails.
    fn place(&self, image: Image<'_>) -> Result<Self::Table, Error>;

    /// Writes the changed bytes of a table that no batch holds, on a separate stream. They are
    /// written when it returns.
    ///
    /// # Errors
    /// If a part has outgrown its room ([`Error::is_full`]: nothing is written then), the patch is
    /// for another version, or the device fails.
    fn patch(&self, table: &mut Self::Table, patch: &Patch) -> Result<(), Error>;

    /// Makes a lane for batches of up to `capacity` addresses of a kernel.
    ///
    /// # Errors
    /// If there is no memory for it, or the device fails.
    fn lane(&self, kernel: Kernel, capacity: usize) -> Result<Self::Lane, Error>;

    /// Allocates tables on the device. A batch names them by their indices.
    ///
    /// # Errors
    /// If they are not all for one kernel, if there are none or more than 65,536, or if the device
    /// fails.
    fn together(&self, tables: &[Arc<Self::Table>]) -> Result<Self::Tables, Error>;

    /// Makes a lane for batches of up to `capacity` addresses that each name their table.
    ///
    /// # Errors
    /// See [`Device::lane`].
    fn lane_of_many(&self, kernel: Kernel, capacity: usize) -> Result<Self::Lane, Error>;
}

/// A lane of a device. The caller writes addresses to [`input`](Lane::input).
/// [`start`](Lane::start) returns at once, and [`finish`](Lane::finish) waits for the answers. Both
/// buffers are page-locked, so that the device copies by itself.
pub trait Lane: Debug + Send {
    /// See [`Device::Table`].
    type Table;
    /// See [`Device::Tables`].
    type Tables;

    /// Returns the buffer for the addresses of the next batch. It has the lane's capacity.
    ///
    /// # Errors
    /// If the device fails.
    fn input(&mut self) -> Result<&mut [u8], Error>;

    /// Starts a batch of the first `count` addresses of the input.
    ///
    /// # Errors
    /// If the device fails.
    ///
    /// # Panics
    /// If a batch is in progress, or `count` exceeds the lane's capacity.
    fn start(&mut self, table: &Arc<Self::Table>, count: usize) -> Result<(), Error>;

    /// Returns the buffer for the tables' numbers of the next batch, one per address.
    ///
    /// # Errors
    /// If the device fails.
    ///
    /// # Panics
    /// If it is not a lane [of many](Device::lane_of_many).
    fn table_ids(&mut self) -> Result<&mut [u16], Error>;

    /// Starts a batch of the first `count` addresses of the input, each for the table that its
    /// number names.
    ///
    /// # Errors
    /// If the device fails.
    ///
    /// # Panics
    /// If a number names no table, a batch is in progress, the lane is not a lane of many, or
    /// `count` exceeds its capacity.
    fn start_of_many(&mut self, tables: &Arc<Self::Tables>, count: usize) -> Result<(), Error>;

    /// Sets the threads of later kernels; `None` for the device's own choice.
    fn set_grid(&mut self, grid: Option<Grid>);

    /// Waits for the batch and returns its answers.
    ///
    /// # Errors
    /// If the device fails, or does not answer for longer than [`SILENCE`].
    ///
    /// # Panics
    /// If no batch is in progress.
    fn finish(&mut self) -> Result<&[u8], Error>;
}

/// A device whose parts can be timed alone, for studies.
pub trait Measured: Device {
    /// Returns the seconds that the lane's kernel takes for the first `count` addresses of its last
    /// batch: the mean of `runs` directly after each other, nothing copied.
    ///
    /// # Errors
    /// If the device fails.
    fn kernel_seconds(
        &self,
        lane: &mut Self::Lane,
        table: &Self::Table,
        count: usize,
        runs: u32,
    ) -> Result<f64, Error>;

    /// Returns the bytes per second from page-locked memory to the device, and back: each alone,
    /// `bytes` at once.
    ///
    /// # Errors
    /// If the device fails.
    fn copy_rates(&self, bytes: usize) -> Result<(f64, f64), Error>;

    /// Returns the random sectors of 32 bytes that the device reads per second, out of `bytes` of
    /// its memory.
    ///
    /// # Errors
    /// If the device fails.
    fn gather_rate(&self, bytes: usize) -> Result<f64, Error>;
}

/// A device that does not answer for this time counts as lost.
pub const SILENCE: std::time::Duration = std::time::Duration::from_secs(10);

/// Checks that there are tables and that numbers of 16 bits name them all. Returns the first.
fn first_of<T>(tables: &[Arc<T>]) -> Result<&T, Error> {
    let numbered = tables.len() <= 1 << u16::BITS;
    let first = tables.first().filter(|_| numbered);
    first.map(|table| &**table).ok_or_else(|| Error::usage("1 to 65536 tables can be asked together"))
}

/// Checks that every number of a batch names a table.
fn check_ids(ids: &[u16], tables: usize) {
    assert!(ids.iter().all(|&id| usize::from(id) < tables), "every number names one of {tables} tables");
}

/// Returns the bytes to allocate for a part: an eighth more than it has, and a minimum.
fn room(bytes: usize) -> usize {
    bytes + bytes / 8 + (64 << 10)
}

/// Checks that the parts fit into the memory allocated for them.
fn check_room(lengths: [usize; PARTS], rooms: [usize; PARTS]) -> Result<(), Error> {
    for part in 0..PARTS {
        if lengths[part] > rooms[part] {
            return Err(Error::full(PART_NAMES[part], lengths[part], rooms[part]));
        }
    }
    Ok(())
}
