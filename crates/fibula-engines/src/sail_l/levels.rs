//! SAIL_L's arrays as pushed levels, and the cost of writing them.

use super::{Arrays, Bcn, CHUNK, NO_ROUTE};
use crate::blocks::dense::Owners;
use crate::blocks::pushing::{ANSWER, Levels, Slot, words_written};
use fibula::NextHop;
use fibula::engine::Width;
use std::ops::Range;

/// The depths: of BCN16, of BN24 with C24, and of N32.
const LEVEL_16: usize = 0;
const LEVEL_24: usize = 1;

/// The bits of a word of B24, the bit map that the zeros of BN24 represent.
const B24_WORD: usize = 64;

/// The entries of C24 in a 64-bit word.
const C24_WORD: usize = 2;

impl<W: Width, E: Bcn> Arrays<W, E> {
    /// The entries of BCN16 in a 64-bit word.
    const BCN16_WORD: usize = size_of::<u64>() / size_of::<E>();
    /// The next hops of BN24 or N32 in a 64-bit word.
    const ANSWERS_WORD: usize = size_of::<u64>() / size_of::<W>();

    /// Returns the words of a whole chunk.
    fn chunk_words(depth: usize) -> u64 {
        let pointers = if depth == LEVEL_24 { CHUNK / C24_WORD } else { 0 };
        (CHUNK / Self::ANSWERS_WORD + pointers) as u64
    }

    /// Counts the words of B24 that change when all of `slots` become `next_hop`.
    fn count_b24(&mut self, slots: Range<usize>, next_hop: W) {
        let (bn24, zero) = (&self.bn24, W::default());
        let flips = |slot| (bn24[slot] == zero) != (next_hop == zero);
        self.cost.on_chip_writes += words_written(slots, B24_WORD, flips);
    }
}

impl<W: Width, E: Bcn> Levels<u32> for Arrays<W, E> {
    const LEVELS: &'static [u8] = &[16, 24, 32];

    #[inline]
    fn slot(&self, depth: usize, slot: usize) -> Slot {
        match depth {
            LEVEL_16 => Slot::unpack(self.bcn16[slot].widen()),
            LEVEL_24 => match (self.bn24[slot].widen(), self.c24[slot]) {
                (NextHop::NONE, NO_ROUTE) => Slot::Answer(NextHop::NONE),
                (NextHop::NONE, chunk) => Slot::Chunk(chunk),
                (answer, _) => Slot::Answer(answer),
            },
            _ => Slot::Answer(self.n32[slot].widen()),
        }
    }

    #[inline]
    fn write(&mut self, depth: usize, slots: Range<usize>, next_hop: NextHop) {
        self.cost.entries_set += slots.len() as u64;
        match depth {
            LEVEL_16 => {
                let words = words_written(slots.clone(), Self::BCN16_WORD, |_| true);
                self.cost.on_chip_writes += words;
                self.cost.words_written += words;
                self.bcn16[slots].fill(E::narrow(ANSWER | next_hop.0));
            }
            LEVEL_24 => {
                let next_hop = W::narrow(next_hop);
                self.count_b24(slots.clone(), next_hop);
                self.cost.words_written += words_written(slots.clone(), Self::ANSWERS_WORD, |_| true);
                if next_hop == W::default() {
                    self.cost.words_written += words_written(slots.clone(), C24_WORD, |_| true);
                    self.c24[slots.clone()].fill(NO_ROUTE);
                }
                self.bn24[slots].fill(next_hop);
            }
            _ => {
                self.cost.words_written += words_written(slots.clone(), Self::ANSWERS_WORD, |_| true);
                self.n32[slots].fill(W::narrow(next_hop));
            }
        }
    }

    fn link(&mut self, depth: usize, slot: usize, chunk: u32) {
        if depth == LEVEL_16 {
            self.cost.entries_set += 1;
            self.cost.on_chip_writes += 1;
            self.cost.words_written += 1;
            self.bcn16[slot] = E::narrow(chunk);
        } else {
            self.cost.entries_set += 2;
            self.cost.words_written += 2;
            self.count_b24(slot..slot + 1, W::default());
            self.c24[slot] = chunk;
            self.bn24[slot] = W::default();
        }
    }

    /// Does nothing: the answer that comes next overwrites the pointer.
    fn unlink(&mut self, _: usize, _: usize) {}

    fn create(&mut self, depth: usize, owner: u32, next_hop: NextHop) -> u32 {
        self.cost.entries_set += CHUNK as u64;
        self.cost.words_written += Self::chunk_words(depth);
        self.cost.nodes_allocated += 1;
        let next_hop = W::narrow(next_hop);
        if depth == LEVEL_24 {
            self.cost.on_chip_writes += (CHUNK / B24_WORD) as u64;
            self.c24.push(NO_ROUTE);
            self.bn24.push(next_hop);
            self.owners24.push(owner)
        } else {
            self.n32.push(next_hop);
            self.owners32.push(owner)
        }
    }

    fn remove(&mut self, depth: usize, chunk: u32) -> Option<u32> {
        let moved = if depth == LEVEL_24 {
            self.bn24.swap_remove(chunk);
            self.c24.swap_remove(chunk);
            self.owners24.swap_remove(chunk)
        } else {
            self.n32.swap_remove(chunk);
            self.owners32.swap_remove(chunk)
        };
        if moved.is_some() {
            self.cost.nodes_copied += 1;
            self.cost.entries_set += CHUNK as u64;
            self.cost.words_written += Self::chunk_words(depth);
            if depth == LEVEL_24 {
                self.cost.on_chip_writes += (CHUNK / B24_WORD) as u64;
            }
        }
        moved
    }

    fn owners(&self, depth: usize) -> &Owners<u32> {
        if depth == LEVEL_24 { &self.owners24 } else { &self.owners32 }
    }
}
