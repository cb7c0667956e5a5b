//! Rank on bit maps: the number of bits set up to a position.
//!
//! A bit map says *which* positions hold something, and an array beside it holds *what*, without
//! gaps. The rank of a position is the index into the array (Degermark et al., "Small Forwarding
//! Tables for Fast Routing Lookups", SIGCOMM 1997; Jacobson, "Space-efficient Static Trees and
//! Graphs", FOCS 1989). Position 0 is the least significant bit of the first word.
//!
//! Everything counts with [`u64::count_ones`]: one instruction where a batch path is compiled for
//! an instruction set that has it, a dozen elsewhere.

use crate::memory::{Array, Pages};

/// Returns the number of bits of `word` set at positions 0 to `position`, inclusive. Uses only the
/// low six bits of `position`. O(1).
///
/// ```
/// use fibula::blocks::rank::rank_through;
/// assert_eq!(rank_through(0b10_0111, 2), 3);
/// assert_eq!(rank_through(0b10_0111, 4), 3);
/// assert_eq!(rank_through(0b10_0111, 5), 4);
/// assert_eq!(rank_through(u64::MAX, 63), 64);
/// ```
#[must_use]
#[inline(always)]
pub fn rank_through(word: u64, position: u32) -> u32 {
    through(word, position).count_ones()
}

/// Returns the number of bits of `word` set before `position`, exclusive. Uses only the low six
/// bits of `position`. O(1).
///
/// ```
/// use fibula::blocks::rank::rank_before;
/// assert_eq!(rank_before(0b10_0111, 2), 2);
/// assert_eq!(rank_before(u64::MAX, 0), 0);
/// ```
#[must_use]
#[inline(always)]
pub fn rank_before(word: u64, position: u32) -> u32 {
    (through(word, position) << 1).count_ones()
}

/// Returns `word` shifted so that the bit at `position` is the most significant and all later ones
/// are gone. The sign says whether that bit is set; the population count is [`rank_through`]. Uses
/// only the low six bits of `position`. O(1).
///
/// ```
/// use fibula::blocks::rank::through;
/// assert!((through(0b100, 2) as i64) < 0);
/// assert!((through(0b100, 3) as i64) >= 0);
/// ```
#[must_use]
#[inline(always)]
pub fn through(word: u64, position: u32) -> u64 {
    // The low six bits of `!position` are 63 - position: one shift, and no mask of 64 cases.
    word.wrapping_shl(!position)
}

/// A bit map of any length with counts that make its rank O(1).
///
/// Each 64-bit word is stored beside the number of bits set before it, so that one memory access
/// suffices. That takes 2 bits of memory for each bit of the map. Counts in an array of their own
/// would take 1.5 bits and a second cache miss.
///
/// ```
/// use fibula::blocks::rank::RankBitmap;
/// use fibula::memory::Pages;
/// let starts = RankBitmap::new((0..1000).map(|position| position % 10 == 3), Pages::Small);
/// assert_eq!((starts.len(), starts.count_ones()), (1000, 100));
/// assert!(starts.get(13) && !starts.get(14));
/// assert_eq!((starts.rank_before(13), starts.rank_through(13)), (1, 2));
/// ```
#[derive(Clone, Debug)]
pub struct RankBitmap {
    blocks: Array<Block>,
    len: usize,
}

#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(16))]
struct Block {
    word: u64,
    before: u64,
}

impl RankBitmap {
    /// Creates the bit map of `bits`, from position 0 on. O(n).
    #[must_use]
    pub fn new(bits: impl IntoIterator<Item = bool>, pages: Pages) -> Self {
        let mut blocks: Array<Block> = Array::new(pages);
        let mut block = Block::default();
        let mut len = 0;
        for bit in bits {
            block.word |= u64::from(bit) << (len % 64);
            len += 1;
            if len % 64 == 0 {
                blocks.push(block);
                block = Block { word: 0, before: block.before + u64::from(block.word.count_ones()) };
            }
        }
        // One block more than the bits fill, so that it holds the count of all of them.
        blocks.push(block);
        blocks.shrink_to_fit();
        Self { blocks, len }
    }

    /// Returns the number of bits.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no bits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the bit at `position`.
    ///
    /// # Panics
    /// If `position` is so far past [`Self::len`] that it has no word.
    #[must_use]
    #[inline(always)]
    pub fn get(&self, position: usize) -> bool {
        self.blocks[position / 64].word >> (position % 64) & 1 == 1
    }

    /// Returns the number of bits set at positions 0 to `position`, inclusive. O(1), one access.
    ///
    /// # Panics
    /// As [`Self::get`].
    #[must_use]
    #[inline(always)]
    pub fn rank_through(&self, position: usize) -> u64 {
        let block = self.blocks[position / 64];
        block.before + u64::from(rank_through(block.word, position as u32))
    }

    /// Returns the number of bits set before `position`, exclusive. O(1), one access.
    ///
    /// # Panics
    /// As [`Self::get`].
    #[must_use]
    #[inline(always)]
    pub fn rank_before(&self, position: usize) -> u64 {
        let block = self.blocks[position / 64];
        block.before + u64::from(rank_before(block.word, position as u32))
    }

    /// Returns the number of bits set in all. O(1).
    #[must_use]
    pub fn count_ones(&self) -> u64 {
        self.rank_before(self.len)
    }

    /// Returns the bytes it occupies.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.blocks.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_words_ranks_are_those_of_a_count(word: u64, position in 0..64_u32) {
            let before = (0..position).filter(|&at| word >> at & 1 == 1).count() as u32;
            let here = word >> position & 1;
            prop_assert_eq!(rank_before(word, position), before);
            prop_assert_eq!(rank_through(word, position), before + here as u32);
            prop_assert_eq!(through(word, position) >> 63, here);
        }

        #[test]
        fn a_bitmaps_ranks_are_those_of_a_count(bits in proptest::collection::vec(any::<bool>(), 0..400)) {
            let bitmap = RankBitmap::new(bits.iter().copied(), Pages::Small);
            let mut set = 0;
            for (position, &bit) in bits.iter().enumerate() {
                prop_assert_eq!(bitmap.rank_before(position), set);
                set += u64::from(bit);
                prop_assert_eq!(bitmap.rank_through(position), set);
                prop_assert_eq!(bitmap.get(position), bit);
            }
            prop_assert_eq!((bitmap.len(), bitmap.count_ones()), (bits.len(), set));
        }
    }

    #[test]
    fn whole_words_and_nothing_at_all() {
        for len in [0, 1, 63, 64, 65, 128] {
            let bitmap = RankBitmap::new((0..len).map(|_| true), Pages::Small);
            assert_eq!((bitmap.len(), bitmap.count_ones()), (len, len as u64));
            assert_eq!(bitmap.is_empty(), len == 0);
            assert_eq!(bitmap.bytes(), (len / 64 + 1) * 16);
        }
    }
}
