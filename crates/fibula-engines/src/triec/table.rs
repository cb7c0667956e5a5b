//! [`Table`]: TrieC15/6, three levels of TrieC4/4 nodes and Hash16, for one or two widths of
//! next-hop index.

use super::entry::{Atlas, Entry4_4, Entry15_6, SLOTS};
use super::extra::ExtraNhia;
use super::hash16::Hash16;
use super::nhi::{NODES, Nhi};
use super::update::is_inside;
use crate::blocks::dense::{ChunkArray, Owners};
use crate::blocks::pushing::internal_nodes;
use fibula::engine::Cost;
use fibula::parts::memory::{Array, Memory, Pages};
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
pub(super) type Nodes<N> = ChunkArray<Entry4_4<N>, NODE_ENTRIES>;

/// The trie and the hash table. The next-hop indices of the upper levels, `N`, may point to nodes.
/// Those of the last level and of Hash16, `L`, only answer, and may be narrower. An entry of Hash16
/// has the BitAtlas `M` and holds `HELD` next-hop indices.
#[derive(Debug)]
pub(super) struct Table<N: Nhi, L: Nhi, M: Atlas = u64, const HELD: usize = 4> {
    pub(super) root: Array<Entry15_6<N>>,
    pub(super) levels: [Nodes<N>; LAST - 1],
    pub(super) last: Nodes<L>,
    /// For each level of TrieC4/4, the first 64 bits of the first address of each node.
    pub(super) owners: [Owners<u64>; LAST],
    pub(super) extra: ExtraNhia<N>,
    pub(super) last_extra: ExtraNhia<L>,
    pub(super) hash16: Hash16<L, M, HELD>,
    /// The cost of the update in progress.
    pub(super) cost: Cost,
}

impl<N: Nhi, L: Nhi, M: Atlas, const HELD: usize> Table<N, L, M, HELD> {
    /// Compiles the routes of 4 to 64 bits within 2000::/3, and marks where longer ones are.
    pub(super) fn build(rib: &Rib<u128>, pages: Pages) -> Result<Self, Limit> {
        let routes = || rib.covered(global_unicast()).filter(|route| is_inside(route.prefix));
        let nodes = |depth: usize| {
            let nodes = internal_nodes(routes(), LEVELS[depth]);
            Limit::check(NODES, nodes as u64, N::NODES_MAX).map(|()| nodes)
        };
        let mut table = Self {
            root: Array::zeroed(ROOT_ENTRIES, pages),
            levels: [Nodes::new(pages, nodes(0)?), Nodes::new(pages, nodes(1)?)],
            last: Nodes::new(pages, nodes(2)?),
            owners: std::array::from_fn(|_| Owners::from(0)),
            extra: ExtraNhia::new(pages),
            last_extra: ExtraNhia::new(pages),
            hash16: Hash16::new(pages),
            cost: Cost::default(),
        };
        for route in routes() {
            L::check_next_hop(route.next_hop)?;
            table.announce(route);
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

    /// Returns the slots of an entry. Depth 0 is TrieC15/6 and has one node. An entry of a TrieC4/4
    /// node has the first 16.
    pub(super) fn slots(&self, depth: usize, node: usize, entry: usize) -> [N; SLOTS] {
        let at = node * NODE_ENTRIES + entry;
        match depth {
            0 => self.root[entry].slots(&self.extra),
            LAST => self.last[at].slots(&self.last_extra).map(L::convert),
            _ => self.levels[depth - 1][at].slots(&self.extra),
        }
    }

    /// Writes the slots of an entry.
    pub(super) fn set_slots(&mut self, depth: usize, node: usize, entry: usize, slots: &[N; SLOTS]) {
        let at = node * NODE_ENTRIES + entry;
        match depth {
            0 => self.extra.replace(&mut self.root[entry], slots),
            LAST => self.last_extra.replace(&mut self.last[at], &slots.map(N::convert)),
            _ => self.extra.replace(&mut self.levels[depth - 1][at], slots),
        }
        self.cost.entries_set += 1;
        self.cost.chunks_rebuilt += u64::from(self.entry_extra(depth, node, entry).is_some());
    }

    /// Frees what an entry has in the ExtraNHIAs. The entry must not be used afterwards.
    pub(super) fn release(&mut self, depth: usize, node: usize, entry: usize) {
        let at = node * NODE_ENTRIES + entry;
        if depth == LAST {
            self.last_extra.release(&self.last[at]);
        } else {
            self.extra.release(&self.levels[depth - 1][at]);
        }
    }

    /// Returns the start and length of an entry's ExtraNHIA, if it has one.
    pub(super) fn entry_extra(&self, depth: usize, node: usize, entry: usize) -> Option<(usize, usize)> {
        let at = node * NODE_ENTRIES + entry;
        match depth {
            0 => self.root[entry].extra(),
            LAST => self.last[at].extra(),
            _ => self.levels[depth - 1][at].extra(),
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
        if depth == LAST {
            self.last.push(Entry4_4::uniform(nhi.convert()));
        } else {
            self.levels[depth - 1].push(Entry4_4::uniform(nhi));
        }
        self.cost.nodes_allocated += 1;
        self.owners[depth - 1].push(owner) as usize
    }

    /// Removes a node. The last node of the level takes its number.
    pub(super) fn swap_remove_node(&mut self, depth: usize, node: usize) {
        if depth == LAST {
            self.last.swap_remove(node as u32);
        } else {
            self.levels[depth - 1].swap_remove(node as u32);
        }
        if let Some(owner) = self.owners[depth - 1].swap_remove(node as u32) {
            let address = u128::from(owner) << u64::BITS;
            let above = self.node_at(depth - 1, address).expect("a node's own path is linked");
            self.edit_slot(depth - 1, above, address, |_| N::pointer(node));
            self.cost.nodes_copied += 1;
        }
    }

    /// Closes the holes between the ExtraNHIAs.
    pub(super) fn close_holes(&mut self) {
        let old = self.extra.start_afresh();
        self.extra.move_in(&old, self.root.iter_mut());
        for nodes in &mut self.levels {
            self.extra.move_in(&old, nodes.iter_mut());
        }
        let old = self.last_extra.start_afresh();
        self.last_extra.move_in(&old, self.last.iter_mut());
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

/// Returns the slots of an entry of a depth.
pub(super) fn slots_of(depth: usize) -> usize {
    if depth == 0 { SLOTS } else { NODE_SLOTS }
}

/// Returns the slot of an address within its node of a depth.
pub(super) fn slot_of(depth: usize, address: u128) -> usize {
    let (from, to) = if depth == 0 { (3, LEVELS[0]) } else { (LEVELS[depth - 1], LEVELS[depth]) };
    address.bits(from, to - from) as usize
}
