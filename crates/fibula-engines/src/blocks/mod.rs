//! The steps that several papers share, each named for what it does, so that no two engines carry
//! the same code. fibula has those that its own engines use.

pub mod bloom;
pub mod buckets;
pub mod by_length;
pub mod chains;
pub mod dense;
pub mod dpcpe;
pub mod expanded;
pub mod expansion;
pub mod filtered;
pub mod hashing;
pub mod pivot;
pub mod probing;
pub mod pushing;
pub mod sparse;
pub mod table;
pub mod tree_bitmap;
