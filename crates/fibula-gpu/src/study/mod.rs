//! The studies of a device: SAIL's sweep (section 6.4, Figures 13 and 14), the division between processor and device (the Bloom
//! filter paper's section 6.7, Figure 9), updates under load, and the limits that all of it is held against.
//!
//! What a figure means here:
//! - **Kernel only**: addresses and answers stay in the device's memory; the mean of runs directly after each other.
//! - **End to end**: from page-locked memory to page-locked memory: copy in, kernel, copy out, overlapped over lanes.
//! - **Latency**: of one batch, from its start until its answers are back, while the other lanes are busy.
//! - **Host-resident**: addresses and answers in ordinary memory, so that each is also copied once by the processor.
//!
//! Nothing here knows of CUDA: the same studies run on the twin, which is how they are tested.

mod drive;
mod page;
mod race;
mod updates;

pub use drive::{cooperative, sweep};
pub use page::{MADE_BELOW, page, with_made};
pub use race::{DeviceRow, answers, race};
pub use updates::updates;

use crate::device::{Grid, Measured};
use crate::{Error, Key};
use fibula::{Fib, Rib};
use serde::Serialize;

/// What is looked up in what.
#[derive(Clone, Copy, Debug)]
pub struct Workload<'w, A: Key> {
    /// What the table is called.
    pub table: &'w str,
    /// The table.
    pub rib: &'w Rib<A>,
    /// The engine whose kernel runs.
    pub engine: &'w str,
    /// The addresses; at least one.
    pub addresses: &'w [A],
    /// The same table on the processor, with answers of the same width.
    pub fib: &'w Fib<A>,
}

/// What to try.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Batches of so many addresses.
    pub batches: Vec<usize>,
    /// So many lanes.
    pub lanes: Vec<usize>,
    /// Threads; `None` is the device's own choice.
    pub grids: Vec<Option<Grid>>,
    /// Buffers that processor and device divide.
    pub buffers: Vec<usize>,
    /// Threads of the processor, the one that drives the device not counted.
    pub threads: usize,
    /// Changes at once.
    pub bursts: Vec<usize>,
    /// Each measurement takes at least so many seconds.
    pub seconds: f64,
}

impl Plan {
    /// What the papers try, as far as it makes sense on today's cards: SAIL's batches and on to 16M, 1 to 24 streams, 64 to 512
    /// blocks of 128 to 1,024 threads; the Bloom filter paper's buffers of 1K to 16M.
    #[must_use]
    pub fn of_the_papers() -> Self {
        let grids = [64, 128, 256, 512]
            .into_iter()
            .flat_map(|blocks| [128, 256, 512, 1024].map(|threads| Some(Grid { blocks, threads })));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            batches: vec![30_000, 60_000, 90_000, 1 << 18, 1 << 20, 1 << 22, 1 << 24],
            lanes: vec![1, 2, 4, 8, 12, 16, 20, 24],
            grids: std::iter::once(None).chain(grids).collect(),
            buffers: (10..=24).step_by(2).map(|bits| 1 << bits).collect(),
            threads: (cores - 1).max(1),
            bursts: vec![1, 10, 100, 1000],
            seconds: 0.05,
        }
    }
}

/// One point of the sweep. All speeds are millions of lookups a second.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SweepRow {
    /// The engine.
    pub engine: String,
    /// The addresses of a batch.
    pub batch: usize,
    /// The lanes.
    pub lanes: usize,
    /// The blocks of a kernel; none for the device's own choice.
    pub blocks: Option<u32>,
    /// The threads of a block.
    pub threads: Option<u32>,
    /// End to end.
    pub mlps: f64,
    /// The median latency in microseconds.
    pub latency_us_p50: f64,
    /// The latency that one of a hundred batches passes.
    pub latency_us_p99: f64,
    /// Kernel only.
    pub kernel_mlps: f64,
    /// Answers that differ from the processor's.
    pub mismatches: usize,
}

/// One size of buffer that processor and device divide.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CooperativeRow {
    /// The engine.
    pub engine: String,
    /// The addresses of a buffer.
    pub buffer: usize,
    /// `synchronous` or `double-buffered`.
    pub mode: &'static str,
    /// The processor alone, all its threads.
    pub processor_mlps: f64,
    /// The device alone.
    pub device_mlps: f64,
    /// Both.
    pub both_mlps: f64,
    /// The device's part at the end.
    pub share: f64,
    /// Both against the better one alone.
    pub gain: f64,
    /// Answers that differ from the processor's.
    pub mismatches: usize,
}

/// Bursts of one size under load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UpdateRow {
    /// The engine.
    pub engine: String,
    /// The changes of a burst.
    pub burst: usize,
    /// Changes a second, bursts directly after each other.
    pub updates_per_s: f64,
    /// From the change of the routing table until batches are given the new version: the median, in microseconds.
    pub visible_us_p50: f64,
    /// The same, passed by one burst of a hundred.
    pub visible_us_p99: f64,
    /// The median bytes of a patch.
    pub bytes_p50: f64,
    /// Millions of lookups a second before the changes.
    pub mlps_before: f64,
    /// And during them.
    pub mlps_during: f64,
}

/// What the device and its link can do at most.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Limits {
    /// The engine whose table it is for.
    pub engine: String,
    /// The table's bytes on the device.
    pub bytes: usize,
    /// The bytes of an address.
    pub address_bytes: usize,
    /// The bytes of an answer.
    pub answer_bytes: usize,
    /// Gigabytes a second to the device.
    pub copy_in_gbs: f64,
    /// Gigabytes a second back.
    pub copy_out_gbs: f64,
    /// Million random sectors of 32 bytes a second out of as many bytes.
    pub gather_m: f64,
}

impl Limits {
    /// Measures them.
    ///
    /// # Errors
    /// If the device fails.
    pub fn of<D: Measured, A: Key>(device: &D, workload: &Workload<'_, A>) -> Result<Self, Error> {
        const COPIED: usize = 64 << 20;
        let table = crate::table::any::compile(workload.engine, Some(workload.fib.width()), workload.rib)?;
        let image = table.image();
        let (copy_in, copy_out) = device.copy_rates(COPIED)?;
        Ok(Self {
            engine: workload.engine.into(),
            bytes: image.bytes(),
            address_bytes: image.kernel().address_bytes(),
            answer_bytes: image.kernel().answer_bytes(),
            copy_in_gbs: copy_in / 1e9,
            copy_out_gbs: copy_out / 1e9,
            gather_m: device.gather_rate(image.bytes())? / 1e6,
        })
    }

    /// The lookups that the link lets through, in millions a second: both ways at once, the slower one counts.
    #[must_use]
    pub fn copy_mlps(&self) -> f64 {
        let way = |gbs: f64, bytes: usize| gbs * 1e3 / bytes as f64;
        way(self.copy_in_gbs, self.address_bytes).min(way(self.copy_out_gbs, self.answer_bytes))
    }
}

/// All of one engine on one table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Study {
    /// The engine.
    pub engine: String,
    /// `ipv4` or `ipv6`.
    pub family: String,
    /// The table.
    pub table: String,
    /// Its prefixes.
    pub prefixes: usize,
    /// See [`Limits`].
    pub limits: Limits,
    /// See [`sweep`].
    pub sweep: Vec<SweepRow>,
    /// See [`cooperative`].
    pub cooperative: Vec<CooperativeRow>,
    /// See [`updates`].
    pub updates: Vec<UpdateRow>,
}

/// The value that a part of the sorted values does not pass; 0 of none.
fn quantile(values: &mut [f64], part: f64) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    values.get((last as f64 * part).round() as usize).copied().unwrap_or_default()
}
