//! `dir24_8`: TBL24 is the near memory, TBLlong the far one.

use crate::far::{Far, Full};
use crate::leaves::{Leaf, leaves, up_to_pivot};
use crate::memories::{Read, Writer};
use crate::pipeline::Sizes;
use crate::{FAR, NEAR};
use fibula::{Prefix, Rib};

/// What is allocated.
#[derive(Clone, Debug)]
pub(crate) struct Direct {
    flag: u64,
    pub(crate) far: Far,
}

impl Direct {
    pub(crate) fn new(sizes: &Sizes) -> Self {
        Self { flag: sizes.flag(), far: Far::new(FAR, sizes.chunk_bits) }
    }

    pub(crate) fn change(
        &mut self,
        writer: &mut Writer,
        rib: &Rib<u32>,
        prefix: Prefix<u32>,
    ) -> Result<(), Full> {
        let prefix = up_to_pivot(prefix);
        for (slot, leaf) in (prefix.first() >> 8..).zip(leaves(rib, prefix)) {
            match leaf {
                Leaf::Answer(answer) => {
                    writer.set(NEAR, slot, answer.into());
                    self.far.free(slot);
                }
                Leaf::Chunk(answers) => {
                    let chunk = self.far.fill(writer, slot, &answers)?;
                    writer.set(NEAR, slot, self.flag | u64::from(chunk));
                }
            }
        }
        Ok(())
    }
}

/// Returns the answer of `address` in dir24_8.
pub(crate) fn lookup(memories: &impl Read, sizes: &Sizes, address: u32) -> u32 {
    follow(memories, sizes, memories.read(NEAR, address >> 8), address)
}

/// Returns the answer of an entry of the near memory: itself, or the one in its chunk.
pub(crate) fn follow(memories: &impl Read, sizes: &Sizes, entry: u64, address: u32) -> u32 {
    if entry & sizes.flag() == 0 {
        return entry as u32;
    }
    let chunk = (entry & !sizes.flag()) as u32;
    memories.read(FAR, chunk << 8 | (address & 255)) as u32
}
