//! `radix`: a path-compressed binary tree, the routing table of Berkeley Unix and the papers' yardstick.
//!
//! Keith Sklower, "A Tree-Based Packet Routing Table for Berkeley Unix", USENIX Winter Conference 1991;
//! on the Patricia tree of Donald R. Morrison, "PATRICIA: Practical Algorithm To Retrieve Information Coded in
//! Alphanumeric", Journal of the ACM 15(4), 1968.
//!
//! # Structure
//!
//! A node stands for a prefix: a route's, or the common beginning of two subtrees that part there (a *branch*,
//! without a next hop). Bits on which nothing parts are skipped, so a branch always has two children,
//! *n* routes need fewer than 2*n* nodes, and no path is longer than the address has bits, plus one.
//! Nodes stand in one array and point by index; 16 or 32 bytes, aligned, so that none lies across two
//! cache lines:
//!
//! ```text
//! IPv4, 8- and 16-bit next hops (16 bytes):
//!   0               4               8               12        14   15
//!   +---------------+---------------+---------------+---------+----+----+
//!   | key           | child, bit 0  | child, bit 1  | next hop| len|    |
//!   +---------------+---------------+---------------+---------+----+----+
//! IPv4, 32-bit next hops: len is at 16, padded to 32 bytes.
//! IPv6 (32 bytes):
//!   0                               16              24        28   29
//!   +-------------------------------+-------+-------+---------+----+----+
//!   | key                           | 0     | 1     | next hop| len|    |
//!   +-------------------------------+-------+-------+---------+----+----+
//! ```
//! `key` and `len` are the node's prefix, `len` is also the bit that chooses the child; child `u32::MAX` is
//! none; next hop 0 marks a branch. A build writes the nodes in depth-first order, which puts most left
//! children into their parent's cache line.
//!
//! # Lookup
//!
//! Descend by the bit each node names; remember the next hop of every route passed; stop at a node whose
//! prefix does not begin the address, or where there is no child. The last one remembered is the longest match.
//!
//! # Worked example
//!
//! 0.0.0.0/0 → 1, 10.0.0.0/8 → 2, 10.1.0.0/16 → 3, 10.192.0.0/10 → 4, 11.0.0.0/8 → 5, 192.168.0.0/16 → 6:
//! seven nodes, one of them a branch, 112 bytes.
//!
//! ```text
//!                       #0 0.0.0.0/0 → 1
//!             bit 0 = 0 /              \ 1
//!              #1 10.0.0.0/7        #6 192.168.0.0/16 → 6
//!        bit 7 = 0 /         \ 1
//!      #2 10.0.0.0/8 → 2   #5 11.0.0.0/8 → 5
//!      bit 8 = 0 /      \ 1
//! #3 10.1.0.0/16 → 3   #4 10.192.0.0/10 → 4
//! ```
//! 10.1.2.3 passes #0, #1, #2, #3 and is answered 3. 10.64.0.1 does the same, but #3 does not begin it: the
//! answer is 2, remembered at #2. Withdrawing 11.0.0.0/8 removes #5 and, with it, the branch #1.
//!
//! # What differs from the paper
//!
//! - Sklower's lookup descends without looking at keys, compares at the leaf and, where that fails, climbs
//!   back, trying the masks that are noted on the way. Here every node on the way down is compared: its key
//!   lies in the cache line that had to be read anyway, a mismatch ends the descent early, and there
//!   is no way back. The memory accesses are at most those of the paper's descent.
//! - A route sits in the node at its own length, not in a leaf with a chain of duplicated keys and mask lists
//!   above: the longest match needs no second structure.
//! - Masks are prefix lengths; the original also takes masks with holes, which no routing table has.
//! - Batches interleave several descents ([`LANES`]), each fetching its next node while others are compared.

mod build;
mod lookup;
mod node;
#[cfg(test)]
mod tests;
mod update;
mod validate;

pub use lookup::LANES;
pub use node::MAX_NODES;

use crate::arch::Isa;
use crate::blocks::chunks::Pool;
use crate::engine::{About, Config, Engine, LimitInfo, Meter, Update, Updates, Width};
use crate::memory::Memory;
use crate::{Address, Delta, Error, Rib};
use node::Node;

/// What the tools print about it.
pub const ABOUT: About = About {
    name: "radix",
    paper: "Sklower, A Tree-Based Packet Routing Table for Berkeley Unix (USENIX Winter 1991)",
    year: 1991,
    updates: Updates::InPlace,
    limits: &[LimitInfo { what: "radix nodes", max: MAX_NODES }],
    parameters: &[],
    preset: &[],
};

/// A path-compressed binary tree; see the [module](self).
#[derive(Clone, Debug)]
pub struct Radix<A: Address, W: Width> {
    nodes: Pool<Node<A, W>>,
    /// The node of the shortest prefix; [`node::NIL`] where there is no route.
    root: u32,
}

impl<A: Address, W: Width> Radix<A, W> {
    /// The number of nodes, branches included.
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.nodes.len() - self.nodes.free_total()
    }
}

impl<A: Address, W: Width> Engine<A, W> for Radix<A, W> {
    fn build(rib: &Rib<A>, config: &Config) -> Result<Self, Error> {
        Ok(Self::plant(rib, config.pages, MAX_NODES)?)
    }

    fn lookup_metered<M: Meter>(&self, address: A, meter: &mut M) -> W {
        self.descend(address, meter)
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, _: I, addresses: &[A], next_hops: &mut [W]) {
        self.descend_all(addresses, next_hops);
    }

    fn apply(&mut self, _: &Rib<A>, deltas: &[Delta<A>]) -> Update {
        self.follow(deltas)
    }

    fn memory(&self) -> Memory {
        Memory::new().off_chip("nodes", self.nodes.bytes())
    }

    fn validate(&self, rib: &Rib<A>) -> Result<(), String> {
        self.check_tree(rib)
    }
}
