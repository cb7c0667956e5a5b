//! [`Dir24_8View`]: lookups, one at a time and in batches. A batch reads TBL24 for a block of
//! addresses whose lines were prefetched one block ago, then TBLlong for those that need it.

use super::{TBL24, start_of};
use crate::arch::{Isa, Sets, prefetch};
use crate::blocks::entry::Entry;
use crate::blocks::pipeline::{Stages, look_up};
use crate::engine;
use crate::engine::{Lookup, Meter, Staging, Width};
use crate::memory::{Published, Shareable, WordsView};
use std::marker::PhantomData;

/// The addresses of a block: as many loads in flight as today's cores keep, and few enough that
/// their lines of TBL24 are still in the nearest cache when the block's turn comes.
const BLOCK: usize = 32;
const SHORT_BLOCK: usize = 8;

/// The stages: prefetching lines of TBL24, reading its entries, answers. The last stage reads as
/// vectors what the one before has loaded one by one. Within one block it would wait for the store
/// queue, which cannot forward single stores to a vector load. One loop without a third stage gave
/// six sevenths on a table with 72,097 next hops (the origin ASes of table 2024).
const STAGES: usize = 3;

/// The two tables as lookups read them.
#[derive(Clone, Debug)]
pub(crate) struct Dir24_8View<W> {
    tbl24: WordsView<Entry>,
    pub(super) tbl_long: WordsView<Entry>,
    width: PhantomData<W>,
}

impl<W: Width> Dir24_8View<W> {
    pub(super) fn of(tbl24: WordsView<Entry>, tbl_long: WordsView<Entry>) -> Self {
        Self { tbl24, tbl_long, width: PhantomData }
    }

    /// Returns TBL24 as an array of known size, so that no 24-bit index needs a bounds check.
    #[inline(always)]
    fn tbl24(&self) -> &[Published<Entry>; TBL24] {
        self.tbl24[..].try_into().expect("one entry a /24")
    }
}

impl<W: Width> Lookup<u32> for Dir24_8View<W> {
    type Width = W;
    const SETS: Sets = Sets::Words;

    #[inline(always)]
    fn lookup_metered<M: Meter>(&self, address: u32, meter: &mut M) -> W {
        let mut entry: Entry = meter.load_word(&self.tbl24()[(address >> 8) as usize]);
        if let Some(start) = start_of(entry) {
            entry = meter.load_word(&self.tbl_long[start | (address & 255) as usize]);
        }
        entry.answer()
    }

    /// Looks up a batch, block by block.
    ///
    /// One address after another, the processor overlaps no more loads than fit in its window of
    /// instructions. Prefetching the lines of the next block gave a quarter more on the table of
    /// January 2024. A vector gather ran at less than half.
    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, _: I, addresses: &[u32], next_hops: &mut [W]) {
        look_up::<BLOCK, SHORT_BLOCK, STAGES, _, _, _>(self, addresses, next_hops);
    }

    fn staging() -> Option<Staging<Self, u32>> {
        Some(Staging::of_lookup())
    }
}

/// TBL24, then TBLlong: the first stage hands an entry on to the second.
impl<W: Width> engine::Stages<u32> for Dir24_8View<W> {
    fn stages(&self) -> usize {
        2
    }

    #[inline(always)]
    fn run_stage<I: Isa>(&self, _: I, stage: usize, addresses: &[u32], found: &mut [u64]) {
        let tbl24 = self.tbl24();
        for (&address, found) in addresses.iter().zip(found) {
            if stage == 0 {
                *found = tbl24[(address >> 8) as usize].load().0.into();
                continue;
            }
            let mut entry = Entry(*found as u32);
            if let Some(start) = start_of(entry) {
                entry = self.tbl_long.get(start | (address & 255) as usize);
            }
            *found = entry.answer::<W>().widen().0.into();
        }
    }
}

impl<W: Width> Stages<u32, W, STAGES> for Dir24_8View<W> {
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
            0 => self.prefetch_lines(addresses),
            1 => self.read(addresses, entries),
            _ => self.answer(addresses, entries, next_hops),
        }
    }

    #[inline(always)]
    fn one(&self, _: usize, &address: &u32) -> W {
        self.lookup(address)
    }
}

impl<W: Width> Dir24_8View<W> {
    /// Prefetches the lines of TBL24.
    #[inline(always)]
    fn prefetch_lines<const N: usize>(&self, addresses: &[u32; N]) {
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

    /// Converts entries to answers, without a branch on any one entry. Entries that point to a
    /// block are followed afterwards. A block of addresses without any, like most, is not searched
    /// for them.
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
                next_hops[at] = self.lookup(addresses[at]);
            }
        }
    }
}
