//! Changes that a table may refuse: all of them are made, or none.

use crate::model::prefixes;
use fibula::engine::WidthBits;
use fibula::table::form::{Form, Interned, PerRoute, ValuesAlone};
use fibula::table::live::{self, LiveTable};
use fibula::table::{Settings, Table};
use fibula::{ErrorKind, IpPrefix, Prefix, ValueTable};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

type Changes = Vec<(IpPrefix, Option<u64>)>;

fn changes() -> impl Strategy<Value = Changes> {
    let value = prop_oneof![3 => (0..300_u64).prop_map(Some), 1 => Just(None)];
    prop::collection::vec((prefixes(), value), 0..40)
}

/// An engine that has some 255 next hops, and one that has few bytes to live in. The next hop of an
/// interned route says the length too.
fn settings(width: WidthBits) -> [Settings; 2] {
    let mut narrow = Settings { engine: "intervals".to_owned(), ..Settings::default() };
    narrow.config.width = Some(width);
    [narrow, Settings { most_bytes: Some(200_000), ..Settings::default() }]
}

/// Returns how many were refused of a table of each form and kind of settings.
fn in_each_form(all: &[Changes]) -> Vec<usize> {
    let [narrow, wide] = [WidthBits::U8, WidthBits::U16].map(settings);
    let refused = narrow.into_iter().flat_map(|settings| {
        [all_or_none::<PerRoute>(&settings, all), all_or_none::<ValuesAlone>(&settings, all)]
    });
    refused.chain(wide.map(|settings| all_or_none::<Interned>(&settings, all))).collect()
}

/// Makes changes in the table and in a map, and compares them. Returns how many were refused.
fn all_or_none<F: Form<u64>>(settings: &Settings, all: &[Changes]) -> usize {
    let mut table: Table<u64, F> = Table::with_settings(settings.clone()).unwrap();
    let (mut truth, mut refused) = (BTreeMap::new(), 0);
    for changes in all {
        let mut after = truth.clone();
        for &(prefix, value) in changes {
            match value {
                Some(value) => after.insert(prefix, value),
                None => after.remove(&prefix),
            };
        }
        let most_bytes = settings.most_bytes.map(|most| most.max(table.memory().total()));
        match table.try_apply(changes.iter().copied()) {
            Ok(changed) => {
                let gone = truth.keys().filter(|prefix| !after.contains_key(prefix)).count();
                let is_new = |&(prefix, value): &(&IpPrefix, &u64)| truth.get(prefix) != Some(value);
                let least = gone + after.iter().filter(is_new).count();
                assert!((least..=changes.len()).contains(&changed), "{changed} changes, {least} at least");
                truth = after;
                let bytes = table.memory().total();
                assert!(most_bytes.is_none_or(|most| bytes <= most), "{bytes} bytes");
            }
            Err(error) => {
                assert!(matches!(error.kind(), ErrorKind::Limit(_)), "{error}");
                refused += 1;
            }
        }
        table.validate().unwrap();
        assert!(table.iter().map(|(prefix, &value)| (prefix, value)).eq(truth.clone()));
        for (&prefix, &value) in &truth {
            assert_eq!(table.get_lpm(prefix), Some((prefix, &value)));
            let longest = truth.iter().filter(|(other, _)| other.contains(prefix.first()));
            let longest = longest.max_by_key(|(other, _)| other.len());
            assert_eq!(table.lookup(prefix.first()), longest.map(|(&prefix, value)| (prefix, value)));
        }
    }
    refused
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn changes_are_made_or_none_is(all in prop::collection::vec(changes(), 1..12)) {
        in_each_form(&all);
    }
}

/// Routes of both families: the first family has followed when the second refuses.
#[test]
fn each_form_refuses_what_is_too_much() {
    let few = vec![(Prefix::host(1_u32).into(), Some(7)), (Prefix::host(1_u128).into(), Some(7))];
    let hosts = (0..5000_u64).map(|value| (Prefix::host(u128::from(value) << 50).into(), Some(value)));
    let too_many = few[..1].iter().copied().chain(hosts).collect();
    let all = [few.clone(), too_many, few];
    assert_eq!(in_each_form(&all), [1; 6]);
}

#[test]
fn a_method_that_refuses_nothing_takes_another_engine() {
    let [narrow, _] = settings(WidthBits::U8);
    let narrow = Settings { engine: "poptrie".to_owned(), ..narrow };
    let mut table: Table<u64> = Table::with_settings(narrow).unwrap();
    table.insert(Prefix::host(0_u32), 0);
    assert_eq!(table.engines().0, Some("poptrie"));
    table.extend((0..300_u32).map(|at| (Prefix::host(at), at.into())));
    assert_ne!(table.engines().0, Some("poptrie"));
    table.validate().unwrap();
    table.clear();
    table.insert(Prefix::host(0_u32), 0);
    assert_eq!(table.engines().0, Some("poptrie"));
}

#[test]
fn an_engine_that_there_is_not_is_an_error() {
    let of = |engine: &str| {
        let settings = Settings { engine: engine.to_owned(), ..Settings::default() };
        ValueTable::<u64>::with_settings(settings).map(drop).map_err(|error| error.kind())
    };
    assert_eq!(of("poptrie"), Ok(()));
    assert_eq!(of("mosaic6"), Ok(()));
    assert_eq!(of("best/calls=any"), Ok(()));
    assert_eq!(of("no-such"), Err(ErrorKind::UnknownEngine));
    assert_eq!(of("intervals/no-such=1"), Err(ErrorKind::Parameter));
}

/// What a refused publication took in is gone, as if it had never been, and its values are dropped.
#[test]
fn a_refused_publication_is_dropped() {
    let [narrow, _] = settings(WidthBits::U8);
    let table: Table<Arc<u32>> = Table::with_settings(narrow).unwrap();
    let mut live = LiveTable::new(table, live::Settings::default());
    let mut reader = live.reader();
    let value = Arc::new(7);
    for round in 1..5_u32 {
        live.insert(Prefix::host(round), Arc::new(round));
        live.publish().unwrap();
        live.extend((0..300_u32).map(|at| (Prefix::host(at), Arc::clone(&value))));
        live.insert(Prefix::host(u128::from(round)), Arc::clone(&value));
        assert!(matches!(live.publish().unwrap_err().kind(), ErrorKind::Limit(_)));
        assert_eq!((live.pending(), Arc::strong_count(&value)), (0, 1));
        let table = reader.guard();
        assert!(table.iter().map(|(_, value)| **value).eq(1..=round));
        table.validate().unwrap();
        reader.rest();
    }
    // A whole table keeps its settings when it is cleared.
    live.clear();
    live.extend((0..300_u32).map(|at| (Prefix::host(at), Arc::clone(&value))));
    assert!(live.publish().is_err() && live.pending() == 0 && live.published().len() == 4);
    live.clear();
    live.publish().unwrap();
    assert!(reader.guard().is_empty());
}
