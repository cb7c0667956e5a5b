//! The host's side of the hardware pipelines in `hdl/`: a [`Driver`] holds the words of a
//! pipeline's memories, and turns a change of the table into the words that the hardware writes.
//!
//! ```
//! use fibula::{NextHop, Rib};
//! use fibula_hdl::{Driver, Pipeline, Sizes};
//! let mut rib: Rib<u32> = Rib::new();
//! rib.insert("10.0.0.0/8".parse()?, NextHop(1));
//! let mut driver = Driver::build(Pipeline::SailU, Sizes::default(), &rib)?;
//! assert_eq!(driver.lookup(0x0A01_0203), 1);
//! let delta = rib.insert("10.1.0.0/16".parse()?, NextHop(2)).expect("a new route");
//! let words = driver.apply(&rib, &[delta])?;
//! assert_eq!(words.len(), 5); // 4 next hops of level 18, then one word of its bit map
//! assert_eq!(driver.lookup(0x0A01_0203), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Before or after, never between
//! A pipeline takes one [`Word`] a clock. The word travels down the stages beside the lookup of its
//! clock, so an address sees all words that entered before it and none that entered later. What
//! remains is the order of the words of one change. In each structure the answer of an address
//! depends on one *deciding* word at a time, and [`Driver::apply`] writes in this order:
//!
//! - What no lookup reaches yet comes first: a new chunk, a new tile, or the next hop below a bit
//!   that is not set.
//! - The deciding word comes next: the pointer, the bit map's word or the root's. One write moves
//!   each address from its old answer to its new one.
//! - A number that is no longer referred to is reused by later words only. An address that still
//!   holds the number is ahead of those words in every stage.
//!
//! SAIL_B and SAIL_U have a bit in one map and a next hop in another. A set bit is cleared without
//! a write of the next hop. A next hop is written before its bit is set. A next hop under a set
//! bit is final when it is written, because the bit stays set. The bits that a route sets or clears
//! are in one word: a level holds at most 2^6 slots of a pushed route, aligned to 64.
#![forbid(unsafe_code)]

mod chunked;
mod direct;
mod driver;
mod far;
mod leaves;
mod levels;
mod memories;
mod pipeline;
#[cfg(test)]
mod tests;
mod tiles;

pub use driver::Driver;
pub use far::Full;
pub use memories::{Memories, Read, Run, Word};
pub use pipeline::{Pipeline, Sizes};

/// The memory off chip of answers up to /24, as writes name it.
pub const NEAR: u8 = 32;

/// The memory off chip of routes longer than /24, as writes name it.
pub const FAR: u8 = 33;
