//! libfibula: the C interface. `include/fibula.h` says what each call means; this crate is its
//! code. Rust programs use the crate `fibula`.
//!
//! - [`table`] is a table whose values are numbers of 64 bits: the crate's own.
//! - [`abi`], [`live`], [`vrfs`] and [`files`] are the calls, [`lookup`] what lookups have in
//!   common.
//! - [`error`] turns failures and panics into numbers and messages.
#![allow(unsafe_code, reason = "C hands over pointers; each call says what they have to be")]

mod abi;
mod error;
#[cfg(feature = "files")]
mod files;
mod live;
mod lookup;
mod table;
mod vrfs;
