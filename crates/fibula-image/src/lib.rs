//! fibula's tables as other processors read them: plain arrays, and a lookup in a subset of C.
//!
//! **One source, several compilers.** A lookup is a function in the part of C that CUDA and BPF
//! have too (`kernels/*.h`). NVRTC compiles it for a card, clang for the kernel's XDP programs. The
//! host compiler compiles it to its twin, which is an engine of fibula ([`ENGINES`]: `gpu-dir24-8`,
//! `gpu-sail-l`, `gpu-mosaic`, `gpu-mosaic6` and, with the feature `papers`, `gpu-sail-l-printed`
//! and `gpu-bloom`), so that the oracle judges the same text that they run.
//!
//! | question | room |
//! | --- | --- |
//! | how is a table stored, and what does a change write? | [`table`]: its parts, and patches |
//! | what does a reader get of it? | [`Image`], and a [`Patch`](table::Patch) for each change |
//! | where is the text of the lookups? | [`text`] |
#![deny(unsafe_code)]

pub mod host;
mod image;
mod key;
pub mod table;
pub mod text;

pub use image::{Image, Kernel};
pub use key::{Answer, Key};
pub use table::layout::ENGINES;
