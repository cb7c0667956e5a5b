//! Software pipelining: a lookup as stages, each of which works on its own block of addresses.
//!
//! At every step the first stage takes a new block, and every other stage takes the block that the
//! previous stage finished one step before. Between the prefetch of a cache line by one stage and
//! its read by the next, the other stages work on their blocks:
//!
//! ```text
//!            step 0   step 1   step 2   step 3
//! stage 0    block 0  block 1  block 2  block 3
//! stage 1             block 0  block 1  block 2
//! stage 2                      block 0  block 1
//! ```
//! Addresses that do not fill a block are looked up one by one.
//!
//! A short call has no other blocks to overlap with, so the loads of a [`BURST`] are in flight at
//! once: it is one block, whose stages follow each other. Only long blocks overlap, where there are
//! at least two.
//!
//! Addresses are read from memory in order, and yet the processor waits for them, because its own
//! prefetcher stops at every page boundary. So they are prefetched too, some blocks before the
//! first stage takes them. For IPv6, at 16 bytes each, that wait was a quarter of `mosaic6`'s time.

use crate::arch::prefetch;
use crate::memory::CACHE_LINE;
use std::array::from_fn;

/// The packets that most programs take from a network card at once.
pub(crate) const BURST: usize = 32;

/// How many bytes ahead addresses are prefetched: several hundred lookups hide the latency of
/// memory.
const AHEAD_BYTES: usize = 6 << 10;

/// A lookup of addresses `A` with answers `W` in `STAGES` stages.
///
/// Implementations are `#[inline(always)]`, as all hot code is ([`Kernel`](crate::arch::Kernel)).
pub trait Stages<A, W, const STAGES: usize> {
    /// What a stage passes on to the next for a block of `N` addresses.
    type Found<const N: usize>;

    /// Returns what the first stage gets.
    fn nothing<const N: usize>() -> Self::Found<N>;

    /// Runs stage `stage`, which is less than `STAGES`, for the block whose first address is at
    /// index `start` of the batch. The last stage writes the answers.
    fn run<const N: usize>(
        &self,
        stage: usize,
        start: usize,
        addresses: &[A; N],
        found: &mut Self::Found<N>,
        next_hops: &mut [W; N],
    );

    /// Looks up one address by itself; it is at index `at` of the batch.
    fn one(&self, at: usize, address: &A) -> W;
}

/// Looks up all addresses: in blocks of `LONG` while at least `LONG` are left, then in blocks of a
/// burst, of half a burst, and of `SHORT`, then one by one.
///
/// ```
/// use fibula::parts::blocks::pipeline::{Stages, look_up};
/// /// Two tables that depend on each other.
/// struct Chain([u8; 256], [u16; 256]);
/// impl Stages<u8, u16, 2> for Chain {
///     type Found<const N: usize> = [u8; N];
///     fn nothing<const N: usize>() -> [u8; N] { [0; N] }
///     fn run<const N: usize>(
///         &self, stage: usize, _: usize, addresses: &[u8; N],
///         found: &mut [u8; N], answers: &mut [u16; N],
///     ) {
///         match stage {
///             0 => *found = addresses.map(|address| self.0[address as usize]),
///             _ => *answers = found.map(|middle| self.1[middle as usize]),
///         }
///     }
///     fn one(&self, _: usize, &address: &u8) -> u16 { self.1[self.0[address as usize] as usize] }
/// }
/// use std::array::from_fn;
/// let chain = Chain(from_fn(|at| 255 - at as u8), from_fn(|at| at as u16 * 3));
/// let mut answers = [0; 11];
/// look_up::<4, 2, 2, _, _, _>(&chain, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], &mut answers);
/// assert_eq!(answers, [765, 762, 759, 756, 753, 750, 747, 744, 741, 738, 735]);
/// ```
#[inline(always)]
pub fn look_up<const LONG: usize, const SHORT: usize, const STAGES: usize, A, W, S>(
    stages: &S,
    addresses: &[A],
    next_hops: &mut [W],
) where
    S: Stages<A, W, STAGES>,
{
    let mut done = pipelined::<LONG, STAGES, A, W, S>(stages, addresses, next_hops);
    if const { SHORT < BURST && BURST < LONG } {
        done = block_by_block::<BURST, STAGES, A, W, S>(stages, done, addresses, next_hops);
    }
    if const { SHORT < BURST / 2 && BURST / 2 < LONG } {
        done = block_by_block::<{ BURST / 2 }, STAGES, A, W, S>(stages, done, addresses, next_hops);
    }
    done = block_by_block::<SHORT, STAGES, A, W, S>(stages, done, addresses, next_hops);
    for (at, (address, next_hop)) in addresses.iter().zip(next_hops).enumerate().skip(done) {
        *next_hop = stages.one(at, address);
    }
}

/// Looks up the whole blocks, which overlap, and returns the index where they end.
#[inline(always)]
fn pipelined<const N: usize, const STAGES: usize, A, W, S>(
    stages: &S,
    addresses: &[A],
    next_hops: &mut [W],
) -> usize
where
    S: Stages<A, W, STAGES>,
{
    let (blocks, _) = addresses.as_chunks::<N>();
    let (answers, _) = next_hops.as_chunks_mut::<N>();
    if blocks.len() < 2 {
        // Nothing would overlap, and the shorter blocks need no code of their own.
        return 0;
    }
    let mut under_way: [S::Found<N>; STAGES] = from_fn(|_| S::nothing());
    for step in 0..blocks.len() + STAGES - 1 {
        ask_ahead::<N, A>(addresses, step * N);
        for stage in 0..STAGES {
            let Some(at) = step.checked_sub(stage) else { break };
            let (Some(block), Some(answers)) = (blocks.get(at), answers.get_mut(at)) else { continue };
            stages.run(stage, at * N, block, &mut under_way[at % STAGES], answers);
        }
    }
    blocks.len() * N
}

/// Looks up the whole blocks from index `done` on, one after the other, and returns the index where
/// they end. What a block needs stays in registers from stage to stage.
#[inline(always)]
fn block_by_block<const N: usize, const STAGES: usize, A, W, S>(
    stages: &S,
    mut done: usize,
    addresses: &[A],
    next_hops: &mut [W],
) -> usize
where
    S: Stages<A, W, STAGES>,
{
    while let Some(block) = addresses[done..].first_chunk::<N>()
        && let Some(answers) = next_hops[done..].first_chunk_mut::<N>()
    {
        let mut found = S::nothing();
        for stage in 0..STAGES {
            stages.run(stage, done, block, &mut found, answers);
        }
        done += N;
    }
    done
}

/// Prefetches the cache lines of a block `AHEAD_BYTES` after `start`, if the batch is that long.
#[inline(always)]
pub fn ask_ahead<const N: usize, A>(addresses: &[A], start: usize) {
    let ahead = start + AHEAD_BYTES / size_of::<A>();
    if ahead < addresses.len() {
        for address in (ahead..ahead + N).step_by(CACHE_LINE / size_of::<A>()) {
            prefetch(addresses, address);
        }
    }
}

/// Calls `with` with the position of each set bit, the lowest first. Callers finish what the pass
/// over a block has left open.
#[inline(always)]
pub fn for_each_set(mut bits: u64, mut with: impl FnMut(usize)) {
    while bits != 0 {
        with(bits.trailing_zeros() as usize);
        bits &= bits - 1;
    }
}
