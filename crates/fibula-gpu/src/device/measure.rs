//! [`Measured`]: the parts of a batch, timed by the card's clock. The twin uses the processor's
//! clock, so that studies run without a card.
#![allow(unsafe_code, reason = "the driver is called here and in `cuda`")]

use super::cuda::{CudaLane, CudaTable};
use super::twin::{TwinLane, TwinTable};
use super::{Cuda, Measured, Twin};
use crate::Error;
use cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;
use cudarc::driver::{CudaStream, DevicePtrMut, DriverError, LaunchConfig, PushKernelArg, result};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

/// The number of times that a copy is repeated.
const COPIES: u32 = 8;

/// The number of sectors that each thread reads.
const ROUNDS: u64 = 256;

/// Returns the seconds on the card's clock of the work that `work` enqueues.
fn timed<E>(
    stream: &Arc<CudaStream>,
    fault: impl Fn(DriverError) -> Error,
    work: impl FnOnce() -> Result<(), E>,
) -> Result<f64, Error>
where
    Error: From<E>,
{
    let start = stream.record_event(Some(CU_EVENT_DEFAULT)).map_err(&fault)?;
    work()?;
    let end = stream.record_event(Some(CU_EVENT_DEFAULT)).map_err(&fault)?;
    Ok(f64::from(start.elapsed_ms(&end).map_err(&fault)?) / 1000.0)
}

impl Measured for Cuda {
    fn kernel_seconds(
        &self,
        lane: &mut CudaLane,
        table: &CudaTable,
        count: usize,
        runs: u32,
    ) -> Result<f64, Error> {
        let stream = Arc::clone(&lane.stream);
        lane.launch(table, count)?; // warms up
        let all = timed(&stream, self.fault(), || (0..runs).try_for_each(|_| lane.launch(table, count)))?;
        Ok(all / f64::from(runs))
    }

    fn copy_rates(&self, bytes: usize) -> Result<(f64, f64), Error> {
        let fault = self.fault();
        let stream = self.context.new_stream().map_err(&fault)?;
        // SAFETY: bytes of any value are bytes.
        let mut host = unsafe { self.context.alloc_pinned_with_flags::<u8>(bytes, 0) }.map_err(&fault)?;
        host.as_mut_slice().map_err(&fault)?.fill(0);
        let mut device = stream.alloc_zeros::<u8>(bytes).map_err(&fault)?;
        let place = device.device_ptr_mut(&stream).0;
        let rate = |seconds: f64| bytes as f64 * f64::from(COPIES) / seconds;
        let raw = stream.cu_stream();
        let input = host.as_slice().map_err(&fault)?;
        // SAFETY: both are `bytes` long, and untouched until `timed` has waited for the end.
        let copy_in = || unsafe { result::memcpy_htod_async(place, input, raw) }.map_err(&fault);
        copy_in()?; // warms up
        let seconds_in = timed(&stream, &fault, || (0..COPIES).try_for_each(|_| copy_in()))?;
        let output = host.as_mut_slice().map_err(&fault)?;
        // SAFETY: as above.
        let mut copy_out = || unsafe { result::memcpy_dtoh_async(output, place, raw) }.map_err(&fault);
        let seconds_out = timed(&stream, &fault, || (0..COPIES).try_for_each(|_| copy_out()))?;
        Ok((rate(seconds_in), rate(seconds_out)))
    }

    fn gather_rate(&self, bytes: usize) -> Result<f64, Error> {
        let fault = self.fault();
        let stream = self.context.new_stream().map_err(&fault)?;
        let function = self.function("gather")?;
        let sectors = (bytes / 32).max(1) as u64;
        let words = stream.alloc_zeros::<u32>(sectors as usize * 8).map_err(&fault)?;
        let threads = self.grid(usize::MAX);
        let count = u64::from(threads.blocks) * u64::from(threads.threads);
        let mut sums = stream.alloc_zeros::<u32>(count as usize).map_err(&fault)?;
        let shape = LaunchConfig {
            grid_dim: (threads.blocks, 1, 1),
            block_dim: (threads.threads, 1, 1),
            shared_mem_bytes: 0,
        };
        let mut launch = || {
            let mut launch = stream.launch_builder(&function);
            launch.arg(&words).arg(&sectors).arg(&ROUNDS).arg(&mut sums);
            // SAFETY: the arguments of `gather`: it reads words below `sectors * 8` and writes one
            // sum per thread.
            unsafe { launch.launch(shape) }.map(|_| ()).map_err(&fault)
        };
        launch()?; // warms up
        let seconds = timed(&stream, &fault, || (0..COPIES).try_for_each(|_| launch()))?;
        Ok((count * ROUNDS * u64::from(COPIES)) as f64 / seconds)
    }
}

impl Measured for Twin {
    fn kernel_seconds(
        &self,
        lane: &mut TwinLane,
        table: &TwinTable,
        count: usize,
        runs: u32,
    ) -> Result<f64, Error> {
        let start = Instant::now();
        (0..runs).for_each(|_| lane.kernel_again(table, count));
        Ok(start.elapsed().as_secs_f64() / f64::from(runs))
    }

    fn copy_rates(&self, bytes: usize) -> Result<(f64, f64), Error> {
        let (from, mut to) = (vec![1_u8; bytes], vec![0_u8; bytes]);
        let mut rate = || {
            let start = Instant::now();
            to.copy_from_slice(black_box(&from));
            bytes as f64 / start.elapsed().as_secs_f64().max(1e-9)
        };
        Ok((rate(), rate()))
    }

    fn gather_rate(&self, bytes: usize) -> Result<f64, Error> {
        let words = vec![1_u32; bytes.div_ceil(32) * 8];
        let sectors = words.len() as u64 / 8;
        let (start, mut state, mut sum) = (Instant::now(), 1_u64, 0);
        for _ in 0..ROUNDS * 1024 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            sum += words[((u128::from(state) * u128::from(sectors)) >> 64) as usize * 8];
        }
        black_box(sum);
        Ok((ROUNDS * 1024) as f64 / start.elapsed().as_secs_f64().max(1e-9))
    }
}
