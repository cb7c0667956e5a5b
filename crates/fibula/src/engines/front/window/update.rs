//! Updates: the slots that a change reaches are painted again, and a slot that asks the inner
//! engine has its routes there.

use super::extent::Place;
use super::node::{COVER, NEXT_HOPS_MAX};
use super::{InWindow, Window};
use crate::{Change, Delta, Limit, NextHop, Prefix, Rib};

/// The other routes that are never too many, and the routes of which a table never has too few.
const SMALL: usize = 1 << 8;

impl<A: InWindow> Window<A> {
    /// Makes the changes that are of slots, and returns those of the other routes; `None` if the
    /// table is to be built again.
    pub(super) fn repaint(
        &mut self,
        rib: &Rib<A>,
        others: &Rib<A>,
        deltas: &[Delta<A>],
    ) -> Option<Vec<Change<A>>> {
        if self.is_outdated(rib.len(), others.len()) {
            return None;
        }
        let Some(extent) = self.extent else {
            return Some(deltas.iter().map(|delta| delta.change()).collect());
        };
        if deltas.iter().any(|delta| delta.after.0 > NEXT_HOPS_MAX) {
            return None;
        }
        deltas.iter().try_for_each(|delta| self.repaint_one(rib, delta.prefix)).ok()?;
        for delta in deltas.iter().filter(|delta| extent.is_outside(delta.prefix)) {
            let (came, went) = (delta.after != NextHop::NONE, delta.before != NextHop::NONE);
            self.outside = self.outside + usize::from(came) - usize::from(went);
        }
        self.set_word_outside();
        // The slots that have turned, each once: painted again with the same routes, one stays as
        // it is.
        self.turned.sort_unstable();
        if !self.has_asking && self.turned.iter().any(|&slot| self.asks(self.root[slot])) {
            return None;
        }
        let mut changes = Vec::new();
        for delta in deltas {
            let is_other = match extent.place_of(delta.prefix) {
                Place::InSlot(slot) => {
                    self.asks(self.root[slot]) && self.turned.binary_search(&slot).is_err()
                }
                Place::OverSlots | Place::Elsewhere => self.is_other(delta.prefix),
            };
            changes.extend(is_other.then(|| delta.change()));
        }
        for slot in std::mem::take(&mut self.turned) {
            let (prefix, is_in_slot) = (extent.prefix_of(slot), |len: u8| len > extent.position);
            if self.asks(self.root[slot]) {
                let routes = rib.covered(prefix).filter(|route| is_in_slot(route.prefix.len()));
                changes.extend(routes.map(Change::Announce));
            } else {
                let routes = others.covered(prefix).filter(|route| is_in_slot(route.prefix.len()));
                changes.extend(routes.map(|route| Change::Withdraw(route.prefix)));
            }
        }
        Some(changes)
    }

    /// Paints what the change of one prefix reaches.
    fn repaint_one(&mut self, rib: &Rib<A>, prefix: Prefix<A>) -> Result<(), Limit> {
        let Some(extent) = self.extent else { return Ok(()) };
        if prefix.covers(extent.network) {
            self.cover = Self::cover_of(rib, extent.network);
            return Ok(());
        }
        if !extent.network.covers(prefix) {
            return Ok(());
        }
        self.paint(rib, Prefix::containing(prefix.first(), prefix.len().min(extent.position)))
    }

    /// Writes the word of the addresses outside the network.
    pub(super) fn set_word_outside(&mut self) {
        let (last, word) = (self.slots(), if self.outside == 0 { COVER } else { 0 });
        if self.root[last] != word {
            self.changed.push((last, std::mem::replace(&mut self.root[last], word)));
        }
    }

    /// Returns the next hop of the routes that cover the whole network.
    pub(super) fn cover_of(rib: &Rib<A>, network: Prefix<A>) -> u16 {
        rib.longest_cover(network).map_or(0, |route| route.next_hop.0 as u16)
    }

    /// Returns whether the table is to be built again: too many routes are not in slots, or the
    /// slots are for far more routes.
    fn is_outdated(&self, routes: usize, others: usize) -> bool {
        others > 2 * self.built.others + routes / 8 + SMALL || 4 * routes + SMALL < self.built.routes
    }

    /// Takes back what was changed since the last commit.
    pub(super) fn restore(&mut self) {
        for (slot, before) in std::mem::take(&mut self.changed).into_iter().rev() {
            let after = std::mem::replace(&mut self.root[slot], before);
            self.free(after);
        }
        (self.cover, self.outside) = self.before;
        self.turned.clear();
    }
}
