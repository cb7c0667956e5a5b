//! Snapshots: the lines as they are in memory. Each index that a lookup computes is checked where
//! it is used.

use super::handle::{Handle, MARK};
use super::tree::Trees;
use super::{Terrace, TerraceView, block};
use crate::Error;
use crate::blocks::chunks::Pool;
use crate::engine::{Config, Persist};
use crate::sections::{SectionWriter, Sections, unsound};

/// The names of the sections.
#[derive(Clone, Copy, Debug)]
pub(in crate::engines) struct Names {
    pub lines: &'static str,
    pub root: &'static str,
    pub marked: &'static str,
}

/// The names in a snapshot of this engine.
const NAMES: Names = Names { lines: "lines", root: "root", marked: "marked /64s" };

impl<const LEAF: u32> Persist<u128> for Terrace<LEAF> {
    fn save<'s>(&'s self, sections: &mut SectionWriter<'s>) {
        self.view.save_as(NAMES, sections);
    }

    fn open(sections: &Sections<'_>, _: &Config) -> Result<TerraceView<LEAF>, Error> {
        TerraceView::open_as(NAMES, sections)
    }
}

impl<const LEAF: u32> TerraceView<LEAF> {
    /// Adds the table to a snapshot.
    pub(in crate::engines) fn save_as<'s>(&'s self, names: Names, sections: &mut SectionWriter<'s>) {
        sections.array(names.lines, &self.trees.blocks.lines);
        sections.number(names.root, self.root.pack().into());
        sections.number(names.marked, self.trees.marked as u64);
    }

    /// Reads a table from a snapshot.
    pub(in crate::engines) fn open_as(names: Names, sections: &Sections<'_>) -> Result<Self, Error> {
        let lines = sections.array(names.lines)?;
        let root = sections.number(names.root)?;
        let root = u32::try_from(root).ok().filter(|&root| root & MARK != 0).map(Handle::unpack);
        let Some(root) = root.filter(|root| root.levels > 0 && root.origin as usize <= lines.len()) else {
            return Err(unsound(names.root, "names no tree"));
        };
        let marked = sections.number(names.marked)? as usize;
        let trees = Trees::holding(Pool::holding(block::LINES, lines), marked);
        Ok(Self { trees, root })
    }
}
