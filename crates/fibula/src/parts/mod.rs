//! What engines are made of, for those who write one outside this crate: the instruction sets and
//! what is done with them, the steps that several engines share, arrays laid out for lookups, and
//! the sections of snapshots.
//!
//! An engine implements [`Engine`](crate::engine::Engine) and [`Lookup`](crate::engine::Lookup),
//! and [`registry!`](crate::registry) makes a list of engines for
//! [`Fib::build_from`](crate::Fib::build_from). The parts are what the engines of this crate and of
//! `fibula-engines` have in common. They change with the engines: an item may move or go in any
//! release, and CHANGELOG says so.

pub mod arch;
pub mod blocks;
pub mod memory;
pub mod sections;
