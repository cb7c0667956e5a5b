//! Updates: the run of bits and next hops of a route, and the chunks below.

use super::{BitMaps, PIVOT, PivotTable, node, run};
use crate::blocks::pushing::{exposed, is_internal, pushed};
use fibula::engine::Width;
use fibula::{NextHop, Prefix, Rib, Route};

impl<W: Width, B: BitMaps> PivotTable<W, B> {
    /// Writes a route of at most 24 bits whose covers are written already, and nothing longer below
    /// it.
    pub(super) fn expand(&mut self, route: Route<u32>) {
        let Some(depth) = Self::depth_of(route.prefix.len()) else { return };
        let slots = run(route.prefix, B::LEVELS[depth]);
        self.set_bits(depth, slots.start, u64::MAX >> (64 - slots.len()), true);
        for slot in slots {
            self.set_next_hop(depth, slot, route.next_hop);
        }
    }

    pub(super) fn set_next_hop(&mut self, depth: usize, slot: usize, next_hop: NextHop) {
        self.cost.entries_set += 1;
        if depth == Self::PIVOT_DEPTH {
            self.below.set(slot, next_hop);
        } else {
            self.next_hops[Self::entry(depth, slot)] = W::narrow(next_hop);
        }
    }

    /// Follows one prefix whose route was announced, replaced or withdrawn. `rib` is the table with
    /// all changes in it. After a call for each, in any order, this table equals a fresh build.
    pub(super) fn follow(&mut self, rib: &Rib<u32>, prefix: Prefix<u32>) {
        if prefix.len() > PIVOT {
            return self.repaint_long(rib, prefix);
        }
        self.repaint_run(rib, prefix);
        for node in self.below.under(prefix) {
            if owns(rib, prefix, node) {
                self.repaint_chunk(rib, node);
            }
        }
    }

    /// Writes the slots that a prefix owns on its level: with its route, or with the cover that
    /// shares the level.
    fn repaint_run(&mut self, rib: &Rib<u32>, prefix: Prefix<u32>) {
        let Some(depth) = Self::depth_of(prefix.len()) else { return };
        let level = B::LEVELS[depth];
        let route = rib.longest_cover(prefix).filter(|r| Self::depth_of(r.prefix.len()) == Some(depth));
        let slots = run(prefix, level);
        let mut written = 0;
        for slot in slots.clone() {
            let node = node(slot, level);
            let has_chunk = depth == Self::PIVOT_DEPTH && self.below.chunk(slot).is_some();
            if !has_chunk && owns(rib, prefix, node) {
                if let Some(route) = route {
                    self.set_next_hop(depth, slot, route.next_hop);
                }
                written |= 1 << (slot - slots.start);
            }
        }
        self.set_bits(depth, slots.start, written, route.is_some());
    }

    /// Follows a prefix longer than 24 bits: the first one below a node creates its chunk, the last
    /// one removes it.
    pub(super) fn repaint_long(&mut self, rib: &Rib<u32>, prefix: Prefix<u32>) {
        let node = Prefix::containing(prefix.first(), PIVOT);
        let slot = (node.first() >> 8) as usize;
        match (self.below.chunk(slot).is_some(), is_internal(rib, node)) {
            (true, true) => self.repaint_chunk(rib, prefix),
            (false, true) => {
                self.below.create(slot, pushed(rib, node, 32), &mut self.cost);
                self.set_bits(Self::PIVOT_DEPTH, slot, 1, true);
            }
            (true, false) => {
                self.below.remove(slot, &mut self.cost);
                self.repaint_run(rib, node);
            }
            (false, false) => {}
        }
    }

    /// Writes the part that a prefix of at least 24 bits owns of the chunk around it.
    fn repaint_chunk(&mut self, rib: &Rib<u32>, prefix: Prefix<u32>) {
        let next_hop = rib.longest_cover(prefix).map_or(NextHop::NONE, |route| route.next_hop);
        for (first, last) in exposed(rib, prefix) {
            self.below.write(first, last, next_hop, &mut self.cost);
        }
    }
}

/// Returns whether no route longer than `prefix` covers `node`, which is below it.
fn owns(rib: &Rib<u32>, prefix: Prefix<u32>, node: Prefix<u32>) -> bool {
    prefix == node || rib.longest_cover(node).is_none_or(|route| route.prefix.len() <= prefix.len())
}
