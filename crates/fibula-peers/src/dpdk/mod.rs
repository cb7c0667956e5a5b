//! DPDK's tables, from the system's packages. Its environment runs without huge pages unless the
//! first table is built with them (`--pages huge`), on vectors of up to 512 bits.
#![allow(unsafe_code, reason = "a C library")]

mod tables;

use fibula::engine::{About, Entry, Updates};
use fibula::engine_entry;

/// All engines of DPDK.
pub(crate) static ENGINES: [Entry; 5] = [
    engine_entry!(FIB, [ipv4] tables::Fib),
    engine_entry!(LPM, [ipv4] tables::Lpm),
    engine_entry!(LPM_X4, [ipv4] tables::LpmX4),
    engine_entry!(FIB6, [ipv6] tables::Fib6),
    engine_entry!(LPM6, [ipv6] tables::Lpm6),
];

const fn about(name: &'static str, paper: &'static str, next_hop_bits: u32) -> About {
    let next_hops_max = (1 << next_hop_bits) - 1;
    About { name, paper, year: 2022, updates: Updates::InPlace, next_hops_max, ..About::DEFAULT }
}

macro_rules! dpdk {
    ($what:literal) => {
        concat!("DPDK ", env!("DPDK_VERSION"), " ", $what)
    };
}

static FIB: About = about("peer:dpdk-fib", dpdk!("rte_fib, DIR24_8"), 31);
static LPM: About = about("peer:dpdk-lpm", dpdk!("rte_lpm, bulk"), 24);
static LPM_X4: About = about("peer:dpdk-lpm-x4", dpdk!("rte_lpm, x4"), 24);
static FIB6: About = about("peer:dpdk-fib6", dpdk!("rte_fib6, trie"), 31);
static LPM6: About = about("peer:dpdk-lpm6", dpdk!("rte_lpm6, bulk"), 21);
