//! Tree Bitmap: a multibit trie whose nodes say with two bit maps which prefixes and which children they have.
//!
//! Eatherton, Varghese and Dittia, "Tree Bitmap: Hardware/Software IP Lookups with Incremental Updates" (ACM CCR
//! 34(2), 2004), as He, Guan, Xie and Salamatian implement it in "Evaluating and Optimizing IP Lookup on Many core
//! Processors" (ICCCN 2012), sections II.A and III: one pointer a node, an initial array for the first bits,
//! lazy checking of the internal bit map. [`Trie`] is nodes and results, [`InitialArray`] a whole table of routes.
//!
//! # Layout
//! A node consumes *s* bits, its stride. Of the prefixes that end inside it (0 to *s* - 1 bits after those consumed
//! before) the internal map has one bit each, in the order of their lengths: bit 2^*l* + *v* is the prefix whose *l*
//! bits are *v*. So the cover one bit shorter of bit *b* is bit *b*/2. Bit 0 is nobody's in the paper; that of a root says that it has an
//! answer for what no route inside or below covers. Of the 2^*s* ways out, the external map has one bit each, set where a child is.
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
//! `block` is the paper's one pointer, a number of a 32-bit word. From there on upwards stand the children, one node
//! for each bit of the external map; from there downwards the results, one next hop for each bit of the internal map,
//! as many in a word as fit:
//!
//! ```text
//!             results                 | children
//!    ... | result 2 | result 1 | result 0 | child 0 | child 1 | child 2 ...
//!                                     ^ block
//! ```
//! Either is found by counting bits of its own map alone. Next hops are 8, 16 or 32 bits wide, as the table
//! needs, and beside the nodes, so no width of theirs widens a node. A root of stride 4 is one word of 64 bits, an entry of the array.
//!
//! # Worked example
//! Figure 1 of the second paper, stride 3: node A has the prefixes * (P1) and 01* (P2) and children at 000 (B)
//! and 011 (C). Written from the first bit on, its internal map is 1000100, its external map 10010000. The
//! search for 011111 leaves A at 011: one bit stands before that one, so it goes on to child 1, C. C has no child at
//! 111, and nothing inside. Back in A, the covers of 011 inside a node of three bits are *, 0* and 01*: the longest of
//! them in the map is 01*, before which there is one bit, so the answer is result 1: P2.
//!
//! # Lookup
//! Only external maps are looked at on the way down, and the nodes are kept on a stack; on the way back, the first
//! whose internal map holds a cover of the address answers. The paper tries one cover after the other; here one AND
//! with the set of all covers of a path ([`Map::covers`]) and a count of leading zeros find the longest.
//!
//! # Updates
//! By node copy: a route that comes or goes takes its node's block to a new place of the new size, and only the
//! node itself is written in place; a new next hop for an old route is written into its result. What they cost is
//! counted as the paper's Table IV does, see [`InitialArray`].
//!
//! # Readers meanwhile
//! What a node answers is asked on the way back, after the nodes below it: a reader that finds no longer route, because that came a moment
//! later, must find above it what was there before. No order of stores gives it that, since each of two changes, the longer route's and then
//! the shorter one's, is right by itself. So where others read, a block never changes: a change copies those on the way from
//! its own up to the root, at most 192 bytes a level, and stores the root, a word of 64 bits. With the answer of the array
//! in the root's own block, that word shows a reader one moment of all that its address may find, however late it goes on from there. The blocks
//! that were replaced are used again when every reader has passed.
//!
//! Batches of many changes come [in the order](super::entry::in_order) that takes each address from its old answer to its new one at once.
//! Nothing moves to close holes; a trie asks to be built anew when there is no room, or when far more is free than in use. A root of stride 7 is
//! nine words, which no reader finds whole, so such a trie is not shared.

mod initial_array;
mod node;
mod snapshot;
#[cfg(test)]
mod tests;
mod trie;
mod update;
mod validate;
mod view;

pub use initial_array::InitialArray;
pub use node::{Map, Node};
pub use trie::{MAX_WORDS, Trie, WORDS};
pub use view::{InitialArrayView, LANES};
