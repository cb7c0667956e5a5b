//! The maptable: for every bit mask that can occur, the number of heads before the one of a
//! position.
//!
//! A complete tree of height *n* that is a single leaf has one head, at position 0. Any other is
//! two trees of height *n* - 1 side by side. So there are *a(n)* = 1 + *a(n - 1)*² masks of 2^*n*
//! positions, *a(0)* = 1: for 16 positions 677, not 2^16. The paper counts 678, with the mask
//! without a head, which is within the range of an earlier head.
//!
//! The same recursion numbers them. A single head is the last. Any other mask is number *l* · *a(n
//! - 1)* + *r* if its halves are numbers *l* and *r*.

/// The positions of a bit mask. Position 0 is the least significant bit.
pub(super) const MASK: u32 = 16;

/// The height of the tree that a bit mask cuts.
const HEIGHT: u32 = MASK.ilog2();

/// The rows: all masks that have heads, that of a single head last.
pub(super) const ROWS: usize = masks(HEIGHT) as usize;

/// The bits of one position of a row.
const POSITION_BITS: u32 = u64::BITS / MASK;

/// Returns the number of masks of 2^`height` positions that have heads.
const fn masks(height: u32) -> u32 {
    if height == 0 { 1 } else { 1 + masks(height - 1).pow(2) }
}

/// Returns the mask of 2^`height` positions with this number.
const fn mask(number: u32, height: u32) -> u32 {
    if number + 1 == masks(height) {
        return 1;
    }
    let (left, right) = (number / masks(height - 1), number % masks(height - 1));
    mask(left, height - 1) | mask(right, height - 1) << (1 << (height - 1))
}

/// Returns the number of a mask of 2^`height` positions that has heads.
const fn number(mask: u32, height: u32) -> u32 {
    if mask == 1 {
        return masks(height) - 1;
    }
    let half = 1 << (height - 1);
    let (left, right) = (mask & ((1 << half) - 1), mask >> half);
    number(left, height - 1) * masks(height - 1) + number(right, height - 1)
}

/// Returns the row of a mask that has heads.
pub(super) fn row_of(mask: u16) -> u16 {
    number(mask.into(), HEIGHT) as u16
}

/// Returns the mask of a row.
pub(super) fn mask_of(row: u16) -> u16 {
    mask(row.into(), HEIGHT) as u16
}

/// One row: four bits per position, as in the paper, position 0 in the lowest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row(u64);

impl Row {
    /// Returns the number of heads before the head of a position, which is the head at the position
    /// or the last one before it. Only the low four bits of `position` count.
    #[inline(always)]
    pub(super) fn skip(self, position: u32) -> u32 {
        (self.0 >> (position % MASK * POSITION_BITS)) as u32 % MASK
    }
}

/// All rows, aligned to a cache line.
#[repr(align(64))]
pub(super) struct MapTable(pub(super) [Row; ROWS]);

/// The one maptable, which all levels of all tables share.
pub(super) static MAPTABLE: MapTable = MapTable(rows());

const fn rows() -> [Row; ROWS] {
    let mut rows = [Row(0); ROWS];
    let mut row = 0;
    while row < ROWS {
        let mask = mask(row as u32, HEIGHT);
        let mut position = 0;
        while position < MASK {
            let through = mask << (u32::BITS - 1 - position);
            rows[row].0 |= (through.count_ones() as u64 - 1) << (position * POSITION_BITS);
            position += 1;
        }
        row += 1;
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Returns whether a cut through a complete tree of 2^`height` positions has this mask, by the
    /// paper's definition: cut it in halves until one is a single leaf.
    fn is_of_a_complete_tree(mask: u32, height: u32) -> bool {
        let half = (1 << height) / 2;
        mask == 1
            || height > 0
                && is_of_a_complete_tree(mask & ((1 << half) - 1), height - 1)
                && is_of_a_complete_tree(mask >> half, height - 1)
    }

    #[test]
    fn there_are_678_bit_masks() {
        assert_eq!([0, 1, 2, 3, 4].map(masks), [1, 2, 5, 26, 677]);
        let found: BTreeSet<u16> =
            (0..=u16::MAX).filter(|&mask| is_of_a_complete_tree(mask.into(), HEIGHT)).collect();
        assert_eq!(found.len() + 1, 678); // and the mask without heads
        assert_eq!(found, (0..ROWS as u16).map(mask_of).collect());
        assert!(found.iter().all(|&mask| mask_of(row_of(mask)) == mask));
        assert_eq!((row_of(1), row_of(u16::MAX)), (676, 0));
    }

    #[test]
    fn a_position_skips_the_heads_before_its_own() {
        for (number, row) in MAPTABLE.0.iter().enumerate() {
            let mask = mask_of(number as u16);
            for position in 0..MASK {
                let heads = (0..=position).filter(|&at| mask >> at & 1 == 1).count() as u32;
                assert_eq!(row.skip(position), heads - 1);
            }
        }
        // The paper: 5.3 KB, for 676 rows.
        assert_eq!(size_of_val(&MAPTABLE.0), 5408 + 8);
    }
}
