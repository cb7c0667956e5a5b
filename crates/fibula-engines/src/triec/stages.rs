//! The lookup level by level, for a thread pipeline (the paper's Table 5): one stage for each level
//! of the trie, and one for Hash16 and the routes outside the trie.
//!
//! ```text
//! handed on   | goes on |        | number of the node below, or the next hop so far |
//!                 63               31                                              0
//! ```
//! A lookup that goes on after the last level also looks in Hash16.

use super::entry::{Atlas, Counting};
use super::hash16::Hash16;
use super::lookup::is_global;
use super::nhi::Nhi;
use super::side::Side;
use super::table::{LAST, Table};
use fibula::NextHop;
use fibula::engine::{Unmetered, Width};
use fibula::parts::arch::crc32c;

/// The levels of the trie, and Hash16.
pub(super) const STAGES: usize = BESIDE + 1;

/// The last stage.
const BESIDE: usize = LAST + 1;

/// The flag of a lookup that has not ended.
const GOES_ON: u64 = 1 << 63;

impl<N: Nhi, L: Nhi, M: Atlas, const HELD: usize> Table<N, L, M, HELD> {
    /// Runs one stage of many lookups.
    #[inline(always)]
    pub(super) fn run_stage<C: Counting, W: Width>(
        &self,
        side: &Side<W>,
        stage: usize,
        addresses: &[u128],
        found: &mut [u64],
    ) {
        for (&address, found) in addresses.iter().zip(found) {
            *found = match stage {
                0 => self.at_root::<C>(address),
                BESIDE => self.beside::<C, W>(side, address, *found),
                _ if *found & GOES_ON == 0 => continue,
                depth => self.below::<C>(depth, address, *found),
            };
        }
    }

    /// Looks up an address in TrieC15/6. An address outside 2000::/3 waits for the last stage.
    #[inline(always)]
    fn at_root<C: Counting>(&self, address: u128) -> u64 {
        let high = (address >> 64) as u64;
        if !is_global(high) {
            return 0;
        }
        let (entry, slot) = Self::root_place(high);
        handed_on(self.root[entry].get_in_step::<C>(slot, self.extra.indices()))
    }

    /// Looks up an address in a level of TrieC4/4.
    #[inline(always)]
    fn below<C: Counting>(&self, depth: usize, address: u128, found: u64) -> u64 {
        let pointer = N::pointer(found as u32 as usize);
        let (entry, slot) = Self::place_below(depth, pointer, (address >> 64) as u64);
        if depth < LAST {
            return handed_on(self.levels[depth - 1][entry].get_in_step::<C>(slot, self.extra.indices()));
        }
        let last = self.last[entry].get_in_step::<C>(slot, self.last_extra.indices());
        u64::from(last.next_hop().0) | if last.flag() { GOES_ON } else { 0 }
    }

    /// Ends a lookup: in Hash16, among the routes past it and those outside, and by the default.
    #[inline(always)]
    fn beside<C: Counting, W: Width>(&self, side: &Side<W>, address: u128, found: u64) -> u64 {
        let high = (address >> 64) as u64;
        if !is_global(high) {
            return side.outside.descend(address, &mut Unmetered).widen().0.into();
        }
        let mut next_hop = NextHop(found as u32);
        if found & GOES_ON != 0 {
            let hashed =
                self.hash16.get::<C>(high, crc32c(Hash16::<L, M, HELD>::key_of(high)), &mut Unmetered);
            if hashed.flag() {
                let longer = side.longer.descend(address, &mut Unmetered);
                if longer != W::default() {
                    return longer.widen().0.into();
                }
            }
            if hashed.next_hop().is_some() {
                next_hop = hashed.next_hop();
            }
        }
        side.or_default(next_hop).0.into()
    }
}

/// Returns what a level above the last hands on: where to continue, or the answer.
#[inline(always)]
fn handed_on(nhi: impl Nhi) -> u64 {
    if nhi.flag() { GOES_ON | nhi.node() as u64 } else { nhi.next_hop().0.into() }
}
