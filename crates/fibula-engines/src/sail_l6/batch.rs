//! The batch path: a software pipeline of five stages, one per level down to 48, each working on
//! its own block.

use super::{LEVEL_48, LEVELS, Level, SailL6, first_chunk, index};
use crate::blocks::pushing::ANSWER;
use fibula::NextHop;
use fibula::engine::{Lookup, Unmetered, Width};
use fibula::parts::arch::prefetch;
use fibula::parts::blocks::pipeline::{Stages, for_each_set};
use std::array::from_fn;

/// The addresses of a block. Blocks of 16 gave nine tenths of the throughput, of 64 six sevenths.
pub(super) const BLOCK: usize = 32;
/// The addresses of each block of a short batch.
pub(super) const SHORT_BLOCK: usize = 8;

/// The levels that the pipeline walks. BN48 answers for all but a few hundred nodes of a full
/// table.
pub(super) const STAGES: usize = LEVEL_48 + 1;

/// The progress of a block of addresses.
pub struct Block<const N: usize> {
    /// The index of the entry in the next level. If the answer is known it is in chunk 0, which
    /// holds 0.
    index: [u32; N],
    /// The answer with its flag, or 0 if a lower level has to answer.
    answer: [u32; N],
}

impl<const N: usize> Block<N> {
    /// Reads one of the upper levels and prefetches the lines of the next. Prefetching in a loop of
    /// its own cost a sixth of the throughput.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index runs through three arrays of one block")]
    fn advance(&mut self, addresses: &[u128; N], level: &Level, next_length: u8, fetch: impl Fn(usize)) {
        let bcn = &level.bcn[..];
        for at in 0..N {
            let entry = bcn[self.index[at] as usize];
            let answered = (entry.cast_signed() >> 31).cast_unsigned();
            self.answer[at] |= entry & answered;
            self.index[at] = index(entry & !answered, addresses[at], next_length);
            fetch(self.index[at] as usize);
        }
    }
}

/// Down to level 48, no branch depends on the value of an entry.
impl<W: Width> Stages<u128, W, STAGES> for SailL6<W> {
    type Found<const N: usize> = Block<N>;

    #[inline(always)]
    fn nothing<const N: usize>() -> Block<N> {
        Block { index: [0; N], answer: [0; N] }
    }

    #[inline(always)]
    fn run<const N: usize>(
        &self,
        stage: usize,
        _: usize,
        addresses: &[u128; N],
        block: &mut Block<N>,
        next_hops: &mut [W; N],
    ) {
        if stage == 0 {
            *block = Block {
                index: from_fn(|at| index(first_chunk(addresses[at]), addresses[at], LEVELS[0])),
                answer: [0; N],
            };
        }
        match (self.upper.get(stage), self.upper.get(stage + 1)) {
            (Some(level), Some(next)) => {
                block.advance(addresses, level, LEVELS[stage + 1], |index| prefetch(&next.bcn, index));
            }
            (Some(level), None) => {
                let bn48 = &self.level_48.bn;
                block.advance(addresses, level, LEVELS[stage + 1], |index| prefetch(bn48, index));
            }
            (None, _) => self.finish(addresses, block, next_hops),
        }
    }

    #[inline(always)]
    fn one(&self, _: usize, &address: &u128) -> W {
        self.lookup(address)
    }
}

impl<W: Width> SailL6<W> {
    /// Reads BN48, then looks below it for the few addresses that have no answer yet.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index runs through three arrays and a bit map")]
    fn finish<const N: usize>(&self, addresses: &[u128; N], block: &Block<N>, next_hops: &mut [W; N]) {
        const { assert!(N <= 64) }
        let bn48 = &self.level_48.bn[..];
        let mut below = 0_u64;
        for at in 0..N {
            let answer = bn48[block.index[at] as usize].widen().0 | block.answer[at];
            next_hops[at] = W::narrow(NextHop(answer & !ANSWER));
            below |= u64::from(answer == 0) << at;
        }
        for_each_set(below, |at| {
            next_hops[at] = self.below_48(block.index[at], addresses[at], &mut Unmetered);
        });
    }
}
