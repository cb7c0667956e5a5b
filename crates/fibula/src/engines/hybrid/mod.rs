//! `hybrid`: short routes in a Tree Bitmap, middle ones in the TBL24 of DIR-24-8, long ones in sub-tries behind it.
//!
//! He, Guan, Xie and Salamatian, "Evaluating and Optimizing IP Lookup on Many core Processors" (ICCCN 2012), section V,
//! Figure 8.
//!
//! # Layout
//! ```text
//! /0 to /16    Tree Bitmap: an array of 2^13 for /0 to /12, below it nodes of stride 4 for /13 to /16
//!
//! /17 to /24   TBL24[a >> 8]      | 0 |  length  |  next hop  |      2^24 entries
//!                                 | 1 |          |  sub-trie  |
//!
//! /25 to /32   sub-tries: a root node of stride 4, which also answers what the entry would without it
//!              nodes after 24, 28 and 32 bits
//! ```
//! Entries are those of [`entry`](crate::blocks::entry), nodes those of [`tree_bitmap`](crate::blocks::tree_bitmap).
//! A lookup asks the long routes first: TBL24 and the sub-trie if there is one; only if they say nothing, the Tree Bitmap of
//! the short ones.
//!
//! # Updates
//! DIR-24-8 writes up to 2^16 entries for a /8. Here the tables that short and long routes live in change by node copy:
//! an update takes at most one block of a node to a new place, that is, 16 nodes of 8 bytes and 16 results
//! ([`MOST_BYTES_COPIED`], within the paper's 256). A route of 17 to 24 bits writes its own entries of TBL24, at most 128, and where one points
//! to a sub-trie the answer of that. Only a route of 12 bits or fewer writes entries of the initial array, one for each 13-bit prefix it covers.
//!
//! # Readers meanwhile
//! The three tables are read one after the other. An entry of TBL24 and a root are each one word, and what a root leads to stays as it is
//! ([`tree_bitmap`](crate::blocks::tree_bitmap)); with the answer of the entry in it, each shows one moment. An update then copies the blocks on
//! its way, of a sub-trie three. A reader that has found nothing in TBL24 just before a route came there goes on to the short ones, and must
//! find there what was there then: so a change of a short route waits until readers have passed the longer ones that have just come
//! below it where there was none ([`settling`](crate::blocks::settling)). The number of a sub-trie is used again when every reader has
//! passed, and its root stays as it was.
//!
//! # Worked example
//! 10.0.0.0/8 to 1, 10.1.0.0/16 to 2, 10.1.128.0/17 to 3, 10.1.129.0/25 to 4.
//!
//! ```text
//! 10.1.129.5    TBL24[0x0A0181] = sub-trie 0, whose root has the prefix 0: 4
//! 10.1.129.200  the same, nothing in the sub-trie but the answer of the entry: 3
//! 10.1.130.0    TBL24[0x0A0182] = 0x2200_0003, length 17, next hop 3
//! 10.1.2.0      TBL24[0x0A0102] = 0; Tree Bitmap, node below entry 320 of the array: 2
//! 10.200.0.0    TBL24[0x0AC800] = 0; Tree Bitmap, nothing below entry 345 of the array; its answer: 1
//! ```
//! 128 entries of TBL24 belong to the /17. Withdrawing the /8 writes 32 entries where DIR-24-8 writes 65,280.
//!
//! # What differs from the paper
//! - The default route, which the paper does not place, is one of the short ones.
//! - A sub-trie answers for the entry of its /24, too; its length stands beside the number of the /24, where only updates look.
//! - The 256 bytes that the paper allows an update are 16 nodes of 8 bytes as it writes, which make 128.

#[cfg(test)]
mod tests;
mod update;
mod validate;
mod view;

pub use view::HybridView;

use crate::blocks::dense::{Owners, WordChunks};
use crate::blocks::entry::{Entry, NEXT_HOPS_MAX};
use crate::blocks::expansion::slots;
use crate::blocks::settling::Settling;
use crate::blocks::tree_bitmap::{InitialArray, MAX_WORDS, Trie, WORDS};
use crate::engine::{About, Config, Engine, Figure, LimitInfo, Share, Sharing, Update, Updates, Width};
use crate::memory::{Memory, Words};
use crate::{Delta, Error, Prefix, Rib, Route};
use std::marker::PhantomData;

/// What the tools print about it.
pub const ABOUT: About = About {
    name: "hybrid",
    paper: "He, Guan, Xie, Salamatian, Evaluating and Optimizing IP Lookup on Many core Processors, ICCCN 2012, section V",
    year: 2012,
    updates: Updates::InPlace,
    limits: &[LimitInfo { what: WORDS, max: MAX_WORDS }],
    next_hops_max: NEXT_HOPS_MAX,
    ..About::DEFAULT
};

/// The longest routes of the Tree Bitmap, and of TBL24.
const SHORT: u8 = 16;
const MIDDLE: u8 = 24;

/// The bits that the initial array of the short routes resolves.
const INITIAL_BITS: u8 = 13;

/// The deepest way through a sub-trie: nodes after 24, 28 and 32 bits.
const DEPTH: usize = 3;

/// The entries of TBL24.
const TBL24: usize = 1 << MIDDLE;

/// The most bytes that an update copies where nobody else reads: the children and results of one node, where next hops take 32 bits.
pub const MOST_BYTES_COPIED: usize = 16 * 8 + 16 * 4;

/// Whose a sub-trie is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Owner {
    /// The /24, by its number.
    slot: u32,
    /// What its entry of TBL24 would be without the sub-trie, whose root answers so where its routes do not.
    entry: Entry,
}

/// The three tables; see the [module page](self).
#[derive(Debug)]
pub struct Hybrid<W: Copy> {
    view: HybridView<W>,
    short: InitialArray<u32, W, u16>,
    tbl24: Words<Entry>,
    /// The roots of the sub-tries.
    sub_tries: WordChunks<u64, 1>,
    owners: Owners<Owner>,
    long: Trie<W, u16>,
    /// The routes that came where readers may have found none, and have gone on to the short ones.
    settling: Settling,
}

/// The routes of a table that TBL24 holds, and those that the sub-tries hold.
fn middle(rib: &Rib<u32>) -> impl Iterator<Item = Route<u32>> + Clone {
    rib.iter().filter(|route| (SHORT + 1..=MIDDLE).contains(&route.prefix.len()))
}

fn long(rib: &Rib<u32>) -> impl Iterator<Item = Route<u32>> + Clone {
    rib.iter().filter(|route| route.prefix.len() > MIDDLE)
}

/// And those that the Tree Bitmap holds.
fn short(rib: &Rib<u32>) -> impl Iterator<Item = Route<u32>> + Clone {
    rib.iter().filter(|route| route.prefix.len() <= SHORT)
}

impl<W: Width> Hybrid<W> {
    /// Builds within a limit of words for each trie, which the tests make small.
    fn build_within(rib: &Rib<u32>, config: &Config, max_words: u64) -> Result<Self, Error> {
        let pages = config.pages;
        let tree = InitialArray::build(short(rib), INITIAL_BITS, max_words, pages)?;
        let (tbl24, sub_tries) = (Words::zeroed(TBL24, pages), WordChunks::new(pages, 0));
        let below = Trie::new(max_words, pages)?;
        let view = HybridView {
            short: tree.view(),
            tbl24: tbl24.view(),
            sub_tries: sub_tries.view(),
            long: below.view(),
            answers: PhantomData,
        };
        let (owners, settling) = (Owners::from(0), Settling::default());
        let mut engine = Self { view, short: tree, tbl24, sub_tries, owners, long: below, settling };
        // In order, every route comes after its covers.
        for route in middle(rib) {
            let slots = slots(route.prefix, MIDDLE);
            engine.tbl24.fill(*slots.start() as usize..*slots.end() as usize + 1, Entry::of(route));
        }
        let mut routes = long(rib).peekable();
        while let Some(route) = routes.peek() {
            let within = Prefix::containing(route.prefix.first(), MIDDLE);
            let slot = within.first() >> 8;
            let entry = engine.tbl24.get(slot as usize);
            let root = engine.long.build(&mut routes, within, entry.answer())?;
            engine.add_sub_trie(Owner { slot, entry }, root);
        }
        engine.long.shrink_to_fit();
        engine.show();
        Ok(engine)
    }

    /// Makes the view show what has moved.
    fn show(&mut self) {
        self.short.show_in(&mut self.view.short);
        self.sub_tries.show_in(&mut self.view.sub_tries);
        self.long.show_in(&mut self.view.long);
    }
}

impl<W: Width> Engine<u32> for Hybrid<W> {
    type View = HybridView<W>;

    fn build(rib: &Rib<u32>, config: &Config) -> Result<Self, Error> {
        Self::build_within(rib, config, MAX_WORDS)
    }

    fn view(&self) -> &HybridView<W> {
        &self.view
    }

    fn apply(&mut self, rib: &Rib<u32>, deltas: &[Delta<u32>]) -> Update {
        if !self.can_follow(deltas) {
            // Beside the old nodes, new ones may not fit. Alone they may.
            return Update::Rebuild;
        }
        let followed = self.follow(rib, deltas);
        self.show();
        followed.map_or(Update::Waiting, Update::Applied)
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
        let entries = self.tbl24.iter().filter(|entry| entry.load() != Entry::NO_ROUTE).count();
        figures.push(Figure::count("/17 to /24: entries", entries));
        figures.push(Figure::count("/25 to /32: sub-tries", self.owners.len()));
        figures.extend(named("/25 to /32", self.long.figures(self.roots())));
        figures
    }

    fn validate(&self, rib: &Rib<u32>) -> Result<(), String> {
        self.contradiction(rib)
    }

    fn sharing() -> Option<Sharing<Self, u32>> {
        Some(Sharing::of_engine())
    }
}

impl<W: Width> Share<u32> for Hybrid<W> {
    fn share(&mut self) -> Option<HybridView<W>> {
        self.settling.share();
        self.short.share();
        self.sub_tries.share(self.owners.share(usize::MAX));
        self.long.share();
        self.show();
        Some(self.view.clone())
    }

    fn readers_passed(&mut self) {
        self.short.readers_passed();
        self.owners.readers_passed();
        self.long.readers_passed();
        self.settling.readers_passed();
    }
}
