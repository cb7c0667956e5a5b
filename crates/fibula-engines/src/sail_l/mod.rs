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
//! # Concurrent readers
//! All slots are atomic words. Readers of a shared table see each slot as it was or as it is. A
//! change writes only what remains after all changes of its batch. So an address goes from its old
//! answer to its new one with one store:
//! - A chunk is filled with the answer of its slot before the slot points to it. An answer that
//!   replaces a chunk overwrites the pointer. The chunk stays as it is, and its number is reused
//!   after a grace period.
//! - On level 24 BN24 decides, and C24 counts only where BN24 is 0. A chunk is first stored in C24,
//!   then BN24 becomes 0. An answer is stored in BN24 alone, so a reader that has seen the 0 still
//!   finds the old chunk in C24. "No route" is stored in C24 first.
//!
//! Chunks have room to grow without moving. When the room is used up, the table asks for a rebuild.
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
//! - BCN16 has 32 bits where the paper has 16. Chunk ids of full tables of 2024 would fit in 15
//!   bits. The 65,536 chunks that a table may have would not, nor next hops above 32,767. The bytes
//!   on chip grow by 128 KiB.
//! - The paper assumes a default route, so that a next hop is never 0. Chunk 0 takes its role.
//! - Algorithm 2 subtracts 1 from every chunk id. With chunk 0 present, nothing is subtracted.
//! - Updates take the changed intervals from the table itself
//!   (`exposed`), so that no pushed trie is needed beside it.
//!   Chunks are numbered without holes (`dense`), so an update may move
//!   one, unless the table is shared.
//! - Where BN24 answers, C24 may still hold the number of an earlier chunk.
//! - [`Engine::memory`] splits BN24 as Figure 4 does: one bit of each entry is B24, on chip, the
//!   rest N24. All of BCN16 is on chip, as section 4.2 has it once B16, C16 and N16 are combined.
//!   Figure 4, which separates them, has N16 off chip.

mod levels;
#[cfg(test)]
mod tests;
mod view;

pub use view::SailLView;

use fibula::blocks::dense::{Owners, WordChunks};
use fibula::blocks::pushing::{ANSWER, internal_nodes, paint_all, repaint, validate};
use fibula::engine::{
    About, Config, Cost, Engine, Figure, Persist, Persistence, Share, Sharing, Update, Updates, Width,
};
use fibula::memory::{Memory, Pages, Words, WordsView};
use fibula::sections::{SectionWriter, Sections};
use fibula::{Delta, Error, Rib};

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
    ..About::DEFAULT
};

/// The slots of a chunk.
const CHUNK: usize = 256;

/// The chunk without an owner, which means "no route".
const NO_ROUTE: u32 = 0;

/// The arrays of SAIL_L and what updates need.
#[derive(Debug)]
pub struct SailL<W: Width> {
    view: SailLView<W>,
    bcn16: Words<u32>,
    bn24: WordChunks<W, CHUNK>,
    c24: WordChunks<u32, CHUNK>,
    n32: WordChunks<W, CHUNK>,
    /// The nodes of level 16 whose chunks bn24 and c24 hold.
    owners24: Owners<u32>,
    /// The nodes of level 24 whose chunks n32 holds.
    owners32: Owners<u32>,
    /// The cost of the update in progress.
    cost: Cost,
}

impl<W: Width> SailL<W> {
    fn new(chunks24: usize, chunks32: usize, pages: Pages) -> Self {
        let bcn16 = Words::filled(ANSWER, 1 << 16, pages);
        let bn24 = WordChunks::new(pages, 1 + chunks24);
        let c24 = WordChunks::new(pages, 1 + chunks24);
        let n32 = WordChunks::new(pages, 1 + chunks32);
        let view = SailLView { bcn16: bcn16.view(), bn24: bn24.view(), c24: c24.view(), n32: n32.view() };
        let mut engine = Self {
            view,
            bcn16,
            bn24,
            c24,
            n32,
            owners24: Owners::from(NO_ROUTE + 1),
            owners32: Owners::from(NO_ROUTE + 1),
            cost: Cost::default(),
        };
        engine.bn24.put(NO_ROUTE, W::default());
        engine.c24.put(NO_ROUTE, NO_ROUTE);
        engine.n32.put(NO_ROUTE, W::default());
        engine
    }

    /// Updates the view after an array has moved.
    fn show(&mut self) {
        self.bn24.show_in(&mut self.view.bn24);
        self.c24.show_in(&mut self.view.c24);
        self.n32.show_in(&mut self.view.n32);
    }
}

impl<W: Width> Engine<u32> for SailL<W> {
    type View = SailLView<W>;

    fn build(rib: &Rib<u32>, config: &Config) -> Result<Self, Error> {
        let mut engine = Self::new(internal_nodes(rib, 16), internal_nodes(rib, 24), config.pages);
        paint_all(&mut engine, rib);
        engine.show();
        Ok(engine)
    }

    fn view(&self) -> &SailLView<W> {
        &self.view
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
        self.show();
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
        // The first chunk of either level has no owner.
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

    fn sharing() -> Option<Sharing<Self, u32>> {
        Some(Sharing::of_engine())
    }

    fn persistence() -> Option<Persistence<Self, u32>> {
        Some(Persistence::of_engine())
    }
}

impl<W: Width> Share<u32> for SailL<W> {
    fn share(&mut self) -> Option<SailLView<W>> {
        let (chunks24, chunks32) = (self.owners24.share(usize::MAX), self.owners32.share(usize::MAX));
        self.bn24.share(chunks24);
        self.c24.share(chunks24);
        self.n32.share(chunks32);
        self.show();
        Some(self.view.clone())
    }

    fn readers_passed(&mut self) {
        self.owners24.readers_passed();
        self.owners32.readers_passed();
    }
}

impl<W: Width> Persist<u32> for SailL<W> {
    fn save<'s>(&'s self, sections: &mut SectionWriter<'s>) {
        sections.made("BCN16", &self.bcn16.to_vec());
        sections.made("BN24", &self.bn24.chunks_to_vec());
        sections.made("C24", &self.c24.chunks_to_vec());
        sections.made("N32", &self.n32.chunks_to_vec());
    }

    fn open(sections: &Sections<'_>, _: &Config) -> Result<SailLView<W>, Error> {
        Ok(SailLView {
            bcn16: WordsView::holding(sections.array_of("BCN16", 1 << 16)?),
            bn24: WordsView::holding(sections.array("BN24")?),
            c24: WordsView::holding(sections.array("C24")?),
            n32: WordsView::holding(sections.array("N32")?),
        })
    }
}
