//! Updates (section 3.3): the chunks under a changed prefix are replaced, and their space is
//! reused.
//!
//! A range table's memory is allocated in one piece with a little room: [`ROOM`] of what is in use.
//! When the room is used up, or holes and room together exceed twice that share, the chunks move to
//! a new piece in the order of their addresses. Doubling, as arrays grow, would leave up to half of
//! the memory unused.

use super::layout::{Chunk, Layout, Place, Slot, Word, direct_entry, shorts_log2};
use super::plan::{Plan, Run};
use super::table::{Amount, GRANULE_LOG2_MAX, Table, capacity, in_one_piece, live, needed, shape};
use fibula::Limit;
use fibula::engine::{Cost, Update};
use fibula::parts::blocks::chunks::Pool;

/// A moved range table gets room for a `1 / ROOM` part of its used ranges.
const ROOM: u64 = 32;

/// It gets at least one range for each `ROOM_DIRECT` direct entries. Otherwise a table of few
/// ranges would be moved, and its direct table walked, every few updates.
const ROOM_DIRECT: u64 = 256;

impl<L: Layout> Table<L> {
    /// Replaces the chunks of a plan.
    pub(super) fn apply(&mut self, mut plan: Plan) -> Update {
        let Some(more) = needed::<L>(&plan, self.granule_log2) else { return Update::Rebuild };
        let chunks_rebuilt = plan.runs.iter().map(|run| run.chunks as u64).sum();
        let less = self.occupied(&plan);
        let Amount { short, long } = self.live();
        let after = Amount { short: short - less.short + more.short, long: long - less.long + more.long };
        if after.short.max(after.long) > capacity::<L>(self.granule_log2) {
            return Update::Rebuild;
        }
        let mut runs = std::mem::take(&mut plan.runs);
        // All old chunks are freed before a new one is allocated, so that the use never exceeds
        // `after`.
        runs.retain(|run| !self.settle(&plan, run));
        for run in &runs {
            let start = self.allocate(run).unwrap_or_else(|_| {
                self.compact(after);
                self.allocate(run).expect("a moved table has room for all that comes")
            });
            self.place(&plan, run, start);
        }
        if has_slack(&self.short, self.direct.len()) || has_slack(&self.long, self.direct.len()) {
            self.compact(after);
        }
        Update::Applied(Cost { chunks_rebuilt, ..Cost::default() })
    }

    /// Frees the chunk of a slot, if it has one.
    fn give_back(&mut self, slot: Slot) {
        let Slot::Chunk(chunk) = slot else { return };
        let place = chunk.place::<L>();
        if place.long {
            self.long.remove(place.start, place.len);
        } else {
            self.short.remove(place.start, place.len);
        }
    }

    /// Returns the ranges that the chunks of a plan occupy now.
    fn occupied(&self, plan: &Plan) -> Amount {
        let mut amount = Amount::default();
        for run in &plan.runs {
            for index in run.first..run.first + run.chunks {
                if let Slot::Chunk(chunk) = self.slot(index) {
                    amount.add(chunk.place::<L>());
                }
            }
        }
        amount
    }

    /// Writes a run that is unchanged or fits the old chunk's space, and returns `true`. Otherwise
    /// frees that space and returns `false`.
    fn settle(&mut self, plan: &Plan, run: &Run) -> bool {
        if run.len > 1
            && let Slot::Chunk(chunk) = self.slot(run.first)
            && shape::<L>(run, self.granule_log2) == (chunk.long, chunk.len)
        {
            self.write(chunk, plan.ranges(run));
            return true;
        }
        for index in run.first..run.first + run.chunks {
            self.give_back(self.slot(index));
            self.direct[index] = direct_entry::<L>(self.granule_log2, Slot::NextHop(0));
        }
        false
    }

    /// Allocates space for a run in its range table. Returns the index of its first range. A run of
    /// one range needs none.
    fn allocate(&mut self, run: &Run) -> Result<usize, Limit> {
        let (long, len) = shape::<L>(run, self.granule_log2);
        let place = Chunk { long, start: 0, len }.place::<L>();
        let start = match (run.len, place.long) {
            (1, _) => Ok(0),
            (_, true) => self.long.allocate(place.len),
            (_, false) => self.short.allocate(place.len),
        };
        Ok(start? << shorts_log2::<L>(long))
    }

    /// Moves all chunks together, in the order of their addresses, with room for `after` ranges and
    /// some more.
    fn compact(&mut self, after: Amount) {
        let room = |amount: u64| {
            let most = amount + room(amount, self.direct.len()).next_multiple_of(1 << GRANULE_LOG2_MAX);
            most.min(capacity::<L>(self.granule_log2))
        };
        let live = self.live();
        let mut short = in_one_piece(live.short, room(after.short), self.pages);
        let mut long = in_one_piece(live.long, room(after.long), self.pages);
        let mut moved = Amount::default();
        for index in 0..self.direct.len() {
            let Slot::Chunk(old) = self.slot(index) else { continue };
            let place = old.place::<L>();
            let start = if place.long {
                copy::<L::Long>(&self.long, place, &mut long, moved.long as usize)
            } else {
                copy::<L::Short>(&self.short, place, &mut short, moved.short as usize)
            };
            moved.add(place);
            let moved = Slot::Chunk(Chunk { start: start << shorts_log2::<L>(old.long), ..old });
            self.direct[index] = direct_entry::<L>(self.granule_log2, moved);
        }
        (self.short, self.long) = (short, long);
    }
}

fn copy<T: Word>(from: &Pool<T>, place: Place, to: &mut Pool<T>, start: usize) -> usize {
    to[start..start + place.len].copy_from_slice(&from[place.start..place.start + place.len]);
    start
}

/// Returns the room for a range table of `ranges` ranges beside a direct table of `direct` entries.
fn room(ranges: u64, direct: usize) -> u64 {
    ranges / ROOM + direct as u64 / ROOM_DIRECT
}

/// Returns whether holes and unused memory exceed twice the room of a table that has just been
/// moved.
fn has_slack<T: Word>(pool: &Pool<T>, direct: usize) -> bool {
    let live = live(pool);
    let slack = pool.bytes() / size_of::<T>() - live;
    slack as u64 > 2 * room(live as u64, direct)
}
