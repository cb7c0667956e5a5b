//! Measures and judges lookup engines.
//!
//! | question | room |
//! | --- | --- |
//! | does an engine answer right? | [`verify`]: the addresses where longest match breaks; all 2^32; a changing table |
//! | how fast is it? | [`mod@bench`]: engines interleaved, every one checked first, beside the machine's own ceiling |
//! | and while its table changes? | [`mod@replay`]: readers look up while a writer carries out updates |
//! | and if it is not here? | [`live_table`]: what a table on a card has to tell to be judged by the same code |
//! | does it all work here? | [`demo`]: both questions at once for the engine fibula would choose |
//! | how do all engines compare on one table? | [`study`]: memory, accesses counted, speed, updates, as a page |
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
