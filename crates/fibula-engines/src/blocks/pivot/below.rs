//! [`Below`]: the pivot level's next hops and chunk numbers, and the chunks.

use crate::blocks::dense::{ChunkArray, Owners};
use fibula::engine::{Cost, Meter, Width};
use fibula::parts::memory::{Array, Memory, Pages};
use fibula::{NextHop, Prefix};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use super::PIVOT;

/// The greatest next-hop index: the 31 bits that the flag leaves of an N24 entry. Chunk numbers
/// always fit, because there are at most 2^24 chunks.
pub const NEXT_HOPS_MAX: u32 = (1 << 31) - 1;

/// The bit of an N24 entry that marks a chunk, where the paper has a negative number.
pub(super) const CHUNK_FLAG: u32 = 1 << 31;

/// The number of slots of level 24.
const SLOTS: usize = 1 << PIVOT;

/// The slot of N24 behind the last one. It belongs to no address and holds "no route", for lookups
/// that end above.
pub(super) const NOBODY: u32 = SLOTS as u32;

/// The number of slots of a chunk.
pub(super) const CHUNK: usize = 256;

/// The bytes of an owner in the ordered set: a B-tree's node of eleven keys and 12 more bytes is at
/// least about half full.
const ORDERED_BYTES: usize = 10;

/// N24 and N32.
#[derive(Debug)]
pub(super) struct Below<W: Width> {
    n24: Array<u32>,
    n32: ChunkArray<W, CHUNK>,
    /// The slots of level 24 whose chunks `n32` holds.
    owners: Owners<u32>,
    /// The same slots in order, so that a short route finds the chunks below it.
    ordered: BTreeSet<u32>,
}

impl<W: Width> Below<W> {
    pub(super) fn new(chunks: usize, pages: Pages) -> Self {
        Self {
            n24: Array::zeroed(SLOTS + 1, pages),
            n32: ChunkArray::new(pages, chunks),
            owners: Owners::from(0),
            ordered: BTreeSet::new(),
        }
    }

    /// Returns N24 with its length, so that no index of 24 bits, nor [`NOBODY`], needs a bounds
    /// check.
    #[inline(always)]
    pub(super) fn n24(&self) -> &[u32; SLOTS + 1] {
        self.n24[..].try_into().expect("one entry a /24 and nobody's")
    }

    /// Returns the answer of an address whose bit of B24 is set: one or two loads.
    #[inline(always)]
    pub(super) fn next_hop(&self, address: u32, meter: &mut impl Meter) -> W {
        let n24 = meter.load(&self.n24()[(address >> 8) as usize]);
        if n24 & CHUNK_FLAG == 0 {
            return W::narrow(NextHop(n24));
        }
        meter.load(&self.n32[(n24 << 8 | (address & 255)) as usize])
    }

    /// Returns the chunk below a slot of level 24, if it has one.
    pub(super) fn chunk(&self, slot: usize) -> Option<u32> {
        let n24 = self.n24[slot];
        (n24 & CHUNK_FLAG != 0).then_some(n24 ^ CHUNK_FLAG)
    }

    /// Sets the next hop of a slot of level 24 without a chunk.
    pub(super) fn set(&mut self, slot: usize, next_hop: NextHop) {
        debug_assert!(self.chunk(slot).is_none(), "a chunk is lost");
        self.n24[slot] = next_hop.0;
    }

    /// Creates a chunk with these answers below a slot that has none.
    pub(super) fn create(
        &mut self,
        slot: usize,
        answers: impl Iterator<Item = (RangeInclusive<usize>, NextHop)>,
        cost: &mut Cost,
    ) {
        let chunk = self.owners.push(slot as u32);
        self.ordered.insert(slot as u32);
        self.n32.push(W::default());
        let start = chunk as usize * CHUNK;
        for (slots, next_hop) in answers {
            self.n32[start..][slots].fill(W::narrow(next_hop));
        }
        self.n24[slot] = CHUNK_FLAG | chunk;
        cost.nodes_allocated += 1;
        cost.entries_set += 1 + CHUNK as u64;
    }

    /// Removes the chunk below a slot; the last chunk takes its number. The entry of N24 holds "no
    /// route" then.
    pub(super) fn remove(&mut self, slot: usize, cost: &mut Cost) {
        let Some(chunk) = self.chunk(slot) else { return };
        self.ordered.remove(&(slot as u32));
        self.n24[slot] = 0;
        self.n32.swap_remove(chunk);
        if let Some(owner) = self.owners.swap_remove(chunk) {
            self.n24[owner as usize] = CHUNK_FLAG | chunk;
            cost.nodes_copied += 1;
            cost.entries_set += 1 + CHUNK as u64;
        }
    }

    /// Writes one answer to addresses of one slot, which has a chunk.
    pub(super) fn write(&mut self, first: u32, last: u32, next_hop: NextHop, cost: &mut Cost) {
        let Some(chunk) = self.chunk((first >> 8) as usize) else { return };
        let start = chunk as usize * CHUNK;
        let entries = start + (first & 255) as usize..start + (last & 255) as usize + 1;
        cost.entries_set += u64::from(last - first) + 1;
        self.n32[entries].fill(W::narrow(next_hop));
    }

    /// Returns the nodes under a prefix that have chunks, in order.
    pub(super) fn under(&self, prefix: Prefix<u32>) -> Vec<Prefix<u32>> {
        let slots = self.ordered.range(prefix.first() >> 8..=prefix.last() >> 8);
        slots.map(|slot| Prefix::containing(slot << 8, PIVOT)).collect()
    }

    /// Returns the entry of N24 of a slot.
    pub(super) fn n24_at(&self, slot: usize) -> u32 {
        self.n24[slot]
    }

    /// Returns whether a slot owns a chunk, whatever its entry of N24 says.
    pub(super) fn owns_chunk(&self, slot: usize) -> bool {
        self.ordered.contains(&(slot as u32))
    }

    pub(super) fn chunks(&self) -> usize {
        self.owners.len()
    }

    /// Returns the entries of N32 below a slot.
    pub(super) fn n32(&self, slot: usize) -> Option<&[W]> {
        let chunk = self.chunk(slot).filter(|&chunk| (chunk as usize) < self.n32.chunks())?;
        Some(&self.n32[chunk as usize * CHUNK..][..CHUNK])
    }

    #[cfg(test)]
    pub(super) fn spoil(&mut self, slot: usize, at: usize, answer: W) {
        let chunk = self.chunk(slot).expect("a chunk") as usize;
        self.n32[chunk * CHUNK + at] = answer;
    }

    #[cfg(test)]
    pub(super) fn misdirect(&mut self, slot: usize) {
        self.n24[slot] = CHUNK_FLAG | (self.n24[slot] + 1);
    }

    pub(super) fn add_to(&self, memory: Memory) -> Memory {
        memory
            .off_chip("N24", size_of_val(&self.n24[..]))
            .off_chip("N32", self.n32.bytes())
            .off_chip("chunk owners", self.owners.bytes() + self.ordered.len() * ORDERED_BYTES)
    }

    /// Checks that there are as many chunks and owners as the table has internal nodes, and that no
    /// chunk is lost.
    pub(super) fn validate(&self, internal: usize) -> Result<(), String> {
        let chunks = [self.owners.len(), self.ordered.len(), self.n32.chunks(), internal];
        if chunks.iter().any(|&count| count != internal) {
            return Err(format!("chunks owned, in order, kept and needed: {chunks:?}"));
        }
        for (chunk, owner) in self.owners.iter() {
            if self.chunk(owner as usize) != Some(chunk) || !self.ordered.contains(&owner) {
                return Err(format!("chunk {chunk} is lost to {owner:#x}"));
            }
        }
        if self.n24[SLOTS] != 0 {
            return Err("nobody's entry of N24 is not 0".into());
        }
        Ok(())
    }
}
