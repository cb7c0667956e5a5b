//! Reads and writes routing tables and updates in the formats of the field, reads address traces,
//! and makes tables, updates and traces that are the same on every machine.
//!
//! ```
//! use fibula_io::table::{self, Format, ReadOptions};
//! let text = b"198.51.100.0/24\t64500\n2001:db8::/32\t192.0.2.1\n";
//! let loaded = table::parse(text, &ReadOptions::default())?;
//! assert_eq!((loaded.tables.ipv4.len(), loaded.tables.ipv6.len()), (1, 1));
//! let mut out = Vec::new();
//! table::write(&loaded.tables, Format::Csv, &mut out)?;
//! assert_eq!(out, b"prefix,value\n198.51.100.0/24,64500\n2001:db8::/32,192.0.2.1\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

#[doc(hidden)]
pub mod address;
pub mod as_names;
mod beside;
#[doc(hidden)]
pub mod blocks;
mod bogons;
mod budget;
mod caught;
mod encoding;
mod error;
pub mod follow;
#[doc(hidden)]
pub mod fuzzing;
pub mod generate;
mod members;
pub mod mrt;
mod names;
mod report;
pub mod ris_live;
pub mod rov;
mod scan;
pub mod snapshot;
mod source;
pub mod table;
pub mod trace;
pub mod update;

pub use bogons::bogons;
pub use budget::{Budget, Bytes};
#[doc(hidden)]
pub use caught::caught;
pub use encoding::Encoding;
pub use error::{Damage, Error, Place};
pub use report::{Kind, Note, Report};
pub use source::{Content, Progress, Source};

/// The README's example is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
