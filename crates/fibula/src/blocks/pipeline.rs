//! Software pipelining: a lookup as stages, each at work on a block of addresses of its own.
//!
//! At every step the first stage takes a new block, and every other stage the block that the stage before has left at
//! the step before. Between the moment a stage asks for a cache line and the moment the next one reads it lie the
//! other stages' blocks:
//!
//! ```text
//!            step 0   step 1   step 2   step 3
//! stage 0    block 0  block 1  block 2  block 3
//! stage 1             block 0  block 1  block 2
//! stage 2                      block 0  block 1
//! ```
//! Addresses that fill no block are looked up one by one.
//!
//! Addresses come from memory in order, and still the processor waits for them: what it asks for ahead by itself ends with every page. So
//! they are asked for too, some blocks before the first stage takes them. For IPv6, at 16 bytes each, the wait was a quarter of `mosaic6`'s
//! time.

use crate::arch::prefetch;
use crate::memory::CACHE_LINE;
use std::array::from_fn;

/// How many bytes ahead addresses are asked for: what several hundred lookups take hides the way from memory.
const AHEAD_BYTES: usize = 6 << 10;

/// A lookup of addresses `A` with answers `W` in so many stages.
///
/// Implementations are `#[inline(always)]`, as all hot code is ([`Kernel`](crate::arch::Kernel)).
pub trait Stages<A, W, const STAGES: usize> {
    /// What one stage leaves for the next, of a block of `N` addresses.
    type Found<const N: usize>;

    /// What the first stage gets.
    fn nothing<const N: usize>() -> Self::Found<N>;

    /// Does stage `stage`, which is less than `STAGES`, for the block whose first address is the batch's `start`th. The
    /// last one writes the answers.
    fn run<const N: usize>(
        &self,
        stage: usize,
        start: usize,
        addresses: &[A; N],
        found: &mut Self::Found<N>,
        next_hops: &mut [W; N],
    );

    /// One lookup by itself, of the batch's `at`th address.
    fn one(&self, at: usize, address: &A) -> W;
}

/// Looks all addresses up: in blocks of `LONG` as long as there are so many, then of `SHORT`, then one by one.
///
/// ```
/// use fibula::blocks::pipeline::{Stages, look_up};
/// /// Two tables that depend on each other.
/// struct Chain([u8; 256], [u16; 256]);
/// impl Stages<u8, u16, 2> for Chain {
///     type Found<const N: usize> = [u8; N];
///     fn nothing<const N: usize>() -> [u8; N] { [0; N] }
///     fn run<const N: usize>(
///         &self, stage: usize, _: usize, addresses: &[u8; N], found: &mut [u8; N], answers: &mut [u16; N],
///     ) {
///         match stage {
///             0 => *found = addresses.map(|address| self.0[address as usize]),
///             _ => *answers = found.map(|middle| self.1[middle as usize]),
///         }
///     }
///     fn one(&self, _: usize, &address: &u8) -> u16 { self.1[self.0[address as usize] as usize] }
/// }
/// let chain = Chain(std::array::from_fn(|at| 255 - at as u8), std::array::from_fn(|at| at as u16 * 3));
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
    let done = in_blocks::<LONG, STAGES, A, W, S>(stages, 0, addresses, next_hops);
    let done = in_blocks::<SHORT, STAGES, A, W, S>(stages, done, addresses, next_hops);
    for (at, (address, next_hop)) in addresses.iter().zip(next_hops).enumerate().skip(done) {
        *next_hop = stages.one(at, address);
    }
}

/// Looks up the whole blocks from the `start`th address on and returns where they end.
#[inline(always)]
fn in_blocks<const N: usize, const STAGES: usize, A, W, S>(
    stages: &S,
    start: usize,
    addresses: &[A],
    next_hops: &mut [W],
) -> usize
where
    S: Stages<A, W, STAGES>,
{
    let (blocks, _) = addresses[start..].as_chunks::<N>();
    let (answers, _) = next_hops[start..].as_chunks_mut::<N>();
    let mut under_way: [S::Found<N>; STAGES] = from_fn(|_| S::nothing());
    for step in 0..blocks.len() + STAGES - 1 {
        ask_ahead::<N, A>(addresses, start + step * N);
        for stage in 0..STAGES {
            let Some(at) = step.checked_sub(stage) else { break };
            let (Some(block), Some(answers)) = (blocks.get(at), answers.get_mut(at)) else { continue };
            stages.run(stage, start + at * N, block, &mut under_way[at % STAGES], answers);
        }
    }
    start + blocks.len() * N
}

/// Asks for the lines of a block some way after the one that begins at `start`, if the batch goes so far.
#[inline(always)]
fn ask_ahead<const N: usize, A>(addresses: &[A], start: usize) {
    let ahead = start + AHEAD_BYTES / size_of::<A>();
    if ahead < addresses.len() {
        for address in (ahead..ahead + N).step_by(CACHE_LINE / size_of::<A>()) {
            prefetch(addresses, address);
        }
    }
}

/// Calls `with` with the number of each bit that is set, from the lowest: what is left to do of a block after the pass
/// that does for nearly all of it.
#[inline(always)]
pub fn for_each_set(mut bits: u64, mut with: impl FnMut(usize)) {
    while bits != 0 {
        with(bits.trailing_zeros() as usize);
        bits &= bits - 1;
    }
}
