//! Building and updating, which are one operation: read a stretch of the table again and keep every
//! part of the trie that comes out unchanged.
//!
//! [`Edit::refresh`] goes down to the smallest part of the trie that holds a changed prefix. It
//! reads the prefix's addresses once, in order, as merged intervals ([`Rib::ranges_within`]), and
//! builds the slots under it again from the bottom up. A run of children or leaves that comes out
//! unchanged stays in place. A changed run is written beside, and the node that points to it is
//! overwritten. A build is the refresh of /0 on an empty trie.
//!
//! Nothing is freed before [`Edit::commit`], and every overwritten word is remembered. So an edit
//! that reaches a limit half-way is undone completely ([`Edit::roll_back`]).
//!
//! In a shared trie, nothing that readers can reach is written before the commit either, and a node
//! whose vectors change is never overwritten. Instead the run of children that contains it is
//! written again. This goes up to a node of which only the bases change, or to the direct table.

use super::node::{Entry, FAN_OUT, Node, STRIDE, Slots, positions, shared};
use super::{Direct, Poptrie};
use crate::engine::{Cost, Width};
use crate::rib::Ranges;
use crate::{Address, Limit, Prefix, Rib};
use std::collections::HashMap;

/// A run in one of the two pools: start and length.
type Run = (usize, usize);

/// Changes to a trie, neither committed nor rolled back yet.
pub(super) struct Edit<'t, A: Address, W: Width> {
    trie: &'t mut Poptrie<A, W>,
    rib: &'t Rib<A>,
    cost: Cost,
    nodes: Runs,
    leaves: Runs,
    /// Overwritten entries of the direct table, with their old values.
    direct_before: Vec<(usize, Direct)>,
    /// Overwritten nodes, with their old values.
    nodes_before: Vec<(usize, Node)>,
    /// In a shared trie: what the commit is to overwrite.
    outstanding: Option<Outstanding>,
}

/// What readers are to see after the commit, by index.
#[derive(Default)]
struct Outstanding {
    direct: HashMap<usize, Direct>,
    nodes: HashMap<usize, Node>,
}

/// What an edit allocated from a pool, and what it no longer needs of it.
#[derive(Default)]
struct Runs {
    taken: Vec<Run>,
    retired: Vec<Run>,
}

impl<'t, A: Address, W: Width> Edit<'t, A, W> {
    pub(super) fn new(trie: &'t mut Poptrie<A, W>, rib: &'t Rib<A>) -> Self {
        let (nodes, leaves) = (Runs::default(), Runs::default());
        let (direct_before, nodes_before) = (Vec::new(), Vec::new());
        let outstanding = trie.nodes.is_shared().then(Outstanding::default);
        Self { trie, rib, cost: Cost::default(), nodes, leaves, direct_before, nodes_before, outstanding }
    }

    /// Publishes the edit, frees what is no longer needed, and returns the cost.
    pub(super) fn commit(self) -> Cost {
        let Outstanding { direct, nodes } = self.outstanding.unwrap_or_default();
        for (index, node) in nodes {
            self.trie.nodes.words().set(index, node);
        }
        for (slot, entry) in direct {
            self.trie.direct.set(slot, entry);
        }
        for (start, len) in self.nodes.retired {
            self.trie.nodes.remove(start, len);
        }
        for (start, len) in self.leaves.retired {
            self.trie.leaves.remove(start, len);
        }
        self.cost
    }

    /// Restores the trie as it was before the edit.
    pub(super) fn roll_back(self) {
        for (slot, before) in self.direct_before.into_iter().rev() {
            self.trie.direct.set(slot, before);
        }
        for (index, before) in self.nodes_before.into_iter().rev() {
            self.trie.nodes.words().set(index, before);
        }
        for (start, len) in self.nodes.taken {
            self.trie.nodes.put_back(start, len);
        }
        for (start, len) in self.leaves.taken {
            self.trie.leaves.put_back(start, len);
        }
    }

    /// Makes all answers within `prefix` those of the table. O(the routes it covers + 64 for each
    /// level).
    pub(super) fn refresh(&mut self, prefix: Prefix<A>) -> Result<(), Limit> {
        let s = self.trie.s;
        let slot = prefix.first().bits(0, s) as usize;
        if prefix.len() <= s {
            return self.refresh_slots(prefix, slot..slot + (1 << (s - prefix.len())));
        }
        let root = self.direct(slot).root();
        let entry = match root {
            Some(root) => self.refresh_within(self.node(root), s, prefix)?,
            None => self.refresh_block(Prefix::containing(prefix.first(), s))?,
        };
        self.set_direct(slot, entry)
    }

    /// Does what [`Self::refresh`] does, for a prefix that covers whole entries of the direct
    /// table.
    fn refresh_slots(&mut self, prefix: Prefix<A>, slots: std::ops::Range<usize>) -> Result<(), Limit> {
        let s = self.trie.s;
        let mut sweep = Sweep::new(self.rib, prefix);
        for slot in slots {
            let block = Prefix::containing(A::from_bits(slot as u64, 0, s), s);
            let old = self.direct(slot).root().map(|root| self.node(root));
            let entry = self.block(&mut sweep, block, old)?;
            self.set_direct(slot, entry)?;
        }
        Ok(())
    }

    /// Returns the new contents of a block that has no node so far.
    fn refresh_block(&mut self, block: Prefix<A>) -> Result<Entry<W>, Limit> {
        self.block(&mut Sweep::new(self.rib, block), block, None)
    }

    /// Returns what `node`, which consumes the bits from `offset` on, becomes when `prefix` inside
    /// it is read again.
    fn refresh_within(&mut self, node: Node, offset: u8, prefix: Prefix<A>) -> Result<Entry<W>, Limit> {
        let slot = prefix.first().bits(offset, STRIDE) as u32;
        let end = offset + STRIDE;
        if prefix.len() > end
            && let Some(index) = node.child(slot)
        {
            let child = self.node(index);
            return match self.refresh_within(child, end, prefix)? {
                Entry::Node(new) => self.replace_child(node, index, new).map(Entry::Node),
                Entry::Leaf(next_hop) => {
                    let mut slots = Slots::new();
                    self.copy(&mut slots, node, 0..slot);
                    slots.leaf(slot, next_hop);
                    self.copy(&mut slots, node, slot + 1..FAN_OUT as u32);
                    self.store(&slots, Some(node))
                }
            };
        }
        let within = Prefix::containing(prefix.first(), prefix.len().min(end));
        let after = slot + (1 << (end - within.len()));
        let mut slots = Slots::new();
        self.copy(&mut slots, node, 0..slot);
        self.fill(&mut slots, &mut Sweep::new(self.rib, within), within, offset, Some(node))?;
        self.copy(&mut slots, node, after..FAN_OUT as u32);
        self.store(&slots, Some(node))
    }

    /// Returns the new contents of a block. `old` is its previous node, if there was one. If the
    /// result is a leaf, the caller retires `old`.
    fn block(
        &mut self,
        sweep: &mut Sweep<'_, A, W>,
        block: Prefix<A>,
        old: Option<Node>,
    ) -> Result<Entry<W>, Limit> {
        sweep.seek(block.first());
        if sweep.last >= block.last() {
            return Ok(Entry::Leaf(sweep.next_hop));
        }
        let mut slots = Slots::new();
        self.fill(&mut slots, sweep, block, block.len(), old)?;
        self.store(&slots, old)
    }

    /// Fills the slots of `part`, which is a node's whole block or less of it. The node consumes
    /// the bits from `offset` on. Steps from interval to interval, not from slot to slot.
    fn fill(
        &mut self,
        slots: &mut Slots<W>,
        sweep: &mut Sweep<'_, A, W>,
        part: Prefix<A>,
        offset: u8,
        old: Option<Node>,
    ) -> Result<(), Limit> {
        // The last node of a path may have fewer than six bits left. Its slots are then those whose
        // missing bits are zero, as a lookup reads them.
        let slot_len = (offset + STRIDE).min(A::BITS);
        let mut start = part.first();
        loop {
            sweep.seek(start);
            let slot = start.bits(offset, STRIDE) as u32;
            if sweep.last >= part.last() {
                slots.leaf(slot, sweep.next_hop);
                return Ok(());
            }
            let ending = Prefix::containing(sweep.last, slot_len);
            if ending.first() > start || ending.last() == sweep.last {
                slots.leaf(slot, sweep.next_hop);
            }
            if ending.last() != sweep.last {
                let slot = ending.first().bits(offset, STRIDE) as u32;
                let child = old.and_then(|node| node.child(slot)).map(|index| self.node(index));
                match self.block(sweep, ending, child)? {
                    Entry::Node(node) => slots.child(slot, node),
                    Entry::Leaf(next_hop) => slots.leaf(slot, next_hop),
                }
            }
            match ending.last().next() {
                Some(next) if ending.last() < part.last() => start = next,
                _ => return Ok(()),
            }
        }
    }

    /// Copies slots from a node.
    fn copy(&self, slots: &mut Slots<W>, node: Node, range: std::ops::Range<u32>) {
        for slot in range {
            match node.step(slot) {
                (true, index) => slots.child(slot, self.node(index as usize)),
                (false, index) => slots.leaf(slot, self.trie.leaves.get(index as usize)),
            }
        }
    }

    /// Writes the node of these slots, if they need one. What stays the same of `old` stays in
    /// place, and the rest of `old` is retired. If the result is a leaf, the caller retires `old`.
    fn store(&mut self, slots: &Slots<W>, old: Option<Node>) -> Result<Entry<W>, Limit> {
        match slots.only_leaf() {
            Some(next_hop) => Ok(Entry::Leaf(next_hop)),
            None => self.store_node(slots, old).map(Entry::Node),
        }
    }

    fn store_node(&mut self, slots: &Slots<W>, old: Option<Node>) -> Result<Node, Limit> {
        let old = old.unwrap_or_default();
        let overwritable = |(index, child): (usize, &Node)| self.may_overwrite(&self.node(index), child);
        let in_place =
            old.vector == slots.vector && (old.base0 as usize..).zip(slots.children()).all(overwritable);
        let base0 = if in_place {
            for (index, &child) in (old.base0 as usize..).zip(slots.children()) {
                self.overwrite(index, child);
            }
            old.base0
        } else {
            let start = self.insert_nodes(slots.children())?;
            let copied = shared(old.vector, slots.vector);
            self.cost.nodes_copied += copied;
            self.cost.nodes_allocated += slots.children().len() as u64 - copied;
            for slot in positions(old.vector & !slots.vector) {
                self.retire_below(old.child(slot).map(|index| self.node(index)));
            }
            self.nodes.retired.push(old.children());
            start
        };
        let (start, len) = old.leaves();
        let base1 = if self.trie.leaves_in(start, len) == slots.leaves() {
            old.base1
        } else {
            let start = self.trie.leaves.insert(slots.leaves())?;
            self.leaves.taken.push((start, slots.leaves().len()));
            self.leaves.retired.push(old.leaves());
            start as u32
        };
        Ok(Node { vector: slots.vector, leafvec: slots.leafvec, base0, base1 })
    }

    /// Sets an entry of the direct table to `entry`.
    fn set_direct(&mut self, slot: usize, entry: Entry<W>) -> Result<(), Limit> {
        let old = self.direct(slot).root().map(|root| (root, self.node(root)));
        let node = match entry {
            Entry::Node(node) => node,
            Entry::Leaf(next_hop) => {
                if let Some(direct) = Direct::leaf(next_hop.widen()) {
                    if let Some((root, node)) = old {
                        self.retire_below(Some(node));
                        self.nodes.retired.push((root, 1));
                    }
                    self.write_direct(slot, direct);
                    return Ok(());
                }
                // The next hop is too great for the direct table, so it gets a node of one leaf.
                let mut slots = Slots::new();
                slots.leaf(0, next_hop);
                self.store_node(&slots, old.map(|(_, node)| node))?
            }
        };
        if let Some((root, before)) = old {
            if self.may_overwrite(&before, &node) {
                self.overwrite(root, node);
                return Ok(());
            }
            self.nodes.retired.push((root, 1));
        }
        let root = self.insert_nodes(&[node])?;
        let count = if old.is_some() { &mut self.cost.nodes_copied } else { &mut self.cost.nodes_allocated };
        *count += 1;
        self.write_direct(slot, Direct::node(root));
        Ok(())
    }

    /// Returns `node` with its child at `index` replaced.
    fn replace_child(&mut self, node: Node, index: usize, new: Node) -> Result<Node, Limit> {
        if self.may_overwrite(&self.node(index), &new) {
            self.overwrite(index, new);
            return Ok(node);
        }
        let (start, len) = node.children();
        let children = (start..start + len).map(|at| if at == index { new } else { self.node(at) });
        let base0 = self.insert_nodes(&children.collect::<Vec<_>>())?;
        self.cost.nodes_copied += len as u64;
        self.nodes.retired.push((start, len));
        Ok(Node { base0, ..node })
    }

    /// Returns whether one node may be overwritten by another: in a shared trie, only if nothing
    /// but bases differs.
    fn may_overwrite(&self, before: &Node, after: &Node) -> bool {
        self.outstanding.is_none() || before.is_shaped_like(after)
    }

    /// Returns a node as the edit leaves it.
    fn node(&self, index: usize) -> Node {
        let outstanding = self.outstanding.as_ref().and_then(|outstanding| outstanding.nodes.get(&index));
        outstanding.copied().unwrap_or_else(|| self.trie.nodes.get(index))
    }

    /// Returns an entry of the direct table as the edit leaves it.
    fn direct(&self, slot: usize) -> Direct {
        let outstanding = self.outstanding.as_ref().and_then(|outstanding| outstanding.direct.get(&slot));
        outstanding.copied().unwrap_or_else(|| self.trie.direct.get(slot))
    }

    fn write_direct(&mut self, slot: usize, direct: Direct) {
        let before = self.direct(slot);
        if before == direct {
            return;
        }
        self.cost.entries_set += 1;
        if let Some(outstanding) = &mut self.outstanding {
            outstanding.direct.insert(slot, direct);
        } else {
            self.trie.direct.set(slot, direct);
            self.direct_before.push((slot, before));
        }
    }

    fn overwrite(&mut self, index: usize, node: Node) {
        let before = self.node(index);
        if before == node {
            return;
        }
        if let Some(outstanding) = &mut self.outstanding {
            outstanding.nodes.insert(index, node);
        } else {
            self.trie.nodes.words().set(index, node);
            self.nodes_before.push((index, before));
        }
    }

    fn insert_nodes(&mut self, nodes: &[Node]) -> Result<u32, Limit> {
        let start = self.trie.nodes.insert(nodes)?;
        self.nodes.taken.push((start, nodes.len()));
        Ok(start as u32)
    }

    /// Retires everything below a node, but not the node itself.
    fn retire_below(&mut self, node: Option<Node>) {
        let Some(node) = node else { return };
        let (start, len) = node.children();
        for index in start..start + len {
            self.retire_below(Some(self.node(index)));
        }
        self.nodes.retired.push((start, len));
        self.leaves.retired.push(node.leaves());
    }
}

/// A walk over merged intervals, currently at one of them.
struct Sweep<'r, A: Address, W> {
    ranges: Ranges<'r, A>,
    /// The last address of the current interval.
    last: A,
    /// The answer of the current interval.
    next_hop: W,
}

impl<'r, A: Address, W: Width> Sweep<'r, A, W> {
    fn new(rib: &'r Rib<A>, within: Prefix<A>) -> Self {
        let mut sweep =
            Self { ranges: rib.ranges_within(within), last: within.last(), next_hop: W::default() };
        sweep.advance();
        sweep
    }

    /// Moves to the interval of `address`, which must not be before the current one.
    fn seek(&mut self, address: A) {
        while self.last < address && self.advance() {}
    }

    fn advance(&mut self) -> bool {
        let next = self.ranges.next();
        if let Some(range) = next {
            (self.last, self.next_hop) = (range.last, W::narrow(range.next_hop));
        }
        next.is_some()
    }
}
