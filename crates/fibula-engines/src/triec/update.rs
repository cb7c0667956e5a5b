//! Updates, route by route. Entries whose stored lengths are to be replaced are written. A node is
//! allocated with the first more-specific route below it and freed with the last.

use super::entry::Atlas;
use super::hash16::Hash16;
use super::nhi::{NODES, Nhi};
use super::table::{
    HASHED_TO, LAST, LEVELS, NODE_ENTRIES, NODE_SLOTS, Table, global_unicast, slot_of, slots_of,
};
use crate::blocks::expansion;
use crate::blocks::pushing::is_internal;
use fibula::engine::Cost;
use fibula::{Address, Delta, Limit, NextHop, Prefix, Rib, Route};
use std::cmp::Reverse;
use std::ops::RangeInclusive;

/// Returns whether a table of TrieC holds or marks a route: those inside 2000::/3. The route of
/// 2000::/3 itself and those around it are its default.
pub(super) fn is_inside(prefix: Prefix<u128>) -> bool {
    prefix.len() > global_unicast().len() && global_unicast().covers(prefix)
}

impl<N: Nhi, L: Nhi, M: Atlas, const HELD: usize> Table<N, L, M, HELD> {
    /// Checks that `more` more routes fit, with their next hops. Counts as if none of their nodes
    /// existed yet.
    pub(super) fn check_room(
        &self,
        routes: impl IntoIterator<Item = (Prefix<u128>, NextHop)>,
    ) -> Result<(), Limit> {
        let mut nodes = self.owners.each_ref().map(|owners| owners.len() as u64);
        let mut entries = 0;
        for (prefix, next_hop) in routes.into_iter().filter(|&(prefix, _)| is_inside(prefix)) {
            L::check_next_hop(next_hop)?;
            for (nodes, level) in nodes.iter_mut().zip(LEVELS) {
                *nodes += u64::from(prefix.len() > level);
            }
            if prefix.len() > LEVELS[LAST] {
                entries += 1 << Hash16::<L, M, HELD>::KEY_BITS.saturating_sub(prefix.len());
            }
        }
        nodes.into_iter().try_for_each(|nodes| Limit::check(NODES, nodes, N::NODES_MAX))?;
        self.hash16.check_room(entries)
    }

    /// Applies changes that `rib` already holds, in the order of
    /// `in_order`. There must be [room](Self::check_room).
    ///
    /// A withdrawal may write the answer of a route whose own turn is still to come. It may also
    /// remove a node below which other routes still wait to be withdrawn; those then find nothing
    /// left to do.
    pub(super) fn follow(&mut self, rib: &Rib<u128>, deltas: &[Delta<u128>]) -> Cost {
        self.cost = Cost::default();
        for &Delta { prefix, after, .. } in deltas.iter().filter(|delta| is_inside(delta.prefix)) {
            if after.is_some() {
                self.announce(Route { prefix, next_hop: after });
            } else {
                self.withdraw(rib, prefix);
            }
        }
        if self.extra.has_many_holes() || self.last_extra.has_many_holes() {
            self.close_holes();
        }
        self.hash16.close_many_holes();
        self.cost
    }

    /// Writes a route wherever no more-specific one is stored.
    pub(super) fn announce(&mut self, Route { prefix, next_hop }: Route<u128>) {
        let (address, len) = (prefix.first(), prefix.len());
        let depth = expansion::level_of(len, &LEVELS);
        let node = self.node_for(depth.unwrap_or(LAST), address);
        if let Some(depth) = depth {
            let nhi = N::answer(next_hop, len);
            return self.paint(depth, node, slots_within(depth, prefix), nhi, |old| old <= len);
        }
        self.edit_slot(LAST, node, address, |nhi| nhi.flagged(true));
        if len <= HASHED_TO {
            return self.paint_hashed(prefix, L::answer(next_hop, hashed_len(prefix)), |old| {
                old <= hashed_len(prefix)
            });
        }
        self.cost.entries_set += 1;
        let high = high(address);
        self.hash16.edit(Hash16::<L, M, HELD>::key_of(high), |slots| {
            let slot = &mut slots[high as usize % M::SLOTS];
            *slot = slot.flagged(true);
        });
    }

    /// Gives the slots of a route to the next shorter one, and removes what only more-specific
    /// routes need.
    fn withdraw(&mut self, rib: &Rib<u128>, prefix: Prefix<u128>) {
        let (address, len) = (prefix.first(), prefix.len());
        match expansion::level_of(len, &LEVELS) {
            Some(depth) => {
                if let Some(node) = self.node_at(depth, address) {
                    let nhi = inherited(rib, prefix.parent());
                    self.paint(depth, node, slots_within(depth, prefix), nhi, |old| old == len);
                }
            }
            None if len <= HASHED_TO => {
                let parent = rib.parent(prefix).filter(|parent| parent.prefix.len() > LEVELS[LAST]);
                let nhi = parent.map_or(L::NONE, |p| L::answer(p.next_hop, hashed_len(p.prefix)));
                self.paint_hashed(prefix, nhi, |old| old == hashed_len(prefix));
            }
            None => {
                let flag = is_internal(rib, Prefix::containing(address, HASHED_TO));
                self.cost.entries_set += 1;
                self.hash16.edit_slot(high(address), |nhi| nhi.flagged(flag));
            }
        }
        self.prune(rib, prefix);
    }

    /// Writes an answer to those of some slots, and of the slots below them, whose lengths are to
    /// be replaced.
    fn paint(
        &mut self,
        depth: usize,
        node: usize,
        range: RangeInclusive<usize>,
        nhi: N,
        replaced: impl Fn(u8) -> bool + Copy,
    ) {
        let per_entry = slots_of(depth);
        for entry in range.start() / per_entry..=range.end() / per_entry {
            let before = entry * per_entry;
            let within = range.start().saturating_sub(before)..=(range.end() - before).min(per_entry - 1);
            let mut slots = self.slots(depth, node, entry);
            if depth < LAST {
                for below in slots[within.clone()].iter().filter(|slot| slot.flag()) {
                    let all = 0..=NODE_ENTRIES * NODE_SLOTS - 1;
                    self.paint(depth + 1, below.node(), all, nhi, replaced);
                }
            }
            let old = slots;
            for slot in &mut slots[within] {
                if (depth == LAST || !slot.flag()) && replaced(slot.len()) {
                    *slot = nhi.flagged(slot.flag());
                }
            }
            if slots != old {
                self.set_slots(depth, node, entry, &slots);
            }
        }
    }

    /// Does what [`Self::paint`] does, for a route of 49 to 64 bits. Lengths are counted from 48.
    fn paint_hashed(&mut self, prefix: Prefix<u128>, nhi: L, replaced: impl Fn(u8) -> bool) {
        let (first, last) = expansion::slots(prefix, HASHED_TO).into_inner();
        let (first_key, last_key) = (Hash16::<L, M, HELD>::key_of(first), Hash16::<L, M, HELD>::key_of(last));
        for key in first_key..=last_key {
            let from = if key == first_key { first as usize % M::SLOTS } else { 0 };
            let to = if key == last_key { last as usize % M::SLOTS } else { M::SLOTS - 1 };
            self.cost.entries_set += 1;
            self.hash16.edit(key, |slots| {
                for slot in slots[from..=to].iter_mut().filter(|slot| replaced(slot.len())) {
                    *slot = nhi.flagged(slot.flag());
                }
            });
        }
    }

    /// Returns the node of a depth that an address belongs to, if there is one.
    pub(super) fn node_at(&self, depth: usize, address: u128) -> Option<usize> {
        (0..depth).try_fold(0, |node, depth| {
            let nhi = self.slot(depth, node, address);
            nhi.flag().then(|| nhi.node())
        })
    }

    /// Returns the node of a depth that an address belongs to. Allocates it if it is missing, with
    /// all nodes above it. New nodes answer as the slot above did.
    fn node_for(&mut self, depth: usize, address: u128) -> usize {
        (0..depth).fold(0, |node, depth| {
            let nhi = self.slot(depth, node, address);
            if nhi.flag() {
                return nhi.node();
            }
            let below = self.push_node(depth + 1, nhi, high(address & u128::mask(LEVELS[depth])));
            self.edit_slot(depth, node, address, |_| N::pointer(below));
            below
        })
    }

    /// Returns the slot of an address in its node.
    fn slot(&self, depth: usize, node: usize, address: u128) -> N {
        let slot = slot_of(depth, address);
        self.slots(depth, node, slot / slots_of(depth))[slot % slots_of(depth)]
    }

    /// Changes the slot of an address.
    pub(super) fn edit_slot(
        &mut self,
        depth: usize,
        node: usize,
        address: u128,
        change: impl FnOnce(N) -> N,
    ) {
        let (slot, per_entry) = (slot_of(depth, address), slots_of(depth));
        let mut slots = self.slots(depth, node, slot / per_entry);
        let slot_within = &mut slots[slot % per_entry];
        let before = std::mem::replace(slot_within, change(*slot_within));
        if slots[slot % per_entry] != before {
            self.set_slots(depth, node, slot / per_entry, &slots);
        }
    }

    /// After a withdrawal: removes the topmost node that no route needs any more, with everything
    /// below it, or else the flag that leads to Hash16.
    fn prune(&mut self, rib: &Rib<u128>, withdrawn: Prefix<u128>) {
        let address = withdrawn.first();
        for (depth, len) in LEVELS.into_iter().enumerate().take_while(|&(_, len)| len < withdrawn.len()) {
            let Some(node) = self.node_at(depth, address) else { return };
            let block = Prefix::containing(address, len);
            if is_internal(rib, block) {
                continue;
            }
            let nhi = self.slot(depth, node, address);
            if depth == LAST {
                return self.edit_slot(LAST, node, address, |nhi| nhi.flagged(false));
            }
            if nhi.flag() {
                self.edit_slot(depth, node, address, |_| inherited(rib, Some(block)));
                return self.remove_nodes(depth + 1, nhi.node());
            }
        }
    }

    /// Removes a node that nothing points to any more, and everything below it.
    ///
    /// On each level it removes the greatest numbers first, so that no node still to be removed
    /// takes the number of a removed one.
    fn remove_nodes(&mut self, depth: usize, node: usize) {
        let mut going = vec![node];
        for depth in depth..=LAST {
            let mut below = Vec::new();
            going.sort_unstable_by_key(|&node| Reverse(node));
            for node in going {
                for entry in 0..NODE_ENTRIES {
                    if depth < LAST {
                        let slots = self.slots(depth, node, entry);
                        below.extend(slots.iter().filter(|slot| slot.flag()).map(|slot| slot.node()));
                    }
                    self.release(depth, node, entry);
                }
                self.swap_remove_node(depth, node);
            }
            going = below;
        }
    }
}

/// Returns the index of the longest cover of `from`, or "no route". A default is not written down.
fn inherited<N: Nhi>(rib: &Rib<u128>, from: Option<Prefix<u128>>) -> N {
    let route = from.and_then(|prefix| rib.longest_cover(prefix)).filter(|route| is_inside(route.prefix));
    route.map_or(N::NONE, |route| N::answer(route.next_hop, route.prefix.len()))
}

/// Returns the slots of a prefix within its node.
fn slots_within(depth: usize, prefix: Prefix<u128>) -> RangeInclusive<usize> {
    slot_of(depth, prefix.first())..=slot_of(depth, prefix.last())
}

/// Returns the first 64 bits.
fn high(address: u128) -> u64 {
    (address >> u64::BITS) as u64
}

/// Returns the length as Hash16 stores it: 64 itself would not fit into six bits.
fn hashed_len(prefix: Prefix<u128>) -> u8 {
    prefix.len() - LEVELS[LAST]
}
