//! The Hilbert curve: the order in which the cells of a square are visited.
//!
//! The curve begins in the upper left corner and ends in the upper right one. A square of 2^`order`
//! cells a side is divided into four, visited as `0` to `3`, each by a curve of the order below
//! that is reflected as its arrows say:
//!
//! ```text
//!   0 │ 3      0: down and to the right, transposed
//!   ──┼──      1, 2: as the whole
//!   1 │ 2      3: transposed along the other diagonal
//! ```
//!
//! So the cells of a prefix whose length is even, counted from the whole, are a square, and those
//! of any other prefix are two squares beside each other.

/// How a square's curve is reflected: bit 0 transposes it, bit 1 turns it by 180 degrees.
///
/// These four form a group in which each is its own inverse, and two together are their XOR.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Turn(u8);

impl Turn {
    /// Returns the quarter (column, row) that is visited as `digit`.
    fn quarter(self, digit: u8) -> (u8, u8) {
        let (column, row) = (digit >> 1, (digit >> 1) ^ (digit & 1));
        self.reflect(column, row)
    }

    /// Returns when a quarter is visited.
    pub(crate) fn digit(self, column: u8, row: u8) -> u8 {
        let (column, row) = self.reflect(column, row);
        column << 1 | (column ^ row)
    }

    fn reflect(self, column: u8, row: u8) -> (u8, u8) {
        let turned = self.0 >> 1;
        let (column, row) = (column ^ turned, row ^ turned);
        if self.0 & 1 == 1 { (row, column) } else { (column, row) }
    }

    /// Returns how the curve of the quarter that is visited as `digit` is reflected.
    pub(crate) fn within(self, digit: u8) -> Self {
        Self(self.0 ^ [1, 0, 0, 3][usize::from(digit)])
    }
}

/// Returns the column and row of the cell that is visited as `index`. O(`order`).
pub(crate) fn position(index: u32, order: u8, mut turn: Turn) -> (u32, u32) {
    let (mut x, mut y) = (0, 0);
    for step in (0..order).rev() {
        let digit = (index >> (2 * step) & 3) as u8;
        let (column, row) = turn.quarter(digit);
        (x, y) = (x << 1 | u32::from(column), y << 1 | u32::from(row));
        turn = turn.within(digit);
    }
    (x, y)
}

/// Returns when a cell is visited. O(`order`). The inverse of [`position`].
pub(crate) fn index(x: u32, y: u32, order: u8, mut turn: Turn) -> u32 {
    let mut index = 0;
    for step in (0..order).rev() {
        let digit = turn.digit((x >> step & 1) as u8, (y >> step & 1) as u8);
        index = index << 2 | u32::from(digit);
        turn = turn.within(digit);
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURNS: [Turn; 4] = [Turn(0), Turn(1), Turn(2), Turn(3)];

    #[test]
    fn a_curve_visits_every_cell_once_and_goes_to_a_neighbour() {
        for turn in TURNS {
            for order in 0..=6 {
                let cells: Vec<_> = (0..1 << (2 * order)).map(|at| position(at, order, turn)).collect();
                for (at, &(x, y)) in cells.iter().enumerate() {
                    assert!(x >> order == 0 && y >> order == 0);
                    assert_eq!(index(x, y, order, turn), at as u32);
                }
                assert!(
                    cells
                        .windows(2)
                        .all(|pair| { pair[0].0.abs_diff(pair[1].0) + pair[0].1.abs_diff(pair[1].1) == 1 })
                );
            }
        }
    }

    #[test]
    fn the_whole_begins_and_ends_at_the_top() {
        for order in 1..=12 {
            let last = (1_u32 << (2 * order)) - 1;
            assert_eq!(position(0, order, Turn::default()), (0, 0));
            assert_eq!(position(last, order, Turn::default()), ((1 << order) - 1, 0));
        }
    }

    #[test]
    fn a_quarter_of_a_curve_is_a_curve_of_the_order_below() {
        const ORDER: u8 = 5;
        let half = 1 << (ORDER - 1);
        for turn in TURNS {
            for digit in 0..4_u8 {
                let (column, row) = turn.quarter(digit);
                for at in 0..1 << (2 * (ORDER - 1)) {
                    let (x, y) = position(at, ORDER - 1, turn.within(digit));
                    let there = (x + u32::from(column) * half, y + u32::from(row) * half);
                    let index = u32::from(digit) << (2 * (ORDER - 1)) | at;
                    assert_eq!(position(index, ORDER, turn), there);
                }
            }
        }
    }
}
