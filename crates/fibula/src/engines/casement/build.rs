//! The build: the ranges of the window, cut where slots and cells end.

use super::node::{CELL, LONG, Long, MARK, SHORT, Short};
use super::window::Window;
use super::{Casement, CasementView, NODES, NODES_MAX};
use crate::engine::{Config, Engine, Width};
use crate::engines::planb::PlanB;
use crate::memory::{Array, Pages};
use crate::{Error, Limit, Rib};

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

/// The nodes of a window.
#[derive(Debug)]
pub(super) struct Nodes {
    pub root: Array<u16>,
    pub shorts: Array<Short>,
    pub longs: Array<Long>,
    /// The slots for whose addresses the other engine is asked, of some or all.
    pub asked: Vec<bool>,
}

impl Nodes {
    /// Makes those of a table. O(n), and O(1) a slot.
    pub(super) fn of(window: Window, rib: &Rib<u128>, pages: Pages) -> Self {
        let slots = window.slots();
        let mut nodes = Self {
            root: Array::filled(0, slots + 1, pages),
            shorts: Array::filled(Short::default(), 1, pages),
            longs: Array::filled(Long::default(), 1, pages),
            asked: vec![false; slots],
        };
        if rib.max_next_hop().0 > Window::NEXT_HOPS_MAX {
            nodes.asked.fill(true);
            return nodes;
        }
        let (slot_bits, cell_bits) = (128 - window.position, 128 - window.position - CELL);
        let (mut cells, mut numbers) = (Vec::new(), Vec::new());
        for range in rib.ranges_within(window.network) {
            let word = range.next_hop.0 as u16;
            for_each_part(range.first, range.last, slot_bits, |first, last, is_whole| {
                let slot = window.slot_of(first);
                if is_whole {
                    nodes.root[slot..=window.slot_of(last)].fill(word);
                    return;
                }
                for_each_part(first, last, cell_bits, |_, last, is_whole| {
                    let cell = (last >> cell_bits) as u16;
                    if is_whole {
                        return join(&mut cells, cell, word);
                    }
                    join(&mut numbers, number_in_cell(last, window.position), word);
                    if last.wrapping_add(1).trailing_zeros() >= cell_bits.into() {
                        join(&mut cells, cell, nodes.end_cell(slot, &numbers));
                        numbers.clear();
                    }
                });
                if last.wrapping_add(1).trailing_zeros() >= slot_bits.into() {
                    nodes.end_slot(slot, &cells);
                    cells.clear();
                }
            });
        }
        nodes.shorts.shrink_to_fit();
        nodes.longs.shrink_to_fit();
        nodes
    }

    /// Stores the intervals of a cell, and returns its word.
    fn end_cell(&mut self, slot: usize, intervals: &[(u64, u16)]) -> u16 {
        if intervals.len() > LONG {
            self.asked[slot] = true;
            return 0;
        }
        self.longs.push(Long::of(intervals));
        MARK | (self.longs.len() - 1) as u16
    }

    /// Stores the intervals of a slot.
    fn end_slot(&mut self, slot: usize, intervals: &[(u16, u16)]) {
        if intervals.len() > SHORT {
            self.asked[slot] = true;
            let longs = intervals.iter().filter(|&&(_, word)| word & MARK != 0).count();
            self.longs.truncate(self.longs.len() - longs);
            return;
        }
        self.shorts.push(Short::of(intervals));
        self.root[slot] = MARK | (self.shorts.len() - 1) as u16;
    }
}

/// Returns the bits of an address below its cell, as a number of 64 bits.
#[inline(always)]
pub(super) fn number_in_cell(address: u128, position: u8) -> u64 {
    (address as u64) << (position - Window::POSITION_LEAST)
}

/// Returns the routes that the other engine has.
pub(super) fn others(window: Window, asked: &[bool], rib: &Rib<u128>) -> Rib<u128> {
    let is_other = |route: &crate::Route<u128>| {
        let prefix = route.prefix;
        !window.network.covers(prefix)
            || prefix.len() <= window.position
            || asked[window.slot_of(prefix.first())]
    };
    rib.iter().filter(is_other).collect()
}

impl<W: Width> Casement<W> {
    /// Builds a table with a given window.
    pub(super) fn build_in(window: Window, rib: &Rib<u128>, config: &Config) -> Result<Self, Error> {
        let Nodes { root, shorts, longs, asked } = Nodes::of(window, rib, config.pages);
        Limit::check(NODES, shorts.len().max(longs.len()) as u64, NODES_MAX)?;
        let routes = others(window, &asked, rib);
        let view = CasementView {
            root,
            shorts,
            longs,
            first: window.first_slot(),
            position: window.position,
            others: PlanB::build(&routes, config)?,
        };
        Ok(Self { view, others: routes.len() })
    }
}
