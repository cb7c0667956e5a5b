//! [`Table`]: TrieC15/6, three levels of TrieC4/4 nodes and Hash16, for one or two widths of
//! next-hop index.

use super::entry::{Entry4_4, Entry15_6, Place, SLOTS, overwrite};
use super::extra::ExtraNhia;
use super::hash16::Hash16;
use super::nhi::{NODES, Nhi};
use super::update::is_inside;
use super::view::TableView;
use fibula::blocks::dense::{Owners, WordChunks};
use fibula::blocks::pushing::internal_nodes;
use fibula::blocks::retired::Retired;
use fibula::engine::Cost;
use fibula::memory::{Memory, Pages, Words};
use fibula::{Address, Limit, Prefix, Rib};

/// Returns 2000::/3, whose addresses the trie covers: those with the format prefix 001.
pub(super) fn global_unicast() -> Prefix<u128> {
    Prefix::containing(1 << 125, 3)
}

/// The prefix lengths that the levels reach. The hashed routes reach to [`HASHED_TO`].
pub(super) const LEVELS: [u8; 4] = [24, 32, 40, 48];

/// The last level of the trie. A flag in its next-hop indices means that Hash16 may have more.
pub(super) const LAST: usize = LEVELS.len() - 1;

/// The longest prefixes of Hash16.
pub(super) const HASHED_TO: u8 = 64;

/// The entries of TrieC15/6.
pub(super) const ROOT_ENTRIES: usize = 1 << 15;

/// The entries of a TrieC4/4 node.
pub(super) const NODE_ENTRIES: usize = 16;

/// The slots of an entry of TrieC4/4.
pub(super) const NODE_SLOTS: usize = 16;

/// The TrieC4/4 nodes of a level.
pub(super) type Nodes<N> = WordChunks<Entry4_4<N>, NODE_ENTRIES>;

/// The trie and the hash table. The next-hop indices of the upper levels, `N`, may point to nodes.
/// Those of the last level and of Hash16, `L`, only answer, and may be narrower.
#[derive(Debug)]
pub(super) struct Table<N: Nhi, L: Nhi> {
    pub(super) root: Words<Entry15_6<N>>,
    pub(super) levels: [Nodes<N>; LAST - 1],
    pub(super) last: Nodes<L>,
    /// For each level of TrieC4/4, the first 64 bits of the first address of each node.
    pub(super) owners: [Owners<u64>; LAST],
    pub(super) extra: ExtraNhia<N>,
    pub(super) last_extra: ExtraNhia<L>,
    pub(super) hash16: Hash16<L>,
    /// In shared tables: the entries of TrieC15/6 that were spread.
    spread: Retired<usize>,
    /// In shared tables: the prefixes of up to 48 bits whose answers have changed.
    pub(super) changed: Retired<Prefix<u128>>,
    /// The cost of the update in progress.
    pub(super) cost: Cost,
}

impl<N: Nhi, L: Nhi> Table<N, L> {
    /// Compiles the routes of 4 to 64 bits within 2000::/3, and marks where longer ones are.
    pub(super) fn build(rib: &Rib<u128>, pages: Pages) -> Result<Self, Limit> {
        let routes = || rib.covered(global_unicast()).filter(|route| is_inside(route.prefix));
        let nodes = |depth: usize| {
            let nodes = internal_nodes(routes(), LEVELS[depth]);
            Limit::check(NODES, nodes as u64, N::NODES_MAX).map(|()| nodes)
        };
        let mut table = Self {
            root: Words::zeroed(ROOT_ENTRIES, pages),
            levels: [Nodes::new(pages, nodes(0)?), Nodes::new(pages, nodes(1)?)],
            last: Nodes::new(pages, nodes(2)?),
            owners: std::array::from_fn(|_| Owners::from(0)),
            extra: ExtraNhia::new(pages),
            last_extra: ExtraNhia::new(pages),
            hash16: Hash16::new(pages),
            spread: Retired::new(),
            changed: Retired::new(),
            cost: Cost::default(),
        };
        for route in routes() {
            L::check_next_hop(route.next_hop)?;
            table.announce(route).expect("nobody reads yet");
            table.hash16.check_room(0)?;
        }
        if table.extra.has_holes() || table.last_extra.has_holes() {
            table.close_holes();
        }
        table.extra.shrink_to_fit();
        table.last_extra.shrink_to_fit();
        table.hash16.shrink_to_fit();
        Ok(table)
    }

    /// Returns whether the table is shared.
    pub(super) fn is_shared(&self) -> bool {
        self.extra.is_shared()
    }

    /// Shares the table: other threads may read it from now on.
    pub(super) fn share(&mut self) {
        let at_most = N::NODES_MAX as usize;
        let [second, third, fourth] = self.owners.each_mut().map(|owners| owners.share(at_most));
        let [upper, lower] = &mut self.levels;
        upper.share(second);
        lower.share(third);
        self.last.share(fourth);
        self.extra.share();
        self.last_extra.share();
        self.hash16.share();
    }

    /// Returns the view that lookups read.
    pub(super) fn view(&self) -> TableView<N, L> {
        TableView {
            root: self.root.view(),
            levels: self.levels.each_ref().map(|nodes| nodes.view()),
            last: self.last.view(),
            extra: self.extra.view(),
            last_extra: self.last_extra.view(),
            hash16: self.hash16.view(),
        }
    }

    /// Updates `view` after an array has moved.
    pub(super) fn show_in(&self, view: &mut TableView<N, L>) {
        self.levels.iter().zip(&mut view.levels).for_each(|(nodes, view)| nodes.show_in(view));
        self.last.show_in(&mut view.last);
        self.extra.show_in(&mut view.extra);
        self.last_extra.show_in(&mut view.last_extra);
        self.hash16.show_in(&mut view.hash16);
    }

    /// Returns an entry of TrieC15/6 as its owner stores to it.
    fn root_place(&self, entry: usize) -> &Place<N, u64, 4> {
        &self.root.places(entry..entry + 1)[0]
    }

    /// Ends a grace period: all readers have passed what was replaced before the previous call.
    pub(super) fn readers_passed(&mut self) {
        let spread: Vec<usize> = self.spread.readers_passed().collect();
        for entry in spread {
            if !self.extra.pack(&self.root.places(entry..entry + 1)[0]) {
                self.spread.retire(entry);
            }
        }
        self.extra.readers_passed();
        self.last_extra.readers_passed();
        self.hash16.readers_passed();
        self.owners.iter_mut().for_each(Owners::readers_passed);
        drop(self.changed.readers_passed());
    }

    /// Returns whether so much is unused that a rebuild is worth it, where nothing can move.
    pub(super) fn is_wasteful(&self) -> bool {
        self.extra.is_wasteful() || self.last_extra.is_wasteful() || self.hash16.is_wasteful()
    }

    /// Returns the slots of an entry. Depth 0 is TrieC15/6 and has one node. An entry of a TrieC4/4
    /// node has the first 16.
    pub(super) fn slots(&self, depth: usize, node: usize, entry: usize) -> [N; SLOTS] {
        let at = node * NODE_ENTRIES + entry;
        match depth {
            0 => self.root.get(entry).slots(&self.extra),
            LAST => self.last.get(at).slots(&self.last_extra).map(L::convert),
            _ => self.levels[depth - 1].get(at).slots(&self.extra),
        }
    }

    /// Writes the slots of an entry. There must be [room](Self::check_space). Returns the number of
    /// the node, which in a shared table is that of a copy.
    pub(super) fn set_slots(
        &mut self,
        depth: usize,
        mut node: usize,
        entry: usize,
        slots: &[N; SLOTS],
    ) -> usize {
        let at = node * NODE_ENTRIES + entry;
        let last = || slots.map(N::convert);
        let overwritten = match depth {
            0 => overwrite::<N, u64, 4>(self.root_place(entry), slots, &self.extra),
            LAST => overwrite::<L, u16, 3>(place(&self.last, at), &last(), &self.last_extra),
            _ => overwrite::<N, u16, 3>(place(&self.levels[depth - 1], at), slots, &self.extra),
        };
        match depth {
            _ if overwritten => {}
            0 if self.is_shared() => {
                self.extra.spread(&self.root.places(entry..entry + 1)[0], slots);
                self.spread.retire(entry);
            }
            _ if self.is_shared() => node = self.copy_node(depth, node, entry, slots),
            0 => self.extra.replace::<u64, 4>(&self.root.places(entry..entry + 1)[0], slots),
            LAST => self.last_extra.replace::<u16, 3>(place(&self.last, at), &last()),
            _ => self.extra.replace::<u16, 3>(place(&self.levels[depth - 1], at), slots),
        }
        self.cost.entries_set += 1;
        self.cost.chunks_rebuilt += u64::from(self.entry_extra(depth, node, entry).is_some());
        node
    }

    /// Replaces a node by a copy that has other slots in one of its entries.
    fn copy_node(&mut self, depth: usize, node: usize, entry: usize, slots: &[N; SLOTS]) -> usize {
        let owner = self.owners[depth - 1][node as u32];
        let copy = self.owners[depth - 1].push(owner);
        if depth == LAST {
            copy_entries(&mut self.last, &mut self.last_extra, (node, copy), entry, &slots.map(N::convert));
        } else {
            copy_entries(&mut self.levels[depth - 1], &mut self.extra, (node, copy), entry, slots);
        }
        self.link(depth, owner, copy as usize);
        self.owners[depth - 1].swap_remove(node as u32);
        self.cost.nodes_copied += 1;
        copy as usize
    }

    /// Makes the slot above point to `node`. The slot pointed to a node before, so no entry changes
    /// its runs.
    fn link(&mut self, depth: usize, owner: u64, node: usize) {
        let address = u128::from(owner) << u64::BITS;
        let above = self.node_at(depth - 1, address).expect("a node's own path is linked");
        self.edit_slot(depth - 1, above, address, |_| N::pointer(node));
    }

    /// Frees what an entry has in the ExtraNHIAs. The entry must not be used afterwards.
    pub(super) fn release(&mut self, depth: usize, node: usize, entry: usize) {
        let at = node * NODE_ENTRIES + entry;
        if depth == LAST {
            self.last_extra.release(&self.last.get(at));
        } else {
            self.extra.release(&self.levels[depth - 1].get(at));
        }
    }

    /// Checks that there is room for the next change: a node on every level, and some ExtraNHIAs.
    pub(super) fn check_space(&self) -> Result<(), Held> {
        let nodes = self.owners.iter().all(|owners| owners.room() > LAST);
        let extra = self.extra.has_room() && self.last_extra.has_room() && self.hash16.has_room();
        if nodes && extra { Ok(()) } else { Err(Held) }
    }

    /// Returns the start and length of an entry's ExtraNHIA, if it has one.
    pub(super) fn entry_extra(&self, depth: usize, node: usize, entry: usize) -> Option<(usize, usize)> {
        let at = node * NODE_ENTRIES + entry;
        match depth {
            0 => self.root.get(entry).extra(),
            LAST => self.last.get(at).extra(),
            _ => self.levels[depth - 1].get(at).extra(),
        }
    }

    /// Returns one past the last index of the ExtraNHIAs of a depth.
    pub(super) fn extra_end(&self, depth: usize) -> usize {
        if depth == LAST { self.last_extra.end() } else { self.extra.end() }
    }

    /// Returns the number of nodes for which a level of TrieC4/4 has entries.
    pub(super) fn nodes(&self, depth: usize) -> usize {
        if depth == LAST { self.last.chunks() } else { self.levels[depth - 1].chunks() }
    }

    /// Adds a node, all of whose slots have the same index. Returns its number.
    pub(super) fn push_node(&mut self, depth: usize, nhi: N, owner: u64) -> usize {
        let node = self.owners[depth - 1].push(owner);
        if depth == LAST {
            self.last.put(node, Entry4_4::uniform(nhi.convert()));
        } else {
            self.levels[depth - 1].put(node, Entry4_4::uniform(nhi));
        }
        self.cost.nodes_allocated += 1;
        node as usize
    }

    /// Removes a node. Unless the table is shared, the last node of the level takes its number.
    pub(super) fn swap_remove_node(&mut self, depth: usize, node: usize) {
        if depth == LAST {
            self.last.swap_remove(node as u32);
        } else {
            self.levels[depth - 1].swap_remove(node as u32);
        }
        if let Some(owner) = self.owners[depth - 1].swap_remove(node as u32) {
            self.link(depth, owner, node);
            self.cost.nodes_copied += 1;
        }
    }

    /// Closes the holes between the ExtraNHIAs.
    pub(super) fn close_holes(&mut self) {
        let old = self.extra.start_afresh();
        self.extra.move_in::<u64, 4>(&old, self.root.places(0..ROOT_ENTRIES));
        for nodes in &self.levels {
            self.extra.move_in::<u16, 3>(&old, nodes.places(0..nodes.len()));
        }
        let old = self.last_extra.start_afresh();
        self.last_extra.move_in::<u16, 3>(&old, self.last.places(0..self.last.len()));
    }

    /// Returns the bytes by the paper's parts. The paper keeps all of them in SRAM outside the
    /// processor.
    pub(super) fn memory(&self) -> Memory {
        let [second, third] = &self.levels;
        let owners: usize = self.owners.iter().map(Owners::bytes).sum();
        let (hash16, hash16_extra) = self.hash16.bytes();
        Memory::new()
            .off_chip("TrieC15/6", size_of_val(&self.root[..]))
            .off_chip("TrieC4/4, 2nd level", second.bytes())
            .off_chip("TrieC4/4, 3rd level", third.bytes())
            .off_chip("TrieC4/4, 4th level", self.last.bytes())
            .off_chip("ExtraNHIA", self.extra.bytes() + self.last_extra.bytes() + hash16_extra)
            .off_chip("Hash16", hash16)
            .off_chip("node owners", owners)
    }
}

/// Returns an entry of a node as its owner stores to it.
fn place<N: Nhi>(nodes: &Nodes<N>, at: usize) -> &Place<N, u16, 3> {
    &nodes.places(at..at + 1)[0]
}

/// A change must wait for a grace period: it needs memory that readers may still use, or removes an
/// answer that they may turn to.
#[derive(Debug)]
pub(super) struct Held;

/// Copies the entries of a node to another one that no thread reads yet, one of them with other
/// slots.
fn copy_entries<N: Nhi>(
    nodes: &mut Nodes<N>,
    extra: &mut ExtraNhia<N>,
    (from, to): (usize, u32),
    changed: usize,
    slots: &[N; SLOTS],
) {
    nodes.put(to, Entry4_4::uniform(N::NONE));
    for entry in 0..NODE_ENTRIES {
        let mut copied: Entry4_4<N> = nodes.get(from * NODE_ENTRIES + entry);
        if entry == changed {
            extra.release(&copied);
            copied = extra.entry(slots);
        }
        nodes.set(to as usize * NODE_ENTRIES + entry, copied);
    }
}

/// Returns the slots of an entry of a depth.
pub(super) fn slots_of(depth: usize) -> usize {
    if depth == 0 { SLOTS } else { NODE_SLOTS }
}

/// Returns the slot of an address within its node of a depth.
pub(super) fn slot_of(depth: usize, address: u128) -> usize {
    let (from, to) = if depth == 0 { (3, LEVELS[0]) } else { (LEVELS[depth - 1], LEVELS[depth]) };
    address.bits(from, to - from) as usize
}
