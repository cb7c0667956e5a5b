//! `sail_b` and `sail_u`: a bit map for each level, and N of all levels as one near memory.
//!
//! Entry `slot` of level *l* is at index 2^l + slot of the near memory. The default route is the
//! entry of level 0. It needs no bit: a lookup whose bits are all clear reads that entry.

use crate::direct::follow;
use crate::far::{Far, Full};
use crate::leaves::{PIVOT, answers, at_level, internal, up_to_pivot};
use crate::memories::{MAP_WORD, Read, Writer};
use crate::pipeline::Sizes;
use crate::{FAR, NEAR};
use fibula::{Prefix, Rib};

/// What is allocated, and the distance of the levels.
#[derive(Clone, Debug)]
pub(crate) struct Levels {
    step: u8,
    flag: u64,
    pub(crate) far: Far,
}

impl Levels {
    pub(crate) fn new(step: u8, sizes: &Sizes) -> Self {
        Self { step, flag: sizes.flag(), far: Far::new(FAR, sizes.chunk_bits) }
    }

    pub(crate) fn change(
        &mut self,
        writer: &mut Writer,
        rib: &Rib<u32>,
        prefix: Prefix<u32>,
    ) -> Result<(), Full> {
        let prefix = up_to_pivot(prefix);
        let level = prefix.len().next_multiple_of(self.step);
        // The chunks come first: that of a /24 must be full before the near memory leads to it.
        let internal = internal(rib, prefix);
        for &slot in &internal {
            let chunk = self.far.fill(writer, slot, &answers(rib, slot))?;
            writer.set(NEAR, 1 << PIVOT | slot, self.flag | u64::from(chunk));
        }
        let mut bits = Vec::new();
        for pushed in at_level(prefix, level) {
            let slot = pushed.first().checked_shr(u32::from(32 - level)).unwrap_or(0);
            let chunk = level == PIVOT && internal.binary_search(&slot).is_ok();
            let route = rib.longest_cover(pushed).filter(|route| route.prefix.len() + self.step > level);
            match route {
                Some(route) if !chunk => writer.set(NEAR, 1 << level | slot, route.next_hop.0.into()),
                // Without a bit, level 0 is read when no other level has a route.
                None if level == 0 => writer.set(NEAR, 1, 0),
                _ => {}
            }
            bits.push((slot, chunk || route.is_some()));
        }
        if level > 0 {
            self.set_bits(writer, level, &bits);
        }
        if level == PIVOT {
            let answered = bits.iter().filter(|(slot, _)| internal.binary_search(slot).is_err());
            answered.for_each(|&(slot, _)| self.far.free(slot));
        }
        Ok(())
    }

    /// Writes the bits of some slots, which are all in one word, by one write.
    #[allow(clippy::unused_self, reason = "a step of the change")]
    fn set_bits(&self, writer: &mut Writer, level: u8, bits: &[(u32, bool)]) {
        let index = bits[0].0 / MAP_WORD;
        let mut word = writer.memories.read(level, index);
        for &(slot, set) in bits {
            let bit = 1 << (slot % MAP_WORD);
            word = if set { word | bit } else { word & !bit };
        }
        writer.set(level, index, word);
    }
}

/// Returns the answer of `address` in SAIL_B (`step` 1) or SAIL_U (`step` 6).
pub(crate) fn lookup(memories: &impl Read, sizes: &Sizes, step: u8, address: u32) -> u32 {
    let levels = (step..=PIVOT).step_by(step.into()).rev();
    let slot = |level: u8| address >> (32 - level);
    let found = levels.into_iter().find(|&level| memories.bit(level, slot(level)));
    let index = found.map_or(1, |level| 1 << level | slot(level));
    follow(memories, sizes, memories.read(NEAR, index), address)
}
