//! The batch path: TBL24 for a block of addresses whose lines were asked for one block ago, then TBLlong for those
//! that need it.

use super::Dir24_8;
use crate::arch::prefetch;
use crate::engine::{Unmetered, Width};

/// The addresses of a block: as many loads in flight as today's cores keep, and few enough that their lines of
/// TBL24 are still in the nearest cache when the turn of the block comes.
const TOGETHER: usize = 32;

impl<W: Width> Dir24_8<W> {
    /// One address after another lets the processor overlap no more loads than fit in its window of instructions;
    /// asking for the lines of the next block gave a quarter more on the table of January 2024. A vector
    /// gather ran at less than half.
    #[inline(always)]
    pub(super) fn lookup_blocks(&self, addresses: &[u32], next_hops: &mut [W]) {
        let (blocks, rest) = addresses.as_chunks::<TOGETHER>();
        let (answers, answers_rest) = next_hops.as_chunks_mut::<TOGETHER>();
        for (at, (block, answers)) in blocks.iter().zip(answers).enumerate() {
            for address in blocks.get(at + 1).into_iter().flatten() {
                prefetch(&self.tbl24, (address >> 8) as usize);
            }
            self.lookup_block(block, answers);
        }
        for (&address, answer) in rest.iter().zip(answers_rest) {
            *answer = self.look_up(address, &mut Unmetered);
        }
    }

    /// No branch on what one entry says: those that point to a block are marked and followed afterwards.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index runs through two arrays and a bit map")]
    fn lookup_block(&self, addresses: &[u32; TOGETHER], next_hops: &mut [W; TOGETHER]) {
        let tbl24 = self.tbl24();
        let mut long = 0_u64;
        for at in 0..TOGETHER {
            let entry = tbl24[(addresses[at] >> 8) as usize];
            next_hops[at] = entry.answer();
            long |= u64::from(entry.chunk().is_some()) << at;
        }
        while long != 0 {
            let at = long.trailing_zeros() as usize;
            long &= long - 1;
            next_hops[at] = self.look_up(addresses[at], &mut Unmetered);
        }
    }
}
