//! The batch path: a block of addresses finds its slots of levels 16 and 24 while the block before it reads them.

use super::{NODES16, SailM};
use crate::arch::{Isa, Kernel, Level, dispatch, prefetch};
use crate::engine::{Unmetered, Width};
use std::mem::swap;

/// The addresses of a block, and of the one block that a short batch makes.
const BLOCK: usize = 64;
const SHORT_BLOCK: usize = 32;

/// See [`SailM::lookup_batch`].
pub(super) fn lookup<W: Width>(
    engine: &SailM<W>,
    isa: Level,
    addresses: &[u32],
    tables: &[u16],
    next_hops: &mut [W],
) {
    let lengths = (addresses.len(), addresses.len());
    assert_eq!((tables.len(), next_hops.len()), lengths, "as many tables and next hops as addresses");
    dispatch(isa, Mixed { engine, addresses, tables, next_hops });
}

/// A batch on its way to the instruction set it is compiled for.
struct Mixed<'b, W: Width> {
    engine: &'b SailM<W>,
    addresses: &'b [u32],
    tables: &'b [u16],
    next_hops: &'b mut [W],
}

impl<W: Width> Kernel for Mixed<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, _: I) {
        let tables = self.tables;
        self.engine.lookup_blocks(self.addresses, |at, _| tables[at].into(), self.next_hops);
    }
}

impl<W: Width> SailM<W> {
    /// The answers for addresses in tables of which `table` tells the id, given the place in the batch and the
    /// address.
    #[inline(always)]
    pub(super) fn lookup_blocks(
        &self,
        addresses: &[u32],
        table: impl Fn(usize, u32) -> usize + Copy,
        next_hops: &mut [W],
    ) {
        let done = self.in_blocks::<BLOCK>(0, addresses, table, next_hops);
        let done = self.in_blocks::<SHORT_BLOCK>(done, addresses, table, next_hops);
        for at in done..addresses.len() {
            let address = addresses[at];
            next_hops[at] = self.lookup_metered(address, table(at, address) as u16, &mut Unmetered);
        }
    }

    /// Looks up the whole blocks from `start` on and returns where they end.
    ///
    /// Two stages, one block apart, and no branch on what an entry says, as in [`sail_l`](crate::engines::sail_l).
    #[inline(always)]
    fn in_blocks<const N: usize>(
        &self,
        start: usize,
        addresses: &[u32],
        table: impl Fn(usize, u32) -> usize + Copy,
        next_hops: &mut [W],
    ) -> usize {
        let (blocks, _) = addresses[start..].as_chunks::<N>();
        let (answers, _) = next_hops[start..].as_chunks_mut::<N>();
        let (mut one, mut other) = ([0; N], [0; N]);
        let (mut now, mut next) = (&mut one, &mut other);
        if let Some(first) = blocks.first() {
            self.find(start, first, table, next);
        }
        let mut at = start;
        for (block, answers) in blocks.iter().zip(answers) {
            swap(&mut now, &mut next);
            let following = at + N;
            if let Some(block) = blocks.get((following - start) / N) {
                self.find(following, block, table, next);
            }
            self.read(at, block, now, table, answers);
            at = following;
        }
        at
    }

    /// Reads B16 and C16 and asks for the lines of N16 and N24.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index runs through two arrays of one block")]
    fn find<const N: usize>(
        &self,
        start: usize,
        addresses: &[u32; N],
        table: impl Fn(usize, u32) -> usize,
        slots: &mut [u32; N],
    ) {
        for at in 0..N {
            let address = addresses[at];
            let slot = self.overlay.upper(address);
            slots[at] = slot as u32;
            prefetch(&self.tables[table(start + at, address)].upper, slot);
        }
    }

    /// Reads N16 or N24. Only where N24 has no next hop is B24 asked whether that is the answer; then C24 and N32 are
    /// read for the few addresses that go so far.
    ///
    /// B24 asked for every address, as in the paper, where it is on chip, gave two thirds of the throughput on the
    /// prefix trace of the table of January 2024, and as much on the random one.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index runs through three arrays and a bit map")]
    fn read<const N: usize>(
        &self,
        start: usize,
        addresses: &[u32; N],
        slots: &[u32; N],
        table: impl Fn(usize, u32) -> usize,
        answers: &mut [W; N],
    ) {
        const { assert!(N <= 64) }
        let mut unanswered = 0_u64;
        for at in 0..N {
            let answer = self.tables[table(start + at, addresses[at])].upper[slots[at] as usize];
            answers[at] = answer;
            unanswered |= u64::from(answer == W::default() && slots[at] >= NODES16 as u32) << at;
        }
        while unanswered != 0 {
            let at = unanswered.trailing_zeros() as usize;
            unanswered &= unanswered - 1;
            let (slot, address) = (slots[at] as usize, addresses[at]);
            if !self.overlay.is_answered(slot, &mut Unmetered) {
                let slot = self.overlay.place32(slot, address, &mut Unmetered);
                answers[at] = self.tables[table(start + at, address)].lower[slot];
            }
        }
    }
}
