//! Updates: which changes are of entries, and which of the other routes.

use super::Ledger;
use super::lines::InLines;
use crate::engine::{Cost, Engine, Update, Width};
use crate::{Change, Delta, NextHop, Prefix, Rib, Route};

/// The entries over those that a build makes room for, in tenths, from which on the table is built
/// again: so many find both lines full by then that lookups are slower.
const CROWDED_OF_TEN: usize = 16;

/// The share of the entries that lines were made for below which the table is built again.
const EMPTY_SHARE: usize = 4;

/// The lines below which a table is never too empty, and the routes below which no other length is
/// looked at.
const SMALL: usize = 1 << 8;

impl<A: InLines, W: Width> Ledger<A, W> {
    /// Follows changes of the table.
    ///
    /// Entries are changed first, because one that finds its lines full is a change of the other
    /// routes. Where the other engine cannot follow, they are changed back.
    pub(super) fn follow(&mut self, rib: &Rib<A>, deltas: &[Delta<A>]) -> Update {
        for delta in deltas {
            self.lengths.follow(delta);
        }
        let mut written = Vec::new();
        let changes: Vec<Change<A>> =
            deltas.iter().flat_map(|delta| self.divide(rib, delta, &mut written)).flatten().collect();
        let others = self.routes.apply_all(changes).deltas;
        let update = if self.is_outdated() {
            Update::Rebuild
        } else if others.is_empty() {
            Update::Applied(Cost::default())
        } else {
            let routes = std::mem::take(&mut self.routes);
            let update = self.kept_mut().apply(&routes, &others);
            self.routes = routes;
            update
        };
        let Update::Applied(mut cost) = update else {
            self.routes.take_back(&others);
            for &(key, before) in written.iter().rev() {
                self.write(key, before);
            }
            for delta in deltas {
                self.lengths.follow(&delta.inverse());
            }
            return update;
        };
        cost.entries_set += written.len() as u64;
        Update::Applied(cost)
    }

    /// Makes one change among the entries, as far as it is one of them, and returns what is to
    /// change in the other routes. `written` gets each entry that changes and its next hop before.
    fn divide(
        &mut self,
        rib: &Rib<A>,
        delta: &Delta<A>,
        written: &mut Vec<(A, NextHop)>,
    ) -> [Option<Change<A>>; 2] {
        let (prefix, length) = (delta.prefix, self.view.length);
        if prefix.len() == length {
            return [self.settle(rib, prefix, written), None];
        }
        // A longer route ends the entry that it is in.
        let cover = (prefix.len() > length).then(|| Prefix::containing(prefix.first(), length));
        [Some(delta.change()), cover.and_then(|cover| self.settle(rib, cover, written))]
    }

    /// Puts the route of a prefix of the entries' length where it belongs now, or nowhere if it is
    /// gone. Returns the change of the other routes, if it is or was one of them.
    fn settle(
        &mut self,
        rib: &Rib<A>,
        prefix: Prefix<A>,
        written: &mut Vec<(A, NextHop)>,
    ) -> Option<Change<A>> {
        let key = prefix.first();
        let before = self.view.lines.next_hop(key);
        let next_hop = rib.get(prefix).unwrap_or_default();
        let stays_other = self.routes.get(prefix).is_some();
        let is_entry = next_hop.is_some() && !stays_other && rib.covered(prefix).nth(1).is_none();
        if is_entry && (before == next_hop || self.write(key, next_hop)) {
            if before != next_hop {
                written.push((key, before));
            }
            return None;
        }
        if before.is_some() {
            self.write(key, NextHop::NONE);
            written.push((key, before));
        }
        match next_hop {
            NextHop::NONE => stays_other.then_some(Change::Withdraw(prefix)),
            _ => Some(Change::Announce(Route { prefix, next_hop })),
        }
    }

    /// Sets the next hop of a key, or removes it. Returns false if its lines are full.
    fn write(&mut self, key: A, next_hop: NextHop) -> bool {
        if next_hop.is_some() {
            return self.view.lines.set(key, next_hop);
        }
        self.view.lines.remove(key);
        true
    }

    /// Returns whether the table is to be built again.
    fn is_outdated(&self) -> bool {
        let length = self.view.length;
        let of_length = self.lengths.count(length);
        let lines = self.view.lines.arrays[0].len();
        let wanted = A::layout(length).lines_for(of_length)[0];
        let is_crowded = 10 * wanted > CROWDED_OF_TEN * lines + 10 * SMALL;
        let is_empty = lines > SMALL && wanted < lines / EMPTY_SHARE;
        let (_, most) = self.lengths.most_frequent();
        is_crowded || is_empty || most > 2 * of_length + SMALL
    }
}
