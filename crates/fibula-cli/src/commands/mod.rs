//! The commands, one file or folder each.

pub(crate) mod completions;
pub(crate) mod engines;
pub(crate) mod lookup;
pub(crate) mod man;
pub(crate) mod table;
pub(crate) mod trace;
