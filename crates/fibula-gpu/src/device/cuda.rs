//! [`Cuda`]: one CUDA card.
//!
//! Synchronisation: a lane's copies and kernel are on its own stream, in order. A table is written
//! on another stream. The host waits for that before any lane can use the table, and frees it when
//! no batch holds it. So no stream waits for another on the card.
#![allow(unsafe_code, reason = "the driver is called here and in `measure`")]

use super::{Device, Grid, Image, Kernel, Lane, SILENCE, check_ids, check_room, first_of, room};
use crate::table::{PARTS, Patch, Version};
use crate::{Error, nvrtc};
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute};
use cudarc::driver::{
    CudaContext, CudaEvent, CudaFunction, CudaModule, CudaSlice, CudaStream, DevicePtr, DevicePtrMut,
    DeviceRepr, DriverError, LaunchConfig, PinnedHostSlice, PushKernelArg, result,
};
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Instant;

/// A card, as `fibula devices` prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// Its index among the cards, from 0.
    pub ordinal: usize,
    /// Its name.
    pub name: String,
    /// Its memory in bytes.
    pub memory_bytes: u64,
    /// Its streaming multiprocessors.
    pub multiprocessors: u32,
    /// The second-level cache in bytes.
    pub l2_bytes: u64,
    /// The compute capability.
    pub capability: (i32, i32),
    /// The newest CUDA version that the driver supports, as `13.0`.
    pub driver: String,
}

/// Returns the cards of this machine.
///
/// # Errors
/// If there is no driver or no card, with the reason.
pub fn cards() -> Result<Vec<Card>, Error> {
    let known = |error: DriverError| Error::no_card(said(error));
    driver()?;
    let count = CudaContext::device_count().map_err(known)?;
    if count == 0 {
        return Err(Error::no_card("the driver is here, but sees none"));
    }
    (0..count as usize)
        .map(|ordinal| card(&*CudaContext::new(ordinal).map_err(known)?).map_err(known))
        .collect()
}

/// Loads the driver.
fn driver() -> Result<(), Error> {
    // SAFETY: asks the loader for NVIDIA's driver by its name; its initializers only set up itself.
    if !unsafe { sys::is_culib_present() } {
        return Err(Error::no_card("the driver (libcuda.so) is not here"));
    }
    result::init().map_err(|error| Error::no_card(said(error)))
}

fn card(context: &CudaContext) -> Result<Card, DriverError> {
    let attribute = |attribute| context.attribute(attribute).map(|value| value as u64);
    let mut version = 0;
    // SAFETY: writes the one integer.
    unsafe { sys::cuDriverGetVersion(&raw mut version) }.result()?;
    Ok(Card {
        ordinal: context.ordinal(),
        name: context.name()?,
        memory_bytes: context.total_mem()? as u64,
        multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as u32,
        l2_bytes: attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?,
        capability: context.compute_capability()?,
        driver: format!("{}.{}", version / 1000, version % 1000 / 10),
    })
}

/// Returns enough threads to fill a card, and no more blocks than the addresses need.
fn grid(multiprocessors: u32, count: usize) -> Grid {
    /// The threads of a block; a multiprocessor runs at most eight blocks of them at once.
    const THREADS: u32 = 256;
    let fill = multiprocessors * (2048 / THREADS);
    let blocks = count.div_ceil(THREADS as usize).clamp(1, fill as usize) as u32;
    Grid { blocks, threads: THREADS }
}

/// Returns the driver's name of an error.
fn said(error: DriverError) -> String {
    format!("{:?}", error.0)
}

/// One card with the kernels loaded.
#[derive(Clone, Debug)]
pub struct Cuda {
    pub(super) card: Card,
    pub(super) context: Arc<CudaContext>,
    pub(super) module: Arc<CudaModule>,
    /// The stream on which tables are written.
    pub(super) writing: Arc<CudaStream>,
}

/// A table in a card's memory.
#[derive(Debug)]
pub struct CudaTable {
    kernel: Kernel,
    pub(super) version: Version,
    pub(super) parts: [CudaSlice<u8>; PARTS],
    pub(super) pointers: DevicePointers,
}

/// Several tables, and an array of their pointers.
#[derive(Debug)]
pub struct CudaTables {
    /// Keeps the tables allocated as long as the array is used.
    tables: Vec<Arc<CudaTable>>,
    pointers: CudaSlice<DevicePointers>,
}

/// The table or tables of a batch, held until the batch is finished.
type Asked = Arc<dyn Debug + Send + Sync>;

/// `struct fibula_table`, on the card.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct DevicePointers([u64; PARTS]);

// SAFETY: plain integers, in the layout of the kernels' own struct of pointers.
unsafe impl DeviceRepr for DevicePointers {}

impl Cuda {
    /// Opens a card, and compiles and loads the kernels for it.
    ///
    /// # Errors
    /// If there is no such card, or no NVRTC.
    pub fn open(ordinal: usize) -> Result<Self, Error> {
        driver()?;
        let known = |error: DriverError| Error::no_card(said(error));
        let context = CudaContext::new(ordinal).map_err(known)?;
        let card = card(&context).map_err(known)?;
        // SAFETY: nothing here is used on two streams at once; see this module's page.
        unsafe { context.disable_event_tracking() };
        let module = context.load_module(nvrtc::compile(card.capability)?).map_err(known)?;
        let writing = context.new_stream().map_err(known)?;
        Ok(Self { card, context, module, writing })
    }

    /// Returns the card's description.
    #[must_use]
    pub fn card(&self) -> &Card {
        &self.card
    }

    /// See [`grid`].
    pub(super) fn grid(&self, count: usize) -> Grid {
        grid(self.card.multiprocessors, count)
    }

    pub(super) fn function(&self, name: &str) -> Result<CudaFunction, Error> {
        self.module.load_function(name).map_err(self.fault())
    }

    /// Makes an error of this card from the driver's error.
    pub(super) fn fault(&self) -> impl Fn(DriverError) -> Error + use<> {
        let name = self.card.name.clone();
        move |error| Error::fault(&name, said(error))
    }

    /// Copies bytes to the card and waits until the copy is done.
    fn write(&self, part: &mut CudaSlice<u8>, at: usize, bytes: &[u8]) -> Result<(), DriverError> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.writing.memcpy_htod(bytes, &mut part.slice_mut(at..at + bytes.len()))
    }
}

impl Device for Cuda {
    type Table = CudaTable;
    type Tables = CudaTables;
    type Lane = CudaLane;

    fn name(&self) -> String {
        self.card.name.clone()
    }

    fn place(&self, image: Image<'_>) -> Result<CudaTable, Error> {
        let place = |bytes: &[u8]| {
            let mut part = self.writing.alloc_zeros::<u8>(room(bytes.len()))?;
            self.write(&mut part, 0, bytes)?;
            Ok(part)
        };
        let [root, nodes, leaves, chains, ends] = image.parts();
        let placed = || Ok([place(root)?, place(nodes)?, place(leaves)?, place(chains)?, place(ends)?]);
        let parts = placed().map_err(self.fault())?;
        self.writing.synchronize().map_err(self.fault())?;
        let pointers = DevicePointers(parts.each_ref().map(|part| part.device_ptr(&self.writing).0));
        Ok(CudaTable { kernel: image.kernel(), version: image.version(), parts, pointers })
    }

    fn patch(&self, table: &mut CudaTable, patch: &Patch) -> Result<(), Error> {
        check_room(patch.lengths(), table.parts.each_ref().map(CudaSlice::len))?;
        for piece in patch.onto(table.version)? {
            self.write(&mut table.parts[piece.part], piece.at, &piece.bytes).map_err(self.fault())?;
        }
        self.writing.synchronize().map_err(self.fault())?;
        table.version = patch.after();
        Ok(())
    }

    fn lane(&self, kernel: Kernel, capacity: usize) -> Result<CudaLane, Error> {
        self.lane_with(kernel, capacity, false)
    }

    fn together(&self, tables: &[Arc<CudaTable>]) -> Result<CudaTables, Error> {
        let kernel = first_of(tables)?.kernel;
        kernel.check_all(tables.iter().map(|table| table.kernel))?;
        let pointers: Vec<DevicePointers> = tables.iter().map(|table| table.pointers).collect();
        let pointers = self.writing.clone_htod(&pointers).map_err(self.fault())?;
        self.writing.synchronize().map_err(self.fault())?;
        Ok(CudaTables { tables: tables.to_vec(), pointers })
    }

    fn lane_of_many(&self, kernel: Kernel, capacity: usize) -> Result<CudaLane, Error> {
        self.lane_with(kernel, capacity, true)
    }
}

impl Cuda {
    fn lane_with(&self, kernel: Kernel, capacity: usize, of_many: bool) -> Result<CudaLane, Error> {
        let function = self.function(&if of_many { kernel.name_of_many() } else { kernel.name() })?;
        let made = || {
            let stream = self.context.new_stream()?;
            let bytes = [capacity * kernel.address_bytes(), capacity * kernel.answer_bytes()];
            // SAFETY: any bytes are valid bytes. The host reads neither buffer before it is
            // written; the card's kernels accept any address.
            let [input, output] = unsafe {
                [
                    self.context.alloc_pinned_with_flags(bytes[0], 0)?,
                    self.context.alloc_pinned_with_flags(bytes[1], 0)?,
                ]
            };
            let addresses = stream.alloc_zeros(bytes[0])?;
            let next_hops = stream.alloc_zeros(bytes[1])?;
            let ids = if of_many {
                // SAFETY: any numbers are valid numbers, and `start_of_many` has checked those that
                // a kernel gets.
                let own_ids = unsafe { self.context.alloc_pinned_with_flags(capacity, 0)? };
                Some((own_ids, stream.alloc_zeros(capacity)?))
            } else {
                None
            };
            let done = self.context.new_event(None)?;
            stream.synchronize()?;
            Ok(CudaLane {
                device: self.clone(),
                kernel,
                function: function.clone(),
                grid: None,
                stream,
                done,
                buffers: Some(Buffers { input, output, addresses, next_hops, ids }),
                under_way: None,
            })
        };
        made().map_err(self.fault())
    }
}

const OF_MANY: &str = "a lane of many";

/// A lane's memory, on the host and on the card.
#[derive(Debug)]
pub(super) struct Buffers {
    pub(super) input: PinnedHostSlice<u8>,
    pub(super) output: PinnedHostSlice<u8>,
    pub(super) addresses: CudaSlice<u8>,
    pub(super) next_hops: CudaSlice<u8>,
    /// The tables' numbers, on both sides, of a lane of many.
    ids: Option<(PinnedHostSlice<u16>, CudaSlice<u16>)>,
}

/// A stream of a card, with its buffers.
#[derive(Debug)]
pub struct CudaLane {
    pub(super) device: Cuda,
    pub(super) kernel: Kernel,
    pub(super) function: CudaFunction,
    pub(super) grid: Option<Grid>,
    pub(super) stream: Arc<CudaStream>,
    done: CudaEvent,
    /// `None` after the card has not answered: it might still write to the buffers.
    pub(super) buffers: Option<Buffers>,
    /// The batch's table, and the bytes of its answers.
    under_way: Option<(Asked, usize)>,
}

impl CudaLane {
    /// Returns the buffers, and the closure that makes an error of this card.
    pub(super) fn parts(&mut self) -> Result<(&mut Buffers, impl Fn(DriverError) -> Error + use<>), Error> {
        let fault = self.device.fault();
        let lost = || Error::fault(&self.device.card.name, "it has not answered before");
        self.buffers.as_mut().map(|buffers| (buffers, fault)).ok_or_else(lost)
    }

    /// Starts the kernel alone, on the addresses that are already on the card.
    pub(super) fn launch(&mut self, table: &CudaTable, count: usize) -> Result<(), Error> {
        let (shape, stream, function) = self.shape(count);
        let (buffers, fault) = self.parts()?;
        let count = count as u64;
        let mut launch = stream.launch_builder(&function);
        launch.arg(&table.pointers).arg(&buffers.addresses).arg(&mut buffers.next_hops).arg(&count);
        // SAFETY: the arguments are those of the lookup kernels, in their order: a table of this
        // kernel's layout, and `count` addresses and answers, for which `copy_in` has checked the
        // room.
        unsafe { launch.launch(shape) }.map(|_| ()).map_err(fault)
    }

    /// Does the same for a lane of many.
    fn launch_of_many(&mut self, tables: &CudaTables, count: usize) -> Result<(), Error> {
        let (shape, stream, function) = self.shape(count);
        let (buffers, fault) = self.parts()?;
        let count = count as u64;
        let mut launch = stream.launch_builder(&function);
        let (_, ids) = buffers.ids.as_ref().expect(OF_MANY);
        launch.arg(&tables.pointers).arg(ids).arg(&buffers.addresses);
        launch.arg(&mut buffers.next_hops).arg(&count);
        // SAFETY: as above. There is one number per address, and each names a table
        // (`start_of_many`).
        unsafe { launch.launch(shape) }.map(|_| ()).map_err(fault)
    }

    fn shape(&self, count: usize) -> (LaunchConfig, Arc<CudaStream>, CudaFunction) {
        let Grid { blocks, threads } = self.grid.unwrap_or_else(|| self.device.grid(count));
        let shape =
            LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (threads, 1, 1), shared_mem_bytes: 0 };
        (shape, Arc::clone(&self.stream), self.function.clone())
    }

    /// Begins a batch. From here on the card may use the buffers and the tables, until `finish` or
    /// `drop` has waited.
    fn copy_in(&mut self, asked: Asked, count: usize) -> Result<(), Error> {
        assert!(self.under_way.is_none(), "no batch is under way");
        let (address_bytes, answer_bytes) =
            (count * self.kernel.address_bytes(), count * self.kernel.answer_bytes());
        self.under_way = Some((asked, answer_bytes));
        let stream = Arc::clone(&self.stream);
        let (buffers, fault) = self.parts()?;
        assert!(address_bytes <= buffers.input.len(), "a lane takes no more than it has room for");
        let input = &buffers.input.as_slice().map_err(&fault)?[..address_bytes];
        let to = buffers.addresses.device_ptr_mut(&stream).0;
        // SAFETY: both have at least `address_bytes` bytes, and stay untouched until the host has
        // waited for the stream.
        unsafe { result::memcpy_htod_async(to, input, stream.cu_stream()) }.map_err(&fault)?;
        if let Some((own_ids, ids)) = &mut buffers.ids {
            let own_ids = &own_ids.as_slice().map_err(&fault)?[..count];
            let to = ids.device_ptr_mut(&stream).0;
            // SAFETY: as above, for `count` numbers.
            unsafe { result::memcpy_htod_async(to, own_ids, stream.cu_stream()) }.map_err(&fault)?;
        }
        Ok(())
    }

    /// Enqueues the copy of the answers.
    fn copy_out(&mut self, count: usize) -> Result<(), Error> {
        let answer_bytes = count * self.kernel.answer_bytes();
        let stream = Arc::clone(&self.stream);
        let (buffers, fault) = self.parts()?;
        let from = buffers.next_hops.device_ptr(&stream).0;
        let output = &mut buffers.output.as_mut_slice().map_err(&fault)?[..answer_bytes];
        // SAFETY: as in `copy_in`, for the answers.
        unsafe { result::memcpy_dtoh_async(output, from, stream.cu_stream()) }.map_err(&fault)?;
        self.done.record(&stream).map_err(fault)
    }
}

impl Lane for CudaLane {
    type Table = CudaTable;
    type Tables = CudaTables;

    fn input(&mut self) -> Result<&mut [u8], Error> {
        assert!(self.under_way.is_none(), "no batch is under way");
        let (buffers, fault) = self.parts()?;
        buffers.input.as_mut_slice().map_err(fault)
    }

    fn set_grid(&mut self, grid: Option<Grid>) {
        self.grid = grid;
    }

    fn start(&mut self, table: &Arc<CudaTable>, count: usize) -> Result<(), Error> {
        self.copy_in(Arc::clone(table) as Asked, count)?;
        self.launch(table, count)?;
        self.copy_out(count)
    }

    fn table_ids(&mut self) -> Result<&mut [u16], Error> {
        assert!(self.under_way.is_none(), "no batch is under way");
        let (buffers, fault) = self.parts()?;
        let (own_ids, _) = buffers.ids.as_mut().expect(OF_MANY);
        own_ids.as_mut_slice().map_err(fault)
    }

    fn start_of_many(&mut self, tables: &Arc<CudaTables>, count: usize) -> Result<(), Error> {
        check_ids(&self.table_ids()?[..count], tables.tables.len());
        self.copy_in(Arc::clone(tables) as Asked, count)?;
        self.launch_of_many(tables, count)?;
        self.copy_out(count)
    }

    fn finish(&mut self) -> Result<&[u8], Error> {
        let answer_bytes = self.under_way.as_ref().expect("a batch is under way").1;
        let fault = self.device.fault();
        let start = Instant::now();
        // Polls in a loop: a batch takes microseconds, and so does waking up.
        while !self.done.try_is_complete().map_err(&fault)? {
            if start.elapsed() > SILENCE {
                std::mem::forget((self.buffers.take(), self.under_way.take()));
                return Err(Error::fault(&self.device.card.name, "it does not answer"));
            }
            std::hint::spin_loop();
        }
        self.under_way = None;
        let (buffers, fault) = self.parts()?;
        Ok(&buffers.output.as_slice().map_err(fault)?[..answer_bytes])
    }
}

impl Drop for CudaLane {
    fn drop(&mut self) {
        // The buffers and the table are freed only when the card no longer uses them. After an
        // error the card is lost, and does not use them either.
        if self.under_way.is_some() {
            let _ = self.stream.synchronize();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_fills_the_card_and_no_more() {
        let blocks = |count| grid(132, count).blocks;
        assert_eq!([0, 1, 257, 30_000, 1 << 24, usize::MAX].map(blocks), [1, 1, 2, 118, 1056, 1056]);
    }
}
