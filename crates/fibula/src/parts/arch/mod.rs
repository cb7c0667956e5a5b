//! Instruction sets: detected once, chosen in one place, and passed on as a type.
//!
//! An engine writes its batch path once, generic over [`Isa`] and inlined. [`dispatch`] compiles
//! that one body for every instruction set and calls the copy for a [`Level`] this processor has.
//! What the compiler does with the extra instructions (population counts, shifts, vectors) comes
//! for free. [`Compiled`] is the same for a function that is called for one address at a time: its
//! copy is chosen once, when a table is built. A step that needs hand-written vector code becomes a
//! method of [`Isa`] with one implementation a file.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod bytes;
mod compiled;
mod crc32;
mod level;
mod lines;
#[cfg(target_arch = "aarch64")]
mod neon;
mod prefetch;
#[cfg(test)]
mod tests;

#[cfg(target_arch = "x86_64")]
pub use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub use avx512::Avx512;
pub use bytes::{bytes_in, count_up_to, joined};
pub use compiled::{Compiled, Function};
pub use crc32::crc32c;
pub use level::Level;
use level::Set;
pub use lines::{Reached, Roots, Wanted};
#[cfg(target_arch = "aarch64")]
pub use neon::Neon;
pub use prefetch::prefetch;

use crate::address::sealed::Sealed;
use crate::memory::{Published, Shareable};
use zerocopy::{Immutable, IntoBytes};

/// The number of addresses an instruction set takes apart at once: the 32-bit lanes of the widest
/// registers.
pub const GROUP: usize = 16;

/// The bytes of a line of numbers that are compared at once.
pub const LINE: usize = 64;

/// The 64-bit numbers of a line.
pub const KEYS: usize = LINE / size_of::<u64>();

/// The 16-bit numbers of a quarter of a line.
pub const SHORT_KEYS: usize = LINE / 4 / size_of::<u16>();

/// Returns the index of the first number that is at least `key`, among those whose bit is set in
/// `among`. A line holds 32 numbers of 16 bits, in the order of their bytes. Returns 32 if no
/// number is.
///
/// # Panics
/// If a number that is looked at is past the end of the line.
#[must_use]
#[inline(always)]
pub(crate) fn first_at_least<T: Shareable + IntoBytes + Immutable>(
    line: &[Published<T>],
    mut among: u32,
    key: u16,
) -> u32 {
    let byte = |at: usize| T::load(&line[at / size_of::<T>()]).as_bytes()[at % size_of::<T>()];
    while among != 0 {
        let at = among.trailing_zeros();
        if u16::from_ne_bytes([byte(2 * at as usize), byte(2 * at as usize + 1)]) >= key {
            return at;
        }
        among &= among - 1;
    }
    u32::BITS
}

/// The architecture's baseline and no instruction beyond it. It is always compiled and tested.
#[derive(Clone, Copy, Debug)]
pub struct Scalar;

impl Sealed for Scalar {}

impl Isa for Scalar {
    const NAME: &'static str = "scalar";
    const IS_RARE: bool = cfg!(target_arch = "x86_64");

    #[inline(always)]
    fn level(self) -> Level {
        Level::SCALAR
    }
}

/// An instruction set as a type, for which a batch path is compiled.
pub trait Isa: Sealed + Copy + Send + Sync + 'static {
    /// Returns the set as a value. [`dispatch`] runs a kernel for it out of line, where code that
    /// is not always needed would cost the code around it registers.
    fn level(self) -> Level;

    /// The name, as in configurations.
    const NAME: &'static str;

    /// Whether other sets are compiled for this architecture, which nearly all its processors have.
    const IS_RARE: bool = false;

    /// Returns the [CRC-32C](crc32c) of a key.
    #[inline(always)]
    fn crc32c(self, key: u64) -> u32 {
        crc32c(key)
    }

    /// Returns the index of the [first number of a line that is at least `key`](first_at_least),
    /// among those in `among`. Others may write the line meanwhile: each element is read by itself,
    /// as by a load of its own.
    ///
    /// # Panics
    /// If the line does not have [`LINE`] bytes.
    #[inline(always)]
    fn first_at_least<T>(self, line: &[Published<T>], among: u32, key: u16) -> u32
    where
        T: Shareable + IntoBytes + Immutable,
    {
        assert_eq!(size_of_val(line), LINE, "bytes of a line");
        first_at_least::<T>(line, among, key)
    }

    /// Loads, for each lane, one element. Its offset from the start of the lane's line, in
    /// elements, is `behind` plus the index of the [first number that is at
    /// least](Self::first_at_least) the lane's key.
    ///
    /// # Panics
    /// If an element that might be loaded is past the end, a line does not begin at an element, or
    /// the number of lanes is not a multiple of eight.
    #[inline(always)]
    fn elements_of_first<T, const N: usize>(
        self,
        lines: &[Published<T>],
        wanted: Wanted<'_, N>,
        behind: usize,
        elements: &mut [T; N],
    ) where
        T: Shareable + IntoBytes + Immutable,
    {
        lines::elements_of_first(self, lines, wanted, behind, elements);
    }

    /// Returns the first 16 bits of each address, and the 32 bits after them.
    #[inline(always)]
    fn first_16_and_32(self, addresses: &[u128; GROUP]) -> ([u32; GROUP], [u32; GROUP]) {
        let (mut first, mut after) = ([0; GROUP], [0; GROUP]);
        for lane in 0..GROUP {
            first[lane] = (addresses[lane] >> 112) as u32;
            after[lane] = (addresses[lane] >> 80) as u32;
        }
        (first, after)
    }

    /// Returns how many numbers of a line are less than `key`. The numbers may be in any order.
    #[inline(always)]
    fn count_below(self, line: &[u64; KEYS], key: u64) -> u32 {
        line.iter().map(|&number| u32::from(number < key)).sum()
    }

    /// Returns which numbers of a line are less than `key`, one bit each.
    #[inline(always)]
    fn numbers_below(self, line: &[u64; KEYS], key: u64) -> u32 {
        line.iter().enumerate().map(|(at, &number)| u32::from(number < key) << at).sum()
    }

    /// Returns how many numbers are less than `key`. They may be in any order.
    #[inline(always)]
    fn count_below_short(self, numbers: &[u16; SHORT_KEYS], key: u16) -> u32 {
        numbers.iter().map(|&number| u32::from(number < key)).sum()
    }

    /// Returns how many numbers are at most `key`. They may be in any order.
    #[inline(always)]
    fn count_not_above(self, numbers: &[u32; GROUP], key: u32) -> u32 {
        numbers.iter().map(|&number| u32::from(number <= key)).sum()
    }

    /// Returns which numbers of a line are equal, one bit each: those at even places to the first
    /// of `pair`, the others to the second.
    #[inline(always)]
    fn numbers_equal(self, line: &[u64; KEYS], pair: [u64; 2]) -> u32 {
        let equal = |(at, &number): (usize, &u64)| u32::from(number == pair[at % 2]) << at;
        line.iter().enumerate().map(equal).sum()
    }

    /// Takes each lane from its node of `level` to a child. The nine children of the node at index
    /// *n* are at index 9 *n* to 9 *n* + 8 of the next level. The lane takes the child that has as
    /// many before it as there are numbers in the node [below](Self::count_below) the lane's key.
    ///
    /// # Panics
    /// If a node is past the end of the level, or the number of lanes is not a multiple of eight.
    #[inline(always)]
    fn step_down<const N: usize>(self, level: &[[u64; KEYS]], keys: &[u64; N], reached: &mut Reached<N>) {
        lines::step_down(self, level, keys, reached);
    }

    /// As [`step_down`](Self::step_down), where each lane is in a tree of its own: its level begins
    /// `above` nodes after its root. All trees are in `nodes`.
    ///
    /// # Panics
    /// If a node is past the end, or the number of lanes is not a multiple of eight.
    #[inline(always)]
    fn step_down_from<const N: usize>(
        self,
        nodes: &[[u64; KEYS]],
        roots: &Roots<N>,
        above: u32,
        keys: &[u64; N],
        reached: &mut Reached<N>,
    ) {
        lines::step_down_from(self, nodes, (roots, above), keys, reached);
    }

    /// As [`step_down_from`](Self::step_down_from), only for the lanes in `going`.
    ///
    /// # Panics
    /// Also if the root of any lane is past the end.
    #[inline(always)]
    fn step_some_down_from<const N: usize>(
        self,
        nodes: &[[u64; KEYS]],
        (roots, above): (&Roots<N>, u32),
        going: &[bool; N],
        keys: &[u64; N],
        reached: &mut Reached<N>,
    ) {
        lines::step_some_down_from(self, nodes, (roots, above), going, keys, reached);
    }

    /// Returns the lanes whose bits of `mask` are those of `kind`, one bit each.
    #[inline(always)]
    fn lanes_of_kind(self, words: &[u32; GROUP], (mask, kind): (u32, u32)) -> u16 {
        words.iter().rev().fold(0, |lanes, word| lanes << 1 | u16::from(word & mask == kind))
    }

    /// Returns whether [`gather`](Self::gather) is faster than single loads on this processor.
    #[inline(always)]
    fn gathers_fast(self) -> bool {
        false
    }

    /// Returns the words at these indexes; lanes whose index is past the end keep their value of
    /// `outside`. Others may write the words meanwhile.
    #[inline(always)]
    fn gather(self, words: &[Published<u32>], places: &[u32; GROUP], outside: &[u32; GROUP]) -> [u32; GROUP] {
        let mut found = *outside;
        for (found, &place) in found.iter_mut().zip(places) {
            if let Some(word) = words.get(place as usize) {
                *found = u32::load(word);
            }
        }
        found
    }
}

/// The instruction sets that a computation is compiled for. Each is a copy in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sets {
    /// The baseline alone: nothing beyond it is of use.
    Baseline,
    /// Those that have instructions for single words: the counts and shifts of AVX2's processors
    /// are of use, wider vectors are not.
    Words,
    /// Every set.
    All,
}

/// A computation that [`dispatch`] compiles for the instruction sets that are of use to it.
pub trait Kernel {
    /// The type of its result.
    type Output;

    /// The sets that it is compiled for.
    const SETS: Sets = Sets::All;

    /// Runs the computation. Implementations, and all they call on the hot path, are
    /// `#[inline(always)]`: only code inlined into the dispatcher is compiled for the instruction
    /// set.
    fn run<I: Isa>(self, isa: I) -> Self::Output;
}

/// Runs a kernel compiled for an instruction set, or for the best below it that is of use to the
/// kernel. Where a set is of no use, nothing is compiled for it.
#[inline]
pub fn dispatch<K: Kernel>(level: Level, kernel: K) -> K::Output {
    if const { matches!(K::SETS, Sets::Baseline) } {
        return run(Scalar, kernel);
    }
    #[cfg(target_arch = "x86_64")]
    if const { matches!(K::SETS, Sets::Words) } {
        return if level.0 == Set::Scalar { run(Scalar, kernel) } else { avx2::run(level, kernel) };
    }
    match level.0 {
        Set::Scalar => run(Scalar, kernel),
        #[cfg(target_arch = "x86_64")]
        Set::Avx2 => avx2::run(level, kernel),
        #[cfg(target_arch = "x86_64")]
        Set::Avx512 => avx512::run(level, kernel),
        #[cfg(target_arch = "aarch64")]
        Set::Neon => run(Neon, kernel),
    }
}

/// Runs a kernel compiled for the baseline: out of line, as for every other set, so that all who
/// dispatch it share one copy.
#[inline(never)]
fn run<I: Isa, K: Kernel>(isa: I, kernel: K) -> K::Output {
    kernel.run(isa)
}
