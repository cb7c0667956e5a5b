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
use disabled::{read, write};
#[cfg(feature = "parquet")]
pub use enabled::unpacked_bytes;
#[cfg(feature = "parquet")]
use enabled::{read, write};

use super::layouts::{Layout, Looks, Reader, Writer};

pub(super) const LAYOUT: Layout = Layout {
    looks: Looks::Begins(|head| head.starts_with(MAGIC)),
    reader: Reader::Held(read),
    writer: Some(Writer::Whole(write)),
    endings: &["parquet", "pq"],
};

/// The bytes that a file begins and ends with.
const MAGIC: &[u8] = b"PAR1";
