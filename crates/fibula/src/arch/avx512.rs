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
