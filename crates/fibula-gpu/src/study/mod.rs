//! The studies of a device: SAIL's sweep (section 6.4, Figures 13 and 14), the division between
//! processor and device (the Bloom filter paper's section 6.7, Figure 9), updates under load, and
//! the limits of the link and the memory.
//!
//! What a figure means:
//! - **Kernel only**: addresses and answers stay in the device's memory. The mean of runs directly
//!   after each other.
//! - **End to end**: from page-locked memory to page-locked memory. Copy in, kernel and copy out
//!   overlap over lanes.
//! - **Latency**: of one batch, from its start until its answers are back, while the other lanes
//!   are busy.
//! - **Host-resident**: addresses and answers are in ordinary memory, so that the processor also
//!   copies each once.
//!
//! Nothing here depends on CUDA: the tests run the same studies on the twin.

mod drive;
mod race;
mod updates;

pub use drive::{cooperative, sweep};
pub use race::{DeviceRow, answers, race};
pub use updates::updates;

use crate::device::{Grid, Measured};
use crate::{Error, Key};
use fibula::{Fib, Rib};
use serde::Serialize;

/// The table and addresses of a study.
#[derive(Clone, Copy, Debug)]
pub struct Workload<'w, A: Key> {
    /// The table's name.
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

/// The values that a study tries.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The numbers of addresses of a batch.
    pub batches: Vec<usize>,
    /// The numbers of lanes.
    pub lanes: Vec<usize>,
    /// Threads; `None` is the device's own choice.
    pub grids: Vec<Option<Grid>>,
    /// The numbers of addresses of a buffer that processor and device divide.
    pub buffers: Vec<usize>,
    /// The number of threads of the processor, without the one that drives the device.
    pub threads: usize,
    /// The numbers of changes of a burst.
    pub bursts: Vec<usize>,
    /// The least seconds of each measurement.
    pub seconds: f64,
}

impl Plan {
    /// Returns the values that the papers try, as far as they fit today's cards: SAIL's batches and
    /// on to 16M, 1 to 24 streams, 64 to 512 blocks of 128 to 1,024 threads; the Bloom filter
    /// paper's buffers of 1K to 16M.
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
            seconds: 0.03,
        }
    }
}

/// One point of the sweep. All speeds are in millions of lookups a second.
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
    /// The 99th percentile of the latency.
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
    /// Both together.
    pub both_mlps: f64,
    /// The device's share at the end.
    pub share: f64,
    /// Both over the better one alone.
    pub gain: f64,
    /// The median time of a whole buffer on the device alone, from its start until its answers are
    /// back, in microseconds.
    pub device_us_p50: f64,
    /// The same of the device's part of a divided buffer. The processor's part takes about as long:
    /// so it is divided.
    pub both_us_p50: f64,
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
    /// Changes per second, bursts directly after each other.
    pub updates_per_s: f64,
    /// The time from the change of the routing table until batches are given the new version: the
    /// median, in microseconds.
    pub visible_us_p50: f64,
    /// The 99th percentile of the same.
    pub visible_us_p99: f64,
    /// The median bytes of a patch.
    pub bytes_p50: f64,
    /// Millions of lookups a second before the changes.
    pub mlps_before: f64,
    /// The same during the changes.
    pub mlps_during: f64,
}

/// The limits of the device and its link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Limits {
    /// The engine of the table.
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
    /// Million random sectors of 32 bytes per second, out of as many bytes as the table has.
    pub gather_m: f64,
}

impl Limits {
    /// Measures the limits.
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

    /// Returns the lookups that the link allows, in millions a second. Both directions run at once;
    /// the slower one counts.
    #[must_use]
    pub fn copy_mlps(&self) -> f64 {
        let way = |gbs: f64, bytes: usize| gbs * 1e3 / bytes as f64;
        way(self.copy_in_gbs, self.address_bytes).min(way(self.copy_out_gbs, self.answer_bytes))
    }
}

/// All results of one engine on one table.
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

/// Returns the value that a share of the sorted values does not pass; 0 of none.
fn quantile(values: &mut [f64], part: f64) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    values.get((last as f64 * part).round() as usize).copied().unwrap_or_default()
}
