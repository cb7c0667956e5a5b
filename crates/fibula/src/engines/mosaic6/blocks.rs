//! What words lead to: arrays, and the lines that buckets share.

use super::lines::{Lines, pair_bytes};
use super::word::{CELL_BYTES, CELLS_MAX, Cell, Word, array_cells};
use super::{CELLS, Mosaic6View, STEPS};
use crate::Limit;
use crate::blocks::chunks::SharedPool;
use crate::engine::Width;
use crate::memory::{Pages, Shareable, flattened};

/// The cells past the end of the arrays that may be read: a search that has left the arrays reads
/// the first word.
pub(super) const PADDING: usize = 1;

/// The blocks are packed when a `1 / HOLES` part of them, and more than [`HOLES_IGNORED`] bytes, is
/// holes.
const HOLES: usize = 16;
const HOLES_IGNORED: usize = 16 << 10;

/// Arrays and buckets.
#[derive(Clone, Debug)]
pub(super) struct Blocks<W: Width> {
    pub(super) arrays: SharedPool<Cell>,
    pub(super) lines: Lines<W>,
}

impl<W: Width> Blocks<W> {
    /// Returns empty blocks that can hold at most `cells_max` cells of arrays.
    pub(super) fn new(cells_max: u64, pages: Pages) -> Self {
        Self { arrays: SharedPool::empty(CELLS, cells_max, pages).padded(PADDING), lines: Lines::new(pages) }
    }

    /// Iterates over the words of the array of `cells` cells at `base`, each as it is now.
    pub(super) fn words(&self, base: usize, cells: usize) -> impl ExactSizeIterator<Item = u32> {
        flattened(&self.arrays[base..base + cells]).iter().map(u32::load)
    }

    /// Frees what `word` leads to, and everything below. `arrays` is the number of arrays above it.
    /// Returns the number of freed arrays that the batch path does not take. O(blocks).
    pub(super) fn release(&mut self, word: u32, arrays: usize) -> usize {
        match Word::unpack(word) {
            Word::Answer(_) => 0,
            Word::Bucket { spot, .. } => {
                self.lines.remove(spot);
                0
            }
            Word::Array { stride, base } => {
                let mut detours = usize::from(arrays >= STEPS);
                let cells = array_cells(stride);
                for at in 2 * base..2 * (base + cells) {
                    let below = self.word(at);
                    detours += self.release(below, arrays + 1);
                }
                self.arrays.remove(base, cells);
                detours
            }
        }
    }

    /// Returns the bytes of what `word` leads to, and of everything below. O(blocks).
    pub(super) fn bytes_below(&self, word: u32) -> usize {
        match Word::unpack(word) {
            Word::Answer(_) => 0,
            Word::Bucket { spot, .. } => self.lines.pairs(spot).count() * pair_bytes::<W>(),
            Word::Array { stride, base } => {
                let cells = array_cells(stride);
                let below = self.words(base, cells).map(|below| self.bytes_below(below));
                cells * CELL_BYTES + below.sum::<usize>()
            }
        }
    }

    /// Copies what `word` leads to, and everything below, into `to`. Returns the word that leads to
    /// the copy.
    pub(super) fn moved(&self, word: u32, to: &mut Self) -> Result<u32, Limit> {
        let word = match Word::unpack(word) {
            Word::Answer(_) => return Ok(word),
            Word::Bucket { spot, longer } => {
                let pairs: Vec<_> = self.lines.pairs(spot).collect();
                Word::Bucket { spot: to.lines.insert(&pairs)?, longer }
            }
            Word::Array { stride, base } => {
                let words = self.words(base, array_cells(stride)).map(|below| self.moved(below, to));
                let words: Vec<u32> = words.collect::<Result<_, _>>()?;
                Word::Array { stride, base: to.arrays.insert(words.as_chunks().0)? }
            }
        };
        Ok(word.pack())
    }

    /// Returns the cells of arrays in use.
    pub(super) fn cells(&self) -> usize {
        self.arrays.len() - PADDING - self.arrays.free_total()
    }

    /// Returns the bytes of the blocks in use.
    pub(super) fn used(&self) -> usize {
        self.cells() * CELL_BYTES + self.lines.used() * pair_bytes::<W>()
    }

    /// Returns whether there is room for three times the current contents beside them, and for
    /// `routes` more routes. If so, whatever an update writes beside the old blocks fits.
    pub(super) fn have_room(&self, routes: usize) -> bool {
        /// The most cells that a new route takes.
        const CELLS_A_ROUTE: usize = 1024;
        self.cells() + CELLS_A_ROUTE * routes <= CELLS_MAX as usize / 4 && self.lines.have_room(routes)
    }

    /// Returns whether there are too many holes.
    pub(super) fn are_full_of_holes(&self) -> bool {
        let holes = self.arrays.holes() * CELL_BYTES + self.lines.holes() * pair_bytes::<W>();
        holes > HOLES_IGNORED && holes * HOLES > self.bytes()
    }

    /// Returns the bytes that the blocks occupy.
    pub(super) fn bytes(&self) -> usize {
        self.arrays.bytes() + self.lines.bytes()
    }

    pub(super) fn is_shared(&self) -> bool {
        self.arrays.is_shared()
    }

    /// Shares the blocks: other threads may read them from now on.
    pub(super) fn share(&mut self) {
        self.arrays.share(CELLS_MAX);
        self.lines.share();
    }

    /// Updates `view` after an array has moved.
    pub(super) fn show_in(&self, view: &mut Mosaic6View<W>) {
        self.arrays.show_in(&mut view.arrays);
        self.lines.show_in(&mut view.lines);
    }

    /// Returns the word at index `at` of the arrays.
    pub(super) fn word(&self, at: usize) -> u32 {
        flattened(&self.arrays)[at].load()
    }

    /// Stores `word` at index `at` of the arrays.
    pub(super) fn set_word(&self, at: usize, word: u32) {
        word.store(&self.arrays.words().places(at / 2..at / 2 + 1)[0][at % 2]);
    }

    pub(super) fn readers_passed(&mut self) {
        self.arrays.readers_passed();
        self.lines.readers_passed();
    }

    pub(super) fn shrink_to_fit(&mut self) {
        self.arrays.shrink_to_fit();
        self.lines.shrink_to_fit();
    }
}
