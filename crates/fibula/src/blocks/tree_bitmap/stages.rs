//! The lookup level by level, for a pipeline of threads: the paper's Figure 5.
//!
//! Each stage looks into one node: its internal map for the longest match there, its external map for the child. So nothing
//! can be put off until the way back, as [`Trie::find`] does.
//!
//! ```text
//! handed on   | word of the next node, plus one; 0: the walk has ended | longest match so far |
//!              63                                                   32  31                  0
//! ```

use super::initial_array::InitialArray;
use super::node::{Map, path};
use super::trie::Trie;
use crate::Address;
use crate::engine::{Unmetered, Width};

impl<A: Address, W: Width, M: Map> InitialArray<A, W, M> {
    /// One stage for the array with the nodes that it holds, and one for each level of nodes below.
    #[must_use]
    pub fn stages(&self) -> usize {
        1 + usize::from((A::BITS - self.bits) / M::STRIDE)
    }

    /// One stage of many lookups.
    #[inline(always)]
    pub fn run_stage(&self, stage: usize, addresses: &[A], found: &mut [u64]) {
        let offset = self.bits + stage as u8 * M::STRIDE;
        for (&address, found) in addresses.iter().zip(found) {
            let (node, best) = if stage == 0 {
                (self.root(self.slot(address)), 0)
            } else {
                let Some(at) = (*found >> u32::BITS).checked_sub(1) else { continue };
                (self.trie.node(at as usize, &mut Unmetered), *found as u32)
            };
            let path = path::<A, M>(address, offset);
            let longest = node.longest(path);
            let best = longest.map_or(best, |position| {
                let place = Trie::<W, M>::result_place(node, position);
                self.trie.result_at(place, &mut Unmetered).widen().0
            });
            let next = node.child(path).map_or(0, |at| at as u64 + 1);
            *found = next << u32::BITS | u64::from(best);
        }
    }
}
