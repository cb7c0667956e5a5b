//! [`Width`]: the integer type in which an engine stores next-hop indices.

use crate::address::sealed::Sealed;
use crate::memory::Word;
use crate::{NextHop, NextHopSlice};
use std::fmt::{self, Debug};
use std::hash::Hash;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// An unsigned integer that holds next-hop indices: `u8`, `u16` or `u32`. Zero is "no route", so
/// that arrays may begin as `Array::zeroed`.
pub trait Width:
    Sealed
    + Copy
    + Default
    + Ord
    + Hash
    + Debug
    + FromBytes
    + IntoBytes
    + Immutable
    + Word<Plain = Self>
    + Send
    + Sync
    + 'static
{
    /// Its size.
    const BITS: WidthBits;
    /// The greatest index it holds.
    const MAX: u32;

    /// Narrows an index, which must be at most [`Self::MAX`].
    #[must_use]
    fn narrow(next_hop: NextHop) -> Self;

    /// Widens it back to an index.
    #[must_use]
    fn widen(self) -> NextHop;

    /// Returns the elements of a slice of this width, or `None` for another width.
    fn elements(slice: NextHopSlice<'_>) -> Option<&mut [Self]>;
}

macro_rules! width {
    ($int:ty, $bits:ident) => {
        impl Width for $int {
            const BITS: WidthBits = WidthBits::$bits;
            const MAX: u32 = <$int>::MAX as u32;

            #[inline(always)]
            fn narrow(next_hop: NextHop) -> Self {
                debug_assert!(next_hop.0 <= <Self as Width>::MAX);
                next_hop.0 as $int
            }

            #[inline(always)]
            fn widen(self) -> NextHop {
                NextHop(u32::from(self))
            }

            #[inline(always)]
            fn elements(slice: NextHopSlice<'_>) -> Option<&mut [Self]> {
                match slice {
                    NextHopSlice::$bits(elements) => Some(elements),
                    _ => None,
                }
            }
        }
    };
}

width!(u8, U8);
width!(u16, U16);
width!(u32, U32);

/// The size of a [`Width`], as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WidthBits {
    /// Up to 255 next hops.
    U8,
    /// Up to 65,535 next hops.
    U16,
    /// Up to 2^32 - 1 next hops.
    U32,
}

impl WidthBits {
    /// All sizes, narrowest first.
    pub const ALL: [Self; 3] = [Self::U8, Self::U16, Self::U32];

    /// Returns the number of bits.
    #[must_use]
    pub fn bits(self) -> u8 {
        match self {
            Self::U8 => 8,
            Self::U16 => 16,
            Self::U32 => 32,
        }
    }

    /// Returns the greatest index it holds.
    #[must_use]
    pub fn max(self) -> NextHop {
        NextHop(u32::MAX >> (32 - self.bits()))
    }

    /// Returns the narrowest size that holds an index.
    #[must_use]
    pub fn holding(next_hop: NextHop) -> Self {
        if next_hop <= Self::U8.max() {
            Self::U8
        } else if next_hop <= Self::U16.max() {
            Self::U16
        } else {
            Self::U32
        }
    }
}

impl fmt::Display for WidthBits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.bits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrowest_width_that_holds_an_index() {
        let widths = [0, 255, 256, 65_535, 65_536, u32::MAX].map(|i| WidthBits::holding(NextHop(i)).bits());
        assert_eq!(widths, [8, 8, 16, 16, 32, 32]);
    }
}
