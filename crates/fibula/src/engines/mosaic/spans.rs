//! [`Spans`]: blocks stored as runs of equal answers, a few to half a cache line.
//!
//! # Layout
//! A /24 is cut into 1, 2, 4, ... 64 equal spans: the least number of which none has more runs than
//! fit into 32 bytes. Those are 16 runs with 8-bit answers, 10 with 16-bit ones, 6 with 32-bit
//! ones.
//!
//! ```text
//! 16-bit answers    0         1                10            12               32
//!                   +---------+----------------+-------------+----------------+
//! one span          | log     | starts of runs | the answers of the runs      |
//!                   |         | 1 to 9         | 0 to 9, after two bytes of 0 |
//!                   +---------+----------------+-------------+----------------+
//! ```
//! A start is the last byte of the address where the run begins. Run 0 begins with the span, so its
//! byte is free: in the first span of a block it is the logarithm of the number of spans, elsewhere
//! zero. A run that does not exist begins at 255 and has the answer of the last one that does, so
//! no lookup asks how many there are.
//!
//! A mark holds that logarithm beside the number of the block (bits 28 to 30). So the span of an
//! address is known before anything of the block is read.

use super::BELOW;
use super::forms::BlockForm;
use super::runs::Piece;
use crate::NextHop;
use crate::arch::count_up_to;
use crate::blocks::chunks::Lines;
use crate::blocks::unique::{Atomic, Form};
use crate::engine::{Meter, Width};
use crate::memory::{Published, Shareable};
use std::marker::PhantomData;
use std::ops::Range;

/// Blocks as spans with answers of type `W`.
#[derive(Clone, Debug)]
pub(crate) struct Spans<W>(PhantomData<W>);

/// The words of a span, and of a number.
const SPAN: usize = 4;

/// The words of the longest block: 64 spans of 4 addresses, with 32-bit answers.
const LONGEST: usize = SPAN << 6;

/// The position in a mark of the logarithm of the number of spans.
const LOG_AT: u32 = 28;

impl<W: Width> Spans<W> {
    /// The runs that fit into a span, the first of which needs no start.
    const RUNS: usize = SPAN * size_of::<u64>() / (1 + size_of::<W>());

    /// The answers in a word.
    const IN_WORD: usize = size_of::<u64>() / size_of::<W>();

    /// The position of the answer of run 0 in a span.
    const FIRST: usize = SPAN * Self::IN_WORD - Self::RUNS;

    /// The greatest logarithm of the number of spans: each then has fewer addresses than runs fit.
    const MOST_LOG: u32 = BELOW.ilog2() - Self::RUNS.ilog2();

    /// Returns the logarithm of the number of spans of the block that begins with this word.
    #[inline(always)]
    fn log(first: u64) -> u32 {
        first as u32 % 8
    }

    /// Returns the index of the run that holds an address with this `last` byte. `starts` are the
    /// first words of its span.
    #[inline(always)]
    fn run(starts: [u64; 2], last: u8) -> usize {
        count_up_to(starts, Self::RUNS, last) as usize
    }

    /// Returns the word of a span that holds the answer of `run`, and the shift that brings the
    /// answer to its lowest bits.
    #[inline(always)]
    fn place(run: usize) -> (usize, usize) {
        let position = Self::FIRST + run;
        (position / Self::IN_WORD, position % Self::IN_WORD * 8 * size_of::<W>())
    }

    /// Writes the span that begins at `last` byte `first` and holds the answers before `end`. Bits
    /// of `starts` say where runs begin.
    fn write(span: &mut [u64], first: usize, end: usize, starts: &Starts, answers: &[W; BELOW]) {
        let mut set = |byte: usize, value: u64| span[byte / 8] |= value << (byte % 8 * 8);
        let (mut run, mut begin) = (0, first);
        loop {
            let answer = answers[begin].widen().0;
            set((Self::FIRST + run) * size_of::<W>(), answer.into());
            run += 1;
            begin = starts.next(begin + 1).min(end);
            if begin < end {
                set(run, begin as u64);
                continue;
            }
            // The runs that do not exist.
            for run in run..Self::RUNS {
                set(run, u8::MAX.into());
                set((Self::FIRST + run) * size_of::<W>(), answer.into());
            }
            return;
        }
    }
}

/// Where the runs of a block begin: a bit for each of its answers that is not equal to the one
/// before. All answers are compared first, in vectors: a branch on each would be mispredicted.
struct Starts([u64; BELOW / WORD]);

/// The bits of a word.
const WORD: usize = u64::BITS as usize;

impl Starts {
    fn of<W: Width>(answers: &[W; BELOW]) -> Self {
        let mut differ = [0; BELOW];
        for at in 1..BELOW {
            differ[at] = u8::from(answers[at] != answers[at - 1]);
        }
        // A product gathers the lowest bits of eight bytes in its highest byte.
        let bits = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        let (eights, _) = differ.as_chunks::<8>();
        let mut starts = [0; BELOW / WORD];
        for (at, eight) in eights.iter().enumerate() {
            starts[at / 8] |= bits(eight) << (at % 8 * 8);
        }
        Self(starts)
    }

    /// Returns the first start from the answer at `at` on; the number of answers if there is none.
    fn next(&self, at: usize) -> usize {
        let mut mask = u64::MAX << (at % WORD);
        for word in at / WORD..BELOW / WORD {
            let bits = self.0[word] & mask;
            if bits != 0 {
                return word * WORD + bits.trailing_zeros() as usize;
            }
            mask = u64::MAX;
        }
        BELOW
    }

    /// Returns the number of starts in `span`, whose length is a power of two and which begins at a
    /// multiple of that.
    fn count(&self, span: Range<usize>) -> usize {
        if span.len() < WORD {
            let bits = self.0[span.start / WORD] >> (span.start % WORD) & ((1 << span.len()) - 1);
            return bits.count_ones() as usize;
        }
        self.0[span.start / WORD..span.end / WORD].iter().map(|word| word.count_ones() as usize).sum()
    }
}

impl<W: Width> Form for Spans<W> {
    type Word = u64;
    type Chunk = Piece<LONGEST>;
    type Space = Lines;
    const UNIT: usize = SPAN;
    const MOST: usize = 1 << Self::MOST_LOG;

    fn words(piece: &Piece<LONGEST>) -> &[u64] {
        piece.words()
    }

    fn read(words: &[Published<u64>]) -> Piece<LONGEST> {
        Piece::read(words, Self::numbers(words) * SPAN)
    }

    fn numbers(words: &[Published<u64>]) -> usize {
        1 << Self::log(u64::load(&words[0]))
    }
}

impl<W: Width> BlockForm for Spans<W> {
    type Answer = W;

    /// 2^28 spans take 8 GiB: 16 for each /24 that there is.
    const NUMBER: u32 = (1 << LOG_AT) - 1;
    const IS_PREFETCHED: bool = true;

    fn pack(answers: &[W; BELOW]) -> Piece<LONGEST> {
        let starts = Starts::of(answers);
        // A span begins with a run of its own, wherever that of the block begins.
        let runs = |first: usize, addresses: usize| {
            1 + starts.count(first..first + addresses) - starts.count(first..first + 1)
        };
        let fits = |&log: &u32| {
            let addresses = BELOW >> log;
            (0..BELOW).step_by(addresses).all(|first| runs(first, addresses) <= Self::RUNS)
        };
        let log = (0..Self::MOST_LOG).find(fits).unwrap_or(Self::MOST_LOG);
        let addresses = BELOW >> log;
        let mut piece = Piece::zeroed(SPAN << log);
        for (at, span) in piece.words_mut().chunks_mut(SPAN).enumerate() {
            let first = at * addresses;
            Self::write(span, first, first + addresses, &starts, answers);
        }
        piece.words_mut()[0] |= u64::from(log);
        piece
    }

    #[cfg(test)]
    fn unpack(piece: &Piece<LONGEST>) -> [W; BELOW] {
        let words = piece.words();
        std::array::from_fn(|last| {
            let at = Self::begin(Self::shape(piece), last as u32) as usize;
            let (word, shift) = Self::place(Self::run([words[at], words[at + 1]], last as u8));
            W::narrow(NextHop((words[at + word] >> shift) as u32 & W::MAX))
        })
    }

    fn shape(piece: &Piece<LONGEST>) -> u32 {
        Self::log(piece.words()[0]) << LOG_AT
    }

    #[inline(always)]
    fn begin(mark: u32, address: u32) -> u32 {
        let log = mark >> LOG_AT & 7;
        let span = (address % BELOW as u32) << log >> BELOW.ilog2();
        ((mark & Self::NUMBER) + span) * SPAN as u32
    }

    #[inline(always)]
    fn answer(words: &[Atomic<Self>], begin: u32, address: u32, meter: &mut impl Meter) -> W {
        let span = &words[begin as usize..begin as usize + SPAN];
        let starts = [meter.load_word::<u64>(&span[0]), meter.load_word::<u64>(&span[1])];
        let (word, shift) = Self::place(Self::run(starts, address as u8));
        W::narrow(NextHop((meter.load_word::<u64>(&span[word]) >> shift) as u32 & W::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packed<W: Width>(answers: impl Fn(usize) -> u32) -> (Vec<u64>, [W; BELOW]) {
        let answers = std::array::from_fn(|last| W::narrow(NextHop(answers(last))));
        let piece = Spans::<W>::pack(&answers);
        assert!(Spans::<W>::unpack(&piece) == answers);
        (piece.words().to_vec(), answers)
    }

    #[test]
    fn two_halves_are_one_span() {
        let (words, _) = packed::<u16>(|last| if last < 128 { 4 } else { 1 });
        let starts: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).take(10).collect();
        assert_eq!(starts, [0, 128, 255, 255, 255, 255, 255, 255, 255, 255]);
        assert_eq!(words[1..], [4 << 32 | 1 << 48 | 0xFFFF, 0x1_0001_0001_0001, 0x1_0001_0001_0001]);
    }

    #[test]
    fn as_many_runs_as_fit_are_one_span_and_one_more_are_two() {
        fn spans<W: Width>() -> [usize; 4] {
            let fit = Spans::<W>::RUNS;
            let even = |runs: usize| packed::<W>(|last| (last * runs / BELOW) as u32).0;
            // All but one of the runs at the end: the spans of a block are equal.
            let late = packed::<W>(|last| (last + fit).saturating_sub(BELOW - 1) as u32).0;
            [even(fit), even(fit + 1), even(BELOW), late].map(|words| words.len() / SPAN)
        }
        assert_eq!(spans::<u8>(), [1, 2, 16, 16]);
        assert_eq!(spans::<u16>(), [1, 2, 32, 32]);
        assert_eq!(spans::<u32>(), [1, 2, 64, 64]);
    }

    proptest! {
        #[test]
        fn every_address_has_its_answer(starts in proptest::collection::vec((any::<u8>(), 0_u32..9), 0..40)) {
            let answer = |last: usize| {
                let before = starts.iter().filter(|&&(start, _)| usize::from(start) <= last);
                before.max_by_key(|&&(start, _)| start).map_or(0, |&(_, answer)| answer)
            };
            packed::<u8>(answer);
            packed::<u16>(|last| answer(last) * 7_000);
            packed::<u32>(|last| answer(last) << 27);
        }
    }
}
