//! `sail-l`: the lookup-oriented SAIL, three pushed levels and one to three loads a lookup.
//!
//! Yang, Xie, Li, Fu, Liu, Li and Mathy, "Guarantee IP Lookup Performance with FIB Explosion" (SIGCOMM 2014),
//! section 4.2, Algorithm 2 and Figures 3 and 4.
//!
//! # Layout
//! Solid nodes are pushed to levels 16, 24 and 32. An internal node of level 16 has a chunk of 256 slots on level
//! 24, an internal node of level 24 one on level 32; any other node has an answer.
//!
//! ```text
//! BCN16[a >> 16]      31  30                                        0     65,536 entries of 32 bits
//!                   +---+--------------------------------------------+
//!                   | 1 |                next hop N16                |    an answer
//!                   | 0 |                chunk id C16                |    i = C16 << 8 | (a >> 8 & 255)
//!                   +---+--------------------------------------------+
//! BN24[i]           next hop, as wide as the answers; 0: look below       256 entries a chunk
//! C24[i]            chunk id, 32 bits, where BN24 does not answer           256 entries a chunk
//! N32[C24[i] << 8 | (a & 255)]    next hop                                256 entries a chunk
//! ```
//!
//! Chunk ids start from 1, as in the paper. Chunk 0 of every array is all zeros and belongs to nobody: a slot of
//! level 24 without any route has BN24 = C24 = 0, and the search ends in chunk 0 of N32 with "no route".
//!
//! # Readers meanwhile
//! All slots are atomic words, and those who read a shared table see each as it was or as it is. What a change writes is what
//! stays when all changes of its batch are followed, so an address goes from its old answer to its new one with
//! one store:
//! - A chunk is filled with the answer of its slot before the slot points to it. An answer in the place of a chunk is written over
//!   the pointer; the chunk stays as it is, and its number waits for the readers who may still be at it.
//! - On level 24 BN24 decides, and C24 says something only where BN24 is 0. A chunk is put into C24 first, then BN24 becomes 0. An
//!   answer is put into BN24 alone: a reader that has seen the 0 still finds the old chunk in C24. "No route" is put into
//!   C24 first.
//!
//! Chunks have room to grow where they are; without room the table asks to be built anew.
//!
//! # Worked example
//! The table of Figure 2, with the figure's levels 2, 4, 6 laid onto 16, 24, 32 (each pair of bits becomes the
//! last two bits of its level, so `001*` becomes 0.0.2.0/23):
//!
//! ```text
//! BCN16   0: chunk 1      1: next hop 3   2: next hop 4   3: chunk 2      all others: next hop 6
//! BN24    chunk 1:  6  6  0  1  then 6    chunk 2:  4  4  0  7  then 4
//! C24     chunk 1:  0  0  1  0  then 0    chunk 2:  0  0  2  0  then 0
//! N32     chunk 1:  3  3  3  9  then 3    chunk 2:  2  2  8  8  then 8
//! ```
//!
//! The address that the figure calls 001010 is 0.0.2.2: BCN16\[0\] leads to chunk 1, BN24\[1 << 8 | 2\] = 0, and
//! N32\[1 << 8 | 2\] = 3.
//!
//! # What differs from the paper
//! - BCN16 has 32 bits where the paper has 16: a 15-bit next hop or chunk id loses tables of 2024. The bytes
//!   on chip grow by 128 KiB.
//! - The paper assumes a default route, so that a next hop is never 0. Chunk 0 takes its place.
//! - Algorithm 2 subtracts 1 from every chunk id; with chunk 0 present nothing is subtracted.
//! - Updates take the changed intervals from the table itself
//!   ([`exposed`](crate::blocks::pushing::exposed)), so that no pushed trie is kept beside it. Chunks are numbered
//!   without holes ([`dense`](crate::blocks::dense)), so an update may move one, unless others read.
//! - Where BN24 answers, C24 may still hold the number of a chunk that was there.
//! - [`Engine::memory`] splits BN24 as Figure 4 does: one bit of each entry is B24, on chip, the rest N24. BCN16 is on
//!   chip as a whole, as section 4.2 has it once B16, C16 and N16 are combined; Figure 4, which keeps them apart, has
//!   N16 off chip.

mod batch;
mod levels;
#[cfg(test)]
mod tests;

use crate::arch::Isa;
use crate::blocks::dense::{Owners, WordChunks};
use crate::blocks::pushing::{ANSWER, internal_nodes, paint_all, repaint, validate};
use crate::engine::{
    About, Config, Cost, Engine, Figure, LimitInfo, Meter, Unmetered, Update, Updates, Width,
};
use crate::memory::{Memory, Pages, Shareable, Words};
use crate::snapshot::{SectionWriter, Sections};
use crate::{Delta, Error, NextHop, Rib};
use std::sync::atomic::AtomicU32;

/// The greatest next-hop index: the 31 bits that the flag leaves of a BCN16 entry. Chunk ids, at most 65,536
/// there and 2^24 in C24, always fit.
pub const NEXT_HOPS_MAX: u32 = (1 << 31) - 1;

/// What the tools print about it.
pub const ABOUT: About = About {
    name: "sail-l",
    paper: "Yang et al., Guarantee IP Lookup Performance with FIB Explosion, SIGCOMM 2014 (SAIL_L)",
    year: 2014,
    updates: Updates::InPlace,
    limits: &[LimitInfo { what: "next hops", max: NEXT_HOPS_MAX as u64 }],
    parameters: &[],
    preset: &[],
};

/// The slots of a chunk.
const CHUNK: usize = 256;

/// The chunk that belongs to nobody and says "no route".
const NO_ROUTE: u32 = 0;

/// The arrays of SAIL_L.
#[derive(Debug)]
pub struct SailL<W: Width> {
    bcn16: Words<u32>,
    bn24: WordChunks<W, CHUNK>,
    c24: WordChunks<u32, CHUNK>,
    n32: WordChunks<W, CHUNK>,
    /// The nodes of level 16 whose chunks bn24 and c24 hold.
    owners24: Owners<u32>,
    /// The nodes of level 24 whose chunks n32 holds.
    owners32: Owners<u32>,
    /// What the update in progress has cost so far.
    cost: Cost,
}

impl<W: Width> SailL<W> {
    fn new(chunks24: usize, chunks32: usize, pages: Pages) -> Self {
        let mut engine = Self {
            bcn16: Words::zeroed(1 << 16, pages),
            bn24: WordChunks::new(pages, 1 + chunks24),
            c24: WordChunks::new(pages, 1 + chunks24),
            n32: WordChunks::new(pages, 1 + chunks32),
            owners24: Owners::from(NO_ROUTE + 1),
            owners32: Owners::from(NO_ROUTE + 1),
            cost: Cost::default(),
        };
        engine.bcn16.fill(0..1 << 16, ANSWER);
        engine.bn24.put(NO_ROUTE, W::default());
        engine.c24.put(NO_ROUTE, NO_ROUTE);
        engine.n32.put(NO_ROUTE, W::default());
        engine
    }

    /// BCN16 with its length, so that no index of 16 bits needs a check.
    #[inline(always)]
    fn bcn16(&self) -> &[AtomicU32; 1 << 16] {
        self.bcn16[..].try_into().expect("one entry a node of level 16")
    }

    /// Algorithm 2.
    #[inline(always)]
    fn look_up(&self, address: u32, meter: &mut impl Meter) -> W {
        let bcn16: u32 = meter.load_word(&self.bcn16()[(address >> 16) as usize]);
        if bcn16 & ANSWER != 0 {
            return W::narrow(NextHop(bcn16 ^ ANSWER));
        }
        let slot = bcn16 << 8 | (address >> 8 & 255);
        let n24: W = meter.load_word(&self.bn24[slot as usize]);
        if n24 == W::default() { self.level_32(slot, address, meter) } else { n24 }
    }

    /// The answer where BN24 has none in `slot`.
    #[inline(always)]
    fn level_32(&self, slot: u32, address: u32, meter: &mut impl Meter) -> W {
        let chunk: u32 = meter.load_word(&self.c24[slot as usize]);
        meter.load_word::<W>(&self.n32[(chunk << 8 | (address & 255)) as usize])
    }
}

impl<W: Width> Engine<u32, W> for SailL<W> {
    fn build(rib: &Rib<u32>, config: &Config) -> Result<Self, Error> {
        let mut engine = Self::new(internal_nodes(rib, 16), internal_nodes(rib, 24), config.pages);
        paint_all(&mut engine, rib);
        Ok(engine)
    }

    #[inline(always)]
    fn lookup_metered<M: Meter>(&self, address: u32, meter: &mut M) -> W {
        self.look_up(address, meter)
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, _: I, addresses: &[u32], next_hops: &mut [W]) {
        self.lookup_blocks(addresses, next_hops);
    }

    fn apply(&mut self, rib: &Rib<u32>, deltas: &[Delta<u32>]) -> Update {
        let longer_than =
            |level| deltas.iter().filter(move |d| d.prefix.len() > level && d.after.is_some()).count();
        if self.owners24.room() < longer_than(16) || self.owners32.room() < longer_than(24) {
            return Update::Rebuild;
        }
        self.cost = Cost::default();
        for delta in deltas {
            repaint(self, rib, delta.prefix);
        }
        Update::Applied(self.cost)
    }

    fn share(&mut self) -> Option<Self> {
        let (chunks24, chunks32) = (self.owners24.share(usize::MAX), self.owners32.share(usize::MAX));
        Some(Self {
            bcn16: self.bcn16.clone(),
            bn24: self.bn24.share(chunks24),
            c24: self.c24.share(chunks24),
            n32: self.n32.share(chunks32),
            owners24: Owners::from(NO_ROUTE + 1),
            owners32: Owners::from(NO_ROUTE + 1),
            cost: Cost::default(),
        })
    }

    fn readers_passed(&mut self) {
        self.owners24.readers_passed();
        self.owners32.readers_passed();
    }

    fn stages(&self) -> usize {
        3
    }

    /// An answer is handed on with a flag above it, a slot of level 24 as it is.
    #[inline(always)]
    fn run_stage<I: Isa>(&self, _: I, stage: usize, addresses: &[u32], found: &mut [u64]) {
        const FOUND: u64 = 1 << 32;
        for (&address, found) in addresses.iter().zip(found) {
            if stage == 0 {
                let bcn16 = u32::load(&self.bcn16()[(address >> 16) as usize]);
                let slot = u64::from(bcn16 << 8 | (address >> 8 & 255));
                *found = if bcn16 & ANSWER != 0 { FOUND | u64::from(bcn16 ^ ANSWER) } else { slot };
            } else if stage == 1 && *found & FOUND == 0 {
                let n24 = self.bn24.get(*found as usize);
                *found = if n24 == W::default() { *found } else { FOUND | u64::from(n24.widen().0) };
            } else if stage == 2 {
                let slot = *found as u32;
                let below = *found & FOUND == 0;
                *found =
                    if below { self.level_32(slot, address, &mut Unmetered).widen().0 } else { slot }.into();
            }
        }
    }

    fn save<'s>(&'s self, sections: &mut SectionWriter<'s>) -> Result<(), Error> {
        sections.made("BCN16", &self.bcn16.read(0..1 << 16));
        sections.made("BN24", &self.bn24.to_vec());
        sections.made("C24", &self.c24.to_vec());
        sections.made("N32", &self.n32.to_vec());
        Ok(())
    }

    fn open(sections: &Sections<'_>, _: &Config) -> Result<Self, Error> {
        Ok(Self {
            bcn16: Words::holding(sections.array_of("BCN16", 1 << 16)?),
            bn24: WordChunks::holding(sections.array("BN24")?),
            c24: WordChunks::holding(sections.array("C24")?),
            n32: WordChunks::holding(sections.array("N32")?),
            owners24: Owners::from(NO_ROUTE + 1),
            owners32: Owners::from(NO_ROUTE + 1),
            cost: Cost::default(),
        })
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
        // The first chunk of either level belongs to no slot.
        let in_use = |chunks: usize, owners: &Owners<u32>| chunks - 1 - (owners.numbers() - owners.len());
        vec![
            Figure::count("chunks, level 24", in_use(self.bn24.chunks(), &self.owners24)),
            Figure::count("chunks, level 32", in_use(self.n32.chunks(), &self.owners32)),
        ]
    }

    fn validate(&self, rib: &Rib<u32>) -> Result<(), String> {
        let chunks = [self.bn24.chunks(), self.c24.chunks(), self.n32.chunks()];
        let numbers = [self.owners24.numbers() + 1, self.owners24.numbers() + 1, self.owners32.numbers() + 1];
        if chunks != numbers {
            return Err(format!("{chunks:?} chunks in BN24, C24, N32; {numbers:?} numbers"));
        }
        let nobody = self.c24.read(0..CHUNK).iter().all(|&chunk| chunk == NO_ROUTE)
            && (0..CHUNK).all(|at| self.bn24.get(at) == W::default() && self.n32.get(at) == W::default());
        if !nobody {
            return Err("chunk 0 is not all zeros".into());
        }
        validate(self, rib)
    }
}
