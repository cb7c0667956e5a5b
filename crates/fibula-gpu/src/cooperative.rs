//! [`Cooperative`]: the processor and a device on one stream of addresses.
//!
//! Lucchesi, Drummond and Teodoro, "High-performance IP lookup using Intel Xeon Phi" (JISA 9,
//! 2018), section 4.4. Addresses come in buffers. Each buffer is divided between the processor's
//! threads and the device in proportion to their speeds. Each side alone is measured before the
//! first division ([profiling](Cooperative::profile)) and, since speeds drift, all the time. One
//! thread only drives the device. The processor's threads are pinned to the last cores, so that the
//! first is left to it. With one lane the device is used synchronously, with two it is
//! double-buffered, with more it is used like SAIL's streams.
//!
//! ```text
//!                 ┌─ share ──▶ lanes of the device ──┐
//!   buffer of addresses                              ├──▶ next hops, each in its address's place
//!                 └─ rest ───▶ threads, 16K a time ──┘
//! ```
//! A device that fails loses nothing: the processor answers what the device has not, and the report
//! says why.

use crate::device::{Device, Kernel, Lane};
use crate::{Answer, Error, Key, Resident};
use core_affinity::CoreId;
use fibula::{Fib, NextHopSlice};
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use zerocopy::IntoBytes;

/// The number of addresses that a thread of the processor takes at once.
const PIECE: usize = 16_384;

/// The most addresses that each side looks up alone before the first division.
const PROFILED: usize = 4 * PIECE;

/// The weight of a new measurement of a speed, of 1.
const NEW: f64 = 0.25;

/// The least share of a buffer: a side without addresses would never be measured again.
const LEAST: f64 = 1.0 / 64.0;

/// How to divide.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Division {
    /// All addresses go to the device.
    Device,
    /// All addresses go to the processor.
    Processor,
    /// In proportion to the measured speeds.
    Profiled,
}

/// How to run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The number of addresses that are divided at once.
    pub buffer: usize,
    /// Batches on the device at once: 1 waits for each, 2 copies one while another is looked up.
    pub lanes: usize,
    /// The number of threads of the processor, without the one that drives the device.
    pub threads: usize,
    /// How addresses are divided.
    pub division: Division,
}

impl Default for Options {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self { buffer: 1 << 20, lanes: 2, threads: (cores - 1).max(1), division: Division::Profiled }
    }
}

/// The result of looking up a stream of addresses.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Addresses that the device answered.
    pub on_device: usize,
    /// Addresses that the processor answered.
    pub on_processor: usize,
    /// The device's share of a buffer at the end, of 1.
    pub share: f64,
    /// Why the device failed. The processor has then answered the rest.
    pub fault: Option<Error>,
    /// The time of each batch on the device, from its start until its answers were back.
    pub latencies: Vec<Duration>,
}

impl Report {
    /// Joins the reports of two parts of a stream. The lesser share counts: that of a device which
    /// has failed in one part is none.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.on_device += other.on_device;
        self.on_processor += other.on_processor;
        self.share = self.share.min(other.share);
        self.fault = self.fault.or(other.fault);
        self.latencies.extend(other.latencies);
        self
    }
}

/// The time per address in seconds, as far as it is known. Times are averaged and not speeds: two
/// lanes may end together, which makes the second batch's time zero.
#[derive(Clone, Copy, Debug, Default)]
struct Paces {
    device: Option<f64>,
    processor: Option<f64>,
}

impl Paces {
    fn measured(pace: &mut Option<f64>, count: usize, elapsed: Duration) {
        let now = elapsed.as_secs_f64() / count as f64;
        *pace = Some(pace.map_or(now, |before| before + NEW * (now - before)));
    }

    /// Returns whether neither speed is known.
    fn are_unknown(&self) -> bool {
        self.device.is_none() && self.processor.is_none()
    }

    /// Returns the device's share; half as long as one speed is unknown.
    fn share(&self) -> f64 {
        match (self.device, self.processor) {
            (Some(device), Some(processor)) => (processor / (device + processor)).clamp(LEAST, 1.0 - LEAST),
            _ => 0.5,
        }
    }
}

/// A device and the processor, with one table.
#[derive(Debug)]
pub struct Cooperative<'r, D: Device, A: Key> {
    resident: &'r Resident<D>,
    fib: &'r Fib<A>,
    options: Options,
    lanes: Vec<D::Lane>,
    paces: Paces,
    fault: Option<Error>,
}

/// Addresses for the processor, and the buffer for their answers.
type Piece<'s, A, W> = (&'s [A], &'s mut [W]);

/// A batch that is on the device.
struct Flight<'s, A, W> {
    lane: usize,
    piece: Piece<'s, A, W>,
    start: Instant,
}

impl<'r, D: Device, A: Key> Cooperative<'r, D, A> {
    /// Makes the lanes. `fib` is the same table on the processor, with answers of the kernel's
    /// width.
    ///
    /// # Errors
    /// If an option is 0, or the device fails.
    pub fn new(
        resident: &'r Resident<D>,
        fib: &'r Fib<A>,
        kernel: Kernel,
        options: Options,
    ) -> Result<Self, Error> {
        let Options { buffer, lanes, threads, division } = options;
        if buffer == 0 || lanes == 0 || (threads == 0 && division != Division::Device) {
            return Err(Error::usage("buffer, lanes and threads are at least 1"));
        }
        let lanes = (0..lanes).map(|_| resident.device().lane(kernel, buffer)).collect::<Result<_, _>>()?;
        Ok(Self { resident, fib, options, lanes, paces: Paces::default(), fault: None })
    }

    /// Looks up a stream of addresses: `next_hops[i]` is the answer for `addresses[i]`. The speeds
    /// are kept for the next stream; [profiles](Self::profile) first where there are none. A device
    /// that has failed is not used again.
    ///
    /// # Panics
    /// If the two differ in length, or the answers do not have the width of the processor's table.
    pub fn look_up<W: Answer>(&mut self, addresses: &[A], next_hops: &mut [W]) -> Report
    where
        for<'s> NextHopSlice<'s>: From<&'s mut [W]>,
    {
        assert_eq!(addresses.len(), next_hops.len(), "as many next hops as addresses");
        if self.options.division == Division::Profiled && self.paces.are_unknown() {
            let profiled = addresses.len().min(self.options.buffer).min(PROFILED);
            self.profile(&addresses[..profiled], &mut next_hops[..profiled]);
        }
        self.divide(addresses, next_hops)
    }

    /// Measures the speed of each side alone: the device looks up all addresses, then the
    /// processor. Returns the device's share of later buffers, if they are divided by speed.
    ///
    /// # Panics
    /// See [`look_up`](Self::look_up).
    pub fn profile<W: Answer>(&mut self, addresses: &[A], next_hops: &mut [W]) -> f64
    where
        for<'s> NextHopSlice<'s>: From<&'s mut [W]>,
    {
        let division = self.options.division;
        for alone in [Division::Device, Division::Processor] {
            self.options.division = alone;
            self.divide(addresses, next_hops);
        }
        self.options.division = division;
        self.paces.share()
    }

    fn divide<W: Answer>(&mut self, addresses: &[A], next_hops: &mut [W]) -> Report
    where
        for<'s> NextHopSlice<'s>: From<&'s mut [W]>,
    {
        let fib = self.fib;
        let mut cores = last_cores(self.options.threads);
        let (to_threads, work) = channel::<Piece<'_, A, W>>();
        let (done, from_threads) = channel::<(usize, Duration)>();
        let work = Mutex::new(work);
        std::thread::scope(|scope| {
            for _ in 0..self.options.threads {
                let (work, done, core) = (&work, done.clone(), cores.pop());
                scope.spawn(move || {
                    core.map(core_affinity::set_for_current);
                    loop {
                        // Held only while one piece is taken.
                        let piece = work.lock().ok().and_then(|work| work.recv().ok());
                        let Some((addresses, next_hops)) = piece else { return };
                        let start = Instant::now();
                        fib.lookup_batch_into(addresses, next_hops);
                        if done.send((addresses.len(), start.elapsed())).is_err() {
                            return;
                        }
                    }
                });
            }
            Drive {
                cooperative: self,
                to_threads,
                from_threads,
                waiting: 0,
                flights: VecDeque::new(),
                report: Report::default(),
            }
            .stream(addresses, next_hops)
        })
    }
}

/// Returns the last cores of the machine, one a thread; none if there are fewer cores than threads.
fn last_cores(threads: usize) -> Vec<CoreId> {
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    cores.len().checked_sub(threads).map_or_else(Vec::new, |first| cores[first..].to_vec())
}

/// The state of the driving thread for one stream.
struct Drive<'d, 's, 'r, D: Device, A: Key, W> {
    cooperative: &'d mut Cooperative<'r, D, A>,
    to_threads: Sender<Piece<'s, A, W>>,
    from_threads: Receiver<(usize, Duration)>,
    /// The pieces that the threads have not answered yet.
    waiting: usize,
    flights: VecDeque<Flight<'s, A, W>>,
    report: Report,
}

impl<'s, D: Device, A: Key, W: Answer> Drive<'_, 's, '_, D, A, W>
where
    for<'a> NextHopSlice<'a>: From<&'a mut [W]>,
{
    fn stream(mut self, addresses: &'s [A], next_hops: &'s mut [W]) -> Report {
        let Options { buffer, lanes, threads, .. } = self.cooperative.options;
        let mut last_finish = Instant::now();
        for (addresses, next_hops) in addresses.chunks(buffer).zip(next_hops.chunks_mut(buffer)) {
            if self.flights.len() == lanes {
                last_finish = self.finish(last_finish);
            }
            let count = (addresses.len() as f64 * self.share()).round() as usize;
            let (on_device, on_processor) = addresses.split_at(count);
            let (device_answers, processor_answers) = next_hops.split_at_mut(count);
            // The device first: it works while the threads are woken.
            self.start((on_device, device_answers));
            // At most two buffers wait for the threads, so that a drift in speed shows soon.
            while self.waiting > 2 * buffer.div_ceil(PIECE).max(threads) {
                self.hear();
            }
            self.hand_over((on_processor, processor_answers));
        }
        while !self.flights.is_empty() {
            last_finish = self.finish(last_finish);
        }
        while self.waiting > 0 {
            self.hear();
        }
        self.report.share = self.share();
        self.report.fault.clone_from(&self.cooperative.fault);
        self.report
    }

    /// Returns the device's share of the next buffer.
    fn share(&self) -> f64 {
        match self.cooperative.options.division {
            _ if self.cooperative.fault.is_some() => 0.0,
            Division::Device => 1.0,
            Division::Processor => 0.0,
            Division::Profiled => self.cooperative.paces.share(),
        }
    }

    /// Starts a batch on the next lane.
    fn start(&mut self, piece: Piece<'s, A, W>) {
        let Cooperative { resident, lanes, .. } = &mut *self.cooperative;
        if piece.0.is_empty() {
            return;
        }
        let lane = self.flights.back().map_or(0, |flight| (flight.lane + 1) % lanes.len());
        let start = Instant::now();
        let bytes = piece.0.as_bytes();
        let started = lanes[lane].input().map(|input| input[..bytes.len()].copy_from_slice(bytes));
        let started = started.and_then(|()| lanes[lane].start(&resident.table(), piece.0.len()));
        match started {
            Ok(()) => self.flights.push_back(Flight { lane, piece, start }),
            Err(error) => self.give_up(error, piece),
        }
    }

    /// Waits for the oldest batch and returns when it was done. Lanes overlap, so if the batch was
    /// already on the device, its time is measured from the previous finish.
    fn finish(&mut self, last_finish: Instant) -> Instant {
        let Some(Flight { lane, piece, start }) = self.flights.pop_front() else { return last_finish };
        match self.cooperative.lanes[lane].finish() {
            Ok(answers) => {
                piece.1.as_mut_bytes().copy_from_slice(answers);
                let now = Instant::now();
                self.report.on_device += piece.0.len();
                self.report.latencies.push(now - start);
                Paces::measured(
                    &mut self.cooperative.paces.device,
                    piece.0.len(),
                    now - start.max(last_finish),
                );
                now
            }
            Err(error) => {
                self.give_up(error, piece);
                last_finish
            }
        }
    }

    /// Marks the device as failed: the processor takes its batches.
    fn give_up(&mut self, error: Error, piece: Piece<'s, A, W>) {
        self.cooperative.fault.get_or_insert(error);
        let flights = std::mem::take(&mut self.flights);
        self.hand_over(piece);
        for flight in flights {
            self.hand_over(flight.piece);
        }
    }

    /// Gives a piece to the threads, or answers it here if there are none.
    fn hand_over(&mut self, (addresses, next_hops): Piece<'s, A, W>) {
        for (addresses, next_hops) in addresses.chunks(PIECE).zip(next_hops.chunks_mut(PIECE)) {
            self.report.on_processor += addresses.len();
            if self.cooperative.options.threads == 0 {
                self.cooperative.fib.lookup_batch_into(addresses, next_hops);
            } else {
                self.to_threads.send((addresses, next_hops)).expect("the threads listen until the end");
                self.waiting += 1;
            }
        }
    }

    /// Receives one finished piece.
    fn hear(&mut self) {
        let (count, elapsed) = self.from_threads.recv().expect("the threads speak until the end");
        self.waiting -= 1;
        // All threads together are this many times as fast as one.
        let together = elapsed.div_f64(self.cooperative.options.threads as f64);
        Paces::measured(&mut self.cooperative.paces.processor, count, together);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_follows_the_speeds_as_they_drift() {
        let mut paces = Paces::default();
        let mut device = |microseconds: u64| {
            Paces::measured(&mut paces.device, 1000, Duration::from_micros(microseconds));
            Paces::measured(&mut paces.processor, 1000, Duration::from_micros(100));
            paces.share()
        };
        assert!((device(50) - 2.0 / 3.0).abs() < 1e-9, "twice as fast: two thirds");
        let slower: Vec<f64> = (0..30).map(|_| device(400)).collect();
        assert!(slower.is_sorted_by(|a, b| a > b) && (slower[29] - 0.2).abs() < 1e-3, "{slower:?}");
        let faster: Vec<f64> = (0..30).map(|_| device(100)).collect();
        assert!(faster.is_sorted() && (faster[29] - 0.5).abs() < 1e-3, "{faster:?}");
        (0..60).for_each(|_| _ = device(1_000_000));
        assert!((paces.share() - LEAST).abs() < 1e-9, "never nothing");
    }
}
