//! Pivot pushing: bit maps give the length of the match and next-hop arrays its answer, and routes
//! longer than the pivot level, 24, are kept in chunks below it.
//!
//! Yang et al., "Guarantee IP Lookup Performance with FIB Explosion" (SIGCOMM 2014), sections 3 and
//! 4.1 and Algorithm 1. A route of at most 24 bits is stored on the first level that is not
//! shorter, expanded to the slots it covers there: a bit of B and a next hop of N each.
//!
//! On level 24, every node with longer routes below also has a bit. Its entry of N24 is the number
//! of a chunk of N32: 256 slots with the answers pushed down. So B24 says at once whether the match
//! is at 24 or longer, or else on the levels above.
//!
//! ```text
//! N of the levels above     next hop, as wide as the answers; one array after the other;
//!                           entry 0 is unused
//!
//!                  31  30                                        0
//!                +---+--------------------------------------------+
//! N24[a >> 8]    | 0 |                  next hop                  |   2^24 entries of 32 bits
//!                | 1 |                 chunk of N32               |
//!                +---+--------------------------------------------+
//! N32[chunk << 8 | (a & 255)]     next hop, as wide as the answers    256 entries a chunk
//! ```
//!
//! # Concurrent readers
//! All words are atomic, and a shared table may be read while it changes. A next hop is written
//! before its bit is set. It stays when the bit is cleared, for readers that have seen the bit.
//! Neighbouring bits in one word change in a single store. A chunk is filled before N24 points to
//! it, and a removed chunk keeps its contents until a grace period has ended.
//!
//! That is enough for one change. But a lookup reads several levels, the longest first, and not at
//! one moment. A reader that missed a bit just before it was set goes on to the levels above, and
//! must find there what was there then. So a change above waits until all readers have passed a
//! quiescent state since the bits below it were set ([`settling`](super::settling)).
//!
//! The changes of a batch are ordered so that few have to wait: announcements first, the longest
//! first; then withdrawals, the shortest first. That order also hides what is above and still to be
//! changed.
//!
//! [`PivotTable`] is all of SAIL_B and SAIL_U except for the one thing in which they differ: which
//! levels there are, and where their bits are stored. That is [`BitMaps`], which each engine
//! implements.

mod below;
#[cfg(test)]
mod testing;
mod update;
mod validate;
mod view;

use super::settling::Settling;
use below::Below;
use fibula::blocks::entry::in_order;
use fibula::blocks::expansion::{level_of, slots};
use fibula::blocks::pushing::internal_nodes;
use fibula::engine::{Config, Cost, Engine, Figure, Share, Sharing, Update, Width};
use fibula::memory::{Memory, Pages, Published, Words};
use fibula::{Delta, Error, Prefix, Rib};
use std::fmt::Debug;

pub use below::NEXT_HOPS_MAX;
pub use view::PivotView;

/// The level whose bit says "here or longer".
pub const PIVOT: u8 = 24;

/// The levels of an engine, and where their bits are stored.
///
/// A *depth* is a level's index in [`LEVELS`](Self::LEVELS); a *slot* is the first `level` bits of
/// an address.
pub trait BitMaps: Clone + Debug + Send + Sync + 'static {
    /// The levels, ascending. The last one is [`PIVOT`].
    const LEVELS: &'static [u8];

    /// The number of 64-bit words of all maps together.
    const WORDS: usize;

    /// The paper's names of the maps, and of the next-hop arrays above the pivot.
    const NAMES: (&'static str, &'static str);

    /// Returns the word and the bit of a slot. The slots that one route of a level covers on that
    /// level are adjacent in one word, so that an update writes one word.
    fn place(depth: usize, slot: usize) -> (usize, u32);

    /// Returns the depth plus 1 of the deepest level that has a bit for an address, or 0 if none
    /// has. This is Algorithm 1 for the batch path, without its branches, which are as good as
    /// random.
    fn deepest(words: &[Published<u64>], address: u32) -> u32;

    /// Prefetches those words of an address that are usually not in the nearest caches.
    fn prefetch(words: &[Published<u64>], address: u32);
}

/// Bit maps and next-hop arrays to level 24, and chunks below it.
#[derive(Debug)]
pub struct PivotTable<W: Width, B: BitMaps> {
    view: PivotView<W, B>,
    words: Words<u64>,
    /// The next hops of the levels above the pivot, each from [`Row::start`] on; entry 0 holds "no
    /// route".
    next_hops: Words<W>,
    below: Below<W>,
    /// The nodes whose bits were set and that some reader may have missed.
    settling: Settling,
    /// The cost so far of the update in progress.
    cost: Cost,
}

/// The next hops of a level above the pivot. That of an address is at index
/// `start + (address >> shift)`.
#[derive(Clone, Copy, Debug)]
struct Row {
    start: u32,
    shift: u32,
}

/// The number of values of [`BitMaps::deepest`], rounded up to what a mask of five bits lets
/// through.
const ROWS: usize = 32;

/// Returns the rows by the result of [`BitMaps::deepest`]. Where the levels above have no bit, all
/// addresses share entry 0.
const fn rows(levels: &[u8]) -> [Row; ROWS] {
    let nobody = Row { start: 0, shift: 32 };
    let mut rows = [nobody; ROWS];
    let mut end = 1;
    let mut depth = 0;
    while levels[depth] < PIVOT {
        rows[depth + 1] = Row { start: end, shift: 32 - levels[depth] as u32 };
        end += 1 << levels[depth];
        depth += 1;
    }
    rows
}

/// Returns the slot of an address on a level.
#[inline(always)]
fn slot_of(address: u32, level: u8) -> usize {
    (u64::from(address) >> (32 - level)) as usize
}

/// Returns the node of a slot of a level.
fn node(slot: usize, level: u8) -> Prefix<u32> {
    Prefix::containing(((slot as u64) << (32 - level)) as u32, level)
}

/// Returns the slots of a level that a prefix covers; the prefix is not longer than the level.
fn run(prefix: Prefix<u32>, level: u8) -> std::ops::Range<usize> {
    let slots = slots(prefix, level);
    *slots.start() as usize..*slots.end() as usize + 1
}

impl<W: Width, B: BitMaps> PivotTable<W, B> {
    /// The depth of the pivot level.
    const PIVOT_DEPTH: usize = B::LEVELS.len() - 1;

    fn new(chunks: usize, pages: Pages) -> Self {
        let above: usize = B::LEVELS[..Self::PIVOT_DEPTH].iter().map(|&level| 1 << level).sum();
        let words = Words::zeroed(B::WORDS, pages);
        let next_hops = Words::zeroed(1 + above, pages);
        let below = Below::new(chunks, pages);
        let view = PivotView::of(words.view(), next_hops.view(), below.view());
        Self { view, words, next_hops, below, settling: Settling::default(), cost: Cost::default() }
    }

    /// Returns the depth of the level on which a route is stored, or `None` if it is longer than
    /// all levels.
    fn depth_of(len: u8) -> Option<usize> {
        level_of(len, B::LEVELS)
    }

    /// Returns whether the bit of a slot is set.
    pub(crate) fn bit(&self, depth: usize, slot: usize) -> bool {
        let (word, bit) = B::place(depth, slot);
        self.words.get(word) >> bit & 1 == 1
    }

    /// Sets or clears the bits of adjacent slots of one word: those of `slot` + *i* for each bit
    /// *i* of `run`, whose lowest bit is set.
    fn set_bits(&mut self, depth: usize, slot: usize, run: u64, value: bool) {
        let (word, bit) = B::place(depth, slot);
        let (old, run) = (self.words.get(word), run << bit);
        let new = if value { old | run } else { old & !run };
        if new == old {
            return;
        }
        self.cost.on_chip_writes += 1;
        self.words.set(word, new);
        if value {
            // The first slot represents all: what is above one of them is above all.
            self.settling.has_appeared(node(slot, B::LEVELS[depth]));
        }
    }

    /// Returns whether a change of a prefix has to wait for readers that may have missed a bit
    /// below it.
    fn is_settling(&self, prefix: Prefix<u32>) -> bool {
        Self::depth_of(prefix.len()).is_some_and(|depth| self.settling.is_below(prefix, B::LEVELS[depth]))
    }
}

impl<W: Width, B: BitMaps> Engine<u32> for PivotTable<W, B> {
    type View = PivotView<W, B>;

    fn build(rib: &Rib<u32>, config: &Config) -> Result<Self, Error> {
        let mut table = Self::new(internal_nodes(rib, PIVOT), config.pages);
        // In order, every route comes after its covers and before anything longer under it.
        for route in rib {
            if Self::depth_of(route.prefix.len()).is_some() {
                table.expand(route);
            } else {
                table.repaint_long(rib, route.prefix);
            }
        }
        table.below.show_in(&mut table.view.below);
        Ok(table)
    }

    fn view(&self) -> &PivotView<W, B> {
        &self.view
    }

    fn apply(&mut self, rib: &Rib<u32>, deltas: &[Delta<u32>]) -> Update {
        let longer = deltas.iter().filter(|delta| delta.prefix.len() > PIVOT && delta.after.is_some());
        if self.below.room() < longer.count() {
            return Update::Rebuild;
        }
        self.cost = Cost::default();
        for Delta { prefix, .. } in in_order(deltas) {
            if self.is_settling(prefix) {
                return Update::Waiting;
            }
            self.follow(rib, prefix);
        }
        self.below.show_in(&mut self.view.below);
        Update::Applied(self.cost)
    }

    fn memory(&self) -> Memory {
        let (maps, next_hops) = B::NAMES;
        let memory = Memory::new().on_chip(maps, size_of_val(&self.words[..]));
        self.below.add_to(memory.off_chip(next_hops, size_of_val(&self.next_hops[..])))
    }

    fn figures(&self) -> Vec<Figure> {
        let levels = B::LEVELS.iter().enumerate();
        let mut figures: Vec<Figure> = levels
            .map(|(depth, &level)| {
                let nodes = (0..1_usize << level).filter(|&slot| self.bit(depth, slot)).count();
                let solid = if level == PIVOT { "" } else { "solid " };
                Figure::count(format!("{solid}nodes on level {level}"), nodes)
            })
            .collect();
        let bits: usize = B::LEVELS.iter().map(|&level| 1 << level).sum();
        figures.push(Figure::count("chunks of N32", self.below.chunks()));
        figures.push(Figure::count("on-chip bound, bits", bits));
        figures
    }

    fn validate(&self, rib: &Rib<u32>) -> Result<(), String> {
        self.contradiction(rib)
    }

    fn sharing() -> Option<Sharing<Self, u32>> {
        Some(Sharing::of_engine())
    }
}

impl<W: Width, B: BitMaps> Share<u32> for PivotTable<W, B> {
    fn share(&mut self) -> Option<PivotView<W, B>> {
        self.settling.share();
        self.below.share();
        self.below.show_in(&mut self.view.below);
        Some(self.view.clone())
    }

    fn readers_passed(&mut self) {
        self.below.readers_passed();
        self.settling.readers_passed();
    }
}
