//! **fibula** compiles a routing table into a forwarding table and looks up addresses in it by
//! longest-prefix match.
//!
//! Most programs need one type, [`Table`]: a map from prefixes of both families to values of any
//! type.
//!
//! ```
//! use fibula::{IpPrefix, Table};
//! use std::net::IpAddr;
//! let mut table = Table::new();
//! table.insert("198.51.100.0/24".parse::<IpPrefix>()?, "Antwerp");
//! table.insert("2001:db8::/32".parse::<IpPrefix>()?, "Ghent");
//!
//! let address: IpAddr = "2001:db8::7".parse().unwrap();
//! let (prefix, city) = table.lookup(address).unwrap();
//! assert_eq!((prefix.to_string().as_str(), *city), ("2001:db8::/32", "Ghent"));
//! # Ok::<(), fibula::Error>(())
//! ```
//!
//! The parts are public for those who build routers. A [`Prefix`] is a block of addresses. A
//! [`NextHop`] is the answer of a lookup. A [`Rib`] is the plain routing table, the source of
//! truth. An [`Engine`](engine::Engine) is one algorithm that compiles it. A [`Fib`] is the
//! compiled table, which looks up.
//!
//! ```
//! use fibula::{Fib, NextHopInfo, NextHops, Rib};
//! let mut next_hops = NextHops::new();
//! let mut rib: Rib<u32> = Rib::new();
//! rib.insert("0.0.0.0/0".parse()?, next_hops.intern(NextHopInfo::parse("192.0.2.1"))?);
//! rib.insert("198.51.100.0/24".parse()?, next_hops.intern(NextHopInfo::parse("192.0.2.2"))?);
//!
//! let fib = Fib::build("oracle", &rib)?;
//! let address = "198.51.100.7".parse::<std::net::Ipv4Addr>().unwrap().to_bits();
//! let next_hop = fib.lookup(address).unwrap();
//! assert_eq!(next_hops.get(next_hop).unwrap().to_string(), "192.0.2.2");
//! # Ok::<(), fibula::Error>(())
//! ```
//!
//! The module [`parts`] is for those who write engines.
#![deny(unsafe_code)]

mod address;
pub mod engine;
mod engines;
mod error;
mod fib;
#[cfg(test)]
mod interleavings;
pub mod live;
mod next_hop;
pub mod parts;
mod prefix;
pub mod rib;
mod route;
#[cfg(any(test, feature = "snapshot"))]
pub mod snapshot;
mod strided;
pub mod table;
pub mod table_set;
#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub mod testing;

pub(crate) use parts::{arch, blocks, memory, sections};

pub use address::{Address, Family};
pub use engine::view::View;
pub use error::{Error, ErrorKind, Limit};
pub use fib::{Applied, Fib, NextHopSlice, Views};
pub use next_hop::{NextHop, NextHopInfo, NextHops};
pub use prefix::Prefix;
pub use rib::Rib;
pub use route::{Change, Delta, Route};
pub use strided::Strided;
pub use table::ip_prefix::IpPrefix;
pub use table::{InternedTable, PrefixSet, Table, ValueTable};

/// The README's example is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
