//! Snapshots: root and tiles as they are in memory. For routes longer than /24 they hold the
//! numbers of the /24s, from which the hash table is rebuilt, and the answers.

use super::below::BelowView;
use super::root::{Root, RootView};
use super::tiles::Tiles;
use super::{Mosaic, MosaicView, SLOTS};
use crate::Error;
use crate::engine::{Config, Persist, Width};
use crate::memory::WordsView;
use crate::sections::{SectionWriter, Sections};

const NARROW: &str = "root, 16 bits";
const WIDE: &str = "root, 32 bits";

impl<W: Width, F: Tiles<W>> Persist<u32> for Mosaic<W, F> {
    fn save<'s>(&'s self, sections: &mut SectionWriter<'s>) {
        match &self.root {
            Root::Narrow(root) => sections.made(NARROW, &root.to_vec()),
            Root::Wide(root) => sections.made(WIDE, &root.to_vec()),
        }
        sections.made("tiles", &self.tiles.to_vec());
        let (numbers, chunks): (Vec<u32>, Vec<u32>) = self.below.places().unzip();
        sections.made("longer routes' /24s", &numbers);
        sections.made("longer routes' chunks", &chunks);
        sections.made("longer routes' answers", &self.below.answers());
    }

    fn open(sections: &Sections<'_>, config: &Config) -> Result<MosaicView<W, F>, Error> {
        let root = if sections.has(NARROW) {
            RootView::Narrow(WordsView::holding(sections.array_of(NARROW, SLOTS)?))
        } else {
            RootView::Wide(WordsView::holding(sections.array_of(WIDE, SLOTS)?))
        };
        let numbers = sections.array::<u32>("longer routes' /24s")?;
        let chunks = sections.array_of::<u32>("longer routes' chunks", numbers.len())?;
        let places = numbers.iter().copied().zip(chunks.iter().copied());
        let below = BelowView::holding(places, sections.array("longer routes' answers")?, config.pages);
        Ok(MosaicView { root, tiles: WordsView::holding(sections.array("tiles")?), below })
    }
}
