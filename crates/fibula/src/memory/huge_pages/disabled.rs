//! Systems without `madvise(MADV_HUGEPAGE)`: pages stay as they are.

use std::ptr::NonNull;

/// Does nothing: there are only small pages here.
pub(super) fn advise(_start: NonNull<u8>, _bytes: usize) {}
