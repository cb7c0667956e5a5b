//! [`Feeds`]: tables that a feed changes, prefix by prefix.
//!
//! ```text
//!  feed ──changes──▶ pending ──every 20 ms──▶ one of two copies ──▶ readers
//! ```
//!
//! A publication carries the changes out on the copy that nobody reads, which first catches up with
//! the other. Where a slow reader holds that copy, the next tick tries again, and after a second
//! another copy is made; where readers hold several of those, changes wait for them.

use crate::events::Events;
use crate::files::{Condition, Failure};
use crate::served::Served;
use arc_swap::ArcSwap;
use fibula::{IpPrefix, NextHopInfo};
use fibula_page::Change;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant, SystemTime};

/// How long a change waits for others.
pub(crate) const TICK: Duration = Duration::from_millis(20);

/// The ticks after which a copy is made because readers hold the one that is needed.
const PATIENCE: u32 = 50;

/// The copies that slow readers may hold.
const HELD: usize = 4;

/// The changes that a feed may be ahead. It then publishes itself.
const AHEAD: usize = 100_000;

/// All tables that are fed, by name.
#[derive(Default)]
pub(crate) struct Feeds {
    tables: RwLock<BTreeMap<String, Arc<Fed>>>,
    /// Why feeds have ended, by the name of what they fed.
    failures: Mutex<BTreeMap<String, Failure>>,
    /// The messages that could not be read, by the name of what they would have fed.
    bad: Mutex<BTreeMap<String, u64>>,
}

/// A table that is fed.
struct Fed {
    current: ArcSwap<Served>,
    writer: Mutex<Writer>,
}

/// What only the feed and the ticks touch.
#[derive(Default)]
struct Writer {
    pending: Vec<Change>,
    /// When the first of them came.
    since: Option<Instant>,
    /// The other copy, unless a reader has it, and the changes that it has missed.
    spare: Option<Arc<Served>>,
    missed: Vec<Change>,
    /// The ticks for which readers have held it.
    waited: u32,
    /// The copies that readers held too long.
    held: Vec<Weak<Served>>,
}

impl Writer {
    /// Makes the changes that the other copy has missed, so that they take no memory while the feed
    /// tells nothing.
    fn catch_up(&mut self) {
        if self.missed.is_empty() {
            return;
        }
        if let Some(spare) = self.spare.as_mut().and_then(Arc::get_mut) {
            spare.change(&std::mem::take(&mut self.missed));
        }
    }
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
    fn publish(&self, events: &Events, is_tick: bool) {
        let mut writer = self.writer();
        if writer.pending.is_empty() {
            if is_tick {
                writer.catch_up();
            }
            return;
        }
        let Writer { pending, since, spare, missed, waited, held } = &mut *writer;
        held.retain(|copy| copy.strong_count() > 0);
        let current = self.current.load_full();
        let mut next = match spare.take().map(Arc::try_unwrap) {
            Some(Ok(mut spare)) => {
                if !missed.is_empty() {
                    spare.change(missed);
                }
                spare
            }
            Some(Err(kept)) if *waited < PATIENCE || held.len() >= HELD => {
                *waited += u32::from(is_tick);
                *spare = Some(kept);
                return;
            }
            Some(Err(kept)) => {
                held.push(Arc::downgrade(&kept));
                current.copy()
            }
            None => current.copy(),
        };
        *waited = 0;
        next.change(pending);
        let next = Arc::new(next);
        self.current.store(Arc::clone(&next));
        let waited = since.take().map_or(Duration::ZERO, |since| since.elapsed());
        events.changed(&current, &next, pending, waited);
        *spare = Some(current);
        *missed = std::mem::take(pending);
    }
}

impl Feeds {
    fn all(&self) -> Vec<Arc<Fed>> {
        self.tables.read().unwrap_or_else(PoisonError::into_inner).values().map(Arc::clone).collect()
    }

    /// Returns a table of the feed, which is empty if it is new.
    fn of(&self, name: &str) -> Arc<Fed> {
        if let Some(fed) = self.tables.read().unwrap_or_else(PoisonError::into_inner).get(name) {
            return Arc::clone(fed);
        }
        let mut all = self.tables.write().unwrap_or_else(PoisonError::into_inner);
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
            writer.since.get_or_insert_with(Instant::now);
            writer.pending.push(Change { prefix, value: value.cloned() });
            writer.pending.len()
        };
        if ahead >= AHEAD {
            fed.publish(events, false);
        }
    }

    /// Drops all routes of a table, whatever is pending. The table stays.
    pub(crate) fn clear(&self, name: &str, events: &Events) {
        let fed = self.of(name);
        let mut writer = fed.writer();
        let held = std::mem::take(&mut writer.held);
        *writer = Writer { held, ..Writer::default() };
        let before = fed.current.load_full();
        let cleared = Arc::new(before.cleared());
        fed.current.store(Arc::clone(&cleared));
        drop(writer);
        events.replaced(&before, &cleared);
    }

    /// Forgets a table, whatever is pending.
    pub(crate) fn forget(&self, name: &str, events: &Events) {
        self.recover(name);
        let gone = self.tables.write().unwrap_or_else(PoisonError::into_inner).remove(name);
        if let Some(gone) = gone {
            events.gone(&gone.current.load());
        }
    }

    /// Notes that what a feed has told is not what its source has: it stays as it is.
    pub(crate) fn fail(&self, name: &str, state: Condition, what: String) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let before = failures.get(name).filter(|before| before.state == state);
        let since = before.map_or_else(SystemTime::now, |before| before.since);
        failures.insert(name.to_owned(), Failure { what, since, state, counts: None });
    }

    /// Notes that what a feed tells is what its source has again.
    pub(crate) fn recover(&self, name: &str) {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    }

    /// Returns the feeds that have ended by an error.
    pub(crate) fn failures(&self) -> BTreeMap<String, Failure> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Counts a message that could not be read. Returns how many there were.
    pub(crate) fn bad(&self, name: &str) -> u64 {
        let mut bad = self.bad.lock().unwrap_or_else(PoisonError::into_inner);
        let count = bad.entry(name.to_owned()).or_default();
        *count += 1;
        *count
    }

    /// Returns the numbers of messages that could not be read.
    pub(crate) fn all_bad(&self) -> BTreeMap<String, u64> {
        self.bad.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Publishes what is pending in all tables.
    pub(crate) fn publish(&self, events: &Events) {
        self.all().iter().for_each(|fed| fed.publish(events, true));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Publishes changes of hosts of 10/8, and returns how many routes and generations there are.
    fn publish(feeds: &Feeds, hosts: &[u8], value: Option<&str>) -> (usize, u64) {
        let events = Events::default();
        let value = value.map(NextHopInfo::parse);
        for &host in hosts {
            let prefix = IpPrefix::new([10, 0, 0, host], 32).unwrap();
            feeds.change("fed", prefix, value.as_ref(), &events);
        }
        feeds.publish(&events);
        let table = feeds.tables().next().unwrap();
        (table.table.len(), table.generation)
    }

    fn missed(feeds: &Feeds) -> usize {
        feeds.all().iter().map(|fed| fed.writer().missed.len()).sum()
    }

    #[test]
    fn both_copies_have_all_once_the_feed_is_silent() {
        let feeds = Feeds::default();
        assert_eq!(publish(&feeds, &[1, 2, 3], Some("one")), (3, 1));
        assert_eq!(missed(&feeds), 3);
        assert_eq!(publish(&feeds, &[], None), (3, 1));
        assert_eq!(missed(&feeds), 0);
        // What a reader has cannot catch up, and does later.
        assert_eq!(publish(&feeds, &[4], Some("two")), (4, 2));
        let read = feeds.all()[0].writer().spare.clone();
        assert_eq!(publish(&feeds, &[], None), (4, 2));
        assert_eq!(missed(&feeds), 1);
        drop(read);
        // With and without the tick between.
        assert_eq!(publish(&feeds, &[1], None), (3, 3));
        assert_eq!(publish(&feeds, &[5], Some("one")), (4, 4));
        assert_eq!(publish(&feeds, &[], None), (4, 4));
        assert_eq!(publish(&feeds, &[6], Some("one")), (5, 5));
    }

    #[test]
    fn a_table_is_cleared_at_once_and_fed_again() {
        let feeds = Feeds::default();
        assert_eq!(publish(&feeds, &[1, 2], Some("one")), (2, 1));
        let prefix = IpPrefix::new([10, 0, 0, 3], 32).unwrap();
        feeds.change("fed", prefix, Some(&NextHopInfo::parse("two")), &Events::default());
        feeds.clear("fed", &Events::default());
        assert_eq!(publish(&feeds, &[], None), (0, 2));
        assert_eq!(publish(&feeds, &[2, 4], Some("one")), (2, 3));
        assert_eq!(publish(&feeds, &[2], None), (1, 4));
    }
}
