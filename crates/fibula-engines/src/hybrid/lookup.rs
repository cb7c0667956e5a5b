//! Lookups, one at a time, in batches and in stages.
//!
//! A batch reads TBL24 for a block of addresses whose lines were prefetched one block ago, then the
//! sub-tries and the Tree Bitmap for those that need them.
//!
//! # Stages
//! As in the paper's Figure 5: TBL24, the sub-tries, the Tree Bitmap.
//!
//! ```text
//! handed on   after TBL24          its entry
//!             after the sub-tries  the answer, or all ones: look in the Tree Bitmap
//! ```
//! Routes of 13 to 16 bits end in the nodes that the initial array holds, so the Tree Bitmap is one
//! stage.

use super::{DEPTH, Hybrid, MIDDLE, TBL24};
use crate::blocks::tree_bitmap::{LANES, Map};
use fibula::engine::Stages;
use fibula::engine::{Lookup, Meter, Staging, Unmetered, Width};
use fibula::parts::arch::{Isa, prefetch};
use fibula::parts::blocks::entry::Entry;
use fibula::parts::blocks::pipeline::for_each_set;

/// What the second stage hands on if no route longer than /16 matches.
const TRY_SHORT: u64 = u64::MAX;

impl<W: Width> Hybrid<W> {
    /// Returns TBL24 as an array of known size, so that no 24-bit index needs a bounds check.
    #[inline(always)]
    fn tbl24(&self) -> &[Entry; TBL24] {
        self.tbl24[..].try_into().expect("one entry a /24")
    }

    /// Returns the answer of an entry of TBL24, or of the sub-trie that it points to.
    #[inline(always)]
    fn below(&self, entry: Entry, address: u32, meter: &mut impl Meter) -> Option<W> {
        match entry.chunk() {
            Some(sub_trie) => {
                let root = u16::unpack(meter.load(&self.sub_tries[sub_trie]));
                let found = self.long.find::<u32, DEPTH, true>(root, MIDDLE, address, meter);
                found.filter(|&answer| answer != W::default())
            }
            None => (entry != Entry::NO_ROUTE).then(|| entry.answer()),
        }
    }

    /// Looks up a block, without a branch on any one entry. Addresses with a sub-trie are marked
    /// and followed afterwards. Those without a route are listed and followed in step.
    #[inline(always)]
    fn lookup_block(&self, addresses: &[u32], next_hops: &mut [W]) {
        const { assert!(LANES <= 64) }
        let tbl24 = self.tbl24();
        let mut below = 0_u64;
        let mut short = [0_u8; LANES];
        let mut count = 0;
        for (lane, (address, next_hop)) in addresses.iter().zip(next_hops.iter_mut()).enumerate() {
            let entry = tbl24[(address >> 8) as usize];
            *next_hop = entry.answer();
            below |= u64::from(entry.chunk().is_some()) << lane;
            short[count % LANES] = lane as u8;
            count += usize::from(entry == Entry::NO_ROUTE);
        }
        for_each_set(below, |lane| next_hops[lane] = self.lookup(addresses[lane]));
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

impl<W: Width> Lookup<u32> for Hybrid<W> {
    type Width = W;

    #[inline(always)]
    fn lookup_metered<M: Meter>(&self, address: u32, meter: &mut M) -> W {
        let entry = meter.load(&self.tbl24()[(address >> 8) as usize]);
        self.below(entry, address, meter).unwrap_or_else(|| self.short.find(address, meter))
    }

    /// Looks up a batch in blocks of as many addresses as go down the Tree Bitmap together.
    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, _: I, addresses: &[u32], next_hops: &mut [W]) {
        let mut coming = addresses.chunks(LANES).skip(1);
        for (addresses, next_hops) in addresses.chunks(LANES).zip(next_hops.chunks_mut(LANES)) {
            for address in coming.next().unwrap_or_default() {
                prefetch(&self.tbl24[..], (address >> 8) as usize);
            }
            self.lookup_block(addresses, next_hops);
        }
    }

    fn staging() -> Option<Staging<Self, u32>> {
        Some(Staging::of_lookup())
    }
}

impl<W: Width> Stages<u32> for Hybrid<W> {
    fn stages(&self) -> usize {
        3
    }

    #[inline(always)]
    fn run_stage<I: Isa>(&self, _: I, stage: usize, addresses: &[u32], found: &mut [u64]) {
        let tbl24 = self.tbl24();
        for (&address, found) in addresses.iter().zip(found) {
            match stage {
                0 => *found = tbl24[(address >> 8) as usize].0.into(),
                1 => {
                    let answer = self.below(Entry(*found as u32), address, &mut Unmetered);
                    *found = answer.map_or(TRY_SHORT, |answer| answer.widen().0.into());
                }
                _ if *found == TRY_SHORT => {
                    *found = self.short.find(address, &mut Unmetered).widen().0.into();
                }
                _ => {}
            }
        }
    }
}
