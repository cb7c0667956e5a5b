//! The commands, one file or folder each.

pub(crate) mod bench;
pub(crate) mod build;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod device;
pub(crate) mod devices;
pub(crate) mod engines;
pub(crate) mod enrich;
pub(crate) mod inspect;
pub(crate) mod lookup;
pub(crate) mod man;
mod measuring;
pub(crate) mod replay;
pub(crate) mod router;
pub(crate) mod serve;
pub(crate) mod set;
pub(crate) mod study;
pub(crate) mod table;
pub(crate) mod trace;
pub(crate) mod verify;
