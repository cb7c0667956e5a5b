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

/// Blocks as spans with answers of type `W`.
#[derive(Debug)]
pub struct Spans<W>(PhantomData<W>);

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

    /// Writes the span of these answers, which begins at `last` byte `first`.
    fn write(span: &mut [u64], first: usize, answers: &[W]) {
        let mut set = |byte: usize, value: u64| span[byte / 8] |= value << (byte % 8 * 8);
        let mut runs = 0;
        for (at, answer) in answers.iter().enumerate() {
            if at > 0 && answers[at - 1] != *answer {
                runs += 1;
                set(runs, (first + at) as u64);
            }
            if at == 0 || answers[at - 1] != *answer {
                set((Self::FIRST + runs) * size_of::<W>(), answer.widen().0.into());
            }
        }
        let last = answers.last().map_or(0, |answer| answer.widen().0);
        for run in runs + 1..Self::RUNS {
            set(run, u8::MAX.into());
            set((Self::FIRST + run) * size_of::<W>(), last.into());
        }
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
        let runs = |span: &[W]| 1 + span.windows(2).filter(|pair| pair[0] != pair[1]).count();
        let fits = |&log: &u32| answers.chunks(BELOW >> log).all(|span| runs(span) <= Self::RUNS);
        let log = (0..Self::MOST_LOG).find(fits).unwrap_or(Self::MOST_LOG);
        let mut words = [0; LONGEST];
        let addresses = BELOW >> log;
        for (at, (span, answers)) in words.chunks_mut(SPAN).zip(answers.chunks(addresses)).enumerate() {
            Self::write(span, at * addresses, answers);
        }
        words[0] |= u64::from(log);
        Piece::new(words, SPAN << log)
    }

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
