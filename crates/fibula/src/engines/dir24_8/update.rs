//! Updates in place, guided by the length that each entry stores.

use super::{BLOCK, Dir24_8, start_of};
use crate::blocks::entry::{Entry, replace};
use crate::blocks::expansion::slots;
use crate::engine::Cost;
use crate::memory::Shareable;
use crate::{Delta, Prefix, Rib, Route};

impl<W> Dir24_8<W> {
    /// Applies changes that `rib` already holds. They must be in the order of
    /// `in_order`.
    pub(super) fn follow(&mut self, rib: &Rib<u32>, deltas: &[Delta<u32>]) -> Cost {
        let mut cost = Cost::default();
        for &Delta { prefix, after, .. } in deltas {
            let len = prefix.len();
            if after.is_some() {
                if len > 24 {
                    let (_, new) = self.block_of(prefix.first() >> 8);
                    cost.nodes_allocated += u64::from(new);
                    cost.entries_set += if new { 1 + BLOCK as u64 } else { 0 };
                }
                let entry = Entry::of(Route { prefix, next_hop: after });
                cost.entries_set += self.replace(prefix, entry, |old| old <= len);
            } else {
                let entry = rib.parent(prefix).map_or(Entry::NO_ROUTE, Entry::of);
                cost.entries_set += self.replace(prefix, entry, |old| old == len);
                if len > 24 {
                    cost += self.remove_block(prefix.first() >> 8);
                }
            }
        }
        cost
    }

    /// Returns the start of the block of a /24, and whether the block is new. A new block is filled
    /// with the entry of the /24.
    pub(super) fn block_of(&mut self, slot: u32) -> (usize, bool) {
        let entry = self.tbl24.get(slot as usize);
        if let Some(start) = start_of(entry) {
            return (start, false);
        }
        let block = self.owners.push(slot);
        self.tbl_long.put(block, entry);
        self.tbl24.set(slot as usize, Entry::pointing_to(block));
        (block as usize * BLOCK, true)
    }

    /// Sets the entries under `prefix` whose length satisfies `replaced` to `new`. Returns their
    /// number.
    fn replace(&mut self, prefix: Prefix<u32>, new: Entry, replaced: impl Fn(u8) -> bool) -> u64 {
        let mut set = 0;
        if prefix.len() > 24 {
            // An earlier withdrawal in the batch may have found that none of these entries is left.
            if let Some(start) = start_of(self.tbl24.get((prefix.first() >> 8) as usize)) {
                let (first, last) = (prefix.first() & 255, prefix.last() & 255);
                let range = start + first as usize..start + last as usize + 1;
                set += replace(&self.tbl_long, range, new, &replaced);
            }
            return set;
        }
        for slot in slots(prefix, 24) {
            let slot = slot as usize;
            set += match start_of(self.tbl24.get(slot)) {
                Some(start) => replace(&self.tbl_long, start..start + BLOCK, new, &replaced),
                None => replace(&self.tbl24, slot..slot + 1, new, &replaced),
            };
        }
        set
    }

    /// Removes the block of a /24 if none of its entries comes from a route longer than /24.
    fn remove_block(&mut self, slot: u32) -> Cost {
        let mut cost = Cost::default();
        let Some(start) = start_of(self.tbl24.get(slot as usize)) else { return cost };
        let entries = &self.tbl_long[start..start + BLOCK];
        if entries.iter().any(|entry| Entry::load(entry).len() > 24) {
            return cost;
        }
        self.tbl24.set(slot as usize, Entry::load(&entries[0]));
        cost.entries_set += 1;
        let block = (start / BLOCK) as u32;
        self.tbl_long.swap_remove(block);
        if let Some(owner) = self.owners.swap_remove(block) {
            self.tbl24.set(owner as usize, Entry::pointing_to(block));
            cost.nodes_copied += 1;
            cost.entries_set += 1 + BLOCK as u64;
        }
        cost
    }
}
