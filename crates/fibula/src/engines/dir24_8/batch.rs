//! The batch path: TBL24 for a block of addresses whose lines were asked for one block ago, then TBLlong for those
//! that need it.

use super::Dir24_8;
use crate::arch::prefetch;
use crate::blocks::entry::Entry;
use crate::blocks::pipeline::{Stages, for_each_set, look_up};
use crate::engine::{Unmetered, Width};
use crate::memory::Word;

/// The addresses of a block: as many loads in flight as today's cores keep, and few enough that their lines of
/// TBL24 are still in the nearest cache when the turn of the block comes.
const BLOCK: usize = 32;
const SHORT_BLOCK: usize = 8;

impl<W: Width> Stages<u32, W, 2> for Dir24_8<W> {
    type Found<const N: usize> = ();

    #[inline(always)]
    fn nothing<const N: usize>() {}

    #[inline(always)]
    fn run<const N: usize>(
        &self,
        stage: usize,
        _: usize,
        addresses: &[u32; N],
        (): &mut (),
        next_hops: &mut [W; N],
    ) {
        match stage {
            0 => self.ask(addresses),
            _ => self.read(addresses, next_hops),
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
        look_up::<BLOCK, SHORT_BLOCK, 2, _, _, _>(self, addresses, next_hops);
    }

    /// Asks for the lines of TBL24.
    #[inline(always)]
    fn ask<const N: usize>(&self, addresses: &[u32; N]) {
        let tbl24 = &self.tbl24[..];
        for address in addresses {
            prefetch(tbl24, (address >> 8) as usize);
        }
    }

    /// No branch on what one entry says: those that point to a block are marked and followed afterwards. A block of addresses without any,
    /// as most are, is not looked through for them.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index runs through three arrays of one block")]
    fn read<const N: usize>(&self, addresses: &[u32; N], next_hops: &mut [W; N]) {
        const { assert!(N <= 64) }
        let tbl24 = self.tbl24();
        let mut entries = [Entry::NO_ROUTE; N];
        let mut any = 0;
        for at in 0..N {
            let entry = Entry::load(&tbl24[(addresses[at] >> 8) as usize]);
            entries[at] = entry;
            next_hops[at] = entry.answer();
            any |= entry.0;
        }
        if any & Entry::pointing_to(0).0 != 0 {
            let mark = |long, (at, entry): (usize, &Entry)| long | u64::from(entry.chunk().is_some()) << at;
            let long = entries.iter().enumerate().fold(0, mark);
            for_each_set(long, |at| next_hops[at] = self.look_up(addresses[at], &mut Unmetered));
        }
    }
}
