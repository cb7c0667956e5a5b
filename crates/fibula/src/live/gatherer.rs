//! [`Gatherer`]: a routing table, the changes that wait to be published, and counts.

use super::{Counts, Settings};
use crate::{Address, Change, Delta, Rib};
use std::time::Duration;

/// The control-plane side of a live table, wherever its compiled form is: gathers changes, says
/// when they are due, and applies them to the routing table.
///
/// ```
/// use fibula::live::{Gatherer, Settings};
/// use fibula::{Change, NextHop, Rib, Route};
/// use std::time::Duration;
/// let mut gatherer: Gatherer<u32> = Gatherer::new(Rib::new(), Settings::default());
/// let route = Route { prefix: "192.0.2.0/24".parse()?, next_hop: NextHop(1) };
/// gatherer.take_in(Change::Announce(route), Duration::ZERO);
/// assert!(gatherer.is_due(Duration::ZERO, false));
/// let deltas = gatherer.apply();
/// gatherer.count_published(&deltas, 0);
/// assert_eq!((gatherer.rib().len(), gatherer.counts().applied), (1, 1));
/// # Ok::<(), fibula::Error>(())
/// ```
#[doc(hidden)]
#[derive(Debug)]
pub struct Gatherer<A: Address> {
    rib: Rib<A>,
    pending: Vec<Change<A>>,
    /// When the first pending change was taken in.
    oldest: Duration,
    settings: Settings,
    counts: Counts,
}

impl<A: Address> Gatherer<A> {
    /// Starts with a table and no changes.
    #[must_use]
    pub fn new(rib: Rib<A>, settings: Settings) -> Self {
        Self { rib, pending: Vec::new(), oldest: Duration::ZERO, settings, counts: Counts::default() }
    }

    /// Takes a change and leaves it pending.
    pub fn take_in(&mut self, change: Change<A>, now: Duration) {
        if self.pending.is_empty() {
            self.oldest = now;
        }
        self.pending.push(change);
    }

    /// Returns when the pending changes are to be published; `None` if there are none.
    #[must_use]
    pub fn due(&self) -> Option<Duration> {
        let full = self.pending.len() >= self.settings.most_changes;
        let delay = if full { Duration::ZERO } else { self.settings.longest_delay };
        (!self.pending.is_empty()).then(|| self.oldest.saturating_add(delay))
    }

    /// Returns whether the pending changes are to be published now. Where readers hold what they
    /// need (`is_held`), that is [`Settings::patience`] later.
    #[must_use]
    pub fn is_due(&self, now: Duration, is_held: bool) -> bool {
        let patience = if is_held { self.settings.patience } else { Duration::ZERO };
        self.due().is_some_and(|due| now >= due.saturating_add(patience))
    }

    /// Returns the number of pending changes.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Returns the pending changes, in order.
    pub(super) fn pending_changes(&self) -> &[Change<A>] {
        &self.pending
    }

    /// Drops the pending changes.
    pub(super) fn discard(&mut self) {
        self.pending.clear();
    }

    /// Replaces the table, and drops the pending changes.
    pub(super) fn replace(&mut self, rib: Rib<A>) {
        self.discard();
        self.rib = rib;
    }

    /// Applies all pending changes to the table and returns what they came to, at most one change
    /// a prefix. Follow it by [`count_published`](Gatherer::count_published) or
    /// [`refuse`](Gatherer::refuse).
    pub fn apply(&mut self) -> Vec<Delta<A>> {
        let came_to = self.rib.apply_all(self.pending.drain(..));
        self.counts.suppressed += came_to.suppressed as u64;
        self.counts.coalesced += came_to.coalesced as u64;
        came_to.deltas
    }

    /// Takes changes back from the table because a compiled form refused them, and counts them.
    pub fn refuse(&mut self, deltas: &[Delta<A>]) {
        self.rib.take_back(deltas);
        self.counts.refused += deltas.len() as u64;
    }

    /// Counts changes that readers see now, and the tables that were `rebuilt` for them.
    pub fn count_published(&mut self, deltas: &[Delta<A>], rebuilt: u64) {
        self.counts.applied += deltas.len() as u64;
        self.counts.publications += 1;
        self.counts.rebuilt += rebuilt;
    }

    /// Returns the settings.
    pub(super) fn settings(&self) -> Settings {
        self.settings
    }

    /// Returns the table with all changes applied so far.
    #[must_use]
    pub fn rib(&self) -> &Rib<A> {
        &self.rib
    }

    /// Returns the counts of all changes so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }
}
