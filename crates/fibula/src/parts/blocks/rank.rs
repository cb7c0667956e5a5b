//! Rank on bit maps: the number of bits set up to a position.
//!
//! A bit map says *which* positions hold something, and an array beside it holds *what*, without
//! gaps. The rank of a position is the index into the array (Degermark et al., "Small Forwarding
//! Tables for Fast Routing Lookups", SIGCOMM 1997; Jacobson, "Space-efficient Static Trees and
//! Graphs", FOCS 1989). Position 0 is the least significant bit of the first word.
//!
//! Everything counts with [`u64::count_ones`]: one instruction where a batch path is compiled for
//! an instruction set that has it, a dozen elsewhere.

/// Returns the number of bits of `word` set at positions 0 to `position`, inclusive. Uses only the
/// low six bits of `position`. O(1).
///
/// ```
/// use fibula::parts::blocks::rank::rank_through;
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
/// use fibula::parts::blocks::rank::rank_before;
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
/// use fibula::parts::blocks::rank::through;
/// assert!((through(0b100, 2) as i64) < 0);
/// assert!((through(0b100, 3) as i64) >= 0);
/// ```
#[must_use]
#[inline(always)]
pub fn through(word: u64, position: u32) -> u64 {
    // The low six bits of `!position` are 63 - position: one shift, and no mask of 64 cases.
    word.wrapping_shl(!position)
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
    }
}
