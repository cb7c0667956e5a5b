//! The lookup of one address. Batches are in [`batch`](super::batch).

use super::node::{COVER, ENDS, Long, MARK, Short, word_at};
use super::{InWindow, Window};
use crate::arch::Isa;
use crate::engine::Meter;

/// Returns the number of the node that a word names, or 0 if it names none.
#[inline(always)]
pub(super) fn named(word: u16) -> u16 {
    if word & MARK == 0 { 0 } else { word & !MARK }
}

impl<A: InWindow> Window<A> {
    /// Returns the number of slots.
    pub(super) fn slots(&self) -> usize {
        self.root.len() - 1
    }

    /// Returns the index of the word of an address, the last one if it is outside the network.
    #[inline(always)]
    pub(super) fn slot(&self, address: A) -> usize {
        let number = address.first_bits(self.position);
        number.wrapping_sub(self.first).min(self.slots() as u64) as usize
    }

    /// Returns the word of an address.
    #[inline(always)]
    pub(super) fn word(&self, isa: impl Isa, address: A, meter: &mut impl Meter) -> u16 {
        let word = meter.load(&self.root[self.slot(address)]);
        if word & MARK == 0 {
            return word;
        }
        let node = meter.load(&self.shorts[usize::from(named(word))]);
        let word = short_word(isa, &node, address.cell(self.position));
        if !A::HAS_LONG || word & MARK == 0 {
            return word;
        }
        let node = meter.load(&self.longs[usize::from(named(word))]);
        long_word(isa, &node, address.number(self.position))
    }
}

/// Returns the next hop that a word says, with the next hop of the cover.
#[inline(always)]
pub(super) fn next_hop(word: u16, cover: u16) -> u16 {
    if word == COVER { cover } else { word }
}

/// Returns the word of a cell in a short node.
#[inline(always)]
pub(super) fn short_word(isa: impl Isa, node: &Short, cell: u16) -> u16 {
    // The last end is the greatest number, except in node 0 and where somebody forged it.
    let [ends, words] = node;
    words[isa.count_below_short(ends, cell) as usize % words.len()]
}

/// Returns the word of a number in a long node.
#[inline(always)]
pub(super) fn long_word(isa: impl Isa, node: &Long, number: u64) -> u16 {
    let below = isa.numbers_below(node, number) & ENDS;
    word_at(node, below.count_ones() as usize)
}
