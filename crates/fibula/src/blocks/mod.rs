//! The steps that several papers share, named for what they are, so that no two engines carry the same code.

#![forbid(unsafe_code)]

pub mod bloom;
pub mod buckets;
pub mod by_length;
pub mod chunks;
pub mod dense;
pub mod dpcpe;
pub mod entry;
pub mod expanded;
pub mod expansion;
pub mod filtered;
pub mod hashing;
pub mod parallel;
pub mod patricia;
pub mod pipeline;
pub mod pivot;
pub mod probing;
pub mod pushing;
pub mod rank;
pub mod reached;
pub mod retired;
pub mod settling;
pub mod sparse;
pub mod tree_bitmap;
pub mod unique;
