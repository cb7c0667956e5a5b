use super::inode::NIL;
use super::table::{Table, check_routes, prefix_key};
use super::tree::Tree;
use super::*;
use fibula::engine::{Cost, Unmetered};
use fibula::parts::memory::Pages;
use fibula::testing::Oracle;
use fibula::testing::rib;
use fibula::{Change, Limit, NextHop, Prefix, Route};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// The table of the module page, in the order of its keys. The last two have none.
const EXAMPLE: [(&str, u32); 10] = [
    ("16.0.0.0/5", 2),
    ("24.0.0.0/5", 3),
    ("18.0.0.0/8", 4),
    ("18.1.0.0/16", 5),
    ("32.0.0.0/8", 6),
    ("64.0.0.0/4", 7),
    ("160.0.0.0/8", 8),
    ("192.168.0.0/16", 9),
    ("0.0.0.0/0", 1),
    ("128.0.0.0/2", 10),
];

/// A (4,4)-MIHT.
type Small = Table<u32, u16, 4>;

fn example() -> (Rib<u32>, Small) {
    let rib = rib(&EXAMPLE);
    let table = Table::build(&rib, 4, Pages::Small).unwrap();
    (rib, table)
}

/// Changes the table (next hop 0 withdraws) and updates the structure.
fn apply<A: Address, const M: usize>(
    rib: &mut Rib<A>,
    table: &mut Table<A, u16, M>,
    changes: impl IntoIterator<Item = (Prefix<A>, u32)>,
) -> Cost {
    let announce = |(prefix, hop)| match hop {
        0 => Change::Withdraw(prefix),
        _ => Change::Announce(Route { prefix, next_hop: NextHop(hop) }),
    };
    let deltas = rib.apply_all(changes.into_iter().map(announce)).deltas;
    let Update::Applied(cost) = table.apply(rib, &deltas) else { panic!("not applied") };
    table.check(rib).unwrap();
    cost
}

/// Returns the nodes of a trie: level, prefix, next hop.
fn drawn<A: Address, const M: usize>(
    table: &Table<A, u16, M>,
    root: u32,
    base: u8,
) -> Vec<(u8, String, u16)> {
    let nodes = table.tries.nodes(root, base);
    nodes.map(|(level, node)| (level, node.prefix().to_string(), node.next_hop)).collect()
}

fn lookup(table: &Small, address: &str) -> u16 {
    table.lookup(u32::from_ip(address.parse().unwrap()).unwrap(), &mut Unmetered)
}

#[test]
fn section_5_1_of_the_paper() {
    // prefix_key_4(00010*) = prefix_key_4(00011*) = (0001) = 1, and suffix_4(00010*) = 0*.
    let [first, second]: [Prefix<u32>; 2] =
        ["16.0.0.0/5", "24.0.0.0/5"].map(|prefix| prefix.parse().unwrap());
    assert_eq!((first.first() >> 27, second.first() >> 27), (0b00010, 0b00011));
    assert_eq!((prefix_key(first.first(), 4), prefix_key(second.first(), 4)), (1, 1));
    assert_eq!((first.len() - 4, first.first().bits(4, 1)), (1, 0));
}

#[test]
fn the_worked_example() {
    let (mut rib, mut table) = example();
    table.check(&rib).unwrap();
    assert_eq!((table.tree.height, table.tree.inodes.chunks()), (2, 3));
    let bounds = |at: u32| table.tree.inodes[at as usize].entries().map(|(key, _)| key).collect::<Vec<u32>>();
    let [low, high] = [0, 1].map(|at| table.tree.inodes[table.tree.root as usize].links[at]);
    assert_eq!(
        [bounds(table.tree.root), bounds(low), bounds(high)],
        [vec![2, u32::MAX], vec![1, 2], vec![4, 10, 12]]
    );

    let key_1 = table.tree.get(1, &mut Unmetered);
    let node = |level: u8, prefix: &str, next_hop: u16| (level, prefix.to_owned(), next_hop);
    let before = [
        node(4, "18.1.0.0/16", 5),
        node(5, "24.0.0.0/5", 3),
        node(5, "16.0.0.0/5", 2),
        node(6, "18.0.0.0/8", 4),
    ];
    assert_eq!(drawn(&table, key_1, 4), before);
    assert_eq!(drawn(&table, table.keyless, 0), [node(0, "0.0.0.0/0", 1), node(1, "128.0.0.0/2", 10)]);

    let addresses = ["18.1.2.3", "18.2.0.0", "17.0.0.1", "161.0.0.1", "80.0.0.1"];
    assert_eq!(addresses.map(|address| lookup(&table, address)), [5, 4, 2, 10, 1]);

    let cost = apply(&mut rib, &mut table, [("18.1.0.0/16".parse().unwrap(), 0)]);
    let after = [node(4, "18.0.0.0/8", 4), node(5, "24.0.0.0/5", 3), node(5, "16.0.0.0/5", 2)];
    assert_eq!(drawn(&table, key_1, 4), after);
    assert_eq!(cost, Cost { entries_set: 2, nodes_copied: 1, ..Cost::default() });
    let cost = apply(&mut rib, &mut table, [("18.1.0.0/16".parse().unwrap(), 5)]);
    assert_eq!(drawn(&table, key_1, 4), before);
    assert_eq!(cost, Cost { entries_set: 2, nodes_allocated: 1, ..Cost::default() });
}

#[test]
fn a_lookup_reads_two_places_an_inode_and_one_a_dnode() {
    use fibula::engine::Accesses;
    let (_, table) = example();
    for (address, loads) in [(0x1201_0203, 5), (0x1202_0000, 7), (0x5000_0001, 3 + 1)] {
        let mut accesses = Accesses::new();
        table.lookup(address, &mut accesses);
        assert_eq!(accesses.loads(), loads);
    }
}

#[test]
fn a_replaced_next_hop_is_one_write() {
    let (mut rib, mut table) = example();
    let one_write = Cost { entries_set: 1, ..Cost::default() };
    for prefix in ["18.0.0.0/8", "128.0.0.0/2"] {
        assert_eq!(apply(&mut rib, &mut table, [(prefix.parse().unwrap(), 17)]), one_write);
    }
    assert_eq!((lookup(&table, "18.2.0.0"), lookup(&table, "161.0.0.1")), (17, 17));
}

#[test]
fn too_many_routes_are_named() {
    assert_eq!(check_routes(MAX_ROUTES), Ok(()));
    let refused = Limit { what: "routes", had: MAX_ROUTES + 1, max: MAX_ROUTES };
    assert_eq!(check_routes(MAX_ROUTES + 1), Err(refused));
}

#[test]
fn parameters_out_of_range_are_named() {
    let build = |name: &str, value: &str| {
        Miht4::<u8>::build(&Rib::new(), &Config::default().with(name, value)).unwrap_err().to_string()
    };
    assert_eq!(build("k", "33"), "parameter k=33: expected 1 to 32");
    assert_eq!(build("m", "5"), "parameter m=5: expected one of 16, 8, 32");
}

#[test]
fn validation_sees_what_is_wrong() {
    let spoiled = |spoil: fn(&mut Small)| {
        let (rib, mut table) = example();
        spoil(&mut table);
        table.check(&rib).unwrap_err()
    };
    // The leaves are inodes 0 and 1, the root is 2. Tries are built one after the other, the
    // longest prefixes first: PT[-1] has dnodes 0 and 1, key 1 has 2 to 5.
    assert_eq!(spoiled(|t| t.keyless = 10), "dnodes 10+1 are past the end");
    assert_eq!(spoiled(|t| t.keyless = NIL), "dnodes: 8 reached and 0 free of 10");
    assert_eq!(spoiled(|t| t.tree.root = 0), "inode 0: bound 2 where its parent has 4294967295");
    assert_eq!(spoiled(|t| t.tree.height = 1), "key 4294967295 has more than 4 bits");
    assert_eq!(spoiled(|t| t.tree.inodes[0].keys[0] = 7), "inode 0: key 7 is past the bound 2");
    assert_eq!(spoiled(|t| t.tree.inodes[1].keys[1] = 4), "inode 1: key 4 is not in order");
    assert_eq!(spoiled(|t| t.tree.inodes[0].links[1] = NIL), "inode 0: 1 entries, at least 2 and no more");
    assert_eq!(spoiled(|t| t.tree.inodes[2].keys[0] = 1), "inode 0: key 2 is past the bound 1");
    assert_eq!(
        spoiled(|t| t.tree.inodes[2].keys[1] = 12),
        "inode 2: bound 12 where its parent has 4294967295"
    );
    assert_eq!(spoiled(|t| t.tree.set(2, 2)), "two pointers to one of dnodes 2+1");
    assert_eq!(spoiled(|t| t.tries.dnodes[3].key += 1), "dnode 3: 268435457/5 is no prefix");
    assert_eq!(spoiled(|t| t.tries.dnodes[3].next_hop = 1), "dnode 3: 16.0.0.0/5 to 1 is not in the table");
    assert_eq!(spoiled(|t| t.tries.dnodes[3].longest += 1), "dnode 3: longest 9, not 8");
    let turned = spoiled(|t| t.tries.dnodes[2].children.reverse());
    assert_eq!(turned, "dnode 5: 24.0.0.0/5 does not belong below 16.0.0.0/5");
    let lost = spoiled(|t| t.tries.dnodes.push(t.tries.dnodes[0]));
    assert_eq!(lost, "dnodes: 10 reached and 0 free of 11");
    let exchanged = spoiled(|t| {
        let (above, below) = (t.tries.dnodes[2], t.tries.dnodes[4]);
        t.tries.dnodes[2].take_route(&below);
        t.tries.dnodes[4].take_route(&above);
        (t.tries.dnodes[3].longest, t.tries.dnodes[4].longest) = (16, 16);
    });
    assert_eq!(exchanged, "dnode 2: 18.0.0.0/8 has priority over 18.1.0.0/16");
}

proptest! {
    #[test]
    fn the_tree_is_an_ordered_map(
        packed in proptest::collection::btree_map(0..200_u32, 0..1000_u32, 0..150),
        steps in proptest::collection::vec((0..200_u32, 0..1000_u32), 0..300),
    ) {
        let spread = |key: u32| if key == 199 { u32::MAX } else { key * 3 };
        let mut map: BTreeMap<u32, u32> = packed.into_iter().map(|(key, link)| (spread(key), link)).collect();
        let mut tree: Tree<4> = Tree::pack(map.iter().map(|(&key, &link)| (key, link)).collect(), Pages::Small);
        let cost = &mut Cost::default();
        for (key, link) in steps {
            let key = spread(key);
            prop_assert_eq!(tree.get(key, &mut Unmetered), map.get(&key).copied().unwrap_or(NIL));
            if map.remove(&key).is_some() {
                tree.remove(key, cost);
            } else {
                map.insert(key, link);
                tree.insert(key, link, cost);
            }
            let entries = tree.check(32).map_err(TestCaseError::fail)?;
            prop_assert!(entries.iter().copied().eq(map.iter().map(|(&key, &link)| (key, link))));
            prop_assert_eq!(entries, tree.entries());
        }
        for key in map.into_keys() {
            tree.remove(key, cost);
        }
        prop_assert_eq!((tree.height, tree.root, tree.inodes.len()), (0, NIL, 0));
    }
}

/// Generates prefixes that nest and touch often, at both ends of the space and everywhere between.
fn prefixes<A: Address>() -> impl Strategy<Value = Prefix<A>> {
    let address = (0..64_u64, 0..8_u64, any::<bool>()).prop_map(|(head, tail, ones)| {
        let middle = if ones { A::mask(A::BITS - 3) & !A::mask(6) } else { A::ZERO };
        A::from_bits(head, 0, 6) | middle | A::from_bits(tail, A::BITS - 3, 3)
    });
    let len = prop_oneof![0..=8_u8, A::BITS - 4..=A::BITS, 0..=A::BITS];
    (address, len).prop_map(|(address, len)| Prefix::containing(address, len))
}

fn changes<A: Address>() -> impl Strategy<Value = Vec<(Prefix<A>, u32)>> {
    proptest::collection::vec((prefixes(), prop_oneof![1 => Just(0), 2 => 1..5_u32]), 0..80)
}

fn follows_the_oracle<A: Address>(changes: &[(Prefix<A>, u32)], k: u8) -> Result<(), TestCaseError> {
    let mut rib: Rib<A> = Rib::new();
    let mut table: Table<A, u16, 4> = Table::build(&rib, k, Pages::Small).unwrap();
    for changes in changes.chunks(3) {
        apply(&mut rib, &mut table, changes.iter().copied());
    }
    let oracle = Oracle::<A, u16>::build(&rib, &Config::default()).unwrap();
    let around = |&(prefix, _): &(Prefix<A>, u32)| {
        [prefix.first().previous(), Some(prefix.first()), Some(prefix.last()), prefix.last().next()]
    };
    let probes: Vec<A> = changes.iter().flat_map(around).flatten().chain([A::ZERO, A::MAX]).collect();
    let expected: Vec<u16> = probes.iter().map(|&probe| oracle.lookup(probe)).collect();
    let alone: Vec<u16> = probes.iter().map(|&probe| table.lookup(probe, &mut Unmetered)).collect();
    prop_assert_eq!(&alone, &expected);
    for count in [0, 1, LANES - 1, LANES, LANES + 1, probes.len()] {
        let addresses = &probes[..count.min(probes.len())];
        let mut answers = vec![u16::MAX; addresses.len()];
        table.lookup_batch(addresses, &mut answers);
        prop_assert_eq!(&answers[..], &expected[..addresses.len()]);
    }
    // Updated tries equal those of a fresh build, whatever came before.
    let fresh: Table<A, u16, 4> = Table::build(&rib, k, Pages::Small).unwrap();
    prop_assert_eq!(drawn(&table, table.keyless, 0), drawn(&fresh, fresh.keyless, 0));
    for ((key, lived), (fresh_key, new)) in table.tree.entries().into_iter().zip(fresh.tree.entries()) {
        prop_assert_eq!(key, fresh_key);
        prop_assert_eq!(drawn(&table, lived, k), drawn(&fresh, new, k));
    }
    let all: Vec<Prefix<A>> = rib.iter().map(|route| route.prefix).collect();
    apply(&mut rib, &mut table, all.into_iter().map(|prefix| (prefix, 0)));
    prop_assert_eq!((table.tree.height, table.keyless, table.tries.dnodes.len()), (0, NIL, 0));
    Ok(())
}

proptest! {
    #[test]
    fn ipv4_follows_the_oracle(changes in changes::<u32>(), k in 1..=MAX_KEY_BITS) {
        follows_the_oracle(&changes, k)?;
    }

    #[test]
    fn ipv6_follows_the_oracle(changes in changes::<u128>(), k in 1..=MAX_KEY_BITS) {
        follows_the_oracle(&changes, k)?;
    }
}

#[test]
fn every_order_answers_alike() {
    let rib = rib(&EXAMPLE);
    for m in ["8", "16", "32"] {
        for k in ["1", "4", "9", "32"] {
            let miht = Miht4::<u8>::build(&rib, &Config::default().with("m", m).with("k", k)).unwrap();
            miht.validate(&rib).unwrap();
            for address in (0..1 << 16).map(|high: u32| high << 16) {
                let expected = rib.longest_match(address).unwrap().next_hop;
                assert_eq!(miht.lookup(address).widen(), expected, "m={m} k={k} {address:08x}");
            }
        }
    }
}
