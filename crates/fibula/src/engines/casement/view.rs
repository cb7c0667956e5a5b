//! [`CasementView`]: what lookups read, and the lookup of one address. Batches are in
//! [`batch`](super::batch).

use super::build::number_in_cell;
use super::node::{Long, MARK, Short};
use super::window::Window;
use crate::NextHop;
use crate::arch::{Isa, Scalar};
use crate::blocks::linear_tree::halves;
use crate::engine::{Engine, Lookup, Meter, Unmetered, Width};
use crate::engines::planb::PlanB;
use crate::memory::Array;

/// The nodes as lookups read them.
#[derive(Clone, Debug)]
pub(crate) struct CasementView<W: Width> {
    /// The word of each slot, then 0.
    pub(super) root: Array<u16>,
    pub(super) shorts: Array<Short>,
    pub(super) longs: Array<Long>,
    /// The first bits of the first slot, as a number.
    pub(super) first: u64,
    /// The bit at which slots end.
    pub(super) position: u8,
    /// The routes of addresses whose word is 0.
    pub(super) others: PlanB<W>,
}

/// Returns the answer of a word. One that is too great is in a snapshot that somebody forged.
#[inline(always)]
pub(super) fn narrow<W: Width>(word: u16) -> W {
    W::narrow(NextHop(u32::from(word) & W::MAX))
}

/// Returns the number of the node that a word names, or 0 if it names none.
#[inline(always)]
pub(super) fn named(word: u16) -> u16 {
    if word & MARK == 0 { 0 } else { word & !MARK }
}

impl<W: Width> CasementView<W> {
    /// Returns the number of slots.
    pub(super) fn slots(&self) -> usize {
        self.root.len() - 1
    }

    /// Returns the index of the word of an address, the last one if it is outside the network.
    #[inline(always)]
    pub(super) fn slot(&self, address: u128) -> usize {
        let number = halves(address).0 >> (64 - self.position);
        number.wrapping_sub(self.first).min(self.slots() as u64) as usize
    }

    /// Returns the number of an address's cell in its slot.
    #[inline(always)]
    pub(super) fn cell(&self, address: u128) -> u16 {
        // Put together of both halves by shifts of 64 bits: one of 128 bits costs more.
        let ((network, host), position) = (halves(address), self.position);
        let above = network << (position - Window::POSITION_LEAST);
        let below = host >> 1 >> (63 + Window::POSITION_LEAST - position);
        (above | below) as u16
    }

    /// Looks up one address in the nodes. An answer of 0 is one of the other engine's.
    #[inline(always)]
    fn word(&self, isa: impl Isa, address: u128, meter: &mut impl Meter) -> u16 {
        let word = meter.load(&self.root[self.slot(address)]);
        if word & MARK == 0 {
            return word;
        }
        let node = meter.load(&self.shorts[usize::from(named(word))]);
        let word = short_word(isa, &node, self.cell(address));
        if word & MARK == 0 {
            return word;
        }
        let node = meter.load(&self.longs[usize::from(named(word))]);
        long_word(isa, &node, number_in_cell(address, self.position))
    }
}

/// Returns the word of a cell in a short node.
#[inline(always)]
pub(super) fn short_word(isa: impl Isa, node: &Short, cell: u16) -> u16 {
    // The last end is the greatest number, except in node 0 and where somebody forged it.
    node.words[isa.count_below_short(&node.ends, cell) as usize % node.words.len()]
}

/// Returns the word of a number in a long node.
#[inline(always)]
pub(super) fn long_word(isa: impl Isa, node: &Long, number: u64) -> u16 {
    let below = isa.numbers_below(zerocopy::transmute_ref!(node), number) & Long::ENDS;
    node.words[below.count_ones() as usize]
}

impl<W: Width> Lookup<u128> for CasementView<W> {
    type Width = W;

    #[inline(always)]
    fn lookup_metered<M: Meter>(&self, address: u128, meter: &mut M) -> W {
        match self.word(Scalar, address, meter) {
            0 => self.others.view().lookup_metered(address, meter),
            word => narrow(word),
        }
    }

    #[inline(always)]
    fn lookup_on<I: Isa>(&self, isa: I, address: u128) -> W {
        match self.word(isa, address, &mut Unmetered) {
            0 => self.others.view().lookup_on(isa, address),
            word => narrow(word),
        }
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, isa: I, addresses: &[u128], next_hops: &mut [W]) {
        self.many(isa, addresses, next_hops);
    }
}
