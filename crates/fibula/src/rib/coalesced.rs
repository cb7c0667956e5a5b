//! [`Coalesced`]: many changes applied at once, reduced to the least that an engine must be told.

use super::Rib;
use crate::{Address, Change, Delta, NextHop, Prefix};
use std::collections::HashMap;

/// The net result of a sequence of changes: at most one [`Delta`] a prefix, as
/// [`Fib::apply`](crate::Fib::apply) needs them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Coalesced<A: Address> {
    /// What differs now, each prefix once, in the order in which they were first changed.
    pub deltas: Vec<Delta<A>>,
    /// The number of changes without effect: a route announced as it was, or withdrawn where it was
    /// absent.
    pub suppressed: usize,
    /// The number of changes that a later one to the same prefix replaced or undid.
    pub coalesced: usize,
}

/// A sequence of deltas, merged to at most one a prefix.
#[derive(Debug, Default)]
pub(crate) struct Deltas<A: Address> {
    deltas: Vec<Delta<A>>,
    /// The index of each prefix, once there are more than a few.
    positions: HashMap<Prefix<A>, usize>,
}

impl<A: Address> Deltas<A> {
    /// Up to this number, prefixes are found by linear search: most sequences are that short, and a
    /// hash table costs more.
    const FEW: usize = 8;

    /// Adds the next delta. O(1).
    pub(crate) fn push(&mut self, delta: Delta<A>) {
        let position = if self.positions.is_empty() {
            self.deltas.iter().position(|other| other.prefix == delta.prefix)
        } else {
            self.positions.get(&delta.prefix).copied()
        };
        if let Some(position) = position {
            self.deltas[position].after = delta.after;
            return;
        }
        self.deltas.push(delta);
        if self.deltas.len() > Self::FEW {
            let new = if self.positions.is_empty() { 0 } else { self.deltas.len() - 1 };
            let prefixes = (new..).zip(&self.deltas[new..]);
            self.positions.extend(prefixes.map(|(position, delta)| (delta.prefix, position)));
        }
    }

    /// Returns the deltas with an effect, in the order in which their prefixes were first changed.
    pub(crate) fn into_effective(mut self) -> Vec<Delta<A>> {
        self.deltas.retain(|delta| delta.before != delta.after);
        self.deltas
    }
}

impl<A: Address> Rib<A> {
    /// Applies many changes in order and returns their net result. O(c log n) for *c* changes.
    ///
    /// ```
    /// use fibula::{Change, NextHop, Rib, Route};
    /// let prefix = "192.0.2.0/24".parse()?;
    /// let announce = |next_hop| Change::Announce(Route { prefix, next_hop: NextHop(next_hop) });
    /// let mut rib: Rib<u32> = Rib::new();
    /// let changes =
    ///     [announce(1), announce(1), announce(2), Change::Withdraw(prefix), announce(3)];
    /// let came_to = rib.apply_all(changes);
    /// assert_eq!((came_to.deltas.len(), came_to.suppressed, came_to.coalesced), (1, 1, 3));
    /// let delta = came_to.deltas[0];
    /// assert_eq!((delta.before, delta.after), (NextHop::NONE, NextHop(3)));
    /// # Ok::<(), fibula::Error>(())
    /// ```
    pub fn apply_all(&mut self, changes: impl IntoIterator<Item = Change<A>>) -> Coalesced<A> {
        let (mut deltas, mut suppressed, mut effective) = (Deltas::default(), 0, 0);
        for change in changes {
            match self.apply(change) {
                Some(delta) => {
                    effective += 1;
                    deltas.push(delta);
                }
                None => suppressed += 1,
            }
        }
        let deltas = deltas.into_effective();
        let coalesced = effective - deltas.len();
        Coalesced { deltas, suppressed, coalesced }
    }

    /// Undoes deltas: the table is as before them.
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
    #[test]
    fn many_changes_are_coalesced_like_few() {
        let change = |prefix: u32, next_hop| {
            let prefix = Prefix::containing(prefix << 8, 24);
            Change::Announce(Route { prefix, next_hop: NextHop(next_hop) })
        };
        for prefixes in [3, 8, 9, 100] {
            let mut rib: Rib<u32> = Rib::new();
            let rounds = (1..=3).flat_map(|next_hop| (0..prefixes).map(move |prefix| (prefix, next_hop)));
            let came_to = rib.apply_all(rounds.map(|(prefix, next_hop)| change(prefix, next_hop)));
            let expected: Vec<_> = (0..prefixes)
                .map(|prefix| Delta {
                    prefix: Prefix::containing(prefix << 8, 24),
                    before: NextHop::NONE,
                    after: NextHop(3),
                })
                .collect();
            assert_eq!((came_to.deltas, came_to.coalesced), (expected, 2 * prefixes as usize));
        }
    }
}
