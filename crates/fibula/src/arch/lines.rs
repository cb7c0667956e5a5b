//! Many lines of numbers compared, each with a key of its own.
#![allow(unsafe_code, reason = "bounds that are checked for all lanes at once")]

use super::{Isa, LINE};
use crate::memory::{Published, Shareable};
use zerocopy::{Immutable, IntoBytes};

/// The number of lanes in a row without a jump, because the end of a longer loop is mispredicted.
const UNROLLED: usize = 8;

/// The search of all lanes.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'l, const N: usize> {
    /// The byte offset of each lane's line.
    pub starts: &'l [u32; N],
    /// For each lane, a bit for each number that counts.
    pub among: &'l [u32; N],
    /// The key of each lane.
    pub keys: &'l [u16; N],
}

/// Loads, for each lane, one element. Its offset from the start of the lane's line, in elements, is
/// `behind` plus the index of the [first number that is at least](Isa::first_at_least) the lane's
/// key.
///
/// # Panics
/// If an element that might be loaded is past the end, a line does not begin at an element, or the
/// number of lanes is not a multiple of eight.
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
    // Read from memory: extracting numbers from vector registers one by one costs more.
    let Wanted { starts, among, keys } = std::hint::black_box(wanted);
    for lanes in (0..N).step_by(UNROLLED) {
        for lane in lanes..lanes + UNROLLED {
            // SAFETY: as was checked, the line begins at an element, and its bytes and all elements
            // up to 32 past the first are in the slice. The compiler knows the instruction sets,
            // none of which returns more than 32.
            elements[lane] = unsafe {
                let line = lines.as_ptr().byte_add(starts[lane] as usize);
                let numbers = std::slice::from_raw_parts(line, LINE / size);
                let at = isa.first_at_least::<T>(numbers, among[lane], keys[lane]).min(u32::BITS);
                T::load(&*line.add(behind + at as usize))
            };
        }
    }
}
