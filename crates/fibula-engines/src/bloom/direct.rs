//! [`Direct`]: the direct lookup array, one entry for each prefix of 20 bits.

use super::{Expanded, LEVELS};
use fibula::engine::{Meter, Width};
use fibula::parts::arch::prefetch;
use fibula::parts::memory::{Array, Pages};

const ENTRIES: usize = 1 << LEVELS[0];

/// The bits of an address that this array does not read.
const HOST_BITS: u8 = 32 - LEVELS[0];

/// The direct lookup array.
#[derive(Clone, Debug)]
pub(super) struct Direct<W: Width> {
    next_hops: Array<W>,
    /// The length of the route that wrote each next hop: for updates only.
    lens: Array<u8>,
}

impl<W: Width> Direct<W> {
    /// Returns an array without routes.
    pub(super) fn new(pages: Pages) -> Self {
        Self { next_hops: Array::zeroed(ENTRIES, pages), lens: Array::zeroed(ENTRIES, pages) }
    }

    /// Returns the next hop of `address`.
    #[inline(always)]
    pub(super) fn get(&self, address: u32, meter: &mut impl Meter) -> W {
        let next_hops: &[W; ENTRIES] = self.next_hops[..].try_into().expect("one entry a /20");
        meter.load(&next_hops[(address >> HOST_BITS) as usize])
    }

    #[inline(always)]
    pub(super) fn prefetch(&self, address: u32) {
        prefetch(&self.next_hops, (address >> HOST_BITS) as usize);
    }

    /// Returns the entry of `slot`.
    pub(super) fn at(&self, slot: u32) -> Expanded<W> {
        Expanded { next_hop: self.next_hops[slot as usize], len: self.lens[slot as usize], longer: false }
    }

    pub(super) fn set(&mut self, slot: u32, entry: Expanded<W>) {
        self.next_hops[slot as usize] = entry.next_hop;
        self.lens[slot as usize] = entry.len;
    }

    pub(super) fn bytes(&self) -> usize {
        self.next_hops.bytes()
    }

    pub(super) fn len_bytes(&self) -> usize {
        self.lens.bytes()
    }

    /// Returns the first slot where two arrays differ.
    pub(super) fn first_difference(&self, other: &Self) -> Option<u32> {
        if self.next_hops[..] == other.next_hops[..] && self.lens[..] == other.lens[..] {
            return None;
        }
        (0..ENTRIES as u32).find(|&slot| self.at(slot) != other.at(slot))
    }
}
