//! **fibula**: a routing table goes in, a compiled forwarding table comes out, addresses stream through it and
//! come back as next hops.
//!
//! Most programs need one type, [`Table`]: a map from prefixes of both families to values of any type.
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
//! Those who build routers take it apart. Five nouns carry the library: a [`Prefix`] is a block of addresses, a [`NextHop`] an answer, a [`Rib`] the
//! plain table that is always right, an [`Engine`](engine::Engine) one way to compile it, and a [`Fib`] the
//! compiled table that answers.
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
//! The modules `arch`, `blocks` and `memory` are hidden and not promised: any release may change them.
#![deny(unsafe_code)]

mod address;
#[doc(hidden)]
pub mod arch;
#[doc(hidden)]
pub mod blocks;
pub mod engine;
pub mod engines;
mod error;
mod fib;
pub mod live;
#[doc(hidden)]
pub mod memory;
mod next_hop;
pub mod parallel;
mod prefix;
pub mod rib;
mod route;
mod sections;
pub mod snapshot;
pub mod table;
pub mod table_set;

pub use address::{Address, Family};
pub use engine::View;
pub use error::{Error, ErrorKind, Limit};
pub use fib::{Applied, Fib, NextHopSlice};
pub use next_hop::{NextHop, NextHopInfo, NextHops};
pub use prefix::Prefix;
pub use rib::Rib;
pub use route::{Change, Delta, Route};
pub use table::{IpPrefix, Table};

/// The README's example is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
