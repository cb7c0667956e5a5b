//! Lookups on Arrow columns: an array of addresses goes in, an array of next hops, prefixes or
//! booleans of the same length comes out.
//!
//! ```text
//!                          a chunk of 2,048 rows, in the first-level cache
//! array ──Column──▶ (u32, row), (u128, row) ──Lookups──▶ (index, row) ──▶ UInt32Array
//! text, integers,      parsed or copied        one batch               ──▶ StringArray of prefixes
//! bytes, dictionary                            a family                ──▶ BooleanArray
//! ```
//!
//! ```
//! use arrow_array::{StringArray, cast::AsArray, types::UInt32Type};
//! use fibula_arrow::{Compiled, Invalid, lookup};
//!
//! let table = b"10.0.0.0/8 64500\n2001:db8::/32 64501\n";
//! let tables = fibula_io::table::parse(table, &Default::default())?.tables;
//! let compiled = Compiled::of_tables(&tables)?;
//!
//! let texts = vec![Some("10.1.2.3"), Some("2001:db8::1"), Some("192.0.2.1"), None];
//! let column = StringArray::from(texts);
//! let indices = lookup(&column, &compiled, Invalid::Error)?;
//! let origins = compiled.values().plain(&indices);
//! let origins: Vec<Option<u32>> = origins.as_primitive::<UInt32Type>().iter().collect();
//! assert_eq!(origins, [Some(64500), Some(64501), None, None]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Addresses
//! There is no Arrow type for addresses. These are accepted, each with nulls, slices and
//! dictionaries of it:
//!
//! | type | an address |
//! | --- | --- |
//! | `Utf8`, `LargeUtf8`, `Utf8View` | as [`std::net::IpAddr`] does: not `01.2.3.4`, `1.2.3` |
//! | `UInt32` | IPv4, in the order of its numbers: 1.2.3.4 is 0x0102_0304 |
//! | `Int64`, `UInt64` | as `UInt32`; below 0 and from 2^32 on it is invalid |
//! | `FixedSizeBinary(4)`, `FixedSizeBinary(16)` | IPv4 and IPv6, in network byte order |
//! | `Binary`, `LargeBinary`, `BinaryView` | the same by each value's length; another is invalid |
//!
//! Families never mix. Text with a colon and 16 bytes are IPv6 addresses, IPv4-mapped ones too
//! (`::ffff:192.0.2.1`), and are looked up among the IPv6 routes, as by
//! [`Table::lookup`](fibula::Table::lookup). [`How`] says which are looked up among the IPv4
//! routes, and whether ports, brackets and the like around addresses are left out.
//!
//! Polars' `UInt128` cannot come here: its format `_plu128` is no Arrow type. Cast it to
//! `FixedSizeBinary(16)`.
//!
//! # Null and invalid
//! Null gives null. An address without a route gives null. An invalid address gives null or an
//! error that names its row, as [`Invalid`] says. A value of a dictionary that no row uses is never
//! an error.
#![forbid(unsafe_code)]

mod address;
mod answer;
mod chunk;
mod column;
mod compiled;
mod dictionary;
mod error;
mod how;
mod lookups;
mod plain;
mod values;

pub use address::address;
pub use answer::{addresses, contains, lookup, lookup_counted, prefixes};
pub use compiled::Compiled;
pub use error::Error;
pub use fibula_io::address::Embedded;
pub use how::{Counts, How, Invalid, is_mostly_mapped};
pub use lookups::{Lookups, TableValues};
pub use plain::{Texts, lookup_ipv4, lookup_ipv6};
pub use values::Values;
