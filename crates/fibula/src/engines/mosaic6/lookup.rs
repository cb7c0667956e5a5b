//! One lookup, and the batch path: blocks of addresses go down the arrays step by step, then each looks into its bucket.

use super::word::{
    ANSWER, ARRAYS, BASE, BUCKETS, CELL_BYTES, CODE, Cell, KEYS, Word, as_array, bucket_answer, key_masks,
    start, step,
};
use super::{Mosaic6, ROOT_BITS, STEPS, WINDOW};
use crate::NextHop;
use crate::arch::{GROUP, Isa, KeyWords, at_most};
use crate::blocks::pipeline::{Stages, look_up};
use crate::engine::{Meter, Unmetered, Width};
use crate::memory::Shareable;
use std::sync::atomic::AtomicU32;

/// The addresses of a block. 64 gave nine tenths, perhaps because arrays a power of two long take each other's places in the first cache.
const BLOCK: usize = 48;

/// The words of the root.
const SLOTS: usize = 1 << ROOT_BITS;

/// The bytes of the keys that are compared at once.
const KEYS_BYTES: usize = KEYS * size_of::<u16>();

/// The cells past the end of the blocks that such a comparison may read.
pub(super) const PADDING: usize = KEYS_BYTES / CELL_BYTES;

/// The keys of the bucket that begins at a cell, and what stands behind them.
#[inline(always)]
fn keys(words: &[AtomicU32], base: usize) -> &KeyWords {
    static NONE: KeyWords = [const { AtomicU32::new(0) }; KEYS / 2];
    words.get(2 * base..).and_then(|words| words.first_chunk()).unwrap_or(&NONE)
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
        let mut word = meter.load_word::<u32>(&self.root[slot]);
        while let Some((stride, first)) = as_array(word) {
            let (index, left) = step(rest, stride);
            word = meter.load_word::<u32>(&words[first + index]);
            rest = left;
        }
        match Word::unpack(word) {
            Word::Answer(next_hop) => W::narrow(next_hop),
            Word::Bucket { cells, base } => {
                let keys = meter.load_word::<[u32; KEYS / 2]>(keys(words, base));
                let count = (at_most(keys, key(rest)) & const { &key_masks::<W>() }[cells]).count_ones();
                let answer = bucket_answer::<W>(words, (base + cells) * CELL_BYTES, count as usize);
                W::narrow(NextHop(answer))
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
        let [next_hop, _] = meter.load_word::<Cell>(&self.blocks[(word & BASE) as usize]);
        W::narrow(NextHop(next_hop))
    }
}

/// What one stage leaves for the next, a lane an address.
struct Found<const N: usize> {
    /// The words on which the searches stood.
    at: [u32; N],
    /// The words to which those of them have come that stood on arrays.
    next: [u32; N],
    /// The bits of the addresses that are left.
    rest: [u32; N],
}

impl<const N: usize> Found<N> {
    /// The word on which a search stands now.
    #[inline(always)]
    fn word(&self, lane: usize) -> u32 {
        choose(self.at[lane] < ARRAYS, self.next[lane], self.at[lane])
    }
}

/// One of two numbers, without a jump.
#[inline(always)]
fn choose(condition: bool, yes: u32, no: u32) -> u32 {
    let mask = u32::from(condition).wrapping_neg();
    yes & mask | no & !mask
}

/// An engine as the stages of its batch path: the root, the arrays, the buckets.
struct Batch<'e, I: Isa, W: Width> {
    engine: &'e Mosaic6<W>,
    root: &'e [AtomicU32; SLOTS],
    isa: I,
}

const STAGES: usize = STEPS + 2;

impl<I: Isa, W: Width> Stages<u128, W, STAGES> for Batch<'_, I, W> {
    type Found<const N: usize> = Found<N>;

    #[inline(always)]
    fn nothing<const N: usize>() -> Found<N> {
        Found { at: [0; N], next: [0; N], rest: [0; N] }
    }

    #[inline(always)]
    fn run<const N: usize>(
        &self,
        stage: usize,
        _: usize,
        addresses: &[u128; N],
        found: &mut Found<N>,
        next_hops: &mut [W; N],
    ) {
        match stage {
            0 => self.begin(addresses, found),
            1..=STEPS => self.step(found),
            _ => self.finish(addresses, found, next_hops),
        }
    }

    #[inline(always)]
    fn one(&self, _: usize, &address: &u128) -> W {
        self.engine.one(address, &mut Unmetered)
    }
}

#[allow(clippy::needless_range_loop, reason = "one index runs through several arrays of one block")]
impl<I: Isa, W: Width> Batch<'_, I, W> {
    /// The first stage: the words of the root.
    #[inline(always)]
    fn begin<const N: usize>(&self, addresses: &[u128; N], found: &mut Found<N>) {
        let mut slots = [0; N];
        let (groups, _) = addresses.as_chunks::<GROUP>();
        let (slot_groups, _) = slots.as_chunks_mut::<GROUP>();
        let (rest_groups, _) = found.rest.as_chunks_mut::<GROUP>();
        for ((addresses, slots), rest) in groups.iter().zip(slot_groups).zip(rest_groups) {
            [*slots, *rest] = self.isa.split(addresses);
        }
        // As if all stood on an array: the root.
        found.at = [0; N];
        for lane in 0..N {
            found.next[lane] = u32::load(&self.root[slots[lane] as usize % SLOTS]);
        }
    }

    /// A stage in the middle: one array.
    #[inline(always)]
    fn step<const N: usize>(&self, found: &mut Found<N>) {
        let mut places = [0; N];
        for lane in 0..N {
            let word = found.word(lane);
            let rest = found.rest[lane];
            let stride = (word >> CODE) + 1;
            let place = (word & BASE) * 2 + rest.wrapping_shr(u32::BITS.wrapping_sub(stride));
            // A search that has left the arrays looks at the first word, which does it no harm.
            places[lane] = choose(word < ARRAYS, place, 0);
            found.rest[lane] = rest.wrapping_shl(choose(word < ARRAYS, stride, 0));
            found.at[lane] = word;
        }
        let words = self.engine.blocks.as_flattened();
        for lane in 0..N {
            found.next[lane] = u32::load(&words[places[lane] as usize]);
        }
    }

    /// The last stage: the buckets. Nothing jumps by what a word says, but for the few that have longer routes or more arrays above them
    /// than others.
    #[inline(always)]
    fn finish<const N: usize>(&self, addresses: &[u128; N], found: &mut Found<N>, answers: &mut [W; N]) {
        let words = self.engine.blocks.as_flattened();
        let (mut cells, mut bases, mut apart) = ([0; N], [0; N], false);
        for lane in 0..N {
            let word = found.word(lane);
            // Words that lead to no bucket look at the first, and at none of its keys.
            let is_bucket = word.wrapping_sub(BUCKETS) < ANSWER - BUCKETS;
            cells[lane] = choose(is_bucket, (word >> CODE).wrapping_sub(ARRAYS >> CODE), 0);
            bases[lane] = choose(is_bucket, word & BASE, 0);
            found.at[lane] = word;
            apart |= word < BUCKETS;
        }
        for lane in 0..N {
            let (cells, base) = (cells[lane] as usize, bases[lane] as usize);
            let mask = const { &key_masks::<W>() }[cells & (KEYS - 1)];
            let count = (self.isa.at_most(keys(words, base), key(found.rest[lane])) & mask).count_ones();
            let end = (base + cells.max(1)) * CELL_BYTES;
            found.next[lane] = bucket_answer::<W>(words, end, count as usize);
        }
        for lane in 0..N {
            let word = found.at[lane];
            let answer = choose(word >= ANSWER, word ^ ANSWER, found.next[lane]);
            answers[lane] = W::narrow(NextHop(answer & W::MAX));
        }
        if apart {
            for lane in (0..N).filter(|&lane| found.at[lane] < BUCKETS) {
                answers[lane] = self.engine.one(addresses[lane], &mut Unmetered);
            }
        }
    }
}

impl<W: Width> Mosaic6<W> {
    /// The batch.
    #[inline(always)]
    pub(super) fn many<I: Isa>(&self, isa: I, addresses: &[u128], next_hops: &mut [W]) {
        let Some(root) = self.root.first_chunk() else { return };
        let batch = Batch { engine: self, root, isa };
        look_up::<BLOCK, GROUP, STAGES, _, _, _>(&batch, addresses, next_hops);
    }
}
