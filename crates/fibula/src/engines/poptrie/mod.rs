//! `poptrie`: a trie of 64-way nodes behind a direct table; each node is two bit maps and two
//! indices.
//!
//! H. Asai and Y. Ohara, "Poptrie: A Compressed Trie with Population Count for Fast and Scalable
//! Software IP Routing Table Lookup", ACM SIGCOMM 2015. Written from the paper, for both families.
//!
//! # Layout
//!
//! The first `s` bits of an address index the direct table (the paper's direct pointing). An entry
//! is the answer, or the root of a trie that consumes six bits per level:
//!
//! ```text
//!                    31  30                                    0
//! direct table      +---+---------------------------------------+
//!  2^s entries      | 1 | next hop                              |
//!                   | 0 | index of a node                       |
//!                   +---+---------------------------------------+
//!
//!                    63                                        0
//! node, 24 bytes    +-------------------------------------------+
//!                   | vector      bit v: slot v is a child      |
//!                   +-------------------------------------------+
//!                   | leafvec     bit v: at slot v begins a run |
//!                   |             of equal leaves               |
//!                   +---------------------+---------------------+
//!                   | base0: its children | base1: its leaves   |
//!                   +---------------------+---------------------+
//!
//! nodes             the children of one node are adjacent, in slot order; each root alone
//! leaves            the leaves of one node are adjacent, one next hop for each run
//! ```
//!
//! Let *v* be the next six bits. If bit *v* of `vector` is set, the walk continues at node
//! `base0 + (bits set in vector up to v) - 1`. Otherwise the answer is leaf
//! `base1 + (bits set in leafvec up to v) - 1`. If fewer than six bits of the address are left, the
//! missing bits are zeros. Both families end that way for most `s` (32 - 18 = 2 × 6 + 2,
//! 128 - 18 = 18 × 6 + 2), and /127 and /128 are as exact as all others.
//!
//! # Worked example
//!
//! With `s` = 18: 10.0.0.0/8 to 1, 10.0.1.0/24 to 2, 10.0.2.0/23 to 3, 10.0.4.0/24 to 1,
//! 10.0.4.128/25 to 4. Entry 10,240 of the direct table (10.0.0.0 >> 14) is node *A*, and the 1,023
//! entries after it are the answer 1.
//!
//! ```text
//!            slots                              vector  leafvec           leaves
//! A  bits 18 0: 1, 1: 2, 2-3: 3, 4: B, 5-63: 1  0x10    0x27              1 2 3 1
//! B  bits 24 0-31: 1, 32-63: 4                  0       1 << 32 | 1       1 4
//! ```
//!
//! 10.0.3.9 is slot 3 of A. It is not a child, and three runs begin at or before it, so its answer
//! is the third leaf: 3. 10.0.4.200 is slot 4 of A, the first child. In B it is slot 200 >> 2 = 50,
//! where two runs have begun: 4. Two nodes and six leaves take 48 + 6 bytes beside the direct
//! table. A test derives these numbers again.
//!
//! # What differs from the paper
//!
//! - **Build.** One sweep over the table's merged intervals, from the bottom up. It steps from
//!   interval to interval instead of slot to slot, and needs no radix tree in between: 20 to 25 ms
//!   for 902K IPv4 routes. See `edit.rs`.
//! - **Update.** The same sweep over the changed prefix only, against the existing trie. Runs that
//!   come out unchanged stay, and others are written beside. Nothing is freed before the whole
//!   update has succeeded, and an update that reaches a limit is undone. After any updates the trie
//!   is the one that a build gives, except for where its parts are stored. Holes beyond a sixteenth
//!   are closed.
//! - **Batches.** 64 addresses take each level together, so that their cache misses overlap. They
//!   leave the list of those still walking by arithmetic. The level at which an address ends cannot
//!   be predicted, and one mispredicted branch per address is what slows down a loop over single
//!   addresses.
//! - **Next hops of 8, 16 or 32 bits** instead of 16. The few too great for the 31 bits of a direct
//!   entry are stored in a node of one leaf.
//! - **Equal leaves merge across a child**, so that every table has exactly one form.
//!
//! `s` = 18 for IPv6 too: most of its prefixes end at 18 + 5 × 6 = 48. With 16, lookups walk one
//! level more (8 % slower, 0.6 MB smaller); 20 is 10 % faster for 3 MB more.

//! # Concurrent readers
//!
//! A node is two words and two half words, which no reader can load at once. So in a shared trie
//! the bit maps of a node never change in place, and a base changes by one store. A reader uses
//! only one of the two bases, and sees it either old or new.
//!
//! So an update that changes answers but no shape writes the leaves beside and stores one base.
//! Where a node's shape changes, the run of children that contains it is written again (64 nodes at
//! most). Then the base of the node above is stored, or, for a root, the entry of the direct table.
//! All stores come at the end, so readers see nothing of an update that found no room.
//!
//! Replaced nodes and leaves are reused after a grace period. Nothing moves, so a trie asks for a
//! rebuild when its reserved room is used up, or when far more is unused than used.

mod compact;
mod direct;
mod edit;
mod node;
#[cfg(test)]
mod tests;
mod validate;
mod view;

pub(crate) use view::PoptrieView;

use crate::blocks::chunks::SharedPool;
use crate::engine::{
    About, Config, Engine, Estimate, Figure, LimitInfo, ParameterInfo, Persist, Persistence, Share, Sharing,
    Update, Updates, Width,
};
use crate::memory::{Memory, Pages, Words, WordsView};
use crate::sections::{SectionWriter, Sections};
use crate::{Address, Delta, Error, Family, Prefix, Rib};
use direct::Direct;
use edit::Edit;
use node::Node;

/// The most nodes: an entry of the direct table has 31 bits for an index.
pub(crate) const MAX_NODES: u64 = 1 << 31;

/// The most leaves: a node has 32 bits for an index.
pub(crate) const MAX_LEAVES: u64 = 1 << 32;

/// The most bits that the direct table can resolve.
pub(crate) const MAX_DIRECT_BITS: u8 = 24;

/// The bits that the direct table resolves, unless the parameter `s` says otherwise.
pub(crate) const DEFAULT_DIRECT_BITS: u8 = 18;

const NODES: &str = "poptrie nodes";
const LEAVES: &str = "poptrie leaves";

/// What the tools print about the engine.
pub(crate) const ABOUT: About = About {
    name: "poptrie",
    paper: "H. Asai, Y. Ohara, \"Poptrie: A Compressed Trie with Population Count for Fast and Scalable \
            Software IP Routing Table Lookup\", ACM SIGCOMM 2015",
    year: 2015,
    updates: Updates::InPlace,
    limits: &[LimitInfo { what: NODES, max: MAX_NODES }, LimitInfo { what: LEAVES, max: MAX_LEAVES }],
    parameters: &[ParameterInfo {
        name: "s",
        meaning: "bits resolved by the direct table: 0 to 24, default 18",
    }],
    estimate: |survey, isa| {
        let ns = match survey.family() {
            Family::Ipv4 => 5.6 + 10.0 * survey.share_longer_than(24) + survey.wait_below_24(96),
            Family::Ipv6 => {
                (3.7 * survey.levels_of(9) - 5.3).max(5.0)
                    + 15.3 * survey.share_longer_than(48)
                    + 41.4 * survey.share_longer_than(64)
            }
        };
        Estimate { ns, bytes: (4 << DEFAULT_DIRECT_BITS) + 5 * survey.routes() }.on(isa, 1.45)
    },
    ..About::DEFAULT
};

/// The compiled trie; see the [module page](self).
#[derive(Debug)]
pub(crate) struct Poptrie<A, W: Width> {
    view: PoptrieView<A, W>,
    /// The bits of the address that the direct table resolves.
    s: u8,
    direct: Words<Direct>,
    nodes: SharedPool<Node>,
    leaves: SharedPool<W>,
    max_nodes: u64,
    max_leaves: u64,
    pages: Pages,
}

impl<A: Address, W: Width> Poptrie<A, W> {
    /// Builds within limits of nodes and leaves. The tests make the limits small.
    fn build_within(rib: &Rib<A>, config: &Config, max_nodes: u64, max_leaves: u64) -> Result<Self, Error> {
        let s = direct_bits(config)?;
        let pages = config.pages;
        let direct = Words::filled(Direct::NONE, 1 << s, pages);
        let (nodes, leaves) = new_pools(max_nodes, max_leaves, pages);
        let view = PoptrieView::of(s, direct.view(), nodes.view(), leaves.view());
        let mut trie = Self { view, s, direct, nodes, leaves, max_nodes, max_leaves, pages };
        let mut edit = Edit::new(&mut trie, rib);
        edit.refresh(Prefix::ALL)?;
        edit.commit();
        trie.nodes.shrink_to_fit();
        trie.leaves.shrink_to_fit();
        trie.show();
        Ok(trie)
    }

    /// Updates the view after an array has moved.
    fn show(&mut self) {
        self.direct.show_in(&mut self.view.direct);
        self.nodes.show_in(&mut self.view.nodes);
        self.leaves.show_in(&mut self.view.leaves);
    }

    /// Returns a run of leaves.
    fn leaves_in(&self, start: usize, len: usize) -> Vec<W> {
        self.leaves[start..start + len].iter().map(W::load).collect()
    }
}

/// Returns the bits that the direct table is to resolve.
fn direct_bits(config: &Config) -> Result<u8, Error> {
    config.parameter("s", 0..=MAX_DIRECT_BITS, DEFAULT_DIRECT_BITS)
}

fn new_pools<W: Width>(max_nodes: u64, max_leaves: u64, pages: Pages) -> (SharedPool<Node>, SharedPool<W>) {
    (SharedPool::empty(NODES, max_nodes, pages), SharedPool::empty(LEAVES, max_leaves, pages))
}

impl<A: Address, W: Width> Engine<A> for Poptrie<A, W> {
    type View = PoptrieView<A, W>;

    fn build(rib: &Rib<A>, config: &Config) -> Result<Self, Error> {
        Self::build_within(rib, config, MAX_NODES, MAX_LEAVES)
    }

    fn view(&self) -> &PoptrieView<A, W> {
        &self.view
    }

    fn copied(&self) -> Option<Self> {
        let (direct, nodes, leaves) = (self.direct.clone(), self.nodes.clone(), self.leaves.clone());
        let view = PoptrieView::of(self.s, direct.view(), nodes.view(), leaves.view());
        Some(Self { view, direct, nodes, leaves, ..*self })
    }

    fn apply(&mut self, rib: &Rib<A>, deltas: &[Delta<A>]) -> Update {
        if self.nodes.is_shared() && (self.nodes.is_wasteful() || self.leaves.is_wasteful()) {
            return Update::Rebuild;
        }
        let mut edit = Edit::new(self, rib);
        // Refreshing a prefix covers all prefixes within it.
        for prefix in Prefix::outermost(deltas.iter().map(|delta| delta.prefix)) {
            if edit.refresh(prefix).is_err() {
                // The new parts do not fit beside the old ones. They may fit alone.
                edit.roll_back();
                self.show();
                return Update::Rebuild;
            }
        }
        let cost = edit.commit();
        if !self.nodes.is_shared() {
            self.compact_if_worth_it();
            self.show();
        }
        Update::Applied(cost)
    }

    fn memory(&self) -> Memory {
        Memory::new()
            .off_chip("direct table", size_of_val(&self.direct[..]))
            .off_chip("nodes", self.nodes.bytes())
            .off_chip("leaves", self.leaves.bytes())
    }

    fn figures(&self) -> Vec<Figure> {
        vec![
            Figure::count("internal nodes", self.nodes.len() - self.nodes.free_total()),
            Figure::count("leaves", self.leaves.len() - self.leaves.free_total()),
            Figure::count("direct entries", self.direct.len()),
        ]
    }

    fn validate(&self, rib: &Rib<A>) -> Result<(), String> {
        self.check_bookkeeping()?;
        self.check_against(rib)
    }

    fn sharing() -> Option<Sharing<Self, A>> {
        Some(Sharing::of_engine())
    }

    fn persistence() -> Option<Persistence<Self, A>> {
        Some(Persistence::of_engine())
    }
}

impl<A: Address, W: Width> Share<A> for Poptrie<A, W> {
    fn share(&mut self) -> Option<PoptrieView<A, W>> {
        self.nodes.share(self.max_nodes);
        self.leaves.share(self.max_leaves);
        self.show();
        Some(self.view.clone())
    }

    fn readers_passed(&mut self) {
        self.nodes.readers_passed();
        self.leaves.readers_passed();
    }
}

impl<A: Address, W: Width> Persist<A> for Poptrie<A, W> {
    fn save<'s>(&'s self, sections: &mut SectionWriter<'s>) {
        sections.made("direct table", &self.direct.to_plain());
        sections.made("nodes", &self.nodes.to_plain());
        sections.made("leaves", &self.leaves.to_vec());
    }

    fn open(sections: &Sections<'_>, config: &Config) -> Result<PoptrieView<A, W>, Error> {
        let s = direct_bits(config)?;
        let direct = WordsView::holding(sections.array_of("direct table", 1 << s)?);
        let nodes = WordsView::holding(sections.array("nodes")?);
        let view = PoptrieView::of(s, direct, nodes, WordsView::holding(sections.array("leaves")?));
        view.check_levels()?;
        Ok(view)
    }
}
