//! [`Overlay`]: the trie that all tables share, pushed to levels 16, 24 and 32. It says where
//! answers are stored, never which.

use super::bc16::{Bc16, Entry};
use super::{CHUNK, CHUNKS24_MAX, NODES16};
use crate::blocks::dense::{ChunkArray, Owners};
use fibula::Prefix;
use fibula::engine::{Meter, Unmetered};
use fibula::parts::memory::Pages;
use std::hint::select_unpredictable;
use std::iter;
use std::ops::Range;

/// The bits of a word of B24.
const WORD: usize = 64;

/// The words of B24 that a chunk takes.
pub(super) const CHUNK_WORDS: usize = CHUNK / WORD;

/// Where the answer for an address is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In this slot of N16 and N24.
    Upper(usize),
    /// In this slot of N32.
    Lower(usize),
}

/// Adjacent slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Run {
    /// Of N16 or N24.
    Upper(Range<usize>),
    /// Of N32.
    Lower(Range<usize>),
}

/// The chunks below one level. A node has one exactly while some table has a route below it.
#[derive(Clone, Debug)]
pub(super) struct Chunks {
    /// The nodes that the chunks are below.
    owners: Owners<u32>,
    /// The number of routes of all tables below each of these nodes.
    routes: ChunkArray<u32, 1>,
}

impl Chunks {
    fn new(chunks: usize, pages: Pages) -> Self {
        Self { owners: Owners::from(0), routes: ChunkArray::new(pages, chunks) }
    }

    /// Allocates a chunk below a node that has no routes yet and returns its number.
    fn push(&mut self, owner: u32) -> u32 {
        self.routes.push(0);
        self.owners.push(owner)
    }

    /// Removes a chunk. Returns the owner of the chunk that has taken its number, if any.
    fn swap_remove(&mut self, chunk: u32) -> Option<u32> {
        self.routes.swap_remove(chunk);
        self.owners.swap_remove(chunk)
    }

    /// Counts one more route below the owner of `chunk`.
    pub(super) fn count_in(&mut self, chunk: usize) {
        self.routes[chunk] += 1;
    }

    /// Counts one route less below the owner of `chunk`. Returns whether that was the last.
    pub(super) fn count_out(&mut self, chunk: usize) -> bool {
        self.routes[chunk] -= 1;
        self.routes[chunk] == 0
    }

    /// Iterates over the chunks, each with its owner and its number of routes.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, u32, u32)> {
        self.owners.iter().map(|(chunk, owner)| (chunk as usize, owner, self.routes[chunk as usize]))
    }

    /// Returns the number of chunks.
    pub(super) fn len(&self) -> usize {
        self.owners.len()
    }

    /// Returns the bytes that the chunks occupy.
    pub(super) fn bytes(&self) -> usize {
        self.owners.bytes() + self.routes.bytes()
    }
}

/// Bit maps and chunk ids. The nodes of level 16 are the first slots, and the chunks of level 24
/// follow.
#[derive(Clone, Debug)]
pub(super) struct Overlay {
    /// B16 and C16: whether a node of level 16 holds answers, or the chunk below it.
    bc16: Bc16,
    /// B24: 1 if a slot of level 24 holds answers, 0 if a chunk below it does.
    b24: ChunkArray<u64, CHUNK_WORDS>,
    /// The chunk below each internal slot of level 24. Other entries have no meaning.
    c24: ChunkArray<u32, CHUNK>,
    /// The chunks of level 24.
    pub(super) below16: Chunks,
    /// The chunks of level 32.
    pub(super) below24: Chunks,
}

/// Returns the slot of the level-16 node of `address`.
#[inline(always)]
pub(super) fn slot16(address: u32) -> usize {
    (address >> 16) as usize
}

/// Returns the slot of `address` in a chunk of level 24.
#[inline(always)]
fn slot24(chunk: u16, address: u32) -> usize {
    NODES16 + usize::from(chunk) * CHUNK + (address >> 8 & 255) as usize
}

/// Returns the slot of `address` in a chunk of level 32.
#[inline(always)]
fn slot32(chunk: u32, address: u32) -> usize {
    chunk as usize * CHUNK + (address & 255) as usize
}

impl Overlay {
    /// Returns an overlay without routes, with room for `chunks24` chunks of level 24 and
    /// `chunks32` of level 32.
    pub(super) fn new(chunks24: usize, chunks32: usize, pages: Pages) -> Self {
        Self {
            bc16: Bc16::new(pages),
            b24: ChunkArray::new(pages, chunks24).at_most(CHUNKS24_MAX),
            c24: ChunkArray::new(pages, chunks24),
            below16: Chunks::new(chunks24, pages),
            below24: Chunks::new(chunks32, pages),
        }
    }

    /// Looks up where every table stores its answer for `address`.
    #[inline(always)]
    pub(super) fn place(&self, address: u32, meter: &mut impl Meter) -> Place {
        let node = slot16(address);
        let entry = meter.on_chip(|meter| self.bc16.load(node, meter));
        if entry.is_answer() {
            return Place::Upper(node);
        }
        let slot = slot24(entry.chunk(), address);
        if self.answers24(slot, meter) {
            return Place::Upper(slot);
        }
        Place::Lower(self.place32(slot, address, meter))
    }

    /// Returns the slot of N32 of `address`, whose slot of level 24 is internal.
    #[inline(always)]
    pub(super) fn place32(&self, slot: usize, address: u32, meter: &mut impl Meter) -> usize {
        slot32(meter.load(&self.c24[slot - NODES16]), address)
    }

    /// Returns the slot of an address's answer if that is on level 16, else its slot on level 24.
    /// No branch.
    #[inline(always)]
    pub(super) fn upper(&self, address: u32) -> usize {
        let node = slot16(address);
        let entry = self.bc16.load(node, &mut Unmetered);
        select_unpredictable(entry.is_answer(), node, slot24(entry.chunk(), address))
    }

    /// Returns whether a slot of level 24 holds answers.
    #[inline(always)]
    pub(super) fn answers24(&self, slot: usize, meter: &mut impl Meter) -> bool {
        let bit = slot - NODES16;
        meter.on_chip(|meter| meter.load(&self.b24[bit / WORD])) >> (bit % WORD) & 1 != 0
    }

    /// Returns whether a slot of either level holds answers.
    pub(super) fn is_answered(&self, slot: usize) -> bool {
        if slot < NODES16 { self.bc16.get(slot).is_answer() } else { self.answers24(slot, &mut Unmetered) }
    }

    /// Returns the slot of `address` on level 24, below an internal node of level 16.
    pub(super) fn below(&self, address: u32) -> usize {
        slot24(self.bc16.get(slot16(address)).chunk(), address)
    }

    /// Returns the chunk below an internal slot.
    pub(super) fn chunk(&self, slot: usize) -> usize {
        if slot < NODES16 { self.bc16.get(slot).chunk().into() } else { self.c24[slot - NODES16] as usize }
    }

    /// Adds a new chunk, all answers, below the slot that `address` has on level 16 or 24.
    pub(super) fn split(&mut self, slot: usize, address: u32) {
        if slot < NODES16 {
            let chunk = self.below16.push(Prefix::containing(address, 16).first());
            self.b24.push(u64::MAX);
            self.c24.push(0);
            self.bc16.set(slot, Entry::internal(chunk as u16)); // one of at most `CHUNKS24_MAX`
        } else {
            let bit = slot - NODES16;
            self.c24[bit] = self.below24.push(Prefix::containing(address, 24).first());
            self.b24[bit / WORD] &= !(1 << (bit % WORD));
        }
    }

    /// Removes the chunk below a slot. No slot of the chunk may be internal. Returns whether
    /// another chunk took its number.
    pub(super) fn merge(&mut self, slot: usize) -> bool {
        let chunk = self.chunk(slot) as u32;
        let moved = if slot < NODES16 {
            self.bc16.set(slot, Entry::ANSWER);
            self.b24.swap_remove(chunk);
            self.c24.swap_remove(chunk);
            let moved = self.below16.swap_remove(chunk);
            moved.inspect(|&owner| self.bc16.set(slot16(owner), Entry::internal(chunk as u16)))
        } else {
            let bit = slot - NODES16;
            self.b24[bit / WORD] |= 1 << (bit % WORD);
            let moved = self.below24.swap_remove(chunk);
            moved.inspect(|&owner| {
                let slot = self.below(owner);
                self.c24[slot - NODES16] = chunk;
            })
        };
        moved.is_some()
    }

    /// Iterates over the internal ones among `slots`.
    pub(super) fn internal(&self, slots: Range<usize>) -> impl Iterator<Item = usize> {
        let nodes = slots.start.min(NODES16)..slots.end.min(NODES16);
        let nodes = nodes.filter(|&node| !self.bc16.get(node).is_answer());
        nodes.chain(self.internal24(slots.start.max(NODES16) - NODES16, slots.end.max(NODES16) - NODES16))
    }

    /// Iterates over the internal slots of level 24 whose bits in B24 are from `start` on and
    /// before `end`.
    fn internal24(&self, start: usize, end: usize) -> impl Iterator<Item = usize> {
        (start / WORD..end.div_ceil(WORD)).flat_map(move |word| {
            let (from, to) = (start.saturating_sub(word * WORD), (end - word * WORD).min(WORD));
            let within = u64::MAX << from & u64::MAX >> (WORD - to);
            let mut rest = !self.b24[word] & within;
            iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
                rest &= rest - 1;
                Some(NODES16 + word * WORD + bit)
            })
        })
    }

    /// Visits every slot that stores answers of `first..=last`, run by run. Nodes that are covered
    /// in part must be internal.
    pub(super) fn runs(&self, first: u32, last: u32, mut visit: impl FnMut(Run)) {
        self.runs_upper(slot16(first)..slot16(last) + 1, &mut visit, |node, visit| {
            let (first, last) = clip(first, last, Prefix::containing((node as u32) << 16, 16));
            self.runs_upper(self.below(first)..self.below(last) + 1, visit, |slot, visit| {
                let block = Prefix::containing(first & !0xFFFF | ((slot % CHUNK) as u32) << 8, 24);
                let (first, last) = clip(first, last, block);
                let chunk = self.c24[slot - NODES16];
                visit(Run::Lower(slot32(chunk, first)..slot32(chunk, last) + 1));
            });
        });
    }

    /// Visits the runs of answers among some slots, at least one, and goes below the internal slots
    /// in between.
    fn runs_upper<V: FnMut(Run)>(
        &self,
        slots: Range<usize>,
        visit: &mut V,
        mut below: impl FnMut(usize, &mut V),
    ) {
        let mut start = slots.start;
        let end = slots.end;
        for internal in self.internal(slots).chain(iter::once(end)) {
            if start < internal {
                visit(Run::Upper(start..internal));
            }
            if internal < end {
                below(internal, visit);
            }
            start = internal + 1;
        }
    }

    /// Returns the number of slots on levels 16 and 24.
    pub(super) fn slots(&self) -> usize {
        NODES16 + self.b24.len() * WORD
    }

    /// Returns the bytes of BC16, of B24 and of C24.
    pub(super) fn bytes(&self) -> [usize; 3] {
        [self.bc16.bytes(), self.b24.bytes(), self.c24.bytes()]
    }
}

/// Returns the part of `first..=last` within a prefix.
fn clip(first: u32, last: u32, prefix: Prefix<u32>) -> (u32, u32) {
    (first.max(prefix.first()), last.min(prefix.last()))
}
