//! x86-64-v3: AVX2 with the bit-manipulation instructions every such processor has beside it.
#![allow(unsafe_code, reason = "calling code compiled for more than the baseline instruction set")]

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
    fn at_most(self, keys: &super::KeyWords, key: u16) -> u32 {
        // SAFETY: this set is made only where it was detected.
        unsafe { x86_64::at_most(keys, key) }
    }
}

#[cfg(target_arch = "x86_64")]
#[allow(clippy::wildcard_imports, reason = "the names of intrinsics say where they come from")]
pub(super) mod x86_64 {
    use super::super::KeyWords;
    use std::arch::asm;
    use std::arch::x86_64::*;

    /// All words at once, each as by a relaxed load. The compiler knows no vector load of what others may write; to the processor it
    /// is one like any other.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(in super::super) fn load(words: &KeyWords) -> __m256i {
        let loaded;
        // SAFETY: it reads the 32 bytes of the array and does nothing that eight relaxed loads would not: this architecture never
        // reads an aligned word of 4 bytes in parts, in a vector neither.
        unsafe {
            asm!(
                "vmovdqu {loaded}, ymmword ptr [{words}]",
                loaded = lateout(ymm_reg) loaded,
                words = in(reg) words,
                options(pure, readonly, nostack, preserves_flags),
            );
        }
        loaded
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn at_most(keys: &KeyWords, key: u16) -> u32 {
        let keys = load(keys);
        let key = _mm256_set1_epi16(key.cast_signed());
        let at_most = _mm256_cmpeq_epi16(_mm256_max_epu16(keys, key), key);
        let (low, high) = (_mm256_castsi256_si128(at_most), _mm256_extracti128_si256::<1>(at_most));
        _mm_movemask_epi8(_mm_packs_epi16(low, high)).cast_unsigned()
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
