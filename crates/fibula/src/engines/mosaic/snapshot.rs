//! Snapshots: root and tiles as they are; of the longer routes their /24s by number, from which the hash table is made
//! again, and their answers.

use super::below::Below;
use super::root::Root;
use super::{Mosaic, SLOTS};
use crate::Error;
use crate::blocks::unique::Unique;
use crate::engine::{Config, Width};
use crate::snapshot::{SectionWriter, Sections};

const NARROW: &str = "root, 16 bits";
const WIDE: &str = "root, 32 bits";

impl<W: Width> Mosaic<W> {
    pub(super) fn save_arrays<'s>(&'s self, sections: &mut SectionWriter<'s>) {
        match &self.root {
            Root::Narrow(root) => sections.array(NARROW, root),
            Root::Wide(root) => sections.array(WIDE, root),
        }
        sections.array("tiles", self.tiles.values());
        let (numbers, chunks): (Vec<u32>, Vec<u32>) = self.below.places().unzip();
        sections.made("longer routes' /24s", &numbers);
        sections.made("longer routes' chunks", &chunks);
        sections.array("longer routes' answers", self.below.answers());
    }

    pub(super) fn open_arrays(sections: &Sections<'_>, config: &Config) -> Result<Self, Error> {
        let root = if sections.has(NARROW) {
            Root::Narrow(sections.array_of(NARROW, SLOTS)?)
        } else {
            Root::Wide(sections.array_of(WIDE, SLOTS)?)
        };
        let numbers = sections.array::<u32>("longer routes' /24s")?;
        let chunks = sections.array_of::<u32>("longer routes' chunks", numbers.len())?;
        let places = numbers.iter().copied().zip(chunks.iter().copied());
        let below = Below::holding(places, sections.array("longer routes' answers")?, config.pages);
        Ok(Self { root, tiles: Unique::holding(sections.array("tiles")?), below, pages: config.pages })
    }
}
