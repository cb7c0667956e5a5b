//! x86-64-v3: AVX2 with the bit-manipulation instructions every such processor has beside it.
#![allow(unsafe_code, reason = "calling code compiled for more than the baseline instruction set")]

#[cfg(target_arch = "x86_64")]
use super::strides::GROUP;
use super::{Isa, Kernel, Level};

/// AVX2, BMI1, BMI2, LZCNT, POPCNT.
///
/// Only [`dispatch`](super::dispatch) makes one, where the processor has them.
#[derive(Clone, Copy, Debug)]
pub struct Avx2(());

impl Isa for Avx2 {
    const NAME: &'static str = "avx2";

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn crc32c(self, key: u64) -> u32 {
        // SAFETY: this set is made only where it was detected, and SSE 4.2 is part of AVX2.
        unsafe { super::crc32::by_instruction(key) }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn at_most(self, keys: &[u16; 16], key: u16) -> u32 {
        // SAFETY: this set is made only where it was detected.
        unsafe { x86_64::at_most(keys, key) }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn descend<const N: usize>(
        self,
        words: &[u32],
        at: &mut [[u32; GROUP]; N],
        rest: &mut [[u32; GROUP]; N],
    ) {
        // SAFETY: this set is made only where it was detected.
        unsafe { x86_64::descend(words, at, rest) }
    }
}

#[cfg(target_arch = "x86_64")]
#[allow(clippy::wildcard_imports, reason = "the names of intrinsics say where they come from")]
mod x86_64 {
    use super::super::strides::{ARRAYS, BASE, CODE, GROUP};
    use std::arch::x86_64::*;

    /// The lanes of a register, of which two make a group.
    const LANES: usize = 8;

    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn at_most(keys: &[u16; 16], key: u16) -> u32 {
        // SAFETY: the array is as long as the register.
        let keys = unsafe { _mm256_loadu_si256(keys.as_ptr().cast()) };
        let key = _mm256_set1_epi16(key.cast_signed());
        let at_most = _mm256_cmpeq_epi16(_mm256_max_epu16(keys, key), key);
        let (low, high) = (_mm256_castsi256_si128(at_most), _mm256_extracti128_si256::<1>(at_most));
        _mm_movemask_epi8(_mm_packs_epi16(low, high)).cast_unsigned()
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn descend<const N: usize>(
        words: &[u32],
        at: &mut [[u32; GROUP]; N],
        rest: &mut [[u32; GROUP]; N],
    ) {
        let Some(last) = words.len().checked_sub(1) else { return };
        let set1 = |value: u32| _mm256_set1_epi32(value.cast_signed());
        let last = set1(last.min(i32::MAX as usize) as u32);
        let (at, _) = at.as_flattened_mut().as_chunks_mut::<LANES>();
        let (rest, _) = rest.as_flattened_mut().as_chunks_mut::<LANES>();
        loop {
            let mut under_way = 0;
            for (at, rest) in at.iter_mut().zip(rest.iter_mut()) {
                // SAFETY: the arrays are as long as the registers.
                let (word, left) = unsafe {
                    (_mm256_loadu_si256(at.as_ptr().cast()), _mm256_loadu_si256(rest.as_ptr().cast()))
                };
                // Both sides are positive where the flag, which no array's word has, is not set.
                let on_array = _mm256_andnot_si256(
                    _mm256_srai_epi32::<31>(word),
                    _mm256_cmpgt_epi32(set1(ARRAYS), word),
                );
                let lanes = _mm256_movemask_ps(_mm256_castsi256_ps(on_array));
                if lanes == 0 {
                    continue;
                }
                under_way |= lanes;
                let stride = _mm256_add_epi32(_mm256_srli_epi32::<{ CODE.cast_signed() }>(word), set1(1));
                let base = _mm256_and_si256(_mm256_slli_epi32::<1>(word), set1(BASE << 1));
                let chosen = _mm256_srlv_epi32(left, _mm256_sub_epi32(set1(32), stride));
                let index = _mm256_min_epu32(_mm256_add_epi32(base, chosen), last);
                let left_after = _mm256_sllv_epi32(left, stride);
                // SAFETY: every index is at most the last one, and the stores are as the loads.
                unsafe {
                    let next = _mm256_mask_i32gather_epi32::<4>(word, words.as_ptr().cast(), index, on_array);
                    _mm256_storeu_si256(at.as_mut_ptr().cast(), next);
                    let left = _mm256_blendv_epi8(left, left_after, on_array);
                    _mm256_storeu_si256(rest.as_mut_ptr().cast(), left);
                }
            }
            if under_way == 0 {
                break;
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) fn detected() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
}

#[cfg(target_arch = "x86_64")]
pub(super) fn run<K: Kernel>(_proof: Level, kernel: K) -> K::Output {
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn compiled<K: Kernel>(kernel: K) -> K::Output {
        kernel.run(Avx2(()))
    }
    // SAFETY: a `Level` of this set exists only where `detected()` was true.
    unsafe { compiled(kernel) }
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn detected() -> bool {
    false
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn run<K: Kernel>(_proof: Level, kernel: K) -> K::Output {
    kernel.run(Avx2(()))
}
