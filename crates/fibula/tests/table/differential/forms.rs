//! Changes of values, by what each form has for them.

use fibula::table::form::{Form, Interned, PerRoute};
use fibula::{IpPrefix, Table};
use std::net::IpAddr;

/// A form with changes of values.
pub(super) trait Changed: Sized + Form<u64, Store: Clone> {
    /// Adds 1 to the value of a prefix, or inserts it with `value`. Returns its value.
    fn add_or_insert(table: &mut Table<u64, Self>, prefix: IpPrefix, value: u64) -> u64;

    /// Adds 1 to the value of a prefix, and returns it.
    fn add(table: &mut Table<u64, Self>, prefix: IpPrefix) -> Option<u64>;

    /// Adds 1 to the value of an address's longest match, and returns its prefix.
    fn add_to_match(table: &mut Table<u64, Self>, address: IpAddr) -> Option<IpPrefix>;

    /// Changes all values.
    fn change_all(table: &mut Table<u64, Self>, change: impl Fn(u64) -> u64);

    /// Keeps the routes for which `keep` returns true. Returns the others.
    fn retain(table: &mut Table<u64, Self>, keep: impl Fn(IpPrefix, u64) -> bool) -> Vec<(IpPrefix, u64)>;

    /// Adds to the value of each route that `prefix` covers 1, and to that of each route that
    /// covers it its place among them, from 1 on, the shortest first.
    fn add_to_kin(table: &mut Table<u64, Self>, prefix: IpPrefix);
}

/// In place.
impl Changed for PerRoute {
    fn add_or_insert(table: &mut Table<u64>, prefix: IpPrefix, value: u64) -> u64 {
        *table.entry(prefix).and_modify(|before| *before += 1).or_insert(value)
    }

    fn add(table: &mut Table<u64>, prefix: IpPrefix) -> Option<u64> {
        table.get_mut(prefix).map(|value| {
            *value += 1;
            *value
        })
    }

    fn add_to_match(table: &mut Table<u64>, address: IpAddr) -> Option<IpPrefix> {
        table.lookup_mut(address).map(|(prefix, value)| {
            *value += 1;
            prefix
        })
    }

    fn change_all(table: &mut Table<u64>, change: impl Fn(u64) -> u64) {
        table.values_mut().for_each(|value| *value = change(*value));
        assert_eq!(table.iter_mut().count(), table.len());
    }

    fn retain(table: &mut Table<u64>, keep: impl Fn(IpPrefix, u64) -> bool) -> Vec<(IpPrefix, u64)> {
        let removed = table.extract_if(|prefix, value| !keep(prefix, *value)).collect();
        table.retain(|prefix, value| keep(prefix, *value));
        removed
    }

    fn add_to_kin(table: &mut Table<u64>, prefix: IpPrefix) {
        table.covered_mut(prefix).rev().for_each(|(_, value)| *value += 1);
        table.covering_mut(prefix).rev().zip(1..).for_each(|((_, value), place)| *value += place);
    }
}

/// By insertions.
impl<const LENGTHS: bool> Changed for Interned<LENGTHS> {
    fn add_or_insert(table: &mut Table<u64, Self>, prefix: IpPrefix, value: u64) -> u64 {
        let value = table.get(prefix).map_or(value, |before| before + 1);
        table.insert(prefix, value);
        value
    }

    fn add(table: &mut Table<u64, Self>, prefix: IpPrefix) -> Option<u64> {
        let value = table.get(prefix)? + 1;
        assert_eq!(table.insert(prefix, value), Some(value - 1));
        Some(value)
    }

    fn add_to_match(table: &mut Table<u64, Self>, address: IpAddr) -> Option<IpPrefix> {
        let (prefix, &value) = table.lookup(address)?;
        table.insert(prefix, value + 1);
        Some(prefix)
    }

    fn change_all(table: &mut Table<u64, Self>, change: impl Fn(u64) -> u64) {
        let routes: Vec<(IpPrefix, u64)> =
            table.iter().map(|(prefix, &value)| (prefix, change(value))).collect();
        table.extend(routes);
    }

    fn retain(table: &mut Table<u64, Self>, keep: impl Fn(IpPrefix, u64) -> bool) -> Vec<(IpPrefix, u64)> {
        let removed = table.iter().filter(|&(prefix, &value)| !keep(prefix, value));
        let removed = removed.map(|(prefix, &value)| (prefix, value)).collect();
        table.retain(|prefix, value| keep(prefix, *value));
        removed
    }

    fn add_to_kin(table: &mut Table<u64, Self>, prefix: IpPrefix) {
        let covered: Vec<(IpPrefix, u64)> =
            table.covered(prefix).map(|(prefix, value)| (prefix, value + 1)).collect();
        table.extend(covered);
        let mut covering: Vec<(IpPrefix, u64)> =
            table.covering(prefix).map(|(prefix, &value)| (prefix, value)).collect();
        covering.reverse();
        table.extend(covering.into_iter().zip(1..).map(|((prefix, value), place)| (prefix, value + place)));
    }
}
