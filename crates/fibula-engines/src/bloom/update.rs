//! Updates in place, guided by the length that each entry stores.

use super::{Direct, EXPANDED, EXPANDED_MAX, Groups, LEVELS};
use crate::blocks::expanded::{Entries, Expanded};
use crate::blocks::expansion::{counts, level_of};
use crate::blocks::probing::Hashing;
use crate::blocks::table::HashTable;
use fibula::engine::{Cost, Width};
use fibula::{Delta, Limit, Prefix, Rib, Route};

impl<W: Width> Entries<W> for Direct<W> {
    fn entry(&self, slot: u64) -> Expanded<W> {
        self.at(slot as u32)
    }

    fn set_entry(&mut self, slot: u64, entry: Expanded<W>) -> Cost {
        self.set(slot as u32, entry);
        Cost { entries_set: 1, ..Cost::default() }
    }
}

/// Returns the group that a prefix belongs to: 0 for the direct array.
pub(super) fn group_of(prefix: Prefix<u32>) -> usize {
    level_of(prefix.len(), &LEVELS).expect("the last group has the longest prefixes")
}

impl<W: Width, H: Hashing, T: HashTable<u32, Expanded<W>>> Groups<W, H, T> {
    /// Checks that G2 has room for the announced prefixes.
    pub(super) fn check_room(&self, rib: &Rib<u32>, deltas: &[Delta<u32>]) -> Result<(), Limit> {
        let announced = deltas.iter().filter(|delta| delta.after.is_some() && group_of(delta.prefix) == 2);
        let more: u64 = announced.map(|delta| 1 << (32 - delta.prefix.len())).sum();
        if self.g2.len() as u64 + more <= EXPANDED_MAX {
            return Ok(());
        }
        // Some prefixes may be there already or be withdrawn, so count exactly.
        Limit::check(EXPANDED, counts(rib, &LEVELS)[2].expanded as u64, EXPANDED_MAX)
    }

    /// Applies changes that `rib` already holds. A withdrawal may give entries to a route whose own
    /// turn is still to come; that turn then finds them right.
    pub(super) fn follow(&mut self, rib: &Rib<u32>, deltas: &[Delta<u32>]) -> Cost {
        let mut cost = Cost::default();
        for &Delta { prefix, before, after } in deltas {
            let group = group_of(prefix);
            if after.is_some() {
                self.routes[group] += usize::from(!before.is_some());
                cost += self.announce(Route { prefix, next_hop: after });
            } else {
                self.routes[group] -= 1;
                let heir = rib.parent(prefix).filter(|heir| group_of(heir.prefix) == group);
                cost += match group {
                    0 => self.direct.withdraw(prefix, heir, LEVELS[0]),
                    1 => self.g1.withdraw(prefix, heir, LEVELS[1]),
                    _ => self.g2.withdraw(prefix, heir, LEVELS[2]),
                };
            }
        }
        cost
    }

    /// Gives `route` all entries under it that belong to no more-specific route.
    pub(super) fn announce(&mut self, route: Route<u32>) -> Cost {
        match group_of(route.prefix) {
            0 => self.direct.announce(route, LEVELS[0]),
            1 => self.g1.announce(route, LEVELS[1]),
            _ => self.g2.announce(route, LEVELS[2]),
        }
    }
}
