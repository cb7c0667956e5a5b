//! The parts of the levels: code words and the chunks of three kinds, drawn on the [module
//! page](super).

use super::maptable::{MAPTABLE, MASK, ROWS, Row, mask_of, row_of};
use super::pointer::{Base, Pointer};
use fibula::NextHop;
use fibula::engine::Meter;
use fibula::parts::arch::prefetch;
use fibula::parts::memory::Array;
use std::ops::Range;

/// The slots of a chunk.
pub(super) const SLOTS: usize = 256;

/// The code words of a chunk.
pub(super) const WORDS: usize = SLOTS / MASK as usize;

/// The most heads of a sparse chunk. Neighbouring heads of one answer count once.
pub(super) const SPARSE_MAX: usize = 8;

/// The most heads of a dense chunk: what the offset of a code word can reach.
pub(super) const DENSE_MAX: usize = 1 << OFFSET_BITS;

/// The bits of a code word's offset. The ten above it are a row of the maptable, or greater than
/// any row.
const OFFSET_BITS: u32 = 6;

/// The least code word that is a next hop.
const DIRECT: u32 = (ROWS as u32) << OFFSET_BITS;

/// The greatest next hop that a code word holds.
pub(super) const DIRECT_MAX: u32 = u16::MAX as u32 - DIRECT;

/// Which pointer belongs to each of 16 slots, or the one answer of them all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct CodeWord(u16);

impl CodeWord {
    /// Returns the code word of slots that all have one answer, or `None` if the answer does not
    /// fit.
    pub(super) fn direct(next_hop: NextHop) -> Option<Self> {
        (next_hop.0 <= DIRECT_MAX).then(|| Self((DIRECT + next_hop.0) as u16))
    }

    /// Returns the code word of a mask that has heads, whose pointers begin `offset` after their
    /// base index.
    pub(super) fn masked(mask: u16, offset: usize) -> Self {
        debug_assert!(offset < DENSE_MAX);
        Self(row_of(mask) << OFFSET_BITS | offset as u16)
    }

    /// Returns the answer, if it is direct.
    #[inline(always)]
    pub(super) fn next_hop(self) -> Option<u32> {
        u32::from(self.0).checked_sub(DIRECT)
    }

    /// Returns the answer if it is direct, without a branch; else any number.
    #[inline(always)]
    pub(super) fn next_hop_or_any(self) -> u32 {
        u32::from(self.0).wrapping_sub(DIRECT)
    }

    /// Returns the row of the maptable, if it is not direct; else a number greater than any row.
    #[inline(always)]
    pub(super) fn row(self) -> u16 {
        self.0 >> OFFSET_BITS
    }

    #[inline(always)]
    pub(super) fn offset(self) -> u32 {
        u32::from(self.0) % (1 << OFFSET_BITS)
    }
}

/// A dense or very dense chunk: 16 code words with 1 or 4 base indices. Level 1 is 256 of the
/// latter.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Coded<B, const BASES: usize> {
    pub(super) words: [CodeWord; WORDS],
    pub(super) bases: [B; BASES],
}

/// 9 to 64 heads.
pub(super) type Dense<B> = Coded<B, 1>;

/// 65 to 256 heads.
pub(super) type VeryDense<B> = Coded<B, 4>;

const _: () = assert!(size_of::<Dense<u16>>() == 34 && size_of::<VeryDense<u16>>() == 40);

impl<B: Base, const BASES: usize> Coded<B, BASES> {
    /// Returns the chunks of some heads, as many as `slots` need, and appends their pointers to
    /// `pointers`. Returns `None` if a base index does not fit.
    pub(super) fn of<P: Pointer>(
        heads: &[(u16, P)],
        slots: usize,
        pointers: &mut Array<P>,
    ) -> Option<Vec<Self>> {
        let mut rest = heads;
        let mut last = heads[0].1;
        let mut chunks = Vec::with_capacity(slots / SLOTS);
        for chunk in 0..slots / SLOTS {
            let mut coded = Self { words: [CodeWord::default(); WORDS], bases: [B::default(); BASES] };
            let mut base = pointers.len();
            for word in 0..WORDS {
                if word % (WORDS / BASES) == 0 {
                    base = pointers.len();
                    coded.bases[word * BASES / WORDS] = base.try_into().ok()?;
                }
                let end = (chunk * SLOTS + (word + 1) * MASK as usize) as u32;
                let inside;
                (inside, rest) = rest.split_at(rest.partition_point(|&(slot, _)| u32::from(slot) < end));
                let mask = inside.iter().fold(0, |mask, &(slot, _)| mask | 1 << (u32::from(slot) % MASK));
                last = inside.last().map_or(last, |&(_, pointer)| pointer);
                let direct = last.target().next_hop().and_then(CodeWord::direct);
                coded.words[word] = direct.filter(|_| mask <= 1).unwrap_or_else(|| {
                    let offset = pointers.len() - base;
                    for &(_, pointer) in inside {
                        pointers.push(pointer);
                    }
                    CodeWord::masked(mask, offset)
                });
            }
            chunks.push(coded);
        }
        Some(chunks)
    }

    /// Returns the one chunk of some heads, as [`Self::of`] does.
    pub(super) fn one<P: Pointer>(heads: &[(u16, P)], pointers: &mut Array<P>) -> Option<Self> {
        Some(Self::of(heads, SLOTS, pointers)?[0])
    }

    /// Iterates over the ranges of pointers of the code words that are not direct.
    pub(super) fn pointers(&self) -> impl Iterator<Item = Range<usize>> {
        let masked = (0..WORDS).filter(|&at| self.words[at].next_hop().is_none());
        masked.map(|at| {
            let base: u32 = self.bases[at * BASES / WORDS].into();
            let first = (base + self.words[at].offset()) as usize;
            first..first + mask_of(self.words[at].row()).count_ones() as usize
        })
    }

    /// Returns the base index of a slot.
    #[inline(always)]
    pub(super) fn base(&self, slot: u32) -> &B {
        &self.bases[slot as usize % SLOTS * BASES / SLOTS]
    }

    /// Returns the code word of a slot.
    #[inline(always)]
    pub(super) fn word(&self, slot: u32) -> &CodeWord {
        &self.words[slot as usize % SLOTS / MASK as usize]
    }

    /// Returns the answer of a slot, or else the index of its pointer.
    #[inline(always)]
    pub(super) fn find(&self, slot: u32, meter: &mut impl Meter) -> Result<u32, usize> {
        let word = meter.load(self.word(slot));
        if let Some(next_hop) = word.next_hop() {
            return Ok(next_hop);
        }
        let base: u32 = meter.load(self.base(slot)).into();
        let row = meter.load(&MAPTABLE.0[usize::from(word.row())]);
        Err((base + word.offset() + row.skip(slot)) as usize)
    }

    /// Does what [`Self::find`] does for batches, without a branch. Returns a flag, the answer if
    /// the flag is set, and the index of the pointer if it is not.
    #[inline(always)]
    pub(super) fn find_both(&self, slot: u32) -> (bool, u32, usize) {
        let word = *self.word(slot);
        let base: u32 = (*self.base(slot)).into();
        let row: Row = MAPTABLE.0[usize::from(word.row()).min(ROWS - 1)];
        let index = base + word.offset() + row.skip(slot);
        (word.next_hop().is_some(), word.next_hop_or_any(), index as usize)
    }

    /// Prefetches the lines that [`Self::find_both`] reads.
    #[inline(always)]
    pub(super) fn prefetch_for(&self, slot: u32) {
        prefetch(std::slice::from_ref(self.word(slot)), 0);
        prefetch(std::slice::from_ref(self.base(slot)), 0);
    }
}

/// 1 to 8 heads.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Sparse<P> {
    /// The slots of the heads in decreasing order. The last is 0, and so are the unused ones after
    /// it.
    pub(super) heads: [u8; SPARSE_MAX],
    /// The pointers in the same order.
    pub(super) pointers: [P; SPARSE_MAX],
}

const _: () = assert!(size_of::<Sparse<u16>>() == 24);

impl<P: Pointer> Sparse<P> {
    /// Returns the chunk of some heads, or `None` if there are too many.
    pub(super) fn of(heads: &[(u16, P)]) -> Option<Self> {
        let mut chunk = Self { heads: [0; SPARSE_MAX], pointers: [heads[0].1; SPARSE_MAX] };
        let merged = heads.chunk_by(|(_, one), (_, next)| one == next).map(|equal| equal[0]);
        let count = merged.clone().count();
        if count > SPARSE_MAX {
            return None;
        }
        for (at, (slot, pointer)) in (0..count).rev().zip(merged) {
            (chunk.heads[at], chunk.pointers[at]) = (slot as u8, pointer);
        }
        Some(chunk)
    }

    /// Returns the pointer of a slot: that of the first head which is not past it.
    #[inline(always)]
    pub(super) fn find(&self, slot: u32, meter: &mut impl Meter) -> P {
        let past =
            meter.load(&self.heads).iter().filter(|&&head| u32::from(head) > slot % SLOTS as u32).count();
        meter.load(&self.pointers[past % SPARSE_MAX])
    }

    /// Prefetches the one or two lines of the chunk.
    #[inline(always)]
    pub(super) fn prefetch_all(&self) {
        prefetch(&self.heads, 0);
        prefetch(&self.pointers, SPARSE_MAX - 1);
    }
}
