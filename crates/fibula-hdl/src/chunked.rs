//! `sail_l`: BCN16 and B24 on chip, N24 and C24 in the near memory, N32 in the far one.
//!
//! Index {0, chunk, slot} of the near memory is N24, index {1, chunk, slot} is C24. An entry of C24
//! has the flag of a chunk, as the entries that lead to chunks have in the other pipelines.

use crate::direct::follow;
use crate::far::{Far, Full, Numbers};
use crate::leaves::{Leaf, at_level, leaves, up_to_pivot};
use crate::memories::{Read, Writer};
use crate::pipeline::Sizes;
use crate::{FAR, NEAR};
use fibula::{Prefix, Rib};
use std::collections::HashMap;

/// The first level, BCN16.
const FIRST: u8 = 16;

/// The level of the map B24.
const SECOND: u8 = 24;

/// What is allocated.
#[derive(Clone, Debug)]
pub(crate) struct Chunked {
    flag: u64,
    first_flag: u64,
    c24: u32,
    /// The chunk of level 24 of each /16 that has one.
    chunks: HashMap<u32, u32>,
    pub(crate) numbers: Numbers,
    pub(crate) far: Far,
}

impl Chunked {
    pub(crate) fn new(sizes: &Sizes) -> Self {
        Self {
            flag: sizes.flag(),
            first_flag: sizes.first_flag(),
            c24: 1 << (sizes.map_bits + 8),
            chunks: HashMap::new(),
            numbers: Numbers::new("chunks of level 24", sizes.map_bits),
            far: Far::new(FAR, sizes.chunk_bits),
        }
    }

    pub(crate) fn change(
        &mut self,
        writer: &mut Writer,
        rib: &Rib<u32>,
        prefix: Prefix<u32>,
    ) -> Result<(), Full> {
        let prefix = up_to_pivot(prefix);
        at_level(prefix, FIRST).try_for_each(|sixteen| {
            // The part of this /16 that the change is about.
            let part = if prefix.len() > FIRST { prefix } else { sixteen };
            self.change_sixteen(writer, rib, sixteen, part)
        })
    }

    fn change_sixteen(
        &mut self,
        writer: &mut Writer,
        rib: &Rib<u32>,
        sixteen: Prefix<u32>,
        part: Prefix<u32>,
    ) -> Result<(), Full> {
        let index = sixteen.first() >> 16;
        if !rib.covered(sixteen).any(|route| route.prefix.len() > FIRST) {
            let answer = rib.longest_cover(sixteen).map_or(0, |route| route.next_hop.0);
            writer.set(FIRST, index, self.first_flag | u64::from(answer));
            if let Some(chunk) = self.chunks.remove(&index) {
                self.numbers.free(chunk);
                (index << 8..).take(256).for_each(|slot| self.far.free(slot));
            }
            return Ok(());
        }
        if let Some(&chunk) = self.chunks.get(&index) {
            return self.paint(writer, rib, part, chunk);
        }
        let chunk = self.numbers.allocate()?;
        self.chunks.insert(index, chunk);
        self.paint(writer, rib, sixteen, chunk)?;
        writer.set(FIRST, index, chunk.into());
        Ok(())
    }

    /// Writes the slots of `part`, a part of a /16, to the chunk of that /16.
    fn paint(
        &mut self,
        writer: &mut Writer,
        rib: &Rib<u32>,
        part: Prefix<u32>,
        chunk: u32,
    ) -> Result<(), Full> {
        for (slot, leaf) in (part.first() >> 8..).zip(leaves(rib, part)) {
            let at = chunk << 8 | (slot & 255);
            match leaf {
                Leaf::Answer(answer) => {
                    writer.set(NEAR, at, answer.into());
                    writer.set_bit(SECOND, at, true);
                    self.far.free(slot);
                }
                Leaf::Chunk(answers) => {
                    let far = self.far.fill(writer, slot, &answers)?;
                    writer.set(NEAR, self.c24 | at, self.flag | u64::from(far));
                    writer.set_bit(SECOND, at, false);
                }
            }
        }
        Ok(())
    }
}

/// Returns the answer of `address` in SAIL_L.
pub(crate) fn lookup(memories: &impl Read, sizes: &Sizes, address: u32) -> u32 {
    let first = memories.read(FIRST, address >> 16);
    if first & sizes.first_flag() != 0 {
        return (first & !sizes.first_flag()) as u32;
    }
    let at = (first as u32) << 8 | (address >> 8 & 255);
    let c24 = if memories.bit(SECOND, at) { 0 } else { 1 << (sizes.map_bits + 8) };
    follow(memories, sizes, memories.read(NEAR, c24 | at), address)
}
