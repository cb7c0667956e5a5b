//! The batch path: the lines in two stages, then the addresses that are in no entry, together.

use super::lines::{InLines, Line, hop_in, line_of, second_hop};
use super::view::{LedgerView, narrow};
use crate::arch::{Isa, prefetch};
use crate::blocks::pipeline::{self, Stages};
use crate::blocks::unanswered::look_up_unanswered;
use crate::engine::{Width, look_up_inside};

/// The addresses of a block.
const BLOCK: usize = 64;
/// The addresses of each block of a short batch.
const SHORT_BLOCK: usize = 8;
/// The addresses after which those in no entry are looked up: few enough that they are in the
/// second cache still.
const AT_ONCE: usize = 4096;

/// The first lines, and an instruction set. Keys are short or whole.
struct First<'v, A, I, const SHORT: bool> {
    lines: &'v [Line],
    mask: A,
    isa: I,
}

impl<A: InLines, I: Isa, const SHORT: bool> First<'_, A, I, SHORT> {
    /// Returns the answer for an address whose line has this number.
    #[inline(always)]
    fn answer<W: Width>(&self, line: u32, address: A) -> W {
        narrow(hop_in::<A, SHORT>(self.isa, &self.lines[line as usize], address & self.mask))
    }

    #[inline(always)]
    fn line_of(&self, address: A) -> u32 {
        line_of::<A, false>(self.lines, address & self.mask)
    }
}

impl<A: InLines, W: Width, I: Isa, const SHORT: bool> Stages<A, W, 2> for First<'_, A, I, SHORT> {
    /// For each address the number of its line.
    type Found<const N: usize> = [u32; N];

    #[inline(always)]
    fn nothing<const N: usize>() -> [u32; N] {
        [0; N]
    }

    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index runs through arrays of one block")]
    fn run<const N: usize>(
        &self,
        stage: usize,
        _: usize,
        addresses: &[A; N],
        found: &mut [u32; N],
        next_hops: &mut [W; N],
    ) {
        if stage == 0 {
            for at in 0..N {
                found[at] = self.line_of(addresses[at]);
            }
            for at in 0..N {
                prefetch(self.lines, found[at] as usize);
            }
        } else {
            for at in 0..N {
                next_hops[at] = self.answer(found[at], addresses[at]);
            }
        }
    }

    #[inline(always)]
    fn one(&self, _: usize, &address: &A) -> W {
        self.answer(self.line_of(address), address)
    }
}

impl<A: InLines, W: Width> LedgerView<A, W> {
    /// Looks up a batch.
    #[inline(always)]
    pub(super) fn many<I: Isa>(&self, isa: I, addresses: &[A], next_hops: &mut [W]) {
        if A::is_short(self.length) {
            self.many_with::<_, true>(isa, addresses, next_hops);
        } else {
            self.many_with::<_, false>(isa, addresses, next_hops);
        }
    }

    #[inline(always)]
    fn many_with<I: Isa, const SHORT: bool>(&self, isa: I, addresses: &[A], next_hops: &mut [W]) {
        let ([first, second], mask) = (&self.lines.arrays, A::mask(self.length));
        let first = First::<_, _, SHORT> { lines: first, mask, isa };
        for (addresses, next_hops) in addresses.chunks(AT_ONCE).zip(next_hops.chunks_mut(AT_ONCE)) {
            pipeline::look_up::<BLOCK, SHORT_BLOCK, 2, _, _, _>(&first, addresses, next_hops);
            look_up_unanswered(addresses, next_hops, |addresses, next_hops: &mut [W]| {
                for (&address, next_hop) in addresses.iter().zip(next_hops.iter_mut()) {
                    *next_hop = narrow(second_hop::<A, SHORT>(isa, second, address & mask));
                }
                look_up_unanswered(addresses, next_hops, |addresses, next_hops| {
                    look_up_inside(self.others(), isa.level(), addresses, next_hops);
                });
            });
        }
    }
}
