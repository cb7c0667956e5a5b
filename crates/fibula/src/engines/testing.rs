//! What the engines' own tests share: small tables written down, and changes carried out.

use crate::engine::{Cost, Engine, Update, Width};
use crate::{Address, NextHop, Rib};

/// The table of some routes, prefix and next hop each.
pub(super) fn rib<A: Address>(routes: &[(&str, u32)]) -> Rib<A> {
    let mut rib = Rib::new();
    for &(prefix, next_hop) in routes {
        rib.insert(prefix.parse().unwrap(), NextHop(next_hop));
    }
    rib
}

/// Changes a table (next hop 0 withdraws) and lets an engine follow in place, all in one batch.
pub(super) fn apply<A: Address, W: Width, E: Engine<A, W>>(
    engine: &mut E,
    rib: &mut Rib<A>,
    changes: &[(&str, u32)],
) -> Cost {
    let changes = changes.iter().map(|&(prefix, next_hop)| (prefix.parse().unwrap(), NextHop(next_hop)));
    let deltas: Vec<_> = changes.filter_map(|(prefix, next_hop)| rib.insert(prefix, next_hop)).collect();
    let Update::Applied(cost) = engine.apply(rib, &deltas) else { panic!("not applied") };
    engine.validate(rib).unwrap();
    cost
}
