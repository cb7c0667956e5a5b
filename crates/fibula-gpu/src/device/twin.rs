//! [`Twin`]: a device made of threads, whose kernels are the host's own.
//!
//! Every lane is a thread that takes a batch and returns it, asynchronous as a card is. A
//! [`Script`] makes it slow, or makes it fail at a chosen step, like a card that falls off the bus:
//! from then on every call fails.
#![allow(unsafe_code, reason = "the kernels' bodies are called on the twin's own copies of tables")]

use super::{Device, Grid, Image, Kernel, Lane, check_ids, check_room, first_of, room};
use crate::Error;
use crate::table::{PARTS, Patch, Version};
use fibula::parts::memory::{Array, Pages};
use fibula_image::host;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The behaviour of a twin. It may be changed while the twin works.
#[derive(Debug)]
pub struct Script {
    /// The number of steps (start, finish, patch) that still work.
    steps_left: AtomicU64,
    /// The least nanoseconds per address.
    nanoseconds: AtomicU64,
    /// Whether no batch ends.
    is_silent: AtomicBool,
}

impl Default for Script {
    fn default() -> Self {
        let (steps_left, nanoseconds) = (AtomicU64::new(u64::MAX), AtomicU64::new(0));
        Self { steps_left, nanoseconds, is_silent: AtomicBool::new(false) }
    }
}

impl Script {
    /// Lets `steps` more steps work, and none after them.
    pub fn fail_after(&self, steps: u64) {
        self.steps_left.store(steps, Ordering::SeqCst);
    }

    /// Makes every address take at least this time.
    pub fn slow_down(&self, nanoseconds: u64) {
        self.nanoseconds.store(nanoseconds, Ordering::SeqCst);
    }

    /// Sets whether the twin is silent, like a card that hangs: batches in progress do not end. A
    /// lane that has one must not be dropped before the twin answers again.
    pub fn be_silent(&self, is_silent: bool) {
        self.is_silent.store(is_silent, Ordering::SeqCst);
    }

    fn step(&self) -> Result<(), Error> {
        let left = self.steps_left.try_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        left.map(|_| ()).map_err(|_| Error::fault(NAME, "it fell off the bus, as its script says"))
    }
}

const NAME: &str = "the processor's twin of a card";

/// The device.
#[derive(Clone, Debug, Default)]
pub struct Twin {
    script: Arc<Script>,
}

impl Twin {
    /// Returns the twin's script, to change it.
    #[must_use]
    pub fn script(&self) -> &Script {
        &self.script
    }
}

/// A table in a twin's memory, which is the host's.
#[derive(Debug)]
pub struct TwinTable {
    kernel: Kernel,
    version: Version,
    parts: [Array<u8>; PARTS],
}

/// Several tables.
#[derive(Debug)]
pub struct TwinTables {
    kernel: Kernel,
    tables: Vec<Arc<TwinTable>>,
}

impl Device for Twin {
    type Table = TwinTable;
    type Tables = TwinTables;
    type Lane = TwinLane;

    fn name(&self) -> String {
        NAME.into()
    }

    fn place(&self, image: Image<'_>) -> Result<TwinTable, Error> {
        self.script.step()?;
        let copy = |part: &[u8]| {
            let mut bytes = Array::zeroed(room(part.len()), Pages::Small);
            bytes[..part.len()].copy_from_slice(part);
            bytes
        };
        Ok(TwinTable { kernel: image.kernel(), version: image.version(), parts: image.parts().map(copy) })
    }

    fn patch(&self, table: &mut TwinTable, patch: &Patch) -> Result<(), Error> {
        self.script.step()?;
        check_room(patch.lengths(), table.parts.each_ref().map(|part| part.len()))?;
        for piece in patch.onto(table.version)? {
            table.parts[piece.part][piece.at..piece.at + piece.bytes.len()].copy_from_slice(&piece.bytes);
        }
        table.version = patch.after();
        Ok(())
    }

    fn lane(&self, kernel: Kernel, capacity: usize) -> Result<TwinLane, Error> {
        self.lane_with(kernel, capacity, None)
    }

    fn together(&self, tables: &[Arc<TwinTable>]) -> Result<TwinTables, Error> {
        self.script.step()?;
        let kernel = first_of(tables)?.kernel;
        kernel.check_all(tables.iter().map(|table| table.kernel))?;
        Ok(TwinTables { kernel, tables: tables.to_vec() })
    }

    fn lane_of_many(&self, kernel: Kernel, capacity: usize) -> Result<TwinLane, Error> {
        self.lane_with(kernel, capacity, Some(Array::zeroed(capacity, Pages::Small)))
    }
}

impl Twin {
    fn lane_with(&self, kernel: Kernel, capacity: usize, ids: Option<Array<u16>>) -> Result<TwinLane, Error> {
        self.script.step()?;
        let (to_worker, work) = channel::<Batch>();
        let (done, from_worker) = channel();
        let script = Arc::clone(&self.script);
        let worker = thread::spawn(move || {
            for mut batch in work {
                batch.run(&script);
                if done.send(batch).is_err() {
                    return;
                }
            }
        });
        let buffer = |bytes| Array::zeroed(capacity * bytes, Pages::Small);
        let (input, output) = (buffer(kernel.address_bytes()), buffer(kernel.answer_bytes()));
        Ok(TwinLane {
            script: Arc::clone(&self.script),
            kernel,
            buffers: Some(Buffers { input, ids, output }),
            answered: 0,
            to_worker: Some(to_worker),
            from_worker,
            worker: Some(worker),
        })
    }
}

/// The table or tables that a batch is looked up in.
#[derive(Clone, Debug)]
enum Asked {
    One(Arc<TwinTable>),
    Many(Arc<TwinTables>),
}

/// A lane's memory.
#[derive(Debug)]
struct Buffers {
    input: Array<u8>,
    /// The tables' numbers, of a lane of many.
    ids: Option<Array<u16>>,
    output: Array<u8>,
}

/// A batch on its way to a lane's thread and back.
struct Batch {
    asked: Asked,
    buffers: Buffers,
    count: usize,
}

impl Batch {
    fn run(&mut self, script: &Script) {
        let start = Instant::now();
        match &self.asked {
            Asked::One(table) => answer(table, &mut self.buffers, self.count),
            Asked::Many(tables) => answer_of_many(tables, &mut self.buffers, self.count),
        }
        let least = Duration::from_nanos(script.nanoseconds.load(Ordering::SeqCst) * self.count as u64);
        thread::sleep(least.saturating_sub(start.elapsed()));
        while script.is_silent.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_micros(100));
        }
    }
}

/// Runs a kernel.
fn answer(table: &TwinTable, Buffers { input, output, .. }: &mut Buffers, count: usize) {
    let kernel = table.kernel;
    let addresses = &input[..count * kernel.address_bytes()];
    let next_hops = &mut output[..count * kernel.answer_bytes()];
    // SAFETY: the parts came from an image, and only patches for its very version changed them, so
    // they are a table as the host had it. Addresses and answers are arrays, which begin on cache
    // lines.
    unsafe { host::look_up_bytes(kernel, table.parts.each_ref().map(|part| &part[..]), addresses, next_hops) }
}

/// Runs a kernel of many tables.
fn answer_of_many(tables: &TwinTables, Buffers { input, ids, output }: &mut Buffers, count: usize) {
    let kernel = tables.kernel;
    let addresses = &input[..count * kernel.address_bytes()];
    let next_hops = &mut output[..count * kernel.answer_bytes()];
    let ids = &ids.as_ref().expect(OF_MANY)[..count];
    let parts: Vec<[&[u8]; PARTS]> =
        tables.tables.iter().map(|table| table.parts.each_ref().map(|part| &part[..])).collect();
    // SAFETY: as in `answer`, for every table; all are of this kernel.
    unsafe { host::look_up_bytes_of_many(kernel, &parts, ids, addresses, next_hops) }
}

/// A lane of a twin. Its thread has the buffers while a batch is in progress.
#[derive(Debug)]
pub struct TwinLane {
    script: Arc<Script>,
    kernel: Kernel,
    buffers: Option<Buffers>,
    answered: usize,
    to_worker: Option<Sender<Batch>>,
    from_worker: Receiver<Batch>,
    worker: Option<JoinHandle<()>>,
}

impl TwinLane {
    /// Runs the kernel again on the last batch.
    pub(super) fn kernel_again(&mut self, table: &TwinTable, count: usize) {
        answer(table, self.buffers(), count);
    }

    fn buffers(&mut self) -> &mut Buffers {
        self.buffers.as_mut().expect(UNDER_WAY)
    }

    fn send(&mut self, asked: Asked, count: usize) -> Result<(), Error> {
        self.script.step()?;
        let buffers = self.buffers.take().expect(UNDER_WAY);
        assert!(
            count * self.kernel.address_bytes() <= buffers.input.len(),
            "a lane takes no more than it has room for"
        );
        let batch = Batch { asked, buffers, count };
        let worker = self.to_worker.as_ref();
        let sent = worker.is_some_and(|to_worker| to_worker.send(batch).is_ok());
        if sent { Ok(()) } else { Err(Error::fault(NAME, "its thread is gone")) }
    }
}

const UNDER_WAY: &str = "no batch is under way";

const OF_MANY: &str = "a lane of many";

impl Lane for TwinLane {
    type Table = TwinTable;
    type Tables = TwinTables;

    fn input(&mut self) -> Result<&mut [u8], Error> {
        Ok(&mut self.buffers().input)
    }

    fn table_ids(&mut self) -> Result<&mut [u16], Error> {
        Ok(self.buffers().ids.as_mut().expect(OF_MANY))
    }

    fn set_grid(&mut self, _: Option<Grid>) {}

    fn start(&mut self, table: &Arc<TwinTable>, count: usize) -> Result<(), Error> {
        self.send(Asked::One(Arc::clone(table)), count)
    }

    fn start_of_many(&mut self, tables: &Arc<TwinTables>, count: usize) -> Result<(), Error> {
        check_ids(&self.table_ids()?[..count], tables.tables.len());
        self.send(Asked::Many(Arc::clone(tables)), count)
    }

    fn finish(&mut self) -> Result<&[u8], Error> {
        assert!(self.buffers.is_none(), "a batch is under way");
        let batch = self.from_worker.recv().map_err(|_| Error::fault(NAME, "its thread is gone"))?;
        self.answered = batch.count * self.kernel.answer_bytes();
        let buffers = self.buffers.insert(batch.buffers);
        self.script.step()?;
        Ok(&buffers.output[..self.answered])
    }
}

impl Drop for TwinLane {
    fn drop(&mut self) {
        self.to_worker = None; // ends the thread
        if let Some(worker) = self.worker.take() {
            // The panic of a thread was reported already.
            let _ = worker.join();
        }
    }
}
