//! Checks of the structure against itself and against the table it was built from.

use super::layout::{Layout, Place, Slot, Word};
use super::plan::Plan;
use super::table::{Table, shape};
use fibula::parts::blocks::chunks::Pool;
use fibula::{Prefix, Rib};

impl<L: Layout> Table<L> {
    pub(super) fn validate(&self, rib: &Rib<u32>) -> Result<(), String> {
        self.check_places()?;
        let plan = Plan::of(rib, std::iter::once(Prefix::ALL), self.k);
        for run in &plan.runs {
            let ranges = plan.ranges(run);
            for index in run.first..run.first + run.chunks {
                match self.slot(index) {
                    Slot::NextHop(next_hop) if run.len == 1 && next_hop == ranges[0].next_hop => {}
                    Slot::Chunk(chunk)
                        if run.len > 1
                            && (chunk.long, chunk.len) == shape::<L>(run, self.granule_log2)
                            && self.ranges_of(chunk) == ranges => {}
                    slot => return Err(format!("chunk {index} is {slot:?} for the ranges {ranges:?}")),
                }
            }
        }
        Ok(())
    }

    /// Checks that every chunk is within its pool, that none overlaps or is lost, and that bases
    /// start from 0 and rise.
    fn check_places(&self) -> Result<(), String> {
        if self.direct.len() != 1 << self.k {
            return Err(format!("{} direct entries for k = {}", self.direct.len(), self.k));
        }
        let (mut short, mut long) = (Vec::new(), Vec::new());
        for index in 0..self.direct.len() {
            let Slot::Chunk(chunk) = self.slot(index) else { continue };
            let end = if chunk.long { self.long.len() } else { self.short_ranges().len() };
            if chunk.start + chunk.len > end {
                return Err(format!("chunk {index} ends past the {end} ranges there are: {chunk:?}"));
            }
            let place = chunk.place::<L>();
            (if place.long { &mut long } else { &mut short }).push(place);
            let ranges = self.ranges_of(chunk);
            if ranges[0].base != 0 || !ranges.is_sorted_by(|a, b| a.base < b.base) {
                return Err(format!("chunk {index} is out of order: {ranges:?}"));
            }
            if ranges.len() < 2 || ranges.windows(2).any(|pair| pair[0].next_hop == pair[1].next_hop) {
                return Err(format!("chunk {index} holds ranges that should be one: {ranges:?}"));
            }
        }
        check_bookkeeping(&self.short, short)?;
        check_bookkeeping(&self.long, long)
    }
}

/// Checks the places of chunks against the bookkeeping of their pool.
fn check_bookkeeping<T: Word>(pool: &Pool<T>, mut chunks: Vec<Place>) -> Result<(), String> {
    pool.validate()?;
    chunks.sort_unstable_by_key(|chunk| chunk.start);
    if let Some(pair) = chunks.windows(2).find(|pair| pair[0].start + pair[0].len > pair[1].start) {
        return Err(format!("chunks overlap: {pair:?}"));
    }
    let used: usize = chunks.iter().map(|chunk| chunk.len).sum();
    if used + pool.free_total() == pool.len() {
        Ok(())
    } else {
        Err(format!(
            "{used} ranges in chunks and {} in holes are not the {} there are",
            pool.free_total(),
            pool.len()
        ))
    }
}
