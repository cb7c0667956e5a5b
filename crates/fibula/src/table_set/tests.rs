//! A set answers as its tables do, whatever is added and removed.

use super::*;
use crate::Prefix;
use crate::engine::WidthBits;
use proptest::prelude::*;
use std::collections::HashMap;

/// One step: a table is created, removed, or changed by a route (next hop 0 withdraws).
#[derive(Clone, Debug)]
enum Step<A: Address> {
    Create,
    Remove(prop::sample::Index),
    Change(prop::sample::Index, Prefix<A>, u32),
}

fn steps<A: Address>() -> impl Strategy<Value = Vec<Step<A>>> {
    let prefix = (0..4_u64, 0..3_u64, 0..=A::BITS).prop_map(|(high, low, len)| {
        Prefix::containing(A::from_bits(high, 6, 2) | A::from_bits(low, A::BITS - 2, 2), len)
    });
    let step = prop_oneof![
        1 => Just(Step::Create),
        1 => any::<prop::sample::Index>().prop_map(Step::Remove),
        12 => (any::<prop::sample::Index>(), prefix, 0..70_000_u32)
            .prop_map(|(table, prefix, next_hop)| Step::Change(table, prefix, next_hop)),
    ];
    prop::collection::vec(step, 1..80)
}

/// Applies the steps to a set. After each, all tables and the removed ones answer right.
fn follows<A: Address>(steps: Vec<Step<A>>) {
    let mut tables: TableSet<A> = TableSet::new("best").unwrap();
    let mut ribs: HashMap<TableId, Rib<A>> = HashMap::new();
    let mut removed = vec![TableId::new(u32::MAX, 0)];
    let mut mixed = Mixed::default();
    for step in steps {
        let mut known: Vec<TableId> = ribs.keys().copied().collect();
        known.sort_unstable();
        match step {
            Step::Create => assert!(ribs.insert(tables.create(), Rib::new()).is_none()),
            Step::Remove(table) if !known.is_empty() => {
                let id = *table.get(&known);
                assert!(tables.remove(id) && !tables.remove(id) && ribs.remove(&id).is_some());
                assert!(tables.set(id, &Rib::new()).is_err());
                removed.push(id);
            }
            Step::Change(table, prefix, next_hop) if !known.is_empty() => {
                let id = *table.get(&known);
                let rib = ribs.get_mut(&id).unwrap();
                let delta = rib.set(prefix, NextHop(next_hop));
                tables.apply(id, rib, delta.as_slice()).unwrap();
            }
            Step::Remove(_) | Step::Change(..) => {}
        }
        assert_eq!(tables.len(), ribs.len());
        let ends =
            ribs.values().flat_map(Rib::iter).flat_map(|route| [route.prefix.first(), route.prefix.last()]);
        let addresses: Vec<A> = ends.chain([A::ZERO, A::MAX]).collect();
        let ids: Vec<TableId> = ribs.keys().chain(&removed).copied().collect();
        let asked: Vec<(TableId, A)> =
            addresses.iter().flat_map(|&address| ids.iter().map(move |&id| (id, address))).collect();
        let (ids, addresses): (Vec<TableId>, Vec<A>) = asked.into_iter().unzip();
        let mut next_hops = vec![NextHop(u32::MAX); ids.len()];
        tables.lookup_batch(&ids, &addresses, &mut next_hops, &mut mixed);
        for ((&id, &address), &next_hop) in ids.iter().zip(&addresses).zip(&next_hops) {
            let route = ribs.get(&id).and_then(|rib| rib.longest_match(address));
            let right = route.map_or(NextHop::NONE, |route| route.next_hop);
            assert_eq!(
                (next_hop, tables.lookup(id, address).unwrap_or_default()),
                (right, right),
                "{id:?} {address:?}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn ipv4_tables_come_change_and_go(steps in steps::<u32>()) {
        follows(steps);
    }

    #[test]
    fn ipv6_tables_come_change_and_go(steps in steps::<u128>()) {
        follows(steps);
    }
}

#[test]
fn a_table_without_routes_costs_its_slot_and_a_small_one_its_intervals() {
    let mut tables: TableSet<u32> = TableSet::new("best").unwrap();
    let ids: Vec<TableId> = (0..1024).map(|_| tables.create()).collect();
    assert!(tables.bytes() / 1024 < 64, "{} bytes", tables.bytes());
    let mut rib = Rib::new();
    for host in 0..4096 {
        rib.insert(Prefix::containing(host << 12, 20), NextHop(1 + host % 7));
    }
    let empty = tables.bytes();
    tables.set(ids[5], &rib).unwrap();
    assert!(tables.bytes() - empty < 40 << 10, "{} bytes", tables.bytes() - empty);
    rib.insert(Prefix::ALL, NextHop(300));
    tables.set(ids[6], &rib).unwrap();
    assert!(tables.fib(ids[6]).unwrap().width() > WidthBits::U8);
    assert_eq!(tables.lookup(ids[6], u32::MAX), Some(NextHop(300)));
    tables.set(ids[6], &Rib::new()).unwrap();
    assert!(tables.fib(ids[6]).is_none() && tables.lookup(ids[6], u32::MAX).is_none());
    assert_eq!(
        tables.set(TableId::new(1024, 0), &rib).unwrap_err().to_string(),
        "number of a table: 1025 is more than the 1024 that fit"
    );
}

#[test]
fn a_batch_of_one_table_is_asked_as_it_is() {
    let mut tables: TableSet<u32> = TableSet::new("best").unwrap();
    let id = tables.create();
    let mut rib = Rib::new();
    rib.insert("10.0.0.0/8".parse().unwrap(), NextHop(4));
    tables.set(id, &rib).unwrap();
    let addresses: Vec<u32> = (0..100).map(|at| 0x09FF_FFCE + at).collect();
    let mut next_hops = [NextHop::NONE; 100];
    tables.lookup_batch(&[id; 100], &addresses, &mut next_hops, &mut Mixed::default());
    assert!(
        next_hops[..50].iter().all(|next_hop| !next_hop.is_some()) && next_hops[50..] == [NextHop(4); 50]
    );
    tables.lookup_batch(&[], &[], &mut [], &mut Mixed::default());
}

#[test]
fn a_clone_shares_its_tables_until_one_of_both_changes() {
    let mut tables: TableSet<u32> = TableSet::new("best").unwrap();
    let ids = [(); 3].map(|()| tables.create());
    let mut rib = Rib::new();
    for id in ids {
        rib.set(Prefix::ALL, NextHop(1 + id.number()));
        tables.set(id, &rib).unwrap();
    }
    let clone = tables.clone();
    let delta = rib.set(Prefix::ALL, NextHop(9));
    tables.apply(ids[2], &rib, delta.as_slice()).unwrap();
    assert!(tables.remove(ids[0]));
    let shared = |id| std::ptr::eq(tables.fib(id).unwrap(), clone.fib(id).unwrap());
    assert!(shared(ids[1]) && !shared(ids[2]));
    assert_eq!(ids.map(|id| tables.lookup(id, 7_u32)), [None, Some(NextHop(2)), Some(NextHop(9))]);
    assert_eq!(ids.map(|id| clone.lookup(id, 7_u32)), [1, 2, 3].map(|at| Some(NextHop(at))));
}

#[test]
fn a_number_whose_generations_are_used_up_is_not_given_again() {
    let mut tables: TableSet<u32> = TableSet::new("best").unwrap();
    let first = tables.create();
    tables.slots[0].generation = u32::MAX;
    assert!(!tables.remove(first) && tables.remove(TableId::new(0, u32::MAX)));
    assert!(!tables.remove(TableId::new(0, u32::MAX)) && tables.is_empty());
    assert_eq!(tables.create(), TableId::new(1, 0));
}

#[test]
fn an_engine_that_is_not_there_is_refused_when_it_is_named() {
    for (name, kind) in [
        ("mosaik", ErrorKind::UnknownEngine),
        ("mosaic6", ErrorKind::Family),
        ("mosaic/k", ErrorKind::Parameter),
    ] {
        assert_eq!(TableSet::<u32>::new(name).unwrap_err().kind(), kind, "{name}");
    }
}
