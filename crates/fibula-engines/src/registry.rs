//! The registry: every engine of this crate, one line each.

use fibula::engine::{Config, Entry};
use fibula::{Address, Error, Fib, Rib};
use std::sync::LazyLock;

fibula::registry! {
    sail_b: crate::sail_b::ABOUT, [ipv4] crate::sail_b::SailB;
    sail_u: crate::sail_u::ABOUT, [ipv4] crate::sail_u::SailU;
    sail_l: crate::sail_l::ABOUT, [ipv4] crate::sail_l::SailL;
    sail_l6: crate::sail_l6::ABOUT, [ipv6] crate::sail_l6::SailL6;
    sail_m: crate::sail_m::ABOUT, [ipv4] crate::sail_m::Replicated;
    dxr: crate::dxr::ABOUT, [ipv4] crate::dxr::Dxr;
    dxr16: crate::dxr::DXR16, [ipv4] crate::dxr::Dxr;
    dxr18: crate::dxr::DXR18, [ipv4] crate::dxr::Dxr;
    tree_bitmap: crate::tree_bitmap::ABOUT, [ipv4 ipv6] crate::tree_bitmap::TreeBitmap;
    hybrid: crate::hybrid::ABOUT, [ipv4] crate::hybrid::Hybrid;
    lc_trie: crate::lc_trie::ABOUT, [ipv4 ipv6] crate::lc_trie::LcTrie;
    lulea: crate::lulea::ABOUT, [ipv4] crate::lulea::Lulea;
    pbf: crate::pbf::ABOUT, [ipv4] crate::pbf::Pbf;
    bloom_naive: crate::bloom_naive::ABOUT, [ipv4] crate::bloom_naive::BloomNaive;
    bloom_base: crate::bloom::BASE, [ipv4] crate::bloom::BloomBase;
    bloom: crate::bloom::ABOUT, [ipv4] crate::bloom::Bloom;
    planb: crate::planb::ABOUT, [ipv6] crate::planb::PlanB;
    triec: crate::triec::ABOUT, [ipv6] crate::triec::TrieC;
    miht: crate::miht::ABOUT, [ipv4] crate::miht::Miht4;
    miht6: crate::miht::MIHT6, [ipv6] crate::miht::Miht6;
    bloom6_naive: crate::bloom_naive::ABOUT6, [ipv6] crate::bloom_naive::Bloom6Naive;
    bloom6: crate::bloom6::ABOUT, [ipv6] crate::bloom6::Bloom6;
}

/// Returns every engine of fibula and of this crate, fibula's first.
#[must_use]
pub fn all() -> &'static [Entry] {
    static ALL: LazyLock<Vec<Entry>> = LazyLock::new(|| [fibula::engine::ENGINES, ENGINES].concat());
    &ALL
}

/// Compiles a table with any engine of fibula and of this crate, as [`Fib::build`] does with
/// fibula's own.
///
/// # Errors
/// See [`Fib::build`].
pub fn build<A: Address>(specification: &str, rib: &Rib<A>) -> Result<Fib<A>, Error> {
    Fib::build_from(all(), specification, rib, Config::default())
}
