//! The structural check: every bit and next hop is the one a fresh build would write, and no other
//! bit is set.

use super::{BitMaps, PIVOT, PivotTable, node, run};
use crate::blocks::expansion::counts;
use crate::blocks::pushing::{internal_nodes, pushed};
use fibula::engine::Width;
use fibula::{NextHop, Prefix, Rib};

impl<W: Width, B: BitMaps> PivotTable<W, B> {
    /// Returns the first contradiction to the table as an error.
    pub(super) fn contradiction(&self, rib: &Rib<u32>) -> Result<(), String> {
        self.below.validate(internal_nodes(rib, PIVOT))?;
        if self.next_hops[0] != W::default() {
            return Err("nobody's next hop is not 0".into());
        }
        // Every slot of every route has its bit, and its next hop where no longer route or chunk
        // answers.
        for route in rib {
            let Some(depth) = Self::depth_of(route.prefix.len()) else { continue };
            let level = B::LEVELS[depth];
            for slot in run(route.prefix, level) {
                let node = node(slot, level);
                let chunk = depth == Self::PIVOT_DEPTH && self.below.owns_chunk(slot);
                let longest = rib.longest_cover(node) == Some(route);
                if !self.bit(depth, slot) || longest && !chunk && self.found(depth, slot) != route.next_hop {
                    return Err(format!("{node}: not {} to {}", route.prefix, route.next_hop.0));
                }
            }
        }
        let mut bits: u128 = counts(rib, B::LEVELS).iter().map(|count| count.expanded).sum();
        for node in self.below.under(Prefix::ALL) {
            let slot = (node.first() >> 8) as usize;
            let solid = rib
                .longest_cover(node)
                .is_some_and(|r| Self::depth_of(r.prefix.len()) == Some(Self::PIVOT_DEPTH));
            bits += u128::from(!solid);
            let chunk = self.below.n32(slot).filter(|_| self.bit(Self::PIVOT_DEPTH, slot));
            let sound = |chunk: &[W]| {
                pushed(rib, node, 32)
                    .all(|(slots, hop)| chunk[slots].iter().all(|&found| found.widen() == hop))
            };
            if !chunk.is_some_and(sound) {
                return Err(format!("the chunk of {node} does not answer as the table"));
            }
        }
        // Every bit that should be set is; if the number of bits set is the same, no other is.
        let set: u128 = self.words.iter().map(|word| u128::from(word.count_ones())).sum();
        if set == bits { Ok(()) } else { Err(format!("{set} bits are set, {bits} should be")) }
    }

    /// Returns the next hop of a slot without a chunk.
    pub(super) fn found(&self, depth: usize, slot: usize) -> NextHop {
        if depth == Self::PIVOT_DEPTH {
            NextHop(self.below.n24_at(slot))
        } else {
            self.next_hops[Self::entry(depth, slot)].widen()
        }
    }
}
