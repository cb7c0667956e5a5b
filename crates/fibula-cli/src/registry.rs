//! The engines that commands know: fibula's own, those of the papers and, with the features `gpu`
//! and `peers`, the twins of its kernels and other people's.

use crate::commands::device;
use fibula::engine::Entry;
use std::sync::LazyLock;

/// Returns all engines, fibula's own first.
pub(crate) fn engines() -> &'static [Entry] {
    static ALL: LazyLock<Vec<Entry>> =
        LazyLock::new(|| [fibula_engines::all(), device::ENGINES, &peers()].concat());
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

/// Returns the feature that adds the engine that `message` does not find, if this program was built
/// without it.
pub(crate) fn lacking(message: &str) -> Option<&'static str> {
    let features = [("gpu", "gpu-", cfg!(feature = "gpu")), ("peers", "peer:", cfg!(feature = "peers"))];
    let lacks = |&&(_, begin, built): &&(_, &str, bool)| {
        !built && message.starts_with(&format!("no engine \"{begin}"))
    };
    features.iter().find(lacks).map(|&(feature, ..)| feature)
}
