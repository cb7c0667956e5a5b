//! The steps that several engines share, each named for what it does, so that no two engines carry
//! the same code.

#![forbid(unsafe_code)]

pub mod chunks;
pub mod entry;
pub(crate) mod fallback;
pub mod levels;
pub mod linear_tree;
pub mod parallel;
#[cfg(any(test, feature = "engines"))]
pub mod patricia;
pub mod pipeline;
pub mod rank;
pub mod reached;
pub mod retired;
pub mod unanswered;
pub mod unique;
