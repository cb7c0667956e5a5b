//! Prefetching a cache line before it is needed.
#![allow(unsafe_code, reason = "the prefetch instruction is an intrinsic, or assembly")]

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
    #[cfg(target_arch = "aarch64")]
    {
        let address = slice.as_ptr().wrapping_add(index);
        // SAFETY: a prefetch has no visible effect and ignores addresses that are not mapped.
        unsafe {
            std::arch::asm!(
                "prfm pldl1keep, [{address}]",
                address = in(reg) address,
                options(readonly, nostack, preserves_flags),
            );
        }
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = (slice, index);
}
