//! [`Blocks`]: the answers of the /24s that contain more-specific routes, as deduplicated blocks
//! whose numbers are in the tiles.
//!
//! A tile holds a reference to each block that it names, so a block lives as long as a tile names
//! it. Both are retired at once, so a reader that holds an old tile finds its blocks until the
//! grace period ends.

use super::below::{Below, BelowView};
use super::root::TileNumber;
use super::tiles::Tiles;
use super::view::MosaicView;
use super::{BELOW, SLOTS, TILE, deep};
use crate::blocks::unique::Unique;
use crate::engine::{Config, Meter, Width};
use crate::memory::{Pages, Published, WordsView};
use crate::sections::{SectionWriter, Sections, unsound};
use crate::{Error, NextHop};

/// The bit of an entry that says that the others are the number of a block.
pub(super) const MARKED: u32 = 1 << 31;

/// The name of the section of all blocks.
const SECTION: &str = "longer routes' answers";

/// One answer per address in numbered blocks, one block for all /24s with the same answers.
#[derive(Debug)]
pub struct Blocks<W: Width> {
    /// Block 0 is never freed. The batch path reads it for addresses without a mark.
    blocks: Unique<W, BELOW>,
    /// The blocks that were stored for a tile that is not complete, one reference each.
    pending: Vec<u32>,
}

/// The blocks as lookups read them.
#[derive(Clone, Debug)]
pub struct BlocksView<W: Width> {
    answers: WordsView<W>,
}

/// Returns the index among the answers of all blocks of the answer of `address`, whose entry is
/// `marked`.
#[inline(always)]
fn index_of(marked: u32, address: u32) -> u32 {
    (marked << BELOW.ilog2()) | (address % BELOW as u32)
}

/// Returns the block that an entry names, if it is a mark.
fn block_of(entry: u32) -> Option<u32> {
    (entry & MARKED != 0).then_some(entry & !MARKED)
}

/// Returns the blocks that a tile names, each as often as it is named.
fn named(tile: &[u32; TILE]) -> impl Iterator<Item = u32> {
    tile.iter().filter_map(|&entry| block_of(entry))
}

impl<W: Width> BlocksView<W> {
    /// Returns the answers of all blocks.
    #[inline(always)]
    pub(super) fn answers(&self) -> &[Published<W>] {
        &self.answers
    }

    /// Returns the index of the answer of `address` among those of all blocks if `entry` is a mark,
    /// else 0.
    #[inline(always)]
    pub(super) fn index_or_0(entry: u32, address: u32) -> u32 {
        index_of(entry, address) & mask(entry)
    }

    /// Returns `below` if `entry` is a mark, else the answer that `entry` is.
    #[inline(always)]
    pub(super) fn choose(entry: u32, below: W) -> W {
        let mask = mask(entry);
        W::narrow(NextHop((below.widen().0 & mask | entry & !mask) & W::MAX))
    }
}

/// Returns all ones if `entry` is a mark, else 0.
#[inline(always)]
fn mask(entry: u32) -> u32 {
    (entry / MARKED).wrapping_neg()
}

impl<W: Width> BelowView<W, u32> for BlocksView<W> {
    #[inline(always)]
    fn answer(&self, entry: u32, address: u32, meter: &mut impl Meter) -> W {
        if entry & MARKED == 0 {
            W::narrow(NextHop(entry & W::MAX))
        } else {
            meter.load_word::<W>(&self.answers[index_of(entry, address) as usize])
        }
    }
}

impl<W: Width> Blocks<W> {
    /// The blocks that a shared table reserves for growth, on top of three times its contents.
    const ROOM: usize = 1 << 13;
}

impl<W: Width> Below<W> for Blocks<W> {
    type Entry = u32;
    type View = BlocksView<W>;

    const MARK: u32 = MARKED;

    fn new(pages: Pages) -> Self {
        let mut blocks = Unique::new(pages).unsettled();
        let first = blocks.insert(&[W::default(); BELOW]);
        debug_assert_eq!(first, 0);
        Self { blocks, pending: Vec::new() }
    }

    #[inline(always)]
    fn entry(answer: W) -> u32 {
        answer.widen().0
    }

    fn mark(&mut self, _: u32, answers: &[W; BELOW]) -> u32 {
        let block = self.blocks.insert(answers);
        self.pending.push(block);
        MARKED | block
    }

    fn unmark(&mut self, _: &[u32], _: u32) -> bool {
        false
    }

    fn keep(&mut self, tile: &[u32; TILE]) {
        named(tile).for_each(|block| self.blocks.retain(block, 1));
    }

    fn forget(&mut self, tile: impl FnOnce() -> [u32; TILE]) {
        for block in named(&tile()) {
            self.blocks.release(block, 1);
        }
    }

    fn settle(&mut self) {
        for block in self.pending.drain(..) {
            self.blocks.release(block, 1);
        }
    }

    fn join(&mut self, _: &Self) {}

    fn taken_over(&mut self, entry: u32, piece: &Self) -> u32 {
        match block_of(entry) {
            Some(block) => self.mark(0, &piece.blocks.get(block)),
            None => entry,
        }
    }

    fn share(&mut self) {
        self.blocks.share(4 * self.blocks.len() + Self::ROOM);
    }

    fn readers_passed(&mut self) {
        self.blocks.readers_passed();
    }

    fn has_room(&self, longer: usize, marked: impl FnOnce() -> usize) -> bool {
        !self.blocks.is_wasteful() && self.blocks.room() > longer + marked()
    }

    fn is_sparse(&self) -> bool {
        self.blocks.is_sparse()
    }

    fn compact(&mut self) -> Option<Vec<u32>> {
        Some(self.blocks.compact())
    }

    fn renumbered(entry: u32, numbers: &[u32]) -> u32 {
        block_of(entry).map_or(entry, |block| MARKED | numbers[block as usize])
    }

    fn counts(&self, marked: impl FnOnce() -> usize) -> (usize, usize) {
        (marked(), self.blocks.len() - 1)
    }

    fn bytes(&self) -> usize {
        self.blocks.bytes()
    }

    fn book_bytes(&self) -> usize {
        self.blocks.book_bytes()
    }

    fn is_same(&self, entry: u32, fresh: &Self, other: u32) -> bool {
        match (block_of(entry), block_of(other)) {
            (Some(block), Some(other)) => self.blocks.get(block) == fresh.blocks.get(other),
            _ => entry == other,
        }
    }

    fn validate(&self, _: &Self, tiles: impl Iterator<Item = [u32; TILE]>) -> Result<(), String> {
        self.blocks.validate()?;
        let mut references = vec![0; self.blocks.numbers()];
        references[0] = 1;
        for block in tiles.flat_map(|tile| named(&tile).collect::<Vec<_>>()) {
            let count = references.get_mut(block as usize);
            *count.ok_or_else(|| format!("a tile names block {block} of {}", self.blocks.numbers()))? += 1;
        }
        self.blocks.check_references(&references)
    }

    fn view(&self) -> BlocksView<W> {
        BlocksView { answers: self.blocks.view() }
    }

    fn show_in(&self, view: &mut BlocksView<W>) {
        self.blocks.show_in(&mut view.answers);
    }

    fn save(&self, sections: &mut SectionWriter<'_>) {
        sections.made(SECTION, &self.blocks.to_vec());
    }

    fn open(sections: &Sections<'_>, _: &Config) -> Result<BlocksView<W>, Error> {
        let answers = sections.array(SECTION)?;
        if answers.is_empty() {
            return Err(unsound(SECTION, "is empty"));
        }
        Ok(BlocksView { answers: WordsView::holding(answers) })
    }

    #[inline(always)]
    fn look_up<T: TileNumber, F: Tiles<u32>>(
        table: &MosaicView<W, F, Self>,
        root: &[Published<T>; SLOTS],
        addresses: &[u32],
        next_hops: &mut [W],
    ) {
        deep::look_up(table, root, addresses, next_hops);
    }
}
