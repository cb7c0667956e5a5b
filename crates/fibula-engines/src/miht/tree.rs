//! [`Tree`]: the B+ tree of order `M` that finds a key's priority trie.
//!
//! A split moves the *lower* half of an inode into a new one. The upper half keeps its index and
//! its bound in the parent. So a parent takes a split exactly as a leaf takes a key: one more
//! entry, (greatest key of the lower half, new inode). Merging is the reverse: it removes the left
//! inode and its entry.

use super::inode::{Inode, InodeEntry, NIL, slot};
use crate::blocks::dense::ChunkArray;
use fibula::engine::{Cost, Meter};
use fibula::parts::memory::Pages;

/// The index of a table: keys in, roots of priority tries out.
#[derive(Debug)]
pub(super) struct Tree<const M: usize> {
    /// The inodes, without holes.
    pub(super) inodes: ChunkArray<Inode<M>, 1>,
    /// The root, or [`NIL`] if there are no keys.
    pub(super) root: u32,
    /// The levels of inodes, or 0 if there are no keys.
    pub(super) height: u32,
}

impl<const M: usize> Tree<M> {
    /// Returns the tree of some keys, in order, with inodes as full as possible. O(keys).
    pub(super) fn pack(mut entries: Vec<InodeEntry>, pages: Pages) -> Self {
        let levels = std::iter::successors(Some(entries.len()), |&len| (len > 1).then(|| len.div_ceil(M)));
        let mut inodes = ChunkArray::new(pages, levels.skip(1).sum::<usize>().max(entries.len().min(1)));
        let mut height = 0;
        while entries.len() > 1 || height == 0 && !entries.is_empty() {
            let (len, parts) = (entries.len(), entries.len().div_ceil(M));
            let part = |at: usize| &entries[at * len / parts..(at + 1) * len / parts];
            let mut above: Vec<InodeEntry> = Vec::with_capacity(parts);
            for inode in (0..parts).map(|at| Inode::of(part(at))) {
                above.push((inode.last_key(), inodes.chunks() as u32));
                inodes.push(inode);
            }
            above[parts - 1].0 = u32::MAX;
            entries = above;
            height += 1;
        }
        let root = entries.first().map_or(NIL, |&(_, root)| root);
        Self { inodes, root, height }
    }

    /// Returns the link of a key, or [`NIL`] if the key is missing.
    #[inline(always)]
    pub(super) fn get(&self, key: u32, meter: &mut impl Meter) -> u32 {
        let mut at = self.root;
        for _ in 1..self.height {
            let inode = &self.inodes[at as usize];
            let slot = slot(&meter.load(&inode.keys), key);
            at = meter.load(&inode.links[slot]);
        }
        let Some(leaf) = self.inodes.get(at as usize) else { return NIL };
        let keys = meter.load(&leaf.keys);
        let slot = slot(&keys, key);
        if keys[slot] == key { meter.load(&leaf.links[slot]) } else { NIL }
    }

    /// Returns all keys with their links, in order. O(keys).
    pub(super) fn entries(&self) -> Vec<InodeEntry> {
        let root = (self.height > 0).then_some((u32::MAX, self.root));
        let below = |(_, link): InodeEntry| self.inodes[link as usize].entries();
        (0..self.height).fold(root.into_iter().collect(), |level: Vec<InodeEntry>, _| {
            level.into_iter().flat_map(below).collect()
        })
    }

    /// Changes the link of a key, which must be in the tree.
    pub(super) fn set(&mut self, key: u32, link: u32) {
        let mut at = self.root;
        for _ in 1..self.height {
            let inode = &self.inodes[at as usize];
            at = inode.links[slot(&inode.keys, key)];
        }
        let leaf = &mut self.inodes[at as usize];
        leaf.links[slot(&leaf.keys, key)] = link;
    }

    /// Inserts a key, which must not be in the tree. O(height).
    pub(super) fn insert(&mut self, key: u32, link: u32, cost: &mut Cost) {
        if self.height == 0 {
            self.root = self.allocate(Inode::of(&[(key, link)]), cost);
            self.height = 1;
        } else if let Some(lower) = self.insert_below(self.root, self.height, (key, link), cost) {
            self.root = self.allocate(Inode::of(&[lower, (u32::MAX, self.root)]), cost);
            self.height += 1;
        }
    }

    /// Inserts a key below an inode. If the inode was split, returns the entry of the new one for
    /// the parent.
    fn insert_below(&mut self, at: u32, level: u32, key: InodeEntry, cost: &mut Cost) -> Option<InodeEntry> {
        let inode = &self.inodes[at as usize];
        let slot = inode.keys.partition_point(|&other| other < key.0);
        let entry =
            if level == 1 { key } else { self.insert_below(inode.links[slot], level - 1, key, cost)? };
        cost.entries_set += 1;
        let inode = &mut self.inodes[at as usize];
        if inode.len() < M {
            inode.insert(slot, entry);
            return None;
        }
        let mut lower = inode.split_off_lower();
        match slot.checked_sub(Inode::<M>::MIN + 1) {
            Some(before) => inode.insert(before + 1, entry),
            None => lower.insert(slot, entry),
        }
        cost.nodes_copied += 1;
        Some((lower.last_key(), self.allocate(lower, cost)))
    }

    /// Removes a key, which must be in the tree. O(height).
    pub(super) fn remove(&mut self, key: u32, cost: &mut Cost) {
        let mut emptied = Vec::new();
        self.remove_below(self.root, self.height, key, &mut emptied, cost);
        let root = &self.inodes[self.root as usize];
        if root.len() == usize::from(self.height > 1) {
            emptied.push(self.root);
            self.root = root.links[0]; // its only child, or none
            self.height -= 1;
        }
        // From the last on, so that none of them is moved into the hole of another.
        emptied.sort_unstable();
        for hole in emptied.into_iter().rev() {
            self.free(hole, cost);
        }
    }

    /// Removes a key below an inode. The caller must free the inodes that become empty.
    fn remove_below(&mut self, at: u32, level: u32, key: u32, emptied: &mut Vec<u32>, cost: &mut Cost) {
        let inode = &mut self.inodes[at as usize];
        let slot = slot(&inode.keys, key);
        if level == 1 {
            debug_assert_eq!(inode.keys[slot], key);
            inode.remove(slot);
            cost.entries_set += 1;
            return;
        }
        let child = inode.links[slot];
        self.remove_below(child, level - 1, key, emptied, cost);
        if self.inodes[child as usize].len() < Inode::<M>::MIN {
            self.refill(at, slot.saturating_sub(1), emptied, cost);
        }
    }

    /// Refills two neighbouring children, those at `slot` and after it, one of which has an entry
    /// too few. One lends an entry to the other, or they become one.
    fn refill(&mut self, parent: u32, slot: usize, emptied: &mut Vec<u32>, cost: &mut Cost) {
        let [left_at, right_at] = [0, 1].map(|side| self.inodes[parent as usize].links[slot + side] as usize);
        let (mut left, mut right) = (self.inodes[left_at], self.inodes[right_at]);
        cost.entries_set += 1;
        if left.len() + right.len() <= M {
            right.prepend(&left);
            self.inodes[parent as usize].remove(slot);
            emptied.push(left_at as u32);
            cost.nodes_copied += 1;
        } else {
            if left.len() < right.len() {
                let lent = right.remove(0);
                left.insert(left.len(), lent);
            } else {
                let lent = left.remove(left.len() - 1);
                right.insert(0, lent);
            }
            self.inodes[parent as usize].keys[slot] = left.last_key();
            self.inodes[left_at] = left;
            cost.entries_set += 1;
        }
        self.inodes[right_at] = right;
    }

    fn allocate(&mut self, inode: Inode<M>, cost: &mut Cost) -> u32 {
        cost.nodes_allocated += 1;
        self.inodes.push(inode);
        self.inodes.chunks() as u32 - 1
    }

    /// Frees an inode that nothing leads to. The last one moves to its index; its own keys lead to
    /// the link to rewrite.
    fn free(&mut self, hole: u32, cost: &mut Cost) {
        let last = self.inodes.chunks() as u32 - 1;
        self.inodes.swap_remove(hole);
        if hole == last {
            return;
        }
        cost.nodes_copied += 1;
        let key = self.inodes[hole as usize].keys[0];
        if self.root == last {
            self.root = hole;
            return;
        }
        let mut at = self.root as usize;
        loop {
            let slot = slot(&self.inodes[at].keys, key);
            let link = &mut self.inodes[at].links[slot];
            if *link == last {
                *link = hole;
                return;
            }
            at = *link as usize;
        }
    }
}
