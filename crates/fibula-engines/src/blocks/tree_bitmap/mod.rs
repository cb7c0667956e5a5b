//! Tree Bitmap: a multibit trie whose nodes say with two bit maps which prefixes and which children
//! they have.
//!
//! Eatherton, Varghese and Dittia, "Tree Bitmap: Hardware/Software IP Lookups with Incremental
//! Updates" (ACM CCR 34(2), 2004), as He, Guan, Xie and Salamatian implement it in "Evaluating and
//! Optimizing IP Lookup on Many core Processors" (ICCCN 2012), sections II.A and III: one pointer a
//! node, an initial array for the first bits, lazy checking of the internal bit map. [`Trie`] holds
//! nodes and results, [`InitialArray`] a whole table of routes.
//!
//! # Layout
//! A node consumes *s* bits, its stride. The internal map has one bit for each prefix that ends
//! inside the node, 0 to *s* - 1 bits after those consumed before. Bits are in the order of the
//! lengths: bit 2^*l* + *v* is the prefix whose *l* bits are *v*. So the cover one bit shorter of
//! bit *b* is bit *b*/2.
//!
//! Bit 0 is unused in the paper. Here every root that has a block has bit 0: its first result is
//! the answer above the root, for addresses that no route inside or below covers. It is 0 where
//! there is none. The external map has one bit for each of the 2^*s* ways out,
//! set where there is a child.
//!
//! ```text
//!  node of stride 4        31            16 15             0
//!  8 bytes                +----------------+----------------+
//!                         |    external    |    internal    |
//!                         +----------------+----------------+
//!                         |              block              |
//!                         +---------------------------------+
//!
//!  node of stride 7        internal: 4 words, least significant first
//!  36 bytes                external: 4 words
//!                          block:    1 word
//! ```
//! `block` is the paper's one pointer, an index of a 32-bit word. From it upwards are the children,
//! one node for each bit of the external map. From it downwards are the results, one next hop for
//! each bit of the internal map, as many in a word as fit:
//!
//! ```text
//!             results                 | children
//!    ... | result 2 | result 1 | result 0 | child 0 | child 1 | child 2 ...
//!                                     ^ block
//! ```
//! Either is found by counting bits of its own map alone. Next hops are 8, 16 or 32 bits wide, as
//! the table needs. They are stored beside the nodes, so their width does not widen a node. A root
//! is stored as any other node.
//!
//! # Worked example
//! Figure 1 of the second paper, stride 3: node A has the prefixes * (P1) and 01* (P2) and children
//! at 000 (B) and 011 (C). Written from the first bit on, its internal map is 1000100, its external
//! map 10010000.
//!
//! The lookup of 011111 leaves A at 011. One bit is set before that one, so it goes on to child 1,
//! C. C has no child at 111, and no prefix inside. Back in A, the covers of 011 inside a node of
//! three bits are *, 0* and 01*. The longest of them in the map is 01*, before which one bit is
//! set, so the answer is result 1: P2.
//!
//! # Lookup
//! On the way down a lookup reads only external maps and keeps the nodes on a stack. On the way
//! back, the first node whose internal map holds a cover of the address answers. The paper tries
//! one cover after the other. Here one AND with the set of all covers of a path ([`Map::covers`])
//! and a count of leading zeros find the longest.
//!
//! # Updates
//! Copy-on-write by node: a route that is added or removed moves its node's block to an allocation
//! of the new size, and only the node itself is written in place. A new next hop for an old route
//! is written into its result.
//!
//! The answer above a root is the result of a cover, a route shorter than what the root resolves.
//! It has its word in the root's block whether there is a cover or not. So a cover that comes or
//! goes writes one word of each root below it, and moves no block. Costs are counted as in the
//! paper's Table IV; see [`InitialArray`].

mod initial_array;
mod lookup;
mod node;
#[cfg(test)]
mod tests;
mod trie;
mod update;
mod validate;

pub use initial_array::InitialArray;
pub use lookup::LANES;
pub use node::{Map, Node};
pub use trie::{MAX_WORDS, Trie, WORDS};
