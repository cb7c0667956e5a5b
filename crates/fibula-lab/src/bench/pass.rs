//! The timed loops.

use crate::answers::Answers;
use core_affinity::CoreId;
use fibula::parallel::Parallel;
use fibula::{Address, Fib, NextHopSlice};
use std::hint::black_box;
use std::sync::Barrier;
use std::time::{Duration, Instant};

/// How many of its addresses a thread streams before the clock starts, so that the engine's table and the
/// clock frequency are there: an eighth of them, at most this many.
const MOST_WARM_UP: usize = 1 << 18;

/// The cores to pin threads to; as many as the system tells.
pub(super) fn cores() -> Vec<CoreId> {
    core_affinity::get_core_ids().unwrap_or_default()
}

/// Streams the first `streamed` addresses of each part through a table, one thread a part, and returns how
/// long that took from the first thread's start to the last one's end.
///
/// Thread `i` is pinned to core `i`; all start together. `answers` holds an answer for each address, at the
/// table's own width.
pub(super) fn pass<A: Address>(
    fib: &Fib<A>,
    parts: &[&[A]],
    answers: &mut Answers,
    batch: usize,
    streamed: usize,
    cores: &[CoreId],
) -> Duration {
    let pieces = answers.pieces(parts.iter().map(|part| part.len()));
    let barrier = Barrier::new(parts.len());
    let times = std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for (index, (part, piece)) in parts.iter().zip(pieces).enumerate() {
            let (barrier, core) = (&barrier, cores.get(index));
            let part = &part[..streamed.min(part.len())];
            threads.push(scope.spawn(move || {
                if let Some(&core) = core {
                    core_affinity::set_for_current(core);
                }
                match piece {
                    NextHopSlice::U8(piece) => timed(fib, part, piece, batch, barrier),
                    NextHopSlice::U16(piece) => timed(fib, part, piece, batch, barrier),
                    NextHopSlice::U32(piece) => timed(fib, part, piece, batch, barrier),
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

/// As [`pass`], the first `streamed` addresses shared by threads in one of the ways of [`fibula::parallel`].
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

/// One thread's part of a pass: when it started and when it was done.
fn timed<A: Address, W>(
    fib: &Fib<A>,
    addresses: &[A],
    next_hops: &mut [W],
    batch: usize,
    barrier: &Barrier,
) -> (Instant, Instant)
where
    for<'s> NextHopSlice<'s>: From<&'s mut [W]>,
{
    let warm_up = (addresses.len() / 8).min(MOST_WARM_UP);
    stream(fib, &addresses[..warm_up], next_hops, batch);
    barrier.wait();
    let start = Instant::now();
    stream(fib, addresses, next_hops, batch);
    (start, Instant::now())
}

fn stream<A: Address, W>(fib: &Fib<A>, addresses: &[A], next_hops: &mut [W], batch: usize)
where
    for<'s> NextHopSlice<'s>: From<&'s mut [W]>,
{
    for (addresses, next_hops) in addresses.chunks(batch).zip(next_hops.chunks_mut(batch)) {
        fib.lookup_batch_into(addresses, &mut next_hops[..addresses.len()]);
    }
}

/// Looks addresses up one after the other, each made from the answer before, and returns how long that took.
///
/// The answer is cut down to zero by a mask that only the running program knows to be zero, and that zero
/// goes into the next address: no lookup can begin before the one before it has ended.
pub(super) fn dependent<A: Address>(fib: &Fib<A>, addresses: &[A], core: Option<&CoreId>) -> Duration {
    let run = || {
        if let Some(&core) = core {
            core_affinity::set_for_current(core);
        }
        let zero = black_box(0_u32);
        let mut answer = 0;
        let start = Instant::now();
        for &address in addresses {
            let nothing = A::from_bits(u64::from(answer & zero), A::BITS - 32, 32);
            answer = fib.lookup_index(address ^ nothing).0;
        }
        let elapsed = start.elapsed();
        black_box(answer);
        elapsed
    };
    // On a thread of its own, so that the caller's stays unpinned.
    std::thread::scope(|scope| scope.spawn(run).join().expect("a lookup panicked"))
}
