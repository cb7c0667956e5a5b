//! Snapshots: the lines as they are in memory. Each index that a lookup computes is checked where
//! it is used.

use super::handle::{Handle, MARK};
use super::tree::Trees;
use super::{Terrace, TerraceView, block};
use crate::Error;
use crate::blocks::chunks::Pool;
use crate::engine::{Config, Persist, Width};
use crate::sections::{SectionWriter, Sections, unsound};
use std::marker::PhantomData;

const LINES: &str = "lines";
const ROOT: &str = "root";

impl<W: Width, const LEAF: u32> Persist<u128> for Terrace<W, LEAF> {
    fn save<'s>(&'s self, sections: &mut SectionWriter<'s>) {
        sections.array(LINES, &self.view.trees.blocks.lines);
        sections.number(ROOT, self.view.root.pack().into());
        sections.number("marked /64s", self.view.trees.marked as u64);
    }

    fn open(sections: &Sections<'_>, _: &Config) -> Result<TerraceView<W, LEAF>, Error> {
        let lines = sections.array(LINES)?;
        let root = sections.number(ROOT)?;
        let root = u32::try_from(root).ok().filter(|&root| root & MARK != 0).map(Handle::unpack);
        let Some(root) = root.filter(|root| root.levels > 0 && root.origin as usize <= lines.len()) else {
            return Err(unsound(ROOT, "names no tree"));
        };
        let marked = sections.number("marked /64s")? as usize;
        let trees = Trees::holding(Pool::holding(block::LINES, lines), marked);
        Ok(TerraceView { trees, root, width: PhantomData })
    }
}
