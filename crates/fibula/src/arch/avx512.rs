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
    fn first_at_least<T: crate::memory::Shareable>(self, line: &[T::Atomic], among: u32, key: u16) -> u32 {
        assert_eq!(size_of_val(line), super::LINE, "bytes of a line");
        // SAFETY: this set is made only where it was detected, and the line has the bytes that are compared.
        let at_least = unsafe { x86_64::at_least(line.as_ptr().cast(), key) };
        (at_least & among).trailing_zeros()
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn after_16(self, addresses: &[u128; super::GROUP]) -> [u32; super::GROUP] {
        // SAFETY: this set is made only where it was detected.
        unsafe { x86_64::after_16(addresses) }
    }
}

#[cfg(target_arch = "x86_64")]
#[allow(clippy::wildcard_imports, reason = "the names of intrinsics say where they come from")]
mod x86_64 {
    use super::super::GROUP;
    use std::arch::asm;
    use std::arch::x86_64::*;

    /// Which of the 32 numbers of a line are at least `key`, loaded as [for AVX2](super::super::avx2).
    ///
    /// # Safety
    /// There are [`LINE`](super::LINE) bytes to be read.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) unsafe fn at_least(line: *const u8, key: u16) -> u32 {
        let key = _mm512_set1_epi16(key.cast_signed());
        let at_least: u32;
        // SAFETY: it reads the bytes that the caller promises, and does nothing that relaxed loads would not.
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
    pub(super) fn after_16(addresses: &[u128; GROUP]) -> [u32; GROUP] {
        let halves: *const __m512i = addresses.as_ptr().cast();
        // SAFETY: 16 addresses are four registers.
        let [a, b, c, d] = [0, 1, 2, 3].map(|at| unsafe { _mm512_loadu_si512(halves.add(at)) });
        let odd = _mm512_set_epi64(15, 13, 11, 9, 7, 5, 3, 1);
        let high = [_mm512_permutex2var_epi64(a, odd, b), _mm512_permutex2var_epi64(c, odd, d)];
        let [low, high] = high.map(|lanes| _mm512_cvtepi64_epi32(_mm512_srli_epi64::<16>(lanes)));
        let taken = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high);
        let mut bits = [0; GROUP];
        // SAFETY: the array is as long as the register.
        unsafe { _mm512_storeu_si512(bits.as_mut_ptr().cast(), taken) };
        bits
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
