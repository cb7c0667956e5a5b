//! The building blocks that several papers share, each named for what it does, so that no two
//! engines carry the same code.

#![forbid(unsafe_code)]

#[cfg(feature = "papers")]
pub mod bloom;
#[cfg(feature = "papers")]
pub mod buckets;
#[cfg(feature = "papers")]
pub mod by_length;
pub mod chunks;
pub mod dense;
#[cfg(feature = "papers")]
pub mod dpcpe;
pub mod entry;
#[cfg(feature = "papers")]
pub mod expanded;
pub mod expansion;
#[cfg(feature = "papers")]
pub mod filtered;
pub mod hashing;
pub mod levels;
pub mod linear_tree;
pub mod parallel;
pub mod patricia;
pub mod pipeline;
#[cfg(feature = "papers")]
pub mod pivot;
#[cfg(feature = "papers")]
pub mod probing;
pub mod pushing;
pub mod rank;
pub mod reached;
pub mod retired;
#[cfg(feature = "papers")]
pub mod settling;
#[cfg(feature = "papers")]
pub mod sparse;
#[cfg(feature = "papers")]
pub mod tree_bitmap;
pub mod unanswered;
pub mod unique;
