//! The batch path: the words of one block of addresses are on their way while the block before is looked for in the
//! maps and the one before that reads its next hops.

use super::below::{CHUNK_FLAG, NOBODY};
use super::{BitMaps, PivotTable, ROWS};
use crate::NextHop;
use crate::arch::prefetch;
use crate::blocks::pipeline::{Stages, for_each_set, look_up};
use crate::engine::{Unmetered, Width};
use crate::memory::Shareable;

/// The addresses of a block, and of the one block that a short batch makes.
const BLOCK: usize = 64;
const SHORT_BLOCK: usize = 32;

/// Where the answers of a block of addresses stand: in one of the two arrays; in the other, entry 0 or nobody's, both
/// of which hold 0.
pub struct Found<const N: usize> {
    above: [u32; N],
    n24: [u32; N],
}

impl<W: Width, B: BitMaps> Stages<u32, W, 3> for PivotTable<W, B> {
    type Found<const N: usize> = Found<N>;

    #[inline(always)]
    fn nothing<const N: usize>() -> Found<N> {
        Found { above: [0; N], n24: [0; N] }
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
            0 => self.prefetch_words(addresses),
            1 => self.find(addresses, found),
            _ => self.answer(addresses, found, next_hops),
        }
    }

    #[inline(always)]
    fn one(&self, _: usize, &address: &u32) -> W {
        self.look_up(address, &mut Unmetered)
    }
}

impl<W: Width, B: BitMaps> PivotTable<W, B> {
    #[inline(always)]
    pub(super) fn lookup_blocks(&self, addresses: &[u32], next_hops: &mut [W]) {
        look_up::<BLOCK, SHORT_BLOCK, 3, _, _, _>(self, addresses, next_hops);
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
    fn answer<const N: usize>(&self, addresses: &[u32; N], found: &mut Found<N>, answers: &mut [W; N]) {
        const { assert!(N <= 64) }
        let (next_hops, n24) = (&self.next_hops[..], self.below.n24());
        let mut any = 0;
        for at in 0..N {
            let entry = u32::load(&n24[found.n24[at] as usize]);
            let answer = entry | W::load(&next_hops[found.above[at] as usize]).widen().0;
            answers[at] = W::narrow(NextHop(answer & W::MAX));
            found.n24[at] = entry;
            any |= entry;
        }
        if any & CHUNK_FLAG == 0 {
            return;
        }
        let mark = |chunks, (at, entry): (usize, &u32)| chunks | u64::from(entry & CHUNK_FLAG != 0) << at;
        let chunks = found.n24.iter().enumerate().fold(0, mark);
        for_each_set(chunks, |at| answers[at] = self.below.next_hop(addresses[at], &mut Unmetered));
    }
}
