//! What the hand-over is made of. The models of `tests/loom.rs` put loom's own in its place.

pub(super) use std::sync::Mutex;
pub(super) use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering, fence};
