//! Parquet: a column of prefixes and a column of values, found by the names that
//! [CSV](super::csv) has for them.
//!
//! Prefixes are text. Values are text or integers; an integer is an AS number. Both may be encoded
//! in any way that Parquet has.

#[cfg(not(feature = "parquet"))]
mod disabled;
#[cfg(feature = "parquet")]
mod enabled;

#[cfg(not(feature = "parquet"))]
pub(super) use disabled::{read, write};
#[cfg(feature = "parquet")]
pub(super) use enabled::{read, write};

/// The bytes that a file begins and ends with.
pub(super) const MAGIC: &[u8] = b"PAR1";
