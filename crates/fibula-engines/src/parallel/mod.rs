//! Many threads, one table: the models of sharing a stream of addresses among cores that the papers
//! compare.
//!
//! | model | a thread | source |
//! | --- | --- | --- |
//! | [`Model::Own`] | takes every *n*-th chunk: no dispatcher | run to completion |
//! | [`Model::InTurn`] | takes chunks after the thread before: an entry ring | TrieC, section 4.6 |
//! | [`Model::Dynamic`] | takes the next free chunk: one shared counter | Bloom filters[^1] |
//! | [`Model::RoundRobin`] | gets addresses from a dispatcher, in turn | TILEPro64[^2] |
//! | [`Model::ByBatch`] | gets chunks from a dispatcher, in turn | the same, fewer hand-overs |
//! | [`Model::Pipeline`] | does one part of every lookup | TILEPro64, Figure 5; TrieC, Table 5 |
//! | [`Model::Pipelines`] | does one half of some lookups: replicated stages | TrieC, Table 5 |
//!
//! [^1]: On many cores; OpenMP's dynamic schedule.
//!
//! [^2]: Section IV.C, Figures 6 and 7.
//!
//! All but the last two run lookups to completion: the thread that begins one ends it. Threads pass
//! data through rings of one producer and one consumer, whose ends are on cache lines of their own
//! ([`rtrb`]).
//!
//! # Order
//! A packet of a flow must not overtake another. With [`Order::Kept`] chunks are delivered in the
//! order of the addresses. A thread that has finished a chunk waits until the ticket shows that
//! chunk, delivers it and passes the ticket on (TrieC, section 4.6 and Table 7). Where a dispatcher
//! collects answers one by one, it takes them in turn. With [`Order::Free`] chunks are delivered as
//! they are finished.
//!
//! Either way every answer is written at its address's index, so the order only determines when an
//! answer may leave. A thread pipeline keeps the order by itself, and pipelines side by side do so
//! within each one's part.
//!
//! ```
//! use fibula_engines::parallel::{Model, Order, Parallel};
//! use fibula::{Fib, NextHop, Rib};
//! let mut rib: Rib<u32> = Rib::new();
//! rib.insert("192.0.2.0/24".parse()?, NextHop(7));
//! let fib = fibula_engines::build("dir24-8", &rib)?;
//! let addresses: Vec<u32> = (0..1000).map(|i| 0xC000_0180 + i).collect();
//! for model in Model::ALL {
//!     let mut next_hops = vec![0_u8; addresses.len()];
//!     let parallel = Parallel { threads: 3, model, order: Order::Kept, chunk: 64 };
//!     parallel.run(&*fib, &addresses, &mut next_hops[..], &|_| {})?;
//!     assert_eq!(next_hops.iter().filter(|&&next_hop| next_hop == 7).count(), 256);
//! }
//! # Ok::<(), fibula::Error>(())
//! ```

mod completion;
mod dispatcher;
mod models;
mod pipeline;
mod team;
#[cfg(test)]
mod tests;

pub use models::{Model, Order, Parallel};
