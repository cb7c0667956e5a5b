//! What writes slots: the ranges of a part of the window, cut where slots and cells end.

use super::node::{CELL, COVER, Intervals as _, LONG, Long, MARK, SHORT, Short};
use super::{InWindow, Window};
use crate::{Limit, NextHop, Prefix, Rib};

/// Cuts the addresses from `first` to `last` where units of 2^`bits` addresses end. Calls `with`
/// with the first and the last address of each part, and whether the part is whole units.
fn for_each_part(first: u128, last: u128, bits: u8, mut with: impl FnMut(u128, u128, bool)) {
    let inside = (1 << bits) - 1;
    let mut first = first;
    loop {
        let ends = first | inside;
        let is_whole = first & inside == 0 && ends <= last;
        let part_last = match is_whole {
            true if last & inside == inside => last,
            true => (last & !inside) - 1,
            false => last.min(ends),
        };
        with(first, part_last, is_whole);
        if part_last == last {
            return;
        }
        first = part_last + 1;
    }
}

/// Appends an interval, or lengthens the last one if it has the same word.
fn join<E>(intervals: &mut Vec<(E, u16)>, end: E, word: u16) {
    match intervals.last_mut() {
        Some(last) if last.1 == word => last.0 = end,
        _ => intervals.push((end, word)),
    }
}

/// Returns the bits of an address in 128 that are after its cell.
pub(super) fn number_of(address: u128, position: u8) -> u64 {
    (address << (position + CELL) >> 64) as u64
}

/// Returns the word of a next hop.
fn word_of(next_hop: NextHop) -> u16 {
    if next_hop.is_some() { next_hop.0 as u16 } else { COVER }
}

impl<A: InWindow> Window<A> {
    /// Writes the slots of a prefix that is whole slots. O(1) a slot and a route in them.
    pub(super) fn paint(&mut self, rib: &Rib<A>, within: Prefix<A>) -> Result<(), Limit> {
        let Some(extent) = self.extent else { return Ok(()) };
        let position = extent.position;
        let (slot_bits, cell_bits) = (128 - position, 128 - position - CELL);
        // The bits behind an address in 128.
        let (network, behind) =
            (extent.network.first().in_128(), u128::MAX.checked_shr(A::BITS.into()).unwrap_or(0));
        let (mut cells, mut numbers) = (Vec::new(), Vec::new());
        let mut painted = Ok(());
        for range in rib.at_least(extent.network.len() + 1).ranges_within(within) {
            let word = word_of(range.next_hop);
            let (first, last) = (range.first.in_128(), range.last.in_128() | behind);
            for_each_part(first, last, slot_bits, |first, last, is_whole| {
                let slot_of = |address: u128| ((address - network) >> slot_bits) as usize;
                let slot = slot_of(first);
                if is_whole {
                    (slot..=slot_of(last)).for_each(|slot| self.set(slot, word));
                    return;
                }
                for_each_part(first, last, cell_bits, |_, last, is_whole| {
                    let cell = (last >> cell_bits) as u16;
                    if is_whole {
                        return join(&mut cells, cell, word);
                    }
                    join(&mut numbers, number_of(last, position), word);
                    if last.wrapping_add(1).trailing_zeros() >= cell_bits.into() {
                        match self.cell_of(&numbers) {
                            Ok(word) => join(&mut cells, cell, word),
                            Err(limit) => painted = Err(limit),
                        }
                        numbers.clear();
                    }
                });
                if last.wrapping_add(1).trailing_zeros() >= slot_bits.into() {
                    match self.slot_of_cells(&cells) {
                        Ok(word) => self.set(slot, word),
                        Err(limit) => painted = Err(limit),
                    }
                    cells.clear();
                }
            });
            if painted.is_err() {
                self.free_longs(cells.iter().map(|&(_, word)| word));
                break;
            }
        }
        painted
    }

    /// Stores the intervals of a cell, and returns its word.
    fn cell_of(&mut self, intervals: &[(u64, u16)]) -> Result<u16, Limit> {
        if intervals.len() > LONG {
            return Ok(0);
        }
        self.longs.insert(&[Long::of(intervals)]).map(|at| MARK | at as u16)
    }

    /// Stores the intervals of a slot, and returns its word.
    fn slot_of_cells(&mut self, intervals: &[(u16, u16)]) -> Result<u16, Limit> {
        let word = if intervals.len() > SHORT {
            Ok(0)
        } else {
            self.shorts.insert(&[Short::of(intervals)]).map(|at| MARK | at as u16)
        };
        if !matches!(word, Ok(1..)) {
            self.free_longs(intervals.iter().map(|&(_, word)| word));
        }
        word
    }

    /// Gives a slot another word. What the word before names stays until it is known that the
    /// change is made.
    fn set(&mut self, slot: usize, word: u16) {
        let before = std::mem::replace(&mut self.root[slot], word);
        if before == word {
            return;
        }
        if self.asks(before) != self.asks(word) {
            self.turned.push(slot);
        }
        self.changed.push((slot, before));
    }

    /// Returns whether the inner engine is asked for some of the addresses of a slot with this
    /// word.
    pub(super) fn asks(&self, word: u16) -> bool {
        let node = (word & MARK != 0).then(|| self.shorts[usize::from(word & !MARK)]);
        node.map_or(word == 0, |node| node.intervals(u16::MAX).any(|(_, word)| word == 0))
    }

    /// Frees the nodes that the word of a slot names.
    pub(super) fn free(&mut self, word: u16) {
        if word & MARK != 0 {
            let at = usize::from(word & !MARK);
            let node = self.shorts[at];
            self.free_longs(node.intervals(u16::MAX).map(|(_, word)| word));
            self.shorts.remove(at, 1);
        }
    }

    fn free_longs(&mut self, words: impl Iterator<Item = u16>) {
        for word in words.filter(|word| word & MARK != 0) {
            self.longs.remove(usize::from(word & !MARK), 1);
        }
    }
}
