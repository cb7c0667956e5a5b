//! The primitives of the reclamation. The models of `tests/loom.rs` replace them with loom's.

pub(super) use std::sync::Mutex;
pub(super) use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering, fence};
