//! Actions and adjacencies as the program reads them (`bpf/forward.h`), before they are written to
//! its maps.

use super::cells::CELL_WORDS;
use crate::Error;
use crate::plane::{Action, Adjacency, AdjacencyId, BUCKETS_MAX};
use fibula::parts::blocks::chunks::Chunks;
use fibula::parts::blocks::retired::Retired;
use fibula::{ErrorKind, Limit, NextHop};
use std::ops::Range;

/// An action's word: the kind from this bit on.
const KIND: u32 = 30;
const DROP: u32 = 1;
const FORWARD: u32 = 2;
const BY_KERNEL: u32 = 3;
/// The logarithm of the number of buckets from this bit on; below it the index of the first bucket,
/// or of the adjacency where there is one bucket.
const BUCKETS: u32 = 26;
/// The greatest index in an action.
const INDEX_MAX: u32 = (1 << BUCKETS) - 1;

/// The actions of all next hops, and their buckets.
#[derive(Debug, Default)]
pub(super) struct Actions {
    words: Vec<u32>,
    buckets: Vec<u32>,
    space: Chunks,
    /// Runs of buckets that packets may still read.
    retired: Retired<(u64, u64)>,
}

/// What is to be written to the maps: buckets first, then the word of the action. Then it is
/// [settled](Actions::settle).
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(super) struct Written {
    /// The indices of new buckets.
    pub(super) buckets: Range<usize>,
    /// The index of the action.
    pub(super) action: usize,
    /// The word before.
    before: u32,
}

impl Actions {
    /// Sets an action. Returns what has changed, if anything has.
    pub(super) fn set(&mut self, next_hop: NextHop, action: &Action) -> Result<Option<Written>, Error> {
        check_next_hop(next_hop)?;
        let index = next_hop.0 as usize;
        let old = self.words.get(index).copied();
        let mut buckets = 0..0;
        let word = match action {
            Action::ToKernel => 0,
            Action::Drop => DROP << KIND,
            Action::Forward(legs) | Action::ByKernel(legs) => {
                check(legs)?;
                let kind = if matches!(action, Action::Forward(_)) { FORWARD } else { BY_KERNEL } << KIND;
                let has_these = |word: &u32| self.legs(*word).eq(legs.iter().map(|leg| leg.0));
                if legs.iter().all(|leg| *leg == legs[0]) {
                    kind | legs[0].0
                } else if let Some(old) = old.filter(|word| word >> KIND == kind >> KIND).filter(has_these) {
                    old
                } else {
                    let first = self.allocate(legs)?;
                    buckets = first..first + legs.len();
                    kind | legs.len().ilog2() << BUCKETS | first as u32
                }
            }
        };
        if old == Some(word) {
            return Ok(None);
        }
        if self.words.len() <= index {
            self.words.resize(index + 1, 0);
        }
        self.words[index] = word;
        Ok(Some(Written { buckets, action: index, before: old.unwrap_or_default() }))
    }

    /// Ends a change. If the maps have it, the buckets before are freed after a grace period. Else
    /// the action is as it was, and its new buckets, which no packet has met, are free.
    pub(super) fn settle(&mut self, written: Written, is_taken: bool) {
        let Written { buckets, action, before } = written;
        if !is_taken {
            self.words[action] = before;
            if !buckets.is_empty() {
                self.space.free(buckets.start as u64, buckets.len() as u64);
            }
        } else if let Some(range) = run_of(before) {
            self.retired.retire((range.start as u64, range.len() as u64));
        }
    }

    fn allocate(&mut self, legs: &[AdjacencyId]) -> Result<usize, Error> {
        let end = self.space.end_after(legs.len() as u64);
        Limit::check("buckets", end, INDEX_MAX.into()).map_err(fibula::Error::from)?;
        let first = self.space.allocate(legs.len() as u64) as usize;
        if self.buckets.len() < end as usize {
            self.buckets.resize(end as usize, 0);
        }
        self.buckets[first..first + legs.len()].iter_mut().zip(legs).for_each(|(place, leg)| *place = leg.0);
        Ok(first)
    }

    /// Returns the adjacencies of the buckets that a word points to.
    fn legs(&self, word: u32) -> impl Iterator<Item = u32> {
        self.buckets[run_of(word).unwrap_or_default()].iter().copied()
    }

    /// Tells that a grace period has ended which began after the call before: frees what was
    /// replaced before that call.
    pub(super) fn readers_passed(&mut self) {
        self.retired.readers_passed().for_each(|(start, len)| self.space.free(start, len));
    }

    /// Returns the words of all actions.
    pub(super) fn words(&self) -> &[u32] {
        &self.words
    }

    /// Returns all buckets.
    pub(super) fn buckets(&self) -> &[u32] {
        &self.buckets
    }
}

/// Returns the buckets that a word points to, if it points to some.
pub(super) fn run_of(word: u32) -> Option<Range<usize>> {
    let (len, first) = (1_usize << (word >> BUCKETS & 15), (word & INDEX_MAX) as usize);
    (word >> KIND >= FORWARD && len > 1).then_some(first..first + len)
}

/// Checks the index of a next hop.
pub(super) fn check_next_hop(next_hop: NextHop) -> Result<(), Error> {
    let checked = Limit::check(Limit::NEXT_HOPS, next_hop.0.into(), INDEX_MAX.into());
    Ok(checked.map_err(fibula::Error::from)?)
}

/// Checks the buckets of an action.
pub(super) fn check(legs: &[AdjacencyId]) -> Result<(), Error> {
    if !legs.len().is_power_of_two() || legs.len() > BUCKETS_MAX {
        let text = format!("{} buckets: expected a power of two, at most {BUCKETS_MAX}", legs.len());
        return Err(fibula::Error::new(ErrorKind::Usage, text).into());
    }
    legs.iter().try_for_each(|leg| check_id(*leg))
}

/// Checks the index of an adjacency.
pub(super) fn check_id(id: AdjacencyId) -> Result<(), Error> {
    Ok(Limit::check("adjacencies", id.0.into(), INDEX_MAX.into()).map_err(fibula::Error::from)?)
}

/// Set in the tag of an adjacency that pushes one.
const VLAN: u32 = 0x8000;

/// The words of a version of an adjacency, and where the first begins in its cell.
const VERSION_WORDS: usize = 6;
const VERSIONS: usize = 2;

/// What an adjacency was.
#[derive(Debug)]
pub(super) struct Before {
    index: usize,
    cell: [u32; CELL_WORDS],
    set_at: Option<u64>,
}

/// The adjacencies: two versions each, and which of them holds.
#[derive(Debug, Default)]
pub(super) struct Adjacencies {
    cells: Vec<[u32; CELL_WORDS]>,
    /// The interfaces, 0 where an adjacency is not resolved.
    interfaces: Vec<u32>,
    /// The grace periods that had ended after the adjacency was last set, as far as packets could
    /// read the version before; `None` if it was never set.
    set_at: Vec<Option<u64>>,
    /// The grace periods that have ended.
    now: u64,
}

impl Adjacencies {
    /// Returns whether packets may still read the version that [`set`](Self::set) would write.
    pub(super) fn is_settling(&self, id: AdjacencyId) -> bool {
        self.set_at.get(id.0 as usize) == Some(&Some(self.now + 1))
    }

    /// Sets an adjacency: writes the version that does not hold, then says that it does. Returns
    /// what it was if it has changed.
    pub(super) fn set(&mut self, id: AdjacencyId, adjacency: Adjacency) -> Result<Option<Before>, Error> {
        check_id(id)?;
        let index = id.0 as usize;
        if self.cells.len() <= index {
            self.cells.resize(index + 1, [0; CELL_WORDS]);
            self.interfaces.resize(index + 1, 0);
            self.set_at.resize(index + 1, None);
        }
        let new = encoded(adjacency);
        let cell = &mut self.cells[index];
        let current = cell[0] as usize;
        if cell[version(current)] == new {
            return Ok(None);
        }
        let before = Before { index, cell: *cell, set_at: self.set_at[index] };
        cell[version(1 - current)].copy_from_slice(&new);
        cell[0] = 1 - cell[0];
        self.interfaces[index] = new[0];
        // No action names an adjacency before it is set, so no packet reads what it was until then.
        self.set_at[index] = Some(self.set_at[index].map_or(0, |_| self.now + 1));
        Ok(Some(before))
    }

    /// Sets an adjacency back to what it was: the maps did not take the change.
    pub(super) fn take_back(&mut self, before: &Before) {
        let Before { index, cell, set_at } = *before;
        self.interfaces[index] = cell[version(cell[0] as usize)][0];
        (self.cells[index], self.set_at[index]) = (cell, set_at);
    }

    /// Tells that a grace period has ended, which began after the last call of [`set`](Self::set).
    pub(super) fn readers_passed(&mut self) {
        self.now += 1;
    }

    /// Returns the cells of all adjacencies.
    pub(super) fn cells(&self) -> &[[u32; CELL_WORDS]] {
        &self.cells
    }

    /// Returns the interfaces that adjacencies send by. An interface may be listed more than once.
    pub(super) fn interfaces(&self) -> impl Iterator<Item = u32> {
        self.interfaces.iter().copied().filter(|&interface| interface != 0)
    }
}

/// Returns where the words of a version are in a cell.
pub(super) fn version(version: usize) -> Range<usize> {
    let first = VERSIONS + version * VERSION_WORDS;
    first..first + VERSION_WORDS
}

/// Returns the adjacency of a version's words.
pub(super) fn decoded(words: &[u32]) -> Adjacency {
    let (interface, routed, tag) = (words[0], words[5], words[1] >> 16);
    if interface == 0 {
        return Adjacency::Unresolved { routed };
    }
    let [d0, d1, d2, d3] = words[2].to_le_bytes();
    let [d4, d5, s0, s1] = words[3].to_le_bytes();
    let [s2, s3, s4, s5] = words[4].to_le_bytes();
    Adjacency::Resolved {
        interface,
        routed,
        source: [s0, s1, s2, s3, s4, s5],
        destination: [d0, d1, d2, d3, d4, d5],
        vlan: (tag & VLAN != 0).then_some(tag as u16 & 0xFFF),
        mtu: words[1] as u16,
    }
}

pub(super) fn encoded(adjacency: Adjacency) -> [u32; VERSION_WORDS] {
    let (interface, routed, source, destination, vlan, mtu) = match adjacency {
        Adjacency::Unresolved { routed } => return [0, 0, 0, 0, 0, routed],
        Adjacency::Resolved { interface, routed, source, destination, vlan, mtu } => {
            (interface, routed, source, destination, vlan, mtu)
        }
    };
    let tag = vlan.map_or(0, |vlan| VLAN | u32::from(vlan & 0xFFF));
    let [d0, d1, d2, d3, d4, d5] = destination;
    let [s0, s1, s2, s3, s4, s5] = source;
    let word = u32::from_le_bytes;
    [
        interface,
        u32::from(mtu) | tag << 16,
        word([d0, d1, d2, d3]),
        word([d4, d5, s0, s1]),
        word([s2, s3, s4, s5]),
        routed,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn legs(ids: &[u32]) -> Action {
        Action::Forward(ids.iter().copied().map(AdjacencyId).collect())
    }

    #[test]
    fn an_action_is_one_word_and_its_buckets_are_kept_until_readers_have_passed() {
        let mut actions = Actions::default();
        // Returns the new buckets of a change that the maps take.
        let set = |actions: &mut Actions, next_hop, action: &Action| {
            let written = actions.set(NextHop(next_hop), action).unwrap().expect("it changes");
            let buckets = written.buckets.clone();
            actions.settle(written, true);
            buckets
        };
        assert_eq!(set(&mut actions, 3, &legs(&[5, 6])), 0..2);
        assert_eq!((actions.words(), actions.buckets()), (&[0, 0, 0, 2 << 30 | 1 << 26][..], &[5, 6][..]));
        assert_eq!(actions.set(NextHop(3), &legs(&[5, 6])).unwrap(), None, "nothing has changed");
        // The old buckets are read until a grace period has ended.
        assert_eq!(set(&mut actions, 3, &legs(&[6, 5])), 2..4);
        assert_eq!(set(&mut actions, 4, &legs(&[1, 2])), 4..6);
        actions.readers_passed();
        actions.readers_passed();
        // A change that the maps do not take leaves the buckets free, and those before in use.
        let words = actions.words().to_vec();
        let refused = actions.set(NextHop(4), &legs(&[7, 8])).unwrap().unwrap();
        assert_eq!(refused.buckets, 0..2);
        actions.settle(refused, false);
        assert_eq!(actions.words(), words);
        assert_eq!(set(&mut actions, 5, &legs(&[7, 8])), 0..2);
        // One leg needs no buckets, however many it has.
        assert_eq!(set(&mut actions, 3, &legs(&[9; 8])), 0..0);
        assert_eq!(actions.words()[3], 2 << 30 | 9);
        assert_eq!(set(&mut actions, 1, &Action::Drop), 0..0);
        assert_eq!(actions.words()[1], 1 << 30);
        // What the kernel sends has adjacencies too, in buckets of its own.
        let by_kernel = Action::ByKernel([7, 8].map(AdjacencyId).to_vec());
        assert_eq!(set(&mut actions, 5, &by_kernel), 6..8);
        assert_eq!(actions.words()[5], 3 << 30 | 1 << 26 | 6);
        assert_eq!(actions.set(NextHop(5), &by_kernel).unwrap(), None);
        for wrong in [&[][..], &[1, 2, 3], &[0; 512]] {
            let error = actions.set(NextHop(1), &legs(wrong)).unwrap_err().to_string();
            assert_eq!(error, format!("{} buckets: expected a power of two, at most 256", wrong.len()));
        }
        let error = actions.set(NextHop(1), &legs(&[1 << 26])).unwrap_err().to_string();
        assert_eq!(error, "adjacencies: 67108864 is more than the 67108863 that fit");
    }

    #[test]
    fn an_adjacency_that_changes_twice_waits_for_a_grace_period() {
        let mut adjacencies = Adjacencies::default();
        let id = AdjacencyId(1);
        let resolved = Adjacency::Resolved {
            interface: 7,
            routed: 9,
            source: [1, 2, 3, 4, 5, 6],
            destination: [10, 11, 12, 13, 14, 15],
            vlan: Some(100),
            mtu: 1500,
        };
        assert!(!adjacencies.is_settling(id));
        assert!(adjacencies.set(id, resolved).unwrap().is_some());
        assert!(adjacencies.set(id, resolved).unwrap().is_none(), "nothing has changed");
        let cell = adjacencies.cells()[1];
        assert_eq!(decoded(&cell[version(1)]), resolved);
        assert_eq!((cell[0], cell[2..8].to_vec()), (1, vec![0; 6]), "the version that held is as it was");
        assert_eq!(cell[13], 9);
        let bytes: Vec<u8> = cell[8..13].iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(bytes, [7, 0, 0, 0, 0xDC, 5, 100, 0x80, 10, 11, 12, 13, 14, 15, 1, 2, 3, 4, 5, 6]);
        assert!(!adjacencies.is_settling(id), "nobody knew it before");
        let before = adjacencies.set(id, Adjacency::Unresolved { routed: 9 }).unwrap();
        adjacencies.take_back(&before.unwrap());
        assert_eq!((adjacencies.cells()[1], adjacencies.interfaces().count()), (cell, 1));
        assert!(!adjacencies.is_settling(id), "the maps did not take the change");
        assert!(adjacencies.set(id, Adjacency::Unresolved { routed: 9 }).unwrap().is_some());
        assert_eq!((adjacencies.cells()[1][0], adjacencies.interfaces().count()), (0, 0));
        assert_eq!(adjacencies.cells()[1][2..8], [0, 0, 0, 0, 0, 9], "sources may come by its interface");
        assert!(adjacencies.is_settling(id));
        adjacencies.readers_passed();
        assert!(!adjacencies.is_settling(id));
    }
}
