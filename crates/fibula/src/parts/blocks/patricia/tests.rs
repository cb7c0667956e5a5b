use super::*;
use crate::engine::{Config, Cost, Engine, Lookup, Unmetered};
use crate::engines::oracle::Oracle;
use crate::memory::Pages;
use crate::{Change, Limit, NextHop, Prefix, Rib, Route};
use node::NIL;
use proptest::prelude::*;

const EXAMPLE: [(&str, u32); 6] = [
    ("0.0.0.0/0", 1),
    ("10.0.0.0/8", 2),
    ("10.1.0.0/16", 3),
    ("10.192.0.0/10", 4),
    ("11.0.0.0/8", 5),
    ("192.168.0.0/16", 6),
];

fn example() -> Rib<u32> {
    let route = |(prefix, next_hop): (&str, u32)| Route {
        prefix: prefix.parse().unwrap(),
        next_hop: NextHop(next_hop),
    };
    EXAMPLE.map(route).into_iter().collect()
}

fn build<A: Address>(rib: &Rib<A>) -> Patricia<A, u16> {
    Patricia::plant(rib.iter(), Pages::Small).unwrap()
}

/// Changes the table and makes the tree follow.
fn apply<A: Address>(rib: &mut Rib<A>, tree: &mut Patricia<A, u16>, changes: &[Change<A>]) -> Cost {
    let deltas = rib.apply_all(changes.iter().copied()).deltas;
    tree.follow(&deltas).unwrap()
}

#[test]
fn the_worked_example() {
    let mut rib = example();
    let mut tree = build(&rib);
    let drawn: Vec<_> = tree.nodes.iter().map(|n| (n.prefix().to_string(), n.next_hop, n.children)).collect();
    let expected = [
        ("0.0.0.0/0", 1, [1, 6]),
        ("10.0.0.0/7", 0, [2, 5]),
        ("10.0.0.0/8", 2, [3, 4]),
        ("10.1.0.0/16", 3, [NIL, NIL]),
        ("10.192.0.0/10", 4, [NIL, NIL]),
        ("11.0.0.0/8", 5, [NIL, NIL]),
        ("192.168.0.0/16", 6, [NIL, NIL]),
    ];
    assert_eq!(drawn, expected.map(|(prefix, next_hop, children)| (prefix.to_owned(), next_hop, children)));
    assert_eq!(tree.bytes(), 112);
    let figures = [("nodes", 7), ("routes", 6), ("greatest depth, nodes", 4)];
    assert_eq!(tree.figures(), figures.map(|(name, count)| Figure::count(name, count)));
    let answers = [0x0A01_0203, 0x0A40_0001, 0x0AC8_0001, 0xC0A8_0001, 0x0800_0000]
        .map(|a| tree.descend(a, &mut Unmetered));
    assert_eq!(answers, [3, 2, 4, 6, 1]);

    // The leaf is freed, and the branch with it; both slots are reused.
    let cost = apply(&mut rib, &mut tree, &[Change::Withdraw("11.0.0.0/8".parse().unwrap())]);
    assert_eq!((cost.nodes_allocated, tree.node_count(), tree.nodes[0].children[0]), (0, 5, 2));
    tree.validate(&rib).unwrap();
    let back = Route { prefix: "11.0.0.0/8".parse().unwrap(), next_hop: NextHop(7) };
    let cost = apply(&mut rib, &mut tree, &[Change::Announce(back)]);
    assert_eq!((cost.nodes_allocated, tree.node_count(), tree.nodes.len()), (2, 7, 7));
    tree.validate(&rib).unwrap();
}

#[test]
fn a_replaced_next_hop_and_a_route_on_a_branch_move_no_node() {
    let mut rib = example();
    let mut tree = build(&rib);
    let announce = |prefix: &str, next_hop| {
        Change::Announce(Route { prefix: prefix.parse().unwrap(), next_hop: NextHop(next_hop) })
    };
    let one_write = Cost { entries_set: 1, ..Cost::default() };
    assert_eq!(apply(&mut rib, &mut tree, &[announce("10.0.0.0/8", 9)]), one_write);
    assert_eq!(apply(&mut rib, &mut tree, &[announce("10.0.0.0/7", 8)]), one_write);
    assert_eq!(tree.descend(0x0B00_0000, &mut Unmetered), 5);
    assert_eq!(apply(&mut rib, &mut tree, &[Change::Withdraw("10.0.0.0/7".parse().unwrap())]), one_write);
    tree.validate(&rib).unwrap();
}

#[test]
fn too_many_nodes_are_named() {
    let rib = example();
    assert!(Patricia::<u32, u16>::plant_at_most(7, &rib, Pages::Small).is_ok());
    let refused = Patricia::<u32, u16>::plant_at_most(6, &rib, Pages::Small).unwrap_err();
    assert_eq!(refused, Limit { what: "radix nodes", had: 7, max: 6 });
}

#[test]
fn validation_sees_what_is_wrong() {
    let rib = example();
    let spoiled = |spoil: fn(&mut Patricia<u32, u16>)| {
        let mut tree = build(&rib);
        spoil(&mut tree);
        tree.validate(&rib).unwrap_err()
    };
    assert_eq!(spoiled(|r| r.nodes[0].children[1] = 7), "node 7 of 7");
    let swapped = spoiled(|r| r.nodes[1].children = [5, 2]);
    assert_eq!(swapped, "node 5: 11.0.0.0/8 does not belong under 10.0.0.0/8");
    assert_eq!(spoiled(|r| r.nodes[2].children = [3, 3]), "two pointers to node 3");
    assert_eq!(
        spoiled(|r| r.nodes[1].children[1] = NIL),
        "node 1: 10.0.0.0/7 is neither a route nor a branch"
    );
    assert_eq!(spoiled(|r| r.nodes[3].key += 1), "node 3: 167837697/16 is no prefix");
    assert!(spoiled(|r| r.nodes[3].next_hop = 2).contains("where the table has"));
    assert!(spoiled(|r| r.root = 2).contains("where the table has"));
    let leaked = spoiled(|r| {
        r.nodes.insert(&[Node::default()]).unwrap();
    });
    assert_eq!(leaked, "8 nodes are allocated, 7 reached");
}

/// Prefixes that nest and touch often, at both ends of the address space and everywhere between.
fn prefixes<A: Address>() -> impl Strategy<Value = Prefix<A>> {
    let address = (0..8_u64, 0..8_u64, any::<bool>()).prop_map(|(head, tail, ones)| {
        let middle = if ones { A::mask(A::BITS - 3) & !A::mask(3) } else { A::ZERO };
        A::from_bits(head, 0, 3) | middle | A::from_bits(tail, A::BITS - 3, 3)
    });
    let len = prop_oneof![0..=4_u8, A::BITS - 4..=A::BITS, 0..=A::BITS];
    (address, len).prop_map(|(address, len)| Prefix::containing(address, len))
}

fn changes<A: Address>() -> impl Strategy<Value = Vec<Change<A>>> {
    let change = prop_oneof![
        2 => (prefixes(), 1..5_u32).prop_map(|(p, n)| Change::Announce(Route { prefix: p, next_hop: NextHop(n) })),
        1 => prefixes().prop_map(Change::Withdraw),
    ];
    proptest::collection::vec(change, 0..60)
}

fn follows_the_oracle<A: Address>(changes: &[Change<A>]) -> Result<(), TestCaseError> {
    let mut rib = Rib::new();
    let (mut tree, mut oracle) = (build(&rib), Oracle::<A, u16>::build(&rib, &Config::default()).unwrap());
    let mut probes = vec![A::ZERO, A::MAX];
    for changes in changes.chunks(3) {
        let deltas = rib.apply_all(changes.iter().copied()).deltas;
        prop_assert!(tree.follow(&deltas).is_some());
        oracle.apply(&rib, &deltas);
        tree.validate(&rib).map_err(TestCaseError::fail)?;
        for change in changes {
            let (first, last) = (change.prefix().first(), change.prefix().last());
            probes.extend([first.previous(), Some(first), Some(last), last.next()].into_iter().flatten());
        }
        for &probe in &probes {
            prop_assert_eq!(tree.descend(probe, &mut Unmetered), oracle.lookup(probe));
        }
    }
    for count in [0, 1, LANES - 1, LANES, LANES + 1, probes.len()] {
        let addresses = &probes[..count.min(probes.len())];
        let mut answers = vec![u16::MAX; addresses.len()];
        tree.descend_all(addresses, &mut answers);
        let expected: Vec<u16> = addresses.iter().map(|&address| oracle.lookup(address)).collect();
        prop_assert_eq!(answers, expected);
    }
    // An updated tree equals a fresh one: as many nodes, as deep, whatever came before.
    prop_assert_eq!(tree.node_count(), build(&rib).node_count());

    let withdrawals: Vec<_> = rib.iter().map(|route| Change::Withdraw(route.prefix)).collect();
    apply(&mut rib, &mut tree, &withdrawals);
    prop_assert_eq!((tree.node_count(), tree.nodes.len(), tree.root), (0, 0, NIL));
    prop_assert_eq!((tree.nodes.free_total(), tree.bytes()), (0, 0));
    Ok(())
}

proptest! {
    #[test]
    fn ipv4_follows_the_oracle(changes in changes::<u32>()) {
        follows_the_oracle(&changes)?;
    }

    #[test]
    fn ipv6_follows_the_oracle(changes in changes::<u128>()) {
        follows_the_oracle(&changes)?;
    }
}
