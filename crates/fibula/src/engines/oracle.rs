//! `oracle`: a hash table for each prefix length; slow, obviously right, and the reference for all
//! others.
//!
//! A lookup tries every length that occurs, longest first. It shares no step with any other engine,
//! nor with the lookup of [`Rib`], so that no mistake can hide in both.
//!
//! [`Meter`] sees the hashes of a lookup and none of its loads: the tables are the standard
//! library's, which reads at least one group of control bytes a length, and the route found.

use crate::arch::{Isa, Sets};
use crate::engine::{About, Config, Cost, Engine, Estimate, Lookup, Meter, Update, Updates, Width};
use crate::memory::Memory;
use crate::{Address, Delta, Error, Prefix, Rib, Route};
use std::collections::HashMap;

/// What the tools print about the engine.
pub(crate) const ABOUT: About = About {
    name: "oracle",
    paper: "a hash table per prefix length, searched longest first (the judge of all others)",
    year: 1997,
    updates: Updates::InPlace,
    estimate: |_, _| Estimate::JUDGE,
    ..About::DEFAULT
};

/// One hash table per prefix length, longest first. Empty lengths are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(unreachable_pub, reason = "public with the feature `testing`")]
#[doc(hidden)]
pub struct Oracle<A: Address, W> {
    lengths: Vec<(u8, HashMap<A, W>)>,
}

impl<A: Address, W: Width> Oracle<A, W> {
    fn set(&mut self, prefix: Prefix<A>, next_hop: Option<W>) {
        let at = self.lengths.binary_search_by(|(len, _)| prefix.len().cmp(len));
        match (next_hop, at) {
            (Some(next_hop), Ok(at)) => {
                self.lengths[at].1.insert(prefix.first(), next_hop);
            }
            (Some(next_hop), Err(at)) => {
                self.lengths.insert(at, (prefix.len(), HashMap::from([(prefix.first(), next_hop)])));
            }
            (None, Ok(at)) => {
                self.lengths[at].1.remove(&prefix.first());
                if self.lengths[at].1.is_empty() {
                    self.lengths.remove(at);
                }
            }
            (None, Err(_)) => {}
        }
    }
}

impl<A: Address, W: Width> Lookup<A> for Oracle<A, W> {
    type Width = W;
    const SETS: Sets = Sets::Baseline;

    fn lookup_metered<M: Meter>(&self, address: A, meter: &mut M) -> W {
        for (len, table) in &self.lengths {
            meter.hash();
            if let Some(&next_hop) = table.get(&(address & A::mask(*len))) {
                return next_hop;
            }
        }
        W::default()
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, _: I, addresses: &[A], next_hops: &mut [W]) {
        for (&address, next_hop) in addresses.iter().zip(next_hops) {
            *next_hop = self.lookup(address);
        }
    }
}

impl<A: Address, W: Width> Engine<A> for Oracle<A, W> {
    type View = Self;

    fn build(rib: &Rib<A>, _: &Config) -> Result<Self, Error> {
        let mut oracle = Self { lengths: Vec::new() };
        for Route { prefix, next_hop } in rib {
            oracle.set(prefix, Some(W::narrow(next_hop)));
        }
        Ok(oracle)
    }

    fn view(&self) -> &Self {
        self
    }

    fn copied(&self) -> Option<Self> {
        Some(self.clone())
    }

    fn apply(&mut self, _: &Rib<A>, deltas: &[Delta<A>]) -> Update {
        for delta in deltas {
            self.set(delta.prefix, delta.after.is_some().then(|| W::narrow(delta.after)));
        }
        Update::Applied(Cost { entries_set: deltas.len() as u64, ..Cost::default() })
    }

    fn memory(&self) -> Memory {
        // A hash table has its entries and one byte of control for each slot.
        let slot = size_of::<(A, W)>() + 1;
        let bytes = self.lengths.iter().map(|(_, table)| table.capacity() * slot).sum();
        Memory::new().off_chip("hash tables", bytes)
    }

    fn validate(&self, rib: &Rib<A>) -> Result<(), String> {
        if *self == Self::build(rib, &Config::default()).map_err(|e| e.to_string())? {
            Ok(())
        } else {
            Err("the hash tables are not the table's routes".into())
        }
    }
}
