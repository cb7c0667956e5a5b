//! The batch path: a block of addresses goes down the levels in step.

use super::{ByLength, Keyed, Level};
use crate::blocks::filtered::Survivors;
use crate::blocks::probing::Hashing;
use fibula::engine::{Unmetered, Width};

/// The number of addresses of a block.
const BLOCK: usize = 64;

/// The bits of all addresses of a block.
const ALL: u64 = u64::MAX >> (64 - BLOCK);

/// The filter's result of a level for a block.
struct Asked<'t, A: Keyed, W: Width, H: Hashing, const SLOTS: usize> {
    level: &'t Level<A, W, H, SLOTS>,
    keys: [A::Key; BLOCK],
    survivors: Survivors<BLOCK>,
}

impl<A: Keyed, W: Width, H: Hashing, const SLOTS: usize> ByLength<A, W, H, SLOTS> {
    /// Looks up `addresses` and writes their answers to `next_hops`, which has the same length. If
    /// `EVERY`, the filters of all levels are asked for each address, as in
    /// [`look_up_after_all`](Self::look_up_after_all).
    #[inline(always)]
    pub fn look_up_all<const EVERY: bool>(&self, addresses: &[A], next_hops: &mut [W]) {
        let (blocks, rest) = addresses.as_chunks::<BLOCK>();
        let (answers, answers_rest) = next_hops.as_chunks_mut::<BLOCK>();
        for (block, answers) in blocks.iter().zip(answers) {
            self.look_up_block::<EVERY>(block, answers);
        }
        for (&address, answer) in rest.iter().zip(answers_rest) {
            *answer = if EVERY {
                self.look_up_after_all(address, &mut Unmetered)
            } else {
                self.look_up(address, &mut Unmetered)
            };
        }
    }

    /// Tries each level for all addresses that no longer one has answered, or its filter for all.
    /// The filter of a level is tested before the table of the level before is searched, so that
    /// the buckets arrive in time.
    #[inline(always)]
    fn look_up_block<const EVERY: bool>(&self, addresses: &[A; BLOCK], next_hops: &mut [W; BLOCK]) {
        let mut open = ALL;
        *next_hops = [self.default; BLOCK];
        let mut before: Option<Asked<'_, A, W, H, SLOTS>> = None;
        let longest = addresses.map(A::longest);
        for level in self.longest_first() {
            let mut keys = longest;
            for key in &mut keys {
                *key = A::first(*key, level.len);
            }
            let asked =
                Asked { level, keys, survivors: level.pair.survivors(&keys, if EVERY { ALL } else { open }) };
            if let Some(before) = before.replace(asked) {
                self.search(&before, addresses, &mut open, next_hops);
                if open == 0 && !EVERY {
                    return;
                }
            }
        }
        if let Some(last) = before {
            self.search(&last, addresses, &mut open, next_hops);
        }
    }

    /// Searches the table of a level for the survivors that have no answer yet.
    #[inline(always)]
    fn search(
        &self,
        asked: &Asked<'_, A, W, H, SLOTS>,
        addresses: &[A; BLOCK],
        open: &mut u64,
        next_hops: &mut [W; BLOCK],
    ) {
        for at in asked.survivors.among(*open) {
            let entry = asked.level.pair.survivor(&asked.survivors, at, asked.keys[at]);
            let next_hop = self.answer(entry, addresses[at], &mut Unmetered);
            if next_hop != W::default() {
                next_hops[at] = next_hop;
                *open &= !(1 << at);
            }
        }
    }
}
