//! Many lines of numbers compared, each with a key of its own: the search in all of them at once,
//! and a step down a tree of such lines.
#![allow(unsafe_code, reason = "bounds that are checked for all lanes at once")]

use super::{Isa, KEYS, LINE};
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
    let reach = behind.checked_add(1 + u32::BITS as usize).and_then(|reach| reach.checked_mul(size));
    let last = reach.and_then(|reach| size_of_val(lines).checked_sub(reach.max(LINE)));
    let last = last.expect("room for a line");
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

/// The node of a tree that each lane has reached: its index in the nodes of its level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reached<const N: usize>(
    /// The offsets in numbers, so that one addressing mode reaches a node. They are multiples of
    /// [`KEYS`].
    [u32; N],
);

impl<const N: usize> Reached<N> {
    /// All lanes at the root.
    pub const ROOT: Self = Self([0; N]);

    /// Returns the index of the node of a lane.
    #[must_use]
    #[inline(always)]
    pub fn index(&self, lane: usize) -> u32 {
        self.0[lane] / KEYS as u32
    }
}

/// The roots of trees in one array of nodes, one for each lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roots<const N: usize>(
    /// The offsets in numbers, as in [`Reached`].
    [u32; N],
);

impl<const N: usize> Roots<N> {
    /// The roots at these indices.
    #[must_use]
    #[inline(always)]
    pub fn at(indices: &[u32; N]) -> Self {
        // Of a forged index that is too large, the offset is still a multiple of a line.
        let mut offsets = [0; N];
        for (offset, index) in offsets.iter_mut().zip(indices) {
            *offset = index.wrapping_mul(KEYS as u32);
        }
        Self(offsets)
    }
}

/// Returns the offset of the child that `key` takes from a node, in the numbers of the child's
/// level. The node is at offset `at` of its level, which begins at `level` of `numbers`. All
/// offsets are multiples of [`KEYS`].
#[inline(always)]
fn child<I: Isa>(isa: I, numbers: &[u64], level: u32, at: u32, key: u64) -> u32 {
    let node = level.wrapping_add(at);
    debug_assert!((node as usize).is_multiple_of(KEYS) && numbers.len().is_multiple_of(KEYS));
    assert!((node as usize) < numbers.len(), "a node past the end");
    // SAFETY: offset and length are multiples of a line, so that a line is left.
    let node = unsafe { &*numbers.as_ptr().add(node as usize).cast::<[u64; KEYS]>() };
    // Both summands are multiples of a line, also modulo 2^32.
    at.wrapping_mul(1 + KEYS as u32).wrapping_add(isa.count_below(node, key) * KEYS as u32)
}

/// Takes each lane from its node of `level` to a child. The nine children of the node at index *n*
/// are at index 9 *n* to 9 *n* + 8 of the next level. The lane takes the child that has as many
/// before it as there are numbers in the node [below](Isa::count_below) the lane's key.
///
/// # Panics
/// If a node is past the end of the level, or the number of lanes is not a multiple of eight.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "one index runs through two arrays of one block")]
pub(super) fn step_down<I: Isa, const N: usize>(
    isa: I,
    level: &[[u64; KEYS]],
    keys: &[u64; N],
    reached: &mut Reached<N>,
) {
    let numbers = level.as_flattened();
    for lanes in (0..N).step_by(UNROLLED) {
        for lane in lanes..lanes + UNROLLED {
            reached.0[lane] = child(isa, numbers, 0, reached.0[lane], keys[lane]);
        }
    }
}

/// As [`step_down`], where each lane is in a tree of its own: its level begins `above` nodes after
/// its root.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "one index runs through arrays of one block")]
pub(super) fn step_down_from<I: Isa, const N: usize>(
    isa: I,
    nodes: &[[u64; KEYS]],
    (roots, above): (&Roots<N>, u32),
    keys: &[u64; N],
    reached: &mut Reached<N>,
) {
    let (numbers, above) = (nodes.as_flattened(), above.wrapping_mul(KEYS as u32));
    for lanes in (0..N).step_by(UNROLLED) {
        for lane in lanes..lanes + UNROLLED {
            let level = roots.0[lane].wrapping_add(above);
            reached.0[lane] = child(isa, numbers, level, reached.0[lane], keys[lane]);
        }
    }
}

/// As [`step_down_from`], only for the lanes in `going`. The root of every lane is a node.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "one index runs through arrays of one block")]
pub(super) fn step_some_down_from<I: Isa, const N: usize>(
    isa: I,
    nodes: &[[u64; KEYS]],
    (roots, above): (&Roots<N>, u32),
    going: &[bool; N],
    keys: &[u64; N],
    reached: &mut Reached<N>,
) {
    let (numbers, above) = (nodes.as_flattened(), above.wrapping_mul(KEYS as u32));
    for lanes in (0..N).step_by(UNROLLED) {
        for lane in lanes..lanes + UNROLLED {
            let at = reached.0[lane];
            // A line that is loaded already takes the place of one that is not needed.
            let (level, from) = if going[lane] { (above, at) } else { (0, 0) };
            let below = child(isa, numbers, roots.0[lane].wrapping_add(level), from, keys[lane]);
            reached.0[lane] = if going[lane] { below } else { at };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::{Kernel, Level, dispatch};

    /// Walks down trees of one and two levels at different roots.
    struct Walks<'n>(&'n [[u64; KEYS]], [u32; 8], [bool; 8], [u64; 8]);
    impl Kernel for Walks<'_> {
        type Output = [u32; 8];
        #[inline(always)]
        fn run<I: Isa>(self, isa: I) -> [u32; 8] {
            let Self(nodes, roots, going, keys) = self;
            let (roots, mut reached) = (Roots::at(&roots), Reached::ROOT);
            isa.step_down_from(nodes, &roots, 0, &keys, &mut reached);
            isa.step_some_down_from(nodes, (&roots, 1), &going, &keys, &mut reached);
            std::array::from_fn(|lane| reached.index(lane))
        }
    }

    #[test]
    fn each_lane_goes_down_its_own_tree() {
        // A tree of two levels whose intervals end at 9, 19, 29 and so on, behind one of one level
        // whose intervals end at 90, 180 and so on.
        let node = |at: u64, span: u64| std::array::from_fn(|key| (at * 9 + key as u64 + 1) * span - 1);
        let roots = [node(0, 90); 2].into_iter();
        let nodes: Vec<[u64; KEYS]> = roots.chain((0..9).map(|at| node(at, 10))).collect();
        let keys = [0, 9, 10, 89, 90, 405, 719, 809];
        let deep = [true, false, true, true, false, true, false, true];
        let walk = |level, len| dispatch(level, Walks(&nodes[..len], deep.map(u32::from), deep, keys));
        for &level in Level::available() {
            let right: [u32; 8] =
                std::array::from_fn(|lane| keys[lane] as u32 / if deep[lane] { 10 } else { 90 });
            assert_eq!(walk(level, 11), right, "{level}");
            assert!(std::panic::catch_unwind(|| walk(level, 10)).is_err(), "{level}");
        }
    }
}
