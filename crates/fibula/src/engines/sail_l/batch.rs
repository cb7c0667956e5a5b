//! The batch path: a block of addresses goes through level 16 while the block before it goes through level 24.

use super::SailL;
use crate::NextHop;
use crate::arch::prefetch;
use crate::blocks::pipeline::{Stages, for_each_set, look_up};
use crate::blocks::pushing::ANSWER;
use crate::engine::{Unmetered, Width};
use crate::memory::Word;

/// The addresses of a block, and of the one block that a short batch makes. A block must be long enough for its
/// lines of BN24 to arrive while the next block reads BCN16: 32 gave four fifths of the throughput of 64, 16 two
/// thirds.
const BLOCK: usize = 64;
const SHORT_BLOCK: usize = 32;

/// No branch depends on what an entry says: which level answers is as good as random. On the table of January 2024, one
/// address after another, with its branches, gave a third of this throughput; the two stages without a block between
/// them a quarter, with the prefetch two thirds.
impl<W: Width> Stages<u32, W, 2> for SailL<W> {
    type Found<const N: usize> = Level16<N>;

    #[inline(always)]
    fn nothing<const N: usize>() -> Level16<N> {
        Level16 { slot: [0; N], answer: [0; N] }
    }

    #[inline(always)]
    fn run<const N: usize>(
        &self,
        stage: usize,
        _: usize,
        addresses: &[u32; N],
        found: &mut Level16<N>,
        next_hops: &mut [W; N],
    ) {
        match stage {
            0 => self.level_16(addresses, found),
            _ => self.level_24(addresses, found, next_hops),
        }
    }

    #[inline(always)]
    fn one(&self, _: usize, &address: &u32) -> W {
        self.look_up(address, &mut Unmetered)
    }
}

/// What level 16 says of a block of addresses.
pub struct Level16<const N: usize> {
    /// The slot of BN24; where level 16 has the answer, slot 0, which holds 0.
    slot: [u32; N],
    /// The answer with its flag; 0 where level 24 has to say.
    answer: [u32; N],
}

impl<W: Width> SailL<W> {
    #[inline(always)]
    pub(super) fn lookup_blocks(&self, addresses: &[u32], next_hops: &mut [W]) {
        look_up::<BLOCK, SHORT_BLOCK, 2, _, _, _>(self, addresses, next_hops);
    }

    /// Reads BCN16 and asks for the lines of BN24. What is done with the entries is done for many at once, which no compiler does with
    /// loads of atomics: those stand by themselves.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index runs through four arrays of one block")]
    fn level_16<const N: usize>(&self, addresses: &[u32; N], found: &mut Level16<N>) {
        let (bcn16, bn24) = (self.bcn16(), &self.bn24[..]);
        let mut entries = [0; N];
        for at in 0..N {
            entries[at] = u32::load(&bcn16[(addresses[at] >> 16) as usize]);
        }
        for at in 0..N {
            let (address, entry) = (addresses[at], entries[at]);
            let answered = (entry.cast_signed() >> 31).cast_unsigned();
            found.slot[at] = (entry << 8 | (address >> 8 & 255)) & !answered;
            found.answer[at] = entry & answered;
        }
        for &slot in &found.slot {
            prefetch(bn24, slot as usize);
        }
    }

    /// Reads BN24, then C24 and N32 for the few addresses that go so far.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index runs through three arrays and a bit map")]
    fn level_24<const N: usize>(&self, addresses: &[u32; N], found: &Level16<N>, next_hops: &mut [W; N]) {
        const { assert!(N <= 64) }
        let bn24 = &self.bn24[..];
        let mut below = 0_u64;
        for at in 0..N {
            let answer = W::load(&bn24[found.slot[at] as usize]).widen().0 | found.answer[at];
            next_hops[at] = W::narrow(NextHop(answer & !ANSWER));
            below |= u64::from(answer == 0) << at;
        }
        for_each_set(below, |at| {
            next_hops[at] = self.level_32(found.slot[at], addresses[at], &mut Unmetered);
        });
    }
}
