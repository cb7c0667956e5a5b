//! Snapshots: root and tiles as they are; of the longer routes their /24s by number, from which the hash table is made
//! again, and their answers.

use super::below::Below;
use super::root::Root;
use super::tiles::Tiles;
use super::{Mosaic, SLOTS};
use crate::Error;
use crate::blocks::unique::Kept;
use crate::engine::{Config, Width};
use crate::memory::Words;
use crate::snapshot::{SectionWriter, Sections};

const NARROW: &str = "root, 16 bits";
const WIDE: &str = "root, 32 bits";

impl<W: Width, F: Tiles<W>> Mosaic<W, F> {
    pub(super) fn save_arrays(&self, sections: &mut SectionWriter<'_>) {
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

    pub(super) fn open_arrays(sections: &Sections<'_>, config: &Config) -> Result<Self, Error> {
        let root = if sections.has(NARROW) {
            Root::Narrow(Words::holding(sections.array_of(NARROW, SLOTS)?))
        } else {
            Root::Wide(Words::holding(sections.array_of(WIDE, SLOTS)?))
        };
        let numbers = sections.array::<u32>("longer routes' /24s")?;
        let chunks = sections.array_of::<u32>("longer routes' chunks", numbers.len())?;
        let places = numbers.iter().copied().zip(chunks.iter().copied());
        let below = Below::holding(places, sections.array("longer routes' answers")?, config.pages);
        let tiles = Kept::holding(sections.array("tiles")?, config.pages);
        Ok(Self { root, tiles, below, pages: config.pages, answers_mark: false, is_view: true })
    }
}
