//! [`Blocks`]: the answers of the /24s that contain more-specific routes, as deduplicated blocks
//! whose numbers are in the tiles.
//!
//! A tile holds a reference to each block that it names, so a block lives as long as a tile names
//! it. Both are retired at once, so a reader that holds an old tile finds its blocks until the
//! grace period ends.

use super::below::{Below, BelowView};
use super::forms::BlockForm;
use super::root::TileNumber;
use super::tiles::Tiles;
use super::view::MosaicView;
use super::{BELOW, SLOTS, TILE, deep};
use crate::blocks::unique::{Atomic, Kept};
use crate::engine::{Config, Meter, Width};
use crate::memory::{Pages, Published, WordsView};
use crate::sections::{SectionWriter, Sections, unsound};
use crate::{Error, NextHop};

/// The bit of an entry that says that the others are the number of a block.
pub(super) const MARKED: u32 = 1 << 31;

/// The name of the section of all blocks.
const SECTION: &str = "longer routes' answers";

/// One answer per address in numbered blocks of the form `P`, one block for all /24s with the same
/// answers.
#[derive(Clone, Debug)]
pub(crate) struct Blocks<P: BlockForm> {
    /// Block 0 is never freed. The batch path reads it for addresses without a mark.
    blocks: Kept<P>,
    /// The blocks that were stored for a tile that is not complete, one reference each.
    pending: Vec<u32>,
}

/// The blocks as lookups read them.
#[derive(Clone, Debug)]
pub(crate) struct BlocksView<P: BlockForm> {
    words: WordsView<P::Word>,
}

impl<P: BlockForm> BlocksView<P> {
    /// Returns the words of all blocks.
    #[inline(always)]
    pub(super) fn words(&self) -> &[Atomic<P>] {
        &self.words
    }

    /// Returns the index of the first word to read for `address` if `entry` is a mark, else 0.
    #[inline(always)]
    pub(super) fn begin_or_0(entry: u32, address: u32) -> u32 {
        P::begin(entry, address) & mask(entry)
    }

    /// Returns `below` if `entry` is a mark, else the answer that `entry` is.
    #[inline(always)]
    pub(super) fn choose(entry: u32, below: P::Answer) -> P::Answer {
        let mask = mask(entry);
        P::Answer::narrow(NextHop((below.widen().0 & mask | entry & !mask) & P::Answer::MAX))
    }
}

/// Returns all ones if `entry` is a mark, else 0.
#[inline(always)]
fn mask(entry: u32) -> u32 {
    (entry / MARKED).wrapping_neg()
}

impl<P: BlockForm> BelowView<P::Answer, u32> for BlocksView<P> {
    #[inline(always)]
    fn is_far(_: u32) -> bool {
        false
    }

    #[inline(always)]
    fn answer(&self, entry: u32, address: u32, meter: &mut impl Meter) -> P::Answer {
        if entry & MARKED == 0 {
            P::Answer::narrow(NextHop(entry & P::Answer::MAX))
        } else {
            P::answer(&self.words, P::begin(entry, address), address, meter)
        }
    }
}

impl<P: BlockForm> Blocks<P> {
    /// The blocks that a shared table reserves for growth, on top of three times its contents.
    const ROOM: usize = 1 << 13;

    /// Returns the number of the block that an entry names, if it is a mark.
    fn number(entry: u32) -> Option<u32> {
        (entry & MARKED != 0).then_some(entry & P::NUMBER)
    }

    /// Returns the numbers of the blocks that a tile names, each as often as it is named.
    fn named(tile: &[u32; TILE]) -> impl Iterator<Item = u32> {
        tile.iter().filter_map(|&entry| Self::number(entry))
    }

    /// Stores a block and returns its mark.
    ///
    /// # Panics
    /// If there are more blocks than numbers.
    fn store(&mut self, chunk: &P::Chunk) -> u32 {
        let number = self.blocks.insert(chunk);
        assert!(number <= P::NUMBER, "no number for one more block");
        self.pending.push(number);
        MARKED | P::shape(chunk) | number
    }
}

impl<P: BlockForm> Below<P::Answer> for Blocks<P> {
    type Entry = u32;
    type View = BlocksView<P>;

    const MARK: u32 = MARKED;

    const FEW: usize = 12;

    fn new(pages: Pages) -> Self {
        let mut blocks = Kept::new(pages).unsettled();
        let first = blocks.insert(&P::pack(&[P::Answer::default(); BELOW]));
        debug_assert_eq!(first, 0);
        Self { blocks, pending: Vec::new() }
    }

    #[inline(always)]
    fn entry(answer: P::Answer) -> u32 {
        answer.widen().0
    }

    fn answer(entry: u32) -> P::Answer {
        P::Answer::narrow(NextHop(entry))
    }

    fn mark(&mut self, _: u32, answers: &[P::Answer; BELOW]) -> u32 {
        self.store(&P::pack(answers))
    }

    fn unmark(&mut self, _: &[u32], _: u32) -> bool {
        false
    }

    fn keep(&mut self, tile: &[u32; TILE]) {
        Self::named(tile).for_each(|block| self.blocks.retain(block, 1));
    }

    fn forget(&mut self, tile: impl FnOnce() -> [u32; TILE]) {
        let tile = tile();
        Self::named(&tile).for_each(|block| self.blocks.prefetch(block));
        Self::named(&tile).for_each(|block| _ = self.blocks.release(block, 1));
    }

    fn settle(&mut self) {
        for block in self.pending.drain(..) {
            self.blocks.release(block, 1);
        }
    }

    fn join(&mut self, _: &Self) {}

    fn taken_over(&mut self, entry: u32, piece: &Self) -> u32 {
        match Self::number(entry) {
            Some(number) => self.store(&piece.blocks.get(number)),
            None => entry,
        }
    }

    fn share(&mut self) {
        self.blocks.share(4 * self.blocks.numbers() + Self::ROOM * P::MOST);
    }

    fn readers_passed(&mut self) {
        self.blocks.readers_passed();
    }

    fn has_room(&self, longer: usize, painted: usize, marked: impl FnOnce() -> usize) -> bool {
        let room = self.blocks.room();
        !self.blocks.is_wasteful() && (room > painted || room > 2 * longer + marked())
    }

    fn is_sparse(&self) -> bool {
        self.blocks.is_sparse()
    }

    fn compact(&mut self) -> Option<Vec<u32>> {
        Some(self.blocks.compact())
    }

    fn renumbered(entry: u32, numbers: &[u32]) -> u32 {
        Self::number(entry).map_or(entry, |number| entry & !P::NUMBER | numbers[number as usize])
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
        match (Self::number(entry), Self::number(other)) {
            (Some(number), Some(other)) => self.blocks.get(number) == fresh.blocks.get(other),
            _ => entry == other,
        }
    }

    fn validate(&self, _: &Self, tiles: impl Iterator<Item = [u32; TILE]>) -> Result<(), String> {
        self.blocks.validate()?;
        let mut references = vec![0; self.blocks.numbers()];
        references[0] = 1;
        for block in tiles.flat_map(|tile| Self::named(&tile).collect::<Vec<_>>()) {
            let count = references.get_mut(block as usize);
            *count.ok_or_else(|| format!("a tile names block {block} of {}", self.blocks.numbers()))? += 1;
        }
        self.blocks.check_references(&references)
    }

    fn view(&self) -> BlocksView<P> {
        BlocksView { words: self.blocks.view() }
    }

    fn show_in(&self, view: &mut BlocksView<P>) {
        self.blocks.show_in(&mut view.words);
    }

    fn save(&self, sections: &mut SectionWriter<'_>) {
        sections.made(SECTION, &self.blocks.to_vec());
    }

    fn open(sections: &Sections<'_>, _: &Config) -> Result<BlocksView<P>, Error> {
        let words = sections.array(SECTION)?;
        if words.is_empty() {
            return Err(unsound(SECTION, "is empty"));
        }
        Ok(BlocksView { words: WordsView::holding(words) })
    }

    #[inline(always)]
    fn look_up<T: TileNumber, F: Tiles<u32>>(
        table: &MosaicView<P::Answer, F, Self>,
        root: &[Published<T>; SLOTS],
        addresses: &[u32],
        next_hops: &mut [P::Answer],
    ) {
        deep::look_up(table, root, addresses, next_hops);
    }
}
