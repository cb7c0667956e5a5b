//! The structural check.

use super::chunk::{Coded, SLOTS, Sparse};
use super::pointer::{Base, Kind, Pointer, Target};
use super::table::{Level, TOP_SLOTS, Table};
use fibula::engine::Unmetered;
use fibula::rib::{Range, Ranges};
use fibula::{Address, NextHop, Prefix, Rib};
use std::mem::replace;
use std::ops;

/// Which elements of an array have been reached, and the name of its elements.
struct Reached {
    what: &'static str,
    flags: Vec<bool>,
}

impl Reached {
    fn none_of(what: &'static str, len: usize) -> Self {
        Self { what, flags: vec![false; len] }
    }

    /// Records some elements as reached. They must exist, and each may be reached only once.
    fn reach(&mut self, elements: ops::Range<usize>) -> Result<(), String> {
        let (what, len) = (self.what, self.flags.len());
        for at in elements {
            let flag = self.flags.get_mut(at).ok_or_else(|| format!("{what} {at} of {len}"))?;
            if replace(flag, true) {
                return Err(format!("two ways to {what} {at}"));
            }
        }
        Ok(())
    }

    fn all(&self) -> Result<(), String> {
        let lost = self.flags.iter().position(|&reached| !reached);
        lost.map_or(Ok(()), |at| Err(format!("no way to {} {at}", self.what)))
    }
}

/// Which parts of level 2 or 3 have been reached.
struct ReachedLevel {
    chunks: [Reached; 3],
    pointers: Reached,
}

/// A walk through all slots in the order of addresses, beside the table's own intervals.
struct Walk<'t, P: Copy, B: Copy> {
    table: &'t Table<P, B>,
    ranges: Ranges<'t, u32>,
    /// The current interval.
    range: Range<u32>,
    levels: [ReachedLevel; 2],
}

impl<P: Pointer, B: Base> Table<P, B> {
    /// Checks that every address answers as in the table, that each chunk and each pointer is
    /// reached exactly once and none is lost, and that sparse chunks are in order and merged.
    pub(super) fn check(&self, rib: &Rib<u32>) -> Result<(), String> {
        if self.top.len() * SLOTS != TOP_SLOTS {
            return Err(format!("{} chunks on level 1", self.top.len()));
        }
        let mut pointers = Reached::none_of("pointer of level 1", self.pointers.len());
        self.top.iter().try_for_each(|chunk| check_coded(chunk, &mut pointers))?;
        pointers.all()?;

        let reached = |level: &Level<P, B>, what| ReachedLevel {
            chunks: Kind::ALL.map(|kind| Reached::none_of(kind.name(), level.chunks(kind))),
            pointers: Reached::none_of(what, level.pointers.len()),
        };
        let [two, three] = &self.levels;
        let levels = [reached(two, "pointer of level 2"), reached(three, "pointer of level 3")];
        let mut ranges = rib.ranges();
        let range = ranges.next().expect("every table has an interval");
        let mut walk = Walk { table: self, ranges, range, levels };
        for slot in 0..TOP_SLOTS as u32 {
            let node = Prefix::containing(u32::from_bits(slot.into(), 0, 16), 16);
            walk.visit(self.find_top(slot, &mut Unmetered), node, 0)?;
        }
        for level in &walk.levels {
            level.chunks.iter().try_for_each(Reached::all)?;
            level.pointers.all()?;
        }
        Ok(())
    }
}

impl<P: Pointer, B: Base> Walk<'_, P, B> {
    /// Checks what a slot leads to. `node` are its addresses; `depth` counts the levels past the
    /// first.
    fn visit(&mut self, target: Target, node: Prefix<u32>, depth: usize) -> Result<(), String> {
        let (kind, index) = match target {
            Target::Answer(next_hop) => return self.compare(node, NextHop(next_hop)),
            Target::Chunk(kind, index) => (kind, index),
        };
        let (Some(level), Some(reached)) = (self.table.levels.get(depth), self.levels.get_mut(depth)) else {
            return Err(format!("{node}: a chunk below level 3"));
        };
        reached.chunks[kind as usize].reach(index..index + 1).map_err(|lost| format!("{node}: {lost}"))?;
        match kind {
            Kind::Sparse => check_sparse(&level.sparse[index]),
            Kind::Dense => check_coded(&level.dense[index], &mut reached.pointers),
            Kind::VeryDense => check_coded(&level.very_dense[index], &mut reached.pointers),
        }
        .map_err(|wrong| format!("{node}: {wrong}"))?;
        for slot in 0..SLOTS as u32 {
            let below =
                Prefix::containing(node.first() | u32::from_bits(slot.into(), node.len(), 8), node.len() + 8);
            self.visit(level.find(kind, index, slot, &mut Unmetered), below, depth + 1)?;
        }
        Ok(())
    }

    /// Compares an answer with the table's.
    fn compare(&mut self, node: Prefix<u32>, next_hop: NextHop) -> Result<(), String> {
        while self.range.last < node.first() {
            self.range = self.ranges.next().expect("the intervals leave no gap");
        }
        let Range { first, last, next_hop: expected } = self.range;
        if first <= node.first() && node.last() <= last && next_hop == expected {
            return Ok(());
        }
        let longer = if last < node.last() { " and others" } else { "" };
        Err(format!("{node}: {next_hop:?}, the table has {expected:?}{longer}"))
    }
}

/// Checks that the pointers of a chunk are in the array and belong to no other chunk.
fn check_coded<B: Base, const BASES: usize>(
    chunk: &Coded<B, BASES>,
    pointers: &mut Reached,
) -> Result<(), String> {
    chunk.pointers().try_for_each(|range| pointers.reach(range))
}

/// Checks that the heads decrease to 0, and that neighbouring heads with one answer are merged.
fn check_sparse<P: Pointer>(chunk: &Sparse<P>) -> Result<(), String> {
    let used = chunk.heads.iter().position(|&head| head == 0).ok_or("a sparse chunk without head 0")? + 1;
    let (heads, pointers) = (&chunk.heads[..used], &chunk.pointers[..used]);
    if !heads.is_sorted_by(|one, next| one > next) || chunk.heads[used..].iter().any(|&head| head != 0) {
        return Err(format!("heads {:?} of a sparse chunk", chunk.heads));
    }
    let merged = pointers.windows(2).all(|pair| pair[0] != pair[1]);
    if merged { Ok(()) } else { Err("two heads of one answer in a sparse chunk".into()) }
}
