//! [`View`]: which addresses a map shows, and where.

use crate::Error;
use crate::hilbert::{self, Turn};
use fibula::{Address, Prefix, Rib};

/// A block of addresses as a square of pixels, in the order of the Hilbert curve.
///
/// The square consists of cells. A cell is a prefix that is 2·n bits longer than the block. With a
/// pixel for each cell, n is the binary logarithm of the size. A block with fewer addresses than
/// that has cells of one address or, where the block's length is odd, of two; each is then a square
/// of several pixels.
///
/// ```
/// use fibula_map::View;
/// let view = View::new("10.0.0.0/8".parse::<fibula::Prefix<u32>>()?, 256)?;
/// assert_eq!(view.cell_len(), 24);
/// assert_eq!(view.prefix_at(0, 0).unwrap().to_string(), "10.0.0.0/24");
/// assert_eq!(view.prefix_at(255, 0).unwrap().to_string(), "10.255.255.0/24");
/// assert_eq!(view.prefix_at(256, 0), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View<A: Address> {
    block: Prefix<A>,
    size: u32,
    /// The binary logarithm of the cells a side.
    order: u8,
    turn: Turn,
}

/// A square of pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Square {
    pub(crate) x: u32,
    pub(crate) y: u32,
    pub(crate) side: u32,
}

/// Returns the block of IPv6 that a map of a table shows unless told otherwise: 2000::/3, or all
/// addresses if the table has something else alone. O(log n).
#[must_use]
pub fn unicast_block(rib: &Rib<u128>) -> Prefix<u128> {
    let unicast = Prefix::containing(0x2 << 124, 3);
    let is_there = rib.longest_cover(unicast).or(rib.covered(unicast).next()).is_some();
    if is_there || rib.is_empty() { unicast } else { Prefix::ALL }
}

/// The sizes of a map's side, in pixels.
pub const SIZES: std::ops::RangeInclusive<u32> = 1..=4096;

impl<A: Address> View<A> {
    /// Shows `block` as `size` times `size` pixels.
    ///
    /// # Errors
    /// If `size` is no power of two, or is not among [`SIZES`].
    pub fn new(block: Prefix<A>, size: u32) -> Result<Self, Error> {
        if !size.is_power_of_two() || !SIZES.contains(&size) {
            let most = SIZES.end();
            return Err(Error::new(format!("a map of {size} pixels: expected a power of two up to {most}")));
        }
        let order = (size.ilog2() as u8).min((A::BITS - block.len()) / 2);
        Ok(Self { block, size, order, turn: Turn::default() })
    }

    /// Returns the view of a part of this one, as large: a tile. At depth `zoom` there are
    /// 2^`zoom` tiles a side. Together they are the map of `zoom` times as many pixels, which a
    /// view of a tile's block alone need not be: its curve may be reflected. `None` if there is no
    /// such tile, or it would be less than an address.
    ///
    /// ```
    /// use fibula_map::View;
    /// let whole = View::new(fibula::Prefix::<u32>::ALL, 256)?;
    /// let tile = whole.tile(1, 1, 0).unwrap();
    /// assert_eq!(tile.block().to_string(), "192.0.0.0/2");
    /// assert_eq!(tile.prefix_at(255, 0).unwrap().to_string(), "255.255.192.0/18");
    /// assert_eq!(whole.tile(1, 2, 0), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn tile(&self, zoom: u8, x: u64, y: u64) -> Option<Self> {
        if zoom > (A::BITS - self.block.len()) / 2 || zoom > 63 || x >> zoom != 0 || y >> zoom != 0 {
            return None;
        }
        let (mut block, mut turn) = (self.block, self.turn);
        for step in (0..zoom).rev() {
            let digit = turn.digit((x >> step & 1) as u8, (y >> step & 1) as u8);
            let bits = A::from_bits(digit.into(), block.len(), 2);
            block = Prefix::containing(block.first() | bits, block.len() + 2);
            turn = turn.within(digit);
        }
        let view = Self::new(block, self.size).ok()?;
        Some(Self { turn, ..view })
    }

    /// Returns the block that is shown.
    #[must_use]
    pub fn block(&self) -> Prefix<A> {
        self.block
    }

    /// Returns the pixels a side.
    #[must_use]
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Returns the length of the prefix that a cell is.
    #[must_use]
    pub fn cell_len(&self) -> u8 {
        self.block.len() + 2 * self.order
    }

    /// Returns the prefix of the cell at a pixel, counted from the upper left corner; `None`
    /// outside the map. O(log size).
    #[must_use]
    pub fn prefix_at(&self, x: u32, y: u32) -> Option<Prefix<A>> {
        if x >= self.size || y >= self.size {
            return None;
        }
        let side = self.cell_side();
        let index = hilbert::index(x / side, y / side, self.order, self.turn);
        let bits = A::from_bits(index.into(), self.block.len(), 2 * self.order);
        Some(Prefix::containing(self.block.first() | bits, self.cell_len()))
    }

    /// Returns the pixels a side of a cell.
    pub(crate) fn cell_side(&self) -> u32 {
        self.size >> self.order
    }

    /// Returns the number of the cell with an address of the block, along the curve.
    pub(crate) fn cell_of(&self, address: A) -> u32 {
        address.bits(self.block.len(), 2 * self.order) as u32
    }

    /// Returns the pixels of the 4^`steps` cells from cell `first` on, which is a multiple of
    /// their number.
    pub(crate) fn square(&self, first: u32, steps: u8) -> Square {
        let (x, y) = hilbert::position(first >> (2 * steps), self.order - steps, self.turn);
        let side = self.cell_side() << steps;
        Square { x: x * side, y: y * side, side }
    }

    /// Returns the 4^`steps` parts of the block in order, with the pixels of each. `steps` is at
    /// most the map's own.
    pub(crate) fn parts(&self, steps: u8) -> impl Iterator<Item = (Prefix<A>, Square)> {
        let rest = self.order - steps;
        (0..1_u32 << (2 * steps)).map(move |part| {
            let bits = A::from_bits(part.into(), self.block.len(), 2 * steps);
            let prefix = Prefix::containing(self.block.first() | bits, self.block.len() + 2 * steps);
            (prefix, self.square(part << (2 * rest), rest))
        })
    }

    /// Returns how often the block is divided into four.
    pub(crate) fn order(&self) -> u8 {
        self.order
    }
}
