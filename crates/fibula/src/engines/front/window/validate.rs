//! The structural check.

use super::extent::Extent;
use super::node::{CELL, COVER, Intervals as _, MARK};
use super::paint::number_of;
use super::{InWindow, Window};
use crate::rib::Range;
use crate::{NextHop, Rib};

/// What a word says: the last address that it is for, and the word.
type Found = (u128, u16);

/// The nodes that a word has named so far, of each kind.
type Named = [Vec<bool>; 2];

/// Notes that a word names a node, and returns its number.
fn note(named: &mut [bool], slot: usize, word: u16) -> Result<usize, String> {
    let at = usize::from(word & !MARK);
    let is_new = at > 0 && named.get_mut(at).is_some_and(|named| !std::mem::replace(named, true));
    is_new.then_some(at).ok_or_else(|| format!("slot {slot} names node {word:x}"))
}

/// Returns the last address of a range, in 128 bits.
fn last_of<A: InWindow>(range: &Range<A>) -> u128 {
    range.last.in_128() | u128::MAX.checked_shr(A::BITS.into()).unwrap_or(0)
}

/// Compares a word with a range that it is for.
fn compare<A: InWindow>(word: u16, last: u128, range: Range<A>) -> Result<(), String> {
    let next_hop = if word == COVER { NextHop::NONE } else { NextHop(word.into()) };
    if word == 0 || range.next_hop == next_hop {
        return Ok(());
    }
    Err(format!("up to {last:x} the word is {word:x}, expected {range:x?}"))
}

impl<A: InWindow> Window<A> {
    /// Reads the nodes of a slot back.
    fn read_back(&self, extent: Extent<A>, slot: usize, named: &mut Named) -> Result<Vec<Found>, String> {
        let end = |first: u128, bits: u8| first | ((1 << bits) - 1);
        let (slot_bits, cell_bits) = (128 - extent.position, 128 - extent.position - CELL);
        let first = extent.prefix_of(slot).first().in_128();
        let word = self.root[slot];
        if word & MARK == 0 {
            return Ok(vec![(end(first, slot_bits), word)]);
        }
        let mut found = Vec::new();
        for (cell, word) in self.shorts[note(&mut named[0], slot, word)?].intervals(u16::MAX) {
            let first = first | u128::from(cell) << cell_bits;
            if word & MARK == 0 {
                found.push((end(first, cell_bits), word));
                continue;
            }
            let long = self.longs[note(&mut named[1], slot, word)?];
            let numbers = long.intervals(number_of(u128::MAX, extent.position));
            let behind = u128::MAX.checked_shr((64 + extent.position + CELL).into()).unwrap_or(0);
            let after_cell = |number: u64| u128::from(number) << 64 >> (extent.position + CELL) | behind;
            found.extend(numbers.map(|(number, word)| (first | after_cell(number), word)));
        }
        if found.last().is_none_or(|&(last, _)| last != end(first, slot_bits)) || !found.is_sorted() {
            return Err(format!("the intervals of slot {slot} end at {found:x?}"));
        }
        Ok(found)
    }

    /// Reads all slots back, and compares their words with the ranges of the table. The others must
    /// have the routes of all slots that ask the inner engine.
    pub(super) fn check_slots(&self, rib: &Rib<A>, others: &Rib<A>) -> Result<(), String> {
        if let Some(extent) = self.extent {
            self.check_nodes(extent, rib)?;
        }
        let had = (self.root.len(), self.root.last(), self.before, self.changed.len());
        let slots = self.extent.map_or(0, |extent| extent.slots());
        let outside = |extent: Extent<A>| rib.iter().filter(|route| extent.is_outside(route.prefix)).count();
        let outside = self.extent.map_or(0, outside);
        let word = if self.extent.is_some() && outside == 0 { COVER } else { 0 };
        if had != (slots + 1, Some(&word), (self.cover, outside), 0) {
            return Err(format!("the slots are {had:?}"));
        }
        let expected = rib.iter().filter(|route| self.is_other(route.prefix)).count();
        if others.len() != expected {
            return Err(format!("the inner engine has {} routes, expected {expected}", others.len()));
        }
        self.shorts.validate().and_then(|()| self.longs.validate())
    }

    fn check_nodes(&self, extent: Extent<A>, rib: &Rib<A>) -> Result<(), String> {
        let had = (self.first, self.position, self.slots(), self.cover);
        let cover = Self::cover_of(rib, extent.network);
        let expected = (extent.first_slot(), extent.position, extent.slots(), cover);
        if had != expected {
            return Err(format!("the slots are {had:?}, expected {expected:?}"));
        }
        let mut named = [vec![false; self.shorts.len()], vec![false; self.longs.len()]];
        let mut ranges = rib.at_least(extent.network.len() + 1).ranges_within(extent.network).peekable();
        for slot in 0..extent.slots() {
            for (last, word) in self.read_back(extent, slot, &mut named)? {
                while let Some(range) = ranges.next_if(|range| last_of(range) <= last) {
                    compare(word, last, range)?;
                    if last_of(&range) == last {
                        break;
                    }
                }
                if let Some(&range) = ranges.peek().filter(|range| range.first.in_128() <= last) {
                    compare(word, last, range)?;
                }
            }
        }
        let counted = named.map(|named| named.into_iter().filter(|&named| named).count());
        let nodes = [
            self.shorts.len() - self.shorts.free_total() - 1,
            self.longs.len() - self.longs.free_total() - 1,
        ];
        if nodes == counted { Ok(()) } else { Err(format!("{nodes:?} nodes, counted {counted:?}")) }
    }
}
