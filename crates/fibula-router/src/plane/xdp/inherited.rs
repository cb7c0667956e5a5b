//! [`Inherited`]: the adjacencies that a process before this one has left.
//!
//! Its program forwards until this process has its own tables, which may take as long as zebra is
//! away. Meanwhile neighbours change. Which address a cell was for nobody knows any more, but its
//! MAC address says whether any neighbour is there still. If none is, the kernel gets the packets.

use super::actions::{decoded, encoded, version};
use super::cells::{CELL_WORDS, Cells};
use super::pins::Pins;
use crate::Error;
use crate::plane::Adjacency;
use aya::maps::MapData;

/// The name of the map, and of its pin.
pub(super) const ADJACENCIES: &str = "adjacencies";

/// The adjacencies of a program that another process loaded.
#[derive(Debug)]
pub(super) struct Inherited {
    cells: Cells,
}

impl Inherited {
    /// Opens the adjacencies that are pinned; `None` if there are none.
    ///
    /// # Errors
    /// If the kernel fails.
    pub(super) fn open(pins: &Pins) -> Result<Option<Self>, Error> {
        let path = pins.folder().join(ADJACENCIES);
        if !path.exists() {
            return Ok(None);
        }
        let failed = |error| Error::of_chain(format!("open {}", path.display()), &error);
        let data = MapData::from_pin(&path).map_err(failed)?;
        let count = data.info().map_err(failed)?.max_entries();
        Ok(Some(Self { cells: Cells::map(ADJACENCIES, &data, count)? }))
    }

    /// Hands the packets of adjacencies that are not there any more to the kernel. Nobody else
    /// writes, and what packets may still have read was written before this process began.
    pub(super) fn follow(&self, is_there: &dyn Fn(&Adjacency) -> bool) {
        let words = self.cells.load(self.cells.count() * CELL_WORDS);
        for (cell, first) in words.chunks_exact(CELL_WORDS).zip((0..).step_by(CELL_WORDS)) {
            let current = cell[0] as usize & 1;
            let adjacency = decoded(&cell[version(current)]);
            if let Adjacency::Resolved { routed, .. } = adjacency
                && !is_there(&adjacency)
            {
                let unresolved = encoded(Adjacency::Unresolved { routed });
                self.cells.store(first + version(1 - current).start, unresolved.into_iter());
                self.cells.store(first, std::iter::once(1 - cell[0]));
            }
        }
    }
}
