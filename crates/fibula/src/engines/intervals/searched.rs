//! [`Searched`]: how a search ends in each family.

use crate::Address;
use crate::arch::{GROUP, Isa, Sets};
use crate::engine::Meter;

/// A family whose intervals are searched.
pub(crate) trait Searched: Address {
    /// The starts that are compared at once, a power of two: as many intervals end a search. 0 if
    /// it ends with one interval.
    const COMPARED: usize;

    /// The instruction sets that the comparison gains from.
    const SETS: Sets;

    /// Returns the distance from `origin`, without the last `shift` bits.
    fn behind(self, origin: Self, shift: u32) -> usize;

    /// Returns how many of the first [`COMPARED`](Self::COMPARED) starts are at or before an
    /// address.
    fn count<I: Isa>(isa: I, starts: &[Self], address: Self, meter: &mut impl Meter) -> usize;
}

impl Searched for u32 {
    const COMPARED: usize = GROUP;
    const SETS: Sets = Sets::All;

    #[inline(always)]
    fn behind(self, origin: Self, shift: u32) -> usize {
        ((self - origin) >> shift) as usize
    }

    #[inline(always)]
    fn count<I: Isa>(isa: I, starts: &[u32], address: u32, meter: &mut impl Meter) -> usize {
        let line = starts.first_chunk().expect("starts behind the last interval");
        isa.count_not_above(&meter.load(line), address) as usize
    }
}

/// 128 bits are compared by more than one instruction, and vectors have no numbers of them.
impl Searched for u128 {
    const COMPARED: usize = 0;
    const SETS: Sets = Sets::Baseline;

    #[inline(always)]
    fn behind(self, origin: Self, shift: u32) -> usize {
        ((self - origin) >> shift) as usize
    }

    #[inline(always)]
    fn count<I: Isa>(_: I, _: &[u128], _: u128, _: &mut impl Meter) -> usize {
        0
    }
}
