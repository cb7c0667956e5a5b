//! Snapshots: root and tiles as they are in memory, and what is [below](super::below) marks.

use super::below::Below;
use super::root::{Root, RootView};
use super::tiles::Tiles;
use super::{Mosaic, MosaicView, SLOTS};
use crate::Error;
use crate::blocks::fallback::FallbackView;
use crate::engine::{Config, Persist, Width};
use crate::memory::WordsView;
use crate::sections::{SectionWriter, Sections};

const NARROW: &str = "root, 16 bits";
const WIDE: &str = "root, 32 bits";

impl<W: Width, F: Tiles<B::Entry>, B: Below<W>> Persist<u32> for Mosaic<W, F, B> {
    fn save<'s>(&'s self, sections: &mut SectionWriter<'s>) {
        match &self.root {
            Root::Narrow(root) => sections.made(NARROW, &root.to_vec()),
            Root::Wide(root) => sections.made(WIDE, &root.to_vec()),
        }
        sections.made("tiles", &self.tiles.to_vec());
        self.below.save(sections);
        self.fallback.save(sections);
    }

    fn open(sections: &Sections<'_>, config: &Config) -> Result<MosaicView<W, F, B>, Error> {
        let root = if sections.has(NARROW) {
            RootView::Narrow(WordsView::holding(sections.array_of(NARROW, SLOTS)?))
        } else {
            RootView::Wide(WordsView::holding(sections.array_of(WIDE, SLOTS)?))
        };
        let tiles = WordsView::holding(sections.array("tiles")?);
        let fallback = FallbackView::open(sections)?;
        Ok(MosaicView { root, tiles, below: B::open(sections, config)?, fallback })
    }
}
