//! The timed loops.

use crate::answers::Answers;
use core_affinity::CoreId;
use fibula::{Address, Fib, NextHopSlice};
use fibula_engines::parallel::Parallel;
use std::hint::black_box;
use std::sync::Barrier;
use std::time::{Duration, Instant};

/// The most addresses that a thread streams before the clock starts (an eighth of its addresses, at
/// most this). They load the engine's table into the caches and raise the clock frequency.
const MOST_WARM_UP: usize = 1 << 18;

/// Returns the cores to pin threads to, as far as the system lists them.
pub(super) fn cores() -> Vec<CoreId> {
    core_affinity::get_core_ids().unwrap_or_default()
}

/// How a pass streams its addresses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Streaming<'c> {
    /// The addresses of each part that are streamed: the first.
    pub streamed: usize,
    /// The addresses of a batch.
    pub batch: usize,
    /// The bytes of each thread's other working set.
    pub polluted: usize,
    /// The cores to pin threads to.
    pub cores: &'c [CoreId],
}

/// Streams addresses through a table, one thread per part. Returns the time from the first thread's
/// start to the last one's end. The walks through other working sets do not count.
///
/// Thread `i` is pinned to core `i`; all threads start together. `answers` has one answer per
/// address, at the table's own width.
pub(super) fn pass<A: Address>(
    fib: &Fib<A>,
    parts: &[&[A]],
    answers: &mut Answers,
    streaming: &Streaming<'_>,
) -> Duration {
    let pieces = answers.pieces(parts.iter().map(|part| part.len()));
    let barrier = Barrier::new(parts.len());
    let times = std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for (index, (part, piece)) in parts.iter().zip(pieces).enumerate() {
            let (barrier, core) = (&barrier, streaming.cores.get(index));
            let part = &part[..streaming.streamed.min(part.len())];
            threads.push(scope.spawn(move || {
                if let Some(&core) = core {
                    core_affinity::set_for_current(core);
                }
                match piece {
                    NextHopSlice::U8(piece) => timed(fib, part, piece, streaming, barrier),
                    NextHopSlice::U16(piece) => timed(fib, part, piece, streaming, barrier),
                    NextHopSlice::U32(piece) => timed(fib, part, piece, streaming, barrier),
                }
            }));
        }
        let times = threads.into_iter().map(|thread| thread.join().expect("a lookup panicked"));
        times.collect::<Vec<_>>()
    });
    let start = times.iter().map(|&(start, _)| start).min();
    let end = times.iter().map(|&(_, end)| end).max();
    start.zip(end).map_or(Duration::ZERO, |(start, end)| end - start)
}

/// As [`pass`], where threads share the first `streamed` addresses by one of the models of
/// [`fibula_engines::parallel`].
pub(super) fn shared<A: Address>(
    fib: &Fib<A>,
    parallel: &Parallel,
    addresses: &[A],
    answers: &mut Answers,
    cores: &[CoreId],
) -> Duration {
    let pin = |thread: usize| {
        if let Some(&core) = cores.get(thread) {
            core_affinity::set_for_current(core);
        }
    };
    let next_hops = answers.first(addresses.len());
    parallel.run(&**fib, addresses, next_hops, &pin).expect("threads and engine have been checked")
}

/// Runs one thread's part of a pass. Returns its start and its end, as if nothing had come between
/// the batches.
fn timed<A: Address, W>(
    fib: &Fib<A>,
    addresses: &[A],
    next_hops: &mut [W],
    streaming: &Streaming<'_>,
    barrier: &Barrier,
) -> (Instant, Instant)
where
    for<'s> NextHopSlice<'s>: From<&'s mut [W]>,
{
    let batches = |addresses: &[A], next_hops: &mut [W], between: &mut dyn FnMut()| {
        let Streaming { batch, .. } = *streaming;
        for (addresses, next_hops) in addresses.chunks(batch).zip(next_hops.chunks_mut(batch)) {
            between();
            fib.lookup_batch_into(addresses, &mut next_hops[..addresses.len()]);
        }
    };
    let warm_up = (addresses.len() / 8).min(MOST_WARM_UP);
    batches(&addresses[..warm_up], next_hops, &mut || ());
    let mut other = vec![[0_u64; 8]; streaming.polluted / size_of::<[u64; 8]>()];
    barrier.wait();
    let (start, mut walked) = (Instant::now(), Duration::ZERO);
    if other.is_empty() {
        batches(addresses, next_hops, &mut || ());
    } else {
        batches(addresses, next_hops, &mut || walked += walk(&mut other));
    }
    (start, start + start.elapsed().saturating_sub(walked))
}

/// Changes every cache line of a working set, as an application does with its packets. Returns the
/// time.
fn walk(lines: &mut [[u64; 8]]) -> Duration {
    let start = Instant::now();
    for line in lines.iter_mut() {
        line[0] += 1;
    }
    black_box(lines);
    start.elapsed()
}

/// Looks up addresses one after the other, each dependent on the answer before. Returns the
/// nanoseconds of a lookup.
///
/// A mask that only the running program knows to be zero cuts the answer down to zero, and that
/// zero is added to the next address. So no lookup can begin before the one before it has ended.
pub(super) fn dependent<A: Address>(fib: &Fib<A>, addresses: &[A], core: Option<&CoreId>) -> f64 {
    let zero = black_box(0_u32);
    one_by_one(addresses, core, |address, answer| {
        let nothing = A::from_bits(u64::from(answer & zero), A::BITS - 32, 32);
        fib.lookup_index(address ^ nothing).0
    })
}

/// Looks up addresses one after the other, none dependent on the answer before. Returns the
/// nanoseconds of a lookup.
pub(super) fn single<A: Address>(fib: &Fib<A>, addresses: &[A], core: Option<&CoreId>) -> f64 {
    one_by_one(addresses, core, |address, answers| answers ^ fib.lookup_index(address).0)
}

/// Calls `lookup` for each address, with the result of the call before. Returns the nanoseconds of
/// a call. The first eighth of the addresses loads the table into the caches, and is not timed.
fn one_by_one<A: Address>(
    addresses: &[A],
    core: Option<&CoreId>,
    lookup: impl Fn(A, u32) -> u32 + Sync,
) -> f64 {
    let run = || {
        if let Some(&core) = core {
            core_affinity::set_for_current(core);
        }
        let all = |addresses: &[A]| {
            black_box(addresses.iter().fold(0, |result, &address| lookup(address, result)));
        };
        let (warm_up, timed) = addresses.split_at(addresses.len() / 8);
        all(warm_up);
        let start = Instant::now();
        all(timed);
        start.elapsed().as_secs_f64() * 1e9 / timed.len() as f64
    };
    // A thread of its own leaves the caller's unpinned.
    std::thread::scope(|scope| scope.spawn(run).join().expect("a lookup panicked"))
}
