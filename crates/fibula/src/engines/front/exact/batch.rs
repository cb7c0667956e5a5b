//! The batch path: the first lines in two stages, then the second lines of the addresses that are
//! in none of the first, together.

use super::Exact;
use super::lines::{InLines, Line, hop_in, line_of, second_hop};
use crate::arch::{Isa, prefetch};
use crate::blocks::pipeline::{self, Stages};
use crate::blocks::unanswered::look_up_unanswered;
use crate::engine::Unmetered;
use crate::engines::front::Part as _;

/// The addresses of a block.
const BLOCK: usize = 64;
/// The addresses of each block of a short batch.
const SHORT_BLOCK: usize = 8;
/// The first lines, and an instruction set. Keys are short or whole.
struct First<'v, A, I, const SHORT: bool> {
    lines: &'v [Line],
    mask: A,
    isa: I,
}

impl<A: InLines, I: Isa, const SHORT: bool> First<'_, A, I, SHORT> {
    /// Returns the answer for an address whose line has this number.
    #[inline(always)]
    fn answer(&self, line: u32, address: A) -> u32 {
        hop_in::<A, SHORT>(self.isa, &self.lines[line as usize], address & self.mask)
    }

    #[inline(always)]
    fn line_of(&self, address: A) -> u32 {
        line_of::<A, false>(self.lines, address & self.mask)
    }
}

impl<A: InLines, I: Isa, const SHORT: bool> Stages<A, u32, 2> for First<'_, A, I, SHORT> {
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
        next_hops: &mut [u32; N],
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
    fn one(&self, _: usize, &address: &A) -> u32 {
        self.answer(self.line_of(address), address)
    }
}

impl<A: InLines> Exact<A> {
    /// Looks up a batch.
    #[inline(always)]
    pub(super) fn many<I: Isa>(&self, isa: I, addresses: &[A], next_hops: &mut [u32]) {
        if A::is_short(self.length) {
            self.many_with::<_, true>(isa, addresses, next_hops);
        } else {
            self.many_with::<_, false>(isa, addresses, next_hops);
        }
    }

    #[inline(always)]
    fn many_with<I: Isa, const SHORT: bool>(&self, isa: I, addresses: &[A], next_hops: &mut [u32]) {
        let ([first, second], mask) = (&self.lines.arrays, A::mask(self.length));
        let first = First::<_, _, SHORT> { lines: first, mask, isa };
        pipeline::look_up::<BLOCK, SHORT_BLOCK, 2, _, _, _>(&first, addresses, next_hops);
        look_up_unanswered(addresses, next_hops, |addresses, next_hops: &mut [u32]| {
            for (&address, next_hop) in addresses.iter().zip(next_hops.iter_mut()) {
                *next_hop = second_hop::<A, SHORT>(isa, second, address & mask);
            }
        });
    }

    /// Looks up the addresses of a batch that may be in entries. The others keep their answers.
    #[inline(always)]
    pub(super) fn few<I: Isa>(&self, isa: I, addresses: &[A], next_hops: &mut [u32]) {
        let mut places = [0_u32; BLOCK];
        for (addresses, next_hops) in addresses.chunks(BLOCK).zip(next_hops.chunks_mut(BLOCK)) {
            let mut len = 0;
            for (place, &address) in addresses.iter().enumerate() {
                places[len % BLOCK] = place as u32;
                len += usize::from(self.may_have(address));
            }
            for &place in &places[..len] {
                prefetch(
                    &self.lines.arrays[0],
                    self.lines.places(addresses[place as usize] & A::mask(self.length))[0],
                );
            }
            for &place in &places[..len] {
                match self.find(isa, addresses[place as usize], &mut Unmetered) {
                    0 => {}
                    found => next_hops[place as usize] = found,
                }
            }
        }
    }
}
