//! `mosaic`: a root of tile numbers, tiles of 64 entries that are stored once, and blocks.

use crate::far::{Far, Full, Numbers};
use crate::leaves::{Leaf, at_level, leaves, up_to_pivot};
use crate::memories::{Read, Writer};
use crate::pipeline::Sizes;
use fibula::{Prefix, Rib};
use std::collections::HashMap;

/// The level of the root, and its memory.
const ROOT: u8 = 18;

/// The memory of the tiles.
const TILES: u8 = 24;

/// The memory of the blocks.
pub(crate) const BLOCKS: u8 = 25;

/// The entries of a tile.
type Tile = [u64; 64];

/// What is allocated.
#[derive(Clone, Debug)]
pub(crate) struct Tiles {
    flag: u64,
    /// The number of each tile by its entries.
    found: HashMap<Tile, u32>,
    /// The entries of each tile by its number, and the number of roots that lead to it.
    stored: Vec<(Tile, u32)>,
    pub(crate) numbers: Numbers,
    pub(crate) blocks: Far,
}

impl Tiles {
    pub(crate) fn new(sizes: &Sizes) -> Self {
        let mut tiles = Self {
            flag: sizes.flag(),
            found: HashMap::new(),
            stored: Vec::new(),
            numbers: Numbers::new("tiles", sizes.map_bits),
            blocks: Far::new(BLOCKS, sizes.chunk_bits),
        };
        // Memories begin as zeros, so all of the root leads to tile 0, and its answers are 0. One
        // more reference keeps it.
        let zero = tiles.numbers.allocate().unwrap_or_default();
        tiles.found.insert([0; 64], zero);
        tiles.stored.push(([0; 64], (1 << ROOT) + 1));
        tiles
    }

    pub(crate) fn change(
        &mut self,
        writer: &mut Writer,
        rib: &Rib<u32>,
        prefix: Prefix<u32>,
    ) -> Result<(), Full> {
        at_level(up_to_pivot(prefix), ROOT).try_for_each(|part| self.paint(writer, rib, part))
    }

    /// Paints the tile of an /18 again: its blocks, then the tile, then the word of the root.
    fn paint(&mut self, writer: &mut Writer, rib: &Rib<u32>, part: Prefix<u32>) -> Result<(), Full> {
        let first = part.first() >> 8;
        let leaves = leaves(rib, part);
        let mut entries = [0; 64];
        for ((slot, entry), leaf) in (first..).zip(&mut entries).zip(&leaves) {
            *entry = match leaf {
                Leaf::Answer(answer) => u64::from(*answer),
                Leaf::Chunk(answers) => self.flag | u64::from(self.blocks.fill(writer, slot, answers)?),
            };
        }
        let root = part.first() >> (32 - ROOT);
        let old = writer.memories.read(ROOT, root) as u32;
        let new = self.tile(writer, &entries)?;
        self.stored[new as usize].1 += 1;
        writer.set(ROOT, root, new.into());
        self.release(old);
        let answered = (first..).zip(&leaves).filter(|(_, leaf)| matches!(leaf, Leaf::Answer(_)));
        answered.for_each(|(slot, _)| self.blocks.free(slot));
        Ok(())
    }

    /// Returns the tile with these entries. A new one is written first.
    fn tile(&mut self, writer: &mut Writer, entries: &Tile) -> Result<u32, Full> {
        if let Some(&tile) = self.found.get(entries) {
            return Ok(tile);
        }
        let tile = self.numbers.allocate()?;
        for (at, &entry) in (tile << 6..).zip(entries) {
            writer.set(TILES, at, entry);
        }
        self.found.insert(*entries, tile);
        if tile as usize == self.stored.len() {
            self.stored.push((*entries, 0));
        } else {
            self.stored[tile as usize] = (*entries, 0);
        }
        Ok(tile)
    }

    /// Drops a reference to a tile, and frees it with the last.
    fn release(&mut self, tile: u32) {
        let (entries, references) = &mut self.stored[tile as usize];
        *references -= 1;
        if *references == 0 {
            self.found.remove(entries);
            self.numbers.free(tile);
        }
    }
}

/// Returns the answer of `address` in mosaic.
pub(crate) fn lookup(memories: &impl Read, sizes: &Sizes, address: u32) -> u32 {
    let tile = memories.read(ROOT, address >> (32 - ROOT)) as u32;
    let entry = memories.read(TILES, tile << 6 | (address >> 8 & 63));
    if entry & sizes.flag() == 0 {
        return entry as u32;
    }
    let block = (entry & !sizes.flag()) as u32;
    memories.read(BLOCKS, block << 8 | (address & 255)) as u32
}
