//! [`Table`]: TrieC15/6, three levels of TrieC4/4 nodes and Hash16, for one width of next-hop index.

use super::entry::{Entry4_4, Entry15_6, ExtraNhia, SLOTS};
use super::hash16::Hash16;
use super::nhi::{NODES, Nhi};
use super::update::is_inside;
use crate::blocks::dense::{ChunkArray, Owners};
use crate::blocks::pushing::internal_nodes;
use crate::engine::Cost;
use crate::memory::{Array, Memory, Pages};
use crate::{Address, Limit, Prefix, Rib};

/// What the trie is about: the addresses whose format prefix is 001.
pub(super) fn global_unicast() -> Prefix<u128> {
    Prefix::containing(1 << 125, 3)
}

/// The prefix lengths to which the levels reach; the hashed ones reach to [`HASHED_TO`].
pub(super) const LEVELS: [u8; 4] = [24, 32, 40, 48];

/// The last level of the trie, whose flagged next-hop indices say "ask Hash16 too".
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
#[derive(Clone, Debug)]
pub(super) struct Level<N: Copy> {
    pub(super) entries: ChunkArray<Entry4_4<N>, NODE_ENTRIES>,
    /// The first 64 bits of the first address of each node.
    pub(super) owners: Owners<u64>,
}

/// The trie and the hash table, for next-hop indices of one width.
#[derive(Clone, Debug)]
pub(super) struct Table<N: Nhi> {
    pub(super) root: Array<Entry15_6<N>>,
    pub(super) levels: [Level<N>; LAST],
    pub(super) extra: ExtraNhia<N>,
    pub(super) hash16: Hash16<N>,
    /// What the update in progress has cost so far.
    pub(super) cost: Cost,
}

impl<N: Nhi> Table<N> {
    /// Compiles the routes of 4 to 64 bits within 2000::/3, and marks where longer ones are.
    pub(super) fn build(rib: &Rib<u128>, pages: Pages) -> Result<Self, Limit> {
        let routes = || rib.covered(global_unicast()).filter(|route| is_inside(route.prefix));
        let level = |depth: usize| {
            let nodes = internal_nodes(routes(), LEVELS[depth]);
            Limit::check(NODES, nodes as u64, N::NODES_MAX)?;
            Ok(Level { entries: ChunkArray::new(pages, nodes), owners: Owners::from(0) })
        };
        let mut table = Self {
            levels: [level(0)?, level(1)?, level(2)?],
            root: Array::zeroed(ROOT_ENTRIES, pages),
            extra: ExtraNhia::new(pages),
            hash16: Hash16::new(pages),
            cost: Cost::default(),
        };
        for route in routes() {
            N::check_next_hop(route.next_hop)?;
            table.announce(route);
            table.hash16.check_room(0)?;
        }
        if table.extra.has_holes() {
            table.close_holes();
        }
        table.extra.shrink_to_fit();
        table.hash16.shrink_to_fit();
        Ok(table)
    }

    /// The slots of an entry. Depth 0 is TrieC15/6 and has one node; an entry of a TrieC4/4 node has the first 16.
    pub(super) fn slots(&self, depth: usize, node: usize, entry: usize) -> [N; SLOTS] {
        if depth == 0 {
            self.root[entry].slots(&self.extra)
        } else {
            self.levels[depth - 1].entries[node * NODE_ENTRIES + entry].slots(&self.extra)
        }
    }

    /// Writes the slots of an entry.
    pub(super) fn set_slots(&mut self, depth: usize, node: usize, entry: usize, slots: &[N; SLOTS]) {
        let in_extra = if depth == 0 {
            self.root[entry].set_slots(slots, &mut self.extra)
        } else {
            self.levels[depth - 1].entries[node * NODE_ENTRIES + entry].set_slots(slots, &mut self.extra)
        };
        self.cost.entries_set += 1;
        self.cost.chunks_rebuilt += u64::from(in_extra);
    }

    /// Where the ExtraNHIA of an entry is, if it has one, and how many it holds.
    pub(super) fn entry_extra(&self, depth: usize, node: usize, entry: usize) -> Option<(usize, usize)> {
        if depth == 0 {
            self.root[entry].extra()
        } else {
            self.levels[depth - 1].entries[node * NODE_ENTRIES + entry].extra()
        }
    }

    /// Closes the holes between the ExtraNHIAs.
    pub(super) fn close_holes(&mut self) {
        let old = self.extra.start_afresh();
        self.extra.move_in(&old, self.root.iter_mut());
        for level in &mut self.levels {
            self.extra.move_in(&old, level.entries.iter_mut());
        }
    }

    /// The bytes by the paper's parts; it keeps them all in SRAM outside the processor.
    pub(super) fn memory(&self) -> Memory {
        let [second, third, fourth] = &self.levels;
        let owners: usize = self.levels.iter().map(|level| level.owners.bytes()).sum();
        let (hash16, hash16_extra) = self.hash16.bytes();
        Memory::new()
            .off_chip("TrieC15/6", self.root.bytes())
            .off_chip("TrieC4/4, 2nd level", second.entries.bytes())
            .off_chip("TrieC4/4, 3rd level", third.entries.bytes())
            .off_chip("TrieC4/4, 4th level", fourth.entries.bytes())
            .off_chip("ExtraNHIA", self.extra.bytes() + hash16_extra)
            .off_chip("Hash16", hash16)
            .off_chip("node owners", owners)
    }
}

/// How many slots an entry of a depth has.
pub(super) fn slots_of(depth: usize) -> usize {
    if depth == 0 { SLOTS } else { NODE_SLOTS }
}

/// The slot of an address within the node of a depth that it belongs to.
pub(super) fn slot_of(depth: usize, address: u128) -> usize {
    let (from, to) = if depth == 0 { (3, LEVELS[0]) } else { (LEVELS[depth - 1], LEVELS[depth]) };
    address.bits(from, to - from) as usize
}
