//! Other people's engines as engines of this project, only to be measured: in the same loop, on the
//! same tables, each checked by the same oracle first. Nothing here is part of fibula's own
//! answers. Every peer is behind a feature, and no feature is on by default.
//!
//! | name | feature | what it is |
//! | --- | --- | --- |
//! | `peer:dpdk-fib` | `dpdk` | DPDK's `rte_fib`, DIR-24-8, next hops of 1, 2 or 4 bytes (IPv4) |
//! | `peer:dpdk-lpm` | `dpdk` | DPDK's `rte_lpm`, bulk lookup (IPv4) |
//! | `peer:dpdk-lpm-x4` | `dpdk` | the same table, four addresses a call (IPv4) |
//! | `peer:dpdk-fib6` | `dpdk` | DPDK's `rte_fib6`, trie with next hops of 2 or 4 bytes (IPv6) |
//! | `peer:dpdk-lpm6` | `dpdk` | DPDK's `rte_lpm6`, bulk lookup (IPv6) |
//! | `peer:treebitmap` | `crates` | the crate `treebitmap` (both) |
//! | `peer:prefix-trie` | `crates` | the crate `prefix-trie` (both) |
//! | `peer:bart` | `bart` | Go's `bart`, its `Fast` table, the loop over a batch inside Go (both) |
//!
//! With `bart` there is a `Collector` too, which `examples/collector.rs` measures beside a BMP
//! station.

#[cfg(feature = "bart")]
mod bart;
#[cfg(feature = "crates")]
mod crates;
#[cfg(feature = "dpdk")]
mod dpdk;

#[cfg(feature = "bart")]
pub use bart::{Collector, PeerRoute};

use fibula::engine::{ENGINES, Entry};
use std::sync::LazyLock;

/// The peers that the features enable.
#[must_use]
pub fn peers() -> Vec<Entry> {
    let all: &[&[Entry]] = &[
        #[cfg(feature = "dpdk")]
        &dpdk::ENGINES,
        #[cfg(feature = "crates")]
        &crates::ENGINES,
        #[cfg(feature = "bart")]
        &bart::ENGINES,
    ];
    all.concat()
}

/// Returns fibula's own engines and after them the peers.
///
/// ```
/// use fibula::engine::ENGINES;
/// assert!(fibula_peers::engines().len() >= ENGINES.len());
/// ```
#[must_use]
pub fn engines() -> &'static [Entry] {
    static ALL: LazyLock<Vec<Entry>> = LazyLock::new(|| ENGINES.iter().copied().chain(peers()).collect());
    &ALL
}
