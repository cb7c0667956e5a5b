//! The engines, one module each: the paper it comes from, its layout drawn, a worked example, its limits, and
//! what was changed and why.

#![forbid(unsafe_code)]

pub mod bloom;
pub mod bloom6;
pub mod bloom_naive;
pub mod dir24_8;
pub mod dxr;
pub mod hybrid;
pub mod lc_trie;
pub mod lulea;
pub mod miht;
pub mod mosaic;
pub mod mosaic6;
pub mod oracle;
pub mod poptrie;
pub mod radix;
pub mod sail_b;
pub mod sail_l;
pub mod sail_l6;
pub mod sail_m;
pub mod sail_u;
#[cfg(test)]
mod testing;
pub mod tree_bitmap;
pub mod triec;
