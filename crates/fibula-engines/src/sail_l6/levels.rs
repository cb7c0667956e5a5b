//! The arrays as pushed levels, and the cost of writing them.

use super::{CHUNK, LEVEL_48, Level, NO_ROUTE, SailL6};
use crate::blocks::dense::Owners;
use crate::blocks::pushing::{ANSWER, Levels, Slot, words_written};
use fibula::NextHop;
use fibula::engine::{Unmetered, Width};
use std::ops::Range;

/// The BCN entries of a 64-bit word.
const BCN_WORD: usize = 2;
/// The bits of B48 in a 64-bit word.
const B48_WORD: usize = 64;

impl<W: Width> SailL6<W> {
    /// Returns the level at `depth`, or `None` for level 48, whose layout is different.
    fn level(&self, depth: usize) -> Option<&Level> {
        match depth {
            ..LEVEL_48 => Some(&self.upper[depth]),
            LEVEL_48 => None,
            _ => Some(&self.lower[depth - LEVEL_48 - 1]),
        }
    }

    fn level_mut(&mut self, depth: usize) -> Option<&mut Level> {
        match depth {
            ..LEVEL_48 => Some(&mut self.upper[depth]),
            LEVEL_48 => None,
            _ => Some(&mut self.lower[depth - LEVEL_48 - 1]),
        }
    }

    /// Writes one BCN entry to slots of a level other than 48.
    fn set_bcn(&mut self, depth: usize, slots: Range<usize>, entry: u32) {
        self.cost.entries_set += slots.len() as u64;
        if depth < LEVEL_48 {
            self.cost.on_chip_writes += words_written(slots.clone(), BCN_WORD, |_| true);
        }
        let level = self.level_mut(depth).expect("level 48 has no BCN");
        level.bcn[slots].fill(entry);
    }

    /// Writes one next hop to slots of level 48.
    fn set_bn48(&mut self, slots: Range<usize>, next_hop: W) {
        let (bn, zero) = (&mut self.level_48.bn, W::default());
        let flips = |slot| (bn[slot] == zero) != (next_hop == zero);
        self.cost.entries_set += slots.len() as u64;
        self.cost.on_chip_writes += words_written(slots.clone(), B48_WORD, flips);
        bn[slots].fill(next_hop);
    }

    /// Counts the writing of a whole chunk.
    fn count_chunk(&mut self, depth: usize) {
        self.cost.entries_set += CHUNK as u64;
        self.cost.on_chip_writes += match depth {
            ..LEVEL_48 => CHUNK / BCN_WORD,
            LEVEL_48 => CHUNK / B48_WORD,
            _ => 0,
        } as u64;
    }
}

impl<W: Width> Levels<u128> for SailL6<W> {
    const LEVELS: &'static [u8] = &super::LEVELS;

    #[inline]
    fn slot(&self, depth: usize, slot: usize) -> Slot {
        let Some(level) = self.level(depth) else {
            return match self.level_48.c.get(slot, &mut Unmetered) {
                NO_ROUTE => Slot::Answer(self.level_48.bn[slot].widen()),
                chunk => Slot::Chunk(chunk),
            };
        };
        match Slot::unpack(level.bcn[slot]) {
            // The last level has no chunks below: a value that is no answer is the next hop beside
            // longer routes.
            Slot::Chunk(next_hop) if depth + 1 == Self::LEVELS.len() => Slot::Beyond(NextHop(next_hop)),
            slot => slot,
        }
    }

    #[inline]
    fn write(&mut self, depth: usize, slots: Range<usize>, next_hop: NextHop) {
        match depth {
            LEVEL_48 => self.set_bn48(slots, W::narrow(next_hop)),
            _ => self.set_bcn(depth, slots, ANSWER | next_hop.0),
        }
    }

    fn write_beyond(&mut self, slot: usize, next_hop: NextHop) {
        self.set_bcn(Self::LEVELS.len() - 1, slot..slot + 1, next_hop.0);
    }

    fn link(&mut self, depth: usize, slot: usize, chunk: u32) {
        match depth {
            LEVEL_48 => {
                self.set_bn48(slot..slot + 1, W::default());
                self.cost.entries_set += 1;
                self.level_48.c.set(slot, chunk);
            }
            _ => self.set_bcn(depth, slot..slot + 1, chunk),
        }
    }

    fn unlink(&mut self, depth: usize, slot: usize) {
        if let Some(level) = self.level_mut(depth) {
            level.bcn[slot] = ANSWER;
        } else {
            self.cost.entries_set += 1;
            self.level_48.c.set(slot, NO_ROUTE);
        }
    }

    fn create(&mut self, depth: usize, owner: u128, next_hop: NextHop) -> u32 {
        self.cost.nodes_allocated += 1;
        self.count_chunk(depth);
        if let Some(level) = self.level_mut(depth) {
            level.bcn.push(ANSWER | next_hop.0);
            level.owners.push(owner)
        } else {
            self.level_48.bn.push(W::narrow(next_hop));
            self.level_48.c.push();
            self.level_48.owners.push(owner)
        }
    }

    fn remove(&mut self, depth: usize, chunk: u32) -> Option<u128> {
        let moved = if let Some(level) = self.level_mut(depth) {
            level.bcn.swap_remove(chunk);
            level.owners.swap_remove(chunk)
        } else {
            self.level_48.bn.swap_remove(chunk);
            self.level_48.c.swap_remove(chunk);
            self.level_48.owners.swap_remove(chunk)
        };
        if moved.is_some() {
            self.cost.nodes_copied += 1;
            self.count_chunk(depth);
        }
        moved
    }

    fn owners(&self, depth: usize) -> &Owners<u128> {
        self.level(depth).map_or(&self.level_48.owners, |level| &level.owners)
    }
}
