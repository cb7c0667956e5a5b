//! Sequences of operations, each compared with what it does to the model.

use crate::{Model, assert_lookups, assert_same, own, prefix};
use fibula::table::Entry;
use fibula::{IpPrefix, NextHop, Prefix, Rib, Route, Table};
use proptest::prelude::*;
use proptest::sample::select;
use std::net::{Ipv4Addr, Ipv6Addr};

#[derive(Clone, Debug)]
pub(crate) enum Operation {
    Insert(IpPrefix, u64),
    Remove(IpPrefix),
    EntryInsert(IpPrefix, u64),
    EntryModify(IpPrefix, u64),
    EntryReplace(IpPrefix, u64),
    EntryRemove(IpPrefix),
    AddToAll(u64),
    ChangeMatch(IpPrefix, u64),
    Retain(u64),
    Extend(Vec<(IpPrefix, u64)>),
    Clone,
    Clear,
}

/// Prefixes that nest, neighbour and repeat: few bits are set, and lengths are at the borders of
/// the engines' levels.
pub(crate) fn prefixes() -> impl Strategy<Value = IpPrefix> {
    let bits = || any::<u32>().prop_map(|bits| bits & 0x8181_0381);
    let ipv4 = (bits(), select(&[0, 1, 8, 15, 16, 17, 23, 24, 25, 31, 32][..]))
        .prop_map(|(address, len)| IpPrefix::masked(Ipv4Addr::from_bits(address), len).unwrap());
    let ipv6 = (bits(), bits(), select(&[0, 1, 16, 32, 47, 48, 49, 64, 65, 127, 128][..])).prop_map(
        |(high, low, len)| {
            let address = u128::from(high) << 96 | u128::from(high) << 62 | u128::from(low);
            IpPrefix::masked(Ipv6Addr::from_bits(address), len).unwrap()
        },
    );
    prop_oneof![ipv4, ipv6]
}

fn operations() -> impl Strategy<Value = Operation> {
    let route = || (prefixes(), 0..1000_u64);
    prop_oneof![
        8 => route().prop_map(|(prefix, value)| Operation::Insert(prefix, value)),
        6 => prefixes().prop_map(Operation::Remove),
        2 => route().prop_map(|(prefix, value)| Operation::EntryInsert(prefix, value)),
        2 => route().prop_map(|(prefix, value)| Operation::EntryModify(prefix, value)),
        1 => route().prop_map(|(prefix, value)| Operation::EntryReplace(prefix, value)),
        2 => prefixes().prop_map(Operation::EntryRemove),
        1 => (0..9_u64).prop_map(Operation::AddToAll),
        2 => route().prop_map(|(prefix, value)| Operation::ChangeMatch(prefix, value)),
        1 => (2..5_u64).prop_map(Operation::Retain),
        3 => prop::collection::vec(route(), 0..40).prop_map(Operation::Extend),
        1 => Just(Operation::Clone),
        1 => Just(Operation::Clear),
    ]
}

fn carry_out(operation: Operation, table: &mut Table<u64>, model: &mut Model) {
    match operation {
        Operation::Insert(prefix, value) => {
            assert_eq!(table.insert(prefix, value), model.insert(prefix, value));
        }
        Operation::Remove(prefix) => assert_eq!(table.remove(prefix), model.remove(prefix)),
        Operation::EntryInsert(prefix, value) => {
            let expected = model.get(prefix).unwrap_or(value);
            assert_eq!(*table.entry(prefix).or_insert(value), expected);
            model.insert(prefix, expected);
        }
        Operation::EntryModify(prefix, value) => {
            let expected = model.get(prefix).map_or(0, |before| before + value);
            let entry = table.entry(prefix);
            assert_eq!(entry.key(), prefix);
            assert_eq!(*entry.and_modify(|before| *before += value).or_default(), expected);
            model.insert(prefix, expected);
        }
        Operation::EntryReplace(prefix, value) => {
            assert_eq!(table.entry(prefix).insert_entry(value).get(), &value);
            model.insert(prefix, value);
        }
        Operation::EntryRemove(prefix) => match (table.entry(prefix), model.remove(prefix)) {
            (Entry::Occupied(entry), Some(value)) => assert_eq!(entry.remove_entry(), (prefix, value)),
            (Entry::Vacant(entry), None) => assert_eq!(entry.into_key(), prefix),
            (entry, expected) => panic!("{entry:?}, not {expected:?}"),
        },
        Operation::AddToAll(by) => {
            table.values_mut().for_each(|value| *value += by);
            model.0.iter_mut().for_each(|(_, value)| *value += by);
        }
        Operation::ChangeMatch(prefix, value) => {
            let found = table.lookup_mut(prefix.last()).map(|(found, before)| {
                *before = value;
                found
            });
            let expected = model.lookup(prefix.last()).map(|(expected, _)| expected);
            assert_eq!(found, expected);
            expected.map(|expected| model.insert(expected, value));
        }
        Operation::Retain(divisor) => {
            let mut seen = Vec::new();
            table.retain(|prefix, value| {
                seen.push(prefix);
                *value += 1;
                *value % divisor != 0
            });
            assert!(seen.iter().eq(model.sorted().iter().map(|(prefix, _)| prefix)));
            model.0.iter_mut().for_each(|(_, value)| *value += 1);
            model.0.retain(|(_, value)| value % divisor != 0);
        }
        Operation::Extend(routes) => {
            table.extend(routes.iter().copied());
            model.extend(routes);
        }
        Operation::Clone => {
            let clone = table.clone();
            assert_eq!(&clone, table);
            *table = clone;
        }
        Operation::Clear => {
            table.clear();
            model.0.clear();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_operations_leave_what_they_leave_in_a_list(
        operations in prop::collection::vec((operations(), prefixes()), 1..60),
    ) {
        let (mut table, mut model) = (Table::new(), Model::default());
        for (at, (operation, asked)) in operations.into_iter().enumerate() {
            carry_out(operation, &mut table, &mut model);
            assert_eq!(table.get(asked).copied(), model.get(asked));
            assert_eq!(table.contains_key(asked), model.get(asked).is_some());
            let mut covering: Vec<_> = table.covering(asked).map(own).collect();
            assert!(covering.is_sorted_by_key(|(prefix, _)| std::cmp::Reverse(prefix.len())));
            covering.reverse();
            let sorted = model.sorted();
            assert!(covering.into_iter().eq(sorted.iter().copied().filter(|(p, _)| p.covers(asked))));
            let covered = table.covered(asked).map(own);
            assert!(covered.eq(sorted.iter().copied().filter(|(p, _)| asked.covers(*p))));
            if at % 8 == 0 {
                assert_same(&table, &model);
            } else {
                assert_lookups(&table, &model, &[asked.first(), asked.last()]);
            }
        }
        assert_same(&table, &model);
        let collected: Table<u64> = model.0.iter().copied().collect();
        assert_eq!(&collected, &table);
        assert_same(&collected, &model);
        prop_assert_eq!(table.into_iter().collect::<Vec<_>>(), model.sorted());
    }
}

#[test]
fn batches_of_any_length_are_answered() {
    let table: Table<u64> = [("10.0.0.0/8", 1), ("10.1.0.0/16", 2), ("2001:db8::/32", 3)]
        .map(|(text, value)| (prefix(text), value))
        .into();
    let model = Model(table.iter().map(own).collect());
    let addresses: Vec<_> = model.probes().into_iter().cycle().take(1100).collect();
    for length in [0, 1, 2, 255, 256, 257, 511, 512, 513, 1100] {
        assert_lookups(&table, &model, &addresses[..length]);
    }
}

#[test]
fn a_table_that_grows_one_by_one_answers_at_every_width_of_its_indices() {
    let host = |at: u32| Prefix::host(0x0A00_0000 | at.wrapping_mul(0x9E37_79B1) >> 8);
    let mut table = Table::new();
    let count = 70_000_u32;
    for at in 0..count {
        table.insert(host(at), at);
        assert!(at > 0 || table.engines() == (Some("intervals"), None));
        if [254, 255, 256, 65_534, 65_535, 65_536].contains(&at) {
            table.validate().unwrap();
            assert!(
                (0..=at)
                    .step_by(97)
                    .all(|at| table.lookup_value(host(at).first().to_be_bytes()) == Some(&at))
            );
        }
    }
    assert_eq!(table.len(), 70_000);
    for at in 0..count {
        assert_eq!(table.remove(host(at)), Some(at));
    }
    assert!(table.is_empty() && table.engines() == (None, None));
    assert_eq!(table.lookup([10, 0, 0, 0]), None);
}

#[test]
fn a_hundred_thousand_routes_are_collected() {
    let mut random = fastrand::Rng::with_seed(7);
    let routes: Vec<(Prefix<u32>, u32)> =
        (0..100_000).map(|value| (Prefix::containing(random.u32(..), random.u8(8..=28)), value)).collect();
    let table: Table<u32> = routes.iter().copied().collect();
    let mut extended = Table::from([(Prefix::<u32>::ALL, 0)]);
    extended.extend(routes.iter().copied());
    extended.remove(Prefix::<u32>::ALL);
    assert_eq!(table, extended);
    table.validate().unwrap();
    extended.validate().unwrap();

    let route = |&(prefix, value): &(Prefix<u32>, u32)| Route { prefix, next_hop: NextHop(value + 1) };
    let rib: Rib<u32> = routes.iter().map(route).collect();
    assert_eq!(table.len(), rib.len());
    let addresses: Vec<u32> = std::iter::repeat_with(|| random.u32(..)).take(20_000).collect();
    let mut matches = vec![None; addresses.len()];
    table.lookup_batch_ipv4(&addresses, &mut matches);
    for (address, found) in addresses.into_iter().zip(matches) {
        let expected = rib.longest_match(address).map(|route| (route.prefix, route.next_hop.0 - 1));
        assert_eq!(found.map(|(prefix, &value)| (prefix, value)), expected);
        assert_eq!(
            extended.lookup_value(Ipv4Addr::from_bits(address)).copied(),
            expected.map(|(_, value)| value)
        );
    }
}

#[test]
fn a_table_shows_itself_as_a_map() {
    let table = Table::from([(prefix("10.0.0.0/8"), "a"), (prefix("::/0"), "b")]);
    assert_eq!(format!("{table:?}"), r#"{10.0.0.0/8: "a", ::/0: "b"}"#);
    assert_eq!(format!("{:?}", table.keys()), "Keys { left: 2 }");
    assert!(table.clone().into_keys().eq(table.keys()));
    assert_eq!(table.into_values().rev().collect::<String>(), "ba");
}

#[test]
#[should_panic(expected = "as many answers as addresses")]
fn a_batch_needs_as_many_answers_as_addresses() {
    Table::<()>::new().lookup_batch_ipv4(&[0_u32; 2], &mut [None]);
}
