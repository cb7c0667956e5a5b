//! The batch path: TBL24 for a block of addresses whose lines were asked for one block ago, then the sub-tries and the
//! Tree Bitmap for those that need them.

use super::Hybrid;
use crate::arch::prefetch;
use crate::blocks::entry::Entry;
use crate::blocks::pipeline::for_each_set;
use crate::blocks::tree_bitmap::LANES;
use crate::engine::{Unmetered, Width};
use crate::memory::Shareable;

impl<W: Width> Hybrid<W> {
    /// In blocks of as many addresses as go down the Tree Bitmap together.
    #[inline(always)]
    pub(super) fn lookup_blocks(&self, addresses: &[u32], next_hops: &mut [W]) {
        let mut coming = addresses.chunks(LANES).skip(1);
        for (addresses, next_hops) in addresses.chunks(LANES).zip(next_hops.chunks_mut(LANES)) {
            for address in coming.next().unwrap_or_default() {
                prefetch(&self.tbl24[..], (address >> 8) as usize);
            }
            self.lookup_block(addresses, next_hops);
        }
    }

    /// No branch on what one entry says: those with a sub-trie are marked and followed afterwards, those without a
    /// route listed and followed in step.
    #[inline(always)]
    fn lookup_block(&self, addresses: &[u32], next_hops: &mut [W]) {
        const { assert!(LANES <= 64) }
        let tbl24 = self.tbl24();
        let mut below = 0_u64;
        let mut short = [0_u8; LANES];
        let mut count = 0;
        for (lane, (address, next_hop)) in addresses.iter().zip(next_hops.iter_mut()).enumerate() {
            let entry = Entry::load(&tbl24[(address >> 8) as usize]);
            *next_hop = entry.answer();
            below |= u64::from(entry.chunk().is_some()) << lane;
            short[count % LANES] = lane as u8;
            count += usize::from(entry == Entry::NO_ROUTE);
        }
        for_each_set(below, |lane| next_hops[lane] = self.look_up(addresses[lane], &mut Unmetered));
        let short = &short[..count];
        let mut left = [0; LANES];
        let mut answers = [W::default(); LANES];
        for (address, &lane) in left.iter_mut().zip(short) {
            *address = addresses[usize::from(lane)];
        }
        self.short.find_all(&left[..count], &mut answers[..count]);
        for (answer, &lane) in answers.into_iter().zip(short) {
            next_hops[usize::from(lane)] = answer;
        }
    }
}
