//! x86-64-v3: AVX2 and the bit-manipulation instructions that every such processor has with it.
#![allow(unsafe_code, reason = "calling code compiled for more than the baseline instruction set")]

use super::compiled::{Function, Pointer};
use super::{Isa, Kernel, Level, Set};
use crate::memory::Published;

/// AVX2, BMI1, BMI2, LZCNT, POPCNT.
///
/// Only [`dispatch`](super::dispatch) creates one, where the processor has them.
#[derive(Clone, Copy, Debug)]
pub struct Avx2(());

impl crate::address::sealed::Sealed for Avx2 {}

impl Isa for Avx2 {
    const NAME: &'static str = "avx2";

    #[inline(always)]
    fn level(self) -> Level {
        Level(Set::Avx2)
    }

    #[inline(always)]
    fn crc32c(self, key: u64) -> u32 {
        // SAFETY: this set exists only where it was detected, and SSE 4.2 is part of AVX2.
        unsafe { super::crc32::by_instruction(key) }
    }

    #[inline(always)]
    fn first_at_least<T: crate::memory::Shareable>(self, line: &[Published<T>], among: u32, key: u16) -> u32 {
        assert_eq!(size_of_val(line), super::LINE, "bytes of a line");
        // SAFETY: this set exists only where it was detected, and the line has the bytes that are
        // compared.
        let at_least = unsafe { x86_64::at_least(line.as_ptr().cast(), key) };
        (at_least & among).trailing_zeros()
    }

    #[inline(always)]
    fn count_below(self, line: &[u64; super::KEYS], key: u64) -> u32 {
        // SAFETY: this set exists only where it was detected.
        unsafe { x86_64::count_below(line, key) }
    }

    #[inline(always)]
    fn numbers_below(self, line: &[u64; super::KEYS], key: u64) -> u32 {
        // SAFETY: this set exists only where it was detected.
        unsafe { x86_64::numbers_below(line, key) }
    }

    #[inline(always)]
    fn count_below_short(self, numbers: &[u16; super::SHORT_KEYS], key: u16) -> u32 {
        // SAFETY: this set exists only where it was detected.
        unsafe { x86_64::count_below_short(numbers, key) }
    }

    #[inline(always)]
    fn count_not_above(self, numbers: &[u32; super::GROUP], key: u32) -> u32 {
        // SAFETY: this set exists only where it was detected.
        unsafe { x86_64::count_not_above(numbers, key) }
    }

    #[inline(always)]
    fn numbers_equal(self, line: &[u64; super::KEYS], pair: [u64; 2]) -> u32 {
        // SAFETY: this set exists only where it was detected.
        unsafe { x86_64::numbers_equal(line, pair) }
    }

    #[inline(always)]
    fn lanes_of_kind(self, words: &[u32; super::GROUP], (mask, kind): (u32, u32)) -> u16 {
        // SAFETY: this set exists only where it was detected.
        unsafe { x86_64::lanes_of_kind(words, mask, kind) }
    }
}

#[allow(clippy::wildcard_imports, reason = "the names of intrinsics say where they come from")]
pub(super) mod x86_64 {
    use super::super::{GROUP, KEYS, LINE, SHORT_KEYS};
    use std::arch::asm;
    use std::arch::x86_64::*;

    // What is done to both halves of a line is a closure that is called twice. `array::map` is
    // compiled without these instructions: it calls its closure with registers in memory, unless a
    // late pass of the optimizer inlines both.

    /// Returns the two halves of a line.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn halves<T, const N: usize>(line: &[T; N]) -> (__m256i, __m256i) {
        const { assert!(size_of::<[T; N]>() == LINE, "two registers") };
        let halves: *const __m256i = line.as_ptr().cast();
        // SAFETY: the array is as long as two registers.
        unsafe { (_mm256_loadu_si256(halves), _mm256_loadu_si256(halves.add(1))) }
    }

    /// Returns how many of the numbers are less than `key`. Comparisons of 64-bit numbers are
    /// signed, so the sign bits are flipped on both sides.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn count_below(line: &[u64; KEYS], key: u64) -> u32 {
        let sign = _mm256_set1_epi64x(i64::MIN);
        let key = _mm256_xor_si256(_mm256_set1_epi64x(key.cast_signed()), sign);
        let below = |half| _mm256_cmpgt_epi64(key, _mm256_xor_si256(half, sign));
        let (low, high) = halves(line);
        // Packing interleaves the lanes of both halves, which does not change their count.
        let below = _mm256_castsi256_ps(_mm256_packs_epi32(below(low), below(high)));
        _mm256_movemask_ps(below).count_ones()
    }

    /// Returns which of the numbers are less than `key`, one bit each.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn numbers_below(line: &[u64; KEYS], key: u64) -> u32 {
        let sign = _mm256_set1_epi64x(i64::MIN);
        let key = _mm256_xor_si256(_mm256_set1_epi64x(key.cast_signed()), sign);
        let below = |half| {
            let below = _mm256_cmpgt_epi64(key, _mm256_xor_si256(half, sign));
            _mm256_movemask_pd(_mm256_castsi256_pd(below)).cast_unsigned()
        };
        let (low, high) = halves(line);
        below(low) | below(high) << 4
    }

    /// Returns how many of the numbers are less than `key`: those that are not the greater one.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn count_below_short(numbers: &[u16; SHORT_KEYS], key: u16) -> u32 {
        // SAFETY: the array is as long as the register.
        let numbers = unsafe { _mm_loadu_si128(numbers.as_ptr().cast()) };
        let greater = _mm_max_epu16(numbers, _mm_set1_epi16(key.cast_signed()));
        let at_least = _mm_movemask_epi8(_mm_cmpeq_epi16(greater, numbers)).cast_unsigned();
        SHORT_KEYS as u32 - at_least.count_ones() / 2
    }

    /// Returns how many of the numbers are at most `key`: those that are the lesser one.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn count_not_above(numbers: &[u32; GROUP], key: u32) -> u32 {
        let key = _mm256_set1_epi32(key.cast_signed());
        let not_above = |half| _mm256_cmpeq_epi32(_mm256_min_epu32(half, key), half);
        let (low, high) = halves(numbers);
        let packed = _mm256_packs_epi32(not_above(low), not_above(high));
        _mm256_movemask_epi8(packed).count_ones() / 2
    }

    /// Returns which numbers are equal to those of a pair in turn, one bit each.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn numbers_equal(line: &[u64; KEYS], pair: [u64; 2]) -> u32 {
        let pair = _mm256_broadcastsi128_si256(_mm_set_epi64x(pair[1].cast_signed(), pair[0].cast_signed()));
        let equal = |half| {
            let equal = _mm256_castsi256_pd(_mm256_cmpeq_epi64(half, pair));
            _mm256_movemask_pd(equal).cast_unsigned()
        };
        let (low, high) = halves(line);
        equal(low) | equal(high) << 4
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn lanes_of_kind(words: &[u32; GROUP], mask: u32, kind: u32) -> u16 {
        let (mask, kind) = (_mm256_set1_epi32(mask.cast_signed()), _mm256_set1_epi32(kind.cast_signed()));
        let are_of_kind = |half| {
            let are_equal = _mm256_cmpeq_epi32(_mm256_and_si256(half, mask), kind);
            _mm256_movemask_ps(_mm256_castsi256_ps(are_equal)) as u16
        };
        let (low, high) = halves(words);
        are_of_kind(low) | are_of_kind(high) << 8
    }

    /// Returns which of the 32 numbers of a line are at least `key`, one bit each.
    ///
    /// The compiler has no vector load of memory that others may write. To the processor it is a
    /// load like any other: no aligned element of a line is read in parts.
    ///
    /// # Safety
    /// [`LINE`] bytes must be readable at `line`.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) unsafe fn at_least(line: *const u8, key: u16) -> u32 {
        let key = _mm256_set1_epi16(key.cast_signed());
        let (low, high): (__m256i, __m256i);
        // SAFETY: it reads the bytes that the caller promises, and does nothing that relaxed loads
        // would not.
        unsafe {
            asm!(
                "vmovdqu {low}, ymmword ptr [{line}]",
                "vmovdqu {high}, ymmword ptr [{line} + {half}]",
                line = in(reg) line,
                low = out(ymm_reg) low,
                high = lateout(ymm_reg) high,
                half = const LINE / 2,
                options(pure, readonly, nostack, preserves_flags),
            );
        }
        let at_least = |half| _mm256_cmpeq_epi16(_mm256_max_epu16(half, key), half);
        // Packing interleaves the lanes of both halves.
        let packed = _mm256_packs_epi16(at_least(low), at_least(high));
        let packed = _mm256_permute4x64_epi64::<0b11_01_10_00>(packed);
        _mm256_movemask_epi8(packed).cast_unsigned()
    }
}

pub(super) fn detected() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
}

pub(super) fn run<K: Kernel>(_proof: Level, kernel: K) -> K::Output {
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    #[inline(never)]
    fn compiled<K: Kernel>(kernel: K) -> K::Output {
        kernel.run(Avx2(()))
    }
    // SAFETY: a `Level` of this set exists only where `detected()` was true.
    unsafe { compiled(kernel) }
}

pub(super) fn function<F: Function>() -> Pointer<F> {
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn compiled<F: Function>(table: &F::Table, key: F::Key) -> F::Output {
        F::call(Avx2(()), table, key)
    }
    compiled::<F>
}
