//! The engines of the papers, behind the seam of [`fibula`].
//!
//! fibula keeps the engines that its choice takes. This crate has the others: what five papers and
//! the literature around them describe, each as its paper has it, to be measured beside the rest.
//! [`ENGINES`] lists them, and [`all`] puts them behind fibula's own. What takes a list of engines
//! takes either.
//!
//! ```
//! use fibula::{NextHop, Rib};
//! let mut rib: Rib<u32> = Rib::new();
//! rib.insert("192.0.2.0/24".parse()?, NextHop(7));
//! let fib = fibula_engines::build("dxr/k=20", &rib)?;
//! assert_eq!(fib.lookup(0xC000_0201_u32), Some(NextHop(7)));
//! # Ok::<(), fibula::Error>(())
//! ```
//!
//! | paper | engines |
//! | --- | --- |
//! | SAIL: Yang, Xie, et al., SIGCOMM 2014 | [`sail_b`], [`sail_u`], [`sail_l`], [`sail_m`] |
//! | what SAIL is compared with there | [`lulea`], [`lc_trie`], [`pbf`] |
//! | DXR: Zec, Rizzo, Mikuc, CCR 2012 | [`dxr`] |
//! | Bloom filters on many cores | [`bloom`], [`bloom6`], [`bloom_naive`], [`miht`] |
//! | TILEPro64: DIR-24-8, Tree Bitmap and their hybrid | [`tree_bitmap`], [`hybrid`] |
//! | TrieC for IPv6 on the IXP2800 | [`triec`] |
//! | SAIL for IPv6 | [`sail_l6`] |
//! | PlanB: Zhang, Liu, et al., NSDI 2026 | [`planb`] |
//!
//! [`blocks`] are the steps that several of them share. [`parallel`] has the papers' models of many
//! threads and one table.

#![forbid(unsafe_code)]

/// Defines a macro that evaluates one expression for the table inside an enum, whatever its layout:
/// `layouts!(($) with_table: Narrow, Wide)` lets an engine write `with_table!(&self.form,
/// Form::table => table.memory())`.
macro_rules! layouts {
    (($d:tt) $name:ident: $($variant:ident),+) => {
        macro_rules! $name {
            ($d layout:expr, $d layouts:ident::$d table:ident => $d result:expr) => {
                match $d layout {
                    $($d layouts::$variant($d table) => $d result),+
                }
            };
        }
    };
}

pub mod blocks;
pub mod bloom;
pub mod bloom6;
pub mod bloom_naive;
pub mod dxr;
pub mod hybrid;
pub mod lc_trie;
pub mod lulea;
pub mod miht;
pub mod parallel;
pub mod pbf;
pub mod planb;
#[cfg(not(test))]
mod registry;
pub mod sail_b;
pub mod sail_l;
pub mod sail_l6;
pub mod sail_m;
pub mod sail_u;
pub mod tree_bitmap;
pub mod triec;

#[cfg(not(test))]
pub use registry::{ENGINES, all, build};
// Unit tests that name an engine take it from the library: all engines at all widths would be
// compiled once more.
#[cfg(test)]
pub use fibula_engines::{ENGINES, all, build};
