//! The batch path: level by level over a block of addresses.

use super::{ANSWER, SailL};
use crate::NextHop;
use crate::engine::Width;

/// The addresses that are looked up together.
const BLOCK: usize = 64;

impl<W: Width> SailL<W> {
    #[inline(always)]
    pub(super) fn lookup_blocks(&self, addresses: &[u32], next_hops: &mut [W]) {
        for (addresses, next_hops) in addresses.chunks(BLOCK).zip(next_hops.chunks_mut(BLOCK)) {
            self.lookup_block(addresses, next_hops);
        }
    }

    /// Levels 16 and 24 without a branch: an answer of level 16 reads slot 0 of BN24, which is 0, and is or-ed to
    /// it. What neither answers is listed and looked up on level 32 afterwards.
    #[inline(always)]
    fn lookup_block(&self, addresses: &[u32], next_hops: &mut [W]) {
        let bcn16: &[u32; 1 << 16] = self.bcn16[..].try_into().expect("one entry a node of level 16");
        let mut below = [(0_u32, 0_u32); BLOCK];
        let mut below_count = 0;
        for (at, (&address, next_hop)) in addresses.iter().zip(next_hops.iter_mut()).enumerate() {
            let entry = bcn16[(address >> 16) as usize];
            let answered = (entry.cast_signed() >> 31).cast_unsigned();
            let i = (entry << 8 | (address >> 8 & 255)) & !answered;
            let n24 = self.bn24[i as usize];
            *next_hop = W::narrow(NextHop(n24.widen().0 | (entry & answered & !ANSWER)));
            below[below_count] = (at as u32, i);
            below_count += usize::from(n24 == W::default() && answered == 0);
        }
        for &(at, i) in &below[..below_count] {
            let address = addresses[at as usize];
            next_hops[at as usize] = self.n32[(self.c24[i as usize] << 8 | (address & 255)) as usize];
        }
    }
}
