//! The layouts: the constants that make a [`Table`] the structure of a paper, and their
//! descriptions.

use super::{NEXT_HOPS_MAX, PARTS, Table};
#[cfg(feature = "papers")]
use super::{bloom, sail};
use crate::host::{self, Bodies};
use crate::key::Key;
use fibula::engine::{About, Entry, Updates};
use fibula::engine_entry;

/// The constants of one layout.
pub trait Layout: Clone + std::fmt::Debug + Send + Sync + 'static {
    /// The addresses that it looks up.
    type Address: Key;
    /// The number of address bits that index the root. The rest is a multiple of the stride, or
    /// that and the bits of the last level.
    const ROOT_BITS: u8;
    /// Whether leaves are used wherever no more-specific route follows; else only at the last
    /// level.
    const LEAVES_ANYWHERE: bool;
    /// Whether a block with a single path through it is a chain.
    const CHAINS: bool;
    /// The name of its kernels, before the width.
    const KERNEL: &'static str;
    /// The same bodies, compiled for the host.
    const BODIES: &'static Bodies;
    /// The paper's names of the parts; an empty name for a part that it does not have.
    const PART_NAMES: [&'static str; PARTS];
    /// Its description as an engine.
    const ABOUT: &'static About;
}

macro_rules! layouts {
    ($($(#[$page:meta])* $layout:ident $table:ident [$family:ident $address:ty], $root_bits:literal + $nodes:literal + $ends:literal,
        $leaves_anywhere:literal $chains:literal, $kernel:ident, $parts:expr, $name:literal, $year:literal, $paper:literal;)+) => {
        $(
            $(#[$page])*
            #[derive(Clone, Copy, Debug)]
            pub struct $layout;

            impl Layout for $layout {
                type Address = $address;
                const ROOT_BITS: u8 = $root_bits;
                const LEAVES_ANYWHERE: bool = $leaves_anywhere;
                const CHAINS: bool = $chains;
                const KERNEL: &'static str = stringify!($kernel);
                const BODIES: &'static Bodies = &host::$kernel;
                const PART_NAMES: [&'static str; PARTS] = $parts;
                const ABOUT: &'static About = &About {
                    name: $name,
                    paper: $paper,
                    year: $year,
                    updates: Updates::InPlace,
                    next_hops_max: NEXT_HOPS_MAX,
                    ..About::DEFAULT
                };
            }

            #[doc = concat!("A table in the layout [`", stringify!($layout), "`].")]
            pub type $table<W> = Table<$layout, W, $nodes, $ends>;
        )+

        /// The layouts as engines: each kernel's twin.
        pub static ENGINES: &[Entry] = &[
            $(engine_entry!(*$layout::ABOUT, [$family] $table),)+
            #[cfg(feature = "papers")]
            engine_entry!(sail::ABOUT, [ipv4] sail::SailLPrintedTable),
            #[cfg(feature = "papers")]
            engine_entry!(bloom::ABOUT, [ipv4] bloom::BloomTable),
        ];

        /// The names of the kernels, before the width.
        pub const KERNELS: &[&str] = &[
            $($layout::KERNEL,)+
            #[cfg(feature = "papers")]
            sail::KERNEL,
            #[cfg(feature = "papers")]
            bloom::KERNEL,
        ];

        /// Calls `$callback!` with `identifier [family]` for each, so that the engine suite covers
        /// them. With the feature `papers`.
        #[cfg(feature = "papers")]
        #[doc(hidden)]
        #[macro_export]
        macro_rules! for_each_layout {
            ($callback:ident) => { $callback! {
                gpu_dir24_8 [ipv4]
                gpu_sail_l [ipv4]
                gpu_mosaic [ipv4]
                gpu_mosaic6 [ipv6]
                gpu_sail_l_printed [ipv4]
                gpu_bloom [ipv4]
            } };
        }
    };
}

layouts! {
    /// DIR-24-8-BASIC. Entries are 32 bits wide and equal blocks of TBLlong are stored once;
    /// otherwise as in the paper.
    Dir24_8 Dir24_8Table [ipv4 u32], 24 + 256 + 256, false false, dir24_8, ["TBL24", "", "TBLlong", "", ""], "gpu-dir24-8", 1998,
        "Gupta, Lin, McKeown, Routing Lookups in Hardware at Memory Access Speeds, INFOCOM 1998, as a CUDA kernel";
    /// SAIL_L with one array a level. An entry of 32 bits is a next hop or the number of a chunk,
    /// on level 24 as on level 16. The paper has two arrays on level 24, BN24 and C24, with next
    /// hops of 8 bits. Equal chunks are stored once, where each of the paper's has its own.
    SailL SailLTable [ipv4 u32], 16 + 256 + 256, false false, sail_l, ["BCN16", "BCN24", "N32", "", ""], "gpu-sail-l", 2014,
        "Yang, Xie, et al., Guarantee IP Lookup Performance with FIB Explosion, SIGCOMM 2014 (SAIL_L on a GPU, section 5.3)";
    /// fibula's own for IPv4: two reads, from a root of one megabyte and few leaves.
    Mosaic MosaicTable [ipv4 u32], 18 + 64 + 256, true false, mosaic, ["root", "nodes", "leaves", "", "ends"], "gpu-mosaic", 2026,
        "fibula: two reads from leaves kept once, as a CUDA kernel";
    /// fibula's own for IPv6: eight bits at a time, exact for every length.
    Mosaic6 Mosaic6Table [ipv6 u128], 16 + 256 + 256, true true, mosaic6, ["root", "nodes", "leaves", "chains", ""], "gpu-mosaic6", 2026,
        "fibula: eight bits at a time, nodes and leaves kept once, as a CUDA kernel";
}
