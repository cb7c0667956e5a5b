//! [`Device`]: where batches of lookups run beside the processor, and what is handed to one.
//!
//! A device holds tables and has *lanes*: in each, one batch at a time is copied in, looked up and copied out, and lanes overlap.
//! That is all the rest of this crate knows of a card; so everything but the card itself ([`Cuda`]) is tested with a device
//! that is made of threads ([`Twin`]), and that fails when it is told to.
//!
//! **Before or after, never between**: a batch holds the version of the table it was started with until it is finished, and a version
//! can be [patched](Device::patch) only by whoever holds it alone (`&mut`). The type system is the proof.

mod cuda;
mod measure;
pub mod twin;

pub use cuda::{Card, Cuda, cards};
pub use twin::Twin;

use crate::Error;
use crate::host::Bodies;
use crate::table::{Layout, PART_NAMES, PARTS, Patch, Version};
use fibula::Address;
use fibula::engine::{Width, WidthBits};
use std::fmt::Debug;
use std::sync::Arc;

/// Which kernel a table needs.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    layout: &'static str,
    bodies: &'static Bodies,
    address_bytes: usize,
    width: WidthBits,
}

impl Kernel {
    pub(crate) fn of<L: Layout, W: Width>() -> Self {
        let address_bytes = usize::from(L::Address::BITS / 8);
        Self { layout: L::KERNEL, bodies: L::BODIES, address_bytes, width: W::BITS }
    }

    /// Its entry point.
    #[must_use]
    pub fn name(self) -> String {
        format!("{}_{}", self.layout, self.width)
    }

    /// The entry point for addresses of which each names its table.
    #[must_use]
    pub fn name_of_many(self) -> String {
        self.name() + "_of_many"
    }

    /// Checks that tables are all for this kernel.
    pub(crate) fn check_all(self, kernels: impl Iterator<Item = Self>) -> Result<(), Error> {
        match kernels.map(Self::name).find(|name| *name != self.name()) {
            None => Ok(()),
            Some(other) => {
                Err(Error::usage(format!("tables of {} and {other} cannot be asked together", self.name())))
            }
        }
    }

    /// The bytes of an address.
    #[must_use]
    pub fn address_bytes(self) -> usize {
        self.address_bytes
    }

    /// The bytes of an answer.
    #[must_use]
    pub fn answer_bytes(self) -> usize {
        usize::from(self.width.bits() / 8)
    }

    pub(crate) fn bodies(self) -> &'static Bodies {
        self.bodies
    }

    /// The width of an answer.
    #[must_use]
    pub fn width(self) -> WidthBits {
        self.width
    }
}

/// A table on its way to a device; made by [`Table::image`](crate::table::Table::image).
#[derive(Clone, Copy, Debug)]
pub struct Image<'t> {
    pub(crate) kernel: Kernel,
    pub(crate) version: Version,
    pub(crate) parts: [&'t [u8]; PARTS],
}

impl Image<'_> {
    /// The kernel that reads it.
    #[must_use]
    pub fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// Checks that it is this version.
    pub(crate) fn is(&self, version: Version) -> Result<(), Error> {
        if self.version == version {
            return Ok(());
        }
        Err(Error::usage(format!("the table is {:?}, the patch makes {version:?}", self.version)))
    }

    /// What it takes on the device, in bytes, room to grow left out.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.parts.iter().map(|part| part.len()).sum()
    }
}

/// The threads of a kernel: so many blocks of so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Blocks.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
}

/// Where batches run. Every call fails for good once the device has failed.
pub trait Device: Debug + Send + Sync {
    /// One version of a table in its memory.
    type Table: Debug + Send + Sync;
    /// Several tables that one batch may name.
    type Tables: Debug + Send + Sync;
    /// Where one batch at a time goes through.
    type Lane: Lane<Table = Self::Table, Tables = Self::Tables>;

    /// What it is called.
    fn name(&self) -> String;

    /// Puts a table into its memory, with room to grow by an eighth.
    ///
    /// # Errors
    /// If it does not fit, or the device fails.
    fn place(&self, image: Image<'_>) -> Result<Self::Table, Error>;

    /// Writes the changed bytes of a table that no batch holds, on a stream of its own; they are in place when it returns.
    ///
    /// # Errors
    /// If a part has outgrown its room ([`Error::is_full`]: nothing is written then), the patch is for another version, or the
    /// device fails.
    fn patch(&self, table: &mut Self::Table, patch: &Patch) -> Result<(), Error>;

    /// A lane for batches of up to `capacity` addresses of a kernel.
    ///
    /// # Errors
    /// If there is no memory for it, or the device fails.
    fn lane(&self, kernel: Kernel, capacity: usize) -> Result<Self::Lane, Error>;

    /// Tables in its memory, in this order, as one batch may name them by their numbers.
    ///
    /// # Errors
    /// If they are not all for one kernel, there are none or more than 65,536, or the device fails.
    fn together(&self, tables: &[Arc<Self::Table>]) -> Result<Self::Tables, Error>;

    /// A lane for batches of up to `capacity` addresses of which each names its table.
    ///
    /// # Errors
    /// See [`Device::lane`].
    fn lane_of_many(&self, kernel: Kernel, capacity: usize) -> Result<Self::Lane, Error>;
}

/// A batch's way through a device: addresses are written to [`input`](Lane::input), [`start`](Lane::start) returns at once, and
/// [`finish`](Lane::finish) waits for the answers. Both buffers are page-locked, so that the device copies by itself.
pub trait Lane: Debug + Send {
    /// See [`Device::Table`].
    type Table;
    /// See [`Device::Tables`].
    type Tables;

    /// Where the addresses of the next batch go: room for the lane's capacity.
    ///
    /// # Errors
    /// If the device fails.
    fn input(&mut self) -> Result<&mut [u8], Error>;

    /// Starts the first `count` addresses of the input on their way.
    ///
    /// # Errors
    /// If the device fails.
    ///
    /// # Panics
    /// If a batch is on its way already, or the lane has no room for so many.
    fn start(&mut self, table: &Arc<Self::Table>, count: usize) -> Result<(), Error>;

    /// Where the numbers of the next batch's tables go, one an address.
    ///
    /// # Errors
    /// If the device fails.
    ///
    /// # Panics
    /// If it is no lane [of many](Device::lane_of_many).
    fn table_ids(&mut self) -> Result<&mut [u16], Error>;

    /// Starts the first `count` addresses of the input on their way, each to the table that its number names.
    ///
    /// # Errors
    /// If the device fails.
    ///
    /// # Panics
    /// If a number names no table, a batch is on its way already, it is no lane of many or has no room for so many.
    fn start_of_many(&mut self, tables: &Arc<Self::Tables>, count: usize) -> Result<(), Error>;

    /// Makes later kernels run with other threads; `None` for the device's own choice.
    fn set_grid(&mut self, grid: Option<Grid>);

    /// Waits for the batch and returns its answers.
    ///
    /// # Errors
    /// If the device fails, or is silent for longer than [`SILENCE`].
    ///
    /// # Panics
    /// If no batch is on its way.
    fn finish(&mut self) -> Result<&[u8], Error>;
}

/// A device whose parts can be timed alone: what a study needs besides.
pub trait Measured: Device {
    /// The seconds that the kernel of a lane takes for the first `count` addresses of the batch it had last: the mean of `runs`
    /// directly after each other, nothing copied.
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

    /// Bytes a second from page-locked memory to the device, and back: each alone, `bytes` at once.
    ///
    /// # Errors
    /// If the device fails.
    fn copy_rates(&self, bytes: usize) -> Result<(f64, f64), Error>;

    /// Random sectors of 32 bytes that the device reads in a second, out of `bytes` of its memory.
    ///
    /// # Errors
    /// If the device fails.
    fn gather_rate(&self, bytes: usize) -> Result<f64, Error>;
}

/// A device that does not answer for so long is taken for lost.
pub const SILENCE: std::time::Duration = std::time::Duration::from_secs(10);

/// Checks that there are tables and that numbers of 16 bits name them all; returns the first.
fn first_of<T>(tables: &[Arc<T>]) -> Result<&T, Error> {
    let numbered = tables.len() <= 1 << u16::BITS;
    let first = tables.first().filter(|_| numbered);
    first.map(|table| &**table).ok_or_else(|| Error::usage("1 to 65536 tables can be asked together"))
}

/// Checks that every number of a batch names a table.
fn check_ids(ids: &[u16], tables: usize) {
    assert!(ids.iter().all(|&id| usize::from(id) < tables), "every number names one of {tables} tables");
}

/// The bytes set aside for a part: an eighth and a little more than it has.
fn room(bytes: usize) -> usize {
    bytes + bytes / 8 + (64 << 10)
}

/// Checks that the parts fit into what was set aside for them.
fn check_room(lengths: [usize; PARTS], rooms: [usize; PARTS]) -> Result<(), Error> {
    for part in 0..PARTS {
        if lengths[part] > rooms[part] {
            return Err(Error::full(PART_NAMES[part], lengths[part], rooms[part]));
        }
    }
    Ok(())
}
