//! [`Coalesced`]: many changes carried out at once, as the least that an engine must be told.

use super::Rib;
use crate::{Address, Change, Delta, NextHop};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// What a run of changes came to: at most one [`Delta`] a prefix, as [`Fib::apply`](crate::Fib::apply) wants them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coalesced<A> {
    /// What is different now, each prefix once, in the order in which they were first changed.
    pub deltas: Vec<Delta<A>>,
    /// Changes that changed nothing: a route announced as it was, or withdrawn where it was absent.
    pub suppressed: usize,
    /// Changes that a later one to the same prefix replaced or took back.
    pub coalesced: usize,
}

impl<A: Address> Rib<A> {
    /// Carries out many changes in order and says what they came to together. O(c log n) for *c* changes.
    ///
    /// ```
    /// use fibula::{Change, NextHop, Rib, Route};
    /// let prefix = "192.0.2.0/24".parse()?;
    /// let announce = |next_hop| Change::Announce(Route { prefix, next_hop: NextHop(next_hop) });
    /// let mut rib: Rib<u32> = Rib::new();
    /// let came_to = rib.apply_all([announce(1), announce(1), announce(2), Change::Withdraw(prefix), announce(3)]);
    /// assert_eq!((came_to.deltas.len(), came_to.suppressed, came_to.coalesced), (1, 1, 3));
    /// assert_eq!((came_to.deltas[0].before, came_to.deltas[0].after), (NextHop::NONE, NextHop(3)));
    /// # Ok::<(), fibula::Error>(())
    /// ```
    pub fn apply_all(&mut self, changes: impl IntoIterator<Item = Change<A>>) -> Coalesced<A> {
        let mut came_to = Coalesced { deltas: Vec::new(), suppressed: 0, coalesced: 0 };
        let mut positions = HashMap::new();
        let mut effective = 0;
        for change in changes {
            let Some(delta) = self.apply(change) else {
                came_to.suppressed += 1;
                continue;
            };
            effective += 1;
            match positions.entry(delta.prefix) {
                Entry::Vacant(vacant) => {
                    vacant.insert(came_to.deltas.len());
                    came_to.deltas.push(delta);
                }
                Entry::Occupied(position) => came_to.deltas[*position.get()].after = delta.after,
            }
        }
        came_to.deltas.retain(|delta| delta.before != delta.after);
        came_to.coalesced = effective - came_to.deltas.len();
        came_to
    }

    /// Takes deltas back: the table is as before them.
    pub fn take_back(&mut self, deltas: &[Delta<A>]) {
        for delta in deltas {
            let undone: Option<Delta<A>> = self.apply(delta.inverse().change());
            debug_assert_eq!(undone.map_or(NextHop::NONE, |undone| undone.before), delta.after);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Route;

    #[test]
    fn taken_back_changes_leave_no_trace() {
        let announce = |prefix: &str, next_hop| {
            Change::Announce(Route { prefix: prefix.parse().unwrap(), next_hop: NextHop(next_hop) })
        };
        let mut rib: Rib<u32> = Rib::new();
        rib.apply_all([announce("10.0.0.0/8", 1), announce("10.1.0.0/16", 2)]);
        let before = rib.clone();
        let came_to = rib.apply_all([
            announce("10.0.0.0/8", 3),
            announce("10.0.0.0/8", 1),
            announce("10.2.0.0/16", 4),
            Change::Withdraw("10.1.0.0/16".parse().unwrap()),
            Change::Withdraw("10.9.0.0/16".parse().unwrap()),
        ]);
        assert_eq!((came_to.deltas.len(), came_to.suppressed, came_to.coalesced), (2, 1, 2));
        rib.take_back(&came_to.deltas);
        assert_eq!(rib, before);
    }
}
