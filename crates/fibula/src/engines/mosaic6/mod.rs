//! `mosaic6`: fibula's own engine for IPv6, a trie of arrays whose strides a plan chooses for the
//! table, down to buckets whose ends are compared all at once.
//!
//! # Layout
//! A root of 2^16 words, arrays in a pool of cells of 8 bytes, and buckets in lines of 64 bytes. A
//! word of 32 bits says what is below it:
//!
//! ```text
//!   31 30 29      26 25                             0
//! +---+---+---------+--------------------------------+
//! | 1 |                  next hop                    |    the answer of every address below
//! | 0 | 0 |  stride |             base               |    an array of 2^(stride + 1) words
//! | 0 | 1 |          line            | b |   slot    |    a bucket; b = 1: longer routes are below
//! +---+---+--------------------------+---+-----------+
//!                                   6   5 4         0
//! ```
//!
//! - An **array** takes the next 1 to 14 bits of the address.
//! - A **bucket** ends the search. It holds the intervals of its node. Each is stored as its end,
//!   which is the 16 bits that follow the node's own, and its answer. The answer of an address is
//!   that of the first end that is at least the address's own 16 bits. There always is one, because
//!   the last interval of a bucket ends at the greatest number.
//! - A **line** holds the buckets of several nodes, each as a run of slots. It stores the ends of
//!   all slots, then all answers: 21 of each with 8-bit answers, 16 with 16-bit and 10 with 32-bit
//!   answers. So a bucket costs one line from memory. One comparison of 512 bits sees all its ends,
//!   and the slot where the bucket begins masks off the ends of other buckets.
//! - Routes of 49 to 128 bits are in a [`terrace`] of their own, and the trie is what it is without
//!   them. But the word that leads to a bucket says whether there are longer routes in its node.
//!   Then an address asks the terrace too, and its answer is the bucket's where no longer route
//!   covers it. A node with one answer and longer routes is a bucket of one slot. Other addresses
//!   pay nothing for longer routes.
//!
//! # Plan
//! The stride of an array is chosen by what follows from it, for the whole subtree at once. The
//! cost of a node is 4 bytes per word, the bytes of its buckets, and 8 bytes per step for each
//! bound in it. Bounds count because lookups that follow routes end at bounds.
//!
//! The batch path takes at most three arrays. A bound behind a fourth array costs 256 bytes, so
//! there are few. One bottom-up pass computes the least cost of every node of the binary trie that
//! holds more than a bucket, for each number of arrays still left to take. Below node *n*, the
//! least costs of the nodes *k* levels down are the sum of those of its halves *k* - 1 levels down.
//!
//! # Worked example
//! 2001:db8::/32 with next hop 1, 2001:db8:8000::/34 with 2, 2001:db8:8001::/48 with 3. The /32 has
//! four bounds, all within 16 bits of it, so it becomes a bucket of five intervals. It is alone in
//! its /16, so three arrays lead to it. They read 0db8 as 00001 10110 111000.
//!
//! ```text
//! root[2001]  array of 2^5 from 48     all others: next hop 0
//! 48          word  1: array of 2^5 from 32
//! 32          word 22: array of 2^6 from 0
//!  0          word 56: bucket, line 0, slot 0
//! line 0      7fff 8000 8001 bfff ffff ... | 1 2 3 2 1 ...
//! ```
//! For 2001:db8:8001:: the bits that are left are 8001. The third end is the first that is at least
//! 8001, and the third answer is 3.
//!
//! # Batches
//! Every address takes the root, three arrays and a bucket. An address that has left the arrays
//! early keeps its word, so nothing jumps. The addresses with longer routes below are collected,
//! and go through the terrace together, some 6,000 addresses later. The few addresses with more
//! arrays finish one by one. How words are loaded depends on the processor ([`Isa::gathers_fast`]):
//!
//! - By gathers, 16 at a time. A block of 96 addresses keeps all its state in registers until it
//!   reads the buckets, and six independent gathers are always in flight.
//! - One by one, at indexes that vectors have computed. The batch is then
//!   software-pipelined: five stages on blocks of 48. A stage writes
//!   single words that the next stage reads as vectors. Those reads would wait for the store queue
//!   if the stages of other blocks did not come between.
//!
//! # Updates
//! An update plans and writes the smallest node around a change again. The new blocks go beside the
//! old ones. Then one word points to them and the old ones are freed. If that made an array which
//! the batch path does not take, the array above is planned again, and if that does not help, the
//! one above it. A bucket with as many intervals as before is written over the old one, unless
//! other threads read.
//!
//! A short prefix spans many nodes. Their arrays stay as they are: only the buckets and answers
//! below are written again, and a node is planned only where a bucket no longer holds it. The
//! default route is one word beside the table ([`fallback`](crate::blocks::fallback)), and its
//! change writes nothing else.
//!
//! The intervals outside the changed prefix are copied from the old bucket; only those inside it
//! come from the table. A new bucket goes where its slots fit best. An array whose words all have
//! one answer is replaced by that answer.
//!
//! A change of a longer route changes the terrace. In the trie one word changes, and only where a
//! node gets its first longer route, or loses its last one. So a change costs what it touches,
//! however many routes are in the node.
//!
//! A slot of the root is planned again when its blocks have grown by a quarter, or a quarter of its
//! bounds has gone. So strides follow the table. Arrays and lines are packed when a sixteenth of
//! them is holes, not counting holes that the build left in lines.
//!
//! # Concurrent readers
//! Other threads read a shared table while it changes. Everything that a word leads to is written
//! before that word, and is not written again while a reader may reach it. Replaced blocks are
//! reused after a grace period.
//!
//! If the default route changes with other routes, announced ones are written before its word is
//! stored, and withdrawn ones after that. A lookup reads the word before and after the trie, a
//! batch before its first address and after the terrace.
//!
//! A comparison of ends reads the whole line, including slots that another thread may be writing.
//! So a line consists of atomic words, and the vector is loaded word by word
//! ([`Isa::first_at_least`]). Slots outside the bucket do not count.
//!
//! Nothing can be packed: with too many holes the engine asks for a rebuild. The terrace does not
//! change while it is shared. A change of a route longer than /48 is a rebuild, and a table with
//! many of them is not shared.
//!
//! # Design choices
//! - Buckets instead of arrays to the end: 47 % of the routes of January 2024 are /48s. Arrays
//!   would have to take all their bits down to 48; buckets take the last 16 bits in one step.
//! - 16-bit ends instead of whole ones: half the bytes, and twice as many in one comparison. A node
//!   with bounds deeper than 16 bits below it gets an array first.
//! - Lines that buckets share, instead of buckets of whole cells at any offset: there, a comparison
//!   from the beginning of a bucket touched a second line three times in eight, and so did some
//!   answers. It also needed the number of keys and the end of the bucket.
//! - Strides by plan instead of by fill factor: for 160,147 routes of January 2024 a fill factor of
//!   one half takes 9.0 bytes a prefix, and the slowest of 16 lanes 5.5 steps. A plan at 4 bytes a
//!   step takes 8.1 and 4.9, at 16 bytes 11.1 and 3.8.
//! - At most three arrays: before buckets shared lines, an unlimited number cost 10.3 bytes a
//!   prefix, and masked gathers until the slowest of 16 lanes was done. Three arrays cost 13.2 and
//!   made batches 1.3 to 1.5 times as fast.
//! - Equal nodes do not share blocks: when next hops differ there are hardly any, and reference
//!   counts would slow updates down.
//!
//! # Limits
//! Next hops up to [`NEXT_HOPS_MAX`]; 2^26 cells of arrays; 2^24 lines of buckets; 2^27 lines of
//! longer routes.
//!
//! [`Isa::gathers_fast`]: crate::engine::Isa::gathers_fast
//! [`Isa::first_at_least`]: crate::engine::Isa::first_at_least

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

pub(crate) use view::Mosaic6View;

use super::terrace::{self, TerraceView};
use crate::blocks::fallback::{Fallback, Routes};
use crate::blocks::linear_tree::CHILDREN;
use crate::engine::{
    About, Config, Cost, Engine, Estimate, Figure, LimitInfo, Persistence, Share, Sharing, Update, Updates,
    Width,
};
use crate::memory::{Memory, Pages, Words};
use crate::{Delta, Error, NextHop, Prefix, Rib};
use blocks::Blocks;
use segments::Segments;
use std::collections::BTreeMap;
use std::sync::Arc;
use update::SlotRecord;
use word::{CELLS_MAX, LINES_MAX, Word};

/// The greatest next-hop index: the 31 bits of a word beside the flag.
pub(crate) const NEXT_HOPS_MAX: u32 = (1 << 31) - 1;

/// The limit that tables of many scattered routes reach first, by its unit.
const CELLS: &str = "cells of 8 bytes";

/// What the tools print about the engine.
pub(crate) const ABOUT: About = About {
    name: "mosaic6",
    paper: "fibula's own: planned strides down to buckets compared at once",
    year: 2026,
    updates: Updates::InPlace,
    limits: &[
        LimitInfo { what: CELLS, max: CELLS_MAX },
        LimitInfo { what: lines::LINES, max: LINES_MAX },
        LimitInfo { what: terrace::LINES, max: terrace::LINES_MAX },
    ],
    next_hops_max: NEXT_HOPS_MAX,
    estimate: |survey, isa| {
        let ns = survey.levels_of(CHILDREN).max(2.0)
            + 12.8 * survey.share_longer_than(48)
            + 10.5 * survey.share_longer_than(64);
        Estimate { ns, bytes: (4 << ROOT_BITS) + 9 * survey.routes() }.on(isa, 7.3)
    },
    ..About::DEFAULT
};

/// The bits that choose a slot of the root.
const ROOT_BITS: u8 = 16;

/// The length of the shortest prefixes that the trie keeps: all but the default route.
const FIRST_LEVEL: u8 = 1;

/// The length of the longest prefixes that the trie keeps.
const LAST_LEVEL: u8 = 48;

/// The bits of a key.
const WINDOW: u8 = 16;

/// The most bytes of routes longer than /48 with which a table is shared: each change of such a
/// route is a rebuild.
const SHARED_LONGER_BYTES: usize = 64 << 10;

/// The arrays below the root that the batch path takes for every address. Any further array is a
/// detour.
const STEPS: usize = 3;

/// The engine; see the [module](self).
#[derive(Debug)]
pub(crate) struct Mosaic6<W: Width> {
    /// What lookups read, including the routes of 49 to 128 bits, which do not change while the
    /// table is shared.
    view: Mosaic6View<W>,
    /// A word for each /16.
    root: Words<u32>,
    /// Arrays, buckets, and the answers of addresses beside routes longer than /48.
    blocks: Blocks<W>,
    /// The next hop of the default route, which is in no word.
    fallback: Fallback<W>,
    /// The bookkeeping of the root slots that have blocks.
    bookkeeping: BTreeMap<usize, SlotRecord>,
    pages: Pages,
    /// The cost of the update in progress.
    cost: Cost,
}

impl<W: Width> Mosaic6<W> {
    /// Builds a table, or fails if it needs more than `cells_max` cells.
    fn build_at_most(cells_max: u64, rib: &Rib<u128>, pages: Pages) -> Result<Self, Error> {
        let no_route = Word::Answer(NextHop::NONE).pack();
        let longer = rib.at_least(LAST_LEVEL + 1);
        let longer = Arc::new(TerraceView::build_at_most(terrace::LINES_MAX, longer, pages)?);
        let root = Words::filled(no_route, 1 << ROOT_BITS, pages);
        let blocks = Blocks::new(cells_max, pages);
        let fallback = Fallback::of(rib);
        let view = Mosaic6View::of(root.view(), &blocks, longer, fallback.view());
        let (bookkeeping, cost) = (BTreeMap::new(), Cost::default());
        let mut engine = Self { view, root, blocks, fallback, bookkeeping, pages, cost };
        let segments = Segments::of(&Routes::of(rib), Prefix::ALL);
        let mut nodes = segments.below(segments.node(0));
        for slot in 0..1 << ROOT_BITS {
            let node = nodes.next((slot as u64) << (LAST_LEVEL - ROOT_BITS), ROOT_BITS);
            engine.write_slot(&segments, node, slot)?;
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

    fn copied(&self) -> Option<Self> {
        let (root, blocks, fallback) = (self.root.clone(), self.blocks.clone(), self.fallback.clone());
        let longer = Arc::new(TerraceView::clone(&self.view.longer));
        let view = Mosaic6View::of(root.view(), &blocks, longer, fallback.view());
        let bookkeeping = self.bookkeeping.clone();
        Some(Self { view, root, blocks, fallback, bookkeeping, ..*self })
    }

    fn apply(&mut self, rib: &Rib<u128>, deltas: &[Delta<u128>]) -> Update {
        let update = self.follow(rib, deltas);
        self.blocks.show_in(&mut self.view);
        update
    }

    fn memory(&self) -> Memory {
        Memory::new()
            .off_chip("root", size_of_val(&self.root[..]))
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
        if self.view.longer.bytes() > SHARED_LONGER_BYTES {
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
