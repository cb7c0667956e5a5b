//! The structural check.

use super::tiles::Tiles;
use super::{Mosaic, SLOTS};
use crate::engine::{Config, Engine, Width};
use crate::{Error, Rib};

impl<W: Width, F: Tiles<W>> Mosaic<W, F> {
    /// Returns as an error the first difference from a fresh build of `rib`, or the first
    /// contradiction in the bookkeeping.
    pub(super) fn contradiction(&self, rib: &Rib<u32>) -> Result<(), String> {
        let fresh = Self::build(rib, &Config::default()).map_err(|error: Error| error.to_string())?;
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
            if equal != Some(pair) && self.tiles.get(pair.0) != fresh.tiles.get(pair.1) {
                return Err(format!("slot {slot:#x} has {:?}", self.tile(slot)));
            }
            equal = Some(pair);
        }
        self.tiles.check_references(&references)?;
        self.below.validate(&fresh.below)
    }
}
