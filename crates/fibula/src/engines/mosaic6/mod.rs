//! `mosaic6`: fibula's own engine for IPv6, arrays whose strides a plan chooses from the table, down to buckets whose
//! ends are compared at once.
//!
//! # Layout
//! A root of 2^16 words, arrays in a pool of cells of 8 bytes, buckets in lines of 64 bytes. A word of 32 bits says what is below it:
//!
//! ```text
//!   31 30 29      26 25                             0
//! +---+---+---------+--------------------------------+
//! | 1 |                  next hop                    |    the answer of every address below
//! | 0 | 0 |  stride |             base               |    an array of 2^(stride + 1) words
//! | 0 | 1 |          line            | b |   slot    |    a bucket; where b is 1, longer routes are below
//! +---+---+--------------------------+---+-----------+
//!                                   6   5 4         0
//! ```
//!
//! - An **array** takes the next 1 to 14 bits of the address.
//! - A **bucket** ends the search. It holds the intervals of its node, each by its end, as the 16 bits that follow the node's own, and its
//!   answer. The answer is that of the first end that is at least the address's own 16 bits; since the last interval of a bucket ends
//!   at the greatest number there always is one.
//! - A **line** holds the buckets of several nodes, each as a run of slots: first the ends of all slots, then all answers, 21 of each where
//!   answers have 8 bits, 16 and 10 where they have 16 and 32. So a bucket takes one line from memory and no second one, one
//!   comparison of 512 bits sees all ends of it, and those of other buckets are masked off by where this one begins.
//! - Routes of 49 to 128 bits are in a [`patricia`](crate::blocks::patricia) tree. A word above such a route leads to a
//!   bucket of one slot with the answer of the addresses that the tree knows nothing of. Other addresses pay nothing for it.
//!
//! # Plan
//! Which stride an array has is decided by what follows from it, for the whole subtree at once: the cost of a
//! node is 4 bytes a word, the bytes of its buckets, and for each bound in it 8 bytes a step, because lookups
//! that follow routes end at bounds. The batch path takes three arrays and no more; a bound behind a fourth costs 256 bytes, so that few
//! are. The least cost, for each number of arrays that are left to take, for all nodes of the binary trie that hold more than a bucket comes
//! bottom-up in one pass: below node *n*, the least costs of the nodes *k* levels down add up from those of its halves *k* - 1 levels
//! down.
//!
//! # Worked example
//! 2001:db8::/32 with next hop 1, 2001:db8:8000::/34 with 2, 2001:db8:8001::/48 with 3. The /32 has four bounds, all
//! within 16 bits of it: a bucket of five intervals. Alone in its /16 it is reached by three arrays; 0db8 is read as
//! 00001 10110 111000.
//!
//! ```text
//! root[2001]  array of 2^5 from 48     all others: next hop 0
//! 48          word  1: array of 2^5 from 32
//! 32          word 22: array of 2^6 from 0
//!  0          word 56: bucket, line 0, slot 0
//! line 0      7fff 8000 8001 bfff ffff ... | 1 2 3 2 1 ...
//! ```
//! Of 2001:db8:8001:: the bits that are left say 8001. The third end is the first that is at least that; the third answer is 3.
//!
//! # Batches
//! Every address takes the root, three arrays and a bucket, and one that has left the arrays stays where it is, so that nothing jumps. The few
//! that have longer routes or more arrays go on by themselves. How the words come depends on the processor
//! ([`Isa::gathers_fast`]):
//!
//! - By gathers, 16 at a time; a block of 96 addresses keeps all it knows in registers until it comes to the buckets, and six gathers
//!   that do not depend on each other are always under way.
//! - One by one, where vectors have computed they are. Then the batch is a [`pipeline`](crate::blocks::pipeline) of five stages on blocks of 48: a stage
//!   writes single words that the next one reads as vectors, which would wait for the store queue if the other stages' blocks did not
//!   come between.
//!
//! # Updates
//! The smallest node around a change, or the part of an array that a prefix spans, is planned and written anew beside; then one word
//! points to it and what was there is free. Where that made an array which the batch path does not take, the array above is planned anew, and
//! if that does not help the one above it. What a bucket says outside of the changed prefix is taken from it, and only
//! what is in the prefix from the table. A new bucket goes where its slots fit best. Arrays that have come to be of one answer become it. So
//! that strides follow what the table has become, a slot of the root is planned anew when its blocks have grown by a quarter or a quarter of its
//! bounds has gone; and arrays and lines are packed when a sixteenth of them is holes, those in lines that were there at first not counted.
//!
//! # Readers meanwhile
//! A shared table is read by others while it changes. Everything that a search goes by from one word on is then written before that word
//! and never again while a reader may come to it; what was replaced is used again when all readers have passed. A comparison of ends reads
//! the whole line, slots that may be written at that moment too: so a line is atomic words, the vector is loaded as so many of them
//! ([`Isa::first_at_least`]), and what is not of the bucket does not count. Nothing can be packed: with too many holes it
//! asks to be built anew. The tree of longer routes does not change while it is shared: a change of one is a build, and a table
//! of many such routes is not shared.
//!
//! # Why so
//! - Buckets instead of arrays to the end: of the 47 % of routes of January 2024 that are /48s, each would need the bits down to
//!   48 from arrays; buckets take those of the last 16 in one step.
//! - 16-bit ends instead of whole ones: half the bytes, twice as many in one comparison. What is deeper than 16
//!   bits below its node gets an array first.
//! - Lines that buckets share, instead of a bucket of whole cells wherever it came to lie: a comparison from the beginning of a bucket on touched a second
//!   line three times in eight, and so did some answers; the number of keys, and where the bucket ends, had to be known.
//! - Strides by plan instead of by fill factor: for 160,147 routes of January 2024 a fill factor of one half takes 9.0 bytes a
//!   prefix, and the slowest of 16 lanes 5.5 steps; a plan at 4 bytes a step takes 8.1 and 4.9, at 16 bytes 11.1 and 3.8.
//! - At most three arrays: before buckets shared lines, as many as it takes cost 10.3 bytes a prefix and masked gathers until the slowest of 16
//!   lanes was done, three cost 13.2 and made batches 1.3 to 1.5 times as fast.
//! - Blocks are not shared between equal nodes: with next hops that differ there are hardly any, and counting references would
//!   make updates slower.
//!
//! # Limits
//! Next hops up to [`NEXT_HOPS_MAX`]; 2^26 cells of arrays, 2^24 lines. A table of many routes longer than 48 bits is as slow as the tree
//! that holds them.

mod batch;
mod blocks;
mod build;
mod figures;
mod lines;
mod plan;
mod segments;
mod slots;
mod snapshot;
#[cfg(test)]
mod tests;
mod update;
mod validate;
mod view;
mod word;

pub use view::Mosaic6View;

use crate::blocks::patricia::{MAX_NODES, NODES, Patricia};
use crate::engine::{
    About, Config, Cost, Engine, Figure, LimitInfo, Persistence, Share, Sharing, Update, Updates, Width,
};
use crate::memory::{Memory, Pages, Words};
use crate::{Delta, Error, NextHop, Prefix, Rib};
use blocks::Blocks;
use segments::Segments;
use std::collections::BTreeMap;
use std::sync::Arc;
use update::Books;
use word::{CELLS_MAX, LINES_MAX, Word};

/// The greatest next-hop index: the 31 bits that the flag leaves of a word.
pub const NEXT_HOPS_MAX: u32 = (1 << 31) - 1;

/// What tables of many scattered routes run out of first.
const CELLS: &str = "cells of 8 bytes";

/// What the tools print about it.
pub const ABOUT: About = About {
    name: "mosaic6",
    paper: "fibula's own: planned strides down to buckets compared at once",
    year: 2026,
    updates: Updates::InPlace,
    limits: &[
        LimitInfo { what: CELLS, max: CELLS_MAX },
        LimitInfo { what: lines::LINES, max: LINES_MAX },
        LimitInfo { what: NODES, max: MAX_NODES },
    ],
    next_hops_max: NEXT_HOPS_MAX,
    cost: |shape| 3.2 + 230.0 * shape.share_longer_than_48(),
    ..About::DEFAULT
};

/// The bits that choose a slot of the root.
const ROOT_BITS: u8 = 16;

/// The longest prefixes that the trie keeps.
const LAST_LEVEL: u8 = 48;

/// The bits of a key.
const WINDOW: u8 = 16;

/// A table whose tree of longer routes has more nodes is not shared: each change of such a route would be a build.
const SHARED_LONGER_MAX: usize = 1 << 12;

/// The arrays below the root that the batch path takes at every address; those behind them are a detour.
const STEPS: usize = 3;

/// The engine; see the [module](self).
#[derive(Debug)]
pub struct Mosaic6<W: Width> {
    /// What lookups read, the routes of 49 to 128 bits among it. While others read those stay as they are.
    view: Mosaic6View<W>,
    /// A word for each /16.
    root: Words<u32>,
    /// Arrays, buckets and the next hops beside longer routes.
    blocks: Blocks<W>,
    /// What is known of the slots of the root that have blocks.
    books: BTreeMap<usize, Books>,
    pages: Pages,
    /// What the update in progress has cost so far.
    cost: Cost,
}

impl<W: Width> Mosaic6<W> {
    /// Builds it if it needs no more than so many cells.
    fn build_at_most(cells_max: u64, rib: &Rib<u128>, pages: Pages) -> Result<Self, Error> {
        let no_route = Word::Answer(NextHop::NONE).pack();
        let longer = rib.iter().filter(|route| route.prefix.len() > LAST_LEVEL);
        let longer = Arc::new(Patricia::plant(longer, pages)?);
        let root = Words::filled(no_route, 1 << ROOT_BITS, pages);
        let blocks = Blocks::new(cells_max, pages);
        let view = Mosaic6View::of(root.view(), &blocks, longer);
        let mut engine = Self { view, root, blocks, books: BTreeMap::new(), pages, cost: Cost::default() };
        let segments = Segments::of(rib, Prefix::ALL);
        for slot in 0..1 << ROOT_BITS {
            engine.write_slot(&segments, segments.node(0), slot)?;
        }
        engine.blocks.shrink_to_fit();
        engine.blocks.show_in(&mut engine.view);
        Ok(engine)
    }
}

impl<W: Width> Engine<u128> for Mosaic6<W> {
    type View = Mosaic6View<W>;

    fn build(rib: &Rib<u128>, config: &Config) -> Result<Self, Error> {
        Self::build_at_most(CELLS_MAX, rib, config.pages)
    }

    fn view(&self) -> &Mosaic6View<W> {
        &self.view
    }

    fn apply(&mut self, rib: &Rib<u128>, deltas: &[Delta<u128>]) -> Update {
        let update = self.follow(rib, deltas);
        self.blocks.show_in(&mut self.view);
        update
    }

    fn memory(&self) -> Memory {
        Memory::new()
            .on_chip("root", size_of_val(&self.root[..]))
            .off_chip("arrays", self.blocks.arrays.bytes())
            .off_chip("lines", self.blocks.lines.bytes())
            .off_chip("longer routes", self.view.longer.bytes())
    }

    fn figures(&self) -> Vec<Figure> {
        self.count_blocks()
    }

    fn validate(&self, rib: &Rib<u128>) -> Result<(), String> {
        self.check(rib)
    }

    fn sharing() -> Option<Sharing<Self, u128>> {
        Some(Sharing::of_engine())
    }

    fn persistence() -> Option<Persistence<Self, u128>> {
        Some(Persistence::of_engine())
    }
}

impl<W: Width> Share<u128> for Mosaic6<W> {
    fn share(&mut self) -> Option<Mosaic6View<W>> {
        if self.view.longer.node_count() > SHARED_LONGER_MAX {
            return None;
        }
        self.blocks.share();
        self.blocks.show_in(&mut self.view);
        Some(self.view.clone())
    }

    fn readers_passed(&mut self) {
        self.blocks.readers_passed();
    }
}
