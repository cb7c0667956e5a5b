//! Values are dropped once, and a panic in the caller's code leaves a table that is whole.

use crate::model::prefixes;
use crate::{Model, assert_same, prefix};
use fibula::{IpPrefix, Table};
use proptest::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A value that counts itself as long as it is alive.
type Counted = Arc<()>;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn each_value_is_dropped_once(
        first in prop::collection::vec(prefixes(), 0..50),
        then in prop::collection::vec(prefixes(), 0..50),
        taken in 0..10_usize,
    ) {
        let count = Arc::new(());
        let alive = || Arc::strong_count(&count) - 1;
        let value = |prefix: IpPrefix| (prefix, Arc::clone(&count));
        let mut table: Table<Counted> = first.iter().copied().map(value).collect();
        prop_assert_eq!(alive(), table.len());
        table.extend(then.iter().copied().map(value));
        for &prefix in &then {
            table.insert(prefix, value(prefix).1);
            table.entry(prefix).insert_entry(value(prefix).1);
        }
        prop_assert_eq!(alive(), table.len());
        for &prefix in &first {
            table.remove(prefix);
        }
        prop_assert_eq!(alive(), table.len());
        table.retain(|prefix, _| prefix.len() % 2 == 0);
        let clone = table.clone();
        prop_assert_eq!(alive(), 2 * table.len());

        let mut values = clone.into_values();
        let kept: Vec<_> = values.by_ref().take(taken).collect();
        drop(values);
        prop_assert_eq!(alive(), table.len() + kept.len());
        drop(kept);
        table.clear();
        prop_assert_eq!(alive(), 0);
    }
}

/// The table of these tests, and the same as a list.
fn table() -> (Table<u64>, Model) {
    let routes = ["0.0.0.0/0", "10.0.0.0/8", "10.1.0.0/16", "::/0", "2001:db8::/32"].map(prefix);
    let model = Model(routes.into_iter().zip(0..).collect());
    (model.0.iter().copied().collect(), model)
}

fn assert_panics(what: impl FnOnce()) {
    let error = catch_unwind(AssertUnwindSafe(what)).unwrap_err();
    assert_eq!(error.downcast_ref(), Some(&"meant"));
}

#[test]
fn an_entry_whose_closure_panics_is_as_before() {
    let (mut table, mut model) = table();
    assert_panics(|| {
        table.entry(prefix("10.2.0.0/16")).or_insert_with(|| panic!("meant"));
    });
    assert_same(&table, &model);
    assert_panics(|| {
        table.entry(prefix("10.0.0.0/8")).and_modify(|value| {
            *value = 7;
            panic!("meant")
        });
    });
    model.insert(prefix("10.0.0.0/8"), 7);
    assert_same(&table, &model);
}

#[test]
fn a_retain_that_panics_removes_nothing() {
    for seen in 0..5 {
        let (mut table, model) = table();
        let mut left = seen;
        assert_panics(|| {
            table.retain(|_, _| {
                assert!(left > 0, "meant");
                left -= 1;
                false
            });
        });
        assert_same(&table, &model);
    }
}

#[test]
fn an_iterator_that_panics_leaves_what_came_before() {
    let (mut table, mut model) = table();
    let routes = [("192.0.2.0/24", 8), ("2001:db8:1::/48", 9)].map(|(text, value)| (prefix(text), value));
    let endless = (0..).map(|at| *routes.get(at).unwrap_or_else(|| std::panic::panic_any("meant")));
    assert_panics(|| table.extend(endless));
    model.0.extend(routes);
    assert_same(&table, &model);
}

#[test]
fn tables_go_where_their_values_may() {
    fn goes_anywhere<T: Send + Sync>() {}
    goes_anywhere::<Table<u64>>();
    goes_anywhere::<Table<String>>();
}
