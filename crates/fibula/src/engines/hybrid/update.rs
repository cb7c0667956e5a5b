//! Updates in place: node copies above and below, entries by the length they store in between.

use super::{Hybrid, MIDDLE, SHORT, SubTrie};
use crate::blocks::entry::{Entry, replace};
use crate::blocks::expansion::slots;
use crate::blocks::tree_bitmap::Node;
use crate::engine::{Cost, Width};
use crate::memory::Shareable;
use crate::{Delta, Rib, Route};

impl<W: Width> Hybrid<W> {
    /// Follows a table that holds all changes already, so that a withdrawal may write the entry of a route whose own
    /// turn is still to come: it is the entry that turn will find right.
    pub(super) fn follow(&mut self, rib: &Rib<u32>, deltas: &[Delta<u32>]) -> Cost {
        let is_short = |delta: &Delta<u32>| delta.prefix.len() <= SHORT;
        let mut cost = self.short.follow(rib, deltas.iter().copied().filter(is_short));
        for &delta in deltas.iter().filter(|delta| !is_short(delta)) {
            if delta.prefix.len() <= MIDDLE {
                cost.entries_set += self.follow_middle(rib, delta);
            } else {
                self.follow_long(Route { prefix: delta.prefix, next_hop: delta.after }, &mut cost);
            }
        }
        self.long.compact_if_worth_it(self.sub_tries.iter_mut().map(|sub_trie| &mut sub_trie.root));
        cost
    }

    /// A change of a route that TBL24 holds; the entries it wrote.
    fn follow_middle(&mut self, rib: &Rib<u32>, delta: Delta<u32>) -> u64 {
        let Delta { prefix, after: next_hop, .. } = delta;
        let (len, announced) = (prefix.len(), next_hop.is_some());
        let route = if announced {
            Some(Route { prefix, next_hop })
        } else {
            rib.parent(prefix).filter(|route| route.prefix.len() > SHORT)
        };
        let new = route.map_or(Entry::NO_ROUTE, Entry::of);
        let replaced = |old: u8| old == len || announced && old < len;
        slots(prefix, MIDDLE)
            .map(|slot| {
                let place = &self.tbl24[slot as usize];
                let Some(sub_trie) = Entry::load(place).chunk() else {
                    return replace(std::slice::from_ref(place), new, replaced);
                };
                let entry = &mut self.sub_tries[sub_trie].entry;
                let is_replaced = replaced(entry.len());
                if is_replaced {
                    *entry = new;
                }
                is_replaced.into()
            })
            .sum()
    }

    /// A change of a route that a sub-trie holds. The first one makes the sub-trie, the last one takes it away.
    fn follow_long(&mut self, route: Route<u32>, cost: &mut Cost) {
        let slot = route.prefix.first() >> 8;
        let sub_trie = if route.next_hop.is_some() {
            cost.entries_set += u64::from(self.tbl24.get(slot as usize).chunk().is_none());
            self.sub_trie_of(slot)
        } else {
            let Some(sub_trie) = self.tbl24.get(slot as usize).chunk() else { return };
            sub_trie
        };
        let root = self.sub_tries[sub_trie].root;
        let root = if route.next_hop.is_some() {
            self.long.insert(root, MIDDLE, route, cost)
        } else {
            self.long.remove(root, MIDDLE, route.prefix, cost)
        };
        self.sub_tries[sub_trie].root = root;
        if root.is_empty() {
            self.remove_sub_trie(slot, sub_trie, cost);
        }
    }

    /// The sub-trie of a /24, made if there is none.
    pub(super) fn sub_trie_of(&mut self, slot: u32) -> usize {
        let entry = self.tbl24.get(slot as usize);
        entry.chunk().unwrap_or_else(|| {
            let sub_trie = self.owners.push(slot);
            self.sub_tries.push(SubTrie { entry, root: Node::EMPTY });
            self.tbl24.set(slot as usize, Entry::pointing_to(sub_trie));
            sub_trie as usize
        })
    }

    fn remove_sub_trie(&mut self, slot: u32, sub_trie: usize, cost: &mut Cost) {
        self.tbl24.set(slot as usize, self.sub_tries[sub_trie].entry);
        cost.entries_set += 1;
        let sub_trie = sub_trie as u32;
        self.sub_tries.swap_remove(sub_trie);
        if let Some(owner) = self.owners.swap_remove(sub_trie) {
            self.tbl24.set(owner as usize, Entry::pointing_to(sub_trie));
            cost.entries_set += 1;
        }
    }
}
