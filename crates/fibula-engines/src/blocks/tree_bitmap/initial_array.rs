//! [`InitialArray`]: a table of routes as an array for the first bits, with a trie below each
//! entry.

use super::node::{Map, Node};
use super::trie::Trie;
use crate::blocks::expansion::slots;
use fibula::engine::{Cost, Figure, Width};
use fibula::parts::blocks::entry::in_order;
use fibula::parts::memory::{Array, Memory, Pages};
use fibula::{Address, Delta, Limit, NextHop, Prefix, Rib, Route};
use std::iter::Peekable;
use std::marker::PhantomData;

/// A table of routes: an array with an entry for each value of an address's first `bits` bits. An
/// entry is the root of a [`Trie`], and holds the answer for addresses that no route in that trie
/// covers.
///
/// Routes of fewer than `bits` bits are expanded: each entry answers with the longest that covers
/// it. The length of that route is stored beside, so that a change recognises its own entries. All
/// other routes are in the tries.
///
/// # Cost of a change
/// [`Cost`] counts what the paper's Table IV counts:
/// - `entries_set`: entries of the array that get another answer or lose their last route below,
///   and results written by an announcement;
/// - `nodes_allocated`: blocks (a node's children and results) allocated from the pool;
/// - `nodes_copied`: child nodes that moved with a block, at most 2^*s* a block;
/// - `results_moved`: results that moved with a block.
#[derive(Debug)]
pub struct InitialArray<A, W: Copy, M: Map> {
    pub(super) bits: u8,
    pub(super) trie: Trie<W, M>,
    pub(super) roots: Array<M::Words>,
    /// One more than the length of the route that wrote an entry's answer, or 0 if none did.
    pub(super) written_by: Array<u8>,
    /// Whether entries keep their blocks when neither a route nor an answer is left.
    keeps_blocks: bool,
    pub(super) family: PhantomData<(A, W)>,
}

impl<A: Address, W: Width, M: Map> InitialArray<A, W, M> {
    /// Compiles routes that come in the order of a [`Rib`].
    ///
    /// # Errors
    /// If the trie takes more than `max_words` words.
    pub fn build(
        routes: impl Iterator<Item = Route<A>>,
        bits: u8,
        max_words: u64,
        pages: Pages,
    ) -> Result<Self, Limit> {
        let mut array = Self {
            bits,
            trie: Trie::new(max_words, pages)?,
            roots: Array::filled(M::pack(Node::EMPTY), 1 << bits, pages),
            written_by: Array::zeroed(1 << bits, pages),
            keeps_blocks: false,
            family: PhantomData,
        };
        let mut answers = vec![W::default(); 1 << bits];
        let mut routes = routes.peekable();
        while let Some(&Route { prefix, next_hop }) = routes.peek() {
            if prefix.len() < bits {
                // In order, every route comes after its covers.
                let slots = array.slots(prefix);
                answers[slots.clone()].fill(W::narrow(next_hop));
                array.written_by[slots].fill(prefix.len() + 1);
                routes.next();
            } else {
                array.build_below(array.slot(prefix.first()), &mut routes, &answers)?;
            }
        }
        for slot in 0..1 << bits {
            if array.written_by[slot] > 0 && !array.root(slot).has_block() {
                array.build_below(slot, &mut std::iter::empty().peekable(), &answers)?;
            }
        }
        array.trie.shrink_to_fit();
        Ok(array)
    }

    /// Gives every entry a block for good, at least one word. Then a short route that comes or goes
    /// is written in place in all entries that it covers, and allocates and frees nothing.
    ///
    /// # Errors
    /// If the trie takes more than its most words.
    pub fn keeping_blocks(mut self) -> Result<Self, Limit> {
        let none = vec![W::default(); 1 << self.bits];
        for slot in 0..1 << self.bits {
            if !self.root(slot).has_block() {
                self.build_below(slot, &mut std::iter::empty().peekable(), &none)?;
            }
        }
        self.trie.shrink_to_fit();
        self.keeps_blocks = true;
        Ok(self)
    }

    /// Builds an entry from the next of the routes, as far as they belong to it.
    fn build_below(
        &mut self,
        slot: usize,
        routes: &mut Peekable<impl Iterator<Item = Route<A>>>,
        answers: &[W],
    ) -> Result<(), Limit> {
        let root = self.trie.build(routes, self.prefix(slot), Some(answers[slot]))?;
        self.set_root(slot, root);
        Ok(())
    }

    /// Returns how many bits of an address the array resolves.
    #[must_use]
    pub fn bits(&self) -> u8 {
        self.bits
    }

    /// Returns whether there is room for any of these changes.
    #[must_use]
    pub fn can_follow(&self, deltas: &[Delta<A>]) -> bool {
        let words = |prefix: Prefix<A>| {
            if prefix.len() >= self.bits {
                return Trie::<W, M>::most_words::<A>(self.bits);
            }
            let is_new = |slot: &usize| !self.root(*slot).has_block();
            if self.keeps_blocks { 0 } else { self.slots(prefix).filter(is_new).count() }
        };
        self.trie.has_room_for(deltas.iter().map(|delta| words(delta.prefix)).sum())
    }

    /// Follows a table that holds all changes of a batch already.
    ///
    /// # Panics
    /// If there is no room; [`Self::can_follow`] tells in advance.
    pub fn follow(&mut self, rib: &Rib<A>, deltas: &[Delta<A>]) -> Cost {
        let mut cost = Cost::default();
        for delta in in_order(deltas) {
            self.follow_one(rib, delta, &mut cost);
        }
        self.compact_if_worth_it();
        cost
    }

    /// Follows one change of a batch. Changes come [in order](in_order).
    pub fn follow_one(&mut self, rib: &Rib<A>, Delta { prefix, after, .. }: Delta<A>, cost: &mut Cost) {
        let len = prefix.len();
        if len >= self.bits {
            self.follow_in_trie(Route { prefix, next_hop: after }, cost);
        } else if after.is_some() {
            self.write(prefix, Some(Route { prefix, next_hop: after }), 0..=len + 1, cost);
        } else {
            self.write(prefix, rib.parent(prefix), len + 1..=len + 1, cost);
        }
    }

    /// Ends a batch: closes holes, if there are too many.
    pub fn compact_if_worth_it(&mut self) {
        self.trie.compact_if_worth_it(&mut self.roots);
    }

    /// Returns the bytes by the paper's parts.
    #[must_use]
    pub fn memory(&self) -> Memory {
        let array = size_of_val(&self.roots[..]) + self.written_by.bytes();
        Memory::new()
            .off_chip("initial array", array)
            .off_chip("nodes", self.trie.node_bytes())
            .off_chip("results", self.trie.result_bytes())
    }

    /// Returns the numbers of nodes, child arrays and results, and of the nodes of each level by
    /// the bits before it.
    #[must_use]
    pub fn figures(&self) -> Vec<Figure> {
        self.trie.figures(self.entries())
    }

    /// Checks the structure, and that it holds exactly these routes, which come in the order of a
    /// [`Rib`].
    ///
    /// # Errors
    /// Returns the first contradiction found.
    pub fn validate(&self, routes: impl Iterator<Item = Route<A>> + Clone) -> Result<(), String> {
        let slots = 1 << self.bits;
        let (mut answers, mut written_by) = (vec![W::default(); slots], vec![0; slots]);
        for Route { prefix, next_hop } in routes.clone().filter(|route| route.prefix.len() < self.bits) {
            answers[self.slots(prefix)].fill(W::narrow(next_hop));
            written_by[self.slots(prefix)].fill(prefix.len() + 1);
        }
        if written_by != self.written_by[..] {
            return Err("the lengths of the initial array are not what a build gives".into());
        }
        if self.keeps_blocks
            && let Some((prefix, _)) = self.entries().find(|(_, root)| !root.has_block())
        {
            return Err(format!("no block is kept for {prefix}"));
        }
        let longer = routes.filter(|route| route.prefix.len() >= self.bits);
        self.trie.validate(self.entries(), answers.into_iter(), longer)
    }

    /// Returns the entry of an address.
    #[inline(always)]
    pub(super) fn slot(&self, address: A) -> usize {
        address.bits(0, self.bits) as usize
    }

    /// Returns the entries that a prefix covers, which is shorter than `bits`.
    fn slots(&self, prefix: Prefix<A>) -> std::ops::Range<usize> {
        let slots = slots(prefix, self.bits);
        *slots.start() as usize..*slots.end() as usize + 1
    }

    /// Returns the prefix of an entry.
    fn prefix(&self, slot: usize) -> Prefix<A> {
        Prefix::containing(A::from_bits(slot as u64, 0, self.bits), self.bits)
    }

    #[inline(always)]
    pub(super) fn root(&self, slot: usize) -> Node<M> {
        M::unpack(self.roots[slot])
    }

    pub(super) fn set_root(&mut self, slot: usize, root: Node<M>) {
        self.roots[slot] = M::pack(root);
    }

    /// Returns every entry's prefix and root.
    fn entries(&self) -> impl Iterator<Item = (Prefix<A>, Node<M>)> {
        (0..1 << self.bits).map(|slot| (self.prefix(slot), self.root(slot)))
    }

    fn follow_in_trie(&mut self, route: Route<A>, cost: &mut Cost) {
        let slot = self.slot(route.prefix.first());
        let before = self.root(slot);
        let root = if route.next_hop.is_some() {
            let root = if before.has_block() { before } else { self.trie.new_root(W::default()) };
            self.trie.insert(root, self.bits, route, cost)
        } else {
            self.trie.remove(before, self.bits, route.prefix, cost)
        };
        cost.entries_set += u64::from(root.is_empty() && !before.is_empty());
        self.set_root(slot, root);
        self.free_if_unused(slot);
    }

    /// Frees the block of an entry with neither a route nor an answer.
    fn free_if_unused(&mut self, slot: usize) {
        let root = self.root(slot);
        if root.is_empty() && self.written_by[slot] == 0 && !self.keeps_blocks {
            self.set_root(slot, Node::EMPTY);
            self.trie.free(root);
        }
    }

    /// Sets the answer of a route in the entries under `prefix` whose `written_by` (length plus
    /// one) satisfies the condition.
    fn write(
        &mut self,
        prefix: Prefix<A>,
        route: Option<Route<A>>,
        old: std::ops::RangeInclusive<u8>,
        cost: &mut Cost,
    ) {
        let next_hop = W::narrow(route.map_or(NextHop::NONE, |route| route.next_hop));
        let len = route.map_or(0, |route| route.prefix.len() + 1);
        for slot in self.slots(prefix) {
            if old.contains(&self.written_by[slot]) {
                self.written_by[slot] = len;
                match self.root(slot) {
                    root if root.has_block() => self.trie.set_above(root, next_hop),
                    _ => {
                        let root = self.trie.new_root(next_hop);
                        self.set_root(slot, root);
                    }
                }
                self.free_if_unused(slot);
                cost.entries_set += 1;
            }
        }
    }

    /// Returns the node at the end of a walk: an entry of the array, then a path through each node.
    #[cfg(test)]
    pub(crate) fn node(&self, way: &[u32]) -> Node<M> {
        let step = |node: Node<M>, &path: &u32| {
            self.trie.node(node.child(path).expect("a child"), &mut fibula::engine::Unmetered)
        };
        way[1..].iter().fold(self.root(way[0] as usize), step)
    }
}
