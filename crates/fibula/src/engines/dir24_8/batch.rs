//! The batch path: TBL24 for a block of addresses whose lines were asked for one block ago, then TBLlong for those
//! that need it.

use super::Dir24_8;
use crate::arch::prefetch;
use crate::blocks::entry::Entry;
use crate::blocks::pipeline::{Stages, look_up};
use crate::engine::{Unmetered, Width};
use crate::memory::Shareable;

/// The addresses of a block: as many loads in flight as today's cores keep, and few enough that their lines of
/// TBL24 are still in the nearest cache when the turn of the block comes.
const BLOCK: usize = 32;
const SHORT_BLOCK: usize = 8;

/// The stages: asking for lines of TBL24, its entries, answers. The last works on many at once what the one before has loaded one by one; in
/// the same block right after it would wait for the store queue, from which a vector cannot be had in parts. All in one loop, without a third
/// stage, gave six sevenths on a table with 72,097 next hops.
const STAGES: usize = 3;

impl<W: Width> Stages<u32, W, STAGES> for Dir24_8<W> {
    type Found<const N: usize> = [Entry; N];

    #[inline(always)]
    fn nothing<const N: usize>() -> [Entry; N] {
        [Entry::NO_ROUTE; N]
    }

    #[inline(always)]
    fn run<const N: usize>(
        &self,
        stage: usize,
        _: usize,
        addresses: &[u32; N],
        entries: &mut [Entry; N],
        next_hops: &mut [W; N],
    ) {
        match stage {
            0 => self.ask(addresses),
            1 => self.read(addresses, entries),
            _ => self.answer(addresses, entries, next_hops),
        }
    }

    #[inline(always)]
    fn one(&self, _: usize, &address: &u32) -> W {
        self.look_up(address, &mut Unmetered)
    }
}

impl<W: Width> Dir24_8<W> {
    /// One address after another lets the processor overlap no more loads than fit in its window of instructions;
    /// asking for the lines of the next block gave a quarter more on the table of January 2024. A vector
    /// gather ran at less than half.
    #[inline(always)]
    pub(super) fn lookup_blocks(&self, addresses: &[u32], next_hops: &mut [W]) {
        look_up::<BLOCK, SHORT_BLOCK, STAGES, _, _, _>(self, addresses, next_hops);
    }

    /// Asks for the lines of TBL24.
    #[inline(always)]
    fn ask<const N: usize>(&self, addresses: &[u32; N]) {
        let tbl24 = &self.tbl24[..];
        for address in addresses {
            prefetch(tbl24, (address >> 8) as usize);
        }
    }

    /// Reads TBL24.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index runs through two arrays of one block")]
    fn read<const N: usize>(&self, addresses: &[u32; N], entries: &mut [Entry; N]) {
        let tbl24 = self.tbl24();
        for at in 0..N {
            entries[at] = Entry::load(&tbl24[(addresses[at] >> 8) as usize]);
        }
    }

    /// No branch on what one entry says: those that point to a chunk are followed afterwards. A block of addresses without any, as most
    /// are, is not looked through for them.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index runs through three arrays of one block")]
    fn answer<const N: usize>(&self, addresses: &[u32; N], entries: &[Entry; N], next_hops: &mut [W; N]) {
        let mut any = 0;
        for at in 0..N {
            next_hops[at] = entries[at].answer();
            any |= entries[at].0;
        }
        if any & Entry::pointing_to(0).0 != 0 {
            for at in (0..N).filter(|&at| entries[at].chunk().is_some()) {
                next_hops[at] = self.look_up(addresses[at], &mut Unmetered);
            }
        }
    }
}
