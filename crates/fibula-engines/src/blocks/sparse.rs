//! Chunk ids of a level on which few slots have one.
//!
//! A pushed level that stores answers and chunk ids separately (SAIL's BN and C) has a chunk id for
//! each slot, though nearly all slots are leaves. Of the seven million slots that a full IPv6 table
//! of 2024 has on level 48, a hundred are not. Here the ids of one chunk's slots are a *row*, and a
//! chunk without ids has no row:
//!
//! ```text
//! rows   one number for each chunk: its row; 0: none of its slots has an id
//! ids    row after row, one id for each slot; 0: none. Row 0 is all zeros
//! ```
//!
//! This costs a second load for a slot that has an id. For others it costs one load from an array
//! so short that it stays in cache.

use crate::blocks::dense::ChunkArray;
use fibula::engine::Meter;
use fibula::parts::memory::Pages;

/// The chunk ids, from 1 on, of the slots of a level's dense chunks of `LEN`.
///
/// ```
/// use fibula_engines::blocks::sparse::ChunkIds;
/// use fibula::engine::Unmetered;
/// use fibula::parts::memory::Pages;
/// let mut ids: ChunkIds<256> = ChunkIds::new(Pages::Small, 2);
/// ids.push(); // slots 0 to 255
/// ids.push(); // slots 256 to 511
/// ids.set(300, 7);
/// ids.swap_remove(0); // the second chunk moves to number 0
/// assert_eq!([44, 45].map(|slot| ids.get(slot, &mut Unmetered)), [7, 0]);
/// ```
#[derive(Clone, Debug)]
pub struct ChunkIds<const LEN: usize> {
    rows: ChunkArray<u32, 1>,
    ids: ChunkArray<u32, LEN>,
    /// The owner of each row, from row 1 on.
    owners: Vec<Owner>,
}

/// The chunk that has a row, and how many of its slots have ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Owner {
    chunk: u32,
    ids: u32,
}

impl<const LEN: usize> ChunkIds<LEN> {
    /// Creates an empty level with room for `capacity` chunks.
    #[must_use]
    pub fn new(pages: Pages, capacity: usize) -> Self {
        let mut ids = ChunkArray::new(pages, 1);
        ids.push(0);
        Self { rows: ChunkArray::new(pages, capacity), ids, owners: Vec::new() }
    }

    /// Appends a chunk without ids.
    pub fn push(&mut self) {
        self.rows.push(0);
    }

    /// Removes a chunk, which has no ids; the last one moves to its number.
    ///
    /// # Panics
    /// If there is no such chunk.
    pub fn swap_remove(&mut self, chunk: u32) {
        debug_assert!(self.rows[chunk as usize] == 0, "chunk {chunk} still has ids");
        self.rows.swap_remove(chunk);
        if let Some(&row @ 1..) = self.rows.get(chunk as usize) {
            self.owners[row as usize - 1].chunk = chunk;
        }
    }

    /// Returns the id of a slot, or 0 if it has none.
    ///
    /// # Panics
    /// If there is no such slot.
    #[must_use]
    #[inline(always)]
    pub fn get(&self, slot: usize, meter: &mut impl Meter) -> u32 {
        match meter.load(&self.rows[slot / LEN]) {
            0 => 0,
            row => meter.load(&self.ids[row as usize * LEN + slot % LEN]),
        }
    }

    /// Sets the id of a slot; 0 removes it. O(`LEN`) for the first and the last id of a chunk, else
    /// O(1).
    ///
    /// # Panics
    /// If there is no such slot.
    pub fn set(&mut self, slot: usize, id: u32) {
        let chunk = slot / LEN;
        if self.rows[chunk] == 0 {
            if id == 0 {
                return;
            }
            self.ids.push(0);
            self.owners.push(Owner { chunk: chunk as u32, ids: 0 });
            self.rows[chunk] = self.owners.len() as u32;
        }
        let row = self.rows[chunk];
        let before = std::mem::replace(&mut self.ids[row as usize * LEN + slot % LEN], id);
        let owner = &mut self.owners[row as usize - 1];
        owner.ids = owner.ids + u32::from(id != 0) - u32::from(before != 0);
        if owner.ids == 0 {
            self.rows[chunk] = 0;
            self.ids.swap_remove(row);
            self.owners.swap_remove(row as usize - 1);
            if let Some(moved) = self.owners.get(row as usize - 1) {
                self.rows[moved.chunk as usize] = row;
            }
        }
    }

    /// Returns the number of chunks.
    #[must_use]
    pub fn chunks(&self) -> usize {
        self.rows.chunks()
    }

    /// Returns the bytes it occupies, unused capacity included.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.rows.bytes() + self.ids.bytes() + self.owners.len() * size_of::<Owner>()
    }

    /// Checks rows and their owners against each other.
    ///
    /// # Errors
    /// Returns the first contradiction found.
    pub fn validate(&self) -> Result<(), String> {
        let with_rows = self.rows.iter().filter(|&&row| row != 0).count();
        if self.ids.chunks() != self.owners.len() + 1 || with_rows != self.owners.len() {
            let rows = self.ids.chunks();
            return Err(format!("{rows} rows of {} owners for {with_rows} chunks", self.owners.len()));
        }
        if self.ids[..LEN].iter().any(|&id| id != 0) {
            return Err("row 0 is not all zeros".into());
        }
        for (row, owner) in (1..).zip(&self.owners) {
            let ids = self.ids[row * LEN..][..LEN].iter().filter(|&&id| id != 0).count();
            if self.rows.get(owner.chunk as usize) != Some(&(row as u32))
                || ids != owner.ids as usize
                || ids == 0
            {
                return Err(format!("row {row} has {ids} ids and is not that of {owner:?}"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fibula::engine::Unmetered;
    use proptest::prelude::*;

    #[test]
    fn validation_sees_a_lost_row_a_wrong_count_and_a_spoiled_row_of_zeros() {
        let spoiled = |spoil: fn(&mut ChunkIds<4>)| {
            let mut ids: ChunkIds<4> = ChunkIds::new(Pages::Small, 2);
            ids.push();
            ids.push();
            ids.set(5, 1);
            ids.validate().unwrap();
            spoil(&mut ids);
            ids.validate().unwrap_err()
        };
        assert_eq!(spoiled(|ids| ids.rows[1] = 0), "2 rows of 1 owners for 0 chunks");
        assert_eq!(spoiled(|ids| ids.ids[2] = 9), "row 0 is not all zeros");
        assert!(spoiled(|ids| ids.ids[4] = 9).starts_with("row 1 has 2 ids"));
        assert!(spoiled(|ids| ids.owners[0].chunk = 0).starts_with("row 1 has 1 ids"));
    }

    proptest! {
        /// The same operations on one plain array with an id for each slot.
        #[test]
        fn rows_are_the_plain_array(steps in proptest::collection::vec((0..6_u8, any::<usize>(), 0..3_u32), 0..200)) {
            let mut ids: ChunkIds<4> = ChunkIds::new(Pages::Small, 0);
            let mut plain: Vec<[u32; 4]> = Vec::new();
            for (step, pick, id) in steps {
                if step == 0 || plain.is_empty() {
                    ids.push();
                    plain.push([0; 4]);
                } else if step == 1 {
                    let chunk = pick % plain.len();
                    for at in 0..4 {
                        ids.set(chunk * 4 + at, 0);
                    }
                    ids.swap_remove(chunk as u32);
                    plain.swap_remove(chunk);
                } else {
                    let slot = pick % (plain.len() * 4);
                    ids.set(slot, id);
                    plain.as_flattened_mut()[slot] = id;
                }
                ids.validate().map_err(TestCaseError::fail)?;
                prop_assert_eq!(ids.chunks(), plain.len());
                let found: Vec<u32> = (0..plain.len() * 4).map(|slot| ids.get(slot, &mut Unmetered)).collect();
                prop_assert_eq!(&found, plain.as_flattened());
                let rows = plain.iter().filter(|ids| ids.iter().any(|&id| id != 0)).count();
                prop_assert_eq!(ids.owners.len(), rows);
            }
        }
    }
}
