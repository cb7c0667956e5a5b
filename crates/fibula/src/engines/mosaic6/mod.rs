//! `mosaic6`: fibula's own engine for IPv6, arrays whose strides a plan chooses from the table, down to buckets whose
//! keys are compared at once.
//!
//! # Layout
//! A root of 2^16 words, then blocks in one pool of cells of 8 bytes. A word of 32 bits says what is below it:
//!
//! ```text
//!   31  30       26 25                                       0
//! +---+------------+------------------------------------------+
//! | 1 |                    next hop                           |    the answer of every address below
//! | 0 | stride - 1 |                 base                     |    an array of 2^stride words
//! | 0 |     16     |                 base                     |    longer routes are below
//! | 0 |  16 + c    |                 base                     |    a bucket of c cells, 1 to 8
//! +---+------------+------------------------------------------+
//! ```
//!
//! - An **array** takes the next 1 to 14 bits of the address.
//! - A **bucket** ends the search. It holds the bounds between the intervals of its node, each as the 16 bits that follow
//!   the node's own, and the answer of each interval, as wide as the answers are: the keys from its beginning on, the
//!   answers from its end backwards. The answer is that of as many keys as are at most the address's own 16 bits. One
//!   comparison of 256 bits finds how many that is, so there are at most 16 keys. Room that is left holds keys of all
//!   ones with the last answer, which make no difference.
//! - Routes of 49 to 128 bits are in a [`patricia`](crate::blocks::patricia) tree. A word above such a route leads to a
//!   cell with the answer of the addresses that the tree knows nothing of. Other addresses pay nothing for it.
//!
//! # Plan
//! Which stride an array has is decided by what follows from it, for the whole subtree at once: the cost of a
//! node is 4 bytes a word, the bytes of its buckets, and for each bound in it 12 bytes a step, because lookups
//! that follow routes end at bounds. The batch path takes three arrays and no more; a bound behind a fourth costs 256 bytes, so that few
//! are. The least cost, for each number of arrays that are left to take, for all nodes of the binary trie that hold more than a bucket comes
//! bottom-up in one pass: below node *n*, the least costs of the nodes *k* levels down add up from those of its halves *k* - 1 levels
//! down.
//!
//! # Worked example
//! 2001:db8::/32 with next hop 1, 2001:db8:8000::/34 with 2, 2001:db8:8001::/48 with 3. The /32 has four bounds, all
//! within 16 bits of it: a bucket of 4 keys with 5 answers, for which 2 cells have room for one key more. Alone in its /16 it is
//! reached by three arrays; 0db8 is read as 00001 10110 111000.
//!
//! ```text
//! root[2001]  array of 2^5 from 50     all others: next hop 0
//! 50          word  1: array of 2^5 from 34
//! 34          word 22: array of 2^6 from 2
//!  2          word 56: bucket of 2 cells from 0
//!  0          8000 8001 8002 c000 ffff | 1 1 2 3 2 1
//! ```
//! Of 2001:db8:8001:: the bits that are left say 8001. Two keys are at most that; the answer in place 2 from
//! the end, the last being 0, is 3.
//!
//! # Batches
//! A batch is a [`pipeline`](crate::blocks::pipeline) of five stages: the root, three times an array, the buckets. Every address takes all of
//! them, and one that has left the arrays looks at a word that does it no harm, so that nothing jumps. Where the words stand is computed
//! by vectors for a whole block, and the words are then loaded one by one: gathers of 16 lanes cost more than 16 loads here. A stage
//! writes single words that the next one reads as vectors, which would wait for the store queue if the other stages' blocks did not come
//! between. The few that have longer routes or more arrays are looked up one by one.
//!
//! # Updates
//! The smallest node around a change, or the part of an array that a prefix spans, is planned and written anew beside; then one word
//! points to it and the old blocks are free. What a bucket says outside of the changed prefix is taken from it, and only
//! what is in the prefix from the table. Arrays that have come to be of one answer become it. So that strides follow what the table has become,
//! a slot of the root is planned anew when its blocks have grown by a quarter or a quarter of its bounds has gone; and the pool is packed when
//! a sixteenth of it is holes.
//!
//! # Readers meanwhile
//! A shared table is read by others while it changes. Everything that a search goes by from one word on is then written before that word
//! and never again while a reader may come to it; what was replaced is used again when all readers have passed. A comparison of keys reads past
//! the end of a short bucket, into blocks that may be written at that moment: so all are atomic words, and the vector that it takes is
//! loaded as eight of them ([`Isa::at_most`]), and what is not the bucket's is masked off. Nothing can be packed: with too many holes it
//! asks to be built anew. The tree of longer routes does not change while it is shared: a change of one is a build, and a table
//! of many such routes is not shared.
//!
//! # Why so
//! - Buckets instead of arrays to the end: of the 47 % of routes of January 2024 that are /48s, each would need the bits down to
//!   48 from arrays; buckets take those of the last 16 in one step.
//! - 16-bit keys instead of whole ones: half the bytes, twice as many in one comparison. What is deeper than 16
//!   bits below its node gets an array first.
//! - Strides by plan instead of by fill factor: for 160,147 routes of January 2024 a fill factor of one half takes 9.0 bytes a
//!   prefix, and the slowest of 16 lanes 5.5 steps; a plan at 4 bytes a step takes 8.1 and 4.9, at 16 bytes 11.1 and 3.8.
//! - At most three arrays: as many as it takes cost 10.3 bytes a prefix and masked gathers until the slowest of 16 lanes was done, three cost
//!   13.2 and made batches 1.3 to 1.5 times as fast.
//! - Blocks are not shared between equal nodes: with next hops that differ there are hardly any, and counting references would
//!   make updates slower.
//!
//! # Limits
//! Next hops up to [`NEXT_HOPS_MAX`]; 2^26 cells. A table of many routes longer than 48 bits is as slow as the tree
//! that holds them.

mod build;
mod figures;
mod lookup;
mod plan;
mod segments;
mod snapshot;
#[cfg(test)]
mod tests;
mod update;
mod validate;
mod word;

use crate::arch::Isa;
use crate::blocks::chunks::SharedPool;
use crate::blocks::patricia::{MAX_NODES, NODES, Patricia};
use crate::engine::{About, Config, Cost, Engine, Figure, LimitInfo, Meter, Update, Updates, Width};
use crate::memory::{Memory, Pages, Words};
use crate::snapshot::{SectionWriter, Sections};
use crate::{Delta, Error, NextHop, Prefix, Rib};
use segments::Segments;
use std::collections::BTreeMap;
use std::sync::Arc;
use update::Books;
use word::{CELLS_MAX, Cell, Word};

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
        LimitInfo { what: About::NEXT_HOPS, max: NEXT_HOPS_MAX as u64 },
        LimitInfo { what: CELLS, max: CELLS_MAX },
        LimitInfo { what: NODES, max: MAX_NODES },
    ],
    parameters: &[],
    preset: &[],
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
    /// A word for each /16.
    root: Words<u32>,
    /// Arrays, buckets and the next hops beside longer routes.
    blocks: SharedPool<Cell>,
    /// The routes of 49 to 128 bits. While others read they stay as they are.
    longer: Arc<Patricia<u128, W>>,
    /// What is known of the slots of the root that have blocks.
    books: BTreeMap<usize, Books>,
    pages: Pages,
    /// What the update in progress has cost so far.
    cost: Cost,
    /// Whether this only reads: what another one changes, or a snapshot.
    is_view: bool,
}

/// An empty pool of blocks.
fn new_blocks(cells_max: u64, pages: Pages) -> SharedPool<Cell> {
    SharedPool::empty(CELLS, cells_max, pages).padded(lookup::PADDING)
}

impl<W: Width> Mosaic6<W> {
    /// Builds it if it needs no more than so many cells.
    fn build_at_most(cells_max: u64, rib: &Rib<u128>, pages: Pages) -> Result<Self, Error> {
        let no_route = Word::Answer(NextHop::NONE).pack();
        let longer = rib.iter().filter(|route| route.prefix.len() > LAST_LEVEL);
        let mut engine = Self {
            root: Words::filled(no_route, 1 << ROOT_BITS, pages),
            blocks: new_blocks(cells_max, pages),
            longer: Arc::new(Patricia::plant(longer, pages)?),
            books: BTreeMap::new(),
            pages,
            cost: Cost::default(),
            is_view: false,
        };
        let segments = Segments::of(rib, Prefix::ALL);
        for slot in 0..1 << ROOT_BITS {
            engine.write_slot(&segments, segments.node(0), slot)?;
        }
        engine.blocks.shrink_to_fit();
        Ok(engine)
    }
}

impl<W: Width> Engine<u128, W> for Mosaic6<W> {
    fn build(rib: &Rib<u128>, config: &Config) -> Result<Self, Error> {
        Self::build_at_most(CELLS_MAX, rib, config.pages)
    }

    #[inline(always)]
    fn lookup_metered<M: Meter>(&self, address: u128, meter: &mut M) -> W {
        self.one(address, meter)
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, isa: I, addresses: &[u128], next_hops: &mut [W]) {
        self.many(isa, addresses, next_hops);
    }

    fn apply(&mut self, rib: &Rib<u128>, deltas: &[Delta<u128>]) -> Update {
        if self.is_view { Update::Rebuild } else { self.follow(rib, deltas) }
    }

    fn save<'s>(&'s self, sections: &mut SectionWriter<'s>) -> Result<(), Error> {
        self.save_arrays(sections);
        Ok(())
    }

    fn open(sections: &Sections<'_>, config: &Config) -> Result<Self, Error> {
        Self::open_arrays(sections, config)
    }

    fn share(&mut self) -> Option<Self> {
        if self.is_view || self.longer.node_count() > SHARED_LONGER_MAX {
            return None;
        }
        let (root, blocks) = (self.root.clone(), self.blocks.share(CELLS_MAX));
        let (longer, books) = (Arc::clone(&self.longer), BTreeMap::new());
        Some(Self { root, blocks, longer, books, pages: self.pages, cost: Cost::default(), is_view: true })
    }

    fn readers_passed(&mut self) {
        self.blocks.readers_passed();
    }

    fn memory(&self) -> Memory {
        Memory::new()
            .on_chip("root", size_of_val(&self.root[..]))
            .off_chip("blocks", self.blocks.bytes())
            .off_chip("longer routes", self.longer.bytes())
    }

    fn figures(&self) -> Vec<Figure> {
        self.count_blocks()
    }

    fn validate(&self, rib: &Rib<u128>) -> Result<(), String> {
        self.check(rib)
    }
}
