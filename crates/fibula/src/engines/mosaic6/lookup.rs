//! One lookup, and the batch path: blocks of addresses go down the arrays step by step, then each looks into its bucket.

use super::lines::{answers, elements, slots};
use super::word::{
    ANSWER, BASE, BEYOND, BUCKETS, CODE, LINE_BITS, SLOT_BITS, Spot, Word, as_array, start, step,
};
use super::{Mosaic6, ROOT_BITS, STEPS, WINDOW};
use crate::NextHop;
use crate::arch::{GROUP, Isa, first_at_least};
use crate::blocks::pipeline::{Stages, look_up};
use crate::engine::{Meter, Unmetered, Width};
use crate::memory::Shareable;
use std::sync::atomic::AtomicU32;

/// The addresses of a block. 64 gave nine tenths, perhaps because arrays a power of two long take each other's places in the first cache.
const BLOCK: usize = 48;

/// The bits that choose from the root.
const ROOT: u32 = ROOT_BITS as u32;

/// The buckets that are compared in a row without a jump: the end of a longer loop is not foreseen.
const UNROLLED: usize = 8;

/// The bits of an address that a bucket compares.
#[inline(always)]
fn key(rest: u32) -> u16 {
    (rest >> (u32::BITS - u32::from(WINDOW))) as u16
}

impl<W: Width> Mosaic6<W> {
    /// One lookup.
    #[inline(always)]
    pub(super) fn one(&self, address: u128, meter: &mut impl Meter) -> W {
        let words = self.blocks.arrays.as_flattened();
        let (slot, mut rest) = start(address);
        let mut word = meter.load_word::<u32>(&self.root[slot]);
        while let Some((stride, first)) = as_array(word) {
            let (index, left) = step(rest, stride);
            word = meter.load_word::<u32>(&words[first + index]);
            rest = left;
        }
        match Word::unpack(word) {
            Word::Answer(next_hop) => W::narrow(next_hop),
            Word::Bucket(Spot { line, slot }) => {
                let line = self.blocks.lines.line(line);
                let among = u32::MAX << slot & ((1 << slots::<W>()) - 1);
                let at = first_at_least::<W>(line, among, key(rest));
                meter.load_word(&line[answers::<W>() + at as usize])
            }
            Word::Beyond(spot) => self.beyond(spot, address, meter),
            Word::Array { .. } => unreachable!("the loop follows arrays"),
        }
    }

    /// The answer of an address with longer routes around it.
    #[inline(always)]
    fn beyond(&self, Spot { line, slot }: Spot, address: u128, meter: &mut impl Meter) -> W {
        let longer = self.longer.descend(address, meter);
        if longer != W::default() {
            return longer;
        }
        meter.load_word(&self.blocks.lines.line(line)[answers::<W>() + slot as usize])
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
        choose(self.at[lane] < BUCKETS, self.next[lane], self.at[lane])
    }
}

/// One of two numbers, without a jump.
#[inline(always)]
fn choose(condition: bool, yes: u32, no: u32) -> u32 {
    let mask = u32::from(condition).wrapping_neg();
    yes & mask | no & !mask
}

/// An engine as the stages of its batch path: the root, the arrays, the buckets. Where its arrays lie stands here once: it would be read
/// again after every word that others may write.
struct Batch<'e, I: Isa, W: Width> {
    engine: &'e Mosaic6<W>,
    root: &'e [AtomicU32; 1 << ROOT],
    words: &'e [AtomicU32],
    lines: &'e [W::Atomic],
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
        let (groups, _) = addresses.as_chunks::<GROUP>();
        let (rest_groups, _) = found.rest.as_chunks_mut::<GROUP>();
        for (addresses, rest) in groups.iter().zip(rest_groups) {
            *rest = self.isa.after_16(addresses);
        }
        // As if all stood on an array: the root.
        found.at = [0; N];
        for lane in 0..N {
            found.next[lane] = u32::load(&self.root[(addresses[lane] >> (u128::BITS - ROOT)) as usize]);
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
            places[lane] = choose(word < BUCKETS, place, 0);
            found.rest[lane] = rest.wrapping_shl(choose(word < BUCKETS, stride, 0));
            found.at[lane] = word;
        }
        let (places, _) = places.as_chunks::<GROUP>();
        for (next, places) in found.next.as_chunks_mut::<GROUP>().0.iter_mut().zip(places) {
            for lane in 0..GROUP {
                next[lane] = u32::load(&self.words[places[lane] as usize]);
            }
        }
    }

    /// The last stage: the buckets. Nothing jumps by what a word says, but for the few that have longer routes or more arrays above them
    /// than others.
    #[inline(always)]
    fn finish<const N: usize>(&self, addresses: &[u128; N], found: &mut Found<N>, answers: &mut [W; N]) {
        let (mut lines, mut among, mut apart) = ([0; N], [0; N], 0);
        for lane in 0..N {
            let word = found.word(lane);
            // Words that lead to no bucket look at the first line.
            let place = choose(word.wrapping_sub(BUCKETS) < ANSWER - BUCKETS, word, 0);
            lines[lane] = place & LINE_BITS;
            among[lane] = u32::MAX << (place & SLOT_BITS);
            apart |= place & BEYOND | u32::from(word < BUCKETS);
            found.at[lane] = word;
        }
        let mut said = [W::default(); N];
        let (lines, among) = (lines.as_chunks::<UNROLLED>().0, among.as_chunks::<UNROLLED>().0);
        let groups = lines.iter().zip(among).zip(found.rest.as_chunks::<UNROLLED>().0);
        for (said, ((lines, among), rest)) in said.as_chunks_mut::<UNROLLED>().0.iter_mut().zip(groups) {
            for lane in 0..UNROLLED {
                said[lane] = self.said(lines[lane], among[lane], key(rest[lane]));
            }
        }
        for lane in 0..N {
            let word = found.at[lane];
            let answer = choose(word >= ANSWER, word ^ ANSWER, said[lane].widen().0);
            answers[lane] = W::narrow(NextHop(answer & W::MAX));
        }
        if apart != 0 {
            for lane in (0..N).filter(|&lane| {
                let word = found.at[lane];
                word < BUCKETS || word < ANSWER && word & BEYOND != 0
            }) {
                answers[lane] = self.engine.one(addresses[lane], &mut Unmetered);
            }
        }
    }

    /// What the bucket says that begins so many bytes after the first line, at the first of some slots.
    #[inline(always)]
    fn said(&self, line: u32, among: u32, key: u16) -> W {
        let first = line as usize / size_of::<W>();
        let line = &self.lines[first..first + elements::<W>()];
        let at = self.isa.first_at_least::<W>(line, among, key);
        W::load(&self.lines[first + answers::<W>() + at as usize])
    }
}

impl<W: Width> Mosaic6<W> {
    /// The batch.
    #[inline(always)]
    pub(super) fn many<I: Isa>(&self, isa: I, addresses: &[u128], next_hops: &mut [W]) {
        let Some(root) = self.root.first_chunk() else { return };
        let (words, lines) = (self.blocks.arrays.as_flattened(), self.blocks.lines.elements());
        let batch = Batch { engine: self, root, words, lines, isa };
        look_up::<BLOCK, GROUP, STAGES, _, _, _>(&batch, addresses, next_hops);
    }
}
