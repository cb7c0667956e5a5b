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
pub fn first_at_least<T: Shareable + IntoBytes + Immutable>(
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

impl Isa for Scalar {
    const NAME: &'static str = "scalar";

    #[inline(always)]
    fn level(self) -> Level {
        Level::SCALAR
    }
}

/// An instruction set as a type, for which a batch path is compiled.
pub trait Isa: Copy + Send + Sync + 'static {
    /// Returns the set as a value. [`dispatch`] runs a kernel for it out of line, where code that
    /// is not always needed would cost the code around it registers.
    fn level(self) -> Level;

    /// The name, as in configurations.
    const NAME: &'static str;

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

/// A computation that [`dispatch`] compiles for every instruction set.
pub trait Kernel {
    /// The type of its result.
    type Output;

    /// Runs the computation. Implementations, and all they call on the hot path, are
    /// `#[inline(always)]`: only code inlined into the dispatcher is compiled for the instruction
    /// set.
    fn run<I: Isa>(self, isa: I) -> Self::Output;
}

/// Runs a kernel compiled for an instruction set.
#[inline]
pub fn dispatch<K: Kernel>(level: Level, kernel: K) -> K::Output {
    match level.0 {
        Set::Scalar => kernel.run(Scalar),
        #[cfg(target_arch = "x86_64")]
        Set::Avx2 => avx2::run(level, kernel),
        #[cfg(target_arch = "x86_64")]
        Set::Avx512 => avx512::run(level, kernel),
        #[cfg(target_arch = "aarch64")]
        Set::Neon => kernel.run(Neon),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Array, Pages, WordsView};

    fn published<T: Shareable + IntoBytes>(values: &[T]) -> WordsView<T> {
        let mut array = Array::new(Pages::Small);
        array.extend_from_slice(values);
        WordsView::holding(array)
    }

    struct Name;
    impl Kernel for Name {
        type Output = &'static str;
        #[inline(always)]
        fn run<I: Isa>(self, _: I) -> &'static str {
            I::NAME
        }
    }

    struct FirstAtLeast<'l>(&'l [u16; LINE / 2], u32, u16);
    impl Kernel for FirstAtLeast<'_> {
        type Output = [u32; 3];
        #[inline(always)]
        fn run<I: Isa>(self, isa: I) -> [u32; 3] {
            let Self(numbers, among, key) = self;
            let bytes: [u8; LINE] = zerocopy::transmute!(*numbers);
            let words: [u32; LINE / 4] = zerocopy::transmute!(*numbers);
            [
                isa.first_at_least::<u8>(&published(&bytes), among, key),
                isa.first_at_least::<u16>(&published(numbers), among, key),
                isa.first_at_least::<u32>(&published(&words), among, key),
            ]
        }
    }

    struct Gather<'w>(&'w [Published<u32>], [u32; GROUP]);
    impl Kernel for Gather<'_> {
        type Output = [u32; GROUP];
        #[inline(always)]
        fn run<I: Isa>(self, isa: I) -> [u32; GROUP] {
            isa.gather(self.0, &self.1, &std::array::from_fn(|lane| lane as u32))
        }
    }

    #[test]
    fn every_level_gathers_what_is_inside() {
        let words = published(&std::array::from_fn::<u32, 100, _>(|at| at as u32 * 7 + 1000));
        let mut places = std::array::from_fn(|lane| (lane as u32 * 37) % 100);
        places[..5].copy_from_slice(&[99, 100, u32::MAX, 1 << 31, 0]);
        for &level in Level::available() {
            for count in [100, 41, 1, 0] {
                let expected = std::array::from_fn(|lane| {
                    let is_inside = places[lane] < count;
                    if is_inside { places[lane] * 7 + 1000 } else { lane as u32 }
                });
                let found = dispatch(level, Gather(&words[..count as usize], places));
                assert_eq!(found, expected, "{level}: of {count}");
            }
        }
    }

    struct LanesOfKind(fn(usize) -> u32);
    impl Kernel for LanesOfKind {
        type Output = u16;
        #[inline(always)]
        fn run<I: Isa>(self, isa: I) -> u16 {
            isa.lanes_of_kind(&std::array::from_fn(self.0), (0xF000_0001, 0x8000_0001))
        }
    }

    #[test]
    fn every_level_finds_the_same_lanes_of_a_kind() {
        for &level in Level::available() {
            let lanes = |word: fn(usize) -> u32| dispatch(level, LanesOfKind(word));
            assert_eq!(lanes(|_| 0x8FFF_FFFF), u16::MAX, "{level}");
            assert_eq!(lanes(|lane| (lane as u32) << 28 | 1), 1 << 8, "{level}");
            assert_eq!(lanes(|lane| 8 << 28 | lane as u32), 0xAAAA, "{level}");
        }
    }

    struct Elements<'l>(&'l [Published<u16>], [u32; 8]);
    impl Kernel for Elements<'_> {
        type Output = [u16; 8];
        #[inline(always)]
        fn run<I: Isa>(self, isa: I) -> [u16; 8] {
            let (among, keys) = ([u32::MAX << 2; 8], std::array::from_fn(|lane| 3 * lane as u16));
            let mut elements = [0; 8];
            let wanted = Wanted { starts: &self.1, among: &among, keys: &keys };
            isa.elements_of_first(self.0, wanted, 32, &mut elements);
            elements
        }
    }

    #[test]
    fn every_level_finds_the_elements_of_many_lines() {
        // The numbers of a line and their values, twice, and one more line that may be read.
        let numbers: Vec<u16> = (0..32).map(|at| at * 2).chain(100..132).collect();
        let numbers = [numbers.clone(), numbers, vec![0; 64]].concat();
        let numbers = published(&numbers);
        let numbers = &numbers[..];
        let starts = [0, 128, 0, 128, 128, 0, 0, 128];
        let first = |key: u16| key.div_ceil(2).max(2);
        for &level in Level::available() {
            let found = dispatch(level, Elements(numbers, starts));
            assert_eq!(found, std::array::from_fn(|lane| 100 + first(3 * lane as u16)), "{level}");
            for start in [numbers.len() as u32 * 2 - 128, 1, u32::MAX - 1] {
                let mut starts = starts;
                starts[5] = start;
                let panics = std::panic::catch_unwind(|| dispatch(level, Elements(numbers, starts)));
                assert!(panics.is_err(), "{level}: {start}");
            }
        }
    }

    struct Split([u128; GROUP]);
    impl Kernel for Split {
        type Output = ([u32; GROUP], [u32; GROUP]);
        #[inline(always)]
        fn run<I: Isa>(self, isa: I) -> Self::Output {
            isa.first_16_and_32(&self.0)
        }
    }

    #[test]
    fn every_level_takes_the_same_bits() {
        let address = |at: usize| (at as u128 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835);
        for &level in Level::available() {
            let (first, after) = dispatch(level, Split(std::array::from_fn(address)));
            assert_eq!(first, std::array::from_fn(|at| (address(at) >> 112) as u32), "{level}");
            assert_eq!(after, std::array::from_fn(|at| (address(at) >> 80) as u32), "{level}");
        }
    }

    #[test]
    fn every_level_compares_numbers_alike() {
        let numbers = std::array::from_fn(|at| (at as u16).wrapping_mul(0x1357).wrapping_add(0x7FF0));
        for key in [0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFE, 0xFFFF].into_iter().chain(numbers) {
            for among in [0, 1, u32::MAX, u32::MAX << 7, 1 << 31, 0x00FF_FF00, 0xAAAA_5555] {
                let first = (0..32_u32).find(|&at| among >> at & 1 == 1 && numbers[at as usize] >= key);
                for &level in Level::available() {
                    let found = dispatch(level, FirstAtLeast(&numbers, among, key));
                    assert_eq!(found, [first.unwrap_or(32); 3], "{level}: {key}, {among:#x}");
                }
            }
        }
    }

    struct CountBelow<'l>(&'l [u64; KEYS], u64);
    impl Kernel for CountBelow<'_> {
        type Output = u32;
        #[inline(always)]
        fn run<I: Isa>(self, isa: I) -> u32 {
            isa.count_below(self.0, self.1)
        }
    }

    #[test]
    fn every_level_counts_the_same_numbers_below_a_key() {
        const SIGN: u64 = 1 << 63;
        let extremes = [0, 1, SIGN - 1, SIGN, SIGN + 1, u64::MAX - 1, u64::MAX, 0x0123_4567_89AB_CDEF];
        for turn in 0..KEYS {
            let mut line = extremes;
            line.rotate_left(turn);
            for line in [line, [line[0]; KEYS]] {
                for key in
                    extremes.into_iter().flat_map(|key| [key.wrapping_sub(1), key, key.wrapping_add(1)])
                {
                    let below = line.iter().filter(|&&number| number < key).count() as u32;
                    for &level in Level::available() {
                        assert_eq!(
                            dispatch(level, CountBelow(&line, key)),
                            below,
                            "{level}: {line:x?}, {key:#x}"
                        );
                    }
                }
            }
        }
    }

    struct NumbersBelow<'l>(&'l [u64; KEYS], u64);
    impl Kernel for NumbersBelow<'_> {
        type Output = u32;
        #[inline(always)]
        fn run<I: Isa>(self, isa: I) -> u32 {
            isa.numbers_below(self.0, self.1)
        }
    }

    struct CountBelowShort<'l>(&'l [u16; SHORT_KEYS], u16);
    impl Kernel for CountBelowShort<'_> {
        type Output = u32;
        #[inline(always)]
        fn run<I: Isa>(self, isa: I) -> u32 {
            isa.count_below_short(self.0, self.1)
        }
    }

    #[test]
    fn every_level_finds_the_same_numbers_below_a_key() {
        let long = [u64::MAX, 0, 1 << 63, (1 << 63) - 1, 7, 7, 1, u64::MAX - 1];
        let short = [u16::MAX, 0, 1 << 15, (1 << 15) - 1, 7, 7, 1, u16::MAX - 1];
        for &level in Level::available() {
            for (at, key) in long.into_iter().enumerate() {
                let below = |at: usize| u32::from(long[at] < key) << at;
                let right = (0..KEYS).map(below).sum::<u32>();
                assert_eq!(dispatch(level, NumbersBelow(&long, key)), right, "{level}: {key:#x}");
                let found = dispatch(level, CountBelowShort(&short, short[at]));
                assert_eq!(found, right.count_ones(), "{level}: {:#x}", short[at]);
            }
        }
    }

    struct NumbersEqual<'l>(&'l [u64; KEYS], [u64; 2]);
    impl Kernel for NumbersEqual<'_> {
        type Output = u32;
        #[inline(always)]
        fn run<I: Isa>(self, isa: I) -> u32 {
            isa.numbers_equal(self.0, self.1)
        }
    }

    #[test]
    fn every_level_finds_the_same_numbers() {
        let line = [1, 2, 2, 1, u64::MAX, 0, 1, 2];
        for &level in Level::available() {
            for (pair, equal) in
                [([1, 2], 0xC3), ([2, 1], 0x0C), ([u64::MAX, 0], 0x30), ([2, 2], 0x86), ([7; 2], 0)]
            {
                assert_eq!(dispatch(level, NumbersEqual(&line, pair)), equal, "{level}: {pair:?}");
            }
        }
    }

    struct StepsDown<'n>(&'n [[u64; KEYS]], [u64; 8]);
    impl Kernel for StepsDown<'_> {
        type Output = [u32; 8];
        #[inline(always)]
        fn run<I: Isa>(self, isa: I) -> [u32; 8] {
            let mut reached = Reached::ROOT;
            isa.step_down(&self.0[..1], &self.1, &mut reached);
            isa.step_down(&self.0[1..], &self.1, &mut reached);
            std::array::from_fn(|lane| reached.index(lane))
        }
    }

    #[test]
    fn every_level_goes_down_the_same_tree() {
        // The intervals of two levels end at 9, 19, 29 and so on.
        let node = |at: u64, span: u64| std::array::from_fn(|key| (at * 9 + key as u64 + 1) * span - 1);
        let nodes: Vec<[u64; KEYS]> =
            [node(0, 90)].into_iter().chain((0..9).map(|at| node(at, 10))).collect();
        let keys = [0, 9, 10, 89, 90, 405, 719, 809];
        for &level in Level::available() {
            let found = dispatch(level, StepsDown(&nodes, keys));
            assert_eq!(found, keys.map(|key| key as u32 / 10), "{level}");
            let cut = std::panic::catch_unwind(|| dispatch(level, StepsDown(&nodes[..9], keys)));
            assert!(cut.is_err(), "{level}");
        }
    }

    #[test]
    fn every_available_level_runs_its_own_copy() {
        for &level in Level::available() {
            assert_eq!(dispatch(level, Name), level.name());
            assert_eq!(Level::named(level.name()), Some(level));
        }
        assert_eq!(Level::available()[0], Level::SCALAR);
        assert_eq!(Level::named("mmx"), None);
    }
}
