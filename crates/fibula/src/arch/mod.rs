//! Instruction sets: found out once, chosen in one place, and handed down as a type.
//!
//! An engine writes its batch path once, generic over [`Isa`] and inlined; [`dispatch`] compiles that one
//! body for every instruction set and calls the copy for a [`Level`] this processor has. What the
//! compiler does with the extra instructions (population counts, shifts, vectors) comes for free; a step
//! that wants hand-written vector code becomes a method of [`Isa`] with one implementation a file.

mod avx2;
mod avx512;
mod crc32;
mod prefetch;
mod scalar;

pub use avx2::Avx2;
pub use avx512::Avx512;
pub use crc32::crc32c;
pub use prefetch::prefetch;
pub use scalar::Scalar;

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};

/// How many addresses an instruction set takes apart at once: the 32-bit lanes of the widest registers.
pub const GROUP: usize = 16;

/// Sixteen keys of 16 bits in the order of their bytes, which others may write.
pub type KeyWords = [AtomicU32; 8];

/// Which of sixteen keys, in the order of their bytes, are at most `key`: bit *i* for the *i*th.
#[must_use]
#[inline(always)]
pub fn at_most(keys: [u32; 8], key: u16) -> u32 {
    let mut mask = 0;
    for (at, word) in keys.iter().enumerate() {
        let [a, b, c, d] = word.to_ne_bytes();
        let (low, high) = (u16::from_ne_bytes([a, b]), u16::from_ne_bytes([c, d]));
        mask |= (u32::from(low <= key) | u32::from(high <= key) << 1) << (2 * at);
    }
    mask
}

/// An instruction set as a type: what a batch path is compiled for.
pub trait Isa: Copy + Send + Sync + 'static {
    /// Its name, as users write it.
    const NAME: &'static str;

    /// The [CRC-32C](crc32c) of a key.
    #[inline(always)]
    fn crc32c(self, key: u64) -> u32 {
        crc32c(key)
    }

    /// [Which of sixteen keys are at most `key`](at_most). Others may write them meanwhile: each word is read for itself, as by a
    /// relaxed load.
    #[inline(always)]
    fn at_most(self, keys: &KeyWords, key: u16) -> u32 {
        let mut words = [0; 8];
        words.iter_mut().zip(keys).for_each(|(word, place)| *word = place.load(Ordering::Relaxed));
        at_most(words, key)
    }

    /// Of each address the first 16 bits, and the 32 that follow.
    #[inline(always)]
    fn split(self, addresses: &[u128; GROUP]) -> [[u32; GROUP]; 2] {
        [addresses.map(|address| (address >> 112) as u32), addresses.map(|address| (address >> 80) as u32)]
    }
}

/// A computation that [`dispatch`] compiles for every instruction set.
pub trait Kernel {
    /// What it returns.
    type Output;

    /// The computation. Implementations, and all they call on the hot path, are `#[inline(always)]`: only code
    /// inlined into the dispatcher is compiled for the instruction set.
    fn run<I: Isa>(self, isa: I) -> Self::Output;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Set {
    Scalar,
    Avx2,
    Avx512,
}

/// An instruction set that this processor has. There is no other way to get one than [`Level::best`] and its
/// siblings, so holding a `Level` is the proof that its instructions may be executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Level(Set);

impl Level {
    /// What every processor of the architecture has.
    pub const SCALAR: Self = Self(Set::Scalar);

    /// The widest instruction set of this processor.
    #[must_use]
    pub fn best() -> Self {
        *Self::available().last().unwrap_or(&Self::SCALAR)
    }

    /// Every instruction set of this processor, from scalar up.
    #[must_use]
    pub fn available() -> &'static [Self] {
        const ALL: [Level; 3] = [Level(Set::Scalar), Level(Set::Avx2), Level(Set::Avx512)];
        let count = match (avx2::detected(), avx512::detected()) {
            (false, _) => 1,
            (true, false) => 2,
            (true, true) => 3,
        };
        &ALL[..count]
    }

    /// The instruction set of this name, if this processor has it.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::available().iter().copied().find(|level| level.name() == name)
    }

    /// Its name: `scalar`, `avx2` or `avx512`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self.0 {
            Set::Scalar => Scalar::NAME,
            Set::Avx2 => Avx2::NAME,
            Set::Avx512 => Avx512::NAME,
        }
    }
}

impl Default for Level {
    fn default() -> Self {
        Self::best()
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Runs a kernel compiled for an instruction set.
#[inline]
pub fn dispatch<K: Kernel>(level: Level, kernel: K) -> K::Output {
    match level.0 {
        Set::Scalar => kernel.run(Scalar),
        Set::Avx2 => avx2::run(level, kernel),
        Set::Avx512 => avx512::run(level, kernel),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Name;
    impl Kernel for Name {
        type Output = &'static str;
        #[inline(always)]
        fn run<I: Isa>(self, _: I) -> &'static str {
            I::NAME
        }
    }

    struct AtMost([u16; 16], u16);
    impl Kernel for AtMost {
        type Output = u32;
        #[inline(always)]
        fn run<I: Isa>(self, isa: I) -> u32 {
            let words: [u32; 8] = zerocopy::transmute!(self.0);
            isa.at_most(&words.map(AtomicU32::new), self.1)
        }
    }

    struct Split([u128; GROUP]);
    impl Kernel for Split {
        type Output = [[u32; GROUP]; 2];
        #[inline(always)]
        fn run<I: Isa>(self, isa: I) -> [[u32; GROUP]; 2] {
            isa.split(&self.0)
        }
    }

    #[test]
    fn every_level_splits_alike() {
        let address = |at: usize| (at as u128 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835);
        for &level in Level::available() {
            let [first, then] = dispatch(level, Split(std::array::from_fn(address)));
            for at in 0..GROUP {
                assert_eq!(first[at], (address(at) >> 112) as u32, "{level}");
                assert_eq!(then[at], (address(at) >> 80) as u32, "{level}");
            }
        }
    }

    #[test]
    fn every_level_compares_keys_alike() {
        let keys = std::array::from_fn(|at| (at as u16).wrapping_mul(0x1357).wrapping_add(0x7FF0));
        for key in [0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFE, 0xFFFF].into_iter().chain(keys) {
            let expected = (0..16).filter(|&at| keys[at] <= key).fold(0, |mask, at| mask | 1 << at);
            for &level in Level::available() {
                assert_eq!(dispatch(level, AtMost(keys, key)), expected, "{level}: {key}");
            }
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
