//! Updates in place, guided by the length that each entry stores.

use super::{BLOCK, Dir24_8, slots, slots_below, start_of};
use crate::blocks::entry::{Entry, replace};
use crate::engine::Cost;
use crate::{Delta, Prefix, Rib, Route};
use std::ops::Range;

impl<W> Dir24_8<W> {
    /// Returns the number of blocks.
    pub(super) fn blocks(&self) -> usize {
        (self.tbl_long.len() - self.tbl_long.free_total()) / BLOCK
    }

    /// Returns the number of blocks that may be added before the others would have to move.
    pub(super) fn room(&self) -> usize {
        (self.tbl_long.room() as usize + self.tbl_long.holes()) / BLOCK
    }

    /// Applies changes that `rib` already holds, [in order](crate::blocks::entry::in_order). There
    /// must be [room](Self::room).
    pub(super) fn follow(&mut self, rib: &Rib<u32>, deltas: &[Delta<u32>]) -> Cost {
        let mut cost = Cost::default();
        for &Delta { prefix, after, .. } in deltas {
            let len = prefix.len();
            if after.is_some() {
                if len > 24 {
                    let (_, new) = self.block_of(slots(prefix).start);
                    cost.nodes_allocated += u64::from(new);
                    cost.entries_set += if new { 1 + BLOCK as u64 } else { 0 };
                }
                let entry = Entry::of(Route { prefix, next_hop: after });
                cost.entries_set += self.replace(prefix, entry, |old| old <= len);
            } else {
                let entry = rib.parent(prefix).map_or(Entry::NO_ROUTE, Entry::of);
                cost.entries_set += self.replace(prefix, entry, |old| old == len);
                if len > 24 {
                    cost.entries_set += self.remove_block(slots(prefix).start);
                }
            }
        }
        cost
    }

    /// Returns the start of the block of a /24, and whether the block is new. A new block is filled
    /// with the entry of the /24.
    pub(super) fn block_of(&mut self, slot: usize) -> (usize, bool) {
        let entry = self.tbl24.get(slot);
        if let Some(start) = start_of(entry) {
            return (start, false);
        }
        let start = self.tbl_long.insert(&[entry; BLOCK]).expect("a block has room");
        self.tbl24.set(slot, Entry::pointing_to((start / BLOCK) as u32));
        (start, true)
    }

    /// Sets the entries under `prefix` whose length satisfies `replaced` to `new`. Returns their
    /// number.
    fn replace(&mut self, prefix: Prefix<u32>, new: Entry, replaced: impl Fn(u8) -> bool) -> u64 {
        let tbl_long = self.tbl_long.words();
        if prefix.len() > 24 {
            // An earlier withdrawal in the batch may have found that none of these entries is left.
            return start_of(self.tbl24.get(slots(prefix).start)).map_or(0, |start| {
                let Range { start: first, end } = slots_below(prefix);
                replace(tbl_long, start + first..start + end, new, &replaced)
            });
        }
        let each = slots(prefix).map(|slot| match start_of(self.tbl24.get(slot)) {
            Some(start) => replace(tbl_long, start..start + BLOCK, new, &replaced),
            None => replace(&self.tbl24, slot..slot + 1, new, &replaced),
        });
        each.sum()
    }

    /// Removes the block of a /24 if none of its entries comes from a route longer than /24.
    /// Returns the number of entries written.
    fn remove_block(&mut self, slot: usize) -> u64 {
        let Some(start) = start_of(self.tbl24.get(slot)) else { return 0 };
        if self.tbl_long[start..start + BLOCK].iter().any(|entry| entry.load().len() > 24) {
            return 0;
        }
        self.tbl24.set(slot, self.tbl_long.get(start));
        self.tbl_long.remove(start, BLOCK);
        1
    }
}
