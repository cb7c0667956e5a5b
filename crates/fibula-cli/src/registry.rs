//! The engines that commands know: fibula's own and, with the feature `peers`, other people's.

use fibula::engine::Entry;

/// All of them, fibula's first.
#[cfg(feature = "peers")]
pub(crate) fn engines() -> &'static [Entry] {
    fibula_peers::engines()
}

/// All of them.
#[cfg(not(feature = "peers"))]
pub(crate) fn engines() -> &'static [Entry] {
    fibula::engine::ENGINES
}
