//! The batch path: the words of one block of addresses are on their way while the block before is looked for in the
//! maps and the one before that reads its next hops.

use super::below::{CHUNK_FLAG, NOBODY};
use super::{BitMaps, PivotTable, ROWS};
use crate::NextHop;
use crate::arch::prefetch;
use crate::engine::{Unmetered, Width};

/// The addresses of a block, and of the one block that a short batch makes.
const BLOCK: usize = 64;
const SHORT_BLOCK: usize = 32;

/// Where the answers of a block of addresses stand: in one of the two arrays; in the other, entry 0 or nobody's, both
/// of which hold 0.
struct Found<const N: usize> {
    above: [u32; N],
    n24: [u32; N],
}

impl<W: Width, B: BitMaps> PivotTable<W, B> {
    #[inline(always)]
    pub(super) fn lookup_blocks(&self, addresses: &[u32], next_hops: &mut [W]) {
        let (addresses, next_hops) = self.in_blocks::<BLOCK>(addresses, next_hops);
        let (addresses, next_hops) = self.in_blocks::<SHORT_BLOCK>(addresses, next_hops);
        for (&address, next_hop) in addresses.iter().zip(next_hops) {
            *next_hop = self.look_up(address, &mut Unmetered);
        }
    }

    /// Looks up whole blocks and returns what is left over.
    #[inline(always)]
    fn in_blocks<'b, const N: usize>(
        &self,
        addresses: &'b [u32],
        next_hops: &'b mut [W],
    ) -> (&'b [u32], &'b mut [W]) {
        let (blocks, rest) = addresses.as_chunks::<N>();
        let (answers, answers_rest) = next_hops.as_chunks_mut::<N>();
        let empty = || Found { above: [0; N], n24: [0; N] };
        let mut found = [empty(), empty()];
        for block in blocks.iter().take(2) {
            self.prefetch_words(block);
        }
        if let Some(first) = blocks.first() {
            self.find(first, &mut found[0]);
        }
        for (at, (block, answers)) in blocks.iter().zip(answers).enumerate() {
            if let Some(after_next) = blocks.get(at + 2) {
                self.prefetch_words(after_next);
            }
            if let Some(next) = blocks.get(at + 1) {
                self.find(next, &mut found[(at + 1) % 2]);
            }
            self.answer(block, &found[at % 2], answers);
        }
        (rest, answers_rest)
    }

    #[inline(always)]
    fn prefetch_words<const N: usize>(&self, addresses: &[u32; N]) {
        for &address in addresses {
            B::prefetch(&self.words, address);
        }
    }

    /// Reads the bit maps and asks for the lines of the next hops.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index runs through three arrays of one block")]
    fn find<const N: usize>(&self, addresses: &[u32; N], found: &mut Found<N>) {
        let (words, next_hops, n24) = (&self.words[..], &self.next_hops[..], self.below.n24());
        for at in 0..N {
            let address = addresses[at];
            let deepest = B::deepest(words, address);
            let row = Self::ROWS[deepest as usize % ROWS];
            found.above[at] = row.start + (u64::from(address) >> row.shift) as u32;
            found.n24[at] = if deepest as usize > Self::PIVOT_DEPTH { address >> 8 } else { NOBODY };
            prefetch(next_hops, found.above[at] as usize);
            prefetch(n24, found.n24[at] as usize);
        }
    }

    /// Reads the next hops, then N32 for the few addresses that go so far.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index runs through three arrays and a bit map")]
    fn answer<const N: usize>(&self, addresses: &[u32; N], found: &Found<N>, answers: &mut [W; N]) {
        const { assert!(N <= 64) }
        let (next_hops, n24) = (&self.next_hops[..], self.below.n24());
        let mut chunks = 0_u64;
        for at in 0..N {
            let entry = n24[found.n24[at] as usize];
            let answer = entry | next_hops[found.above[at] as usize].widen().0;
            answers[at] = W::narrow(NextHop(answer & W::MAX));
            chunks |= u64::from(entry & CHUNK_FLAG != 0) << at;
        }
        while chunks != 0 {
            let at = chunks.trailing_zeros() as usize;
            chunks &= chunks - 1;
            answers[at] = self.below.next_hop(addresses[at], &mut Unmetered);
        }
    }
}
