//! Lookups, one at a time (Algorithm 2) and in batches. In a batch, a block of
//! addresses goes through level 16 while the blocks before it go through level 24.

use super::{Arrays, Bcn, Form, SailL};
use crate::blocks::pushing::ANSWER;
use fibula::NextHop;
use fibula::engine;
use fibula::engine::{Lookup, Meter, Staging, Unmetered, Width};
use fibula::parts::arch::{Isa, Kernel, dispatch, prefetch};
use fibula::parts::blocks::pipeline::{Stages, look_up};

/// The addresses of a block: enough for its lines of BN24 to arrive while the other blocks are
/// processed.
const BLOCK: usize = 64;
/// The addresses of the one block of a short batch.
const SHORT_BLOCK: usize = 32;

/// The stages: BCN16, BN24, answers. The last stage reads as vectors what the one before has loaded
/// one by one. Within one block it would wait for the store queue, which cannot forward single
/// stores to a vector load.
const STAGES: usize = 3;

impl<W: Width, E: Bcn> Arrays<W, E> {
    /// Returns BCN16 as an array of known size, so that no 16-bit index needs a bounds check.
    #[inline(always)]
    fn bcn16(&self) -> &[E; 1 << 16] {
        self.bcn16[..].try_into().expect("one entry a node of level 16")
    }

    /// Returns the answer of `address`, whose `slot` of BN24 has none.
    #[inline(always)]
    pub(super) fn level_32(&self, slot: u32, address: u32, meter: &mut impl Meter) -> W {
        let chunk = meter.load(&self.c24[slot as usize]);
        meter.load(&self.n32[(chunk << 8 | (address & 255)) as usize])
    }

    /// Looks up one address by Algorithm 2.
    #[inline(always)]
    fn lookup<M: Meter>(&self, address: u32, meter: &mut M) -> W {
        let bcn16 = meter.on_chip(|meter| meter.load(&self.bcn16()[(address >> 16) as usize])).widen();
        if bcn16 & ANSWER != 0 {
            return W::narrow(NextHop(bcn16 ^ ANSWER));
        }
        let slot = bcn16 << 8 | (address >> 8 & 255);
        let n24 = meter.load(&self.bn24[slot as usize]);
        if n24 == W::default() { self.level_32(slot, address, meter) } else { n24 }
    }

    /// Hands an answer on with a flag above it, and a slot of level 24 as it is.
    #[inline(always)]
    fn run_stage(&self, stage: usize, addresses: &[u32], found: &mut [u64]) {
        const FOUND: u64 = 1 << 32;
        for (&address, found) in addresses.iter().zip(found) {
            if stage == 0 {
                let bcn16 = self.bcn16()[(address >> 16) as usize].widen();
                let slot = u64::from(bcn16 << 8 | (address >> 8 & 255));
                *found = if bcn16 & ANSWER != 0 { FOUND | u64::from(bcn16 ^ ANSWER) } else { slot };
            } else if stage == 1 && *found & FOUND == 0 {
                let n24 = self.bn24[*found as usize];
                *found = if n24 == W::default() { *found } else { FOUND | u64::from(n24.widen().0) };
            } else if stage == 2 {
                let slot = *found as u32;
                let below = *found & FOUND == 0;
                *found =
                    if below { self.level_32(slot, address, &mut Unmetered).widen().0 } else { slot }.into();
            }
        }
    }
}

impl<W: Width> Lookup<u32> for SailL<W> {
    type Width = W;

    #[inline(always)]
    fn lookup_metered<M: Meter>(&self, address: u32, meter: &mut M) -> W {
        with_arrays!(&self.0, Form::arrays => arrays.lookup(address, meter))
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, isa: I, addresses: &[u32], next_hops: &mut [W]) {
        match &self.0 {
            Form::Bits32(arrays) => {
                look_up::<BLOCK, SHORT_BLOCK, STAGES, _, _, _>(arrays, addresses, next_hops);
            }
            Form::Bits16(arrays) => dispatch(isa.level(), Narrow { arrays, addresses, next_hops }),
        }
    }

    fn staging() -> Option<Staging<Self, u32>> {
        Some(Staging::of_lookup())
    }
}

/// A batch with the paper's entries, in a function of its own: in the same one, that with wider
/// entries would take 4 % more instructions by AVX2.
struct Narrow<'b, W: Width> {
    arrays: &'b Arrays<W, u16>,
    addresses: &'b [u32],
    next_hops: &'b mut [W],
}

impl<W: Width> Kernel for Narrow<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, _: I) {
        look_up::<BLOCK, SHORT_BLOCK, STAGES, _, _, _>(self.arrays, self.addresses, self.next_hops);
    }
}

impl<W: Width> engine::Stages<u32> for SailL<W> {
    fn stages(&self) -> usize {
        3
    }

    #[inline(always)]
    fn run_stage<I: Isa>(&self, _: I, stage: usize, addresses: &[u32], found: &mut [u64]) {
        with_arrays!(&self.0, Form::arrays => arrays.run_stage(stage, addresses, found));
    }
}

/// No branch depends on the value of an entry: which level answers is as good as random. On the
/// table of January 2024, one address after another, with branches, gave a third of this
/// throughput. The two stages without a block in between gave a quarter, and with the prefetch two
/// thirds.
impl<W: Width, E: Bcn> Stages<u32, W, STAGES> for Arrays<W, E> {
    type Found<const N: usize> = Found<N>;

    #[inline(always)]
    fn nothing<const N: usize>() -> Found<N> {
        Found { slot: [0; N], answer: [0; N] }
    }

    #[inline(always)]
    fn run<const N: usize>(
        &self,
        stage: usize,
        _: usize,
        addresses: &[u32; N],
        found: &mut Found<N>,
        next_hops: &mut [W; N],
    ) {
        match stage {
            0 => self.level_16(addresses, found),
            1 => self.level_24(found),
            _ => self.answer(addresses, found, next_hops),
        }
    }

    #[inline(always)]
    fn one(&self, _: usize, &address: &u32) -> W {
        self.lookup(address, &mut Unmetered)
    }
}

/// The state of a block of addresses.
pub(super) struct Found<const N: usize> {
    /// The slot of BN24. If level 16 has the answer it is slot 0, which holds 0.
    slot: [u32; N],
    /// The answer with its flag, or 0 if the next level has to answer.
    answer: [u32; N],
}

#[allow(clippy::needless_range_loop, reason = "one index runs through several arrays of one block")]
impl<W: Width, E: Bcn> Arrays<W, E> {
    /// Reads BCN16 and prefetches the lines of BN24.
    #[inline(always)]
    fn level_16<const N: usize>(&self, addresses: &[u32; N], found: &mut Found<N>) {
        let (bcn16, bn24) = (self.bcn16(), &self.bn24[..]);
        for at in 0..N {
            let address = addresses[at];
            let entry = bcn16[(address >> 16) as usize].widen();
            let answered = (entry.cast_signed() >> 31).cast_unsigned();
            let slot = (entry << 8 | (address >> 8 & 255)) & !answered;
            found.slot[at] = slot;
            found.answer[at] = entry & answered;
            prefetch(bn24, slot as usize);
        }
    }

    /// Reads BN24.
    #[inline(always)]
    fn level_24<const N: usize>(&self, found: &mut Found<N>) {
        let bn24 = &self.bn24[..];
        for at in 0..N {
            found.answer[at] |= bn24[found.slot[at] as usize].widen().0;
        }
    }

    /// Removes the flags, and reads C24 and N32 for the few addresses that need them.
    #[inline(always)]
    fn answer<const N: usize>(&self, addresses: &[u32; N], found: &Found<N>, next_hops: &mut [W; N]) {
        let mut below = false;
        for at in 0..N {
            next_hops[at] = W::narrow(NextHop(found.answer[at] & !ANSWER & W::MAX));
            below |= found.answer[at] == 0;
        }
        if below {
            for at in (0..N).filter(|&at| found.answer[at] == 0) {
                next_hops[at] = self.level_32(found.slot[at], addresses[at], &mut Unmetered);
            }
        }
    }
}
