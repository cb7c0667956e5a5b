//! x86-64-v4: the AVX-512 subsets F, BW, CD, DQ and VL on top of AVX2.
#![allow(unsafe_code, reason = "calling code compiled for more than the baseline instruction set")]

use super::GROUP;
use super::compiled::{Function, Pointer};
use super::{Isa, Kernel, Level, Set};
use super::{KEYS, SHORT_KEYS};
use crate::memory::Published;

/// AVX-512 F, BW, CD, DQ and VL, with all of [`super::Avx2`].
///
/// Only [`dispatch`](super::dispatch) creates one, where the processor has them.
#[derive(Clone, Copy, Debug)]
pub struct Avx512(());

impl crate::address::sealed::Sealed for Avx512 {}

impl Isa for Avx512 {
    const NAME: &'static str = "avx512";

    #[inline(always)]
    fn level(self) -> Level {
        Level(Set::Avx512)
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
    fn first_16_and_32(self, addresses: &[u128; GROUP]) -> ([u32; GROUP], [u32; GROUP]) {
        // SAFETY: this set exists only where it was detected.
        unsafe { x86_64::first_16_and_32(addresses) }
    }

    #[inline(always)]
    fn count_below(self, line: &[u64; KEYS], key: u64) -> u32 {
        // SAFETY: this set exists only where it was detected.
        unsafe { x86_64::count_below(line, key) }
    }

    #[inline(always)]
    fn numbers_below(self, line: &[u64; KEYS], key: u64) -> u32 {
        // SAFETY: this set exists only where it was detected.
        unsafe { x86_64::numbers_below(line, key) }
    }

    #[inline(always)]
    fn count_below_short(self, numbers: &[u16; SHORT_KEYS], key: u16) -> u32 {
        // SAFETY: this set exists only where it was detected.
        unsafe { x86_64::count_below_short(numbers, key) }
    }

    #[inline(always)]
    fn count_not_above(self, numbers: &[u32; GROUP], key: u32) -> u32 {
        // SAFETY: this set exists only where it was detected.
        unsafe { x86_64::count_not_above(numbers, key) }
    }

    #[inline(always)]
    fn numbers_equal(self, line: &[u64; KEYS], pair: [u64; 2]) -> u32 {
        // SAFETY: this set exists only where it was detected.
        unsafe { x86_64::numbers_equal(line, pair) }
    }

    #[inline(always)]
    fn lanes_of_kind(self, words: &[u32; GROUP], (mask, kind): (u32, u32)) -> u16 {
        // SAFETY: this set exists only where it was detected.
        unsafe { x86_64::lanes_of_kind(words, mask, kind) }
    }

    fn gathers_fast(self) -> bool {
        x86_64::gathers_fast()
    }

    #[inline(always)]
    fn gather(self, words: &[Published<u32>], places: &[u32; GROUP], outside: &[u32; GROUP]) -> [u32; GROUP] {
        // SAFETY: this set exists only where it was detected.
        unsafe { x86_64::gather(words, places, outside) }
    }
}

#[allow(clippy::wildcard_imports, reason = "the names of intrinsics say where they come from")]
mod x86_64 {
    use super::super::{GROUP, KEYS, SHORT_KEYS};
    use crate::memory::Published;
    use std::arch::asm;
    use std::arch::x86_64::*;
    use std::sync::atomic::{AtomicU8, Ordering};

    /// Returns how many of the numbers are less than `key`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn count_below(line: &[u64; KEYS], key: u64) -> u32 {
        numbers_below(line, key).count_ones()
    }

    /// Returns which of the numbers are less than `key`, one bit each.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn numbers_below(line: &[u64; KEYS], key: u64) -> u32 {
        // SAFETY: a line is as long as the register.
        let numbers = unsafe { _mm512_loadu_si512(line.as_ptr().cast()) };
        _mm512_cmplt_epu64_mask(numbers, _mm512_set1_epi64(key.cast_signed())).into()
    }

    /// Returns how many of the numbers are less than `key`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn count_below_short(numbers: &[u16; SHORT_KEYS], key: u16) -> u32 {
        // SAFETY: the array is as long as the register.
        let numbers = unsafe { _mm_loadu_si128(numbers.as_ptr().cast()) };
        _mm_cmplt_epu16_mask(numbers, _mm_set1_epi16(key.cast_signed())).count_ones()
    }

    /// Returns how many of the numbers are at most `key`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn count_not_above(numbers: &[u32; GROUP], key: u32) -> u32 {
        // SAFETY: the array is as long as the register.
        let numbers = unsafe { _mm512_loadu_si512(numbers.as_ptr().cast()) };
        _mm512_cmple_epu32_mask(numbers, _mm512_set1_epi32(key.cast_signed())).count_ones()
    }

    /// Returns which numbers are equal to those of a pair in turn, one bit each.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn numbers_equal(line: &[u64; KEYS], pair: [u64; 2]) -> u32 {
        // SAFETY: a line is as long as the register.
        let numbers = unsafe { _mm512_loadu_si512(line.as_ptr().cast()) };
        let pair = _mm_set_epi64x(pair[1].cast_signed(), pair[0].cast_signed());
        _mm512_cmpeq_epi64_mask(numbers, _mm512_broadcast_i64x2(pair)).into()
    }

    /// Returns which of the 32 numbers of a line are at least `key`, one bit each, loaded as [for
    /// AVX2](super::super::avx2).
    ///
    /// # Safety
    /// [`LINE`](super::LINE) bytes must be readable at `line`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) unsafe fn at_least(line: *const u8, key: u16) -> u32 {
        let key = _mm512_set1_epi16(key.cast_signed());
        let at_least: u32;
        // SAFETY: it reads the bytes that the caller promises, and does nothing that relaxed loads
        // would not.
        unsafe {
            asm!(
                "vpcmpuw {at_least}, {key}, zmmword ptr [{line}], 2", // key <= number
                at_least = lateout(kreg) at_least,
                key = in(zmm_reg) key,
                line = in(reg) line,
                options(pure, readonly, nostack, preserves_flags),
            );
        }
        at_least
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn lanes_of_kind(words: &[u32; GROUP], mask: u32, kind: u32) -> u16 {
        // SAFETY: the array is as long as the register.
        let words = unsafe { _mm512_loadu_si512(words.as_ptr().cast()) };
        let words = _mm512_and_si512(words, _mm512_set1_epi32(mask.cast_signed()));
        _mm512_cmpeq_epi32_mask(words, _mm512_set1_epi32(kind.cast_signed()))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn first_16_and_32(addresses: &[u128; GROUP]) -> ([u32; GROUP], [u32; GROUP]) {
        let quarters: *const __m512i = addresses.as_ptr().cast();
        // SAFETY: 16 addresses are four registers.
        let (a, b, c, d) = unsafe {
            (
                _mm512_loadu_si512(quarters),
                _mm512_loadu_si512(quarters.add(1)),
                _mm512_loadu_si512(quarters.add(2)),
                _mm512_loadu_si512(quarters.add(3)),
            )
        };
        let odd = _mm512_set_epi64(15, 13, 11, 9, 7, 5, 3, 1);
        let (low, high) = (_mm512_permutex2var_epi64(a, odd, b), _mm512_permutex2var_epi64(c, odd, d));
        let first = narrowed(_mm512_srli_epi64::<48>(low), _mm512_srli_epi64::<48>(high));
        let after = narrowed(_mm512_srli_epi64::<16>(low), _mm512_srli_epi64::<16>(high));
        (first, after)
    }

    /// Returns the low halves of 16 lanes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn narrowed(low: __m512i, high: __m512i) -> [u32; GROUP] {
        let low = _mm512_castsi256_si512(_mm512_cvtepi64_epi32(low));
        let lanes = _mm512_inserti64x4::<1>(low, _mm512_cvtepi64_epi32(high));
        let mut narrowed = [0; GROUP];
        // SAFETY: the array is as long as the register.
        unsafe { _mm512_storeu_si512(narrowed.as_mut_ptr().cast(), lanes) };
        narrowed
    }

    /// Returns whether this is an AMD processor of family 1Ah, which is Zen 5, or later. On Zen 4
    /// gathers are slower than loads; other processors were not measured.
    pub(super) fn gathers_fast() -> bool {
        /// 0 before the processor was asked, then 1 for no and 2 for yes. Threads that ask at the
        /// same time find the same, so there is nothing to lock.
        static ANSWER: AtomicU8 = AtomicU8::new(0);
        match ANSWER.load(Ordering::Relaxed) {
            0 => {
                let fast = is_zen_5_or_later();
                ANSWER.store(1 + u8::from(fast), Ordering::Relaxed);
                fast
            }
            answer => answer == 2,
        }
    }

    #[cold]
    fn is_zen_5_or_later() -> bool {
        // SAFETY: every processor of 64 bits has the instruction.
        #[allow(unused_unsafe, reason = "safe in later versions of Rust than the least")]
        let (vendor, signature) = unsafe { (__cpuid(0), __cpuid(1).eax) };
        let vendor = [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes);
        let family = (signature >> 8 & 0xF) + (signature >> 20 & 0xFF);
        vendor.as_flattened() == b"AuthenticAMD" && family >= 0x1A
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn gather(
        words: &[Published<u32>],
        places: &[u32; GROUP],
        outside: &[u32; GROUP],
    ) -> [u32; GROUP] {
        // The processor reads indexes as signed.
        let count = i32::try_from(words.len()).unwrap_or(i32::MAX);
        // SAFETY: both arrays are as long as the register.
        let (places, mut gathered) = unsafe {
            (_mm512_loadu_si512(places.as_ptr().cast()), _mm512_loadu_si512(outside.as_ptr().cast()))
        };
        let inside = _mm512_cmplt_epu32_mask(places, _mm512_set1_epi32(count));
        // SAFETY: it reads words of the slice, each as a relaxed load would. What a loaded word
        // leads to was written before that word, and x86 keeps loads in order.
        // Not `pure`: independent gathers must stay in program order, or the compiler would take
        // each lane through all arrays before it begins the next.
        unsafe {
            asm!(
                "vpgatherdd {gathered} {{{inside}}}, dword ptr [{words} + 4 * {places}]",
                gathered = inout(zmm_reg) gathered,
                inside = inout(kreg) inside => _,
                words = in(reg) words.as_ptr(),
                places = in(zmm_reg) places,
                options(readonly, nostack, preserves_flags),
            );
        }
        let mut found = [0; GROUP];
        // SAFETY: the array is as long as the register.
        unsafe { _mm512_storeu_si512(found.as_mut_ptr().cast(), gathered) };
        found
    }
}

pub(super) fn detected() -> bool {
    super::avx2::detected()
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512cd")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
}

pub(super) fn run<K: Kernel>(_proof: Level, kernel: K) -> K::Output {
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,lzcnt,popcnt")]
    #[inline(never)]
    fn compiled<K: Kernel>(kernel: K) -> K::Output {
        kernel.run(Avx512(()))
    }
    // SAFETY: a `Level` of this set exists only where `detected()` was true.
    unsafe { compiled(kernel) }
}

pub(super) fn function<F: Function>() -> Pointer<F> {
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn compiled<F: Function>(table: &F::Table, key: F::Key) -> F::Output {
        F::call(Avx512(()), table, key)
    }
    compiled::<F>
}
