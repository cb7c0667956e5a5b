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
//! [`PivotTable`] is all of SAIL_B and SAIL_U except for the one thing in which they differ: which
//! levels there are, and where their bits are stored. That is [`BitMaps`], which each engine
//! implements.

mod below;
mod lookup;
#[cfg(test)]
mod testing;
mod update;
mod validate;

use crate::blocks::expansion::{level_of, slots};
use crate::blocks::pushing::internal_nodes;
use below::Below;
use fibula::engine::{Config, Cost, Engine, Figure, Update, Width};
use fibula::parts::memory::{Array, Memory, Pages};
use fibula::{Delta, Error, Prefix, Rib};
use std::fmt::Debug;
use std::marker::PhantomData;

pub use below::NEXT_HOPS_MAX;

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
    fn deepest(words: &[u64], address: u32) -> u32;

    /// Prefetches those words of an address that are usually not in the nearest caches.
    fn prefetch(words: &[u64], address: u32);
}

/// Bit maps and next-hop arrays to level 24, and chunks below it.
#[derive(Debug)]
pub struct PivotTable<W: Width, B: BitMaps> {
    words: Array<u64>,
    /// The next hops of the levels above the pivot, each from [`Row::start`] on; entry 0 holds "no
    /// route".
    next_hops: Array<W>,
    below: Below<W>,
    /// The cost so far of the update in progress.
    cost: Cost,
    maps: PhantomData<B>,
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
        Self {
            words: Array::zeroed(B::WORDS, pages),
            next_hops: Array::zeroed(1 + above, pages),
            below: Below::new(chunks, pages),
            cost: Cost::default(),
            maps: PhantomData,
        }
    }

    /// Returns the depth of the level on which a route is stored, or `None` if it is longer than
    /// all levels.
    fn depth_of(len: u8) -> Option<usize> {
        level_of(len, B::LEVELS)
    }

    /// Returns whether the bit of a slot is set.
    pub(crate) fn bit(&self, depth: usize, slot: usize) -> bool {
        let (word, bit) = B::place(depth, slot);
        self.words[word] >> bit & 1 == 1
    }

    /// Sets or clears the bits of adjacent slots of one word: those of `slot` + *i* for each bit
    /// *i* of `run`, whose lowest bit is set.
    fn set_bits(&mut self, depth: usize, slot: usize, run: u64, value: bool) {
        let (word, bit) = B::place(depth, slot);
        let (old, run) = (self.words[word], run << bit);
        let new = if value { old | run } else { old & !run };
        self.cost.on_chip_writes += u64::from(new != old);
        self.words[word] = new;
    }
}

impl<W: Width, B: BitMaps> Engine<u32> for PivotTable<W, B> {
    type View = Self;

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
        Ok(table)
    }

    fn view(&self) -> &Self {
        self
    }

    fn apply(&mut self, rib: &Rib<u32>, deltas: &[Delta<u32>]) -> Update {
        self.cost = Cost::default();
        for delta in deltas {
            self.follow(rib, delta.prefix);
        }
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
}
