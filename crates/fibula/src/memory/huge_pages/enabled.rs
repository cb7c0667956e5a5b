//! Transparent huge pages by `madvise` (Linux).
#![allow(unsafe_code, reason = "madvise is a system call")]

use std::ptr::NonNull;

/// Asks the kernel to back these bytes with huge pages. If the kernel does not, that is no error:
/// the pages are just small.
pub(super) fn advise(start: NonNull<u8>, bytes: usize) {
    // SAFETY: the caller passes one allocation of its own. MADV_HUGEPAGE changes no byte of it, and
    // a refusal is only a return value.
    let _refused = unsafe { libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_HUGEPAGE) };
}
