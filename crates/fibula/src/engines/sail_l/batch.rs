//! The batch path: a block of addresses goes through level 16 while the blocks before it go through level 24.

use super::SailL;
use crate::NextHop;
use crate::arch::prefetch;
use crate::blocks::pipeline::{Stages, look_up};
use crate::blocks::pushing::ANSWER;
use crate::engine::{Unmetered, Width};
use crate::memory::Shareable;

/// The addresses of a block, and of the one block that a short batch makes. A block must be long enough for its
/// lines of BN24 to arrive while the other blocks are looked at.
const BLOCK: usize = 64;
const SHORT_BLOCK: usize = 32;

/// The stages: BCN16, BN24, answers. The last works on many at once what the one before has loaded one by one; in the same block right
/// after it would wait for the store queue, from which a vector cannot be had in parts.
const STAGES: usize = 3;

/// No branch depends on what an entry says: which level answers is as good as random. On the table of January 2024, one
/// address after another, with its branches, gave a third of this throughput; the two stages without a block between
/// them a quarter, with the prefetch two thirds.
impl<W: Width> Stages<u32, W, STAGES> for SailL<W> {
    type Found<const N: usize> = Found<N>;

    #[inline(always)]
    fn nothing<const N: usize>() -> Found<N> {
        Found { slot: [0; N], answer: [0; N] }
    }

    #[inline(always)]
    fn run<const N: usize>(
        &self,
        stage: usize,
        _: usize,
        addresses: &[u32; N],
        found: &mut Found<N>,
        next_hops: &mut [W; N],
    ) {
        match stage {
            0 => self.level_16(addresses, found),
            1 => self.level_24(found),
            _ => self.answer(addresses, found, next_hops),
        }
    }

    #[inline(always)]
    fn one(&self, _: usize, &address: &u32) -> W {
        self.look_up(address, &mut Unmetered)
    }
}

/// What is known of a block of addresses.
pub struct Found<const N: usize> {
    /// The slot of BN24; where level 16 has the answer, slot 0, which holds 0.
    slot: [u32; N],
    /// The answer with its flag; 0 where the next level has to say.
    answer: [u32; N],
}

#[allow(clippy::needless_range_loop, reason = "one index runs through several arrays of one block")]
impl<W: Width> SailL<W> {
    #[inline(always)]
    pub(super) fn lookup_blocks(&self, addresses: &[u32], next_hops: &mut [W]) {
        look_up::<BLOCK, SHORT_BLOCK, STAGES, _, _, _>(self, addresses, next_hops);
    }

    /// Reads BCN16 and asks for the lines of BN24.
    #[inline(always)]
    fn level_16<const N: usize>(&self, addresses: &[u32; N], found: &mut Found<N>) {
        let (bcn16, bn24) = (self.bcn16(), &self.bn24[..]);
        for at in 0..N {
            let address = addresses[at];
            let entry = u32::load(&bcn16[(address >> 16) as usize]);
            let answered = (entry.cast_signed() >> 31).cast_unsigned();
            let slot = (entry << 8 | (address >> 8 & 255)) & !answered;
            found.slot[at] = slot;
            found.answer[at] = entry & answered;
            prefetch(bn24, slot as usize);
        }
    }

    /// Reads BN24.
    #[inline(always)]
    fn level_24<const N: usize>(&self, found: &mut Found<N>) {
        let bn24 = &self.bn24[..];
        for at in 0..N {
            found.answer[at] |= W::load(&bn24[found.slot[at] as usize]).widen().0;
        }
    }

    /// Takes the flags off, and reads C24 and N32 for the few addresses that go so far.
    #[inline(always)]
    fn answer<const N: usize>(&self, addresses: &[u32; N], found: &Found<N>, next_hops: &mut [W; N]) {
        let mut below = false;
        for at in 0..N {
            next_hops[at] = W::narrow(NextHop(found.answer[at] & !ANSWER & W::MAX));
            below |= found.answer[at] == 0;
        }
        if below {
            for at in (0..N).filter(|&at| found.answer[at] == 0) {
                next_hops[at] = self.level_32(found.slot[at], addresses[at], &mut Unmetered);
            }
        }
    }
}
