//! The sweep over batches, lanes and threads, and the sweep over divided buffers.

use super::{CooperativeRow, Plan, SweepRow, Workload, quantile};
use crate::cooperative::{Cooperative, Division, Options};
use crate::device::{Lane, Measured};
use crate::{Answer, Error, Key, Resident};
use fibula::NextHopSlice;
use fibula::engine::WidthBits;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;
use zerocopy::IntoBytes;

/// The most addresses in lanes at once: page-locked memory is scarce.
const IN_LANES: usize = 1 << 26;

/// The number of runs when a kernel is timed alone.
const KERNEL_RUNS: u32 = 10;

/// The largest batch for which every number of lanes is measured with every number of threads, as
/// in SAIL. Above it, threads vary with the most lanes alone.
const CROSSED: usize = 90_000;

/// Measures every batch size with the numbers of lanes and threads of the plan. Each answer is
/// compared with the processor's afterwards.
///
/// # Errors
/// If the table does not fit, or the device fails.
pub fn sweep<D: Measured, A: Key>(
    device: &D,
    workload: &Workload<'_, A>,
    plan: &Plan,
    each: &mut dyn FnMut(&SweepRow),
) -> Result<Vec<SweepRow>, Error> {
    let table = crate::table::any::compile(workload.engine, Some(workload.fib.width()), workload.rib)?;
    let image = table.image();
    let placed = Arc::new(device.place(image)?);
    let mut rows = Vec::new();
    for &batch in &plan.batches {
        let fit = (IN_LANES / batch).max(1);
        let counts: Vec<usize> = plan.lanes.iter().copied().filter(|&count| count <= fit).collect();
        let most = counts.iter().copied().max().unwrap_or(1);
        let asked: Vec<A> = workload.addresses.iter().copied().cycle().take(batch * most).collect();
        let right = expected(workload, &asked);
        let mut lanes =
            (0..most).map(|_| device.lane(image.kernel(), batch)).collect::<Result<Vec<_>, _>>()?;
        for &grid in &plan.grids {
            for lane in &mut lanes {
                lane.set_grid(grid);
            }
            let mismatches = wrong(&mut lanes, &placed, batch, asked.as_bytes(), &right)?;
            // The kernel alone runs on the lane's last batch.
            let kernel = device.kernel_seconds(&mut lanes[0], &placed, batch, KERNEL_RUNS)?;
            let all = batch <= CROSSED || grid.is_none();
            for &count in counts.iter().filter(|&&count| all || count == most) {
                let (mlps, mut latencies) = stream(&mut lanes[..count], &placed, batch, plan.seconds)?;
                let row = SweepRow {
                    engine: workload.engine.into(),
                    batch,
                    lanes: count,
                    blocks: grid.map(|grid| grid.blocks),
                    threads: grid.map(|grid| grid.threads),
                    mlps,
                    latency_us_p50: quantile(&mut latencies, 0.5),
                    latency_us_p99: quantile(&mut latencies, 0.99),
                    kernel_mlps: batch as f64 / kernel / 1e6,
                    mismatches,
                };
                each(&row);
                rows.push(row);
            }
        }
    }
    Ok(rows)
}

/// Returns the processor's answers, as bytes.
fn expected<A: Key>(workload: &Workload<'_, A>, addresses: &[A]) -> Vec<u8> {
    fn of_width<A: Key, W: Answer>(workload: &Workload<'_, A>, addresses: &[A]) -> Vec<u8>
    where
        for<'s> NextHopSlice<'s>: From<&'s mut [W]>,
    {
        let mut answers = vec![W::default(); addresses.len()];
        workload.fib.lookup_batch_into(addresses, &mut answers[..]);
        answers.as_bytes().to_vec()
    }
    match workload.fib.width() {
        WidthBits::U8 => of_width::<A, u8>(workload, addresses),
        WidthBits::U16 => of_width::<A, u16>(workload, addresses),
        WidthBits::U32 => of_width::<A, u32>(workload, addresses),
    }
}

/// Keeps all lanes busy for some seconds. Returns millions of lookups a second, and the latency of
/// each batch in microseconds.
fn stream<L: Lane>(
    lanes: &mut [L],
    table: &Arc<L::Table>,
    batch: usize,
    seconds: f64,
) -> Result<(f64, Vec<f64>), Error> {
    let mut latencies = Vec::new();
    let mut under_way: VecDeque<(usize, Instant)> = VecDeque::new();
    let start = Instant::now();
    let mut next = 0;
    loop {
        let ends = start.elapsed().as_secs_f64() > seconds && latencies.len() >= lanes.len();
        if under_way.len() == lanes.len() || ends {
            let Some((lane, started)) = under_way.pop_front() else { break };
            lanes[lane].finish()?;
            latencies.push(started.elapsed().as_secs_f64() * 1e6);
        }
        if !ends {
            under_way.push_back((next, Instant::now()));
            lanes[next].start(table, batch)?;
            next = (next + 1) % lanes.len();
        }
    }
    let mlps = (latencies.len() * batch) as f64 / start.elapsed().as_secs_f64() / 1e6;
    Ok((mlps, latencies))
}

/// Gives each lane its batch of the addresses, all at once, and counts the answers that differ from
/// the right ones. Every lane first looks up zeros, so that an answer that is not written is wrong.
fn wrong<L: Lane>(
    lanes: &mut [L],
    table: &Arc<L::Table>,
    batch: usize,
    addresses: &[u8],
    right: &[u8],
) -> Result<usize, Error> {
    let (address_bytes, answer_bytes) = (addresses.len() / lanes.len(), right.len() / lanes.len());
    for zeros in [true, false] {
        for (lane, addresses) in lanes.iter_mut().zip(addresses.chunks(address_bytes)) {
            let input = &mut lane.input()?[..address_bytes];
            if zeros {
                input.fill(0);
            } else {
                input.copy_from_slice(addresses);
            }
            lane.start(table, batch)?;
        }
        if zeros {
            lanes.iter_mut().try_for_each(|lane| lane.finish().map(drop))?;
        }
    }
    let mut wrong = 0;
    for (lane, right) in lanes.iter_mut().zip(right.chunks(answer_bytes)) {
        let size = answer_bytes / batch;
        let found = lane.finish()?.chunks(size);
        wrong += found.zip(right.chunks(size)).filter(|(found, right)| found != right).count();
    }
    Ok(wrong)
}

/// Measures buffers of every size of the plan: the processor alone, the device alone, both;
/// synchronous and double-buffered.
///
/// # Errors
/// If the table does not fit, or the device fails.
pub fn cooperative<D: Measured + Clone, A: Key>(
    device: &D,
    workload: &Workload<'_, A>,
    plan: &Plan,
    each: &mut dyn FnMut(&CooperativeRow),
) -> Result<Vec<CooperativeRow>, Error> {
    match workload.fib.width() {
        WidthBits::U8 => divided::<D, A, u8>(device, workload, plan, each),
        WidthBits::U16 => divided::<D, A, u16>(device, workload, plan, each),
        WidthBits::U32 => divided::<D, A, u32>(device, workload, plan, each),
    }
}

fn divided<D: Measured + Clone, A: Key, W: Answer>(
    device: &D,
    workload: &Workload<'_, A>,
    plan: &Plan,
    each: &mut dyn FnMut(&CooperativeRow),
) -> Result<Vec<CooperativeRow>, Error>
where
    for<'s> NextHopSlice<'s>: From<&'s mut [W]>,
{
    let table = crate::table::any::compile(workload.engine, Some(workload.fib.width()), workload.rib)?;
    let resident = Resident::new(device.clone(), table.image())?;
    let mut expected = vec![W::default(); workload.addresses.len()];
    workload.fib.lookup_batch_into(workload.addresses, &mut expected[..]);
    let mut rows = Vec::new();
    for &buffer in &plan.buffers {
        for (mode, lanes) in [("synchronous", 1), ("double-buffered", 2)] {
            let mut mismatches = 0;
            let mut speed = |division, threads| {
                let options = Options { buffer, lanes, threads, division };
                let mut both = Cooperative::new(&resident, workload.fib, table.image().kernel(), options)?;
                let mut found = vec![W::default(); expected.len()];
                both.look_up(workload.addresses, &mut found); // warms up and learns the speeds
                let mut latencies = Vec::new();
                let (start, mut passes, mut share) = (Instant::now(), 0, 0.0);
                while passes == 0 || start.elapsed().as_secs_f64() < plan.seconds {
                    let report = both.look_up(workload.addresses, &mut found);
                    if let Some(fault) = report.fault {
                        return Err(fault);
                    }
                    share = report.share;
                    latencies.extend(report.latencies.iter().map(|latency| latency.as_secs_f64() * 1e6));
                    passes += 1;
                }
                let elapsed = start.elapsed().as_secs_f64();
                mismatches += found.iter().zip(&expected).filter(|(found, right)| found != right).count();
                let mlps = (expected.len() * passes) as f64 / elapsed / 1e6;
                Ok((mlps, share, quantile(&mut latencies, 0.5)))
            };
            // Alone, the processor also has the thread that otherwise drives the device.
            let (processor_mlps, ..) = speed(Division::Processor, plan.threads + 1)?;
            let (device_mlps, _, device_us_p50) = speed(Division::Device, 0)?;
            let (both_mlps, share, both_us_p50) = speed(Division::Profiled, plan.threads)?;
            let row = CooperativeRow {
                engine: workload.engine.into(),
                buffer,
                mode,
                processor_mlps,
                device_mlps,
                both_mlps,
                share,
                gain: both_mlps / processor_mlps.max(device_mlps),
                device_us_p50,
                both_us_p50,
                mismatches,
            };
            each(&row);
            rows.push(row);
        }
    }
    Ok(rows)
}
