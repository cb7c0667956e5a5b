//! [`Feeds`]: tables that a feed changes, prefix by prefix.
//!
//! ```text
//!  feed ──changes──▶ pending ──every 20 ms──▶ one of two copies ──▶ readers
//! ```
//!
//! A publication carries the changes out on the copy that nobody reads, which first catches up with
//! the other. Where a slow reader holds that copy, the next publication tries again, and after a
//! second another copy is made.

use crate::events::Events;
use crate::served::Served;
use arc_swap::ArcSwap;
use fibula::{IpPrefix, NextHopInfo};
use fibula_page::Change;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

/// How long a change waits for others.
pub(crate) const TICK: Duration = Duration::from_millis(20);

/// The ticks after which a copy is made because readers hold the one that is needed.
const PATIENCE: u32 = 50;

/// The changes that a feed may be ahead. It then publishes itself.
const AHEAD: usize = 100_000;

/// All tables that are fed, by name.
#[derive(Default)]
pub(crate) struct Feeds(RwLock<BTreeMap<String, Arc<Fed>>>);

/// A table that is fed.
struct Fed {
    current: ArcSwap<Served>,
    writer: Mutex<Writer>,
}

/// What only the feed and the ticks touch.
#[derive(Default)]
struct Writer {
    pending: Vec<Change>,
    /// The other copy, unless a reader has it, and the changes that it has missed.
    spare: Option<Arc<Served>>,
    missed: Vec<Change>,
    /// The ticks for which readers have held it.
    waited: u32,
}

impl Fed {
    fn new(name: &str) -> Self {
        let writer = Mutex::new(Writer::default());
        Self { current: ArcSwap::from_pointee(Served::fed(name)), writer }
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        // All that is held across what might panic is a list.
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes what is pending. O(changes), unless a copy must be made.
    fn publish(&self, events: &Events) {
        let mut writer = self.writer();
        let Writer { pending, spare, missed, waited } = &mut *writer;
        if pending.is_empty() {
            return;
        }
        let current = self.current.load_full();
        let mut next = match spare.take().map(Arc::try_unwrap) {
            Some(Ok(mut spare)) => {
                spare.change(missed);
                spare
            }
            Some(Err(held)) if *waited < PATIENCE => {
                *waited += 1;
                *spare = Some(held);
                return;
            }
            Some(Err(_)) | None => current.copy(),
        };
        *waited = 0;
        next.change(pending);
        events.changed(&current, &next, pending);
        self.current.store(Arc::new(next));
        *spare = Some(current);
        *missed = std::mem::take(pending);
    }
}

impl Feeds {
    fn all(&self) -> Vec<Arc<Fed>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).values().map(Arc::clone).collect()
    }

    /// Returns a table of the feed, which is empty if it is new.
    fn of(&self, name: &str) -> Arc<Fed> {
        if let Some(fed) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(name) {
            return Arc::clone(fed);
        }
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(name.to_owned()).or_insert_with(|| Arc::new(Fed::new(name))))
    }

    /// Returns all tables as they are now.
    pub(crate) fn tables(&self) -> impl Iterator<Item = Arc<Served>> {
        self.all().into_iter().map(|fed| fed.current.load_full())
    }

    /// Takes a change in, which is seen soon: another value of a prefix, or none.
    pub(crate) fn change(&self, name: &str, prefix: IpPrefix, value: Option<&NextHopInfo>, events: &Events) {
        let fed = self.of(name);
        let ahead = {
            let mut writer = fed.writer();
            writer.pending.push(Change { prefix, value: value.cloned() });
            writer.pending.len()
        };
        if ahead >= AHEAD {
            fed.publish(events);
        }
    }

    /// Empties a table, whatever is pending.
    pub(crate) fn forget(&self, name: &str) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        all.remove(name);
    }

    /// Publishes what is pending in all tables.
    pub(crate) fn publish(&self, events: &Events) {
        self.all().iter().for_each(|fed| fed.publish(events));
    }
}

/// Returns a name that a table may have: what it may not have is a dash.
pub(crate) fn plain(name: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
    name.chars().map(|letter| if is_plain(letter) { letter } else { '-' }).collect()
}
