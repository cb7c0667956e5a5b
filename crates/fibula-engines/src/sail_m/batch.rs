//! The batch path: a block of addresses finds its slots of levels 16 and 24 while the block before
//! reads them.

use super::{NODES16, SailM};
use fibula::engine::{Unmetered, Width};
use fibula::parts::arch::{Isa, Kernel, Level, dispatch, prefetch};
use fibula::parts::blocks::pipeline::{Stages, for_each_set, look_up};

/// The addresses of a block.
const BLOCK: usize = 64;
/// The addresses of the one block of a short batch.
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

/// A batch, to be compiled for an instruction set.
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

/// The tables, and a function that returns the table of an address, given its index in the batch
/// and the address.
struct Routed<'e, W: Width, T> {
    engine: &'e SailM<W>,
    table: T,
}

/// No branch depends on the value of an entry, as in [`sail_l`](crate::sail_l).
impl<W: Width, T: Fn(usize, u32) -> usize> Stages<u32, W, 2> for Routed<'_, W, T> {
    type Found<const N: usize> = [u32; N];

    #[inline(always)]
    fn nothing<const N: usize>() -> [u32; N] {
        [0; N]
    }

    #[inline(always)]
    fn run<const N: usize>(
        &self,
        stage: usize,
        start: usize,
        addresses: &[u32; N],
        slots: &mut [u32; N],
        next_hops: &mut [W; N],
    ) {
        let table = |at: usize| (self.table)(start + at, addresses[at]);
        match stage {
            0 => self.engine.find(addresses, table, slots),
            _ => self.engine.read(addresses, slots, table, next_hops),
        }
    }

    #[inline(always)]
    fn one(&self, at: usize, &address: &u32) -> W {
        self.engine.lookup_metered(address, (self.table)(at, address) as u16, &mut Unmetered)
    }
}

impl<W: Width> SailM<W> {
    /// Looks up a batch. `table` returns the table id of an address, given its index in the batch
    /// and the address.
    #[inline(always)]
    pub(super) fn lookup_blocks(
        &self,
        addresses: &[u32],
        table: impl Fn(usize, u32) -> usize,
        next_hops: &mut [W],
    ) {
        let routed = Routed { engine: self, table };
        look_up::<BLOCK, SHORT_BLOCK, 2, _, _, _>(&routed, addresses, next_hops);
    }

    /// Reads BC16 and prefetches the lines of N16 and N24.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index runs through two arrays of one block")]
    fn find<const N: usize>(
        &self,
        addresses: &[u32; N],
        table: impl Fn(usize) -> usize,
        slots: &mut [u32; N],
    ) {
        for at in 0..N {
            let slot = self.overlay.upper(addresses[at]);
            slots[at] = slot as u32;
            prefetch(&self.tables[table(at)].upper, slot);
        }
    }

    /// Reads N16 or N24. Reads B24 only where N24 has no next hop, to learn whether that is the
    /// answer. Then reads C24 and N32 for the few addresses that need them.
    ///
    /// Reading B24 for every address, as the paper does where it is on chip, gave two thirds of the
    /// throughput on the prefix trace of the table of January 2024, and the same on the random one.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index runs through three arrays and a bit map")]
    fn read<const N: usize>(
        &self,
        addresses: &[u32; N],
        slots: &[u32; N],
        table: impl Fn(usize) -> usize,
        answers: &mut [W; N],
    ) {
        const { assert!(N <= 64) }
        let mut unanswered = 0_u64;
        for at in 0..N {
            let answer = self.tables[table(at)].upper[slots[at] as usize];
            answers[at] = answer;
            unanswered |= u64::from(answer == W::default() && slots[at] >= NODES16 as u32) << at;
        }
        for_each_set(unanswered, |at| {
            let (slot, address) = (slots[at] as usize, addresses[at]);
            if !self.overlay.answers24(slot, &mut Unmetered) {
                let slot = self.overlay.place32(slot, address, &mut Unmetered);
                answers[at] = self.tables[table(at)].lower[slot];
            }
        });
    }
}
