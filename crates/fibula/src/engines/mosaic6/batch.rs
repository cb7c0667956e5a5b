//! The batch path: blocks of addresses go down the arrays step by step, then each address looks
//! into its bucket.
//!
//! Where gathers are fast, a block takes all steps in vectors, one block after the other. Elsewhere
//! vectors compute the indexes of the words, the words are loaded one by one, and the steps of
//! several blocks interleave as the stages of a software pipeline.

use super::lines::answers;
use super::view::{key, narrowed};
use super::word::{ANSWER, BASE, BEYOND, BUCKETS, CODE, LINE_BITS, SLOT_BITS};
use super::{Mosaic6View, ROOT_BITS, STEPS};
use crate::NextHop;
use crate::arch::{GROUP, Isa, Level, Scalar, Wanted};
use crate::blocks::pipeline::{BURST, Stages, for_each_set, look_up};
use crate::engine::{Unmetered, Width, look_up_inside};
use crate::engines::terrace::TerraceView;
use crate::memory::{Published, Shareable, flattened};
use std::cell::Cell;

/// The addresses of a block of the software pipeline. Blocks of 64 gave nine tenths, perhaps
/// because arrays of a power of two in length evict each other from the first-level cache.
const PIPELINED: usize = 48;

/// The addresses of a block whose words are gathered: as many as there are registers for.
const GATHERED: usize = 96;

/// The bits that choose a word of the root.
const ROOT: u32 = ROOT_BITS as u32;

/// One number per address of a block, aligned so that no vector of them crosses a line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Lanes<const N: usize>([u32; N]);

impl<const N: usize> Lanes<N> {
    const ZERO: Self = Self([0; N]);

    #[inline(always)]
    fn group(&mut self, group: usize) -> &mut [u32; GROUP] {
        &mut self.0.as_chunks_mut().0[group]
    }
}

/// What one stage of the pipeline leaves for the next.
struct Found<const N: usize> {
    /// The words that the searches had reached before the last step.
    at: Lanes<N>,
    /// The words loaded by the searches that were at an array.
    next: Lanes<N>,
    /// The address bits that are left.
    rest: Lanes<N>,
}

impl<const N: usize> Found<N> {
    /// Returns the word that the search in `lane` has reached.
    #[inline(always)]
    fn word(&self, lane: usize) -> u32 {
        choose(self.at.0[lane] < BUCKETS, self.next.0[lane], self.at.0[lane])
    }
}

/// Returns `yes` or `no`, without a jump.
#[inline(always)]
fn choose(condition: bool, yes: u32, no: u32) -> u32 {
    let mask = u32::from(condition).wrapping_neg();
    yes & mask | no & !mask
}

/// Returns the index of the next word of a search, and the bits left after it. A search that has
/// left the arrays keeps its bits.
#[inline(always)]
fn next(word: u32, rest: u32, place_outside: u32) -> (u32, u32) {
    let stride = (word >> CODE) + 1;
    let place = (word & BASE) * 2 + rest.wrapping_shr(u32::BITS.wrapping_sub(stride));
    let is_array = word < BUCKETS;
    (choose(is_array, place, place_outside), rest.wrapping_shl(choose(is_array, stride, 0)))
}

/// Returns whether a search is still at an array after all steps.
#[inline(always)]
fn is_detour(word: u32) -> bool {
    word < BUCKETS
}

/// The bits of a word that tell a bucket with longer routes, and their value.
const KIND_BEYOND: (u32, u32) = (ANSWER | BUCKETS | BEYOND, BUCKETS | BEYOND);

/// The addresses of a part of a batch, after which those with longer routes are looked up in the
/// terrace: a multiple of both sizes of blocks, so that no block is cut.
const PART: usize = 64 * GATHERED;

/// The addresses that go through the terrace together.
const TOGETHER: usize = 128;

/// The same in a short call, where more room would take longer to clear than to use.
const TOGETHER_IN_BURST: usize = BURST + GROUP;

/// The engine as the batch path reads it. It holds the addresses of the arrays: read from the
/// engine, they would be loaded again after every word that other threads may write.
struct Batch<'e, I: Isa, W: Width> {
    table: &'e Mosaic6View<W>,
    root: &'e [Published<u32>; 1 << ROOT],
    words: &'e [Published<u32>],
    lines: &'e [Published<W>],
    /// The addresses of a part with longer routes, one bit each.
    beyond: [Cell<u16>; PART / GROUP],
    /// Whether there are longer routes at all.
    has_longer: bool,
    isa: I,
}

/// The stages of the pipeline: the root, the arrays, the buckets.
const STAGES: usize = STEPS + 2;

impl<I: Isa, W: Width> Stages<u128, W, STAGES> for Batch<'_, I, W> {
    type Found<const N: usize> = Found<N>;

    #[inline(always)]
    fn nothing<const N: usize>() -> Found<N> {
        Found { at: Lanes::ZERO, next: Lanes::ZERO, rest: Lanes::ZERO }
    }

    #[inline(always)]
    fn run<const N: usize>(
        &self,
        stage: usize,
        start: usize,
        addresses: &[u128; N],
        found: &mut Found<N>,
        next_hops: &mut [W; N],
    ) {
        match stage {
            0 => self.begin(addresses, found),
            1..=STEPS => self.step(found),
            _ => {
                let mut words = Lanes::ZERO;
                for lane in 0..N {
                    words.0[lane] = found.word(lane);
                }
                self.finish(start, &words, &found.rest, next_hops);
            }
        }
    }

    #[inline(always)]
    fn one(&self, _: usize, &address: &u128) -> W {
        self.table.one(self.isa, address, &mut Unmetered)
    }
}

/// One stage that does everything, by gathers.
impl<I: Isa, W: Width> Stages<u128, W, 1> for Batch<'_, I, W> {
    type Found<const N: usize> = ();

    #[inline(always)]
    fn nothing<const N: usize>() {}

    #[inline(always)]
    fn run<const N: usize>(
        &self,
        _: usize,
        start: usize,
        addresses: &[u128; N],
        (): &mut (),
        next_hops: &mut [W; N],
    ) {
        let (mut words, mut rests) = (Lanes::ZERO, Lanes::ZERO);
        for group in 0..N / GROUP {
            let (slots, rest) = self.isa.first_16_and_32(&addresses.as_chunks().0[group]);
            *words.group(group) = self.isa.gather(self.root, &slots, &[0; GROUP]);
            *rests.group(group) = rest;
        }
        for _ in 0..STEPS {
            for group in 0..N / GROUP {
                let (at, mut rest) = (*words.group(group), *rests.group(group));
                let mut places = [0; GROUP];
                for lane in 0..GROUP {
                    (places[lane], rest[lane]) = next(at[lane], rest[lane], u32::MAX);
                }
                *words.group(group) = self.isa.gather(self.words, &places, &at);
                *rests.group(group) = rest;
            }
        }
        self.finish(start, &words, &rests, next_hops);
    }

    #[inline(always)]
    fn one(&self, _: usize, &address: &u128) -> W {
        self.table.one(self.isa, address, &mut Unmetered)
    }
}

#[allow(clippy::needless_range_loop, reason = "one index runs through several arrays of one block")]
impl<I: Isa, W: Width> Batch<'_, I, W> {
    /// The first stage of the pipeline: loads the words of the root.
    #[inline(always)]
    fn begin<const N: usize>(&self, addresses: &[u128; N], found: &mut Found<N>) {
        for group in 0..N / GROUP {
            (_, *found.rest.group(group)) = self.isa.first_16_and_32(&addresses.as_chunks().0[group]);
        }
        // Marks all searches as being at an array: the root.
        found.at = Lanes::ZERO;
        for lane in 0..N {
            found.next.0[lane] = u32::load(&self.root[(addresses[lane] >> (u128::BITS - ROOT)) as usize]);
        }
    }

    /// A middle stage: one array.
    #[inline(always)]
    fn step<const N: usize>(&self, found: &mut Found<N>) {
        let mut places = Lanes::<N>::ZERO;
        for lane in 0..N {
            let word = found.word(lane);
            // A search that has left the arrays reads the first word, which does no harm.
            (places.0[lane], found.rest.0[lane]) = next(word, found.rest.0[lane], 0);
            found.at.0[lane] = word;
        }
        for group in 0..N / GROUP {
            let (places, next) = (places.group(group), found.next.group(group));
            for lane in 0..GROUP {
                next[lane] = u32::load(&self.words[places[lane] as usize]);
            }
        }
    }

    /// The last stage: the buckets of the block at index `start` of a part. Nothing jumps on the
    /// value of a word, except for the few addresses that are left open.
    #[inline(always)]
    fn finish<const N: usize>(
        &self,
        start: usize,
        words: &Lanes<N>,
        rests: &Lanes<N>,
        next_hops: &mut [W; N],
    ) {
        let (mut starts, mut among, mut keys) = (Lanes::ZERO, Lanes::ZERO, [0; N]);
        let mut are_detours = false;
        for lane in 0..N {
            let word = words.0[lane];
            // Words that lead to no bucket read the first line.
            let place = choose(word.wrapping_sub(BUCKETS) < ANSWER - BUCKETS, word, 0);
            starts.0[lane] = place & LINE_BITS;
            among.0[lane] = u32::MAX << (place & SLOT_BITS);
            keys[lane] = key(rests.0[lane]);
            are_detours |= is_detour(word);
        }
        let wanted = Wanted { starts: &starts.0, among: &among.0, keys: &keys };
        self.isa.elements_of_first(self.lines, wanted, answers::<W>(), next_hops);
        for lane in 0..N {
            let word = words.0[lane];
            let answer = choose(word >= ANSWER, word ^ ANSWER, next_hops[lane].widen().0);
            next_hops[lane] = W::narrow(NextHop(answer & W::MAX));
        }
        if self.has_longer {
            for (group, words) in words.0.as_chunks().0.iter().enumerate() {
                self.note(start / GROUP + group, self.isa.lanes_of_kind(words, KIND_BEYOND));
            }
        }
        if are_detours {
            // Pass copies: variables that a call sees would be kept in memory all the time.
            let (words, rests) = (*words, *rests);
            self.detour(start, &words.0, &rests.0, next_hops);
        }
    }

    /// Notes those of a group of addresses that have longer routes.
    #[inline(always)]
    fn note(&self, group: usize, beyond: u16) {
        // There is always a place, except in snapshots that somebody forged.
        if let Some(noted) = self.beyond.get(group) {
            noted.set(noted.get() | beyond);
        }
    }

    /// Answers the addresses that take a detour, and notes those of them with longer routes.
    #[inline(never)]
    fn detour(&self, start: usize, words: &[u32], rests: &[u32], next_hops: &mut [W]) {
        for (at, &word) in words.iter().enumerate().filter(|&(_, &word)| is_detour(word)) {
            let (beside, is_beyond) = self.table.beside(Scalar, (word, rests[at]), &mut Unmetered);
            next_hops[at] = beside;
            self.note((start + at) / GROUP, u16::from(is_beyond) << (at % GROUP));
        }
    }
}

/// Looks up the addresses of a part of a batch that are noted to have longer routes, `TOGETHER` at
/// a time. Out of line and compiled once: the terrace's own batch path is compiled for `isa`.
#[inline(never)]
fn look_up_longer<W: Width, const TOGETHER: usize>(
    longer: &TerraceView,
    isa: Level,
    noted: &[Cell<u16>],
    addresses: &[u128],
    next_hops: &mut [W],
) {
    let (mut chosen, mut indices, mut len) = ([0; TOGETHER], [0_u16; TOGETHER], 0);
    let mut groups = noted.iter().enumerate();
    loop {
        let group = groups.next();
        let is_full = len + GROUP > TOGETHER;
        if len > 0 && (is_full || group.is_none()) {
            let mut found = [0; TOGETHER];
            look_up_inside(longer, isa, &chosen[..len], &mut found[..len]);
            for (&at, &found) in indices[..len].iter().zip(&found) {
                let next_hop = &mut next_hops[usize::from(at)];
                *next_hop = if found == 0 { *next_hop } else { narrowed(found) };
            }
            len = 0;
        }
        let Some((group, noted)) = group else { return };
        for_each_set(noted.take().into(), |lane| {
            let at = group * GROUP + lane;
            (chosen[len], indices[len]) = (addresses[at], at as u16);
            len += 1;
        });
    }
}

impl<W: Width> Mosaic6View<W> {
    /// Looks up a batch, the way that is faster on this processor.
    #[inline(always)]
    pub(super) fn many<I: Isa>(&self, isa: I, addresses: &[u128], next_hops: &mut [W]) {
        self.many_by(isa, isa.gathers_fast(), addresses, next_hops);
    }

    /// Looks up a batch, by gathers or by the software pipeline.
    #[inline(always)]
    pub(super) fn many_by<I: Isa>(&self, isa: I, gathers: bool, addresses: &[u128], next_hops: &mut [W]) {
        let Some(root) = self.root.first_chunk() else { return };
        let before = self.fallback.before(&mut Unmetered);
        let (words, lines) = (flattened(&self.arrays), &self.lines[..]);
        let beyond = [const { Cell::new(0) }; PART / GROUP];
        let has_longer = !self.longer.is_uniform();
        let batch = Batch { table: self, root, words, lines, beyond, has_longer, isa };
        let part = if has_longer { PART } else { addresses.len().max(1) };
        for (addresses, next_hops) in addresses.chunks(part).zip(next_hops.chunks_mut(part)) {
            if gathers {
                look_up::<GATHERED, GROUP, 1, _, _, _>(&batch, addresses, next_hops);
            } else {
                look_up::<PIPELINED, GROUP, STAGES, _, _, _>(&batch, addresses, next_hops);
            }
            if has_longer {
                let noted = &batch.beyond[..addresses.len().div_ceil(GROUP)];
                let (longer, isa) = (&*self.longer, isa.level());
                // A short call pays for no more room than it needs.
                if addresses.len() <= BURST {
                    look_up_longer::<_, TOGETHER_IN_BURST>(longer, isa, noted, addresses, next_hops);
                } else {
                    look_up_longer::<_, TOGETHER>(longer, isa, noted, addresses, next_hops);
                }
            }
        }
        if !self.fallback.fill(before, next_hops) {
            let beside = |address| self.one(Scalar, address, &mut Unmetered);
            self.fallback.fill_again(addresses, next_hops, beside);
        }
    }
}
