//! [`InitialArray`]: a table of routes as an array for the first bits and a trie below each entry.

use super::node::{Map, Node};
use super::trie::Trie;
use crate::blocks::expansion::slots;
use crate::engine::{Cost, Figure, Meter, Width};
use crate::memory::{Array, Memory, Pages};
use crate::{Address, Delta, Family, Limit, NextHop, Prefix, Rib, Route};
use std::marker::PhantomData;

/// A table of routes: an entry for each value of an address's first `bits` bits, which is the root of a [`Trie`] and
/// the answer where that trie has none.
///
/// Routes of fewer than `bits` bits are expanded: each entry keeps the longest that covers it, and its length, so that
/// a change knows which entries are its own. All others are in the tries.
///
/// # What a change costs
/// [`Cost`] counts what the paper's Table IV counts:
/// - `entries_set`: entries of the array that get another answer or lose their last route below, and results
///   written by an announcement;
/// - `nodes_allocated`: blocks (a node's children and results) taken from the pool;
/// - `nodes_copied`: child nodes that went with them to a new place, at most 2^*s* a block.
#[derive(Clone, Debug)]
pub struct InitialArray<A, W: Copy, M> {
    pub(super) bits: u8,
    /// Its roots are the array's entries.
    pub(super) trie: Trie<W, M>,
    /// What the routes of fewer than `bits` bits answer.
    pub(super) next_hops: Array<W>,
    /// One more than the length of the route that wrote the answer; 0 where none did.
    pub(super) written_by: Array<u8>,
    pub(super) family: PhantomData<A>,
}

impl<A: Address, W: Width, M: Map> InitialArray<A, W, M> {
    /// Compiles routes that come in the order of a [`Rib`].
    ///
    /// # Errors
    /// If the trie takes more than `max_words`.
    pub fn build(
        routes: impl Iterator<Item = Route<A>>,
        bits: u8,
        max_words: u64,
        pages: Pages,
    ) -> Result<Self, Limit> {
        let mut array = Self {
            bits,
            trie: Trie::new(1 << bits, max_words, pages)?,
            next_hops: Array::filled(W::default(), 1 << bits, pages),
            written_by: Array::zeroed(1 << bits, pages),
            family: PhantomData,
        };
        let mut routes = routes.peekable();
        while let Some(&Route { prefix, next_hop }) = routes.peek() {
            if prefix.len() < bits {
                // In order, every route comes after its covers.
                let slots = array.slots(prefix);
                array.next_hops[slots.clone()].fill(W::narrow(next_hop));
                array.written_by[slots].fill(prefix.len() + 1);
                routes.next();
            } else {
                let slot = array.slot(prefix.first());
                let root = array.trie.build(&mut routes, Prefix::containing(prefix.first(), bits))?;
                array.trie.set_root(slot, root);
            }
        }
        array.trie.shrink_to_fit();
        Ok(array)
    }

    /// How many bits of an address the array resolves.
    #[must_use]
    pub fn bits(&self) -> u8 {
        self.bits
    }

    /// The longest match of an address; 0 where there is none.
    #[inline(always)]
    pub fn find(&self, address: A, meter: &mut impl Meter) -> W {
        let slot = self.slot(address);
        let root = self.trie.load_root(slot, meter);
        let found = match A::FAMILY {
            Family::Ipv4 => self.trie.find::<A, 8>(root, self.bits, address, meter),
            Family::Ipv6 => self.trie.find::<A, 32>(root, self.bits, address, meter),
        };
        found.unwrap_or_else(|| meter.load(&self.next_hops[slot]))
    }

    /// Whether there is room for so many changes, whatever they are.
    #[must_use]
    pub fn has_room_for(&self, changes: usize) -> bool {
        self.trie.has_room_for(changes)
    }

    /// Follows a table that holds all changes of a batch already.
    ///
    /// # Panics
    /// If there is no room, which [`Self::has_room_for`] foresees.
    pub fn follow(&mut self, rib: &Rib<A>, deltas: impl IntoIterator<Item = Delta<A>>) -> Cost {
        let mut cost = Cost::default();
        for Delta { prefix, after, .. } in deltas {
            let len = prefix.len();
            if len >= self.bits {
                self.follow_in_trie(Route { prefix, next_hop: after }, &mut cost);
            } else if after.is_some() {
                self.write(prefix, Some(Route { prefix, next_hop: after }), 0..=len + 1, &mut cost);
            } else {
                self.write(prefix, rib.parent(prefix), len + 1..=len + 1, &mut cost);
            }
        }
        self.trie.compact_if_worth_it([]);
        cost
    }

    /// The bytes by the paper's parts.
    #[must_use]
    pub fn memory(&self) -> Memory {
        let array = self.trie.root_bytes() + self.next_hops.bytes() + self.written_by.bytes();
        Memory::new()
            .off_chip("initial array", array)
            .off_chip("nodes", self.trie.node_bytes())
            .off_chip("results", self.trie.result_bytes())
    }

    /// Nodes, child arrays and results, and the nodes of each level by the bits before it.
    #[must_use]
    pub fn figures(&self) -> Vec<Figure> {
        self.trie.figures(self.roots())
    }

    /// Checks the structure, and that it is what these routes, in the order of a [`Rib`], make.
    ///
    /// # Errors
    /// With the first contradiction found.
    pub fn validate(&self, routes: impl Iterator<Item = Route<A>> + Clone) -> Result<(), String> {
        let slots = 1 << self.bits;
        let (mut next_hops, mut written_by) = (vec![W::default(); slots], vec![0; slots]);
        for Route { prefix, next_hop } in routes.clone().filter(|route| route.prefix.len() < self.bits) {
            next_hops[self.slots(prefix)].fill(W::narrow(next_hop));
            written_by[self.slots(prefix)].fill(prefix.len() + 1);
        }
        if next_hops != self.next_hops[..] || written_by != self.written_by[..] {
            return Err("the initial array is not what a build gives".into());
        }
        self.trie.validate(self.roots(), routes.filter(|route| route.prefix.len() >= self.bits))
    }

    /// The entry that stands for an address.
    #[inline(always)]
    pub(super) fn slot(&self, address: A) -> usize {
        address.bits(0, self.bits) as usize
    }

    /// The entries that a prefix covers, which is shorter than they are.
    fn slots(&self, prefix: Prefix<A>) -> std::ops::Range<usize> {
        let slots = slots(prefix, self.bits);
        *slots.start() as usize..*slots.end() as usize + 1
    }

    /// Every entry's prefix and root.
    fn roots(&self) -> impl Iterator<Item = (Prefix<A>, Node<M>)> {
        (0..1 << self.bits).map(|slot| {
            let first = A::from_bits(slot as u64, 0, self.bits);
            (Prefix::containing(first, self.bits), self.trie.root(slot))
        })
    }

    fn follow_in_trie(&mut self, route: Route<A>, cost: &mut Cost) {
        let slot = self.slot(route.prefix.first());
        let before = self.trie.root(slot);
        let root = if route.next_hop.is_some() {
            self.trie.insert(before, self.bits, route, cost)
        } else {
            self.trie.remove(before, self.bits, route.prefix, cost)
        };
        cost.entries_set += u64::from(root.is_empty() && !before.is_empty());
        self.trie.set_root(slot, root);
    }

    /// Gives the entries under a prefix that were written by such lengths (plus one) the answer of a route.
    fn write(
        &mut self,
        prefix: Prefix<A>,
        route: Option<Route<A>>,
        old: std::ops::RangeInclusive<u8>,
        cost: &mut Cost,
    ) {
        let next_hop = W::narrow(route.map_or(NextHop::NONE, |route| route.next_hop));
        let len = route.map_or(0, |route| route.prefix.len() + 1);
        let slots = self.slots(prefix);
        let entries = self.next_hops[slots.clone()].iter_mut().zip(&mut self.written_by[slots]);
        for (answer, written_by) in entries.filter(|(_, written_by)| old.contains(written_by)) {
            (*answer, *written_by) = (next_hop, len);
            cost.entries_set += 1;
        }
    }

    /// The node at the end of a way: an entry of the array, then a path through each node.
    #[cfg(test)]
    pub(crate) fn node(&self, way: &[u32]) -> Node<M> {
        let step = |node: Node<M>, &path: &u32| {
            self.trie.node(node.child(path).expect("a child"), &mut crate::engine::Unmetered)
        };
        way[1..].iter().fold(self.trie.root(way[0] as usize), step)
    }
}
