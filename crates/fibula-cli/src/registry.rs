//! The engines that commands know: fibula's own, the twins of its kernels and, with the feature
//! `peers`, other people's.

use fibula::engine::{ENGINES, Entry};
use std::sync::LazyLock;

/// Returns all engines, fibula's own first.
pub(crate) fn engines() -> &'static [Entry] {
    static ALL: LazyLock<Vec<Entry>> = LazyLock::new(|| [ENGINES, fibula_gpu::ENGINES, &peers()].concat());
    &ALL
}

#[cfg(feature = "peers")]
fn peers() -> Vec<Entry> {
    fibula_peers::peers()
}

#[cfg(not(feature = "peers"))]
fn peers() -> Vec<Entry> {
    Vec::new()
}
