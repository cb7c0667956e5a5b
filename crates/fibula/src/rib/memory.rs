//! [`Rib::memory`]: the bytes of the ordered map, which does not say them itself.

use super::Rib;
use crate::memory::Memory;
use crate::{Address, NextHop, Prefix};

/// The most routes of a node of the map, which has one child more unless it is a leaf.
const NODE: usize = 11;

impl<A: Address> Rib<A> {
    /// Returns about how many bytes the table occupies: up to a quarter more or less. The map does
    /// not say how full its nodes are. They are full if the table was collected in order, and two
    /// thirds full if routes were inserted in random order. O(1).
    ///
    /// ```
    /// use fibula::{NextHop, Prefix, Rib, Route};
    /// let routes = (0..1000).map(|at| Route { prefix: Prefix::host(at), next_hop: NextHop(1) });
    /// let rib: Rib<u32> = routes.collect();
    /// assert!((14_000..21_000).contains(&rib.memory().total()));
    /// ```
    #[must_use]
    pub fn memory(&self) -> Memory {
        Memory::new().off_chip("routes", self.bytes())
    }

    pub(crate) fn bytes(&self) -> usize {
        // Routes, a pointer to the parent and two counters; of each leaf, a twelfth of a node with
        // twelve pointers to children.
        let leaf = NODE * (size_of::<Prefix<A>>() + size_of::<NextHop>()) + size_of::<usize>() + 4;
        let leaf = leaf.next_multiple_of(align_of::<Prefix<A>>().max(align_of::<usize>()));
        let inner = leaf + (NODE + 1) * size_of::<usize>();
        let full = self.len() * (leaf + inner / (NODE + 1)) / (NODE + 1);
        // Five sixths full: in the middle between full and two thirds.
        full * 6 / 5
    }
}
