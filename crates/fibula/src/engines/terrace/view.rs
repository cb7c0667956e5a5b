//! [`TerraceView`]: what lookups read, and the lookup of one address. Batches are in
//! [`batch`](super::batch).

use super::block::words;
use super::handle::{Handle, MARK, answer_at};
use super::tree::Trees;
use crate::arch::{Isa, Scalar};
use crate::blocks::linear_tree::{CHILDREN, Node, halves, nodes_above};
use crate::engine::{Lookup, Meter, Unmetered};

/// The trees as lookups read them. A leaf block has `LEAF` levels.
#[derive(Clone, Debug)]
pub(crate) struct TerraceView<const LEAF: u32 = 3> {
    pub(super) trees: Trees<LEAF>,
    /// The tree of /64s.
    pub(super) root: Handle,
}

/// Returns the number of the child of node `at` of a level that has `below` children before it.
#[inline(always)]
fn child(at: u32, below: u32) -> u32 {
    // Wraps only in snapshots that somebody forged, and then an index is past the end.
    at.wrapping_mul(CHILDREN as u32).wrapping_add(below)
}

/// Returns the next hop of a word without the mark.
#[inline(always)]
pub(super) fn next_hop(word: u32) -> u32 {
    if word & MARK == 0 { word } else { 0 }
}

impl<const LEAF: u32> TerraceView<LEAF> {
    /// Returns the word that answers for `key` in the block at `origin`.
    #[inline(always)]
    fn step(&self, isa: impl Isa, (origin, levels): (u32, u32), key: u64, meter: &mut impl Meter) -> u32 {
        let lines: &[Node] = &self.trees.blocks.lines;
        let mut at = 0;
        for level in 0..levels {
            let node = origin.wrapping_add(nodes_above(level) as u32).wrapping_add(at);
            at = child(at, isa.count_below(&meter.load::<Node>(&lines[node as usize]), key));
        }
        meter.load(&words(lines)[answer_at(origin, at) as usize])
    }

    /// Returns the bytes of all trees.
    pub(in crate::engines) fn bytes(&self) -> usize {
        self.trees.blocks.lines.bytes()
    }

    /// Returns whether all addresses have one answer.
    pub(in crate::engines) fn is_uniform(&self) -> bool {
        self.trees.only_word(self.root).is_some_and(|word| word & MARK == 0)
    }

    /// Returns the word that answers for `key` in a tree.
    #[inline(always)]
    fn walk(&self, isa: impl Isa, tree: Handle, key: u64, meter: &mut impl Meter) -> u32 {
        let word = self.step(isa, (tree.origin, tree.levels), key, meter);
        if tree.is_directory { self.step(isa, (word, LEAF), key, meter) } else { word }
    }

    /// Looks up one address.
    #[inline(always)]
    pub(in crate::engines) fn one(&self, isa: impl Isa, address: u128, meter: &mut impl Meter) -> u32 {
        let (network, host) = halves(address);
        let word = self.walk(isa, self.root, network, meter);
        next_hop(if word & MARK == 0 { word } else { self.walk(isa, Handle::unpack(word), host, meter) })
    }
}

impl<const LEAF: u32> Lookup<u128> for TerraceView<LEAF> {
    type Width = u32;
    const ON_BASELINE: bool = false;
    const FEW: usize = 7;

    #[inline(always)]
    fn lookup_metered<M: Meter>(&self, address: u128, meter: &mut M) -> u32 {
        self.one(Scalar, address, meter)
    }

    #[inline(always)]
    fn lookup_on<I: Isa>(&self, isa: I, address: u128) -> u32 {
        self.one(isa, address, &mut Unmetered)
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, isa: I, addresses: &[u128], next_hops: &mut [u32]) {
        self.many(isa, addresses, next_hops);
    }
}
