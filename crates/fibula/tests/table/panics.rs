//! Values whose `clone` or `drop` panics, in a table that changes while others look up: readers see
//! whole publications, the value at fault is not tried for ever, and the next publication works.

use crate::prefix;
use fibula::table::live::{LiveTable, Settings, TableReader};
use fibula::{IpPrefix, Table};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const PATIENT: Settings = Settings { attempts: 0, most_retired: 8, stuck_after: Duration::ZERO };

/// Publishes, and returns whether that panicked.
fn panics<V: Clone>(live: &mut LiveTable<V>) -> bool {
    catch_unwind(AssertUnwindSafe(|| live.publish().unwrap())).is_err()
}

fn host(last: u8) -> IpPrefix {
    IpPrefix::host([10, 0, 0, last])
}

/// A value of which a set number of clones can be made before the next one panics.
#[derive(Debug)]
struct Fused(Arc<AtomicU32>, u32);

impl Clone for Fused {
    fn clone(&self) -> Self {
        let left = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        assert!(left.is_ok(), "no clone is left");
        Self(Arc::clone(&self.0), self.1)
    }
}

/// Returns the values that a new guard shows.
fn seen(reader: &mut TableReader<Fused>) -> Vec<u32> {
    let values = reader.guard().values().map(|value| value.1).collect();
    reader.rest();
    values
}

#[test]
fn whichever_clone_panics_all_other_changes_are_published() {
    let fuse = Arc::new(AtomicU32::new(0));
    let value = |version: u8| Fused(Arc::clone(&fuse), version.into());
    // Where a reader holds the other copy up, a new one is made. Where none does, the other one is
    // changed.
    for is_held_up in [false, true] {
        let mut live = LiveTable::new(Table::new(), PATIENT);
        let (mut reader, mut slow) = (live.reader(), live.reader());
        let mut count = 0;
        for version in 0..9_u8 {
            if is_held_up {
                slow.rest();
                slow.guard();
            }
            let before = seen(&mut reader);
            for clones in 0.. {
                live.discard();
                live.insert(host(version), value(version));
                live.remove(host(version.wrapping_sub(3)));
                fuse.store(clones, Ordering::Relaxed);
                if !panics(&mut live) {
                    break;
                }
                count += 1;
                // The clone of the new value comes first. Those after it are of published values.
                let left = if clones == 0 { 1 } else { 2 };
                assert_eq!((live.pending(), seen(&mut reader)), (left, before.clone()));
            }
            live.published().validate().unwrap();
            let first = u32::from(version).saturating_sub(2);
            assert_eq!(seen(&mut reader), (first..=version.into()).collect::<Vec<_>>());
        }
        assert!(count >= 9, "{count}");
    }
}

/// A value that panics whenever it is cloned or dropped, if it is told to.
#[derive(Debug)]
enum Touchy {
    Calm,
    NeverCloned,
    PanicsWhenDropped,
}

impl Clone for Touchy {
    fn clone(&self) -> Self {
        match self {
            Self::Calm => Self::Calm,
            Self::NeverCloned => panic!("never cloned"),
            Self::PanicsWhenDropped => Self::PanicsWhenDropped,
        }
    }
}

impl Drop for Touchy {
    fn drop(&mut self) {
        assert!(!matches!(self, Self::PanicsWhenDropped) || std::thread::panicking(), "dropped");
    }
}

#[test]
fn a_value_that_is_never_cloned_is_discarded_alone() {
    let mut live = LiveTable::new(Table::new(), PATIENT);
    for (last, value) in [(1, Touchy::Calm), (2, Touchy::NeverCloned), (3, Touchy::Calm)] {
        live.insert(host(last), value);
    }
    assert!(panics(&mut live) && live.published().is_empty());
    assert_eq!(live.pending_changes().map(|(prefix, _)| prefix).collect::<Vec<_>>(), [1, 3].map(host));
    assert!(!panics(&mut live) && live.published().len() == 2);
    live.published().validate().unwrap();
}

/// A published value that cannot be cloned keeps the table from being copied. Whole tables are not.
#[test]
fn a_published_value_that_is_never_cloned_can_be_replaced() {
    let mut live = LiveTable::new(Table::from([(host(1), Touchy::NeverCloned)]), PATIENT);
    live.insert(host(2), Touchy::Calm);
    assert!(panics(&mut live) && live.pending() == 1 && live.published().len() == 1);
    live.replace(Table::from([(host(3), Touchy::NeverCloned)]));
    live.insert(host(4), Touchy::NeverCloned);
    assert!(!panics(&mut live) && live.published().len() == 2);
    live.clear();
    assert!(!panics(&mut live) && live.published().is_empty());
    live.insert(host(2), Touchy::Calm);
    assert!(!panics(&mut live) && live.published().len() == 1);
}

#[test]
fn a_value_whose_drop_panics_is_removed_all_the_same() {
    let mut live = LiveTable::new(Table::new(), PATIENT);
    let mut reader = live.reader();
    let both = [prefix("10.0.0.0/8"), prefix("2001:db8::/32")];
    live.extend(both.map(|prefix| (prefix, Touchy::Calm)));
    live.publish().unwrap();
    for at in both {
        live.insert(at, Touchy::PanicsWhenDropped);
        live.publish().unwrap();
        live.remove(at);
        live.insert(host(1), Touchy::Calm);
        // Each of both copies drops its own.
        for left in [1, 0] {
            let is_replaced = panics(&mut live);
            assert_eq!((is_replaced, live.pending()), (true, 0), "{at}, {left} left");
            let table = reader.guard();
            assert!(!table.contains_key(at) && table.contains_key(host(1)));
            table.validate().unwrap();
            reader.rest();
            live.insert(host(2), Touchy::Calm);
        }
        assert!(!panics(&mut live) && live.published().contains_key(host(2)));
        live.published().validate().unwrap();
        live.insert(at, Touchy::Calm);
        live.publish().unwrap();
    }
}
