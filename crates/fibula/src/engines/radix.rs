//! `radix`: a path-compressed binary tree, the routing table of Berkeley Unix and the papers'
//! yardstick.
//!
//! Keith Sklower, "A Tree-Based Packet Routing Table for Berkeley Unix", USENIX Winter Conference
//! 1991, based on Morrison's Patricia tree. `blocks::patricia` draws the
//! tree, its nodes and a worked example.
//!
//! # What differs from the paper
//!
//! - Sklower's lookup descends without looking at keys and compares at the leaf. If that fails, it
//!   climbs back and tries the masks noted on the way. Here every node on the way down is compared.
//!   Its key is in a cache line that must be read anyway, a mismatch ends the descent early, and
//!   nothing climbs back. The memory accesses are at most those of the paper's descent.
//! - A route is stored in the node at its own length, not in a leaf with a chain of duplicated keys
//!   and mask lists above. The longest match needs no second structure.
//! - Masks are prefix lengths. The original also takes masks with holes, which no routing table
//!   has.
//! - Batches interleave several descents (`LANES`). Each fetches
//!   its next node while others are compared.

use crate::arch::{Isa, Sets};
use crate::blocks::patricia::{MAX_NODES, NODES, Patricia};
use crate::engine::{
    About, Config, Engine, Estimate, Figure, LimitInfo, Lookup, Meter, Update, Updates, Width,
};
use crate::memory::Memory;
use crate::{Address, Delta, Error, Rib};

/// What the tools print about the engine.
pub(crate) const ABOUT: About = About {
    name: "radix",
    paper: "Sklower, A Tree-Based Packet Routing Table for Berkeley Unix (USENIX Winter 1991)",
    year: 1991,
    updates: Updates::InPlace,
    limits: &[LimitInfo { what: NODES, max: MAX_NODES }],
    estimate: |survey, _| Estimate { ns: 130.0, bytes: 40 * survey.routes() },
    ..About::DEFAULT
};

/// The tree over all routes of a table.
#[derive(Clone, Debug)]
pub(crate) struct Radix<A: Address, W: Width>(Patricia<A, W>);

impl<A: Address, W: Width> Lookup<A> for Radix<A, W> {
    type Width = W;
    const SETS: Sets = Sets::Words;

    fn lookup_metered<M: Meter>(&self, address: A, meter: &mut M) -> W {
        self.0.descend(address, meter)
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, _: I, addresses: &[A], next_hops: &mut [W]) {
        self.0.descend_all(addresses, next_hops);
    }
}

impl<A: Address, W: Width> Engine<A> for Radix<A, W> {
    type View = Self;

    fn build(rib: &Rib<A>, config: &Config) -> Result<Self, Error> {
        Ok(Self(Patricia::plant(rib.iter(), config.pages)?))
    }

    fn view(&self) -> &Self {
        self
    }

    fn copied(&self) -> Option<Self> {
        Some(self.clone())
    }

    fn apply(&mut self, _: &Rib<A>, deltas: &[Delta<A>]) -> Update {
        self.0.follow(deltas).map_or(Update::Rebuild, Update::Applied)
    }

    fn memory(&self) -> Memory {
        Memory::new().off_chip("nodes", self.0.bytes())
    }

    fn figures(&self) -> Vec<Figure> {
        self.0.figures()
    }

    fn validate(&self, rib: &Rib<A>) -> Result<(), String> {
        self.0.validate(rib.iter())
    }
}
