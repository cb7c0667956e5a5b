//! Lookups, one address at a time and in batches.
//!
//! Batches use software pipelining. While the words of one block of addresses are fetched, the
//! block before is looked up in the maps, and the one before that reads its next hops.

use super::below::{CHUNK_FLAG, NOBODY};
use super::{BitMaps, PIVOT, PivotTable, ROWS, Row, rows, slot_of};
use fibula::NextHop;
use fibula::engine::{Lookup, Meter, Unmetered, Width};
use fibula::parts::arch::{Isa, prefetch};
use fibula::parts::blocks::pipeline::{Stages, for_each_set, look_up};

/// The number of addresses of a block, and of the one block of a short batch.
const BLOCK: usize = 64;
const SHORT_BLOCK: usize = 32;

/// The indexes of the answers of a block of addresses. Each answer is in one of the two arrays; the
/// index into the other is entry 0 or `NOBODY`, both of which hold 0.
pub struct Found<const N: usize> {
    above: [u32; N],
    n24: [u32; N],
}

impl<W: Width, B: BitMaps> PivotTable<W, B> {
    const ROWS: &'static [Row; ROWS] = &rows(B::LEVELS);

    /// Returns the index of the next hop of a slot of a level above the pivot.
    #[inline(always)]
    pub(super) fn entry(depth: usize, slot: usize) -> usize {
        Self::ROWS[depth + 1].start as usize + slot
    }
}

impl<W: Width, B: BitMaps> Lookup<u32> for PivotTable<W, B> {
    type Width = W;

    /// Returns the answer by Algorithm 1: level 24 first, then the others from the longest to the
    /// shortest.
    #[inline(always)]
    fn lookup_metered<M: Meter>(&self, address: u32, meter: &mut M) -> W {
        for (depth, &level) in B::LEVELS.iter().enumerate().rev() {
            let slot = slot_of(address, level);
            let (word, bit) = B::place(depth, slot);
            let map = meter.on_chip(|meter| meter.load(&self.words[word]));
            if map >> bit & 1 == 1 {
                return if level == PIVOT {
                    self.below.next_hop(address, meter)
                } else {
                    meter.load(&self.next_hops[Self::entry(depth, slot)])
                };
            }
        }
        W::default()
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, _: I, addresses: &[u32], next_hops: &mut [W]) {
        look_up::<BLOCK, SHORT_BLOCK, 3, _, _, _>(self, addresses, next_hops);
    }
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
        self.lookup(address)
    }
}

impl<W: Width, B: BitMaps> PivotTable<W, B> {
    #[inline(always)]
    fn prefetch_words<const N: usize>(&self, addresses: &[u32; N]) {
        for &address in addresses {
            B::prefetch(&self.words, address);
        }
    }

    /// Reads the bit maps and prefetches the cache lines of the next hops.
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

    /// Reads the next hops, then N32 for the few addresses that need it.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index runs through three arrays and a bit map")]
    fn answer<const N: usize>(&self, addresses: &[u32; N], found: &mut Found<N>, answers: &mut [W; N]) {
        const { assert!(N <= 64) }
        let (next_hops, n24) = (&self.next_hops[..], self.below.n24());
        let mut any = 0;
        for at in 0..N {
            let entry = n24[found.n24[at] as usize];
            let answer = entry | next_hops[found.above[at] as usize].widen().0;
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
