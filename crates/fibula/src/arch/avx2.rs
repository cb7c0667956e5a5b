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
