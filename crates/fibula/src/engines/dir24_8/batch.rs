//! The batch path: TBL24 for a block of addresses, then TBLlong for those that need it.

use super::entry::Entry;
use super::{Dir24_8, TBL24};
use crate::NextHop;
use crate::engine::Width;

/// The addresses that are looked up together.
const TOGETHER: usize = 64;

impl<W: Width> Dir24_8<W> {
    #[inline(always)]
    pub(super) fn lookup_blocks(&self, addresses: &[u32], next_hops: &mut [W]) {
        for (addresses, next_hops) in addresses.chunks(TOGETHER).zip(next_hops.chunks_mut(TOGETHER)) {
            self.lookup_block(addresses, next_hops);
        }
    }

    /// No branch on what TBL24 says: entries that point to a block are listed and followed afterwards.
    #[inline(always)]
    fn lookup_block(&self, addresses: &[u32], next_hops: &mut [W]) {
        let tbl24: &[Entry; TBL24] = self.tbl24[..].try_into().expect("one entry a /24");
        let mut long = [(0_u32, Entry::NO_ROUTE); TOGETHER];
        let mut long_count = 0;
        for (at, (&address, next_hop)) in addresses.iter().zip(next_hops.iter_mut()).enumerate() {
            let entry = tbl24[(address >> 8) as usize];
            *next_hop = W::narrow(NextHop(entry.next_hop().0 & W::MAX));
            long[long_count] = (at as u32, entry);
            long_count += usize::from(entry.block().is_some());
        }
        for &(at, entry) in &long[..long_count] {
            if let Some(start) = entry.block() {
                let entry = self.tbl_long[start | (addresses[at as usize] & 255) as usize];
                next_hops[at as usize] = W::narrow(entry.next_hop());
            }
        }
    }
}
