//! [`InWindow`]: what of an address a window looks at, in each family.

use crate::Address;
use crate::blocks::linear_tree::halves;
use crate::engine::{Lookup, Persist};
use crate::engines::{intervals, terrace};
use std::fmt::Debug;
use std::ops::RangeInclusive;

/// A family whose tables have windows.
pub(crate) trait InWindow: Address {
    /// The lengths that the network may have.
    const NETWORKS: RangeInclusive<u8>;
    /// The lengths that a slot may have.
    const POSITIONS: RangeInclusive<u8>;
    /// Whether a cell may have bounds inside.
    const HAS_LONG: bool;
    /// The engine of the other routes.
    type Inner: Persist<Self, View: Lookup<Self, Width = u32> + Debug> + Debug;

    /// Returns the address with zeros behind it: in 128 bits, positions are those of both families.
    fn in_128(self) -> u128 {
        self.to_u128() << (128 - Self::BITS)
    }

    /// Returns the first `position` bits as a number.
    fn first_bits(self, position: u8) -> u64;

    /// Returns the 16 bits from `position` on.
    fn cell(self, position: u8) -> u16;

    /// Returns the 64 bits after a [cell](Self::cell).
    fn number(self, position: u8) -> u64;
}

impl InWindow for u32 {
    const NETWORKS: RangeInclusive<u8> = 0..=32;
    /// The cells of such slots are hosts, or less.
    const POSITIONS: RangeInclusive<u8> = 16..=32;
    const HAS_LONG: bool = false;
    type Inner = intervals::Intervals<Self, u32>;

    #[inline(always)]
    fn first_bits(self, position: u8) -> u64 {
        u64::from(self) << 32 >> (64 - position)
    }

    #[inline(always)]
    fn cell(self, position: u8) -> u16 {
        (u64::from(self) << position >> 16) as u16
    }

    #[inline(always)]
    fn number(self, _: u8) -> u64 {
        0
    }
}

impl InWindow for u128 {
    /// A provider gets a /29, which has 2^19 slots of 48 bits.
    const NETWORKS: RangeInclusive<u8> = 29..=48;
    const POSITIONS: RangeInclusive<u8> = 48..=64;
    const HAS_LONG: bool = true;
    type Inner = terrace::Terrace;

    #[inline(always)]
    fn first_bits(self, position: u8) -> u64 {
        halves(self).0 >> (64 - position)
    }

    #[inline(always)]
    fn cell(self, position: u8) -> u16 {
        // Put together of both halves by shifts of 64 bits: one of 128 bits costs more.
        let (network, host) = halves(self);
        let above = network << (position - 48);
        let below = host >> 1 >> (111 - position);
        (above | below) as u16
    }

    #[inline(always)]
    fn number(self, position: u8) -> u64 {
        (self as u64) << (position - 48)
    }
}
