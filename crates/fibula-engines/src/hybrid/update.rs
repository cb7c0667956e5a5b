//! Updates: node copies for short and long routes, and entries in place, guided by the length that
//! they store.

use super::{Hybrid, MIDDLE, Owner, SHORT};
use crate::blocks::expansion::slots;
use crate::blocks::tree_bitmap::{Map, Node, Trie};
use fibula::engine::{Cost, Width};
use fibula::parts::blocks::entry::{Entry, in_order};
use fibula::{Delta, Rib, Route};

impl<W: Width> Hybrid<W> {
    /// Returns whether there is room for any changes to these prefixes.
    pub(super) fn can_follow(&self, deltas: &[Delta<u32>]) -> bool {
        let is_short = |delta: &&Delta<u32>| delta.prefix.len() <= SHORT;
        let short: Vec<_> = deltas.iter().filter(is_short).copied().collect();
        let long = deltas.iter().filter(|delta| delta.prefix.len() > MIDDLE).count();
        self.short.can_follow(&short)
            && self.long.has_room_for(long * Trie::<W, u16>::most_words::<u32>(MIDDLE))
    }

    /// Applies changes that `rib` already holds, [in order](in_order), so that a withdrawal finds
    /// the route that replaces it.
    pub(super) fn follow(&mut self, rib: &Rib<u32>, deltas: &[Delta<u32>]) -> Cost {
        let mut cost = Cost::default();
        for delta in in_order(deltas) {
            if delta.prefix.len() > MIDDLE {
                self.follow_long(Route { prefix: delta.prefix, next_hop: delta.after }, &mut cost);
            } else if delta.prefix.len() > SHORT {
                self.follow_middle(rib, delta, &mut cost);
            } else {
                self.short.follow_one(rib, delta, &mut cost);
            }
        }
        self.short.compact_if_worth_it();
        self.long.compact_if_worth_it(&mut self.sub_tries);
        cost
    }

    /// Applies a change of a route that TBL24 holds.
    fn follow_middle(&mut self, rib: &Rib<u32>, delta: Delta<u32>, cost: &mut Cost) {
        let Delta { prefix, after: next_hop, .. } = delta;
        let (len, announced) = (prefix.len(), next_hop.is_some());
        let route = if announced {
            Some(Route { prefix, next_hop })
        } else {
            rib.parent(prefix).filter(|route| route.prefix.len() > SHORT)
        };
        let new = route.map_or(Entry::NO_ROUTE, Entry::of);
        let replaced = |old: u8| old == len || announced && old < len;
        for slot in slots(prefix, MIDDLE) {
            let entry = &mut self.tbl24[slot as usize];
            let Some(sub_trie) = entry.chunk() else {
                if replaced(entry.len()) {
                    *entry = new;
                    cost.entries_set += 1;
                }
                continue;
            };
            let sub_trie = sub_trie as u32;
            let entry = &mut self.owners[sub_trie].entry;
            if replaced(entry.len()) {
                *entry = new;
                self.long.set_above(self.root(sub_trie), new.answer());
                cost.entries_set += 1;
            }
        }
    }

    /// Applies a change of a route that a sub-trie holds. The first one allocates the sub-trie, the
    /// last one frees it.
    fn follow_long(&mut self, route: Route<u32>, cost: &mut Cost) {
        let slot = route.prefix.first() >> 8;
        let entry = self.tbl24[slot as usize];
        match entry.chunk().map(|sub_trie| sub_trie as u32) {
            Some(sub_trie) if route.next_hop.is_some() => {
                let root = self.long.insert(self.root(sub_trie), MIDDLE, route, cost);
                self.set_root(sub_trie, root);
            }
            Some(sub_trie) => {
                let root = self.long.remove(self.root(sub_trie), MIDDLE, route.prefix, cost);
                if root.is_empty() {
                    self.long.free(root);
                    self.remove_sub_trie(slot, sub_trie, cost);
                } else {
                    self.set_root(sub_trie, root);
                }
            }
            None if route.next_hop.is_some() => {
                let root = self.long.new_root(entry.answer());
                let root = self.long.insert(root, MIDDLE, route, cost);
                self.add_sub_trie(Owner { slot, entry }, root);
                cost.entries_set += 1;
            }
            None => {}
        }
    }

    /// Adds a new sub-trie below a /24.
    pub(super) fn add_sub_trie(&mut self, owner: Owner, root: Node<u16>) {
        let sub_trie = self.owners.push(owner);
        self.sub_tries.push(u16::pack(root));
        self.tbl24[owner.slot as usize] = Entry::pointing_to(sub_trie);
    }

    fn remove_sub_trie(&mut self, slot: u32, sub_trie: u32, cost: &mut Cost) {
        self.tbl24[slot as usize] = self.owners[sub_trie].entry;
        cost.entries_set += 1;
        self.sub_tries.swap_remove(sub_trie);
        if let Some(moved) = self.owners.swap_remove(sub_trie) {
            self.tbl24[moved.slot as usize] = Entry::pointing_to(sub_trie);
            cost.entries_set += 1;
        }
    }

    /// Returns the root of a sub-trie.
    pub(super) fn root(&self, sub_trie: u32) -> Node<u16> {
        u16::unpack(self.sub_tries[sub_trie as usize])
    }

    pub(super) fn set_root(&mut self, sub_trie: u32, root: Node<u16>) {
        self.sub_tries[sub_trie as usize] = u16::pack(root);
    }
}
