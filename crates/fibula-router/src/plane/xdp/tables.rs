//! [`Tables`]: the compiled tables of one family, and where each is stored in the program's maps.

use super::cells::{CELL, Cells};
use crate::Error;
use fibula::engine::WidthBits;
use fibula::{Delta, Limit, Prefix, Rib};
use fibula_image::table::any::{AnyTable, compile};
use fibula_image::table::{PARTS, Patch, Shift, Version};
use fibula_image::{Image, Key};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The part of the roots, and those of the answers, whose elements are as wide as an answer.
const ROOT: usize = 0;
const ANSWERS: [usize; 2] = [2, 4];

/// Changes of more than a fourth of a table, and of more than this number of routes, are compiled
/// at once.
const MANY: usize = 4096;

/// What differs between the families.
pub(super) trait Family: Key {
    /// The layout of its tables.
    const LAYOUT: &'static str;
    /// The cells of a root.
    const ROOT_CELLS: u32;
    /// The maps of the parts; an empty name for a part that the layout does not have.
    const MAPS: [&'static str; PARTS];
    /// The program's constant that says how wide an answer is.
    const WIDTH: &'static str;
}

impl Family for u32 {
    const LAYOUT: &'static str = "gpu-mosaic";
    const ROOT_CELLS: u32 = (size_of::<u32>() << 18).div_ceil(CELL) as u32;
    const MAPS: [&'static str; PARTS] = ["root4", "nodes4", "leaves4", "", "ends4"];
    const WIDTH: &'static str = "width4";
}

impl Family for u128 {
    const LAYOUT: &'static str = "gpu-mosaic6";
    const ROOT_CELLS: u32 = (size_of::<u32>() << 16).div_ceil(CELL) as u32;
    const MAPS: [&'static str; PARTS] = ["root6", "nodes6", "leaves6", "chains6", ""];
    const WIDTH: &'static str = "width6";
}

/// The tables of a family by their ids.
#[derive(Debug)]
pub(super) struct Tables<A: Family> {
    by_id: BTreeMap<u32, Box<dyn AnyTable<A>>>,
}

impl<A: Family> Default for Tables<A> {
    fn default() -> Self {
        Self { by_id: BTreeMap::new() }
    }
}

impl<A: Family> Tables<A> {
    /// Makes sure that there is a table of this id.
    pub(super) fn add(&mut self, id: u32) -> Result<(), Error> {
        if !self.by_id.contains_key(&id) {
            self.compile(id, &Rib::new(), WidthBits::U8)?;
        }
        Ok(())
    }

    /// Puts a table in the place of one of this id, or adds it.
    pub(super) fn set(&mut self, id: u32, rib: &Rib<A>) -> Result<(), Error> {
        self.compile(id, rib, WidthBits::U8)
    }

    /// Applies changes to a table. Returns the patch for its copy in the program's maps, or `None`
    /// if it was compiled and has to be copied whole.
    pub(super) fn apply(
        &mut self,
        id: u32,
        rib: &Rib<A>,
        deltas: &[Delta<A>],
    ) -> Result<Option<Patch>, Error> {
        let many = deltas.len() > MANY && deltas.len() > rib.len() / 4;
        let greatest = deltas.iter().map(|delta| delta.after).max().unwrap_or_default();
        let width = self.by_id.get(&id).map(|table| table.image().kernel().width());
        let Some(table) = self.by_id.get_mut(&id).filter(|_| !many) else {
            let least = width.unwrap_or(WidthBits::U8);
            return self.compile(id, rib, least).map(|()| None);
        };
        let width = table.image().kernel().width();
        if greatest > width.max() {
            return self.compile(id, rib, width).map(|()| None);
        }
        let changed: Vec<Prefix<A>> = deltas.iter().map(|delta| delta.prefix).collect();
        match table.follow(rib, &changed) {
            Ok(patch) => Ok(Some(patch).filter(|patch| !patch.is_whole())),
            Err(error) => {
                // It cannot be used any more. The next change compiles it.
                self.by_id.remove(&id);
                Err(error.into())
            }
        }
    }

    /// Sets a table back to what it was before changes that the maps did not take: else a later
    /// generation would have them. It is compiled, since it may be of no use any more.
    pub(super) fn take_back(&mut self, id: u32, rib: &Rib<A>, deltas: &[Delta<A>]) -> Result<(), Error> {
        let mut before = rib.clone();
        for delta in deltas.iter().rev() {
            before.apply(delta.inverse().change());
        }
        let width = self.by_id.get(&id).map(|table| table.image().kernel().width());
        self.compile(id, &before, width.unwrap_or(WidthBits::U8))
    }

    /// Compiles a table at the narrowest width that holds its next hops, and at least `least`: a
    /// table that has once been wide is not made narrow again.
    fn compile(&mut self, id: u32, rib: &Rib<A>, least: WidthBits) -> Result<(), Error> {
        let width = Ord::max(WidthBits::holding(rib.max_next_hop()), least);
        let mut table = compile(A::LAYOUT, Some(width), rib)?;
        table.defer();
        self.by_id.insert(id, table);
        Ok(())
    }

    /// Returns the bytes of an answer that is wide enough for all tables.
    pub(super) fn width(&self) -> u32 {
        let widths = self.by_id.values().map(|table| u32::from(table.image().kernel().width().bits()));
        widths.max().unwrap_or(8) / 8
    }

    /// Returns how many nodes, leaves, chains and ends of one table wait for a grace period, at
    /// most.
    pub(super) fn waiting(&self) -> usize {
        self.by_id.values().map(|table| table.waiting()).max().unwrap_or_default()
    }

    /// Tells that a grace period has ended which began after the call before: frees what was
    /// replaced before that call.
    pub(super) fn readers_passed(&mut self) {
        self.by_id.values_mut().for_each(|table| table.readers_passed());
    }

    /// Returns the regions of the tables of these ids, one after the other, each with room to grow.
    pub(super) fn regions(&self, ids: &[u32]) -> Result<Regions, Error> {
        let mut regions = Regions { width: self.width(), end: [0; PARTS], by_id: BTreeMap::new() };
        for (place, id) in (0..).zip(ids) {
            regions.end[ROOT] = place * A::ROOT_CELLS;
            if let Some(table) = self.by_id.get(id) {
                let region = Region::new(table.image(), &regions, A::MAPS).map_err(fibula::Error::from)?;
                regions.end = std::array::from_fn(|part| region.first[part] + region.cells[part]);
                regions.by_id.insert(*id, region);
            }
        }
        regions.end[ROOT] = ids.len() as u32 * A::ROOT_CELLS;
        Ok(regions)
    }

    /// Copies all tables to the maps.
    pub(super) fn fill(&self, regions: &Regions, maps: &[Option<Cells>; PARTS]) {
        for (id, region) in &regions.by_id {
            for (part, bytes) in self.by_id[id].image().parts().into_iter().enumerate() {
                region.write(maps, part, 0, bytes);
            }
        }
    }
}

#[cfg(test)]
impl<A: Family> Tables<A> {
    /// Returns whether the maps have the bytes of all tables.
    pub(super) fn are_in(&self, regions: &Regions, maps: &[Option<Cells>; PARTS]) -> bool {
        let is_there = |(id, region): (&u32, &Region)| {
            let parts = self.by_id[id].image().parts();
            (0..PARTS).all(|part| {
                let Some(map) = &maps[part] else { return true };
                let bytes = widened(parts[part], region.answer, region.answer * region.scale(part));
                let first = region.first[part] as usize * CELL / 4;
                map.load(first + bytes.len() / 4)[first..]
                    .iter()
                    .copied()
                    .eq(region.shift.words(part, &bytes))
            })
        };
        regions.by_id.len() == self.by_id.len() && regions.by_id.iter().all(is_there)
    }
}

/// The bytes that a part of a table may always grow by.
const ROOM: usize = 1 << 20;

/// Where the tables of a family are stored in the maps.
#[derive(Debug)]
pub(super) struct Regions {
    /// The bytes of an answer.
    pub(super) width: u32,
    /// The cells of each map.
    pub(super) end: [u32; PARTS],
    by_id: BTreeMap<u32, Region>,
}

/// Where a table is stored.
#[derive(Debug)]
struct Region {
    /// The version of the table that is stored there.
    version: Version,
    /// The bytes of an answer in the table, and there.
    answer: usize,
    stored: usize,
    /// The first cell of each part.
    first: [u32; PARTS],
    /// The cells of each part.
    cells: [u32; PARTS],
    /// From a table of its own to there.
    shift: Shift,
}

impl Regions {
    /// Applies a patch. Returns false, and writes nothing, if the table has outgrown its region or
    /// another version is stored there.
    ///
    /// A lookup sees the table before or after each change: what is new is written first, at
    /// indices that nothing points to, and then each word of the root by one store.
    pub(super) fn apply(&mut self, id: u32, patch: &Patch, maps: &[Option<Cells>; PARTS]) -> bool {
        let Some(region) = self.by_id.get_mut(&id) else { return false };
        let Ok(pieces) = patch.onto(region.version) else { return false };
        if !region.holds(patch.lengths()) {
            return false;
        }
        let (root, below): (Vec<_>, Vec<_>) = pieces.iter().partition(|piece| piece.part == 0);
        for piece in below.into_iter().chain(root) {
            region.write(maps, piece.part, piece.at, &piece.bytes);
        }
        region.version = patch.after();
        true
    }
}

impl Region {
    /// Returns the region of a table behind all others.
    fn new(image: Image<'_>, regions: &Regions, maps: [&str; PARTS]) -> Result<Self, Limit> {
        let mut region = Self {
            version: image.version(),
            answer: image.kernel().answer_bytes(),
            stored: regions.width as usize,
            first: regions.end,
            cells: [0; PARTS],
            shift: Shift::default(),
        };
        let (mut blocks, mut ends) = ([0; PARTS], [0; PARTS]);
        for (part, bytes) in image.parts().iter().enumerate() {
            let (bytes, block) =
                (bytes.len() * region.scale(part), image.blocks()[part] * region.scale(part));
            // The root has its size for ever.
            let room = if part == ROOT || maps[part].is_empty() { 0 } else { bytes / 4 + ROOM };
            // All regions of a part are made of whole blocks, and so begin with one.
            let cells = (bytes + room).next_multiple_of(block.max(CELL)) / CELL;
            let end = u64::from(regions.end[part]) + cells as u64;
            Limit::check("cells", end, u32::MAX.into())?;
            region.cells[part] = cells as u32;
            let block_of = |cell: u64| cell * CELL as u64 / block as u64;
            (blocks[part], ends[part]) = (block_of(regions.end[part].into()), block_of(end));
        }
        region.shift = Shift::new(blocks, ends)?;
        Ok(region)
    }

    /// Returns whether parts of these lengths fit.
    fn holds(&self, lengths: [usize; PARTS]) -> bool {
        (0..PARTS).all(|part| lengths[part] * self.scale(part) <= self.cells[part] as usize * CELL)
    }

    /// Writes bytes of a part from byte `at` on. Both are multiples of four.
    fn write(&self, maps: &[Option<Cells>; PARTS], part: usize, at: usize, bytes: &[u8]) {
        let Some(map) = &maps[part] else { return };
        let scale = self.scale(part);
        let bytes = widened(bytes, self.answer, self.answer * scale);
        map.store((self.first[part] as usize * CELL + at * scale) / 4, self.shift.words(part, &bytes));
    }

    /// Returns how many times longer a part is there than in the table.
    fn scale(&self, part: usize) -> usize {
        if ANSWERS.contains(&part) { self.stored / self.answer } else { 1 }
    }
}

/// Returns little-endian integers of `from` bytes as integers of `to` bytes.
fn widened(bytes: &[u8], from: usize, to: usize) -> Cow<'_, [u8]> {
    if from == to {
        return bytes.into();
    }
    let zeros = std::iter::repeat_n(0, to - from);
    bytes.chunks_exact(from).flat_map(|answer| answer.iter().copied().chain(zeros.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fibula::{Change, NextHop, Route};

    #[test]
    fn answers_are_widened_in_order() {
        assert_eq!(*widened(&[1, 2], 1, 1), [1, 2]);
        assert_eq!(*widened(&[1, 2], 1, 2), [1, 0, 2, 0]);
        assert_eq!(*widened(&[1, 2, 3, 4], 2, 4), [1, 2, 0, 0, 3, 4, 0, 0]);
    }

    #[test]
    fn a_table_is_patched_until_it_has_to_be_wider() {
        let mut tables: Tables<u32> = Tables::default();
        tables.add(7).unwrap();
        let mut rib = Rib::new();
        let mut announce = |next_hop| {
            let prefix = "10.1.2.0/28".parse().unwrap();
            let delta = rib.apply(Change::Announce(Route { prefix, next_hop: NextHop(next_hop) }));
            (rib.clone(), delta.unwrap())
        };
        let (rib, delta) = announce(255);
        assert!(tables.apply(7, &rib, &[delta]).unwrap().is_some());
        let regions = tables.regions(&[7]).unwrap();
        assert_eq!((tables.width(), regions.end[ROOT]), (1, (1 << 18) * 4 / CELL as u32));
        assert_eq!(regions.by_id[&7].cells[ROOT], <u32 as Family>::ROOT_CELLS);
        let (rib, delta) = announce(256);
        assert!(tables.apply(7, &rib, &[delta]).unwrap().is_none());
        assert_eq!(tables.width(), 2);
        let (rib, delta) = announce(1);
        assert!(tables.apply(7, &rib, &[delta]).unwrap().is_some());
        assert_eq!(tables.width(), 2, "a table that was once wide stays so");
    }
}
