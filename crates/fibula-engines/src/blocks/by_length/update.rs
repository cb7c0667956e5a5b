//! Updates in place.

use super::{ByLength, KEY_BITS, Keyed, Level};
use crate::blocks::expanded::{Entries, Expanded};
use crate::blocks::probing::Hashing;
use fibula::engine::{Cost, Width};
use fibula::{Delta, Prefix, Rib, Route};

impl<A: Keyed, W: Width, H: Hashing, const SLOTS: usize> ByLength<A, W, H, SLOTS> {
    /// Returns how many more prefixes there would be after expansion, if none overlapped, once
    /// `deltas` are applied. Withdrawals are not subtracted from announcements.
    #[must_use]
    pub fn growth(&self, deltas: &[Delta<A>]) -> u64 {
        let new = deltas.iter().filter(|delta| !delta.before.is_some()).map(|delta| delta.prefix);
        let shares = new.filter_map(|prefix| Some(self.levels[self.level_of(prefix)?].share(prefix)));
        shares.fold(0, u64::saturating_add)
    }

    /// Follows `rib`, which holds all changes already. A withdrawal may therefore give entries to a
    /// route whose own change comes later and finds them right.
    ///
    /// Returns `None` and changes nothing if the tree of the longer routes might not hold them.
    pub fn follow(&mut self, rib: &Rib<A>, deltas: &[Delta<A>]) -> Option<Cost> {
        let longer = || deltas.iter().filter(|delta| delta.prefix.len() > KEY_BITS);
        let mut cost = self.longer.follow(longer())?;
        for &Delta { prefix, before, after } in deltas {
            cost += if prefix.len() > KEY_BITS {
                self.mark(rib, prefix)
            } else if after.is_some() {
                self.announce(Route { prefix, next_hop: after }, !before.is_some())
            } else {
                self.withdraw(rib, prefix)
            };
        }
        Some(cost)
    }

    /// Writes a route's entries. Routes too long for any level have none here.
    pub(super) fn announce(&mut self, route: Route<A>, new: bool) -> Cost {
        let Some(at) = self.level_of(route.prefix) else {
            if route.prefix.len() == 0 {
                self.default = W::narrow(route.next_hop);
            }
            return Cost { entries_set: u64::from(route.prefix.len() == 0), ..Cost::default() };
        };
        let level = &mut self.levels[at];
        if new {
            level.routes += 1;
            level.estimated += level.share(route.prefix);
        }
        level.pair.announce(route, level.len)
    }

    fn withdraw(&mut self, rib: &Rib<A>, prefix: Prefix<A>) -> Cost {
        let Some(at) = self.level_of(prefix) else {
            self.default = W::default();
            return Cost { entries_set: 1, ..Cost::default() };
        };
        let level = &mut self.levels[at];
        level.routes -= 1;
        level.estimated -= level.share(prefix);
        let heir = rib.parent(prefix).filter(|heir| heir.prefix.len() > level.above);
        level.pair.withdraw(prefix, heir, level.len)
    }

    /// Sets or clears the mark on the entry of the 64 bits that a longer prefix begins with, as
    /// `rib` has it.
    pub(super) fn mark(&mut self, rib: &Rib<A>, prefix: Prefix<A>) -> Cost {
        let Some(Level { pair, .. }) = self.levels.last_mut() else { return Cost::default() };
        let slot = prefix.first().bits(0, KEY_BITS);
        let entry = pair.entry(slot);
        let longer = has_longer(rib, Prefix::containing(prefix.first(), KEY_BITS));
        if entry.longer == longer {
            Cost::default()
        } else {
            pair.set_entry(slot, Expanded { longer, ..entry })
        }
    }

    /// Returns the level of a prefix, or `None` for the default route and for prefixes too long.
    fn level_of(&self, prefix: Prefix<A>) -> Option<usize> {
        let at = self.levels.partition_point(|level| level.len < prefix.len());
        (prefix.len() > 0 && at < self.levels.len()).then_some(at)
    }
}

/// Returns whether routes too long for a key begin with these bits.
pub(super) fn has_longer<A: Keyed>(rib: &Rib<A>, prefix: Prefix<A>) -> bool {
    // Such a prefix comes first among those it covers, and all others are longer.
    rib.covered(prefix).take(2).any(|route| route.prefix.len() > KEY_BITS)
}
