//! Every instruction set that this processor has gives the same results.

use super::*;
use crate::memory::{Array, Pages, WordsView};

fn published<T: Shareable<Plain = T>>(values: &[T]) -> WordsView<T> {
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

struct Elements<'l>(&'l [Published<u16>], [u32; 8], usize);
impl Kernel for Elements<'_> {
    type Output = [u16; 8];
    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> [u16; 8] {
        let (among, keys) = ([u32::MAX << 2; 8], std::array::from_fn(|lane| 3 * lane as u16));
        let mut elements = [0; 8];
        let wanted = Wanted { starts: &self.1, among: &among, keys: &keys };
        isa.elements_of_first(self.0, wanted, self.2, &mut elements);
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
        let found = dispatch(level, Elements(numbers, starts, 32));
        assert_eq!(found, std::array::from_fn(|lane| 100 + first(3 * lane as u16)), "{level}");
        for start in [numbers.len() as u32 * 2 - 128, 1, u32::MAX - 1] {
            let mut starts = starts;
            starts[5] = start;
            let panics = std::panic::catch_unwind(|| dispatch(level, Elements(numbers, starts, 32)));
            assert!(panics.is_err(), "{level}: {start}");
        }
        // Sizes in bytes that are 64 modulo 2^64, and a sum past it.
        for behind in [usize::MAX / 2, usize::MAX] {
            let panics = std::panic::catch_unwind(|| dispatch(level, Elements(numbers, starts, behind)));
            assert!(panics.is_err(), "{level}: {behind} behind");
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
            for key in extremes.into_iter().flat_map(|key| [key.wrapping_sub(1), key, key.wrapping_add(1)]) {
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

struct CountNotAbove<'l>(&'l [u32; GROUP], u32);
impl Kernel for CountNotAbove<'_> {
    type Output = u32;
    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> u32 {
        isa.count_not_above(self.0, self.1)
    }
}

#[test]
fn every_level_counts_the_same_numbers_up_to_a_key() {
    let numbers: [u32; GROUP] =
        [u32::MAX, 0, 1 << 31, (1 << 31) - 1, 7, 7, 1, u32::MAX - 1, 8, 9, 10, 11, u32::MAX, 13, 14, 0x8000];
    for &level in Level::available() {
        for key in numbers.into_iter().flat_map(|number| [number, number.wrapping_sub(1)]) {
            let right = numbers.iter().filter(|&&number| number <= key).count() as u32;
            assert_eq!(dispatch(level, CountNotAbove(&numbers, key)), right, "{level}: {key:#x}");
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
    let nodes: Vec<[u64; KEYS]> = [node(0, 90)].into_iter().chain((0..9).map(|at| node(at, 10))).collect();
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
