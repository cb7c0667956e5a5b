//! `sail-l6`: SAIL_L for IPv6, one byte of the address per level, and an exact continuation past 64
//! bits.
//!
//! Yang, Xie, Li, Fu, Liu, Li and Mathy, "Guarantee IP Lookup Performance with FIB Explosion"
//! (SIGCOMM 2014), section 7 for the levels, section 4.2 and Figures 2 to 4 for their contents.
//!
//! # Layout
//! Solid nodes are pushed to levels 16, 24, 32, 40, 48, 56 and 64. An internal node of a level has
//! a chunk of 256 slots on the next level. Any other node has an answer. Above and below level 48
//! an entry of 32 bits says which: the array that the paper calls BCN, with bit map, chunk ids and
//! next hops in one. On level 48 the paper splits, and most of the slots are there. There next hops
//! and chunk ids are separate, as in the paper's BN and C.
//!
//! ```text
//!                    31  30                              0
//!                  +---+----------------------------------+
//!                  | 1 |            next hop N            |   an answer
//!                  | 0 |            chunk id C            |   next: C << 8 | the next byte of a
//!                  +---+----------------------------------+
//! BCN16            65,536 entries: a chunk for each first byte of a
//! BCN24, 32, 40    256 entries a chunk
//! BN48             next hop, as wide as the answers; 0: look below   256 entries a chunk
//! C48              chunk id, 32 bits; 0 where BN48 answers           256 entries a chunk, if any
//!                                                                    is not 0
//! BCN56            256 entries a chunk
//! BCN64            256 entries a chunk:
//!                  +---+----------------------------------+
//!                  | 1 |            next hop N            |   an answer
//!                  | 0 |            next hop N            |   more-specific routes are below;
//!                  +---+----------------------------------+   N where none matches
//! longer routes    a Patricia tree of the routes of 65 to 128 bits
//! ```
//!
//! Chunk ids start from 1, as in the paper. Chunk 0 of every array but BCN16 is all zeros and has
//! no owner. The batch path sends addresses there that already have their answer.
//!
//! # Worked example
//! The table of Figure 2 below 2001:db8::/32, with the figure's levels 2, 4, 6 mapped to 40, 48,
//! 64. Each pair of bits becomes the last two bits of its level, so `001*` becomes 2001:db8:2::/47.
//! A host route of the last node, 2001:db8:2:3::1/128, has next hop 5:
//!
//! ```text
//! BCN16   2001: chunk 1                       all others: next hop 0
//! BCN24   chunk 1:  0d: chunk 1               all others: next hop 0
//! BCN32   chunk 1:  b8: chunk 1               all others: next hop 0
//! BCN40   chunk 1:  chunk 1      next hop 3   next hop 4   chunk 2      then next hop 6
//! BN48    chunk 1:  6  6  0  1   then 6       chunk 2:  4  4  0  7      then 4
//! C48     chunk 1:  0  0  1  0   then 0       chunk 2:  0  0  2  0      then 0
//! BCN56   chunk 1:  chunk 1                                             then next hop 3
//!         chunk 2:  chunk 2                                             then next hop 8
//! BCN64   chunk 1:  next hop 3   next hop 3   next hop 3   longer, or 9 then next hop 3
//!         chunk 2:  next hop 2   next hop 2   next hop 8   next hop 8   then next hop 8
//! ```
//!
//! The address that the figure calls 001010 is 2001:db8:2:2::. It goes through the first chunk of
//! each level, and BCN64\[1 << 8 | 2\] gives 3. At 2001:db8:2:3::1 the last entry has no flag, and
//! the tree gives 5. The tree does not cover 2001:db8:2:3::2, so the entry's own 9 is the answer.
//!
//! # What differs from the paper
//! - Section 7 names the levels 16, 24, 32, 40, 48 and 64 and no layout below 48. Level 56 is ours:
//!   if the last 16 bits were one level, a chunk would have 65,536 entries. The 104 chunks that a
//!   full table of 2024 would have there take 26 MiB, where levels 56 and 64 take 229 KiB. Those of
//!   70,000 scattered hosts would take 17 GiB.
//! - The paper ends at 64 bits. Longer routes must still answer, so a node of level 64 that has
//!   such routes has an entry without the flag, even if it has no route itself. Other addresses pay
//!   nothing, because the flag is read anyway.
//! - C48 is stored only for chunks that have an id (`sparse`): it would be
//!   the largest array and nearly all zeros. One array BCN48 instead of the two took twice the
//!   bytes of BN48 for a full table with 16-bit next hops, and gave between 13 and 28 % fewer
//!   lookups a second.
//! - BCN has 32 bits where the BCN of section 4.2 has 16, that is, 15 for a next hop or chunk id. A
//!   full table of May 2026 would fit in them, with 28,728 chunks of level 48. A larger one would
//!   not.
//! - The paper keeps on chip the bit maps and chunk ids of levels 16 to 40 and the bit map of level
//!   48. [`Engine::memory`] counts as on chip BCN16 to BCN40, with the next hops that are in the
//!   same entries, and, of each entry of BN48, the one bit that is B48.
//! - As in [`sail_l`](super::sail_l), updates take the changed intervals from the table itself, and
//!   chunks are numbered without holes, so an update may move one.

mod batch;
mod levels;
#[cfg(test)]
mod tests;

use crate::blocks::dense::{ChunkArray, Owners};
use crate::blocks::pushing::{ANSWER, Levels, internal_nodes, paint_all, repaint, validate};
use crate::blocks::sparse::ChunkIds;
use batch::{BLOCK, SHORT_BLOCK, STAGES};
use fibula::engine::{
    About, Config, Cost, Engine, Figure, LimitInfo, Lookup, Meter, Unmetered, Update, Updates, Width,
};
use fibula::parts::arch::Isa;
use fibula::parts::blocks::patricia::{MAX_NODES, NODES, Patricia};
use fibula::parts::blocks::pipeline::look_up;
use fibula::parts::memory::{Memory, Pages};
use fibula::{Address, Delta, Error, Limit, NextHop, Prefix, Rib};
use std::array::from_fn;

/// The greatest next-hop index: the 31 bits of an entry beside the flag.
pub const NEXT_HOPS_MAX: u32 = (1 << 31) - 1;

/// The most chunks of a level. Chunk id and byte together make an index of 32 bits, and chunk 0 has
/// no owner.
pub const CHUNKS_MAX: u64 = (1 << 24) - 1;

/// What [`CHUNKS_MAX`] limits, as errors name it.
const CHUNKS: &str = "chunks of a level";

/// The most bytes of chunks. A scattered host takes a chunk on each level, so a million of them
/// would take 5 GB, and a cover of all of them would write every chunk.
const CHUNK_BYTES_MAX: u64 = 1 << 31;

/// What [`CHUNK_BYTES_MAX`] limits, as errors name it.
const CHUNK_BYTES: &str = "bytes of chunks";

/// What the tools print about the engine.
pub const ABOUT: About = About {
    name: "sail-l6",
    paper: "Yang et al., Guarantee IP Lookup Performance with FIB Explosion, SIGCOMM 2014 (SAIL_L for IPv6)",
    year: 2014,
    updates: Updates::InPlace,
    limits: &[
        LimitInfo { what: CHUNKS, max: CHUNKS_MAX },
        LimitInfo { what: CHUNK_BYTES, max: CHUNK_BYTES_MAX },
        LimitInfo { what: NODES, max: MAX_NODES },
    ],
    next_hops_max: NEXT_HOPS_MAX,
    ..About::DEFAULT
};

/// The prefix lengths that solid nodes are pushed to.
const LEVELS: [u8; 7] = [16, 24, 32, 40, 48, 56, 64];

/// The depth of level 48, where the paper splits: the number of levels above it. The levels after
/// it are below.
const LEVEL_48: usize = 4;
const BELOW_48: usize = LEVELS.len() - LEVEL_48 - 1;

/// The chunk without an owner. In C48 it means that there is no chunk below.
const NO_ROUTE: u32 = 0;

/// The bits of an address that choose an entry of a chunk.
const CHUNK_BITS: u8 = 8;
/// The entries of a chunk.
const CHUNK: usize = 1 << CHUNK_BITS;

/// A level above or below 48.
#[derive(Clone, Debug)]
struct Level {
    bcn: ChunkArray<u32, CHUNK>,
    /// The nodes of the level before whose chunks these are. Level 16 needs none: its 256 chunks
    /// belong to the first byte of an address.
    owners: Owners<u128>,
}

impl Level {
    /// Returns level 16 without any route.
    fn first(pages: Pages) -> Self {
        let mut bcn = ChunkArray::new(pages, CHUNK);
        for _ in 0..CHUNK {
            bcn.push(ANSWER);
        }
        Self { bcn, owners: Owners::from(CHUNK as u32) }
    }

    /// Returns a further level with room for `chunks` chunks.
    fn further(chunks: usize, pages: Pages) -> Self {
        let mut bcn = ChunkArray::new(pages, 1 + chunks);
        bcn.push(0);
        Self { bcn, owners: Owners::from(NO_ROUTE + 1) }
    }
}

/// Level 48.
#[derive(Clone, Debug)]
struct Level48<W: Copy> {
    bn: ChunkArray<W, CHUNK>,
    c: ChunkIds<CHUNK>,
    owners: Owners<u128>,
}

impl<W: Width> Level48<W> {
    fn new(chunks: usize, pages: Pages) -> Self {
        let mut bn = ChunkArray::new(pages, 1 + chunks);
        bn.push(W::default());
        let mut c = ChunkIds::new(pages, 1 + chunks);
        c.push();
        Self { bn, c, owners: Owners::from(NO_ROUTE + 1) }
    }
}

/// The arrays of SAIL_L for IPv6.
#[derive(Clone, Debug)]
pub struct SailL6<W: Width> {
    /// Levels 16, 24, 32, 40.
    upper: [Level; LEVEL_48],
    level_48: Level48<W>,
    /// Levels 56 and 64.
    lower: [Level; BELOW_48],
    longer: Patricia<u128, W>,
    /// The cost of the update in progress.
    cost: Cost,
}

/// Returns whether a route is in the tree of routes longer than /64.
fn is_longer(prefix: Prefix<u128>) -> bool {
    prefix.len() > LEVELS[LEVELS.len() - 1]
}

/// Returns the chunk of level 16 that answers an address.
#[inline(always)]
fn first_chunk(address: u128) -> u32 {
    address.bits(0, LEVELS[0] - CHUNK_BITS) as u32
}

/// Returns the index of the entry of `address` in `chunk`. The last byte that the level resolves
/// chooses it.
#[inline(always)]
fn index(chunk: u32, address: u128, level: u8) -> u32 {
    chunk << CHUNK_BITS | address.bits(level - CHUNK_BITS, CHUNK_BITS) as u32
}

/// Goes down `levels`, of these `lengths`, from a chunk of the first. Returns an answer, or the
/// entry of the last level.
#[inline(always)]
fn descend(levels: &[Level], lengths: &[u8], chunk: u32, address: u128, meter: &mut impl Meter) -> u32 {
    let mut entry = chunk;
    for (level, &length) in levels.iter().zip(lengths) {
        entry = meter.load(&level.bcn[index(entry, address, length) as usize]);
        if entry & ANSWER != 0 {
            break;
        }
    }
    entry
}

impl<W: Width> SailL6<W> {
    /// Builds the engine, or fails if a level needs more than `chunks_max` chunks, or all levels
    /// more than `bytes_max` bytes. Both are computed before memory is taken.
    fn build_at_most(
        [chunks_max, bytes_max]: [u64; 2],
        rib: &Rib<u128>,
        pages: Pages,
    ) -> Result<Self, Error> {
        let chunks: [usize; LEVELS.len() - 1] = from_fn(|at| internal_nodes(rib, LEVELS[at]));
        let most = chunks.into_iter().max().unwrap_or_default();
        Limit::check(CHUNKS, most as u64, chunks_max)?;
        Limit::check(CHUNK_BYTES, Self::bytes_of(chunks), bytes_max)?;
        let mut engine = Self {
            upper: from_fn(|depth| match depth {
                0 => Level::first(pages),
                _ => Level::further(chunks[depth - 1], pages),
            }),
            level_48: Level48::new(chunks[LEVEL_48 - 1], pages),
            lower: from_fn(|at| Level::further(chunks[LEVEL_48 + at], pages)),
            longer: Patricia::plant(rib.iter().filter(|route| is_longer(route.prefix)), pages)?,
            cost: Cost::default(),
        };
        paint_all(&mut engine, rib);
        Ok(engine)
    }

    /// Returns the answer of `address`, whose `slot` of BN48 has none.
    #[inline(always)]
    fn below_48(&self, slot: u32, address: u128, meter: &mut impl Meter) -> W {
        let chunk = self.level_48.c.get(slot as usize, meter);
        if chunk == NO_ROUTE {
            return W::default();
        }
        let entry = descend(&self.lower, &LEVELS[LEVEL_48 + 1..], chunk, address, meter);
        if entry & ANSWER != 0 {
            return W::narrow(NextHop(entry ^ ANSWER));
        }
        let longer = self.longer.descend(address, meter);
        if longer == W::default() { W::narrow(NextHop(entry)) } else { longer }
    }

    /// Returns the most bytes that these numbers of chunks of levels 24 to 64 take.
    fn bytes_of(chunks: [usize; LEVELS.len() - 1]) -> u64 {
        let of_ids = (CHUNK * size_of::<u32>()) as u64;
        let [.., of_48, of_56, _] = chunks.map(|chunks| chunks as u64);
        let of_bcn = (chunks.into_iter().sum::<usize>() as u64 - of_48) * of_ids;
        let of_bn48 = of_48 * (CHUNK * size_of::<W>() + size_of::<u32>()) as u64;
        of_bcn + of_bn48 + of_48.min(of_56) * of_ids
    }

    /// Returns the number of chunks of each level, except those that updates never allocate.
    fn chunks(&self) -> [usize; LEVELS.len() - 1] {
        from_fn(|at| self.owners(at + 1).len())
    }
}

impl<W: Width> Lookup<u128> for SailL6<W> {
    type Width = W;

    #[inline(always)]
    fn lookup_metered<M: Meter>(&self, address: u128, meter: &mut M) -> W {
        let entry =
            meter.on_chip(|meter| descend(&self.upper, &LEVELS, first_chunk(address), address, meter));
        if entry & ANSWER != 0 {
            return W::narrow(NextHop(entry ^ ANSWER));
        }
        let slot = index(entry, address, LEVELS[LEVEL_48]);
        let n48 = meter.load(&self.level_48.bn[slot as usize]);
        if n48 == W::default() { self.below_48(slot, address, meter) } else { n48 }
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, _: I, addresses: &[u128], next_hops: &mut [W]) {
        look_up::<BLOCK, SHORT_BLOCK, STAGES, _, _, _>(self, addresses, next_hops);
    }
}

impl<W: Width> Engine<u128> for SailL6<W> {
    type View = Self;

    fn build(rib: &Rib<u128>, config: &Config) -> Result<Self, Error> {
        Self::build_at_most([CHUNKS_MAX, CHUNK_BYTES_MAX], rib, config.pages)
    }

    fn view(&self) -> &Self {
        self
    }

    fn apply(&mut self, rib: &Rib<u128>, deltas: &[Delta<u128>]) -> Update {
        // A new route allocates at most one chunk of a level.
        let new_routes = deltas.iter().filter(|delta| !delta.before.is_some()).count();
        let chunks = self.chunks().map(|chunks| chunks + new_routes);
        if chunks.iter().any(|&chunks| chunks as u64 > CHUNKS_MAX) || Self::bytes_of(chunks) > CHUNK_BYTES_MAX
        {
            return Update::Rebuild;
        }
        let longer = deltas.iter().filter(|delta| is_longer(delta.prefix));
        let Some(cost) = self.longer.follow(longer) else { return Update::Rebuild };
        self.cost = cost;
        for delta in deltas {
            repaint(self, rib, delta.prefix);
        }
        Update::Applied(self.cost)
    }

    fn memory(&self) -> Memory {
        let [bcn16, bcn24, bcn32, bcn40] = self.upper.each_ref().map(|level| level.bcn.bytes());
        let [bcn56, bcn64] = self.lower.each_ref().map(|level| level.bcn.bytes());
        let b48 = self.level_48.bn.len() / 8;
        Memory::new()
            .on_chip("BCN16", bcn16)
            .on_chip("BCN24", bcn24)
            .on_chip("BCN32", bcn32)
            .on_chip("BCN40", bcn40)
            .on_chip("B48", b48)
            .off_chip("N48", self.level_48.bn.bytes() - b48)
            .off_chip("C48", self.level_48.c.bytes())
            .off_chip("BCN56", bcn56)
            .off_chip("BCN64", bcn64)
            .off_chip("longer routes", self.longer.bytes())
            .off_chip("chunk owners", (1..LEVELS.len()).map(|depth| self.owners(depth).bytes()).sum())
    }

    fn figures(&self) -> Vec<Figure> {
        let chunks = LEVELS[1..].iter().zip(self.chunks());
        let [.., level_64] = &self.lower;
        let beyond = level_64.bcn[CHUNK..].iter().filter(|&entry| entry & ANSWER == 0).count();
        chunks
            .map(|(length, chunks)| Figure::count(format!("chunks of level {length}"), chunks))
            .chain([Figure::count("nodes of level 64 with longer routes", beyond)])
            .collect()
    }

    fn validate(&self, rib: &Rib<u128>) -> Result<(), String> {
        let [first, upper @ ..] = &self.upper;
        if first.bcn.chunks() != CHUNK {
            return Err(format!("{} chunks of level 16", first.bcn.chunks()));
        }
        for Level { bcn, owners } in upper.iter().chain(&self.lower) {
            if bcn.chunks() != owners.len() + 1 {
                return Err(format!("{} chunks of a level, {} owned", bcn.chunks(), owners.len()));
            }
            if bcn[..CHUNK].iter().any(|&entry| entry != 0) {
                return Err("chunk 0 of a level is not all zeros".into());
            }
        }
        let Level48 { bn, c, owners } = &self.level_48;
        if [bn.chunks(), c.chunks()] != [owners.len() + 1; 2] {
            return Err(format!(
                "{} chunks of BN48, {} of C48, {} owned",
                bn.chunks(),
                c.chunks(),
                owners.len()
            ));
        }
        let both = |&slot: &usize| bn[slot] != W::default() && c.get(slot, &mut Unmetered) != NO_ROUTE;
        if let Some(slot) = (0..bn.len()).find(both) {
            return Err(format!("both BN48 and C48 speak at {slot}"));
        }
        if (0..CHUNK).any(|slot| bn[slot] != W::default() || c.get(slot, &mut Unmetered) != NO_ROUTE) {
            return Err("chunk 0 of level 48 is not all zeros".into());
        }
        c.validate()?;
        self.longer.validate(rib.iter().filter(|route| is_longer(route.prefix)))?;
        validate(self, rib)
    }
}
