//! Bursts of changes while batches run.

use super::{Plan, UpdateRow, Workload, quantile};
use crate::device::{Lane, Measured};
use crate::{Error, Key, Resident};
use fibula::Change;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use zerocopy::IntoBytes;

/// The addresses of the batches that run at the same time.
const BATCH: usize = 1 << 20;

/// Measures bursts of every size of the plan out of `changes`, while one lane is kept busy.
///
/// # Errors
/// If the table does not fit, or the device fails.
pub fn updates<D: Measured + Clone, A: Key>(
    device: &D,
    workload: &Workload<'_, A>,
    changes: &[Change<A>],
    plan: &Plan,
    each: &mut dyn FnMut(&UpdateRow),
) -> Result<Vec<UpdateRow>, Error> {
    let mut rows = Vec::new();
    for &burst in plan.bursts.iter().filter(|&&burst| burst <= changes.len()) {
        let row = one_size(device, workload, changes, burst, plan.seconds)?;
        each(&row);
        rows.push(row);
    }
    Ok(rows)
}

fn one_size<D: Measured + Clone, A: Key>(
    device: &D,
    workload: &Workload<'_, A>,
    changes: &[Change<A>],
    burst: usize,
    seconds: f64,
) -> Result<UpdateRow, Error> {
    let mut rib = workload.rib.clone();
    let mut table = crate::table::any::compile(workload.engine, Some(workload.fib.width()), &rib)?;
    let resident = Resident::new(device.clone(), table.image())?;
    let kernel = table.image().kernel();
    let (ended, done) = (AtomicBool::new(false), AtomicUsize::new(0));
    let looked_up = |during: &mut dyn FnMut() -> Result<(), Error>| {
        let (before, start) = (done.load(Ordering::SeqCst), Instant::now());
        during()?;
        Ok::<f64, Error>((done.load(Ordering::SeqCst) - before) as f64 / start.elapsed().as_secs_f64() / 1e6)
    };
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let batch = BATCH.min(workload.addresses.len());
            let mut lane = device.lane(kernel, batch)?;
            lane.input()?[..batch * size_of::<A>()].copy_from_slice(workload.addresses[..batch].as_bytes());
            while !ended.load(Ordering::SeqCst) {
                lane.start(&resident.table(), batch)?;
                lane.finish()?;
                done.fetch_add(batch, Ordering::SeqCst);
            }
            Ok(())
        });
        let measured = (|| {
            let mlps_before = looked_up(&mut || {
                std::thread::sleep(Duration::from_secs_f64(seconds));
                Ok(())
            })?;
            let (mut delays, mut bytes, mut applied) = (Vec::new(), Vec::new(), 0);
            let start = Instant::now();
            let mlps_during = looked_up(&mut || {
                for changes in changes.chunks(burst) {
                    let begin = Instant::now();
                    let deltas = rib.apply_all(changes.iter().copied()).deltas;
                    let changed: Vec<_> = deltas.iter().map(|delta| delta.prefix).collect();
                    let patch = table.follow(&rib, &changed)?;
                    let published = resident.update(table.image(), patch)?;
                    delays.push(begin.elapsed().as_secs_f64() * 1e6);
                    bytes.push(published.bytes as f64);
                    applied += changes.len();
                    if start.elapsed().as_secs_f64() > 10.0 * seconds {
                        break;
                    }
                }
                Ok(())
            })?;
            Ok(UpdateRow {
                engine: workload.engine.into(),
                burst,
                updates_per_s: applied as f64 / start.elapsed().as_secs_f64(),
                visible_us_p50: quantile(&mut delays, 0.5),
                visible_us_p99: quantile(&mut delays, 0.99),
                bytes_p50: quantile(&mut bytes, 0.5),
                mlps_before,
                mlps_during,
            })
        })();
        ended.store(true, Ordering::SeqCst);
        let read: Result<(), Error> = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        read.and(measured)
    })
}
