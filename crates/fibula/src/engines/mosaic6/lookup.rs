//! One lookup, and the batch path: whole groups go down the arrays together, then each looks into its bucket.

use super::word::{ANSWER, CELL_BYTES, Cell, KEYS, Word, bucket_answer, key_masks};
use super::{Mosaic6, WINDOW};
use crate::NextHop;
use crate::arch::Isa;
use crate::arch::strides::{ARRAYS, BASE, CODE, GROUP, as_array, start, step};
use crate::blocks::pipeline::for_each_set;
use crate::engine::{Meter, Unmetered, Width};
use std::array::from_fn;
use zerocopy::{FromBytes, IntoBytes};

/// The groups that a batch walks at once, and those of what is left at its end.
const LONG: usize = 4;
const SHORT: usize = 1;

/// How much shorter than a group a rest may be to be walked as one all the same.
const ONE_BY_ONE: usize = 4;

/// The bytes of the keys that are compared at once.
const KEYS_BYTES: usize = KEYS * size_of::<u16>();

/// The cells past the end of the blocks that such a comparison may read.
pub(super) const PADDING: usize = KEYS_BYTES / CELL_BYTES;

/// The keys of the bucket that begins at a cell.
#[inline(always)]
fn keys(halves: &[u16], base: usize) -> &[u16; KEYS] {
    let keys = halves.get(base * (CELL_BYTES / 2)..).and_then(|halves| halves.first_chunk());
    keys.unwrap_or(&[0; KEYS])
}

/// The blocks as numbers of 16 bits.
#[inline(always)]
fn halves(words: &[u32]) -> &[u16] {
    FromBytes::ref_from_bytes(words.as_bytes()).unwrap_or_default()
}

/// The bits of an address that a bucket compares.
#[inline(always)]
fn key(rest: u32) -> u16 {
    (rest >> (u32::BITS - u32::from(WINDOW))) as u16
}

impl<W: Width> Mosaic6<W> {
    /// One lookup.
    #[inline(always)]
    pub(super) fn one(&self, address: u128, meter: &mut impl Meter) -> W {
        let words = self.blocks.as_flattened();
        let (slot, mut rest) = start(address);
        let mut word = meter.load(&self.root[slot]);
        while let Some((stride, first)) = as_array(word) {
            let (index, left) = step(rest, stride);
            word = meter.load(&words[first + index]);
            rest = left;
        }
        match Word::unpack(word) {
            Word::Answer(next_hop) => W::narrow(next_hop),
            Word::Bucket { cells, base } => {
                let bytes = words.as_bytes();
                let keys = meter.load(keys(halves(words), base));
                let key = key(rest);
                let at = keys.iter().zip(0..KEYS).filter(|&(bound, at)| {
                    *bound <= key && const { &key_masks::<W>() }[cells] >> at & 1 != 0
                });
                W::narrow(NextHop(bucket_answer::<W>(bytes, (base + cells) * CELL_BYTES, at.count())))
            }
            Word::Beyond { .. } | Word::Array { .. } => self.beyond(word, address, meter),
        }
    }

    /// The answer of an address with longer routes around it.
    #[inline(always)]
    fn beyond(&self, word: u32, address: u128, meter: &mut impl Meter) -> W {
        let longer = self.longer.descend(address, meter);
        if longer != W::default() {
            return longer;
        }
        let [next_hop, _]: Cell = meter.load(&self.blocks[(word & BASE) as usize]);
        W::narrow(NextHop(next_hop))
    }

    /// The batch.
    #[inline(always)]
    pub(super) fn many<I: Isa>(&self, isa: I, addresses: &[u128], next_hops: &mut [W]) {
        let (long, rest) = addresses.as_chunks::<{ LONG * GROUP }>();
        let (long_answers, rest_answers) = next_hops.as_chunks_mut::<{ LONG * GROUP }>();
        for (addresses, answers) in long.iter().zip(long_answers) {
            self.groups::<I, LONG>(isa, addresses, answers);
        }
        let (short, rest) = rest.as_chunks::<{ SHORT * GROUP }>();
        let (short_answers, rest_answers) = rest_answers.as_chunks_mut::<{ SHORT * GROUP }>();
        for (addresses, answers) in short.iter().zip(short_answers) {
            self.groups::<I, SHORT>(isa, addresses, answers);
        }
        if rest.len() >= ONE_BY_ONE {
            let filled: [u128; GROUP] = from_fn(|at| rest.get(at).copied().unwrap_or_default());
            let mut answers = [W::default(); GROUP];
            self.groups::<I, SHORT>(isa, &filled, &mut answers);
            rest_answers.copy_from_slice(&answers[..rest.len()]);
        } else {
            for (&address, answer) in rest.iter().zip(rest_answers) {
                *answer = self.one(address, &mut Unmetered);
            }
        }
    }

    /// Looks up `N` groups of addresses. Nothing jumps by what a word says, but for the few that have longer routes.
    #[inline(always)]
    fn groups<I: Isa, const N: usize>(&self, isa: I, addresses: &[u128], answers: &mut [W]) {
        let words = self.blocks.as_flattened();
        let (mut at, mut rest) = ([[0; GROUP]; N], [[0; GROUP]; N]);
        let (grouped, _) = addresses.as_chunks::<GROUP>();
        let Some(root) = self.root.first_chunk() else { return };
        for ((at, rest), addresses) in at.iter_mut().zip(&mut rest).zip(grouped) {
            [*at, *rest] = isa.begin(root, addresses);
        }
        isa.descend(words, &mut at, &mut rest);
        let (bytes, halves) = (words.as_bytes(), halves(words));
        let mut beyond = 0_u64;
        let lanes = at.as_flattened().iter().zip(rest.as_flattened()).zip(answers.iter_mut()).enumerate();
        for (lane, ((&word, &rest), answer)) in lanes {
            // Words that lead to no bucket look at the first, and at none of its keys.
            let answered = word & ANSWER != 0;
            let cells = if answered { 0 } else { ((word - ARRAYS) >> CODE) as usize };
            let base = if cells == 0 { 0 } else { (word & BASE) as usize };
            let mask = const { &key_masks::<W>() }[cells & (KEYS - 1)];
            let count = (isa.at_most(keys(halves, base), key(rest)) & mask).count_ones();
            let end = (base + cells.max(1)) * CELL_BYTES;
            let found = bucket_answer::<W>(bytes, end, count as usize);
            let found = if answered { word ^ ANSWER } else { found };
            *answer = W::narrow(NextHop(found & W::MAX));
            beyond |= u64::from(word >> CODE == ARRAYS >> CODE) << lane;
        }
        for_each_set(beyond, |lane| {
            answers[lane] = self.beyond(at.as_flattened()[lane], addresses[lane], &mut Unmetered);
        });
    }
}
