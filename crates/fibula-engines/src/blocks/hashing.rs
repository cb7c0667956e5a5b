//! Hash functions of integer keys: the three that Lucchesi, Drummond and Teodoro, "High-performance
//! IP lookup using Intel Xeon Phi: a Bloom filters based approach" (2018), section 4.3.2,
//! vectorise, the finaliser of one of them alone, and the C `rand` of their Baseline.
//!
//! All of them turn a key of one or two 32-bit words (IPv4, or the first half of IPv6) into 32
//! bits. Callers here take the *high* bits ([`reduce`]), because Knuth's method has its good bits
//! there. [`Remainder`] takes the low ones, as the paper does.
//!
//! | function | what it does to a word | for two words |
//! | --- | --- | --- |
//! | [`Murmur`] | MurmurHash3 (x86, 32 bits), its loop unrolled | two blocks |
//! | [`Knuth`] | one multiplication by 2^32/φ | one of 64 bits by 2^64/φ, high half |
//! | [`H2`] | two rounds of shift, xor, multiply (the H2 database) | xor the second, mix again |
//! | [`Fmix`] | the end of MurmurHash3 alone, `fmix32` | `fmix64`, high half |
//! | [`Rand`] | seeds C's generator | the first, stepped, plus the second |
//!
//! [`Murmur`]: HashFunction::Murmur
//! [`Knuth`]: HashFunction::Knuth
//! [`H2`]: HashFunction::H2
//! [`Fmix`]: HashFunction::Fmix
//!
//! The paper derives a MurmurHash3 for keys of 64 bits and does not say how. The program of its
//! authors (github.com/lucch/bloomfwd, `murmurhash3_64_32`) hashes two blocks of 32 bits, as
//! [`Murmur`] does. [`Fmix`] is the shorter form for integers.
//!
//! [`HashFunction::hash_all`] hashes a whole block. It is a loop over arrays of a fixed length
//! without a branch, so that inside a [`Kernel`](fibula::parts::arch::Kernel) it becomes vector
//! code of that instruction set: sixteen keys at a time with AVX-512, eight with AVX2, four with
//! the baseline's SSE2.

use std::fmt::Debug;
use zerocopy::FromZeros;

/// An integer that can be hashed: `u32` or `u64`.
pub trait Key: Copy + Eq + FromZeros + Debug + Send + Sync + 'static {
    /// The number of its 32-bit words.
    const WORDS: usize;

    /// Returns the key with these right-aligned bits, which must fit.
    #[must_use]
    fn of(bits: u64) -> Self;

    /// Returns the bits of the key.
    #[must_use]
    fn bits(self) -> u64;

    /// Returns the word at `index`, the lowest first.
    #[must_use]
    fn word(self, index: usize) -> u32;

    /// Returns Knuth's multiplicative hash: the high 32 bits of a product modulo 2^l, where *l* is
    /// the number of bits of the key.
    #[must_use]
    fn multiplied(self) -> u32;

    /// Returns MurmurHash3's finaliser for as many bits as the key has: the high 32 bits of its
    /// result.
    #[must_use]
    fn finalised(self) -> u32;
}

impl Key for u32 {
    const WORDS: usize = 1;

    #[inline(always)]
    fn of(bits: u64) -> Self {
        bits as u32
    }

    #[inline(always)]
    fn bits(self) -> u64 {
        self.into()
    }

    #[inline(always)]
    fn word(self, _: usize) -> u32 {
        self
    }

    #[inline(always)]
    fn multiplied(self) -> u32 {
        self.wrapping_mul(0x9E37_79B1) // the prime next to 2^32 / φ
    }

    #[inline(always)]
    fn finalised(self) -> u32 {
        let hash = (self ^ self >> 16).wrapping_mul(0x85EB_CA6B);
        let hash = (hash ^ hash >> 13).wrapping_mul(0xC2B2_AE35);
        hash ^ hash >> 16
    }
}

impl Key for u64 {
    const WORDS: usize = 2;

    #[inline(always)]
    fn of(bits: u64) -> Self {
        bits
    }

    #[inline(always)]
    fn bits(self) -> u64 {
        self
    }

    #[inline(always)]
    fn word(self, index: usize) -> u32 {
        (self >> (32 * index)) as u32
    }

    #[inline(always)]
    fn multiplied(self) -> u32 {
        (self.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u32 // the odd number next to 2^64 / φ
    }

    #[inline(always)]
    fn finalised(self) -> u32 {
        let hash = (self ^ self >> 33).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
        let hash = (hash ^ hash >> 33).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
        ((hash ^ hash >> 33) >> 32) as u32
    }
}

/// Scales a hash to `0..len` by its high bits. Takes one multiplication where a remainder takes a
/// division, and keeps hashes in ascending order.
///
/// ```
/// use fibula_engines::blocks::hashing::reduce;
/// assert_eq!([0, 0x7FFF_FFFF, 0x8000_0000, u32::MAX].map(|hash| reduce(hash, 10)), [0, 4, 5, 9]);
/// ```
#[must_use]
#[inline(always)]
pub fn reduce(hash: u32, len: u32) -> u32 {
    ((u64::from(hash) * u64::from(len)) >> 32) as u32
}

/// How a hash is reduced to a size.
pub trait Reduction: Copy + Debug + Send + Sync + 'static {
    /// Returns a number of `0..len`.
    #[must_use]
    fn reduce(hash: u32, len: u32) -> u32;
}

/// By [`reduce`], a multiplication.
#[derive(Clone, Copy, Debug)]
pub struct Scaled;

impl Reduction for Scaled {
    #[inline(always)]
    fn reduce(hash: u32, len: u32) -> u32 {
        reduce(hash, len)
    }
}

/// By the remainder of a division, as the paper does: the hash's low bits decide.
#[derive(Clone, Copy, Debug)]
pub struct Remainder;

impl Reduction for Remainder {
    #[inline(always)]
    fn reduce(hash: u32, len: u32) -> u32 {
        hash % len
    }
}

/// A hash function, chosen when a table is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashFunction {
    /// MurmurHash3.
    Murmur,
    /// Knuth's multiplicative method.
    Knuth,
    /// The integer hash of the H2 database.
    H2,
    /// The finaliser of MurmurHash3.
    Fmix,
}

impl HashFunction {
    /// Every function with its name in configurations.
    pub const NAMED: [(&'static str, Self); 4] =
        [("h2", Self::H2), ("murmur", Self::Murmur), ("knuth", Self::Knuth), ("fmix", Self::Fmix)];

    /// Returns the hash of one key.
    #[must_use]
    #[inline(always)]
    pub fn hash<K: Key>(self, key: K) -> u32 {
        match self {
            Self::Murmur => murmur(key),
            Self::Knuth => key.multiplied(),
            Self::H2 => h2(key),
            Self::Fmix => key.finalised(),
        }
    }

    /// Returns the hashes of a block of keys, as vector code where the caller is compiled for it.
    #[must_use]
    #[inline(always)]
    pub fn hash_all<K: Key, const N: usize>(self, keys: &[K; N]) -> [u32; N] {
        match self {
            Self::Murmur => each(keys, murmur),
            Self::Knuth => each(keys, K::multiplied),
            Self::H2 => each(keys, h2),
            Self::Fmix => each(keys, K::finalised),
        }
    }
}

/// As [`array::map`], which is not always inlined and then stays scalar.
#[inline(always)]
fn each<K: Key, const N: usize>(keys: &[K; N], function: impl Fn(K) -> u32) -> [u32; N] {
    let mut hashes = [0; N];
    for at in 0..N {
        hashes[at] = function(keys[at]);
    }
    hashes
}

#[inline(always)]
fn murmur<K: Key>(key: K) -> u32 {
    let mut hash = 0_u32;
    for index in 0..K::WORDS {
        let block = key.word(index).wrapping_mul(0xCC9E_2D51).rotate_left(15).wrapping_mul(0x1B87_3593);
        hash = (hash ^ block).rotate_left(13).wrapping_mul(5).wrapping_add(0xE654_6B64);
    }
    let length = 4 * K::WORDS as u32; // in bytes
    (hash ^ length).finalised()
}

#[inline(always)]
fn h2<K: Key>(key: K) -> u32 {
    let mut hash = 0;
    for index in 0..K::WORDS {
        hash ^= key.word(index);
        hash = (hash ^ hash >> 16).wrapping_mul(0x045D_9F3B);
        hash = (hash ^ hash >> 16).wrapping_mul(0x045D_9F3B);
        hash ^= hash >> 16;
    }
    hash
}

/// C's `rand`, seeded with a key: the linear congruential generator of the C standard's example.
/// Three steps of 16 bits each make one value of 32 bits.
#[derive(Clone, Copy, Debug)]
pub struct Rand(u32);

impl Rand {
    /// Returns the generator that `key` seeds.
    #[must_use]
    #[inline(always)]
    pub fn seeded<K: Key>(key: K) -> Self {
        let mut rand = Self(0);
        for index in 0..K::WORDS {
            rand.0 = rand.0.wrapping_mul(Self::MULTIPLIER).wrapping_add(key.word(index));
        }
        rand
    }

    const MULTIPLIER: u32 = 1_103_515_245;

    /// Returns the next value: one evaluation of a hash function.
    #[inline(always)]
    pub fn draw(&mut self) -> u32 {
        let mut value = 0;
        for _ in 0..3 {
            self.0 = self.0.wrapping_mul(Self::MULTIPLIER).wrapping_add(12_345);
            value = value << 11 ^ self.0 >> 16;
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fibula::parts::arch::{Isa, Kernel, Level, dispatch};
    use proptest::prelude::*;

    #[test]
    fn murmur_is_the_published_function() {
        let found = [0_u32, u32::MAX, 0x8765_4321].map(|key| HashFunction::Murmur.hash(key));
        assert_eq!(found, [0x2362_F9DE, 0x7629_3B50, 0xF55B_516B]);
    }

    #[test]
    fn fmix_is_the_published_finaliser_of_as_many_bits() {
        let found = [0, 1, 0x8765_4321].map(|key: u32| HashFunction::Fmix.hash(key));
        assert_eq!(found, [0, 0x514E_28B7, 0xC006_0F8B]);
        let found = [0, 1, 0x0123_4567_89AB_CDEF].map(|key: u64| HashFunction::Fmix.hash(key));
        assert_eq!(found, [0, 0xB456_BCFC, 0x87CB_FBFE]);
    }

    #[test]
    fn knuth_and_h2_by_hand() {
        assert_eq!(HashFunction::Knuth.hash(3_u32), 0xDAA6_6D13);
        assert_eq!(HashFunction::Knuth.hash(3_u64), 0xDAA6_6D2C);
        assert_eq!(HashFunction::H2.hash(0_u32), 0);
        // 1 becomes the multiplier m; then (m ^ m >> 16) * m, folded once more.
        let mixed = (0x045D_9F3B_u32 ^ 0x045D).wrapping_mul(0x045D_9F3B);
        assert_eq!(HashFunction::H2.hash(1_u32), mixed ^ mixed >> 16);
    }

    #[test]
    fn rand_overlaps_three_steps_of_the_generator() {
        let [first, second, third] = [12_345_u32, 0xD3DC_167E, 0xA704_27DF].map(|state| state >> 16);
        assert_eq!(Rand::seeded(0_u32).draw(), first << 22 ^ second << 11 ^ third);
        let mut rand = Rand::seeded(7_u64 << 32);
        assert_ne!(rand.draw(), rand.draw());
    }

    struct All<K: 'static>(HashFunction, [K; 24]);

    impl<K: Key> Kernel for All<K> {
        type Output = [u32; 24];

        #[inline(always)]
        fn run<I: Isa>(self, _: I) -> [u32; 24] {
            self.0.hash_all(&self.1)
        }
    }

    proptest! {
        #[test]
        fn a_block_on_every_instruction_set_is_key_by_key(keys: [u64; 24]) {
            for (_, function) in HashFunction::NAMED {
                let short = keys.map(|key| key as u32);
                for &level in Level::available() {
                    prop_assert_eq!(dispatch(level, All(function, keys)), keys.map(|key| function.hash(key)));
                    prop_assert_eq!(dispatch(level, All(function, short)), short.map(|key| function.hash(key)));
                }
            }
        }
    }
}
