//! Helpers of the engines' own tests: small tables written as text, and changes applied to them.

use crate::arch::Scalar;
use crate::engine::{Config, Cost, Engine, Lookup, Meter, Update, Width};
use crate::{Address, Change, NextHop, Prefix, Rib, Route};
use proptest::prelude::*;

pub use crate::engines::oracle::Oracle;

/// Returns the table of some routes, given by prefix and next hop.
#[must_use]
pub fn rib<A: Address>(routes: &[(&str, u32)]) -> Rib<A> {
    let mut rib = Rib::new();
    for &(prefix, next_hop) in routes {
        rib.insert(prefix.parse().unwrap(), NextHop(next_hop));
    }
    rib
}

/// Lookups through an engine's view.
pub trait ViaView<A: Address>: Engine<A> + Sized {
    fn lookup(&self, address: A) -> <Self::View as Lookup<A>>::Width {
        self.view().lookup(address)
    }

    fn lookup_metered(&self, address: A, meter: &mut impl Meter) -> <Self::View as Lookup<A>>::Width {
        self.view().lookup_metered(address, meter)
    }

    fn lookup_batch(&self, isa: Scalar, addresses: &[A], next_hops: &mut [<Self::View as Lookup<A>>::Width]) {
        self.view().lookup_batch(isa, addresses, next_hops);
    }
}

impl<A: Address, E: Engine<A>> ViaView<A> for E {}

/// Changes a table (next hop 0 withdraws) and applies the changes to an engine in place, in one
/// batch.
pub fn apply<A: Address, E: Engine<A>>(engine: &mut E, rib: &mut Rib<A>, changes: &[(&str, u32)]) -> Cost {
    let changes = changes.iter().map(|&(prefix, next_hop)| (prefix.parse().unwrap(), NextHop(next_hop)));
    let deltas: Vec<_> = changes.filter_map(|(prefix, next_hop)| rib.set(prefix, next_hop)).collect();
    let Update::Applied(cost) = engine.apply(rib, &deltas) else { panic!("not applied") };
    engine.validate(rib).unwrap();
    cost
}

/// Checks the structure of an engine, and single lookups and a batch around every bound of its
/// table.
pub fn is_right_around_bounds<A: Address, E: Engine<A>>(engine: &E, rib: &Rib<A>) {
    engine.validate(rib).unwrap();
    let bounds = rib.ranges().flat_map(|range| [range.first, range.last]);
    let around = |at: A| [at.previous().unwrap_or(A::MAX), at, at.next().unwrap_or(A::ZERO)];
    let near = |at: A| around(at).into_iter().chain([at ^ A::from_bits(1, A::BITS / 2 - 1, 1)]);
    let addresses: Vec<A> = bounds.flat_map(near).collect();
    let mut next_hops = vec![Default::default(); addresses.len()];
    engine.lookup_batch(Scalar, &addresses, &mut next_hops);
    for (&address, next_hop) in addresses.iter().zip(next_hops) {
        let right = rib.longest_match(address).map_or(NextHop::NONE, |route| route.next_hop);
        assert_eq!(engine.lookup(address).widen(), right, "{}", address.to_ip());
        assert_eq!(next_hop.widen(), right, "{} in a batch", address.to_ip());
    }
}

/// Generates prefixes of these lengths that meet below few nodes: bytes of all zeros, of a last
/// one, of all ones.
pub fn meeting(lengths: impl Strategy<Value = u8>) -> impl Strategy<Value = Prefix<u128>> {
    let bytes = proptest::collection::vec(prop_oneof![Just(0_u8), Just(1), Just(255)], 16);
    (bytes, lengths).prop_map(|(bytes, len)| {
        Prefix::containing(u128::from_be_bytes(bytes.try_into().expect("16 of them")), len)
    })
}

/// Applies batches of changes in place to an engine built without routes (next hop 0 withdraws).
/// Checks that the engine is sound after each, and right at both ends of every prefix of it.
pub fn follows_the_oracle<E: Engine<u128>>(batches: Vec<Vec<(Prefix<u128>, u32)>>) {
    let mut rib = Rib::new();
    let mut engine = E::build(&rib, &Config::default()).unwrap();
    for batch in batches {
        let change = |&(prefix, hop): &(Prefix<u128>, u32)| match hop {
            0 => Change::Withdraw(prefix),
            _ => Change::Announce(Route { prefix, next_hop: NextHop(hop) }),
        };
        let deltas = rib.apply_all(batch.iter().map(change)).deltas;
        assert!(matches!(engine.apply(&rib, &deltas), Update::Applied(_)));
        engine.validate(&rib).unwrap();
        let oracle = Oracle::<u128, u8>::build(&rib, &Config::default()).unwrap();
        for (prefix, _) in batch {
            for address in [prefix.first(), prefix.last()] {
                let right = Lookup::lookup(&oracle, address).widen();
                assert_eq!(engine.view().lookup(address).widen(), right, "{}", address.to_ip());
            }
        }
    }
}
