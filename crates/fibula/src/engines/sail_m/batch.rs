//! The batch path: a block of addresses finds its slots of levels 16 and 24 while the block before it reads them.

use super::SailM;
use crate::arch::{Isa, Kernel, Level, dispatch, prefetch};
use crate::engine::{Unmetered, Width};
use std::mem::swap;

/// The addresses of a block, and of the one block that a short batch makes.
const BLOCK: usize = 64;
const SHORT_BLOCK: usize = 32;

/// What the bit maps and chunk ids say of a block of addresses.
struct Found<const N: usize> {
    /// The slot of level 16 or 24.
    slot: [u32; N],
    /// Where its next hop in the address's table stands.
    index: [usize; N],
}

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
    let greatest = usize::from(tables.iter().fold(0, |greatest, &table| table.max(greatest)));
    assert!(tables.is_empty() || greatest < engine.tables, "table {greatest} of {}", engine.tables);
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
    /// address. All ids are of tables there are.
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
            next_hops[at] = self.lookup(address, table(at, address) as u16);
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
        let empty = || Found { slot: [0; N], index: [0; N] };
        let (mut one, mut other) = (empty(), empty());
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

    /// Reads B16 and C16 and asks for the lines of B24 and of N16 and N24.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index runs through three arrays of one block")]
    fn find<const N: usize>(
        &self,
        start: usize,
        addresses: &[u32; N],
        table: impl Fn(usize, u32) -> usize,
        found: &mut Found<N>,
    ) {
        let (bit_maps, next_hops) = (self.overlay.bit_maps(), self.upper.elements());
        for at in 0..N {
            let address = addresses[at];
            let slot = self.overlay.upper(address);
            let index = self.upper.index(table(start + at, address), slot);
            found.slot[at] = slot as u32;
            found.index[at] = index;
            prefetch(bit_maps, slot / 64);
            prefetch(next_hops, index);
        }
    }

    /// Reads B24 and N16 or N24, then C24 and N32 for the few addresses that go so far.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index runs through three arrays and a bit map")]
    fn read<const N: usize>(
        &self,
        start: usize,
        addresses: &[u32; N],
        found: &Found<N>,
        table: impl Fn(usize, u32) -> usize,
        answers: &mut [W; N],
    ) {
        const { assert!(N <= 64) }
        let next_hops = self.upper.elements();
        let mut below = 0_u64;
        for at in 0..N {
            answers[at] = next_hops[found.index[at]];
            let answered = self.overlay.is_answered(found.slot[at] as usize, &mut Unmetered);
            below |= u64::from(!answered) << at;
        }
        while below != 0 {
            let at = below.trailing_zeros() as usize;
            below &= below - 1;
            let slot = self.overlay.place32(found.slot[at] as usize, addresses[at], &mut Unmetered);
            answers[at] = self.lower.get(table(start + at, addresses[at]), slot);
        }
    }
}
