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

use crate::memory::Shareable;
use std::fmt;
use zerocopy::{Immutable, IntoBytes};

/// How many addresses an instruction set takes apart at once: the 32-bit lanes of the widest registers.
pub const GROUP: usize = 16;

/// The bytes of a line of numbers that are compared at once.
pub const LINE: usize = 64;

/// Of the 32 numbers of 16 bits of a line, in the order of their bytes, the first that is at least `key` among those whose bits are set; 32
/// if none is.
///
/// # Panics
/// If a number that is looked at is past the end of the line.
#[must_use]
#[inline(always)]
pub fn first_at_least<T: Shareable + IntoBytes + Immutable>(
    line: &[T::Atomic],
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

/// An instruction set as a type: what a batch path is compiled for.
pub trait Isa: Copy + Send + Sync + 'static {
    /// Its name, as users write it.
    const NAME: &'static str;

    /// The [CRC-32C](crc32c) of a key.
    #[inline(always)]
    fn crc32c(self, key: u64) -> u32 {
        crc32c(key)
    }

    /// The [first number of a line that is at least `key`](first_at_least), among some. Others may write the line meanwhile: each of its
    /// elements is read for itself, as by a load of its own.
    ///
    /// # Panics
    /// If the line does not have [`LINE`] bytes.
    #[inline(always)]
    fn first_at_least<T>(self, line: &[T::Atomic], among: u32, key: u16) -> u32
    where
        T: Shareable + IntoBytes + Immutable,
    {
        assert_eq!(size_of_val(line), LINE, "bytes of a line");
        first_at_least::<T>(line, among, key)
    }

    /// Of each address the 32 bits after the first 16.
    #[inline(always)]
    fn after_16(self, addresses: &[u128; GROUP]) -> [u32; GROUP] {
        addresses.map(|address| (address >> 80) as u32)
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
    use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32};

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
                isa.first_at_least::<u8>(&bytes.map(AtomicU8::new), among, key),
                isa.first_at_least::<u16>(&numbers.map(AtomicU16::new), among, key),
                isa.first_at_least::<u32>(&words.map(AtomicU32::new), among, key),
            ]
        }
    }

    struct After16([u128; GROUP]);
    impl Kernel for After16 {
        type Output = [u32; GROUP];
        #[inline(always)]
        fn run<I: Isa>(self, isa: I) -> [u32; GROUP] {
            isa.after_16(&self.0)
        }
    }

    #[test]
    fn every_level_takes_the_same_bits() {
        let address = |at: usize| (at as u128 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835);
        for &level in Level::available() {
            let taken = dispatch(level, After16(std::array::from_fn(address)));
            assert_eq!(taken, std::array::from_fn(|at| (address(at) >> 80) as u32), "{level}");
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
