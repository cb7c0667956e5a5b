//! [`Raster`]: what each pixel of a map shows, painted in one walk over the intervals of its block.
//!
//! An interval that covers whole cells is painted as the fewest squares. What shares a cell with
//! others is added up until the cell ends. So neither the pixels that one route covers nor those
//! without a route are visited one by one.

use crate::{Entry, View};
use fibula::{Address, Prefix};

/// The class of the addresses that no route covers.
pub(crate) const UNROUTED: u8 = 0;

/// The class of what is the same in two tables, and those of what is not.
pub(crate) const SAME: u8 = 1;
pub(crate) const CHANGED: u8 = 2;
pub(crate) const ADDED: u8 = 3;
pub(crate) const REMOVED: u8 = 4;

/// The class of a pixel by the number of its routes, which is covered if there is none.
pub(crate) fn class_of_count(count: u32) -> u8 {
    // 1, 2, to 4, to 8 and so on.
    let doublings = if count <= 1 { count } else { 1 + (count - 1).ilog2() + 1 };
    (1 + doublings).min(CLASSES_OF_COUNTS.into()) as u8
}

/// The number of those classes: the last has more than 256 routes.
pub(crate) const CLASSES_OF_COUNTS: u8 = 11;

/// A map as rows of pixels from the upper left corner on, each the index of a colour in the
/// [`Palette`](crate::Palette) of the map.
#[derive(Clone, Debug, PartialEq)]
pub struct Raster {
    size: u32,
    pixels: Vec<u8>,
    /// The addresses of each class.
    space: Vec<f64>,
}

impl Raster {
    /// Returns the pixels a side.
    #[must_use]
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Returns the pixels, row by row.
    #[must_use]
    pub fn pixels(&self) -> &[u8] {
        &self.pixels
    }

    /// Returns the part of the block's addresses that a route covers, from 0 to 1; a route of
    /// either table if there are two.
    #[must_use]
    pub fn covered(&self) -> f64 {
        let covered: f64 = self.space[1..].iter().sum();
        covered / (covered + self.space[0])
    }

    /// Returns the part of the covered addresses that an entry of the legend means, from 0 to 1. It
    /// is 0 if none is covered.
    #[must_use]
    pub fn share(&self, entry: &Entry) -> f64 {
        let covered: f64 = self.space[1..].iter().sum();
        let of_entry: f64 = self.space[entry.class.into()..=entry.last.into()].iter().sum();
        if covered > 0.0 { of_entry / covered } else { 0.0 }
    }
}

/// Paints a block from its first address to its last.
pub(crate) struct Painter<'v, A: Address> {
    view: &'v View<A>,
    raster: Raster,
    /// The addresses of the present cell by key, and the keys that have some, in order.
    tally: Vec<u128>,
    seen: Vec<u32>,
    /// The key that colours a cell only where there is no other.
    yields: Option<u32>,
}

impl<'v, A: Address> Painter<'v, A> {
    pub(crate) fn new(view: &'v View<A>, yields: Option<u32>) -> Self {
        let size = view.size();
        let pixels = vec![UNROUTED; (size * size) as usize];
        let raster = Raster { size, pixels, space: vec![0.0; 256] };
        Self { view, raster, tally: Vec::new(), seen: Vec::new(), yields }
    }

    /// Paints the whole block, of which each item is the next interval: its last address and its
    /// key. Key 0 is unrouted. A cell has the class of the key with most addresses, and of the
    /// first of them if there are several.
    pub(crate) fn paint(&mut self, intervals: impl Iterator<Item = (A, u32)>, class: impl Fn(u32) -> u8) {
        let host_bits = !A::mask(self.view.cell_len());
        let mut next = Some(self.view.block().first());
        for (last, key) in intervals {
            let Some(first) = next else { break };
            next = last.next();
            let count = (last.to_u128() - first.to_u128()) as f64 + 1.0;
            self.raster.space[usize::from(class(key))] += count;
            let (mut from, mut to) =
                (u64::from(self.view.cell_of(first)), u64::from(self.view.cell_of(last)));
            if first & host_bits != A::ZERO {
                let end = if from == to { last } else { first | host_bits };
                self.add(key, first, end);
                if end & host_bits == host_bits {
                    self.end_cell(from as u32, &class);
                }
                from += 1;
            }
            // Past the cells that the interval covers wholly. `from` may be one more than `to`.
            let is_whole = last & host_bits == host_bits;
            if !is_whole && from <= to {
                self.add(key, last & !host_bits, last);
            }
            to += u64::from(is_whole);
            if key != 0 {
                self.fill(from, to, class(key));
            }
        }
    }

    /// Adds the addresses of one cell from `first` to `last`.
    fn add(&mut self, key: u32, first: A, last: A) {
        if key == 0 {
            return;
        }
        let at = key as usize;
        if at >= self.tally.len() {
            self.tally.resize(at + 1, 0);
        }
        if self.tally[at] == 0 {
            self.seen.push(key);
        }
        // A part of a cell: less than 2^128.
        self.tally[at] += last.to_u128() - first.to_u128() + 1;
    }

    /// Paints a cell by what was added.
    fn end_cell(&mut self, cell: u32, class: impl Fn(u32) -> u8) {
        let mut most = (0, 0);
        for &key in &self.seen {
            let addresses = std::mem::take(&mut self.tally[key as usize]);
            // One address of another is more than all of those that yield.
            let weight = if self.yields == Some(key) { 1 } else { addresses.saturating_add(1) };
            if weight > most.0 {
                most = (weight, key);
            }
        }
        self.seen.clear();
        if most.1 != 0 {
            self.fill(cell.into(), u64::from(cell) + 1, class(most.1));
        }
    }

    /// Paints the cells from `from` up to but not `to`, as the fewest squares.
    fn fill(&mut self, mut from: u64, to: u64, class: u8) {
        while from < to {
            let aligned = if from == 0 { u32::MAX } else { from.trailing_zeros() / 2 };
            let steps = aligned.min((to - from).ilog2() / 2) as u8;
            let square = self.view.square(from as u32, steps);
            let (side, width) = (square.side as usize, self.raster.size as usize);
            let rows = self.raster.pixels.chunks_exact_mut(width).skip(square.y as usize).take(side);
            rows.for_each(|row| row[square.x as usize..][..side].fill(class));
            from += 1 << (2 * steps);
        }
    }

    /// Paints each cell that has routes by their number. The prefixes are in order.
    pub(crate) fn count(&mut self, prefixes: impl Iterator<Item = Prefix<A>>) {
        let cell_of = |prefix: &Prefix<A>| self.view.cell_of(prefix.first());
        let mut inside = prefixes.filter(|prefix| prefix.len() >= self.view.cell_len()).peekable();
        while let Some(prefix) = inside.next() {
            let cell = cell_of(&prefix);
            let mut count = 1;
            while inside.next_if(|next| cell_of(next) == cell).is_some() {
                count += 1;
            }
            self.fill(cell.into(), u64::from(cell) + 1, class_of_count(count));
        }
    }

    /// Returns what was painted.
    pub(crate) fn finish(self) -> Raster {
        self.raster
    }
}
