//! The batch path: a block of addresses goes through the filters while the block before it goes
//! through the tables.

use super::Groups;
use crate::blocks::expanded::Expanded;
use crate::blocks::filtered::{Ones, Survivors};
use crate::blocks::probing::Hashing;
use crate::blocks::table::HashTable;
use fibula::engine::{Unmetered, Width};
use std::mem::swap;

/// The addresses of a block.
const BLOCK: usize = 64;

/// The set of all addresses of a block.
const ALL: u64 = u64::MAX >> (64 - BLOCK);

/// The results of the filters for a block.
#[derive(Default)]
struct Filters {
    g1: Survivors<BLOCK>,
    g2: Survivors<BLOCK>,
}

impl<W: Width, H: Hashing, T: HashTable<u32, Expanded<W>>> Groups<W, H, T> {
    #[inline(always)]
    pub(super) fn lookup_blocks(&self, addresses: &[u32], next_hops: &mut [W]) {
        let (blocks, rest) = addresses.as_chunks::<BLOCK>();
        let (answers, answers_rest) = next_hops.as_chunks_mut::<BLOCK>();
        if self.in_order {
            for (block, answers) in blocks.iter().zip(answers) {
                self.search_in_order(block, answers);
            }
            return self.lookup_rest(rest, answers_rest);
        }
        let (mut one, mut other) = (Filters::default(), Filters::default());
        let (mut now, mut next) = (&mut one, &mut other);
        if let Some(first) = blocks.first() {
            self.test_filters(first, next);
        }
        for (at, (block, answers)) in blocks.iter().zip(answers).enumerate() {
            swap(&mut now, &mut next);
            if let Some(following) = blocks.get(at + 1) {
                self.test_filters(following, next);
            }
            self.search_tables(block, now, answers);
        }
        self.lookup_rest(rest, answers_rest);
    }

    #[inline(always)]
    fn lookup_rest(&self, addresses: &[u32], next_hops: &mut [W]) {
        for (&address, next_hop) in addresses.iter().zip(next_hops) {
            *next_hop = self.lookup_one(address, &mut Unmetered);
        }
    }

    /// Asks G2 for a block as the paper does, filter and table, and then G1 for the addresses that
    /// have no answer.
    #[inline(always)]
    fn search_in_order(&self, addresses: &[u32; BLOCK], next_hops: &mut [W; BLOCK]) {
        let mut open = ALL;
        for (group, bits) in [(&self.g2, 0), (&self.g1, 8)] {
            let mut keys = *addresses;
            for key in &mut keys {
                *key >>= bits;
            }
            let passed = group.survivors(&keys, open);
            for at in passed.all() {
                let found = group.survivor(&passed, at, keys[at]).next_hop;
                next_hops[at] = found;
                open &= !(u64::from(found != W::default()) << at);
            }
        }
        for at in Ones::<BLOCK>(open) {
            next_hops[at] = self.direct.get(addresses[at], &mut Unmetered);
        }
    }

    /// Tests every address in both filters: whether the table of the longer prefixes has the answer
    /// is known only a block later.
    #[inline(always)]
    fn test_filters(&self, addresses: &[u32; BLOCK], filters: &mut Filters) {
        let mut keys = *addresses;
        for key in &mut keys {
            *key >>= 8;
        }
        filters.g2 = self.g2.survivors(addresses, ALL);
        filters.g1 = self.g1.survivors(&keys, ALL);
        for at in Ones::<BLOCK>(ALL & !(filters.g1.passed | filters.g2.passed)) {
            self.direct.prefetch(addresses[at]);
        }
    }

    /// Looks up the addresses that passed a filter in the tables, the longest prefixes last. All
    /// without an answer get that of the direct array.
    #[inline(always)]
    fn search_tables(&self, addresses: &[u32; BLOCK], filters: &Filters, next_hops: &mut [W; BLOCK]) {
        let none = W::default();
        let mut open = ALL;
        for at in filters.g1.all() {
            let found = self.g1.survivor(&filters.g1, at, addresses[at] >> 8).next_hop;
            next_hops[at] = found;
            open ^= u64::from(found != none) << at;
        }
        for at in filters.g2.all() {
            let found = self.g2.survivor(&filters.g2, at, addresses[at]).next_hop;
            next_hops[at] = if found == none { next_hops[at] } else { found };
            open &= !(u64::from(found != none) << at);
        }
        for at in Ones::<BLOCK>(open) {
            next_hops[at] = self.direct.get(addresses[at], &mut Unmetered);
        }
    }
}
