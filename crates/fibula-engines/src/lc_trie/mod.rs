//! `lc-trie`: a binary trie compressed by level and by path, in one array of 32-bit words.
//!
//! Stefan Nilsson and Gunnar Karlsson, "IP-Address Lookup Using LC-Tries", IEEE Journal on Selected
//! Areas in Communications 17(6), 1999. The trie itself is from Arne Andersson and Stefan Nilsson,
//! "Improved Behaviour of Tries by Adaptive Branching", Information Processing Letters 46(6), 1993.
//!
//! # Layout
//!
//! Routes that cover no other are the **base vector**, in order. Routes that do are the **prefix
//! vector**. Each entry of either points to the longest route that covers it, so a chain leads from
//! every base string to all its covers, longest first. Only the base strings are in the **trie**.
//!
//! The paper takes the topmost *k* levels of a binary trie over them that are full enough, and
//! replaces them by one node with 2^*k* children. It does the same below each child (level
//! compression). Bits on which a subtrie does not branch are skipped (path compression). *Full
//! enough* is the fill factor (parameter `fill`): the share of the children that have base strings.
//! The root branches on a fixed number of bits (parameter `root`). A node's children are adjacent,
//! so one pointer to the leftmost is enough:
//!
//! ```text
//!           31                                        10 9       5 4       0
//!           +-------------------------------------------+---------+---------+
//!   branch  | index of the leftmost child, halved       | skip    | k       |
//!           +-------------------------------------------+---------+---------+
//!   leaf    | index of the base string                            | 0       |
//!           +-----------------------------------------------------+---------+
//!
//!   base string, IPv4 (12 bytes; 16 with 32-bit next hops)
//!   0               4               8         10   11
//!   +---------------+---------------+---------+----+
//!   | string        | above         | next hop| len|
//!   +---------------+---------------+---------+----+
//!   base string, IPv6 (32 bytes)
//!   0                               16              20        22 or 24
//!   +-------------------------------+---------------+---------+----+
//!   | string                        | above         | next hop| len|
//!   +-------------------------------+---------------+---------+----+
//!   cover, IPv4 and IPv6 (8 bytes; 12 with 32-bit next hops)
//!   0               4         6
//!   +---------------+---------+----+
//!   | above         | next hop| len|
//!   +---------------+---------+----+
//! ```
//! `above` is the next of the chain. A cover stores no string: its bits are the first of every base
//! string below it. The compiler may order the fields of the two vectors otherwise; their sizes are
//! asserted.
//!
//! # Lookup
//!
//! From the root, skip `skip` bits and let the next *k* choose the child, until a leaf. Then
//! compare once: count the leading bits that the address shares with the base string. If they are
//! as many as the string has, that is the answer. Otherwise the answer is the first cover of the
//! chain that is no longer than the shared bits.
//!
//! Every leaf has a base string, even a child that no base string begins. Such a child has a
//! neighbour's: of the base strings before and after it, the one whose chain has the longest cover
//! of the child. That is right for this reason. A cover longer than what the node has in common has
//! base strings under the node. They are adjacent and surround the child, so the nearest on one
//! side is one of them. All shorter covers are in every chain under the node.
//!
//! # Worked example
//!
//! Eight routes, fill factor 50 percent, no fixed root:
//!
//! ```text
//!   base vector                                    prefix vector
//!   0  000       0.0.0.0/3   → 2  above 0          0            0.0.0.0/0   → 1
//!   1  01        64.0.0.0/2  → 3  above 0          1  101       160.0.0.0/3 → 5  above 0
//!   2  1000      128.0.0.0/4 → 4  above 0
//!   3  10101010  170.0.0.0/8 → 6  above 1
//!   4  10101011  171.0.0.0/8 → 7  above 1
//!   5  110       192.0.0.0/3 → 8  above 0
//!
//!                        #0 k 3, skip 0, children #2
//!      /      /      /      /      |      \         \         \
//!    000    001    010    011     100     101        110       111
//!   #2: 0  #3: 0  #4: 1  #5: 1  #6: 2    #7 k 1,   #8: 5     #9: 5
//!                                        skip 4, children #10
//!                                         0 /   \ 1
//!                                     #10: 3   #11: 4
//! ```
//! The root branches on 3 bits because 5 of 8 children have base strings (01 is counted once); on 4
//! it would be 5 of 16. #4 and #5 are both 01; #3 and #9 are of a neighbour. The trie is 12 words,
//! with the unused one after the root. The total is 136 bytes with 16-bit next hops.
//!
//! 170.1.2.3 goes to #7 and skips 4 bits. Then bit 7 is 0: base string 3. All 8 of its bits are
//! shared, so the answer is 6. 172.0.0.1 (10101100) takes the same path but shares only 5 bits.
//! 160.0.0.0/3 is the first cover with no more bits, so the answer is 5. 240.0.0.1 reaches #9 and
//! shares 2 bits of 3 with 192.0.0.0/3, whose cover 0.0.0.0/0 has no bits: 1.
//!
//! # Limits
//!
//! A trie has at most [`MAX_NODES`] nodes, leaves included. The full table of 2024 needs 1.6 for
//! each route.
//!
//! # What differs from the paper
//!
//! - The paper's word has 5 bits of branching factor, 7 of skip, 20 of address. 2^20 nodes are too
//!   few for a table of 900,000 routes. Here children begin at even indices (one word after the
//!   root is unused), so the address is stored halved, and it takes two bits of skip as well: 22
//!   bits that reach 2^23 nodes. Common beginnings longer than [`MAX_SKIP`], which only IPv6 has,
//!   take one more node that branches on one bit for every 32 of them. A leaf, which skips nothing,
//!   uses those bits for its base string.
//! - The next-hop table is the framework's: an entry stores its next-hop index at the width of the
//!   engine.
//! - Where children separate is derived from the number of bits that neighbouring base strings
//!   share, computed once. One pass over these bytes tells a node how many children would not be
//!   empty for every *k*.
//! - The authors' program gives two base strings two children, whatever the fill factor. Here no
//!   node branches on more bits than separate all its base strings, which makes a twelfth fewer
//!   nodes on the full table of 2024.
//! - Of two neighbours with an equally long cover of an empty child, the one whose chain reaches it
//!   in fewer steps is taken.
//! - A fixed root has at most eight times as many children as there are base strings, so that a
//!   small table stays small.
//! - Prefixes are compared by one count of shared bits, instead of one masked comparison for each
//!   cover.
//! - Batches walk [`LANES`] addresses in step.

mod build;
mod lookup;
mod node;
mod strings;
#[cfg(test)]
mod tests;
mod validate;

pub use lookup::LANES;
pub use node::{MAX_BRANCH, MAX_NODES, MAX_SKIP};

use fibula::engine::{About, Config, Engine, Figure, LimitInfo, Lookup, Meter, ParameterInfo, Width};
use fibula::parts::arch::Isa;
use fibula::parts::memory::{Array, Memory};
use fibula::{Address, Error, Rib};
use node::Node;
use strings::Strings;

/// What a trie may have too many of, as errors name it.
const NODES: &str = "trie nodes";

/// The default fill factor, in percent.
pub const DEFAULT_FILL: u8 = 50;

/// The default number of bits that the root branches on.
pub const DEFAULT_ROOT: u8 = 16;

/// What the tools print about the engine.
pub const ABOUT: About = About {
    name: "lc-trie",
    paper: "Nilsson and Karlsson, IP-Address Lookup Using LC-Tries (IEEE JSAC 17(6), 1999)",
    year: 1999,
    limits: &[LimitInfo { what: NODES, max: MAX_NODES }],
    parameters: &[
        ParameterInfo {
            name: "fill",
            meaning: "least share of children that are not empty, 1 to 100 percent; 50",
        },
        ParameterInfo {
            name: "root",
            meaning: "bits the root branches on, 1 to 22, or 0 to let `fill` decide; 16",
        },
    ],
    ..About::DEFAULT
};

/// The parameters that shape a trie.
#[derive(Clone, Copy, Debug)]
struct Shape {
    /// The fill factor in percent, 1 to 100.
    fill: u8,
    /// The bits that the root branches on. With 0 the fill factor decides.
    root: u8,
}

/// A level- and path-compressed trie; see the [module](self).
#[derive(Clone, Debug)]
pub struct LcTrie<A: Address, W: Width> {
    /// The nodes, the root first. Never empty.
    trie: Array<Node>,
    strings: Strings<A, W>,
}

impl<A: Address, W: Width> LcTrie<A, W> {
    /// Returns the number of nodes, leaves included.
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.trie.len()
    }
}

impl<A: Address, W: Width> Lookup<A> for LcTrie<A, W> {
    type Width = W;

    fn lookup_metered<M: Meter>(&self, address: A, meter: &mut M) -> W {
        self.find(address, meter)
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, _: I, addresses: &[A], next_hops: &mut [W]) {
        self.find_all(addresses, next_hops);
    }
}

impl<A: Address, W: Width> Engine<A> for LcTrie<A, W> {
    type View = Self;

    fn build(rib: &Rib<A>, config: &Config) -> Result<Self, Error> {
        let fill = config.parameter("fill", 1..=100, DEFAULT_FILL)?;
        let root = config.parameter("root", 0..=MAX_BRANCH, DEFAULT_ROOT)?;
        let strings = Strings::of(rib, config.pages);
        let trie = build::grow(&strings, Shape { fill, root }, config.pages, MAX_NODES)?;
        Ok(Self { trie, strings })
    }

    fn view(&self) -> &Self {
        self
    }

    fn memory(&self) -> Memory {
        Memory::new()
            .off_chip("trie", self.trie.bytes())
            .off_chip("base vector", self.strings.bases.bytes())
            .off_chip("prefix vector", self.strings.covers.bytes())
    }

    fn figures(&self) -> Vec<Figure> {
        let (mut nodes, mut leaves, mut depths, mut greatest) = (0, 0_usize, 0, 0);
        let mut ahead = vec![(0, 0)];
        while let Some((at, depth)) = ahead.pop() {
            let node = self.trie[at];
            nodes += 1;
            if node.is_leaf() {
                leaves += 1;
                depths += depth;
                greatest = greatest.max(depth);
            } else {
                let children = node.children()..node.children() + (1 << node.branch());
                ahead.extend(children.map(|child| (child, depth + 1)));
            }
        }
        vec![
            Figure::count("nodes", nodes),
            Figure::new("average depth of a leaf", depths as f64 / leaves as f64),
            Figure::count("greatest depth", greatest),
            Figure::count("base vector", self.strings.bases.len()),
            Figure::count("prefix vector", self.strings.covers.len()),
        ]
    }

    fn validate(&self, rib: &Rib<A>) -> Result<(), String> {
        self.check(rib)
    }
}
