//! One engine's speed on a device for `fibula bench --device`, and its answers for `fibula verify
//! --device`.

use super::{Workload, quantile};
use crate::cooperative::{Cooperative, Options, Report};
use crate::device::{Kernel, Lane, Measured};
use crate::table::any::compile;
use crate::{Answer, Error, Key, Resident};
use fibula::engine::WidthBits;
use fibula::{NextHop, NextHopSlice};
use serde::Serialize;
use std::panic::resume_unwind;
use std::time::Instant;
use zerocopy::IntoBytes;

/// The number of runs when the kernel is timed alone.
const KERNEL_RUNS: u32 = 10;

/// One engine's figures on a device. Speeds are medians over passes, in millions of lookups a
/// second. There are none where an answer was wrong.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceRow {
    /// The engine.
    pub engine: String,
    /// `ipv4` or `ipv6`.
    pub family: String,
    /// The table's name.
    pub table: String,
    /// Its routes.
    pub prefixes: usize,
    /// The trace's name.
    pub trace: String,
    /// The number of addresses that each pass streams.
    pub addresses: usize,
    /// The device's name, with the number of the processor's threads if they took part, or that fed
    /// it if there were several.
    pub device: String,
    /// The addresses of a batch, or of a divided buffer.
    pub batch: usize,
    /// Batches on the device at once.
    pub lanes: usize,
    /// End to end from host-resident addresses to host-resident next hops.
    pub mlps: Option<f64>,
    /// The slowest pass.
    pub mlps_min: Option<f64>,
    /// The fastest pass.
    pub mlps_max: Option<f64>,
    /// The kernel only, on one batch.
    pub kernel_mlps: Option<f64>,
    /// The median latency of a batch, in microseconds.
    pub latency_us_p50: Option<f64>,
    /// The device's share, of 1.
    pub share: f64,
    /// The table's bytes on the device.
    pub bytes: usize,
    /// The time of compiling and copying the table, in milliseconds.
    pub build_ms: f64,
    /// Answers that were compared with the right ones.
    pub checked: usize,
    /// The number of wrong answers.
    pub mismatches: usize,
    /// Why the device failed, if it did.
    pub fault: Option<String>,
}

/// Measures an engine on a device, alone or with the processor. `right` has the answers of every
/// `stride`-th address; the answers of the last pass are compared with them.
///
/// `feeders` threads each have a part of the addresses and lanes of their own: one thread copies
/// much less a second between ordinary and page-locked memory than the link carries. The processor
/// takes part beside one feeder only.
///
/// # Errors
/// If the table does not fit, or the device does not take it. A later failure of the device is in
/// the row.
pub fn race<D: Measured + Clone, A: Key>(
    device: &D,
    workload: &Workload<'_, A>,
    trace: &str,
    (right, stride): (&[NextHop], usize),
    options: Options,
    feeders: usize,
    passes: usize,
) -> Result<DeviceRow, Error> {
    let start = Instant::now();
    let table = compile(workload.engine, Some(workload.fib.width()), workload.rib)?;
    let image = table.image();
    let resident = Resident::new(device.clone(), image)?;
    let build_ms = start.elapsed().as_secs_f64() * 1000.0;
    let mut speeds = Vec::new();
    let (mut latencies, mut last) = (Vec::new(), Report::default());
    let mut answers = Vec::new();
    let feeders = if options.threads == 0 { feeders.max(1) } else { 1 };
    let feeder = |_| Cooperative::new(&resident, workload.fib, image.kernel(), options);
    let mut fed = (0..feeders).map(feeder).collect::<Result<Vec<_>, _>>()?;
    for pass in 0..=passes {
        (last, answers) = widened(&mut fed, workload.addresses, workload.fib.width(), |elapsed| {
            speeds.push(workload.addresses.len() as f64 / elapsed / 1e6);
        });
        if pass == 0 {
            speeds.clear(); // a warm-up
        }
        latencies.extend(last.latencies.iter().map(|latency| latency.as_secs_f64() * 1e6));
    }
    let wrong = |(index, right): (usize, &NextHop)| answers[index * stride] != *right;
    let mismatches = right.iter().enumerate().filter(|&found| wrong(found)).count();
    let good = mismatches == 0 && last.fault.is_none();
    let kernel_mlps =
        if good { Some(kernel_alone(image.kernel(), workload, &resident, options.buffer)?) } else { None };
    let speed = |part| (mismatches == 0).then(|| quantile(&mut speeds.clone(), part));
    let threads = match (options.threads, feeders) {
        (0, 1) => String::new(),
        (0, feeders) => format!(" fed by {feeders} threads"),
        (threads, _) => format!(" and {threads} threads"),
    };
    Ok(DeviceRow {
        engine: workload.engine.into(),
        family: A::FAMILY.to_string(),
        table: workload.table.into(),
        prefixes: workload.rib.len(),
        trace: trace.into(),
        addresses: workload.addresses.len(),
        device: device.name() + &threads,
        batch: options.buffer,
        lanes: options.lanes,
        mlps: speed(0.5),
        mlps_min: speed(0.0),
        mlps_max: speed(1.0),
        kernel_mlps,
        latency_us_p50: (!latencies.is_empty()).then(|| quantile(&mut latencies, 0.5)),
        share: last.share,
        bytes: image.bytes(),
        build_ms,
        checked: right.len(),
        mismatches,
        fault: last.fault.map(|fault| fault.to_string()),
    })
}

/// Returns the answers of a device for addresses. Where the device has failed, they are the
/// processor's, and the second value says why.
///
/// # Errors
/// See [`race`].
pub fn answers<D: Measured + Clone, A: Key>(
    device: &D,
    workload: &Workload<'_, A>,
    options: Options,
) -> Result<(Vec<NextHop>, Option<Error>), Error> {
    let table = compile(workload.engine, Some(workload.fib.width()), workload.rib)?;
    let resident = Resident::new(device.clone(), table.image())?;
    let both = Cooperative::new(&resident, workload.fib, table.image().kernel(), options)?;
    let (report, answers) = widened(&mut [both], workload.addresses, workload.fib.width(), |_| {});
    Ok((answers, report.fault))
}

/// Looks up addresses at the width of the table, a part of them by each feeder. Calls `timed` with
/// the seconds, without those of allocating and widening.
fn widened<D: Measured, A: Key>(
    feeders: &mut [Cooperative<'_, D, A>],
    addresses: &[A],
    width: WidthBits,
    timed: impl FnOnce(f64),
) -> (Report, Vec<NextHop>) {
    fn at_width<D: Measured, A: Key, W: Answer>(
        feeders: &mut [Cooperative<'_, D, A>],
        addresses: &[A],
        timed: impl FnOnce(f64),
    ) -> (Report, Vec<NextHop>)
    where
        for<'s> NextHopSlice<'s>: From<&'s mut [W]>,
    {
        // Not zero: an answer that was never written must not look right.
        let mut found = vec![W::narrow(NextHop(W::MAX)); addresses.len()];
        let part = addresses.len().div_ceil(feeders.len()).max(1);
        let start = Instant::now();
        let reports: Vec<Report> = std::thread::scope(|scope| {
            let parts = addresses.chunks(part).zip(found.chunks_mut(part));
            let fed = feeders.iter_mut().zip(parts);
            let started: Vec<_> = fed
                .map(|(feeder, (addresses, found))| scope.spawn(|| feeder.look_up(addresses, found)))
                .collect();
            started
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
                .collect()
        });
        timed(start.elapsed().as_secs_f64());
        let report = reports.into_iter().reduce(Report::and).unwrap_or_default();
        (report, found.into_iter().map(W::widen).collect())
    }
    match width {
        WidthBits::U8 => at_width::<D, A, u8>(feeders, addresses, timed),
        WidthBits::U16 => at_width::<D, A, u16>(feeders, addresses, timed),
        WidthBits::U32 => at_width::<D, A, u32>(feeders, addresses, timed),
    }
}

/// Returns the kernel's own speed in millions of lookups a second.
fn kernel_alone<D: Measured, A: Key>(
    kernel: Kernel,
    workload: &Workload<'_, A>,
    resident: &Resident<D>,
    batch: usize,
) -> Result<f64, Error> {
    let batch = batch.min(workload.addresses.len());
    let mut lane = resident.device().lane(kernel, batch)?;
    lane.input()?[..batch * size_of::<A>()].copy_from_slice(workload.addresses[..batch].as_bytes());
    let placed = resident.table();
    lane.start(&placed, batch)?;
    lane.finish()?;
    let seconds = resident.device().kernel_seconds(&mut lane, &placed, batch, KERNEL_RUNS)?;
    Ok(batch as f64 / seconds / 1e6)
}
