//! `hybrid`: short routes in a Tree Bitmap, middle routes in the TBL24 of DIR-24-8, long routes in
//! sub-tries behind it.
//!
//! He, Guan, Xie and Salamatian, "Evaluating and Optimizing IP Lookup on Many core Processors"
//! (ICCCN 2012), section V, Figure 8.
//!
//! # Layout
//! ```text
//! /0 to /16    Tree Bitmap: an array of 2^13 for /0 to /12,
//!              below it nodes of stride 4 for /13 to /16
//!
//! /17 to /24   TBL24[a >> 8]      | 0 |  length  |  next hop  |      2^24 entries
//!                                 | 1 |          |  sub-trie  |
//!
//! /25 to /32   sub-tries: a root node of stride 4, whose block also has the answer of the entry
//!              nodes after 24, 28 and 32 bits
//! ```
//! Entries are those of `entry`, nodes those of
//! `tree_bitmap`. A lookup tries the long routes first: TBL24, and
//! the sub-trie if there is one. Only if they have no answer does it look in the Tree Bitmap of the
//! short routes.
//!
//! # Updates
//! DIR-24-8 writes up to 2^16 entries for a /8. Here the tables of short and long routes change by
//! node copy. An update copies at most one block of a node, that is, 16 nodes of 8 bytes and 16
//! results ([`MOST_BYTES_COPIED`], within the paper's 256).
//!
//! A cover copies nothing of what it covers. A route of 17 to 24 bits writes its own entries of
//! TBL24, at most 128. If an entry points to a sub-trie, it writes the answer above that, one word
//! in place. A route of 12 bits or fewer writes the answers of the initial array, one for each
//! 13-bit prefix it covers: 8,192 words for a default route. Each entry has its word from the
//! start, 32 KB in all.
//!
//! One cost is not of a single update. When changes have left one
//! word unused for every eleven in use, the next one moves all nodes of that trie to close the
//! holes.
//!
//! # Worked example
//! 10.0.0.0/8 to 1, 10.1.0.0/16 to 2, 10.1.128.0/17 to 3, 10.1.129.0/25 to 4.
//!
//! ```text
//! 10.1.129.5    TBL24[0x0A0181] = sub-trie 0, whose root has the prefix 0: 4
//! 10.1.129.200  the same, nothing in the sub-trie but the answer of the entry: 3
//! 10.1.130.0    TBL24[0x0A0182] = 0x2200_0003, length 17, next hop 3
//! 10.1.2.0      TBL24[0x0A0102] = 0; Tree Bitmap, node below entry 320 of the array: 2
//! 10.200.0.0    TBL24[0x0AC800] = 0; Tree Bitmap, nothing below entry 345; its answer: 1
//! ```
//! 128 entries of TBL24 belong to the /17. Withdrawing the /8 writes 32 entries, where DIR-24-8
//! writes 65,280.
//!
//! # What differs from the paper
//! - The default route, which the paper does not assign to a table, is one of the short routes.
//! - A sub-trie also answers for the entry of its /24. The length of that route is stored beside
//!   the number of the /24, where only updates look.
//! - The 256 bytes that the paper allows an update are, as it writes, 16 nodes of 8 bytes, which
//!   make 128.

mod lookup;
#[cfg(test)]
mod tests;
mod update;
mod validate;

use crate::blocks::dense::{ChunkArray, Owners};
use crate::blocks::expansion::slots;
use crate::blocks::tree_bitmap::{InitialArray, MAX_WORDS, Map, Trie, WORDS};
use fibula::engine::{About, Config, Engine, Figure, LimitInfo, Update, Updates, Width};
use fibula::parts::blocks::entry::{Entry, NEXT_HOPS_MAX};
use fibula::parts::memory::{Array, Memory};
use fibula::{Delta, Error, Prefix, Rib, Route};

/// What the tools print about the engine.
pub const ABOUT: About = About {
    name: "hybrid",
    paper: "He, Guan, Xie, Salamatian, Evaluating and Optimizing IP Lookup on Many core Processors, ICCCN 2012, section V",
    year: 2012,
    updates: Updates::InPlace,
    limits: &[LimitInfo { what: WORDS, max: MAX_WORDS }],
    next_hops_max: NEXT_HOPS_MAX,
    ..About::DEFAULT
};

/// The length of the longest routes of the Tree Bitmap.
const SHORT: u8 = 16;
/// The length of the longest routes of TBL24.
const MIDDLE: u8 = 24;

/// The bits that the initial array of the short routes resolves.
const INITIAL_BITS: u8 = 13;

/// The deepest path through a sub-trie: nodes after 24, 28 and 32 bits.
const DEPTH: usize = 3;

/// The entries of TBL24.
const TBL24: usize = 1 << MIDDLE;

/// The most bytes that an update copies: the children and results of one node, with 32-bit next
/// hops.
pub const MOST_BYTES_COPIED: usize = 16 * 8 + 16 * 4;

/// The /24 that a sub-trie belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Owner {
    /// The number of the /24.
    slot: u32,
    /// What its entry of TBL24 would be without the sub-trie. The root answers with it where the
    /// sub-trie has no route.
    entry: Entry,
}

/// The three tables; see the [module page](self).
#[derive(Debug)]
pub struct Hybrid<W: Copy> {
    short: InitialArray<u32, W, u16>,
    tbl24: Array<Entry>,
    /// The roots of the sub-tries.
    sub_tries: ChunkArray<<u16 as Map>::Words, 1>,
    owners: Owners<Owner>,
    long: Trie<W, u16>,
}

/// Iterates over the routes that TBL24 holds.
fn middle(rib: &Rib<u32>) -> impl Iterator<Item = Route<u32>> + Clone {
    rib.iter().filter(|route| (SHORT + 1..=MIDDLE).contains(&route.prefix.len()))
}

/// Iterates over the routes that the sub-tries hold.
fn long(rib: &Rib<u32>) -> impl Iterator<Item = Route<u32>> + Clone {
    rib.iter().filter(|route| route.prefix.len() > MIDDLE)
}

/// Iterates over the routes that the Tree Bitmap holds.
fn short(rib: &Rib<u32>) -> impl Iterator<Item = Route<u32>> + Clone {
    rib.iter().filter(|route| route.prefix.len() <= SHORT)
}

impl<W: Width> Hybrid<W> {
    /// Builds within a limit of words for each trie. The tests make the limit small.
    fn build_within(rib: &Rib<u32>, config: &Config, max_words: u64) -> Result<Self, Error> {
        let pages = config.pages;
        let mut engine = Self {
            short: InitialArray::build(short(rib), INITIAL_BITS, max_words, pages)?.keeping_blocks()?,
            tbl24: Array::zeroed(TBL24, pages),
            sub_tries: ChunkArray::new(pages, 0),
            owners: Owners::from(0),
            long: Trie::new(max_words, pages)?,
        };
        // In order, every route comes after its covers.
        for route in middle(rib) {
            let slots = slots(route.prefix, MIDDLE);
            engine.tbl24[*slots.start() as usize..=*slots.end() as usize].fill(Entry::of(route));
        }
        let mut routes = long(rib).peekable();
        while let Some(route) = routes.peek() {
            let within = Prefix::containing(route.prefix.first(), MIDDLE);
            let slot = within.first() >> 8;
            let entry = engine.tbl24[slot as usize];
            let root = engine.long.build(&mut routes, within, Some(entry.answer()))?;
            engine.add_sub_trie(Owner { slot, entry }, root);
        }
        engine.long.shrink_to_fit();
        Ok(engine)
    }
}

impl<W: Width> Engine<u32> for Hybrid<W> {
    type View = Self;

    fn build(rib: &Rib<u32>, config: &Config) -> Result<Self, Error> {
        Self::build_within(rib, config, MAX_WORDS)
    }

    fn view(&self) -> &Self {
        self
    }

    fn apply(&mut self, rib: &Rib<u32>, deltas: &[Delta<u32>]) -> Update {
        if !self.can_follow(deltas) {
            // New nodes may not fit beside the old ones. They may fit alone.
            return Update::Rebuild;
        }
        Update::Applied(self.follow(rib, deltas))
    }

    fn memory(&self) -> Memory {
        self.short
            .memory()
            .off_chip("TBL24", size_of_val(&self.tbl24[..]))
            .off_chip("sub-tries", self.sub_tries.bytes())
            .off_chip("sub-trie owners", self.owners.bytes())
            .off_chip("sub-trie nodes", self.long.node_bytes())
            .off_chip("sub-trie results", self.long.result_bytes())
    }

    fn figures(&self) -> Vec<Figure> {
        let named = |of: &str, figures: Vec<Figure>| -> Vec<Figure> {
            let rename = |figure: Figure| Figure::new(format!("{of}: {}", figure.name), figure.value);
            figures.into_iter().map(rename).collect()
        };
        let mut figures = named("/0 to /16", self.short.figures());
        let entries = self.tbl24.iter().filter(|&&entry| entry != Entry::NO_ROUTE).count();
        figures.push(Figure::count("/17 to /24: entries", entries));
        figures.push(Figure::count("/25 to /32: sub-tries", self.owners.len()));
        figures.extend(named("/25 to /32", self.long.figures(self.roots())));
        figures
    }

    fn validate(&self, rib: &Rib<u32>) -> Result<(), String> {
        self.contradiction(rib)
    }
}
