//! [`Twin`]: a device made of threads, whose kernels are the host's own.
//!
//! Every lane is a thread that takes a batch and gives it back: asynchronous as a card is, and as indifferent to who waits. A [`Script`]
//! makes it slow, or makes it fail at a chosen step, as a card does that falls off the bus: from then on nothing works.
#![allow(unsafe_code, reason = "the kernels' bodies are called on the twin's own copies of tables")]

use super::{Device, Grid, Image, Kernel, Lane, check_room, room};
use crate::Error;
use crate::host;
use crate::table::{PARTS, Patch, Version};
use fibula::memory::{Array, Pages};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How a twin behaves; may be changed while it works.
#[derive(Debug)]
pub struct Script {
    /// The steps (start, finish, patch) that still work.
    steps_left: AtomicU64,
    /// Nanoseconds that an address takes at least.
    nanoseconds: AtomicU64,
}

impl Default for Script {
    fn default() -> Self {
        Self { steps_left: AtomicU64::new(u64::MAX), nanoseconds: AtomicU64::new(0) }
    }
}

impl Script {
    /// Lets so many more steps work, and none after them.
    pub fn fail_after(&self, steps: u64) {
        self.steps_left.store(steps, Ordering::SeqCst);
    }

    /// Makes every address take at least so long.
    pub fn slow_down(&self, nanoseconds: u64) {
        self.nanoseconds.store(nanoseconds, Ordering::SeqCst);
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
    /// What it does, to be changed.
    #[must_use]
    pub fn script(&self) -> &Script {
        &self.script
    }
}

/// A table in a twin's memory, which is the processor's.
#[derive(Debug)]
pub struct TwinTable {
    kernel: Kernel,
    version: Version,
    parts: [Array<u8>; PARTS],
}

impl Device for Twin {
    type Table = TwinTable;
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
        Ok(TwinTable { kernel: image.kernel, version: image.version, parts: image.parts.map(copy) })
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
        let buffer = |bytes| Some(Array::zeroed(capacity * bytes, Pages::Small));
        Ok(TwinLane {
            script: Arc::clone(&self.script),
            kernel,
            input: buffer(kernel.address_bytes()),
            output: buffer(kernel.answer_bytes()),
            answered: 0,
            to_worker: Some(to_worker),
            from_worker,
            worker: Some(worker),
        })
    }
}

/// A batch as it goes to a lane's thread and back.
struct Batch {
    table: Arc<TwinTable>,
    input: Array<u8>,
    output: Array<u8>,
    count: usize,
}

impl Batch {
    fn run(&mut self, script: &Script) {
        let start = Instant::now();
        answer(&self.table, &self.input, &mut self.output, self.count);
        let least = Duration::from_nanos(script.nanoseconds.load(Ordering::SeqCst) * self.count as u64);
        thread::sleep(least.saturating_sub(start.elapsed()));
    }
}

/// What a kernel does.
fn answer(table: &TwinTable, input: &Array<u8>, output: &mut Array<u8>, count: usize) {
    let kernel = table.kernel;
    let addresses = &input[..count * kernel.address_bytes()];
    let next_hops = &mut output[..count * kernel.answer_bytes()];
    // SAFETY: the parts came from an image, and only patches onto its very version changed them: they are a table as its host had
    // it. Addresses and answers are arrays, which begin on cache lines.
    unsafe { host::look_up_bytes(kernel, table.parts.each_ref().map(|part| &part[..]), addresses, next_hops) }
}

/// A lane of a twin. The buffers are away while a batch is under way.
#[derive(Debug)]
pub struct TwinLane {
    script: Arc<Script>,
    kernel: Kernel,
    input: Option<Array<u8>>,
    output: Option<Array<u8>>,
    answered: usize,
    to_worker: Option<Sender<Batch>>,
    from_worker: Receiver<Batch>,
    worker: Option<JoinHandle<()>>,
}

impl TwinLane {
    /// Runs the kernel again on the batch that it had last.
    pub(super) fn kernel_again(&mut self, table: &TwinTable, count: usize) {
        let (input, output) = (self.input.as_ref().expect(UNDER_WAY), self.output.as_mut().expect(UNDER_WAY));
        answer(table, input, output, count);
    }
}

const UNDER_WAY: &str = "no batch is under way";

impl Lane for TwinLane {
    type Table = TwinTable;

    fn input(&mut self) -> Result<&mut [u8], Error> {
        Ok(self.input.as_mut().expect(UNDER_WAY))
    }

    fn set_grid(&mut self, _: Option<Grid>) {}

    fn start(&mut self, table: &Arc<TwinTable>, count: usize) -> Result<(), Error> {
        self.script.step()?;
        let (input, output) = (self.input.take().expect(UNDER_WAY), self.output.take().expect(UNDER_WAY));
        assert!(
            count * self.kernel.address_bytes() <= input.len(),
            "a lane takes no more than it has room for"
        );
        let batch = Batch { table: Arc::clone(table), input, output, count };
        let worker = self.to_worker.as_ref();
        let sent = worker.is_some_and(|to_worker| to_worker.send(batch).is_ok());
        if sent { Ok(()) } else { Err(Error::fault(NAME, "its thread is gone")) }
    }

    fn finish(&mut self) -> Result<&[u8], Error> {
        assert!(self.input.is_none(), "a batch is under way");
        let batch = self.from_worker.recv().map_err(|_| Error::fault(NAME, "its thread is gone"))?;
        self.answered = batch.count * self.kernel.answer_bytes();
        self.input = Some(batch.input);
        let output = self.output.insert(batch.output);
        self.script.step()?;
        Ok(&output[..self.answered])
    }
}

impl Drop for TwinLane {
    fn drop(&mut self) {
        self.to_worker = None; // ends the thread
        if let Some(worker) = self.worker.take() {
            // A thread that panicked has been heard already.
            let _ = worker.join();
        }
    }
}
