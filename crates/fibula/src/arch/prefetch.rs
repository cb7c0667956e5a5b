//! Prefetching a cache line before it is needed.
#![allow(unsafe_code, reason = "the prefetch instruction is an intrinsic")]

/// Prefetches the cache line of `slice[index]`. This is only a hint: it never faults, whatever the
/// index, and does nothing where the architecture has no such instruction.
#[inline(always)]
pub fn prefetch<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let address = slice.as_ptr().wrapping_add(index);
        // SAFETY: a prefetch has no visible effect and ignores addresses that are not mapped.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}
