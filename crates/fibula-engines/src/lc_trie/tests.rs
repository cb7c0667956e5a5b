use super::*;
use fibula::parts::memory::Pages;
use fibula::testing::Oracle;
use fibula::{Limit, NextHop, Prefix, Route};
use proptest::prelude::*;

const EXAMPLE: [(&str, u32); 8] = [
    ("0.0.0.0/0", 1),
    ("0.0.0.0/3", 2),
    ("64.0.0.0/2", 3),
    ("128.0.0.0/4", 4),
    ("160.0.0.0/3", 5),
    ("170.0.0.0/8", 6),
    ("171.0.0.0/8", 7),
    ("192.0.0.0/3", 8),
];

fn table<A: Address>(routes: &[(&str, u32)]) -> Rib<A> {
    let route = |&(prefix, next_hop): &(&str, u32)| Route {
        prefix: prefix.parse().unwrap(),
        next_hop: NextHop(next_hop),
    };
    routes.iter().map(route).collect()
}

fn build<A: Address>(rib: &Rib<A>, fill: u8, root: u8) -> LcTrie<A, u16> {
    let config = Config::default().with("fill", fill.to_string()).with("root", root.to_string());
    LcTrie::build(rib, &config).unwrap()
}

#[test]
fn the_worked_example() {
    let rib = table::<u32>(&EXAMPLE);
    let lc_trie = build(&rib, 50, 0);
    let bases = lc_trie.strings.bases.iter().map(|b| (b.prefix().to_string(), b.next_hop, b.above));
    let expected = [
        ("0.0.0.0/3", 2, 0),
        ("64.0.0.0/2", 3, 0),
        ("128.0.0.0/4", 4, 0),
        ("170.0.0.0/8", 6, 1),
        ("171.0.0.0/8", 7, 1),
        ("192.0.0.0/3", 8, 0),
    ];
    assert!(bases.eq(expected.map(|(prefix, next_hop, cover)| (prefix.to_owned(), next_hop, cover))));
    let covers = lc_trie.strings.covers.iter().map(|c| (c.len, c.next_hop, c.above));
    assert!(covers.eq([(0, 1, strings::NO_COVER), (3, 5, 0)]));

    let (leaf, branch) = (Node::leaf, Node::branching);
    let leaves = |bases: &[usize]| bases.iter().map(|&base| leaf(base)).collect::<Vec<_>>();
    let mut drawn = vec![branch(3, 0, 2), leaf(0)];
    drawn.extend(leaves(&[0, 0, 1, 1, 2]));
    drawn.push(branch(1, 4, 10));
    drawn.extend(leaves(&[5, 5, 3, 4]));
    assert_eq!(lc_trie.trie[..], drawn[..]);
    let parts: Vec<usize> = lc_trie.memory().parts.iter().map(|part| part.bytes).collect();
    assert_eq!((parts, lc_trie.memory().total()), (vec![48, 72, 16], 136));
    let figures = [
        ("nodes", 11.0),
        ("average depth of a leaf", (7.0 * 1.0 + 2.0 * 2.0) / 9.0),
        ("greatest depth", 2.0),
        ("base vector", 6.0),
        ("prefix vector", 2.0),
    ];
    assert_eq!(lc_trie.figures(), figures.map(|(name, value)| Figure::new(name, value)));

    let answers = [0xAA01_0203, 0xAC00_0001, 0xF000_0001, 0x2000_0000].map(|a| lc_trie.lookup(a));
    assert_eq!(answers, [6, 5, 1, 1]);
    lc_trie.validate(&rib).unwrap();
}

#[test]
fn the_fill_factor_and_the_root_decide_how_many_bits_a_node_branches_on() {
    let rib = table::<u32>(&EXAMPLE);
    let root = |fill, root| build(&rib, fill, root).trie[0].branch();
    // 5 of 8 children have base strings, 5 of 16, 5 of 32.
    assert_eq!([100, 63, 62, 32, 31, 16, 15].map(|fill| root(fill, 0)), [2, 2, 3, 3, 4, 4, 5]);
    assert_eq!([1, 2, 4, 5].map(|bits| root(50, bits)), [1, 2, 4, 5]);
    // Six base strings: at most 32 children, whatever the configuration.
    assert_eq!(root(50, 16), 5);
}

#[test]
fn a_fixed_root_ends_with_the_address() {
    let hosts: Rib<u32> =
        (0..16).map(|i| Route { prefix: Prefix::host(u32::MAX - i), next_hop: NextHop(1) }).collect();
    let lc_trie = build(&hosts, 50, 16);
    assert_eq!((lc_trie.trie[0].skip(), lc_trie.trie[0].branch(), lc_trie.node_count()), (28, 4, 18));
    lc_trie.validate(&hosts).unwrap();
}

#[test]
fn long_common_beginnings_take_a_node_for_every_32_bits() {
    let rib = table::<u128>(&[("::/0", 1), ("2001:db8::/127", 2), ("2001:db8::2/127", 3)]);
    let lc_trie = build(&rib, 50, 16);
    let mut skips = Vec::new();
    let mut at = 0;
    while !lc_trie.trie[at].is_leaf() {
        let node = lc_trie.trie[at];
        skips.push((node.skip(), node.branch()));
        let children = node.children()..node.children() + 2;
        at = children.clone().find(|&child| !lc_trie.trie[child].is_leaf()).unwrap_or(children.start);
    }
    assert_eq!(skips, [(31, 1), (31, 1), (31, 1), (30, 1)]);
    lc_trie.validate(&rib).unwrap();
    let answers = [1 << 127, (0x2001_0db8 << 96) | 3, (0x2001_0db8 << 96) | 4, 0].map(|a| lc_trie.lookup(a));
    assert_eq!(answers, [1, 3, 1, 1]);
}

#[test]
fn an_empty_table_is_one_leaf() {
    let rib = Rib::<u128>::new();
    let lc_trie = build(&rib, 50, 16);
    assert_eq!((lc_trie.node_count(), lc_trie.lookup(0), lc_trie.lookup(u128::MAX)), (1, 0, 0));
    lc_trie.validate(&rib).unwrap();
}

#[test]
fn too_many_nodes_are_named() {
    let strings = Strings::<u32, u16>::of(&table(&EXAMPLE), Pages::Small);
    let grow =
        |max| build::grow(&strings, Shape { fill: 50, root: 0 }, Pages::Small, max).map(|trie| trie.len());
    assert_eq!(grow(12), Ok(12));
    assert_eq!(grow(11), Err(Limit { what: "trie nodes", had: 12, max: 11 }));
    assert_eq!(grow(5), Err(Limit { what: "trie nodes", had: 6, max: 5 }));
}

#[test]
fn parameters_out_of_range_are_named() {
    let error = |name, value| {
        let config = Config::default().with(name, value);
        LcTrie::<u32, u16>::build(&Rib::new(), &config).unwrap_err().to_string()
    };
    assert_eq!(error("fill", "0"), "parameter fill=0: expected 1 to 100");
    assert_eq!(error("root", "23"), "parameter root=23: expected 0 to 22");
}

#[test]
fn validation_sees_what_is_wrong() {
    let rib = table::<u32>(&EXAMPLE);
    let spoiled = |spoil: fn(&mut LcTrie<u32, u16>)| {
        let mut lc_trie = build(&rib, 50, 0);
        spoil(&mut lc_trie);
        lc_trie.validate(&rib).unwrap_err()
    };
    assert_eq!(spoiled(|l| l.strings.bases[3].next_hop = 7), "the base vector is not that of the table");
    assert_eq!(spoiled(|l| l.strings.covers[1].len = 2), "the prefix vector is not that of the table");
    assert_eq!(spoiled(|l| l.trie[0] = Node::branching(4, 0, 2)), "node 17 of 12");
    assert_eq!(spoiled(|l| l.trie[7] = Node::branching(1, 4, 8)), "two pointers to node 9");
    assert_eq!(spoiled(|l| l.trie[2] = Node::leaf(6)), "node 2: base string 6 of 6");
    assert_eq!(spoiled(|l| l.trie[5] = Node::leaf(2)), "node 5: base string 2 where 1..2 are");
    assert_eq!(spoiled(|l| l.trie[7] = Node::leaf(3)), "node 7: base string 3 where 3..5 are");
    assert_eq!(spoiled(|l| l.trie[6] = Node::branching(1, 4, 10)), "node 6: a branch for 1 base strings");
    assert_eq!(
        spoiled(|l| l.trie[7] = Node::branching(1, 5, 10)),
        "node 7: bits 8 to 9, of which 7 are shared"
    );
    let unreached = spoiled(|l| l.trie.extend_from_slice(&[Node::leaf(0), Node::leaf(0)]));
    assert_eq!(unreached, "no pointer to node 12");

    // An empty child whose neighbours have different covers: 101 has that of 1, because 1000 and
    // 1100 do not match.
    let rib = table::<u32>(&[("0.0.0.0/2", 1), ("128.0.0.0/2", 2), ("128.0.0.0/4", 3), ("192.0.0.0/4", 4)]);
    let mut lc_trie = build(&rib, 50, 3);
    lc_trie.validate(&rib).unwrap();
    let wrong = Node::leaf(2);
    let right = std::mem::replace(&mut lc_trie.trie[2 + 0b101], wrong);
    assert_eq!(right, Node::leaf(1));
    let complaint = lc_trie.validate(&rib).unwrap_err();
    assert_eq!(complaint, "node 7: 160.0.0.0/3 leads to None, the table has Some((2, NextHop(2)))");
}

/// Generates prefixes that nest and touch often, at both ends of the space and everywhere between.
fn prefixes<A: Address>() -> impl Strategy<Value = Prefix<A>> {
    let address = (0..32_u64, 0..8_u64, any::<bool>()).prop_map(|(head, tail, ones)| {
        let middle = if ones { A::mask(A::BITS - 3) & !A::mask(5) } else { A::ZERO };
        A::from_bits(head, 0, 5) | middle | A::from_bits(tail, A::BITS - 3, 3)
    });
    let len = prop_oneof![0..=8_u8, A::BITS - 4..=A::BITS, 0..=A::BITS];
    (address, len).prop_map(|(address, len)| Prefix::containing(address, len))
}

fn tables<A: Address>() -> impl Strategy<Value = Rib<A>> {
    let route = (prefixes(), 1..6_u32).prop_map(|(prefix, n)| Route { prefix, next_hop: NextHop(n) });
    proptest::collection::vec(route, 0..80).prop_map(|routes| routes.into_iter().collect())
}

fn answers_as_the_oracle<A: Address>(rib: &Rib<A>, fill: u8, root: u8) -> Result<(), TestCaseError> {
    let lc_trie = build(rib, fill, root);
    lc_trie.validate(rib).map_err(TestCaseError::fail)?;
    let oracle = Oracle::<A, u16>::build(rib, &Config::default()).unwrap();
    let mut probes = vec![A::ZERO, A::MAX];
    for route in rib {
        let (first, last) = (route.prefix.first(), route.prefix.last());
        probes.extend([first.previous(), Some(first), Some(last), last.next()].into_iter().flatten());
    }
    // Addresses in which a skipped bit differs.
    let bits = (0..A::BITS).cycle();
    probes.extend(probes.clone().into_iter().zip(bits).map(|(probe, bit)| probe ^ A::from_bits(1, bit, 1)));
    let expected: Vec<u16> = probes.iter().map(|&probe| oracle.lookup(probe)).collect();
    for (&probe, &expected) in probes.iter().zip(&expected) {
        prop_assert_eq!(lc_trie.lookup(probe), expected);
    }
    for count in [0, 1, LANES - 1, LANES, LANES + 1, probes.len()] {
        let count = count.min(probes.len());
        let mut answers = vec![u16::MAX; count];
        lc_trie.find_all(&probes[..count], &mut answers);
        prop_assert_eq!(&answers[..], &expected[..count]);
    }
    Ok(())
}

proptest! {
    #[test]
    fn ipv4_answers_as_the_oracle(rib in tables::<u32>(), fill in 1..=100_u8, root in 0..12_u8) {
        answers_as_the_oracle(&rib, fill, root)?;
    }

    #[test]
    fn ipv6_answers_as_the_oracle(rib in tables::<u128>(), fill in 1..=100_u8, root in 0..12_u8) {
        answers_as_the_oracle(&rib, fill, root)?;
    }
}
