//! Measures and judges lookup engines.
//!
//! | question | module |
//! | --- | --- |
//! | does an engine answer right? | [`verify`]: where longest match breaks; all 2^32; updates |
//! | how fast is it? | [`mod@bench`]: engines in turns, checked first, beside a ceiling |
//! | and while its table changes? | [`mod@replay`]: readers beside a writer of updates |
//! | and if it is on a card? | [`live_table`]: what a table elsewhere implements to be judged |
//! | does it all work here? | [`demo`]: both at once for the engine that fibula would choose |
//! | how do all engines compare? | [`study`]: memory, accesses, speed, updates, as a page |
//! | on what machine? | [`machine`] |
//! | how much memory does it really take? | [`allocation`] |
//!
//! Everything takes its tables, addresses and engines as arguments: a registry slice of
//! [`Entry`](fibula::engine::Entry). So engines from elsewhere (or one that is wrong on purpose)
//! are treated like the library's own.
#![deny(unsafe_code)]

pub mod allocation;
mod answers;
pub mod bench;
pub mod demo;
mod error;
mod expected;
pub mod live_table;
pub mod machine;
mod mismatch;
pub mod replay;
mod selection;
pub mod study;
pub mod verify;

pub use error::Error;
pub use expected::Expected;
pub use mismatch::{Mismatch, Refusal};
pub use selection::select;

/// The README's examples are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
