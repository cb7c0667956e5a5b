//! [`Trie`]: nodes and results in one array of words.

use super::node::{Map, Node, path, position};
use crate::blocks::chunks::Pool;
use crate::engine::{Meter, Unmetered, Width};
use crate::memory::Pages;
use crate::{Address, Limit, NextHop, Prefix, Route};
use std::iter::Peekable;
use std::marker::PhantomData;

/// What [`Limit`]s call the words of a trie.
pub const WORDS: &str = "tree bitmap words";

/// The most words of 32 bits: as many as a node's `block` can tell apart, one past the last included.
pub const MAX_WORDS: u64 = u32::MAX as u64;

/// The most slots of a node of any stride.
const MOST_SLOTS: usize = 128;

/// Nodes with their results, below roots that are kept here (the first words) or by the owner.
///
/// A root is a node handed in and, after a change, handed back. All methods that take one take the bits before it
/// as `offset`.
#[derive(Clone, Debug)]
pub struct Trie<W, M> {
    pub(super) words: Pool<u32>,
    /// The nodes kept here for the owner, in the first words.
    pub(super) roots: usize,
    /// The words that hold results.
    pub(super) result_words: usize,
    pub(super) max_words: u64,
    pub(super) pages: Pages,
    pub(super) kind: PhantomData<(W, M)>,
}

impl<W: Width, M: Map> Trie<W, M> {
    /// The results that fit into a word.
    const RESULTS_A_WORD: usize = size_of::<u32>() / size_of::<W>();

    /// An empty trie that keeps so many roots itself, and takes at most `max_words`.
    ///
    /// # Errors
    /// If the roots alone take more.
    pub fn new(roots: usize, max_words: u64, pages: Pages) -> Result<Self, Limit> {
        let mut words = Pool::new(WORDS, max_words.min(MAX_WORDS), pages);
        words.allocate(roots * M::WORDS)?;
        Ok(Self { words, roots, result_words: 0, max_words, pages, kind: PhantomData })
    }

    /// A root that is kept here.
    #[inline(always)]
    #[must_use]
    pub fn root(&self, root: usize) -> Node<M> {
        self.node(root * M::WORDS, &mut Unmetered)
    }

    /// As [`Self::root`], told to a meter.
    #[inline(always)]
    pub fn load_root(&self, root: usize, meter: &mut impl Meter) -> Node<M> {
        self.node(root * M::WORDS, meter)
    }

    /// Writes a root that is kept here.
    pub fn set_root(&mut self, root: usize, node: Node<M>) {
        self.set_node(root * M::WORDS, node);
    }

    /// The longest match below a root. The paper's lazy checking: nodes on the way are stacked unseen, and
    /// their internal maps asked on the way back. `DEPTH` nodes is the deepest way.
    #[inline(always)]
    pub fn find<A: Address, const DEPTH: usize>(
        &self,
        root: Node<M>,
        mut offset: u8,
        address: A,
        meter: &mut impl Meter,
    ) -> Option<W> {
        let mut stack = [Node::EMPTY; DEPTH];
        let mut depth = 0;
        stack[0] = root;
        while let Some(at) = stack[depth].child(path::<A, M>(address, offset)) {
            depth += 1;
            offset += M::STRIDE;
            stack[depth] = self.node(at, meter);
        }
        loop {
            let node = stack[depth];
            if let Some(position) = node.longest(path::<A, M>(address, offset)) {
                return Some(self.result_at(Self::result_place(node, position), meter));
            }
            if depth == 0 {
                return None;
            }
            depth -= 1;
            offset -= M::STRIDE;
        }
    }

    /// The root of the routes that come next and that `within` covers: their part of a build.
    ///
    /// # Errors
    /// If the words are used up.
    pub fn build<A: Address>(
        &mut self,
        routes: &mut Peekable<impl Iterator<Item = Route<A>>>,
        within: Prefix<A>,
    ) -> Result<Node<M>, Limit> {
        let (offset, end) = (within.len(), within.len() + M::STRIDE);
        let (mut internal, mut external) = (M::NONE, M::NONE);
        let mut results = [W::default(); MOST_SLOTS];
        let mut children = Vec::new();
        while let Some(&Route { prefix, next_hop }) = routes.peek().filter(|r| within.covers(r.prefix)) {
            if prefix.len() < end {
                let position = position(prefix, offset);
                internal = internal | M::bit(position);
                results[position as usize] = W::narrow(next_hop);
                routes.next();
            } else {
                external = external | M::bit(path::<A, M>(prefix.first(), offset));
                children.push(self.build(routes, Prefix::containing(prefix.first(), end))?);
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

    /// Ends a build: gives unused room back.
    pub fn shrink_to_fit(&mut self) {
        self.words.shrink_to_fit();
    }

    /// Whether there is room for so many changes, whatever they are.
    #[must_use]
    pub fn has_room_for(&self, changes: usize) -> bool {
        // At most a full block on every level of the longest way down.
        let (levels, full_block) = (128 / usize::from(M::STRIDE) + 1, (M::WORDS + 1) << M::STRIDE);
        self.words.len() as u64 + (changes * levels * full_block) as u64 <= self.max_words
    }

    /// The bytes of nodes, holes and unused capacity included, those kept for the owner not.
    #[must_use]
    pub fn node_bytes(&self) -> usize {
        self.words.bytes() - self.root_bytes() - self.result_bytes()
    }

    /// The bytes of the roots kept for the owner.
    #[must_use]
    pub fn root_bytes(&self) -> usize {
        self.roots * size_of::<M::Words>()
    }

    /// The bytes of results.
    #[must_use]
    pub fn result_bytes(&self) -> usize {
        self.result_words * size_of::<u32>()
    }

    /// The node that begins with a word.
    #[inline(always)]
    pub(super) fn node(&self, at: usize, meter: &mut impl Meter) -> Node<M> {
        M::unpack(meter.load(M::place(&self.words, at)))
    }

    pub(super) fn set_node(&mut self, at: usize, node: Node<M>) {
        self.words[at..at + M::WORDS].copy_from_slice(M::pack(node).as_ref());
    }

    /// Where a result is, numbered as if all words were results; nowhere, if the node has none.
    #[inline(always)]
    pub(super) fn result_place(node: Node<M>, position: u32) -> usize {
        (node.block as usize * Self::RESULTS_A_WORD).wrapping_sub(node.internal.count_before(position) + 1)
    }

    /// The word that a result is in.
    #[inline(always)]
    pub(super) fn word_of(place: usize) -> usize {
        place / Self::RESULTS_A_WORD
    }

    #[inline(always)]
    pub(super) fn result_at(&self, place: usize, meter: &mut impl Meter) -> W {
        let word = meter.load(&self.words[Self::word_of(place)]);
        W::narrow(NextHop(word >> Self::shift(place) & W::MAX))
    }

    pub(super) fn set_result(&mut self, node: Node<M>, position: u32, result: W) {
        let place = Self::result_place(node, position);
        let word = &mut self.words[Self::word_of(place)];
        *word = *word & !(W::MAX << Self::shift(place)) | result.widen().0 << Self::shift(place);
    }

    #[inline(always)]
    fn shift(place: usize) -> u32 {
        (place % Self::RESULTS_A_WORD) as u32 * W::BITS.bits() as u32
    }

    /// A node's words of results and of children.
    fn sizes(internal: M, external: M) -> (usize, usize) {
        (internal.count().div_ceil(Self::RESULTS_A_WORD), external.count() * M::WORDS)
    }

    /// Of a node's block, where it begins and its words of results and of children; `None` if `block` cannot be.
    pub(super) fn block(node: Node<M>) -> Option<(usize, usize, usize)> {
        let (results, children) = Self::sizes(node.internal, node.external);
        Some(((node.block as usize).checked_sub(results)?, results, children))
    }

    /// A node of these maps with a block of its own, nothing in it yet.
    pub(super) fn allocate(&mut self, internal: M, external: M) -> Result<Node<M>, Limit> {
        let (results, children) = Self::sizes(internal, external);
        let start = self.words.allocate(results + children)?;
        self.result_words += results;
        Ok(Node { internal, external, block: (start + results) as u32 })
    }

    /// Gives a node's block back.
    pub(super) fn free(&mut self, node: Node<M>) {
        let (results, children) = Self::sizes(node.internal, node.external);
        self.words.remove(node.block as usize - results, results + children);
        self.result_words -= results;
    }

    /// An empty trie like this one.
    pub(super) fn another(&self) -> Result<Self, Limit> {
        Self::new(self.roots, self.max_words, self.pages)
    }
}
