//! The steps that several papers share, named for what they are, so that no two engines carry the same code.

pub mod chunks;
pub mod rank;
