//! Many lines of numbers compared, each for a key of its own.
#![allow(unsafe_code, reason = "bounds that are checked for all lanes at once")]

use super::{Isa, LINE};
use crate::memory::{Published, Shareable};
use zerocopy::{Immutable, IntoBytes};

/// The lanes in a row without a jump: the end of a longer loop is not foreseen.
const UNROLLED: usize = 8;

/// What one lane looks for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'l, const N: usize> {
    /// Where the line of each lane begins, in bytes.
    pub starts: &'l [u32; N],
    /// The numbers that count, as bits.
    pub among: &'l [u32; N],
    /// The keys.
    pub keys: &'l [u16; N],
}

/// Of the line of each lane the element that stands `behind` elements after the line's beginning and one more for each number before the
/// [first that is at least](Isa::first_at_least) the lane's key.
///
/// # Panics
/// If an element, or one that might be, is past the end, or a line does not begin at an element, or the lanes do not come in eights.
#[inline(always)]
pub(super) fn elements_of_first<I: Isa, T: Shareable + IntoBytes + Immutable, const N: usize>(
    isa: I,
    lines: &[Published<T>],
    wanted: Wanted<'_, N>,
    behind: usize,
    elements: &mut [T; N],
) {
    let size = size_of::<T>();
    let reach = LINE.max((behind + 1 + u32::BITS as usize) * size);
    let last = size_of_val(lines).checked_sub(reach).expect("room for a line");
    let last = u32::try_from(last).unwrap_or(u32::MAX);
    let mut are_inside = true;
    for &start in wanted.starts {
        are_inside &= start <= last && (start as usize).is_multiple_of(size);
    }
    assert!(are_inside, "a line past the end");
    // From memory: numbers that were made by vectors would be taken out of them one by one, which costs more.
    let Wanted { starts, among, keys } = std::hint::black_box(wanted);
    for lanes in (0..N).step_by(UNROLLED) {
        for lane in lanes..lanes + UNROLLED {
            // SAFETY: as was checked, the line begins at an element, and its bytes and all elements up to 32 past the first are in the
            // slice. Of the sets that there are the compiler knows that they answer no more.
            elements[lane] = unsafe {
                let line = lines.as_ptr().byte_add(starts[lane] as usize);
                let numbers = std::slice::from_raw_parts(line, LINE / size);
                let at = isa.first_at_least::<T>(numbers, among[lane], keys[lane]).min(u32::BITS);
                T::load(&*line.add(behind + at as usize))
            };
        }
    }
}
