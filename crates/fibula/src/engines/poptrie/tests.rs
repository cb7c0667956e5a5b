use super::*;
use crate::engine::Lookup;
use crate::engine::{Cost, ENGINES};
use crate::engines::oracle::Oracle;
use crate::testing::{apply, rib};
use crate::{Change, Fib, NextHop, Route};
use proptest::prelude::*;

fn config(s: u8) -> Config {
    Config::default().with("s", s.to_string())
}

fn address<A: Address>(text: &str) -> A {
    A::from_ip(text.parse().unwrap()).unwrap()
}

/// Returns both ends of every prefix, with the addresses before and after.
fn probes<A: Address>(rib: &Rib<A>) -> Vec<A> {
    let ends = rib.iter().flat_map(|route| [route.prefix.first(), route.prefix.last()]);
    let around = ends.flat_map(|end| [end.previous(), Some(end), end.next()]);
    around.flatten().chain([A::ZERO, A::MAX]).collect()
}

/// Checks the structure and the answers.
fn check<A: Address, W: Width>(trie: &Poptrie<A, W>, rib: &Rib<A>) {
    trie.validate(rib).unwrap();
    check_answers(trie.view(), rib);
}

/// Compares every answer at a boundary, one by one and in a batch, with the oracle's.
fn check_answers<A: Address, W: Width>(trie: &PoptrieView<A, W>, rib: &Rib<A>) {
    let oracle: Oracle<A, W> = Oracle::build(rib, &Config::default()).unwrap();
    let addresses = probes(rib);
    let mut batch = vec![W::default(); addresses.len()];
    trie.lookup_batch(crate::arch::Scalar, &addresses, &mut batch);
    for (&address, batch) in addresses.iter().zip(batch) {
        let want = oracle.lookup(address);
        assert_eq!((trie.lookup(address), batch), (want, want), "{}", address.to_ip());
    }
}

#[test]
fn the_worked_example() {
    let routes =
        [("10.0.0.0/8", 1), ("10.0.1.0/24", 2), ("10.0.2.0/23", 3), ("10.0.4.0/24", 1), ("10.0.4.128/25", 4)];
    let rib: Rib<u32> = rib(&routes);
    let trie: Poptrie<u32, u8> = Poptrie::build(&rib, &Config::default()).unwrap();

    let slot = address::<u32>("10.0.0.0") >> 14;
    assert_eq!(slot, 10_240);
    assert_eq!(trie.direct.get(slot as usize - 1), Direct::NONE);
    assert_eq!(trie.direct.get(slot as usize), Direct::node(1));
    assert!((10_241..11_264).all(|slot| Direct::leaf(NextHop(1)) == Some(trie.direct.get(slot))));
    assert_eq!(trie.direct.get(11_264), Direct::NONE);

    let b = Node { vector: 0, leafvec: 1 | 1 << 32, base0: 0, base1: 0 };
    let a = Node { vector: 0x10, leafvec: 0x27, base0: 0, base1: 2 };
    assert_eq!(trie.nodes.to_vec(), [b, a]);
    assert_eq!(trie.leaves.to_vec(), [1, 4, 1, 2, 3, 1]);

    assert_eq!(a.step(3), (false, 4)); // 10.0.3.9: three runs begin at slots 0 to 3
    assert_eq!(a.step(4), (true, 0)); // 10.0.4.200: the first child
    assert_eq!(b.step(200 >> 2), (false, 1)); // its slot 50, the second run
    assert_eq!(trie.view().lookup(address("10.0.3.9")), 3);
    assert_eq!(trie.view().lookup(address("10.0.4.200")), 4);
    let bytes: Vec<usize> = trie.memory().parts.iter().map(|part| part.bytes).collect();
    assert_eq!(bytes, [1 << 20, 48, 6]);
    let figures = [("internal nodes", 2), ("leaves", 6), ("direct entries", 1 << 18)];
    assert_eq!(trie.figures(), figures.map(|(name, count)| Figure::count(name, count)));
    check(&trie, &rib);
}

#[test]
fn the_last_bits_of_both_families() {
    let routes = [
        ("1.2.3.4/30", 1),
        ("1.2.3.4/31", 2),
        ("1.2.3.5/32", 3),
        ("255.255.255.255/32", 4),
        ("0.0.0.0/32", 5),
    ];
    for s in (0..=18).chain([MAX_DIRECT_BITS]) {
        let rib: Rib<u32> = rib(&routes);
        check(&Poptrie::<u32, u8>::build(&rib, &config(s)).unwrap(), &rib);
    }
    let last = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:";
    let routes = [
        ("2001:db8::/126", 1),
        ("2001:db8::2/127", 2),
        ("2001:db8::3/128", 3),
        (&format!("{last}fffe/127"), 4),
        (&format!("{last}ffff/128"), 5),
        ("::/128", 6),
        ("::/0", 7),
    ];
    for s in (0..=18).chain([MAX_DIRECT_BITS]) {
        let rib: Rib<u128> = rib(&routes);
        check(&Poptrie::<u128, u8>::build(&rib, &config(s)).unwrap(), &rib);
    }
}

#[test]
fn next_hops_too_great_for_the_direct_table() {
    let great = Direct::MAX_NEXT_HOP.0;
    let mut rib: Rib<u32> =
        rib(&[("0.0.0.0/0", great + 1), ("10.0.0.0/8", great), ("10.0.0.1/32", u32::MAX)]);
    let mut trie: Poptrie<u32, u32> = Poptrie::build(&rib, &config(4)).unwrap();
    check(&trie, &rib);
    for (prefix, next_hop) in
        [("0.0.0.0/0", 1), ("0.0.0.0/0", u32::MAX), ("10.0.0.0/8", u32::MAX), ("10.0.0.0/8", 0)]
    {
        let delta = rib.set(prefix.parse().unwrap(), NextHop(next_hop)).unwrap();
        assert!(matches!(trie.apply(&rib, &[delta]), Update::Applied(_)));
        check(&trie, &rib);
    }
}

#[test]
fn everything_withdrawn_leaves_nothing() {
    let routes = [
        ("10.0.0.0/8", 1),
        ("10.0.0.0/20", 2),
        ("10.0.1.0/24", 1),
        ("10.0.1.128/25", 3),
        ("10.0.1.129/32", 4),
    ];
    let full: Rib<u32> = rib(&routes);
    for order in [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 4, 1, 3]] {
        let mut rib = full.clone();
        let mut trie: Poptrie<u32, u8> = Poptrie::build(&rib, &Config::default()).unwrap();
        for at in order {
            let delta = rib.remove(routes[at].0.parse().unwrap()).unwrap();
            assert!(matches!(trie.apply(&rib, &[delta]), Update::Applied(_)));
            check(&trie, &rib);
        }
        assert_eq!((trie.nodes.len(), trie.leaves.len()), (0, 0));
    }
}

#[test]
fn an_update_costs_its_own_path_only() {
    let mut rib: Rib<u32> = rib(&[("10.0.1.0/24", 1), ("10.0.3.0/24", 1), ("10.0.3.64/26", 2)]);
    let mut trie: Poptrie<u32, u8> = Poptrie::build(&rib, &Config::default()).unwrap();
    let mut cost = |prefix: &str, next_hop| {
        let delta = rib.set(prefix.parse().unwrap(), NextHop(next_hop)).unwrap();
        let Update::Applied(cost) = trie.apply(&rib, &[delta]) else { panic!("not applied") };
        check(&trie, &rib);
        cost
    };
    // Other leaves, no other node.
    assert_eq!(cost("10.0.1.0/24", 3), Cost::default());
    // A second child beside the first, which moves with it.
    assert_eq!(cost("10.0.9.0/25", 3), Cost { nodes_allocated: 1, nodes_copied: 1, ..Cost::default() });
    // The same answer as the cover's: nothing changes.
    assert_eq!(cost("10.0.9.0/26", 3), Cost::default());
    // A /16 answers in three more entries of the direct table, and in the gaps of the first.
    assert_eq!(cost("10.0.0.0/16", 9), Cost { entries_set: 3, ..Cost::default() });
    // Three levels at once.
    assert_eq!(cost("10.1.0.1/32", 7), Cost { entries_set: 1, nodes_allocated: 3, ..Cost::default() });
}

#[test]
fn a_limit_is_named_and_an_update_past_it_changes_nothing() {
    let mut rib: Rib<u32> = rib(&[("10.0.0.0/24", 1), ("10.64.0.0/24", 2)]);
    let build = |rib: &Rib<u32>, nodes, leaves| {
        Poptrie::<u32, u8>::build_within(rib, &Config::default(), nodes, leaves)
    };
    let limit = |result: Result<Poptrie<u32, u8>, Error>| result.unwrap_err().limit().unwrap();
    assert_eq!(limit(build(&rib, 1, 99)), crate::Limit { what: NODES, had: 2, max: 1 });
    assert_eq!(limit(build(&rib, 99, 3)), crate::Limit { what: LEAVES, had: 4, max: 3 });

    for (nodes, leaves) in [(3, 99), (99, 9)] {
        let mut trie = build(&rib, nodes, leaves).unwrap();
        let before = (trie.direct.to_vec(), trie.nodes.to_vec(), trie.leaves.to_vec());
        let old = rib.clone();
        // The first fits, the second does not; together they are one update.
        let deltas = ["10.0.0.0/25", "10.64.0.0/10", "10.128.0.0/28", "10.192.0.0/32"]
            .map(|prefix| rib.insert(prefix.parse().unwrap(), NextHop(7)).unwrap());
        assert_eq!(trie.apply(&rib, &deltas), Update::Rebuild);
        assert_eq!((trie.direct.to_vec(), trie.nodes.to_vec(), trie.leaves.to_vec()), before);
        trie.validate(&old).unwrap();
        rib = old;
    }
}

#[test]
fn holes_are_closed() {
    let mut rib: Rib<u32> = (0..40_000_u32)
        .map(|i| Route { prefix: Prefix::containing(i << 12, 24), next_hop: NextHop(1 + i % 200) })
        .collect();
    let mut trie: Poptrie<u32, u8> = Poptrie::build(&rib, &config(4)).unwrap();
    // Every gap is written again beside the old one, before the old one is freed.
    for next_hop in [201, 202, 0, 203] {
        let delta = rib.set(Prefix::ALL, NextHop(next_hop)).unwrap();
        assert!(matches!(trie.apply(&rib, &[delta]), Update::Applied(_)));
        trie.validate(&rib).unwrap();
        let fresh: Poptrie<u32, u8> = Poptrie::build(&rib, &config(4)).unwrap();
        assert!(trie.leaves.bytes() * 10 <= fresh.leaves.bytes() * 11);
        assert!(trie.nodes.bytes() * 10 <= fresh.nodes.bytes() * 11);
    }
}

#[test]
fn validate_sees_what_is_wrong() {
    let rib: Rib<u32> =
        rib(&[("10.0.0.0/8", 1), ("10.0.1.0/24", 2), ("10.0.1.128/25", 3), ("10.3.1.0/25", 3)]);
    let good = || Poptrie::<u32, u8>::build(&rib, &Config::default()).unwrap();
    good().validate(&rib).unwrap();
    let root = good().direct.get(10_240).root().unwrap();
    let wrong = |damage: &dyn Fn(&mut Poptrie<u32, u8>), expected: &str| {
        let mut trie = good();
        damage(&mut trie);
        let error = trie.validate(&rib).unwrap_err();
        assert!(error.contains(expected), "{error}");
    };
    let spoil = |trie: &Poptrie<u32, u8>, how: &dyn Fn(&mut Node)| {
        let mut node = trie.nodes.get(root);
        how(&mut node);
        trie.nodes.words().set(root, node);
    };
    wrong(&|trie| spoil(trie, &|node| node.base0 = 99), "nodes 99+1 are past the end");
    wrong(&|trie| spoil(trie, &|node| node.base0 = root as u32), "two pointers to one of nodes");
    wrong(&|trie| spoil(trie, &|node| node.base1 = 0), "two pointers to one of leaves");
    wrong(&|trie| spoil(trie, &|node| node.leafvec &= !1), "a leaf without a run");
    wrong(&|trie| spoil(trie, &|node| node.leafvec |= 2), "both child and leaf");
    wrong(
        &|trie| trie.leaves.words().set(0, 77),
        "entry 10240 of the direct table is not what a build gives",
    );
    wrong(&|trie| trie.direct.set(0, Direct::leaf(NextHop(5)).unwrap()), "entry 0 of the direct table");
    wrong(&|trie| trie.direct.set(10_240, Direct::NONE), "reached and 0 free");
    wrong(&|trie| assert!(trie.nodes.insert(&[Node::default()]).is_ok()), "reached and 0 free");
    wrong(&|trie| assert!(trie.leaves.insert(&[1]).is_ok()), "reached and 0 free");
}

#[test]
fn batches_of_every_size_on_every_instruction_set() {
    let rib: Rib<u128> =
        rib(&[("2001:db8::/32", 1), ("2001:db8:1::/48", 2), ("2001:db8:1::/127", 300), ("2a00::/12", 4)]);
    let pool = probes(&rib);
    for &level in crate::arch::Level::available() {
        let mut config = Config::default();
        config.isa = level;
        let fib = Fib::build_from(ENGINES, "poptrie", &rib, config).unwrap();
        for size in (0..=2 * view::LANES + 1).chain([1000]) {
            let addresses: Vec<u128> = pool.iter().copied().cycle().skip(size).take(size).collect();
            let mut answers = vec![NextHop(9); size];
            fib.lookup_batch(&addresses, &mut answers);
            for (&address, answer) in addresses.iter().zip(answers) {
                assert_eq!(answer, rib.longest_match(address).map_or(NextHop::NONE, |route| route.next_hop));
            }
        }
    }
}

#[test]
fn a_change_is_one_store_above_all_that_it_writes() {
    let mut rib: Rib<u32> = rib(&[("10.0.1.0/24", 1), ("10.0.3.0/24", 1), ("10.0.3.64/26", 2)]);
    let mut trie: Poptrie<u32, u8> = Poptrie::build(&rib, &Config::default()).unwrap();
    let view = trie.share().unwrap();
    let root = |trie: &PoptrieView<u32, u8>| trie.direct.get(10_240).root().unwrap();
    let (before, leaves) = (root(&view), trie.leaves.to_vec());
    let old = view.nodes.get(before);
    // Other leaves at the same slots: the root stays in place and has another base.
    apply(&mut trie, &mut rib, &[("10.0.1.0/24", 3)]);
    let new = view.nodes.get(before);
    assert!(
        root(&view) == before && new.is_shaped_like(&old) && new.base0 == old.base0 && new.base1 != old.base1
    );
    assert_eq!(trie.leaves.to_vec()[..leaves.len()], leaves, "somebody may be at them");
    // Another child: the root itself is another.
    apply(&mut trie, &mut rib, &[("10.0.9.0/25", 3)]);
    assert!(root(&view) != before && view.nodes.get(before) == new);
    check_answers(&view, &rib);
    trie.readers_passed(); // for what was replaced before
    apply(&mut trie, &mut rib, &[("10.0.9.0/25", 4)]);
    assert_eq!(view.nodes.get(before), new);
    trie.readers_passed();
    apply(&mut trie, &mut rib, &[("10.0.11.0/25", 4), ("10.0.1.0/25", 5)]);
    assert_ne!(view.nodes.get(before), new, "used again");
    check_answers(&view, &rib);
}

#[test]
fn a_shared_trie_asks_for_a_rebuild_when_there_is_no_room_or_far_too_much() {
    let mut rib: Rib<u32> = (0..40_000_u32)
        .map(|i| Route { prefix: Prefix::containing(i << 12, 24), next_hop: NextHop(1 + i % 200) })
        .collect();
    let mut trie: Poptrie<u32, u8> = Poptrie::build(&rib, &config(4)).unwrap();
    let view = trie.share().unwrap();
    let mut next_hop = 201;
    let mut before;
    // Every gap is written beside the old one, as long as there is room.
    loop {
        before = rib.clone();
        let delta = rib.set(Prefix::ALL, NextHop(next_hop)).unwrap();
        if trie.apply(&rib, &[delta]) == Update::Rebuild {
            break;
        }
        check_answers(&view, &rib);
        next_hop += 1;
    }
    assert!(next_hop > 203);
    check(&trie, &before);
    check_answers(&view, &before);
    trie.readers_passed();
    trie.readers_passed();

    let mut trie: Poptrie<u32, u8> = Poptrie::build(&rib, &config(4)).unwrap();
    let view = trie.share().unwrap();
    let mut gone = rib.clone().into_iter().map(|route| route.prefix).collect::<Vec<_>>().into_iter();
    loop {
        before = rib.clone();
        let deltas: Vec<_> = gone.by_ref().take(4000).filter_map(|prefix| rib.remove(prefix)).collect();
        if trie.apply(&rib, &deltas) == Update::Rebuild {
            break;
        }
        check_answers(&view, &rib);
    }
    assert!(!rib.is_empty());
    check_answers(&view, &before);
}

/// Generates prefixes that nest: a few trunks, any length, little noise after it.
fn prefixes<A: Address>() -> impl Strategy<Value = Prefix<A>> {
    let trunk = prop_oneof![Just(u128::MAX), Just(0), Just(0x2001_0db8_5555_aaaa_cccc_3333_0f0f_1234)];
    let noise = prop_oneof![Just(0_u128), any::<u128>(), (0..128_u32).prop_map(|bit| 1 << bit)];
    let len = prop_oneof![0..=A::BITS, A::BITS - 8..=A::BITS, 14..=30_u8];
    (trunk, noise, len).prop_map(|(trunk, noise, len)| {
        let bits = (trunk ^ noise) >> (128 - u32::from(A::BITS));
        Prefix::containing(A::from_u128(bits).unwrap(), len)
    })
}

fn changes<A: Address>() -> impl Strategy<Value = Vec<Change<A>>> {
    let change = (prefixes(), 0..6_u32).prop_map(|(prefix, next_hop)| match next_hop {
        0 => Change::Withdraw(prefix),
        _ => Change::Announce(Route { prefix, next_hop: NextHop(next_hop) }),
    });
    proptest::collection::vec(change, 1..60)
}

/// Builds from some of the changes, then applies the others in updates of `at_once`, with or
/// without a reader of the same memory. Then undoes all of them.
fn follow<A: Address, W: Width>(s: u8, changes: &[Change<A>], at_once: usize, read: bool) {
    let (first, rest) = changes.split_at(changes.len() / 3);
    let mut rib: Rib<A> = Rib::new();
    for &change in first {
        rib.apply(change);
    }
    let mut trie: Poptrie<A, W> = Poptrie::build(&rib, &config(s)).unwrap();
    check(&trie, &rib);
    let view = if read { trie.share() } else { None };
    for changes in rest.chunks(at_once) {
        // At most one delta per prefix, as `Engine::apply` requires.
        let before = rib.clone();
        for &change in changes {
            rib.apply(change);
        }
        let mut touched: Vec<Prefix<A>> = changes.iter().map(Change::prefix).collect();
        touched.sort();
        touched.dedup();
        let value = |rib: &Rib<A>, prefix| rib.get(prefix).unwrap_or_default();
        let deltas = touched.into_iter().rev().map(|prefix| Delta {
            prefix,
            before: value(&before, prefix),
            after: value(&rib, prefix),
        });
        let deltas: Vec<Delta<A>> = deltas.filter(|delta| delta.before != delta.after).collect();
        assert!(matches!(trie.apply(&rib, &deltas), Update::Applied(_)));
        check(&trie, &rib);
        if let Some(view) = &view {
            check_answers(view, &rib);
        }
        trie.readers_passed();
    }
    let deltas: Vec<Delta<A>> = rib
        .iter()
        .map(|route| Delta { prefix: route.prefix, before: route.next_hop, after: NextHop::NONE })
        .collect();
    trie.apply(&Rib::new(), &deltas);
    trie.readers_passed();
    trie.readers_passed();
    assert_eq!((trie.nodes.len(), trie.leaves.len()), (0, 0));
    if let Some(view) = &view {
        check_answers(view, &Rib::new());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn ipv4_follows_any_sequence(changes in changes::<u32>(), s in 0..=13_u8, at_once in 1..9_usize, read: bool) {
        follow::<u32, u16>(s, &changes, at_once, read);
    }

    #[test]
    fn ipv6_follows_any_sequence(changes in changes::<u128>(), s in 0..=13_u8, at_once in 1..9_usize, read: bool) {
        follow::<u128, u8>(s, &changes, at_once, read);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    #[test]
    fn both_families_at_the_default_size(ipv4 in changes::<u32>(), ipv6 in changes::<u128>()) {
        follow::<u32, u32>(18, &ipv4, 5, true);
        follow::<u128, u32>(18, &ipv6, 5, true);
    }
}
