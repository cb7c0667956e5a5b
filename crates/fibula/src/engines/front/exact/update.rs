//! Updates: which changes are of entries, and which of the other routes.

use super::lines::InLines;
use super::{Exact, note};
use crate::{Change, Delta, NextHop, Prefix, Rib, Route};

/// The entries over those that a build makes room for, in tenths, from which on the table is built
/// again: one in forty finds both lines full by then, and takes ten times the memory of an entry.
const CROWDED_OF_TEN: usize = 12;

/// The share of the entries that lines were made for below which the table is built again.
const EMPTY_SHARE: usize = 4;

/// The lines below which a table is never too empty, and the routes below which no other length is
/// looked at.
const SMALL: usize = 1 << 8;

impl<A: InLines> Exact<A> {
    /// Makes the changes that are of entries, and returns those of the other routes; `None` if the
    /// table is to be built again.
    pub(super) fn divide_all(
        &mut self,
        rib: &Rib<A>,
        others: &Rib<A>,
        deltas: &[Delta<A>],
    ) -> Option<Vec<Change<A>>> {
        for delta in deltas {
            self.lengths.follow(delta);
        }
        let changes = deltas.iter().flat_map(|delta| self.divide(rib, others, delta)).flatten().collect();
        (!self.is_outdated()).then_some(changes)
    }

    /// Takes back what was changed for `deltas`.
    pub(super) fn restore(&mut self, deltas: &[Delta<A>]) {
        for (key, before) in std::mem::take(&mut self.changed).into_iter().rev() {
            self.write(key, before);
        }
        for delta in deltas {
            self.lengths.follow(&delta.inverse());
        }
    }

    /// Makes one change among the entries, as far as it is one of them, and returns what is to
    /// change in the other routes.
    fn divide(&mut self, rib: &Rib<A>, others: &Rib<A>, delta: &Delta<A>) -> [Option<Change<A>>; 2] {
        let (prefix, length) = (delta.prefix, self.length);
        if prefix.len() == length {
            return [self.settle(rib, others, prefix), None];
        }
        // A longer route ends the entry that it is in.
        let cover = (prefix.len() > length).then(|| Prefix::containing(prefix.first(), length));
        [Some(delta.change()), cover.and_then(|cover| self.settle(rib, others, cover))]
    }

    /// Puts the route of a prefix of the entries' length where it belongs now, or nowhere if it is
    /// gone. Returns the change of the other routes, if it is or was one of them.
    fn settle(&mut self, rib: &Rib<A>, others: &Rib<A>, prefix: Prefix<A>) -> Option<Change<A>> {
        let key = prefix.first();
        let before = self.lines.next_hop(key);
        let next_hop = rib.get(prefix).unwrap_or_default();
        let stays_other = others.get(prefix).is_some();
        let is_entry = next_hop.is_some() && !stays_other && rib.covered(prefix).nth(1).is_none();
        if is_entry && (before == next_hop || self.write(key, next_hop)) {
            if before != next_hop {
                self.changed.push((key, before));
            }
            return None;
        }
        if before.is_some() {
            self.write(key, NextHop::NONE);
            self.changed.push((key, before));
        }
        match next_hop {
            NextHop::NONE => stays_other.then_some(Change::Withdraw(prefix)),
            _ => Some(Change::Announce(Route { prefix, next_hop })),
        }
    }

    /// Sets the next hop of a key, or removes it. Returns false if its lines are full.
    fn write(&mut self, key: A, next_hop: NextHop) -> bool {
        if next_hop.is_some() {
            return self.lines.set(key, next_hop)
                && note(&mut self.present, Prefix::containing(key, self.length));
        }
        self.lines.remove(key);
        true
    }

    /// Returns whether the table is to be built again.
    fn is_outdated(&self) -> bool {
        let length = self.length;
        let of_length = self.lengths.count(length);
        let lines = self.lines.arrays[0].len();
        let wanted = A::layout(length).lines_for(of_length)[0];
        let is_crowded = 10 * wanted > CROWDED_OF_TEN * lines + 10 * SMALL;
        let is_empty = lines > SMALL && wanted < lines / EMPTY_SHARE;
        let (_, most) = self.lengths.most_frequent();
        is_crowded || is_empty || most > 2 * of_length + SMALL
    }
}
