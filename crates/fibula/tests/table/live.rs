//! Whatever the writer does and readers hold, each guard shows one publication. Readers in threads
//! of their own are in `tests/live`.

use crate::model::prefixes;
use crate::{Model, assert_lookups, assert_same, own, prefix};
use fibula::table::form::{Form, Interned, PerRoute, ValuesAlone};
use fibula::table::live::{LiveTable, Settings, TableReader};
use fibula::{ErrorKind, IpPrefix, Table};
use proptest::prelude::*;
use std::any::TypeId;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering};
use std::time::Duration;

const READERS: usize = 3;

#[derive(Clone, Debug)]
enum Step {
    Insert(IpPrefix, u64),
    Remove(IpPrefix),
    Extend(Vec<(IpPrefix, u64)>),
    Replace(Vec<(IpPrefix, u64)>),
    Clear,
    Discard,
    Publish,
    TryPublish,
    /// A reader takes a guard and holds it.
    Hold(usize),
    Rest(usize),
}

fn steps() -> impl Strategy<Value = Step> {
    let route = || (prefixes(), 0..1000_u64);
    let routes = || prop::collection::vec(route(), 0..9);
    prop_oneof![
        4 => route().prop_map(|(prefix, value)| Step::Insert(prefix, value)),
        3 => prefixes().prop_map(Step::Remove),
        1 => routes().prop_map(Step::Extend),
        1 => routes().prop_map(Step::Replace),
        1 => Just(Step::Clear),
        1 => Just(Step::Discard),
        4 => Just(Step::Publish),
        2 => Just(Step::TryPublish),
        2 => (0..READERS).prop_map(Step::Hold),
        2 => (0..READERS).prop_map(Step::Rest),
    ]
}

/// Returns the table that the next publication is to show.
fn pending_state(live: &LiveTable<u64>) -> Table<u64> {
    let mut table = live.pending_table().unwrap_or(live.published()).clone();
    for (prefix, value) in live.pending_changes() {
        match value {
            Some(&value) => drop(table.insert(prefix, value)),
            None => drop(table.remove(prefix)),
        }
    }
    table
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn whoever_holds_it_up_nothing_is_lost(
        steps in prop::collection::vec(steps(), 1..60),
        most_retired in 0..4_usize,
    ) {
        let mut live = LiveTable::new(Table::new(), Settings { attempts: 0, most_retired, stuck_after: Duration::ZERO });
        let mut readers: Vec<_> = (0..READERS).map(|_| live.reader()).collect();
        let mut fresh = live.reader();
        let (mut model, mut published) = (Model::default(), Model::default());
        for step in steps {
            match step {
                Step::Insert(prefix, value) => {
                    live.insert(prefix, value);
                    model.insert(prefix, value);
                }
                Step::Remove(prefix) => {
                    live.remove(prefix);
                    model.remove(prefix);
                }
                Step::Extend(routes) => {
                    live.extend(routes.iter().copied());
                    model.extend(routes);
                }
                Step::Replace(routes) => {
                    live.replace(routes.iter().copied().collect());
                    model = Model::default();
                    model.extend(routes);
                }
                Step::Clear => {
                    live.clear();
                    model = Model::default();
                }
                Step::Discard => {
                    live.discard();
                    model = published.clone();
                }
                Step::Publish | Step::TryPublish => {
                    let is_patient = matches!(step, Step::Publish);
                    match if is_patient { live.publish() } else { live.try_publish() } {
                        Ok(()) => {
                            prop_assert_eq!(live.pending(), 0);
                            published = model.clone();
                        }
                        Err(error) => {
                            prop_assert_eq!(error.kind(), ErrorKind::ReadersHeldUp);
                            prop_assert!(live.pending() > 0 && live.retired() > 0);
                            prop_assert!(!is_patient || live.retired() >= most_retired);
                        }
                    }
                }
                Step::Hold(which) => drop(readers[which].guard().len()),
                Step::Rest(which) => readers[which].rest(),
            }
            prop_assert!(live.retired() <= most_retired.max(1));
            assert_same(&pending_state(&live), &model);
            let table = fresh.guard();
            assert!(table.iter().map(own).eq(published.sorted()));
            assert_lookups(table, &published, &published.probes());
            fresh.rest();
        }
        readers.iter_mut().for_each(TableReader::rest);
        live.publish().unwrap();
        assert_same(live.published(), &model);
    }
}

#[test]
fn readers_outlive_the_writer() {
    let mut live = LiveTable::new(Table::new(), Settings::default());
    let mut reader = live.reader();
    live.insert(prefix("10.0.0.0/8"), 1);
    live.publish().unwrap();
    let table = reader.guard();
    drop(live);
    assert_eq!(table.lookup_value([10, 0, 0, 1]), Some(&1));
    let mut another = reader.clone();
    drop(reader);
    assert_eq!(another.guard().len(), 1);
}

#[test]
fn a_live_table_drops_all_it_held() {
    let count = Arc::new(());
    let mut live = LiveTable::new(Table::new(), Settings::default());
    let mut reader = live.reader();
    for round in 0..20_u8 {
        live.insert(IpPrefix::host([10, round % 5, 0, 0]), Arc::clone(&count));
        live.remove(IpPrefix::host([10, round % 3, 0, 0]));
        live.publish().unwrap();
        assert!(reader.guard().len() < 6);
    }
    drop(live);
    assert!(Arc::strong_count(&count) > 1 && !reader.guard().is_empty());
    drop(reader);
    assert_eq!(Arc::strong_count(&count), 1);
}

#[test]
fn both_ends_go_where_the_values_may() {
    fn goes_anywhere<T: Send + Sync>() {}
    goes_anywhere::<LiveTable<String>>();
    goes_anywhere::<TableReader<String>>();
}

/// A value that counts those of its kind.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Counted(u32);

static COUNTED: AtomicIsize = AtomicIsize::new(0);

impl Counted {
    fn new(value: u32) -> Self {
        COUNTED.fetch_add(1, Ordering::Relaxed);
        Self(value)
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        Self::new(self.0)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        COUNTED.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Publishes random changes. After each collection there are as many values as the two copies have.
fn counted<F: Form<Counted, Store: Clone> + 'static>() {
    let host = |last: u8| IpPrefix::host([10, 0, 0, last]);
    let mut rng = fastrand::Rng::with_seed(2);
    let mut live = LiveTable::<Counted, F>::new(Table::default(), Settings::default());
    let (mut reader, holder) = (live.reader(), live.reader());
    for round in 0..300 {
        for _ in 0..rng.usize(..6) {
            match rng.u8(..3) {
                0 => live.remove(host(rng.u8(..16))),
                _ => live.insert(host(rng.u8(..16)), Counted::new(rng.u32(..4))),
            }
        }
        if round % 50 == 49 {
            live.replace(std::iter::once((host(1), Counted::new(1))).collect());
        }
        reader.guard();
        let is_held_up = live.pending() > 0;
        live.publish().unwrap();
        assert_eq!(live.collect(), !is_held_up, "round {round}");
        reader.rest();
        live.publish().unwrap();
        let distinct: BTreeSet<u32> = live.published().values().map(|value| value.0).collect();
        let values = if TypeId::of::<F>() == TypeId::of::<PerRoute>() {
            live.published().len()
        } else {
            distinct.len()
        };
        let copies = 1 + isize::try_from(live.retired()).unwrap();
        assert_eq!(
            COUNTED.load(Ordering::Relaxed),
            copies * isize::try_from(values).unwrap(),
            "round {round}"
        );
    }
    drop(live);
    assert_eq!(holder.clone().guard().iter().count(), reader.guard().iter().count());
    drop((reader, holder));
    assert_eq!(COUNTED.load(Ordering::Relaxed), 0);
}

#[test]
fn removed_values_are_dropped_as_soon_as_no_reader_can_reach_them() {
    counted::<PerRoute>();
    counted::<Interned>();
    counted::<ValuesAlone>();
}
