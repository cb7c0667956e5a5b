//! Transparent huge pages by `madvise`, where the system has it.
#![allow(unsafe_code, reason = "madvise is a system call")]

use std::ptr::NonNull;

/// Asks Linux to back these bytes with huge pages. If it does not, that is no error: the pages are
/// just small. Does nothing on other systems.
pub(super) fn advise(start: NonNull<u8>, bytes: usize) {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: this advice changes no byte of any range. A refusal is only a return value.
        let _refused = unsafe { libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_HUGEPAGE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (start, bytes);
}
