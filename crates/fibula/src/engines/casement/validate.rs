//! The structural check.

use super::build::{number_in_cell, others};
use super::node::{CELL, MARK};
use super::window::Window;
use super::{Casement, CasementView};
use crate::Rib;
use crate::engine::{Engine, Width};

/// What a word says: the last address that it is for, and the next hop, or 0.
type Found = (u128, u16);

impl<W: Width> CasementView<W> {
    /// Reads the nodes of a slot back, and counts them into `nodes`, first short ones, then long.
    fn read_back(&self, window: Window, slot: usize, nodes: &mut [usize; 2]) -> Result<Vec<Found>, String> {
        let end = |first: u128, bits: u8| first | ((1 << bits) - 1);
        let (slot_bits, cell_bits) = (128 - window.position, 128 - window.position - CELL);
        let first = window.network.first() | (slot as u128) << slot_bits;
        let mut found = Vec::new();
        // Numbers grow in the order of the addresses.
        let mut next = |kind: usize, word: u16| {
            nodes[kind] += 1;
            let is_next = usize::from(word & !MARK) == nodes[kind];
            is_next.then_some(nodes[kind]).ok_or_else(|| format!("slot {slot} names node {word:x}"))
        };
        let word = self.root[slot];
        if word & MARK == 0 {
            return Ok(vec![(end(first, slot_bits), word)]);
        }
        let Some(short) = self.shorts.get(next(0, word)?) else {
            return Err(format!("short node {word:x} of slot {slot} is past the end"));
        };
        for (cell, word) in short.intervals() {
            let first = first | u128::from(cell) << cell_bits;
            if word & MARK == 0 {
                found.push((end(first, cell_bits), word));
                continue;
            }
            let Some(long) = self.longs.get(next(1, word)?) else {
                return Err(format!("long node {word:x} of slot {slot} is past the end"));
            };
            let numbers = long.intervals(number_in_cell(u128::MAX, window.position));
            let shift = window.position - Window::POSITION_LEAST;
            found.extend(numbers.map(|(number, word)| (first | u128::from(number >> shift), word)));
        }
        if found.last().is_none_or(|&(last, _)| last != end(first, slot_bits)) || !found.is_sorted() {
            return Err(format!("the intervals of slot {slot} end at {found:x?}"));
        }
        Ok(found)
    }
}

impl<W: Width> Casement<W> {
    /// Reads all slots back, and compares their words with the ranges of the table. The other
    /// engine must have the routes of all slots that ask it.
    pub(super) fn check(&self, rib: &Rib<u128>) -> Result<(), String> {
        let (view, window) = (&self.view, Window::of(rib));
        let had = (view.first, view.position, view.root.len(), view.root.last());
        let expected = (window.first_slot(), window.position, window.slots() + 1, Some(&0));
        if had != expected {
            return Err(format!("the slots are {had:?}, expected {expected:?}"));
        }
        let mut nodes = [0; 2];
        let mut asked = vec![false; window.slots()];
        let mut ranges = rib.ranges_within(window.network).peekable();
        for (slot, asked) in asked.iter_mut().enumerate() {
            for (last, word) in view.read_back(window, slot, &mut nodes)? {
                while let Some(range) = ranges.peek() {
                    if word != 0 && range.next_hop.0 != word.into() {
                        return Err(format!("up to {last:x} the next hop is {word}, expected {range:x?}"));
                    }
                    *asked |= word == 0 && range.next_hop.0 != 0;
                    if range.last > last {
                        break;
                    }
                    let is_over = range.last == last;
                    ranges.next();
                    if is_over {
                        break;
                    }
                }
            }
        }
        let are = [view.shorts.len() - 1, view.longs.len() - 1];
        if nodes != are {
            return Err(format!("{are:?} nodes, counted {nodes:?}"));
        }
        let routes = others(window, &asked, rib);
        if self.others != routes.len() {
            return Err(format!("the other engine has {} routes, expected {}", self.others, routes.len()));
        }
        view.others.validate(&routes)
    }
}
