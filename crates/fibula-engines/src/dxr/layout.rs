//! The bits of the entries: the paper's 32-bit direct entry with 16- and 32-bit ranges, the two
//! wider layouts, and the paper's with its one range table or its search.

use super::plan::PlainRange;
use std::fmt::Debug;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// An unsigned integer that stores entries. Arithmetic is done in 64 bits.
pub(super) trait Word:
    Copy + Debug + Default + PartialEq + Send + Sync + FromBytes + IntoBytes + Immutable + 'static
{
    /// Its size in bits.
    const BITS: u32;
    /// Returns the low bits of a value.
    fn from_u64(value: u64) -> Self;
    /// Returns the value.
    fn to_u64(self) -> u64;
}

macro_rules! word {
    ($($int:ty)+) => {$(
        impl Word for $int {
            const BITS: u32 = <$int>::BITS;

            #[inline(always)]
            fn from_u64(value: u64) -> Self {
                value as $int
            }

            #[inline(always)]
            fn to_u64(self) -> u64 {
                u64::from(self)
            }
        }
    )+};
}

word!(u16 u32 u64);

/// The widths of the three kinds of entry.
pub(super) trait Layout: Send + Sync + 'static {
    /// The name of the layout in [`Statistics`](super::Statistics).
    const NAME: &'static str;
    /// The bits of a direct entry that count the granules of a chunk. One more bit is the format,
    /// the rest is the base.
    const SIZE_BITS: u32;
    /// An entry of the direct table.
    type Direct: Word;
    /// A range whose base is a multiple of 256: 8 bits of base, the rest next hop.
    type Short: Word;
    /// Any other range: 16 bits of base, the rest next hop.
    type Long: Word;

    /// Whether short ranges are stored among the long ones, two in a word. Bases then count words.
    const ONE_TABLE: bool = false;
    /// Whether the search tests for a hit, and ends at one.
    const ENDS_AT_HIT: bool = false;

    /// The bits of a direct entry that hold a base or a next hop.
    const BASE_BITS: u32 = Self::Direct::BITS - Self::SIZE_BITS - 1;
    /// The most granules of one chunk.
    const SIZE_MAX: u64 = (1 << Self::SIZE_BITS) - 1;
    /// The most granules of one range table.
    const BASE_MAX: u64 = 1 << Self::BASE_BITS;
    /// The greatest next hop that every entry except a short range can hold.
    const NEXT_HOP_MAX: u64 = {
        let range_bits = Self::Long::BITS - LONG_BASE_BITS;
        low_bits(if range_bits < Self::BASE_BITS { range_bits } else { Self::BASE_BITS })
    };
}

/// The paper's layout: 32-bit direct entries (19 + 12 + 1), ranges of 16 and 32 bits.
#[derive(Debug)]
pub(super) struct Paper;

impl Layout for Paper {
    const NAME: &'static str = "paper";
    const SIZE_BITS: u32 = 12;
    type Direct = u32;
    type Short = u16;
    type Long = u32;
}

/// The paper's layout with what it prints of the table and of the search.
#[derive(Debug)]
pub(super) struct Printed<const ONE_TABLE: bool, const ENDS_AT_HIT: bool>;

impl<const ONE_TABLE: bool, const ENDS_AT_HIT: bool> Layout for Printed<ONE_TABLE, ENDS_AT_HIT> {
    const NAME: &'static str = match (ONE_TABLE, ENDS_AT_HIT) {
        (false, false) => Paper::NAME,
        (true, false) => "paper, one table",
        (false, true) => "paper, ends at a hit",
        (true, true) => "paper, one table, ends at a hit",
    };
    const SIZE_BITS: u32 = Paper::SIZE_BITS;
    type Direct = <Paper as Layout>::Direct;
    type Short = <Paper as Layout>::Short;
    type Long = <Paper as Layout>::Long;
    const ONE_TABLE: bool = ONE_TABLE;
    const ENDS_AT_HIT: bool = ENDS_AT_HIT;
}

/// For next hops past 65,535: the paper's direct entries, ranges of 32 and 64 bits.
#[derive(Debug)]
pub(super) struct WideRanges;

impl Layout for WideRanges {
    const NAME: &'static str = "wide ranges";
    const SIZE_BITS: u32 = 12;
    type Direct = u32;
    type Short = u32;
    type Long = u64;
}

/// For everything else: 64-bit direct entries (39 + 24 + 1), ranges of 32 and 64 bits. An IPv4
/// table cannot exceed it: 2^32 ranges, 2^16 of them in a chunk, next hops of 32 bits.
#[derive(Debug)]
pub(super) struct Wide;

impl Layout for Wide {
    const NAME: &'static str = "wide";
    const SIZE_BITS: u32 = 24;
    type Direct = u64;
    type Short = u32;
    type Long = u64;
}

/// The base bits of a short range.
pub(super) const SHORT_BASE_BITS: u32 = 8;
/// The base bits of a long range.
pub(super) const LONG_BASE_BITS: u32 = 16;

const fn low_bits(count: u32) -> u64 {
    (1 << count) - 1
}

/// Returns the greatest next hop of a range of this width.
pub(super) const fn next_hop_max<T: Word>(base_bits: u32) -> u64 {
    low_bits(T::BITS - base_bits)
}

/// Returns the entry of a range. The base is in the high bits, so whole entries compare like their
/// bases.
#[inline(always)]
pub(super) fn range_entry<T: Word>(base_bits: u32, range: PlainRange) -> T {
    let base = u64::from(range.base) >> (LONG_BASE_BITS - base_bits);
    T::from_u64(base << (T::BITS - base_bits) | u64::from(range.next_hop))
}

/// Returns the range of an entry.
#[inline(always)]
pub(super) fn plain_range<T: Word>(base_bits: u32, entry: T) -> PlainRange {
    let base = (entry.to_u64() >> (T::BITS - base_bits)) << (LONG_BASE_BITS - base_bits);
    PlainRange { base: base as u16, next_hop: (entry.to_u64() & next_hop_max::<T>(base_bits)) as u32 }
}

/// Returns the greatest entry whose range can contain an address, given its offset from the start
/// of its chunk.
#[inline(always)]
pub(super) fn probe<T: Word>(base_bits: u32, offset: u32) -> u64 {
    u64::from(offset) >> (LONG_BASE_BITS - base_bits) << (T::BITS - base_bits) | next_hop_max::<T>(base_bits)
}

/// The base-two logarithm of the short ranges in a word of the one range table.
const SHORTS_LOG2: u32 = 1;

/// Where a chunk is stored: a run of ranges of one format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    /// Whether its ranges are long.
    pub(super) long: bool,
    /// The index of its first range, among all of its format.
    pub(super) start: usize,
    /// The number of its ranges, padding included.
    pub(super) len: usize,
}

/// The elements of a range table that a chunk occupies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Whether the table is that of long ranges, which holds all where there is one.
    pub(super) long: bool,
    pub(super) start: usize,
    pub(super) len: usize,
}

impl Chunk {
    /// Returns the elements that it occupies.
    pub(super) fn place<L: Layout>(self) -> Place {
        let log2 = shorts_log2::<L>(self.long);
        Place {
            long: self.long || L::ONE_TABLE,
            start: self.start >> log2,
            len: self.len.next_multiple_of(1 << log2) >> log2,
        }
    }
}

/// Returns the base-two logarithm of the ranges of a format in an element of their table.
#[inline(always)]
pub(super) const fn shorts_log2<L: Layout>(long: bool) -> u32 {
    if L::ONE_TABLE && !long { SHORTS_LOG2 } else { 0 }
}

/// The meaning of a direct entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// One answer for the whole chunk.
    NextHop(u32),
    /// The ranges to search.
    Chunk(Chunk),
}

/// Returns the fields of a direct entry: base or next hop; granules (0: it is a next hop); format
/// (1: long).
#[inline(always)]
pub(super) fn fields<L: Layout>(entry: L::Direct) -> (u64, u64, u64) {
    let entry = entry.to_u64();
    (entry >> (L::SIZE_BITS + 1), (entry >> 1) & L::SIZE_MAX, entry & 1)
}

/// Returns the direct entry of a slot. The caller has checked the slot's numbers against the
/// layout's limits.
#[inline(always)]
pub(super) fn direct_entry<L: Layout>(granule_log2: u32, slot: Slot) -> L::Direct {
    let (base, size, long) = match slot {
        Slot::NextHop(next_hop) => (u64::from(next_hop), 0, 0),
        Slot::Chunk(chunk) => {
            let base = chunk.start >> shorts_log2::<L>(chunk.long) >> granule_log2;
            (base as u64, (chunk.len >> granule_log2) as u64, u64::from(chunk.long))
        }
    };
    debug_assert!(base < L::BASE_MAX && size <= L::SIZE_MAX);
    L::Direct::from_u64(base << (L::SIZE_BITS + 1) | size << 1 | long)
}

/// Returns the slot of a direct entry.
#[inline(always)]
pub(super) fn slot<L: Layout>(granule_log2: u32, entry: L::Direct) -> Slot {
    match fields::<L>(entry) {
        (next_hop, 0, _) => Slot::NextHop(next_hop as u32),
        (base, size, long) => Slot::Chunk(Chunk {
            long: long == 1,
            start: (base as usize) << granule_log2 << shorts_log2::<L>(long == 1),
            len: (size as usize) << granule_log2,
        }),
    }
}
