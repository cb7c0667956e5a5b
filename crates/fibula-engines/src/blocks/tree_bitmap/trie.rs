//! [`Trie`]: nodes and results in one array of words.

use super::node::{Map, Node, path, position};
use fibula::engine::{Meter, Width};
use fibula::parts::blocks::chunks::Pool;
use fibula::parts::memory::Pages;
use fibula::{Address, Limit, NextHop, Prefix, Route};
use std::iter::Peekable;
use std::marker::PhantomData;

/// The name of the words of a trie in a [`Limit`].
pub const WORDS: &str = "tree bitmap words";

/// The most words of 32 bits: all that a node's `block` can address, one past the last included.
pub const MAX_WORDS: u64 = u32::MAX as u64;

/// The most slots of a node of any stride.
const MOST_SLOTS: usize = 128;

/// Nodes with their results, below roots that the owner stores.
///
/// A root is a node that is passed in and, after a change, returned. All methods that take one take
/// the number of bits before it as `offset`. The first words, as many as a node has, are reserved:
/// zeros, which read as an empty node and as results that are no route.
#[derive(Debug)]
pub struct Trie<W, M> {
    pub(super) words: Pool<u32>,
    /// The number of words that hold results.
    pub(super) result_words: usize,
    pub(super) max_words: u64,
    pub(super) pages: Pages,
    pub(super) kind: PhantomData<(W, M)>,
}

impl<W: Width, M: Map> Trie<W, M> {
    /// The number of results that fit into a word.
    const RESULTS_A_WORD: usize = size_of::<u32>() / size_of::<W>();

    /// The most words that a node's block may take.
    pub(super) const FULL_BLOCK: usize = (M::WORDS + 1) << M::STRIDE;

    /// Creates an empty trie of at most `max_words` words.
    ///
    /// # Errors
    /// If not even the reserved words fit.
    pub fn new(max_words: u64, pages: Pages) -> Result<Self, Limit> {
        let mut words = Pool::new(WORDS, max_words.min(MAX_WORDS), pages);
        words.insert(M::pack(Node::EMPTY).as_ref())?;
        Ok(Self { words, result_words: 0, max_words, pages, kind: PhantomData })
    }

    /// Returns the longest match below a root, or the answer above it.
    ///
    /// If `LAZY`, this is the paper's lazy checking: nodes on the way down are stacked unread, and
    /// their internal maps are tested on the way back. Otherwise each map is tested on the way
    /// down. `DEPTH` is the greatest number of nodes on a way down.
    #[inline(always)]
    pub fn find<A: Address, const DEPTH: usize, const LAZY: bool>(
        &self,
        root: Node<M>,
        mut offset: u8,
        address: A,
        meter: &mut impl Meter,
    ) -> Option<W> {
        let mut stack = [Node::EMPTY; DEPTH];
        let mut depth = 0;
        stack[0] = root;
        let mut matched = None;
        while let Some(at) = stack[depth].child(path::<A, M>(address, offset)) {
            if !LAZY {
                let longest = stack[depth].longest(path::<A, M>(address, offset));
                matched = longest.map(|position| Self::result_place(stack[depth], position)).or(matched);
            }
            depth += 1;
            offset += M::STRIDE;
            stack[depth] = self.node(at, meter);
        }
        loop {
            let node = stack[depth];
            if let Some(position) = node.longest(path::<A, M>(address, offset)) {
                return Some(self.result_at(Self::result_place(node, position), meter));
            }
            if !LAZY {
                return matched.map(|place| self.result_at(place, meter));
            }
            if depth == 0 {
                return None;
            }
            depth -= 1;
            offset -= M::STRIDE;
        }
    }

    /// Builds the node of the next routes, as far as `within` covers them. A root also gets the
    /// answer above them, which may be "no route".
    ///
    /// # Errors
    /// If the words are used up.
    pub fn build<A: Address>(
        &mut self,
        routes: &mut Peekable<impl Iterator<Item = Route<A>>>,
        within: Prefix<A>,
        above: Option<W>,
    ) -> Result<Node<M>, Limit> {
        let (offset, end) = (within.len(), within.len() + M::STRIDE);
        let (mut internal, mut external) = (M::NONE, M::NONE);
        let mut results = [above.unwrap_or_default(); MOST_SLOTS];
        if above.is_some() {
            internal = internal | M::bit(Node::<M>::ABOVE);
        }
        let mut children = Vec::new();
        while let Some(&Route { prefix, next_hop }) = routes.peek().filter(|r| within.covers(r.prefix)) {
            if prefix.len() < end {
                let position = position(prefix, offset);
                internal = internal | M::bit(position);
                results[position as usize] = W::narrow(next_hop);
                routes.next();
            } else {
                external = external | M::bit(path::<A, M>(prefix.first(), offset));
                children.push(self.build(routes, Prefix::containing(prefix.first(), end), None)?);
            }
        }
        let node = self.allocate(internal, external)?;
        for (path, child) in external.positions().zip(children) {
            self.set_node(node.child_place(path), child);
        }
        for position in internal.positions() {
            self.set_result(node, position, results[position as usize]);
        }
        Ok(node)
    }

    /// Ends a build: frees unused capacity.
    pub fn shrink_to_fit(&mut self) {
        self.words.shrink_to_fit();
    }

    /// Returns whether there is room for `words` words.
    #[must_use]
    pub fn has_room_for(&self, words: usize) -> bool {
        words as u64 <= self.words.max() - self.words.len() as u64
    }

    /// Returns the most words that a change of a route below a root may take: one for a new root,
    /// and a full block on every level of the longest way down.
    #[must_use]
    pub fn most_words<A: Address>(offset: u8) -> usize {
        1 + (1 + usize::from((A::BITS - offset) / M::STRIDE)) * Self::FULL_BLOCK
    }

    /// Returns the bytes of nodes, holes and unused capacity included.
    #[must_use]
    pub fn node_bytes(&self) -> usize {
        self.words.bytes() - self.result_bytes()
    }

    /// Returns the bytes of results.
    #[must_use]
    pub fn result_bytes(&self) -> usize {
        self.result_words * size_of::<u32>()
    }

    /// Returns the node that begins at a word.
    #[inline(always)]
    pub(super) fn node(&self, at: usize, meter: &mut impl Meter) -> Node<M> {
        Self::load_node(&self.words, at, meter)
    }

    /// As [`Self::node`], from `words`.
    #[inline(always)]
    pub(super) fn load_node(words: &[u32], at: usize, meter: &mut impl Meter) -> Node<M> {
        M::unpack(meter.load(M::place(words, at)))
    }

    pub(super) fn set_node(&mut self, at: usize, node: Node<M>) {
        self.words[at..at + M::WORDS].copy_from_slice(M::pack(node).as_ref());
    }

    /// Returns the index of a result, counted as if all words were results; out of bounds if the
    /// node has none.
    #[inline(always)]
    pub(super) fn result_place(node: Node<M>, position: u32) -> usize {
        (node.block as usize * Self::RESULTS_A_WORD).wrapping_sub(node.internal.count_before(position) + 1)
    }

    /// Returns the index of the word that a result is in.
    #[inline(always)]
    pub(super) fn word_of(place: usize) -> usize {
        place / Self::RESULTS_A_WORD
    }

    #[inline(always)]
    pub(super) fn result_at(&self, place: usize, meter: &mut impl Meter) -> W {
        Self::load_result(&self.words, place, meter)
    }

    /// As [`Self::result_at`], from `words`.
    #[inline(always)]
    pub(super) fn load_result(words: &[u32], place: usize, meter: &mut impl Meter) -> W {
        let word = meter.load(&words[Self::word_of(place)]);
        W::narrow(NextHop(word >> Self::shift(place) & W::MAX))
    }

    pub(super) fn set_result(&mut self, node: Node<M>, position: u32, result: W) {
        let place = Self::result_place(node, position);
        let (at, shift) = (Self::word_of(place), Self::shift(place));
        self.words[at] = self.words[at] & !(W::MAX << shift) | result.widen().0 << shift;
    }

    #[inline(always)]
    fn shift(place: usize) -> u32 {
        (place % Self::RESULTS_A_WORD) as u32 * W::BITS.bits() as u32
    }

    /// Returns a node's words of results and of children.
    fn sizes(internal: M, external: M) -> (usize, usize) {
        (internal.count().div_ceil(Self::RESULTS_A_WORD), external.count() * M::WORDS)
    }

    /// Returns where a node's block begins, and its words of results and of children; `None` if
    /// `block` is invalid.
    pub(super) fn block(node: Node<M>) -> Option<(usize, usize, usize)> {
        let (results, children) = Self::sizes(node.internal, node.external);
        Some(((node.block as usize).checked_sub(results)?, results, children))
    }

    /// Returns a node of these maps with a new block, whose contents are unspecified.
    pub(super) fn allocate(&mut self, internal: M, external: M) -> Result<Node<M>, Limit> {
        let (results, children) = Self::sizes(internal, external);
        let start = self.words.allocate(results + children)?;
        self.result_words += results;
        Ok(Node { internal, external, block: (start + results) as u32 })
    }

    /// Frees a node's block.
    pub fn free(&mut self, node: Node<M>) {
        let (results, children) = Self::sizes(node.internal, node.external);
        self.words.remove(node.block as usize - results, results + children);
        self.result_words -= results;
    }

    /// Returns an empty trie with the same limit and pages.
    pub(super) fn another(&self) -> Result<Self, Limit> {
        Self::new(self.max_words, self.pages)
    }
}
