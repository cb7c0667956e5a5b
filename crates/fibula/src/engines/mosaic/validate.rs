//! The structural check.

use super::below::Below;
use super::tiles::Tiles;
use super::{Mosaic, SLOTS};
use crate::engine::{Config, Engine, Width};
use crate::{Error, Rib};

impl<W: Width, F: Tiles<B::Entry>, B: Below<W>> Mosaic<W, F, B> {
    /// Returns as an error the first difference from a fresh build of `rib`, or the first
    /// contradiction in the bookkeeping.
    pub(super) fn contradiction(&self, rib: &Rib<u32>) -> Result<(), String> {
        let fresh = Self::build(rib, &Config::default()).map_err(|error: Error| error.to_string())?;
        self.fallback.validate(rib)?;
        self.tiles.validate()?;
        let mut references = vec![0; self.tiles.numbers()];
        let mut equal = None;
        for slot in 0..SLOTS {
            let pair = (self.root.get(slot), fresh.root.get(slot));
            if pair.0 as usize >= references.len() {
                return Err(format!("slot {slot:#x} has tile {} of {}", pair.0, references.len()));
            }
            references[pair.0 as usize] += 1;
            // Neighbouring slots often share a tile.
            if equal != Some(pair) && !self.is_same_tile(slot, &fresh) {
                return Err(format!("slot {slot:#x} has {:?}", self.tile(slot)));
            }
            equal = Some(pair);
        }
        self.tiles.check_references(&references)?;
        let in_use = (0..).zip(&references).filter(|&(_, &count)| count > 0);
        self.below.validate(&fresh.below, in_use.map(|(number, _)| F::unpack(&self.tiles.get(number))))
    }

    /// Returns whether the tiles of `slot` stand for the same answers here and in `fresh`.
    fn is_same_tile(&self, slot: usize, fresh: &Self) -> bool {
        let (here, there) = (self.tile(slot), fresh.tile(slot));
        let mut pairs = here.into_iter().zip(there);
        pairs.all(|(entry, other)| self.below.is_same(entry, &fresh.below, other))
    }
}
