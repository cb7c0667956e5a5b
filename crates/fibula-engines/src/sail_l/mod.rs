//! `sail-l`: the lookup-oriented SAIL, three pushed levels and one, two or four loads per lookup.
//!
//! Yang, Xie, Li, Fu, Liu, Li and Mathy, "Guarantee IP Lookup Performance with FIB Explosion"
//! (SIGCOMM 2014),
//! section 4.2, Algorithm 2 and Figures 3 and 4.
//!
//! # Layout
//! Solid nodes are pushed to levels 16, 24 and 32. An internal node of level 16 has a chunk of 256
//! slots on level 24. An internal node of level 24 has one on level 32. Any other node has an
//! answer.
//!
//! ```text
//! BCN16[a >> 16]      31  30                                  0    65,536 entries of 32 bits
//!                   +---+--------------------------------------+
//!                   | 1 |             next hop N16             |   an answer
//!                   | 0 |             chunk id C16             |   i = C16 << 8 | (a >> 8 & 255)
//!                   +---+--------------------------------------+
//! BN24[i]           next hop, as wide as the answers; 0: look below      256 entries a chunk
//! C24[i]            chunk id, 32 bits, where BN24 does not answer        256 entries a chunk
//! N32[C24[i] << 8 | (a & 255)]    next hop                               256 entries a chunk
//! ```
//!
//! Chunk ids start from 1, as in the paper. Chunk 0 of every array is all zeros and has no owner. A
//! slot of level 24 without any route has BN24 = C24 = 0, and the lookup ends in chunk 0 of N32
//! with "no route".
//!
//! # Worked example
//! The table of Figure 2, with the figure's levels 2, 4, 6 mapped to 16, 24, 32. Each pair of bits
//! becomes the last two bits of its level, so `001*` becomes 0.0.2.0/23:
//!
//! ```text
//! BCN16   0: chunk 1      1: next hop 3   2: next hop 4   3: chunk 2      all others: next hop 6
//! BN24    chunk 1:  6  6  0  1  then 6    chunk 2:  4  4  0  7  then 4
//! C24     chunk 1:  0  0  1  0  then 0    chunk 2:  0  0  2  0  then 0
//! N32     chunk 1:  3  3  3  9  then 3    chunk 2:  2  2  8  8  then 8
//! ```
//!
//! The address that the figure calls 001010 is 0.0.2.2. BCN16\[0\] leads to chunk 1, BN24\[1 << 8 |
//! 2\] = 0, and N32\[1 << 8 | 2\] = 3.
//!
//! # What differs from the paper
//! - An entry of BCN16 has 32 bits where the paper has 16: a flag and 15 bits. Chunk ids of full
//!   tables of 2024 would fit. The 65,536 chunks that a table may have would not, nor next hops
//!   above 32,767. `bcn16=16` has the paper's entries and refuses such tables; it takes 128 KiB
//!   less on chip.
//! - The paper assumes a default route, so that a next hop is never 0. Chunk 0 takes its role.
//! - Algorithm 2 subtracts 1 from every chunk id. With chunk 0 present, nothing is subtracted.
//! - Updates take the changed intervals from the table itself
//!   (`exposed`), so that no pushed trie is needed beside it.
//!   Chunks are numbered without holes (`dense`), so an update may move
//!   one.
//! - Where BN24 answers, C24 may still hold the number of an earlier chunk.
//! - [`Engine::memory`] splits BN24 as Figure 4 does: one bit of each entry is B24, on chip, the
//!   rest N24. All of BCN16 is on chip, as section 4.2 has it once B16, C16 and N16 are combined.
//!   Figure 4, which separates them, has N16 off chip.

layouts!(($) with_arrays: Bits32, Bits16);

mod levels;
mod lookup;
#[cfg(test)]
pub(crate) mod tests;

use crate::blocks::dense::{ChunkArray, Owners};
use crate::blocks::pushing::{ANSWER, internal_nodes, paint_all, repaint, validate};
use fibula::engine::{About, Config, Cost, Engine, Figure, ParameterInfo, Update, Updates, Width};
use fibula::parts::memory::{Array, Memory, Pages};
use fibula::{Delta, Error, Limit, NextHop, Rib};
use std::fmt::Debug;

/// The greatest next-hop index: the 31 bits of a BCN16 entry beside the flag. Chunk ids, at most
/// 65,536 there and 2^24 in C24, always fit.
pub const NEXT_HOPS_MAX: u32 = (1 << 31) - 1;

/// What the tools print about the engine.
pub const ABOUT: About = About {
    name: "sail-l",
    paper: "Yang et al., Guarantee IP Lookup Performance with FIB Explosion, SIGCOMM 2014 (SAIL_L)",
    year: 2014,
    updates: Updates::InPlace,
    next_hops_max: NEXT_HOPS_MAX,
    parameters: &[ParameterInfo {
        name: "bcn16",
        meaning: "bits of an entry of level 16: 32 (default), or 16 as in the paper, which refuse next hops and chunks \
                  past 32767",
    }],
    ..About::DEFAULT
};

/// What the bits of an entry of BCN16 limit, as errors name it.
const NEXT_HOPS: &str = "next hops of an entry of BCN16";
const CHUNK_IDS: &str = "chunks of level 24 of an entry of BCN16";

/// The slots of a chunk.
const CHUNK: usize = 256;

/// The chunk without an owner, which means "no route".
const NO_ROUTE: u32 = 0;

/// An entry of BCN16: a flag, and a next hop or a chunk id.
trait Bcn: Copy + Debug + Send + Sync + 'static {
    /// The greatest next hop or chunk id beside the flag.
    const VALUE_MAX: u32;

    /// Returns the entry with its flag at [`ANSWER`].
    fn widen(self) -> u32;

    /// Returns the entry of a flag at [`ANSWER`] and a value up to [`VALUE_MAX`](Self::VALUE_MAX).
    fn narrow(entry: u32) -> Self;
}

impl Bcn for u32 {
    const VALUE_MAX: u32 = NEXT_HOPS_MAX;

    #[inline(always)]
    fn widen(self) -> u32 {
        self
    }

    #[inline(always)]
    fn narrow(entry: u32) -> Self {
        entry
    }
}

impl Bcn for u16 {
    const VALUE_MAX: u32 = (1 << 15) - 1;

    #[inline(always)]
    fn widen(self) -> u32 {
        let entry = u32::from(self);
        (entry << 16 & ANSWER) | (entry & Self::VALUE_MAX)
    }

    #[inline(always)]
    fn narrow(entry: u32) -> Self {
        ((entry & ANSWER) >> 16 | entry & Self::VALUE_MAX) as Self
    }
}

/// The SAIL_L engine; see the [module page](self).
#[derive(Debug)]
pub struct SailL<W: Width>(Form<W>);

/// The arrays of a table, for readers of another form.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'t, W> {
    /// For each value of the first 16 bits a flag, and a next hop or the number of a chunk.
    pub bcn16: &'t [u32],
    /// The next hops of the chunks of level 24; 0 where [`c24`](Self::c24) has a chunk.
    pub bn24: &'t [W],
    /// The chunks below them.
    pub c24: &'t [u32],
    /// The next hops of the chunks of level 32.
    pub n32: &'t [W],
}

impl<W: Width> SailL<W> {
    /// Returns the arrays; `None` with `bcn16=16`.
    #[must_use]
    pub fn parts(&self) -> Option<Parts<'_, W>> {
        let Form::Bits32(Arrays { bcn16, bn24, c24, n32, .. }) = &self.0 else { return None };
        Some(Parts { bcn16, bn24, c24, n32 })
    }
}

/// The arrays by the bits of an entry of BCN16.
#[derive(Debug)]
enum Form<W: Width> {
    Bits32(Arrays<W, u32>),
    Bits16(Arrays<W, u16>),
}

/// The arrays of SAIL_L and what updates need.
#[derive(Debug)]
struct Arrays<W: Width, E: Bcn> {
    bcn16: Array<E>,
    bn24: ChunkArray<W, CHUNK>,
    c24: ChunkArray<u32, CHUNK>,
    n32: ChunkArray<W, CHUNK>,
    /// The nodes of level 16 whose chunks bn24 and c24 hold.
    owners24: Owners<u32>,
    /// The nodes of level 24 whose chunks n32 holds.
    owners32: Owners<u32>,
    /// The cost of the update in progress.
    cost: Cost,
}

impl<W: Width, E: Bcn> Arrays<W, E> {
    fn build(rib: &Rib<u32>, pages: Pages) -> Result<Self, Limit> {
        let chunks24 = internal_nodes(rib, 16);
        check_room::<E>(rib.max_next_hop(), chunks24)?;
        let mut arrays = Self::new(chunks24, internal_nodes(rib, 24), pages);
        paint_all(&mut arrays, rib);
        Ok(arrays)
    }

    fn new(chunks24: usize, chunks32: usize, pages: Pages) -> Self {
        let mut arrays = Self {
            bcn16: Array::filled(E::narrow(ANSWER), 1 << 16, pages),
            bn24: ChunkArray::new(pages, 1 + chunks24),
            c24: ChunkArray::new(pages, 1 + chunks24),
            n32: ChunkArray::new(pages, 1 + chunks32),
            owners24: Owners::from(NO_ROUTE + 1),
            owners32: Owners::from(NO_ROUTE + 1),
            cost: Cost::default(),
        };
        arrays.bn24.push(W::default());
        arrays.c24.push(NO_ROUTE);
        arrays.n32.push(W::default());
        arrays
    }

    /// Follows changes. A build finds out whether what may not fit does.
    fn apply(&mut self, rib: &Rib<u32>, deltas: &[Delta<u32>]) -> Update {
        let next_hop = deltas.iter().map(|delta| delta.after).max().unwrap_or_default();
        let more = deltas.iter().filter(|delta| delta.after.is_some() && delta.prefix.len() > 16).count();
        if check_room::<E>(next_hop, self.owners24.len() + more).is_err() {
            return Update::Rebuild;
        }
        self.cost = Cost::default();
        for delta in deltas {
            repaint(self, rib, delta.prefix);
        }
        Update::Applied(self.cost)
    }

    fn memory(&self) -> Memory {
        let b24 = self.bn24.chunks() * CHUNK / 8;
        Memory::new()
            .on_chip("BCN16", size_of_val(&self.bcn16[..]))
            .on_chip("B24", b24)
            .off_chip("N24", self.bn24.bytes() - b24)
            .off_chip("C24", self.c24.bytes())
            .off_chip("N32", self.n32.bytes())
            .off_chip("chunk owners", self.owners24.bytes() + self.owners32.bytes())
    }

    fn figures(&self) -> Vec<Figure> {
        vec![
            Figure::count("chunks, level 24", self.owners24.len()),
            Figure::count("chunks, level 32", self.owners32.len()),
        ]
    }

    fn validate(&self, rib: &Rib<u32>) -> Result<(), String> {
        let chunks = [self.bn24.chunks(), self.c24.chunks(), self.n32.chunks()];
        let numbers = [self.owners24.len() + 1, self.owners24.len() + 1, self.owners32.len() + 1];
        if chunks != numbers {
            return Err(format!("{chunks:?} chunks in BN24, C24, N32; {numbers:?} numbers"));
        }
        let nobody = self.c24[..CHUNK].iter().all(|&chunk| chunk == NO_ROUTE)
            && [&self.bn24, &self.n32].iter().all(|chunks| chunks[..CHUNK] == [W::default(); CHUNK]);
        if !nobody {
            return Err("chunk 0 is not all zeros".into());
        }
        validate(self, rib)
    }
}

/// Checks that an entry of BCN16 has the bits for a next hop, and for the number of the last of
/// some chunks of level 24.
fn check_room<E: Bcn>(next_hop: NextHop, chunks: usize) -> Result<(), Limit> {
    Limit::check(NEXT_HOPS, next_hop.0.into(), E::VALUE_MAX.into())?;
    Limit::check(CHUNK_IDS, chunks as u64, E::VALUE_MAX.into())
}

impl<W: Width> Engine<u32> for SailL<W> {
    type View = Self;

    fn build(rib: &Rib<u32>, config: &Config) -> Result<Self, Error> {
        let narrow = config.choice("bcn16", &[("32", false), ("16", true)])?;
        Ok(Self(if narrow {
            Form::Bits16(Arrays::build(rib, config.pages)?)
        } else {
            Form::Bits32(Arrays::build(rib, config.pages)?)
        }))
    }

    fn view(&self) -> &Self {
        self
    }

    fn apply(&mut self, rib: &Rib<u32>, deltas: &[Delta<u32>]) -> Update {
        with_arrays!(&mut self.0, Form::arrays => arrays.apply(rib, deltas))
    }

    fn memory(&self) -> Memory {
        with_arrays!(&self.0, Form::arrays => arrays.memory())
    }

    fn figures(&self) -> Vec<Figure> {
        with_arrays!(&self.0, Form::arrays => arrays.figures())
    }

    fn validate(&self, rib: &Rib<u32>) -> Result<(), String> {
        with_arrays!(&self.0, Form::arrays => arrays.validate(rib))
    }
}
