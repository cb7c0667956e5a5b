//! `tree-bitmap`: an initial array, and below it a trie of nodes with two bit maps and one pointer
//! each.
//!
//! He, Guan, Xie and Salamatian, "Evaluating and Optimizing IP Lookup on Many core Processors"
//! (ICCCN 2012), sections II.A, III and IV, after Eatherton, Varghese and Dittia, "Tree Bitmap:
//! Hardware/Software IP Lookups with Incremental Updates" (ACM CCR 34(2), 2004). The page of [the
//! block](crate::blocks::tree_bitmap) draws the node, its block of results and children, lookup and
//! update, with the paper's Figure 1. This page describes the strides.
//!
//! # Layout
//! ```text
//! strides=13-4-4-4-4-3   the paper's TBP 13-4-4-4-4-3, `bitmap`: 8-byte nodes of two 16-bit maps
//!   IPv4   array of 2^13     nodes after 13 17 21 25 29 bits
//!   IPv6   array of 2^17     nodes after 17 21 25 ... 125 bits
//!
//! strides=11-7-7-7       the paper's TBP 11-7-7-7, `bitmap_5` for 7 bits: 36-byte nodes of two
//!                        128-bit maps
//!   IPv4   array of 2^11     nodes after 11 18 25 32 bits
//!   IPv6   array of 2^11     nodes after 11 18 25 ... 123 bits
//!
//! strides=14-6-6-6       20-byte nodes of two 64-bit maps
//!   both   array of 2^14     nodes after 14 20 26 32 bits, and so on for IPv6
//!
//! strides=12-5-5-5-5     12-byte nodes of two 32-bit maps
//!   both   array of 2^12     nodes after 12 17 22 27 32 bits, and so on for IPv6
//! ```
//! A node of stride 4 holds the prefixes of the four lengths from its own depth on. The last node
//! of IPv4 comes after 29 bits and holds /29 to /32: the last number of 13-4-4-4-4-3 means three
//! bits left to consume. For IPv6 an array of 17 bits gives the same end, with the last node after
//! 125 bits. A node of stride 7 after 25 bits ends at /31. So a /32 has a node of its own, in which
//! only the first bit of the internal map can be set. Strides of 5 and 6 end alike; they lie
//! between the paper's two, as its `bitmap_k` has it for k from 5 on.
//!
//! # Worked example
//! 10.0.0.0/8 to 1, 10.0.0.0/16 to 2, 10.0.128.0/17 to 3, 10.0.192.0/20 to 4, 10.0.192.1/32 to 5,
//! with the strides 13-4-4-4-4-3 and next hops of 32 bits:
//!
//! ```text
//! array     32 entries from 320 (10.0.0.0 >> 19) answer 1: bit 0, a result; entry 320 is node A
//! node      after  path        internal            external        block
//! A         13     0000  0001  8: 000 is the /16   0, 1: B         results 1 and 2, child B
//! B         17     1000        1: * is the /17     8: C            ...
//! ```
//! The /16 has the three bits 000 after the first 13: bit 8 of A's internal map. The /17 has four,
//! 0001, so it is the * of the child at 0001: bit 1 of node B, after 17 bits. The /20 has 100 after
//! those: bit 12 of B. The /32 continues from B at 1000 through two nodes with nothing inside, and
//! is the 001 of the node after 29 bits: bit 9.
//!
//! So there are five nodes and four results of routes. 10.0.192.1 is answered from the fifth node,
//! 10.0.192.2 on the way back in B. A test derives these numbers again.
//!
//! # What differs from the paper
//! - The paper is IPv4 only. The same nodes also serve IPv6.
//! - Next hops are stored in the result arrays, 8, 16 or 32 bits wide as the table needs. The paper
//!   stores pointers of 32 bits. The node's pointer counts words of 32 bits, so 16 GiB of nodes and
//!   results are the limit.
//! - Of a node's covers of an address, the longest is found at once instead of one bit after the
//!   other.
//! - Each entry of the array stores the answer of the routes shorter than it as the first result of
//!   its node, so that such a route is written in place. The length of the route that wrote it is
//!   stored beside, so that an update need not look up all other routes.

#[cfg(test)]
mod tests;

use crate::blocks::tree_bitmap::{InitialArray, MAX_WORDS, WORDS};
use fibula::engine::Stages;
use fibula::engine::{
    About, Config, Engine, Figure, LimitInfo, Lookup, Meter, ParameterInfo, Staging, Update, Updates, Width,
};
use fibula::parts::arch::Isa;
use fibula::parts::memory::Memory;
use fibula::{Address, Delta, Error, Family, Rib};

/// What the tools print about the engine.
pub const ABOUT: About = About {
    name: "tree-bitmap",
    paper: "He, Guan, Xie, Salamatian, Evaluating and Optimizing IP Lookup on Many core Processors, ICCCN 2012, after \
            Eatherton, Varghese, Dittia, Tree Bitmap, ACM CCR 34(2), 2004",
    year: 2004,
    updates: Updates::InPlace,
    limits: &[LimitInfo { what: WORDS, max: MAX_WORDS }],
    parameters: &[ParameterInfo {
        name: "strides",
        meaning: "13-4-4-4-4-3 (8-byte nodes, default; for IPv6 17-4-...-4-3), 12-5-5-5-5 (12), 14-6-6-6 (20) or 11-7-7-7 (36)",
    }],
    ..About::DEFAULT
};

/// Returns the bits that the initial array resolves above nodes of stride 4.
fn initial_bits_above_4(family: Family) -> u8 {
    match family {
        Family::Ipv4 => 13,
        Family::Ipv6 => 17,
    }
}

/// The bits that the initial array resolves above nodes of stride 5, 6 and 7.
const INITIAL_BITS_ABOVE_5: u8 = 12;
const INITIAL_BITS_ABOVE_6: u8 = 14;
const INITIAL_BITS_ABOVE_7: u8 = 11;

/// The compiled table, with one kind of node; see the [module page](self).
#[derive(Debug)]
pub enum TreeBitmap<A, W: Copy> {
    /// Nodes of stride 4.
    Stride4(InitialArray<A, W, u16>),
    /// Nodes of stride 5.
    Stride5(InitialArray<A, W, u32>),
    /// Nodes of stride 6.
    Stride6(InitialArray<A, W, u64>),
    /// Nodes of stride 7.
    Stride7(InitialArray<A, W, u128>),
}

layouts!(($) with_table: Stride4, Stride5, Stride6, Stride7);

/// Returns the stride of the nodes that a configuration asks for.
fn stride(config: &Config) -> Result<u8, Error> {
    config.choice("strides", &[("13-4-4-4-4-3", 4), ("12-5-5-5-5", 5), ("14-6-6-6", 6), ("11-7-7-7", 7)])
}

impl<A: Address, W: Width> TreeBitmap<A, W> {
    /// Builds within a limit of words. The tests make the limit small.
    fn build_within(rib: &Rib<A>, config: &Config, max_words: u64) -> Result<Self, Error> {
        let (routes, pages) = (rib.iter(), config.pages);
        Ok(match stride(config)? {
            5 => Self::Stride5(InitialArray::build(routes, INITIAL_BITS_ABOVE_5, max_words, pages)?),
            6 => Self::Stride6(InitialArray::build(routes, INITIAL_BITS_ABOVE_6, max_words, pages)?),
            7 => Self::Stride7(InitialArray::build(routes, INITIAL_BITS_ABOVE_7, max_words, pages)?),
            _ => {
                let bits = initial_bits_above_4(A::FAMILY);
                Self::Stride4(InitialArray::build(routes, bits, max_words, pages)?)
            }
        })
    }
}

impl<A: Address, W: Width> Lookup<A> for TreeBitmap<A, W> {
    type Width = W;

    #[inline(always)]
    fn lookup_metered<M: Meter>(&self, address: A, meter: &mut M) -> W {
        with_table!(self, TreeBitmap::array => array.find(address, meter))
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, _: I, addresses: &[A], next_hops: &mut [W]) {
        with_table!(self, TreeBitmap::array => array.find_all(addresses, next_hops));
    }

    fn staging() -> Option<Staging<Self, A>> {
        Some(Staging::of_lookup())
    }
}

impl<A: Address, W: Width> Stages<A> for TreeBitmap<A, W> {
    fn stages(&self) -> usize {
        with_table!(self, TreeBitmap::array => array.stages())
    }

    #[inline(always)]
    fn run_stage<I: Isa>(&self, _: I, stage: usize, addresses: &[A], found: &mut [u64]) {
        with_table!(self, TreeBitmap::array => array.run_stage(stage, addresses, found));
    }
}

impl<A: Address, W: Width> Engine<A> for TreeBitmap<A, W> {
    type View = Self;

    fn build(rib: &Rib<A>, config: &Config) -> Result<Self, Error> {
        Self::build_within(rib, config, MAX_WORDS)
    }

    fn view(&self) -> &Self {
        self
    }

    fn apply(&mut self, rib: &Rib<A>, deltas: &[Delta<A>]) -> Update {
        with_table!(self, TreeBitmap::array => {
            if !array.can_follow(deltas) {
                // New nodes may not fit beside the old ones. They may fit alone.
                return Update::Rebuild;
            }
            Update::Applied(array.follow(rib, deltas))
        })
    }

    fn memory(&self) -> Memory {
        with_table!(self, TreeBitmap::array => array.memory())
    }

    fn figures(&self) -> Vec<Figure> {
        with_table!(self, TreeBitmap::array => array.figures())
    }

    fn validate(&self, rib: &Rib<A>) -> Result<(), String> {
        with_table!(self, TreeBitmap::array => array.validate(rib.iter()))
    }
}
