//! A path-compressed binary tree: longest match by descent, updates in place, exact for prefixes of
//! any length.
//!
//! Donald R. Morrison, "PATRICIA: Practical Algorithm To Retrieve Information Coded in
//! Alphanumeric", Journal of the ACM 15(4), 1968. The `radix` engine is this tree over a whole
//! table. Engines whose papers leave routes out (those longer than 64 bits, those outside 2000::/3)
//! keep these in such a tree beside their own structure.
//!
//! # Structure
//!
//! A node represents a prefix: that of a route, or the common beginning of two subtrees that part
//! there (a *branch*, without a next hop). Bits on which nothing parts are skipped, so a branch
//! always has two children. So *n* routes need fewer than 2*n* nodes, and no path is longer than
//! the number of bits of an address, plus one.
//!
//! Nodes are stored in one array and point by index. They have 16 or 32 bytes, aligned, so that
//! none crosses a cache line:
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
//! `key` and `len` are the node's prefix; `len` is also the index of the bit that chooses the
//! child. Child `u32::MAX` means none; next hop 0 marks a branch. A build writes the nodes in
//! depth-first order, which puts most left children into their parent's cache line.
//!
//! # Lookup
//!
//! Descend by the bit that each node names, and remember the next hop of every route passed. Stop
//! at a node whose prefix does not begin the address, or where there is no child. The last next hop
//! remembered is that of the longest match.
//!
//! # Worked example
//!
//! 0.0.0.0/0 → 1, 10.0.0.0/8 → 2, 10.1.0.0/16 → 3, 10.192.0.0/10 → 4, 11.0.0.0/8 → 5,
//! 192.168.0.0/16 → 6: seven nodes, one of them a branch, 112 bytes.
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
//! 10.1.2.3 passes #0, #1, #2, #3; the answer is 3. 10.64.0.1 passes the same nodes, but the prefix
//! of #3 does not begin it: the answer is 2, remembered at #2. Withdrawing 11.0.0.0/8 removes #5
//! and, with it, the branch #1.

mod build;
mod lookup;
mod node;
#[cfg(test)]
mod tests;
mod update;
mod validate;

pub use lookup::LANES;
pub use node::MAX_NODES;

use crate::Address;
use crate::blocks::chunks::Pool;
use crate::engine::{Figure, Width};
use node::Node;

/// The name of what [`MAX_NODES`] limits, as errors give it.
pub const NODES: &str = "radix nodes";

/// A path-compressed binary tree; see the [module](self).
///
/// ```
/// use fibula::parts::blocks::patricia::Patricia;
/// use fibula::engine::Unmetered;
/// use fibula::parts::memory::Pages;
/// use fibula::{NextHop, Rib};
/// let mut rib: Rib<u32> = Rib::new();
/// rib.insert("10.0.0.0/8".parse().unwrap(), NextHop(1));
/// let mut tree: Patricia<u32, u8> = Patricia::plant(rib.iter(), Pages::Small).unwrap();
/// let delta = rib.insert("10.1.0.0/16".parse().unwrap(), NextHop(2)).unwrap();
/// tree.follow(&[delta]).expect("there is room for two more nodes");
/// let addresses = [0x0A01_0203, 0x0A02_0304, 0x0B00_0000];
/// assert_eq!(addresses.map(|a| tree.descend(a, &mut Unmetered)), [2, 1, 0]);
/// ```
#[derive(Clone, Debug)]
pub struct Patricia<A: Address, W: Width> {
    nodes: Pool<Node<A, W>>,
    /// The node of the shortest prefix; [`node::NIL`] if there is no route.
    root: u32,
}

impl<A: Address, W: Width> Patricia<A, W> {
    /// Returns the number of nodes, branches included.
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.nodes.len() - self.nodes.free_total()
    }

    /// Returns the number of nodes and routes and the greatest depth, as figures to print. O(n).
    #[must_use]
    pub fn figures(&self) -> Vec<Figure> {
        let (mut routes, mut greatest) = (0, 0);
        let mut ahead = vec![(self.root, 1)];
        while let Some((at, depth)) = ahead.pop() {
            if let Some(node) = self.nodes.get(at as usize) {
                routes += usize::from(node.is_route());
                greatest = greatest.max(depth);
                ahead.extend(node.children.map(|child| (child, depth + 1)));
            }
        }
        vec![
            Figure::count("nodes", self.node_count()),
            Figure::count("routes", routes),
            Figure::count("greatest depth, nodes", greatest),
        ]
    }

    /// Returns the bytes it occupies, unused capacity included.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.nodes.bytes()
    }
}
