//! The words of the structure and the buckets they lead to.

use crate::NextHop;
use crate::engine::Width;
use crate::memory::Shareable;
use std::sync::atomic::AtomicU32;

/// The unit of the pool that blocks are cut from: two words, so that a base of 26 bits reaches 512 MiB.
pub(super) type Cell = [u32; 2];

/// The bytes of a cell.
pub(super) const CELL_BYTES: usize = size_of::<Cell>();

/// The greatest number of cells: what a base can name.
pub(super) const CELLS_MAX: u64 = BASE as u64 + 1;

/// Where the code of a word begins: above the bits of a base.
pub(super) const CODE: u32 = 26;

/// The bits of a base.
pub(super) const BASE: u32 = (1 << CODE) - 1;

/// Words below this lead to arrays.
pub(super) const ARRAYS: u32 = 16 << CODE;

/// Words from here on lead to buckets, up to those that answer.
pub(super) const BUCKETS: u32 = ARRAYS + (1 << CODE);

/// The flag of an answer.
pub(super) const ANSWER: u32 = 1 << 31;

/// The keys a bucket may have: those that one comparison of 256 bits sees.
pub(super) const KEYS: usize = 16;

/// The longest bucket, in cells: a cache line.
pub(super) const BUCKET_CELLS_MAX: usize = 8;

/// The code of a word whose addresses have routes longer than the trie keeps. Those of buckets follow: this plus the
/// number of cells.
const BEYOND: u32 = ARRAYS >> CODE;

/// What a word says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// The answer of every address below.
    Answer(NextHop),
    /// 2^stride words from a base on.
    Array { stride: u8, base: usize },
    /// A bucket of so many cells from a base on.
    Bucket { cells: usize, base: usize },
    /// Longer routes are below; the cell at the base holds the next hop of addresses that none of them covers.
    Beyond { base: usize },
}

impl Word {
    #[inline(always)]
    pub(super) fn unpack(word: u32) -> Self {
        let (code, base) = (word >> CODE, (word & BASE) as usize);
        match code {
            _ if word & ANSWER != 0 => Self::Answer(NextHop(word ^ ANSWER)),
            ..BEYOND => Self::Array { stride: code as u8 + 1, base },
            BEYOND => Self::Beyond { base },
            _ => Self::Bucket { cells: (code - BEYOND) as usize, base },
        }
    }

    pub(super) fn pack(self) -> u32 {
        match self {
            Self::Answer(next_hop) => ANSWER | next_hop.0,
            Self::Array { stride, base } => u32::from(stride - 1) << CODE | base as u32,
            Self::Beyond { base } => BEYOND << CODE | base as u32,
            Self::Bucket { cells, base } => (BEYOND + cells as u32) << CODE | base as u32,
        }
    }

    /// The same with its block, if it has one, from another base on.
    pub(super) fn at(self, base: usize) -> Self {
        match self {
            Self::Answer(_) => self,
            Self::Array { stride, .. } => Self::Array { stride, base },
            Self::Bucket { cells, .. } => Self::Bucket { cells, base },
            Self::Beyond { .. } => Self::Beyond { base },
        }
    }

    /// Where its block begins and how many cells that has, if it has one.
    pub(super) fn block(self) -> Option<(usize, usize)> {
        match self {
            Self::Answer(_) => None,
            Self::Array { stride, base } => Some((base, array_cells(stride))),
            Self::Bucket { cells, base } => Some((base, cells)),
            Self::Beyond { base } => Some((base, 1)),
        }
    }
}

/// The stride and the first word of the array that a word leads to, if it does.
#[inline(always)]
pub(super) fn as_array(word: u32) -> Option<(u8, usize)> {
    (word < ARRAYS).then_some(((word >> CODE) as u8 + 1, (word & BASE) as usize * 2))
}

/// The slot of the root that an address chooses, and the 32 bits after those that do.
#[inline(always)]
pub(super) fn start(address: u128) -> (usize, u32) {
    let high = (address >> 64) as u64;
    ((high >> 48) as usize, (high >> 16) as u32)
}

/// The bits that choose from an array of a stride, and those left for the next.
#[inline(always)]
pub(super) fn step(rest: u32, stride: u8) -> (usize, u32) {
    ((rest >> (u32::BITS - u32::from(stride))) as usize, rest << stride)
}

/// The cells of an array.
pub(super) fn array_cells(stride: u8) -> usize {
    1 << (stride - 1)
}

/// The bytes of an answer in a bucket.
pub(super) const fn answer_bytes<W: Width>() -> usize {
    size_of::<W>()
}

/// How many keys a bucket of so many cells holds: one answer more than keys must fit.
pub(super) const fn keys_in<W: Width>(cells: usize) -> usize {
    let bytes = cells * CELL_BYTES;
    if bytes < answer_bytes::<W>() {
        return 0;
    }
    let keys = (bytes - answer_bytes::<W>()) / (size_of::<u16>() + answer_bytes::<W>());
    if keys < KEYS { keys } else { KEYS }
}

/// The fewest cells that hold so many keys, if any bucket does.
pub(super) fn cells_for<W: Width>(keys: usize) -> Option<usize> {
    (1..=BUCKET_CELLS_MAX).find(|&cells| keys_in::<W>(cells) >= keys)
}

/// The bits of the keys of a bucket of so many cells, of none in the first place: there answers no bucket.
pub(super) const fn key_masks<W: Width>() -> [u32; KEYS] {
    let mut masks = [0; KEYS];
    let mut cells = 1;
    while cells <= BUCKET_CELLS_MAX {
        masks[cells] = (1 << keys_in::<W>(cells)) - 1;
        cells += 1;
    }
    masks
}

/// Answer `at` of the bucket that ends before byte `end`: they stand last to first, none across two words.
#[inline(always)]
pub(super) fn bucket_answer<W: Width>(words: &[AtomicU32], end: usize, at: usize) -> u32 {
    let place = end - (at + 1) * answer_bytes::<W>();
    let word = u32::from_le(u32::load(&words[place / size_of::<u32>()]));
    word.wrapping_shr(u8::BITS.wrapping_mul(place as u32)) & W::MAX
}

/// Fills a bucket: the keys with the answer from each on, after the answer before the first. What room is left repeats
/// the greatest key and the last answer, so that it makes no difference.
pub(super) fn fill_bucket<W: Width>(
    bytes: &mut [u8],
    keys: impl ExactSizeIterator<Item = u16>,
    answer: impl Fn(usize) -> NextHop,
) {
    let room = keys_in::<W>(bytes.len() / CELL_BYTES);
    let last = keys.len();
    bytes.fill(0);
    let keys = keys.chain(std::iter::repeat(u16::MAX)).take(room);
    for (place, key) in bytes.as_chunks_mut().0.iter_mut().zip(keys) {
        *place = key.to_ne_bytes();
    }
    for (place, at) in bytes.rchunks_exact_mut(answer_bytes::<W>()).zip(0..=room) {
        place.copy_from_slice(&answer(at.min(last)).0.to_le_bytes()[..answer_bytes::<W>()]);
    }
}

/// What a bucket says: the answer before the first key, and each key with the answer from it on.
pub(super) fn bucket_pairs<W: Width>(cells: &[[AtomicU32; 2]]) -> impl Iterator<Item = (u16, u32)> {
    let words = cells.as_flattened();
    let key = |at: usize| {
        let [a, b, c, d] = u32::load(&words[at / 2]).to_ne_bytes();
        u16::from_ne_bytes([[a, b], [c, d]][at % 2])
    };
    let keys = (0..keys_in::<W>(cells.len())).map(key);
    let answer = |at| bucket_answer::<W>(words, size_of_val(cells), at);
    std::iter::once(0).chain(keys).enumerate().map(move |(at, key)| (key, answer(at)))
}
