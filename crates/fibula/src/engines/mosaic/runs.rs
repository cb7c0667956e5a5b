//! [`Runs`]: tiles stored as their runs of equal answers.
//!
//! # Layout
//! ```text
//! word 0          bit p: a run begins at index p (bit 0 is set)
//! words 1, ...    the answers of the runs in order: 8, 4 or 2 a word of 64 bits
//! ```
//! A tile takes the least of 16, 32, 64, 128, 192, 256 or 320 bytes that its runs fit, the rest
//! zeros. A tile shorter than a line is aligned to its own size, so it lies in one line. A longer
//! tile is aligned to a line. Its number is its offset in units of 16 bytes, so no lookup needs its
//! length.

use super::TILE;
use super::tiles::Tiles;
use crate::NextHop;
use crate::blocks::chunks::Lines;
use crate::blocks::unique::{Atomic, Form};
use crate::engine::{Meter, Width};
use crate::memory::{Published, Shareable};
use std::marker::PhantomData;

/// Tiles as runs of answers of type `W`.
#[derive(Clone, Debug)]
pub(crate) struct Runs<W>(PhantomData<W>);

/// The words per tile number: 16 bytes.
const UNIT: usize = 2;

/// The words of the longest tile: 64 answers of 32 bits and the map, in whole lines.
const LONGEST: usize = 40;

/// A chunk of at most `LONGEST` words.
#[derive(Clone, Debug)]
pub(crate) struct Piece<const LONGEST: usize> {
    words: [u64; LONGEST],
    len: usize,
}

impl<const LONGEST: usize> Piece<LONGEST> {
    /// Creates a chunk of `len` words of 0.
    #[inline(always)]
    pub(super) fn zeroed(len: usize) -> Self {
        Self { words: [0; LONGEST], len }
    }

    /// Returns the chunk of `len` words at the beginning of `words`.
    pub(super) fn read(words: &[Published<u64>], len: usize) -> Self {
        let mut piece = Self::zeroed(len);
        piece.words.iter_mut().zip(&words[..len]).for_each(|(word, place)| *word = u64::load(place));
        piece
    }

    /// Returns its words.
    pub(super) fn words(&self) -> &[u64] {
        &self.words[..self.len]
    }

    /// Returns its words, to be written.
    pub(super) fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words[..self.len]
    }
}

impl<const LONGEST: usize> PartialEq for Piece<LONGEST> {
    fn eq(&self, other: &Self) -> bool {
        self.words() == other.words()
    }
}

impl<W: Width> Runs<W> {
    /// The answers in a word.
    const IN_WORD: usize = size_of::<u64>() / size_of::<W>();

    /// The bits of an answer.
    const BITS: usize = 8 * size_of::<W>();

    /// Returns the words of a tile with this `map`.
    #[inline(always)]
    fn len(map: u64) -> usize {
        let words = 1 + (map.count_ones() as usize).div_ceil(Self::IN_WORD);
        Lines::rounded(words.div_ceil(UNIT) as u64) as usize * UNIT
    }

    /// Returns the position of the answer at index `place` of the tile that begins at `begin` and
    /// has this `map`. Positions count answers from the first word of all tiles.
    #[inline(always)]
    fn position(begin: u32, map: u64, place: usize) -> u32 {
        // The number of runs that begin up to `place`.
        begin.wrapping_add((map << (!place % TILE)).count_ones())
    }

    /// Returns the answer at `position` out of its `word`.
    #[inline(always)]
    fn cut(word: u64, position: u32) -> W {
        let shifted = word >> (position as usize % Self::IN_WORD * Self::BITS);
        W::narrow(NextHop(shifted as u32 & W::MAX))
    }
}

impl<W: Width> Form for Runs<W> {
    type Word = u64;
    type Chunk = Piece<LONGEST>;
    type Space = Lines;
    const UNIT: usize = UNIT;
    const MOST: usize = Lines::rounded((1 + TILE / Self::IN_WORD).div_ceil(UNIT) as u64) as usize;

    fn words(piece: &Piece<LONGEST>) -> &[u64] {
        piece.words()
    }

    fn read(words: &[Published<u64>]) -> Piece<LONGEST> {
        Piece::read(words, Self::len(u64::load(&words[0])))
    }

    fn numbers(words: &[Published<u64>]) -> usize {
        Self::len(u64::load(&words[0])) / UNIT
    }
}

impl<W: Width> Tiles<W> for Runs<W> {
    fn pack(tile: &[W; TILE]) -> Piece<LONGEST> {
        let mut piece = Piece::zeroed(LONGEST);
        let (mut map, mut runs) = (1_u64, 0);
        for place in 0..TILE {
            if place > 0 && tile[place] != tile[place - 1] {
                map |= 1 << place;
                runs += 1;
            }
            // All answers of a run are equal, so writing each of them has the same effect.
            let bits = u64::from(tile[place].widen().0) << (runs % Self::IN_WORD * Self::BITS);
            piece.words[1 + runs / Self::IN_WORD] |= bits;
        }
        piece.words[0] = map;
        piece.len = Self::len(map);
        piece
    }

    fn unpack(piece: &Piece<LONGEST>) -> [W; TILE] {
        let mut position = Self::begin(0, 0);
        std::array::from_fn(|place| {
            position += (piece.words[0] >> place & 1) as u32;
            Self::cut(piece.words[position as usize / Self::IN_WORD], position)
        })
    }

    /// The position of the last answer that would fit into the word of the map.
    #[inline(always)]
    fn begin(number: usize, _: usize) -> u32 {
        (number * UNIT * Self::IN_WORD + Self::IN_WORD - 1) as u32
    }

    #[inline(always)]
    fn first_word(begin: u32) -> usize {
        begin as usize / Self::IN_WORD
    }

    #[inline(always)]
    fn answer(words: &[Atomic<Self>], begin: u32, place: usize, meter: &mut impl Meter) -> W {
        let map = meter.load_word::<u64>(&words[Self::first_word(begin)]);
        let position = Self::position(begin, map, place);
        Self::cut(meter.load_word::<u64>(&words[position as usize / Self::IN_WORD]), position)
    }
}
