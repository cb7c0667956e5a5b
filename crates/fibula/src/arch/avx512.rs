//! x86-64-v4: the AVX-512 subsets F, BW, CD, DQ and VL on top of AVX2.
#![allow(unsafe_code, reason = "calling code compiled for more than the baseline instruction set")]

use super::{Isa, Kernel, Level};

/// AVX-512 F, BW, CD, DQ and VL, with all of [`super::Avx2`].
///
/// Only [`dispatch`](super::dispatch) makes one, where the processor has them.
#[derive(Clone, Copy, Debug)]
pub struct Avx512(());

impl Isa for Avx512 {
    const NAME: &'static str = "avx512";

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn crc32c(self, key: u64) -> u32 {
        // SAFETY: this set is made only where it was detected, and SSE 4.2 is part of AVX2.
        unsafe { super::crc32::by_instruction(key) }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn at_most(self, keys: &super::KeyWords, key: u16) -> u32 {
        // SAFETY: this set is made only where it was detected.
        unsafe { x86_64::at_most(keys, key) }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn split(self, addresses: &[u128; super::GROUP]) -> [[u32; super::GROUP]; 2] {
        // SAFETY: this set is made only where it was detected.
        unsafe { x86_64::split(addresses) }
    }
}

#[cfg(target_arch = "x86_64")]
#[allow(clippy::wildcard_imports, reason = "the names of intrinsics say where they come from")]
mod x86_64 {
    use super::super::avx2::x86_64::load;
    use super::super::{GROUP, KeyWords};
    use std::arch::x86_64::*;

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn at_most(keys: &KeyWords, key: u16) -> u32 {
        let keys = load(keys);
        _mm256_cmple_epu16_mask(keys, _mm256_set1_epi16(key.cast_signed())).into()
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn split(addresses: &[u128; GROUP]) -> [[u32; GROUP]; 2] {
        let halves: *const __m512i = addresses.as_ptr().cast();
        // SAFETY: 16 addresses are four registers.
        let [a, b, c, d] = [0, 1, 2, 3].map(|at| unsafe { _mm512_loadu_si512(halves.add(at)) });
        let odd = _mm512_set_epi64(15, 13, 11, 9, 7, 5, 3, 1);
        let high = [_mm512_permutex2var_epi64(a, odd, b), _mm512_permutex2var_epi64(c, odd, d)];
        let join = |low, high| _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high);
        let narrow =
            |lanes: [__m512i; 2]| join(_mm512_cvtepi64_epi32(lanes[0]), _mm512_cvtepi64_epi32(lanes[1]));
        let first = narrow(high.map(|lanes| _mm512_srli_epi64::<48>(lanes)));
        let then = narrow(high.map(|lanes| _mm512_srli_epi64::<16>(lanes)));
        let mut split = [[0; GROUP]; 2];
        // SAFETY: the arrays are as long as the registers.
        unsafe {
            _mm512_storeu_si512(split[0].as_mut_ptr().cast(), first);
            _mm512_storeu_si512(split[1].as_mut_ptr().cast(), then);
        }
        split
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) fn detected() -> bool {
    super::avx2::detected()
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512cd")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
}

#[cfg(target_arch = "x86_64")]
pub(super) fn run<K: Kernel>(_proof: Level, kernel: K) -> K::Output {
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn compiled<K: Kernel>(kernel: K) -> K::Output {
        kernel.run(Avx512(()))
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
    kernel.run(Avx512(()))
}
