//! `casement`: fibula's own engine for IPv6 tables of one organisation, whose routes are in one
//! network. The bits that all these routes share are not looked at.
//!
//! # Layout
//! The [`Window`] of a table is the network in which nearly all of its routes are, and the length
//! *p* of the slots into which it is divided, 48 to 64.
//!
//! ```text
//! address    | network | slot    | 16 bits | up to 64 bits |
//!                      |         p         p + 16
//!                      v         |         |
//! root    a word of 16 bits for each slot, and one that is 0 for all other addresses
//!                      |         v         |
//! short   | 8 ends of 16 bits | 8 words |  |    32 bytes; ends that are not there are 2^16 - 1
//!                               |          v
//! long    | 6 ends of 64 bits | 7 words | 0 |   64 bytes; ends that are not there are 2^64 - 1
//!
//!   15 14                            0
//! +---+-------------------------------+
//! | 0 | next hop                      |
//! | 1 | number of a short or long node|    0 in all: the other engine has the answer
//! +---+-------------------------------+
//! ```
//! - The routes cut a slot into intervals of cells of 2^(112 - *p*) addresses, /64s where *p* is
//!   48. If it has one, the word of the root is the answer. If it has up to eight, the word names a
//!   short node. End *i* of that is the last cell of interval *i*.
//! - A cell that has bounds inside is an interval by itself. Its word names a long node, which has
//!   up to seven intervals.
//! - All ends of a node are compared with the key at once. The number of those below the key is the
//!   number of the interval, and its word is in the same cache line. Nothing jumps on the result.
//! - Slots and cells with more intervals have the word 0. So has whatever has no route. An address
//!   for which a word is 0, or which is outside the network, asks [`planb`]. That has the routes of
//!   such slots, those outside the network, and those no longer than *p*.
//! - Node 0 of both kinds has only words 0. An address whose slot names no node reads that of the
//!   short ones, so that nothing jumps on the mark.
//!
//! # Worked example
//! 2001:db8::/32 with next hop 1, 2001:db8:0:1::/64 with 2, 2001:db8:0:1::7/128 with 3. The network
//! is 2001:db8::/32, and *p* is 48, so there are 2^16 slots:
//!
//! ```text
//! root      8001, then 1 in all other slots, then 0
//! short 1   0 1, then 2^16 - 1             words 1 8001 1, then 0
//! long 1    6 7, then 2^64 - 1             words 2 3 2, then 0
//! ```
//! The slot of 2001:db8:0:1::7 is 0, and names short node 1. No end of that but the first is below
//! 1, and the second word names long node 1. One end of that is below 7, and the second word is 3.
//!
//! # Batches
//! A block of 64 addresses reads its slots, then its short nodes, so that 64 cache lines are loaded
//! at once. Addresses in marked cells wait until there are 64 of them, which read their long nodes
//! together. Those that ask the other engine are collected, and go through its batch path together.
//!
//! # Updates
//! A change builds the table again: O(n), and a word for each slot.
//!
//! # Limits
//! 2^15 nodes of each kind: 15 bits of a word are left beside the mark. A table with greater next
//! hops than 15 bits hold has no nodes, and all addresses ask the other engine.
//!
//! # Design choices
//! - Words of 16 bits: a node has ends and words in one line, and the nodes of 30,000 routes are in
//!   the second cache or near it. A table that needs more is not one for this engine.
//! - Short nodes are half a line. Most slots have one or two routes, so with a whole line three
//!   quarters of it would not be used.
//! - No second node for a slot with more than eight intervals: one step more would be one for all
//!   addresses of a block. The window is chosen so that few slots have more.

mod batch;
mod build;
mod node;
mod snapshot;
#[cfg(test)]
mod tests;
mod validate;
mod view;
mod window;

pub(crate) use view::CasementView;

use super::planb;
use crate::engine::{
    About, Config, Engine, Estimate, Figure, Level, LimitInfo, Persistence, Survey, Updates, Width,
};
use crate::memory::Memory;
use crate::{Error, Rib};
use window::Window;

/// The limit, by its unit.
const NODES: &str = "nodes of a casement";

/// The most nodes of each kind.
const NODES_MAX: u64 = node::MARK as u64;

/// What the tools print about the engine.
pub(crate) const ABOUT: About = About {
    name: "casement",
    paper: "fibula's own: the slots of one network, each with its intervals in a line",
    year: 2026,
    updates: Updates::Rebuild,
    limits: &[LimitInfo { what: NODES, max: NODES_MAX }],
    estimate,
    ..About::DEFAULT
};

/// Estimates the cost of the nodes, and for each address that the window does not hold that of the
/// other engine and of collecting it.
fn estimate(survey: &Survey<'_>, isa: Level) -> Estimate {
    let Some(rib) = survey.ipv6() else { return Estimate::UNKNOWN };
    let held = Window::of(rib).held;
    let asked = 1.0 - held as f32 / survey.routes().max(1) as f32;
    // About half of the lines of larger tables are not in the second cache.
    let wait = 0.00003 * held as f32;
    let others = (planb::ABOUT.estimate)(survey, Level::best());
    let ns = 1.8 + wait + 2.0 * survey.share_longer_than(64) + asked * (2.0 + others.ns);
    Estimate { ns, bytes: others.bytes }.on(isa, 1.5)
}

/// The engine; see the [module](self).
#[derive(Clone, Debug)]
pub(crate) struct Casement<W: Width> {
    view: CasementView<W>,
    /// The number of routes that the other engine has.
    others: usize,
}

impl<W: Width> Engine<u128> for Casement<W> {
    type View = CasementView<W>;

    fn build(rib: &Rib<u128>, config: &Config) -> Result<Self, Error> {
        Self::build_in(Window::of(rib), rib, config)
    }

    fn view(&self) -> &CasementView<W> {
        &self.view
    }

    fn memory(&self) -> Memory {
        let mut memory = Memory::new()
            .off_chip("slots", self.view.root.bytes())
            .off_chip("short nodes", self.view.shorts.bytes())
            .off_chip("long nodes", self.view.longs.bytes());
        memory.parts.extend(self.view.others.memory().parts);
        memory
    }

    fn figures(&self) -> Vec<Figure> {
        let view = &self.view;
        let mut figures = vec![
            Figure::count("slots", view.slots()),
            Figure::count("end of a slot, bits", view.position.into()),
            Figure::count("short nodes", view.shorts.len() - 1),
            Figure::count("long nodes", view.longs.len() - 1),
            Figure::count("other routes", self.others),
        ];
        figures.extend(view.others.figures());
        figures
    }

    fn validate(&self, rib: &Rib<u128>) -> Result<(), String> {
        self.check(rib)
    }

    fn persistence() -> Option<Persistence<Self, u128>> {
        Some(Persistence::of_engine())
    }
}
