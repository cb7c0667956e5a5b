//! [`Driver`]: a table in a pipeline's words, and changes as writes.

use crate::chunked::Chunked;
use crate::direct::Direct;
use crate::far::Full;
use crate::leaves::at_level;
use crate::levels::Levels;
use crate::memories::{Memories, Word, Writer};
use crate::pipeline::{Pipeline, Sizes};
use crate::tiles::Tiles;
use fibula::{Delta, Prefix, Rib};

/// The level by which a change of a shorter prefix is cut, so that a step takes little memory.
const PART: u8 = 8;

/// What holds a table for one pipeline. It mirrors the hardware's memories.
#[derive(Clone, Debug)]
pub struct Driver {
    pipeline: Pipeline,
    sizes: Sizes,
    writer: Writer,
    tables: Tables,
}

/// What each structure has allocated.
#[derive(Clone, Debug)]
enum Tables {
    Levels(Levels),
    Chunked(Chunked),
    Tiles(Tiles),
    Direct(Direct),
}

impl Driver {
    /// Builds the words of a table.
    ///
    /// # Errors
    /// If the table has more of something than the sizes allow.
    pub fn build(pipeline: Pipeline, sizes: Sizes, rib: &Rib<u32>) -> Result<Self, Full> {
        let tables = match pipeline {
            Pipeline::SailB => Tables::Levels(Levels::new(1, &sizes)),
            Pipeline::SailU => Tables::Levels(Levels::new(6, &sizes)),
            Pipeline::SailL => Tables::Chunked(Chunked::new(&sizes)),
            Pipeline::Mosaic => Tables::Tiles(Tiles::new(&sizes)),
            Pipeline::Dir24_8 => Tables::Direct(Direct::new(&sizes)),
        };
        let writer = Writer::new(Memories::new(&pipeline.lengths(&sizes)));
        let mut driver = Self { pipeline, sizes, writer, tables };
        driver.check(rib.max_next_hop().0)?;
        if matches!(driver.tables, Tables::Levels(_)) {
            rib.iter().try_for_each(|route| driver.change(rib, route.prefix))?;
        } else {
            driver.change(rib, Prefix::ALL)?;
        }
        driver.writer.take();
        Ok(driver)
    }

    /// Follows changes that `rib` already has. Returns the words to write, in order. While they are
    /// written, every address is answered as before or as after each change.
    ///
    /// # Errors
    /// If the table has more of something than the sizes allow. The hardware then goes on answering
    /// for the table as it was, and this driver must be built again.
    pub fn apply(&mut self, rib: &Rib<u32>, deltas: &[Delta<u32>]) -> Result<Vec<Word>, Full> {
        for delta in deltas {
            self.check(delta.after.0)?;
            self.change(rib, delta.prefix)?;
        }
        Ok(self.writer.take())
    }

    /// Returns the smallest sizes that hold the most that was in use at once, with next hops of as
    /// many bits as here.
    #[must_use]
    pub fn fitting(&self) -> Sizes {
        let (map_bits, chunk_bits) = match &self.tables {
            Tables::Levels(levels) => (self.sizes.map_bits, levels.far.bits()),
            Tables::Chunked(chunked) => (chunked.numbers.bits(), chunked.far.bits()),
            Tables::Tiles(tiles) => (tiles.numbers.bits(), tiles.blocks.bits()),
            Tables::Direct(direct) => (self.sizes.map_bits, direct.far.bits()),
        };
        Sizes { chunk_bits, map_bits, ..self.sizes }
    }

    /// Returns the memories as they are after all words so far.
    #[must_use]
    pub fn memories(&self) -> &Memories {
        &self.writer.memories
    }

    /// Returns the answer of the hardware after all words so far; 0 is "no route".
    #[must_use]
    pub fn lookup(&self, address: u32) -> u32 {
        self.pipeline.lookup(self.memories(), &self.sizes, address)
    }

    fn check(&self, next_hop: u32) -> Result<(), Full> {
        let max = (1 << self.sizes.next_hop_bits) - 1;
        if u64::from(next_hop) > max { Err(Full { what: "next hops", max }) } else { Ok(()) }
    }

    fn change(&mut self, rib: &Rib<u32>, prefix: Prefix<u32>) -> Result<(), Full> {
        let writer = &mut self.writer;
        // SAIL's levels push no route further than 6 bits, so no change of theirs is large.
        if let Tables::Levels(levels) = &mut self.tables {
            return levels.change(writer, rib, prefix);
        }
        let whole = prefix.len() >= PART;
        let parts = at_level(prefix, PART).map(|part| if whole { prefix } else { part });
        for part in parts {
            match &mut self.tables {
                Tables::Levels(levels) => levels.change(writer, rib, part)?,
                Tables::Chunked(chunked) => chunked.change(writer, rib, part)?,
                Tables::Tiles(tiles) => tiles.change(writer, rib, part)?,
                Tables::Direct(direct) => direct.change(writer, rib, part)?,
            }
        }
        Ok(())
    }
}
