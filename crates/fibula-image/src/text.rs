//! The text of the lookups, for compilers that are given no files.

/// What every lookup shares, then each lookup. A file's `#include` lines name only earlier ones.
pub const LOOKUPS: [&str; 7] = [
    include_str!("../kernels/table.h"),
    include_str!("../kernels/dir24_8.h"),
    include_str!("../kernels/sail_l.h"),
    include_str!("../kernels/sail_l_printed.h"),
    include_str!("../kernels/mosaic.h"),
    include_str!("../kernels/mosaic6.h"),
    include_str!("../kernels/bloom.h"),
];

/// The list of kernels: a line for each layout and width, as a call of the macro `FIBULA_KERNEL`.
pub const EVERY: &str = include_str!("../kernels/every.h");
