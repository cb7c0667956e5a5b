//! `mosaic`, `mosaic-runs`, `mosaic-deep` and `mosaic-spans`: fibula's own engines for IPv4, which
//! take a few loads from tables small enough to stay in the near caches.
//!
//! The first 18 bits of an address choose a *tile*, and the next 6 bits choose the answer in it. A
//! tile is 64 answers, one for each /24 of an /18. Equal tiles are stored once
//! (`unique`). Routes longer than /24 are stored separately.
//!
//! `mosaic-runs` stores a tile as a bit map of where its runs of equal answers begin, followed by
//! one answer per run. That takes one load more, and half the bytes where answers are wide.
//!
//! `mosaic-deep` is for tables that consist of routes longer than /24: offices and data centres.
//! The entry of a tile is either an answer or the number of a *block* of 256 answers, so a lookup
//! needs no hash table.
//!
//! `mosaic-spans` is for tables with tens of thousands of such /24s, whose blocks do not stay in a
//! cache. It stores tiles as runs, and a block as [spans]: its runs of equal answers, most often in
//! half a cache line.
//!
//! # Layout
//! ```text
//! address    | 18 bits: slot       | 6 bits | 8 bits |
//!
//! root[slot]             tile number, 16 bits (32 past 65,536 tiles)       2^18 of them
//! tiles[tile * 64 + 6 bits]                  answer, 8, 16 or 32 bits      64 a tile
//!
//! mosaic-runs (a tile's number is its offset, in units of 16 bytes):
//! tiles[tile * 16 bytes]                     map of 64 bits: bit p is set where a run begins
//!                       + 8                  the answers of its runs, 8, 4 or 2 a word of 64 bits
//!
//! rank = set bits of the map up to the index (6 bits), less one
//! answer = the rank-th answer behind the map
//!
//! mosaic-deep:
//! tiles[tile * 64 + 6 bits]                  bit 31: mark | 31 bits: answer or block
//! blocks[block * 256 + 8 bits]               answer, 8, 16 or 32 bits     256 a block
//!
//! mosaic-spans (tiles as in mosaic-runs, with these entries of 32 bits):
//! tiles[...]                                 bit 31: mark | 31 bits: answer, or
//!                                            3 bits: log | 28 bits: span of a block
//! spans[span + (8 bits >> 8 - log)]          the starts of runs, and their answers: 32 bytes
//! ```
//! In `mosaic` and `mosaic-runs` the greatest number that an answer can hold is the *mark*. A /24
//! with more-specific routes has the mark in place of its answer. Only then is the number of the
//! /24 looked up in a hash table of one word per entry. The entry leads to 256 answers, one per
//! address.
//!
//! If the hash table does not hold the /24, the mark itself is the answer, so no next hop is lost
//! to it. With 8-bit answers the mark is next hop 255. That next hop is slower than others, but
//! only in a table that uses it.
//!
//! # Why it is fast
//! With one answer per /24 a table needs 16 MB whatever it holds. Past some megabytes each load
//! waits for the address translation and the last-level cache. A full table has 262,144 /18s. It
//! has only 28,000 different tiles if neighbours share next hops, and 65,000 if all next hops
//! differ. With 8-bit answers that is half a megabyte of root and two or four megabytes of tiles.
//!
//! Nothing in the hot path depends on the value of an entry, as long as marks are rare. The batch
//! path uses [software
//! pipelining](crate::blocks::pipeline): it prefetches the line of a tile one block before it reads
//! it, which doubles the throughput. It looks for the mark another block later, when the answers it
//! compares have left the store queue. The answers below marks are prefetched the same way, one
//! block before they are read.
//!
//! With 16-bit answers tiles take 128 bytes and have no more than 10 to 15 runs on average, so as
//! runs they take a third. Map, shift and count then cost more than the saved lines bring. So
//! `mosaic-runs` is for when memory counts, and `best` uses `mosaic` at every width.
//!
//! Where marks are common, `mosaic` searches the hash table for one address after the other, and
//! the processor mispredicts every other search. `mosaic-deep` makes three loads for every address.
//! The third reads block 0 where there is no mark, and a mask drops it. Its tiles take 256 bytes at
//! every width of answers. Entries of 16 bits were no faster on tables of this kind, and hold no
//! more than 32,768 blocks. A full BGP table has few marks, so it pays for wide tiles and a third
//! load without a gain: `best` chooses by the share of routes longer than /24, and by how many
//! routes there are.
//!
//! Past some 20,000 different /24s with longer routes, the third load waits for memory. A /24 with
//! two hosts has five runs. They take 32 bytes in `mosaic-spans` instead of 256 or more, and one
//! comparison of 16 bytes finds the run. That costs 2 to 3 ns a lookup where nothing waits, and
//! saves up to 12 where blocks do: `best` chooses by the bytes that the blocks would take.
//!
//! # Building
//! Every core paints some /4s onto tiles of its own. The results are then joined, and equal tiles
//! are stored once for the whole table.
//!
//! # Updates
//! The default route is one word beside the table ([`fallback`](crate::blocks::fallback)), whose
//! change writes nothing else. Any other update paints again, from the table, the /24s in which a
//! changed prefix has addresses that no longer route fills. It finds or allocates the tile with
//! those contents, and changes one word of the root. A tile is never written while anything refers
//! to it. When a thirty-second of the tiles is unused, all tiles are renumbered.
//!
//! Tiles of runs come in several sizes, so they are allocated as [parts of cache lines and whole
//! lines](crate::blocks::chunks::Lines). A freed tile is joined with the free memory beside it.
//!
//! In `mosaic-deep` each tile holds references to the blocks that it names. A block is freed with
//! the last tile that names it. A changed /24 costs its block, its tile and one word of the root.
//! When a thirty-second of the blocks is unused, blocks and tiles are renumbered. `mosaic-spans`
//! does the same.
//!
//! # Concurrent readers
//! Other threads read a shared table while it changes. All its arrays then have room to grow
//! without moving, and every change is one store: to the root, or to the entry of a /24 in the hash
//! table. Each store comes after what it leads to is written.
//!
//! If the default route changes with other routes, announced ones are painted before its word is
//! stored, and withdrawn ones after that. A lookup reads the word before and after the tile.
//!
//! Replaced tiles, chunks and hash entries are reused after a grace period. Hash entries need it
//! too, because a reader may arrive through a mark that is gone. If such a /24 gets a mark again,
//! the mark is first published with the answer that the /24 has. So readers with the earlier mark
//! see the new answers no earlier than the others.
//!
//! Nothing is renumbered: when far more is unused than used, or the room is used up, the engine
//! asks for a rebuild. If next hop 255 occurred with 8-bit answers, readers could not tell it from
//! a mark, so such tables are not shared. In `mosaic-deep` and `mosaic-spans` no answer equals a
//! mark, because next hops are at most 2^31 - 1. Replaced blocks are retired together with the
//! tiles that named them.
//!
//! # Worked example
//! A table of six routes: 10.0.0.0/8 to 1, 10.0.64.0/18 to 2, 10.0.65.0/24 to 3, 10.1.65.0/24 to 3,
//! 10.1.64.0/18 to 2, 10.2.0.0/25 to 4.
//!
//! ```text
//! root    10.0.64.0/18  ->  2 3 2 2 ... 2        10.1.64.0/18  ->  the same tile
//!         10.2.0.0/18   ->  mark 1 1 ... 1       all other /18s of 10/8  ->  1 1 ... 1
//!         everywhere else  ->  0 0 ... 0
//! 10.2.0.0/24  ->  4 (128 times) 1 (128 times)
//! ```
//! Four tiles of 64 bytes each. As runs with 16-bit answers they take 16 bytes each: a word for the
//! map and a word for up to four answers.
//!
//! ```text
//! 10.0.64.0/18  ->  map 111, answers 2 3 2       10.2.0.0/18  ->  map 11, answers mark 1
//! 10.0.0.0/18   ->  map 1, answer 1              0.0.0.0/18   ->  map 1, answer 0
//! ```
//! In `mosaic-deep` the tiles take 256 bytes each, and there is one block after block 0, which is
//! all zeros:
//!
//! ```text
//! 10.2.0.0/18   ->  0x80000001 1 1 ... 1         block 1  ->  4 (128 times) 1 (128 times)
//! ```
//! In `mosaic-spans` block 1 is one span, with 16-bit answers of which there is room for ten:
//!
//! ```text
//! log 0 | starts 128 255 255 ... 255 | answers 4 1 1 ... 1
//! ```

mod below;
mod blocks;
mod brush;
mod deep;
#[cfg(test)]
mod deep_tests;
mod forms;
mod hashed;
mod parts;
mod places;
mod root;
mod runs;
mod snapshot;
mod spans;
#[cfg(test)]
mod tests;
mod tiles;
mod touched;
mod update;
mod validate;
mod view;

pub(crate) use blocks::Blocks;
pub(crate) use forms::WholeBlock;
pub(crate) use hashed::Hashed;
pub(crate) use runs::Runs;
pub(crate) use spans::Spans;
pub(crate) use tiles::{Tiles, Whole};
pub(crate) use view::MosaicView;

use crate::blocks::fallback::Fallback;
use crate::blocks::unique::Kept;
use crate::engine::{
    About, Config, Engine, Estimate, Figure, Persistence, Share, Sharing, Survey, Update, Updates, Width,
};
use crate::memory::{Memory, Pages};
use crate::{Delta, Error, Prefix, Rib};
use below::Below;
use root::Root;

/// What the tools print about `mosaic`.
pub(crate) const ABOUT: About = About {
    name: "mosaic",
    paper: "fibula: two loads from deduplicated tiles of one answer a /24",
    year: 2026,
    updates: Updates::InPlace,
    estimate: |survey, _| Estimate {
        ns: 2.3 + below_24(survey),
        bytes: bytes_as_tiles(survey, answer_bits(survey), BLOCK_OF_24),
    },
    ..About::DEFAULT
};

/// What the tools print about `mosaic-runs`.
pub(crate) const RUNS: About = About {
    name: "mosaic-runs",
    paper: "fibula: deduplicated tiles of one answer a /24, kept as runs",
    estimate: |survey, _| Estimate {
        ns: 3.3 + below_24(survey),
        bytes: bytes_as_runs(survey, answer_bits(survey), BLOCK_OF_24),
    },
    ..ABOUT
};

/// What the tools print about `mosaic-deep`.
pub(crate) const DEEP: About = About {
    name: "mosaic-deep",
    paper: "fibula: three loads, the third from deduplicated answers of whole /24s",
    next_hops_max: blocks::MARKED - 1,
    estimate: |survey, _| Estimate {
        ns: 2.6 + wait_for_wide_tiles(survey) + wait_for_blocks(survey).min(WAIT_IN_BATCHES),
        bytes: bytes_as_tiles(survey, ENTRY_BITS, BLOCK_OF_24),
    },
    ..ABOUT
};

/// What the tools print about `mosaic-spans`.
pub(crate) const SPANS: About = About {
    name: "mosaic-spans",
    paper: "fibula: three loads, the third from half a line of runs of a /24",
    estimate: |survey, isa| {
        let ns = 5.4 + survey.wait_below_24(SPANS_OF_24);
        Estimate { ns, bytes: bytes_as_runs(survey, ENTRY_BITS, SPANS_OF_24) }.on(isa, 1.5)
    },
    ..DEEP
};

/// Returns the nanoseconds that lookups wait for tiles of 32-bit entries, beyond what they wait for
/// tiles of answers: none with the 3,000 routes of an office, half more with ten times the routes.
fn wait_for_wide_tiles(survey: &Survey<'_>) -> f32 {
    0.5 * (survey.routes() as f32 / 3000.0).log10().max(0.0)
}

/// The most nanoseconds that `mosaic-deep` waits for blocks: its batches have many loads of them
/// under way at once.
const WAIT_IN_BATCHES: f32 = 12.0;

/// Returns the nanoseconds that lookups wait for blocks of 256 answers.
fn wait_for_blocks(survey: &Survey<'_>) -> f32 {
    survey.wait_below_24(BELOW * usize::from(survey.width().bits()) / 8)
}

/// Returns the nanoseconds that the hash table and the blocks take, for each address of all.
fn below_24(survey: &Survey<'_>) -> f32 {
    (19.0 + wait_for_blocks(survey)) * survey.share_longer_than(24)
}

/// The bits of an entry of a tile that names blocks.
const ENTRY_BITS: u8 = 32;

/// Returns the bits of an answer.
fn answer_bits(survey: &Survey<'_>) -> u8 {
    survey.width().bits()
}

/// Returns the bytes of a table of whole tiles of `bits` bits an entry, with `below` bytes for each
/// /24 with longer routes.
fn bytes_as_tiles(survey: &Survey<'_>, bits: u8, below: usize) -> usize {
    let tile = TILE * usize::from(bits) / 8;
    2 * SLOTS + tile * survey.different_18s() + below * survey.different_24s()
}

/// As [`bytes_as_tiles`], of tiles of runs: a map, and an entry for each route or so. Their chunks
/// are half as large again as what they hold.
fn bytes_as_runs(survey: &Survey<'_>, bits: u8, below: usize) -> usize {
    let different = survey.different_18s();
    let runs = (2 + survey.routes() / different.max(1)).min(TILE);
    let tile = (8 + runs * usize::from(bits) / 8) * 3 / 2;
    2 * SLOTS + tile * different + below * survey.different_24s()
}

/// The bytes of a /24 in the other forms, of 8-bit answers.
const BLOCK_OF_24: usize = BELOW;

/// The bytes of most /24s in `mosaic-spans`: one span, and its part of a tile.
const SPANS_OF_24: usize = 64;

/// The bits of an address that choose a slot of the root.
const ROOT_BITS: u8 = 18;

/// The slots of the root.
const SLOTS: usize = 1 << ROOT_BITS;

/// The length of the shortest prefix in tiles: all but the default route.
const IN_TILES: u8 = 1;

/// The length of the longest prefix that a tile tells apart.
const TILE_END: u8 = 24;

/// The answers of a tile.
const TILE: usize = 1 << (TILE_END - ROOT_BITS);

/// The answers of a /24 with more-specific routes.
const BELOW: usize = 1 << (32 - TILE_END);

/// The engine: the root, the tiles, and the routes longer than a tile tells apart.
#[derive(Debug)]
pub(crate) struct Mosaic<W: Width, F: Tiles<B::Entry> = Whole<W>, B: Below<W> = Hashed<W>> {
    view: MosaicView<W, F, B>,
    root: Root,
    tiles: Kept<F>,
    below: B,
    /// The next hop of the default route, which is in no tile.
    fallback: Fallback<W>,
    pages: Pages,
    /// Whether any answer equals the mark.
    answers_mark: bool,
}

/// The engine with its tiles as runs.
pub(crate) type MosaicRuns<W> = Mosaic<W, Runs<W>>;

/// The engine with the numbers of blocks in its tiles.
pub(crate) type MosaicDeep<W> = Mosaic<W, Whole<u32>, Blocks<WholeBlock<W>>>;

/// The engine with the numbers of blocks in its tiles, and those blocks as runs.
pub(crate) type MosaicSpans<W> = Mosaic<W, Runs<u32>, Blocks<Spans<W>>>;

/// Returns the root slot of `address`.
#[inline(always)]
fn slot_of(address: u32) -> usize {
    (address >> (32 - ROOT_BITS)) as usize
}

/// Returns the index of the answer of `address` in its tile.
#[inline(always)]
fn place_of(address: u32) -> usize {
    (address >> (32 - TILE_END)) as usize % TILE
}

impl<W: Width, F: Tiles<B::Entry>, B: Below<W>> Mosaic<W, F, B> {
    /// Updates the view after an array has moved.
    fn show(&mut self) {
        self.root.show_in(&mut self.view.root);
        self.tiles.show_in(&mut self.view.tiles);
        self.below.show_in(&mut self.view.below);
    }

    /// Returns a table of no routes but a default route.
    fn empty(fallback: Fallback<W>, pages: Pages) -> Self {
        let mut tiles = Kept::<F>::new(pages).unsettled();
        let nowhere = tiles.insert(&F::pack(&[B::Entry::default(); TILE]));
        tiles.retain(nowhere, SLOTS as u32 - 1);
        Self::of((Root::filled(nowhere, pages), tiles, B::new(pages), fallback), pages, false)
    }

    fn of(
        (root, tiles, below, fallback): (Root, Kept<F>, B, Fallback<W>),
        pages: Pages,
        answers_mark: bool,
    ) -> Self {
        let view = MosaicView {
            root: root.view(),
            tiles: tiles.view(),
            below: below.view(),
            fallback: fallback.view(),
        };
        Self { view, root, tiles, below, fallback, pages, answers_mark }
    }

    /// Returns the tile of `slot`.
    fn tile(&self, slot: usize) -> [B::Entry; TILE] {
        F::unpack(&self.tiles.get(self.root.get(slot)))
    }

    /// Adds a reference to the tile of these `entries` and returns its number.
    fn insert(&mut self, entries: &[B::Entry; TILE]) -> u32 {
        let tile = self.tiles.insert(&F::pack(entries));
        if self.tiles.references(tile) == 1 {
            self.below.keep(entries);
        }
        self.below.settle();
        tile
    }

    /// Removes a reference to a tile.
    fn release(&mut self, tile: u32) {
        if self.tiles.release(tile, 1) {
            // The words of a freed tile stay until its number is used again.
            self.below.forget(|| F::unpack(&self.tiles.get(tile)));
        }
    }

    /// Renumbers the tiles without holes. `blocks` are the new numbers of the blocks that they
    /// name, if those have changed.
    fn compact(&mut self, blocks: Option<&[u32]>) {
        let renumbered = self.tiles.compact_with(|chunk| match blocks {
            Some(blocks) => F::pack(&F::unpack(&chunk).map(|entry| B::renumbered(entry, blocks))),
            None => chunk,
        });
        self.root.renumber(&renumbered, self.tiles.numbers(), self.pages);
    }
}

impl<W: Width, F: Tiles<B::Entry>, B: Below<W>> Engine<u32> for Mosaic<W, F, B> {
    type View = MosaicView<W, F, B>;

    fn build(rib: &Rib<u32>, config: &Config) -> Result<Self, Error> {
        let mut engine = Self::painted(rib, config.pages);
        engine.answers_mark = rib.max_next_hop().0 >= B::MARK;
        let blocks = engine.below.compact();
        engine.compact(blocks.as_deref());
        engine.show();
        Ok(engine)
    }

    fn view(&self) -> &MosaicView<W, F, B> {
        &self.view
    }

    fn copied(&self) -> Option<Self> {
        let Self { root, tiles, below, fallback, .. } = self;
        let parts = (root.clone(), tiles.clone(), below.clone(), fallback.clone());
        Some(Self::of(parts, self.pages, self.answers_mark))
    }

    fn apply(&mut self, rib: &Rib<u32>, deltas: &[Delta<u32>]) -> Update {
        self.follow(rib, deltas)
    }

    fn memory(&self) -> Memory {
        Memory::new()
            .off_chip("root", self.root.bytes())
            .off_chip("tiles", self.tiles.bytes())
            .off_chip("longer routes", self.below.bytes())
            .off_chip("bookkeeping for updates", self.tiles.book_bytes() + self.below.book_bytes())
    }

    fn figures(&self) -> Vec<Figure> {
        let (below, chunks) = self.below.counts(|| self.marked(&[Prefix::ALL]));
        vec![
            Figure::count("tiles", self.root.tiles()),
            Figure::count("/24s with longer routes", below),
            Figure::count("different ones of them", chunks),
            Figure::count("bits of a tile number", self.root.number_bits()),
        ]
    }

    fn validate(&self, rib: &Rib<u32>) -> Result<(), String> {
        self.contradiction(rib)
    }

    fn sharing() -> Option<Sharing<Self, u32>> {
        Some(Sharing::of_engine())
    }

    fn persistence() -> Option<Persistence<Self, u32>> {
        Some(Persistence::of_engine())
    }
}

impl<W: Width, F: Tiles<B::Entry>, B: Below<W>> Share<u32> for Mosaic<W, F, B> {
    fn share(&mut self) -> Option<MosaicView<W, F, B>> {
        if self.answers_mark {
            return None;
        }
        if self.tiles.numbers() > self.root.most_numbers(F::MOST) / 4 * 3 {
            self.root.widen(self.pages);
        }
        self.tiles.share(self.root.most_numbers(F::MOST).min(4 * self.tiles.numbers() + SLOTS));
        self.below.share();
        self.show();
        Some(self.view.clone())
    }

    fn readers_passed(&mut self) {
        self.tiles.readers_passed();
        self.below.readers_passed();
    }
}
