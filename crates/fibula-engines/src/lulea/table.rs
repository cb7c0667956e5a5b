//! [`Table`]: the three levels, for one width of pointers and of base indices; how they are built,
//! and lookups.

use super::chunk::{Coded, DENSE_MAX, Dense, Sparse, VeryDense};
use super::cut::{Head, cut};
use super::maptable::MAPTABLE;
use super::pointer::{Base, Kind, Pointer, Target};
use fibula::Prefix;
use fibula::engine::Meter;
use fibula::parts::memory::{Array, Memory, Pages};
use fibula::rib::Range;

/// The slots of level 1.
pub(super) const TOP_SLOTS: usize = 1 << 16;

/// Level 2 or 3: its chunks by kind, and the pointers of its dense and very dense chunks.
#[derive(Debug)]
pub(super) struct Level<P: Copy, B: Copy> {
    pub(super) sparse: Array<Sparse<P>>,
    pub(super) dense: Array<Dense<B>>,
    pub(super) very_dense: Array<VeryDense<B>>,
    pub(super) pointers: Array<P>,
}

/// The whole structure.
#[derive(Debug)]
pub(super) struct Table<P: Copy, B: Copy> {
    /// Level 1: the code words of a /8 each, with their base indices.
    pub(super) top: Array<VeryDense<u16>>,
    /// The pointers of level 1.
    pub(super) pointers: Array<P>,
    /// Levels 2 and 3.
    pub(super) levels: [Level<P, B>; 2],
}

impl<P: Pointer, B: Base> Level<P, B> {
    fn new(pages: Pages) -> Self {
        Self {
            sparse: Array::new(pages),
            dense: Array::new(pages),
            very_dense: Array::new(pages),
            pointers: Array::new(pages),
        }
    }

    /// Adds the chunk of some heads, in the smallest kind that holds them, and returns its pointer.
    /// Returns `None` if an index does not fit.
    fn add(&mut self, heads: &[(u16, P)]) -> Option<P> {
        let (kind, index) = if let Some(chunk) = Sparse::of(heads) {
            self.sparse.push(chunk);
            (Kind::Sparse, self.sparse.len() - 1)
        } else if heads.len() <= DENSE_MAX {
            self.dense.push(Coded::one(heads, &mut self.pointers)?);
            (Kind::Dense, self.dense.len() - 1)
        } else {
            self.very_dense.push(Coded::one(heads, &mut self.pointers)?);
            (Kind::VeryDense, self.very_dense.len() - 1)
        };
        P::to_chunk(kind, index)
    }

    /// Returns what a slot of a chunk leads to.
    #[inline(always)]
    pub(super) fn find(&self, kind: Kind, index: usize, slot: u32, meter: &mut impl Meter) -> Target {
        let found = match kind {
            Kind::Sparse => return self.sparse[index].find(slot, meter).target(),
            Kind::Dense => self.dense[index].find(slot, meter),
            Kind::VeryDense => self.very_dense[index].find(slot, meter),
        };
        follow(found, &self.pointers, meter)
    }

    /// Returns the number of chunks of a kind.
    pub(super) fn chunks(&self, kind: Kind) -> usize {
        match kind {
            Kind::Sparse => self.sparse.len(),
            Kind::Dense => self.dense.len(),
            Kind::VeryDense => self.very_dense.len(),
        }
    }

    fn shrink_to_fit(&mut self) {
        self.sparse.shrink_to_fit();
        self.dense.shrink_to_fit();
        self.very_dense.shrink_to_fit();
        self.pointers.shrink_to_fit();
    }
}

/// Returns the target of a code word, or of the pointer that it leads to.
#[inline(always)]
fn follow<P: Pointer>(found: Result<u32, usize>, pointers: &[P], meter: &mut impl Meter) -> Target {
    match found {
        Ok(next_hop) => Target::Answer(next_hop),
        Err(pointer) => meter.load(&pointers[pointer]).target(),
    }
}

impl<P: Pointer, B: Base> Table<P, B> {
    /// Compiles a table's intervals. Returns `None` if a next hop, a chunk or a base index does not
    /// fit.
    pub(super) fn build(ranges: &[Range<u32>], pages: Pages) -> Option<Self> {
        // The most common misfit is detected before anything is built.
        P::to_next_hop(ranges.iter().map(|range| range.next_hop).max()?)?;
        let mut levels = [Level::new(pages), Level::new(pages)];
        let heads = heads_below(Prefix::ALL, ranges, &mut levels)?;
        let mut pointers = Array::new(pages);
        let mut top = Array::new(pages);
        top.extend_from_slice(&Coded::of(&heads, TOP_SLOTS, &mut pointers)?);
        pointers.shrink_to_fit();
        levels.iter_mut().for_each(Level::shrink_to_fit);
        Some(Self { top, pointers, levels })
    }

    /// Returns the target that level 1 has for the addresses with these first 16 bits.
    #[inline(always)]
    pub(super) fn find_top(&self, slot: u32, meter: &mut impl Meter) -> Target {
        follow(self.top[slot as usize >> 8].find(slot, meter), &self.pointers, meter)
    }

    /// Returns the answer of `address`.
    #[inline(always)]
    pub(super) fn find(&self, address: u32, meter: &mut impl Meter) -> u32 {
        let mut target = self.find_top(address >> 16, meter);
        for (level, shift) in self.levels.iter().zip([8, 0]) {
            let Target::Chunk(kind, index) = target else { break };
            target = level.find(kind, index, address >> shift, meter);
        }
        let Target::Answer(next_hop) = target else { unreachable!("level 3 has answers only") };
        next_hop
    }

    pub(super) fn memory(&self) -> Memory {
        let [two, three] = &self.levels;
        let bases = self.top.len() * size_of_val(&self.top[0].bases);
        Memory::new()
            .off_chip("code words", self.top.bytes() - bases)
            .off_chip("base indices", bases)
            .off_chip("maptable", size_of_val(&MAPTABLE.0))
            .off_chip("pointers", self.pointers.bytes())
            .off_chip("sparse chunks", two.sparse.bytes() + three.sparse.bytes())
            .off_chip("dense chunks", two.dense.bytes() + three.dense.bytes())
            .off_chip("very dense chunks", two.very_dense.bytes() + three.very_dense.bytes())
            .off_chip("pointers of chunks", two.pointers.bytes() + three.pointers.bytes())
    }
}

/// Returns the heads below a node with their pointers. First adds the chunks that root heads point
/// to to `levels`, those below the node. Returns `None` if something does not fit.
fn heads_below<P: Pointer, B: Base>(
    node: Prefix<u32>,
    ranges: &[Range<u32>],
    levels: &mut [Level<P, B>],
) -> Option<Vec<(u16, P)>> {
    let pointer = |(slot, head)| {
        let pointer = match head {
            Head::Leaf(next_hop) => P::to_next_hop(next_hop)?,
            Head::Root(node, ranges) => {
                let (level, below) = levels.split_first_mut().expect("nothing is longer than 32 bits");
                let heads = heads_below(node, ranges, below)?;
                level.add(&heads)?
            }
        };
        Some((slot, pointer))
    };
    cut(node, ranges).into_iter().map(pointer).collect()
}
