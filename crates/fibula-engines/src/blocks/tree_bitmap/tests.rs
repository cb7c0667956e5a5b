//! Figure 1 of the paper, nodes in words, updates against builds, and the errors that `validate`
//! finds.

use super::node::{Map, Node, map, path};
use super::{InitialArray, LANES, MAX_WORDS, Trie, WORDS};
use fibula::engine::{Cost, Unmetered, Width};
use fibula::parts::memory::Pages;
use fibula::{Address, Delta, Limit, NextHop, Prefix, Rib, Route};
use proptest::prelude::*;

map! { u8, stride: 3, words: 2,
    unpack: |[maps, block]: [u32; 2]| Node { internal: maps as u8, external: (maps >> 8) as u8, block },
    pack: |node: Node<u8>| [u32::from(node.external) << 8 | u32::from(node.internal), node.block]
}

fn build<A: Address, W: Width, M: Map>(rib: &Rib<A>, bits: u8) -> InitialArray<A, W, M> {
    InitialArray::build(rib.iter(), bits, MAX_WORDS, Pages::Small).unwrap()
}

/// Returns the bits of an internal or external map from the first on, as the paper writes them.
fn written(map: u8, bits: std::ops::Range<u32>) -> String {
    bits.map(|position| if map.has(position) { '1' } else { '0' }).collect()
}

#[test]
fn figure_1_of_the_paper() {
    let prefix = |bits: u32, len: u8| Prefix::containing(bits << (32 - u32::from(len).max(1)), len);
    let (p1, p2) = (prefix(0, 0), prefix(0b01, 2));
    // The figure does not show what is below B and C; inside C there is nothing.
    let (p3, p4) = (prefix(0b0001, 4), prefix(0b01_1000, 6));
    let rib: Rib<u32> = [(p1, 1), (p2, 2), (p3, 3), (p4, 4)]
        .into_iter()
        .map(|(prefix, next_hop)| Route { prefix, next_hop: NextHop(next_hop) })
        .collect();
    let array: InitialArray<u32, u8, u8> = build(&rib, 0);
    let a = array.root(0);
    assert_eq!((written(a.internal, 1..8), written(a.external, 0..8)), ("1000100".into(), "10010000".into()));
    let b = array.trie.node(a.child(0b000).unwrap(), &mut Unmetered);
    let c = array.trie.node(a.child(0b011).unwrap(), &mut Unmetered);
    assert_eq!((a.child(0b000).unwrap(), a.child(0b011).unwrap()), (a.block as usize, a.block as usize + 2));
    assert_eq!(
        (b.longest(0b100), c.internal, c.child(0b111), c.child(0b000).is_some()),
        (Some(3), 0, None, true)
    );
    assert_eq!(a.longest(0b011), Some(0b101)); // 01* behind a leading one
    let address = 0b01_1111 << 26;
    assert_eq!((path::<u32, u8>(address, 0), path::<u32, u8>(address, 3)), (0b011, 0b111));
    assert_eq!(array.find(address, &mut Unmetered), 2);
    assert_eq!(array.find_by::<false>(address, &mut Unmetered), 2);
    array.validate(rib.iter()).unwrap();
}

#[test]
fn nodes_are_as_large_as_the_paper_says() {
    assert_eq!((size_of::<<u16 as Map>::Words>(), size_of::<<u128 as Map>::Words>()), (8, 2 * 4 * 4 + 4));
    let node = Node { internal: 1_u128 << 127 | 2, external: 1 << 64 | 1 << 33, block: 7 };
    assert_eq!(u128::pack(node), [2, 0, 0, 1 << 31, 0, 2, 1, 0, 7]);
    assert_eq!(u128::unpack(u128::pack(node)), node);
    let node = Node { internal: 0x8002_u16, external: 0x4001, block: u32::MAX };
    assert_eq!(u16::pack(node), [0x4001_8002, u32::MAX]);
    assert_eq!(u16::unpack(u16::pack(node)), node);
    assert_eq!((u16::pack(node), u16::unpack(u16::pack(node))), ([0x4001_8002, 0xFFFF_FFFF], node));
}

/// The paper's own search of a node: it drops the bits of the path one after the other.
fn longest_by_dropping_bits<M: Map>(internal: M, path: u32) -> Option<u32> {
    let whole = 1 << M::STRIDE | path;
    (1..=M::STRIDE).map(|dropped| whole >> dropped).find(|&position| internal.has(position))
}

proptest! {
    #[test]
    fn the_longest_cover_is_the_papers(internal in any::<u128>(), path in 0..128_u32) {
        let node = |internal| Node { internal, external: 0, block: 0 };
        prop_assert_eq!(node(internal & !1).longest(path), longest_by_dropping_bits(internal, path));
        prop_assert_eq!(node(internal | 1).longest(path), longest_by_dropping_bits(internal, path).or(Some(0)));
        let (internal, path) = (internal as u16, path % 16);
        let node = Node { internal: internal & !1, external: 0, block: 0 };
        prop_assert_eq!(node.longest(path), longest_by_dropping_bits(internal, path));
    }

    #[test]
    fn updates_give_what_a_build_gives(changes in changes(), bits in 0..=14_u8, at_once in 1..6_usize) {
        follow::<u8, u16>(&changes, bits.max(8), at_once);
        follow::<u16, u128>(&changes, bits, at_once);
        follow::<u32, u16>(&changes, 13, at_once);
    }
}

fn changes() -> impl Strategy<Value = Vec<(Prefix<u32>, NextHop)>> {
    let address = (prop_oneof![Just(u32::MAX), Just(0), Just(0x0A55_3301)], any::<u32>(), any::<bool>());
    let address =
        address.prop_map(|(trunk, noise, far)| trunk ^ if far { noise } else { noise & 0x0101_0101 });
    let change = (address, 0..=32_u8, 0..6_u32);
    let change = change.prop_map(|(address, len, hop)| (Prefix::containing(address, len), NextHop(hop)));
    proptest::collection::vec(change, 1..60)
}

fn follow<W: Width, M: Map>(changes: &[(Prefix<u32>, NextHop)], bits: u8, at_once: usize) {
    let mut rib = Rib::new();
    let mut array: InitialArray<u32, W, M> = build(&rib, bits);
    for changes in changes.chunks(at_once) {
        let before = rib.clone();
        for &(prefix, next_hop) in changes {
            rib.set(prefix, next_hop);
        }
        let mut touched: Vec<Prefix<u32>> = changes.iter().map(|&(prefix, _)| prefix).collect();
        touched.sort();
        touched.dedup();
        let of = |rib: &Rib<u32>, prefix| rib.get(prefix).unwrap_or_default();
        let deltas = touched.into_iter().rev().map(|prefix| Delta {
            prefix,
            before: of(&before, prefix),
            after: of(&rib, prefix),
        });
        array.follow(&rib, &deltas.filter(|delta| delta.before != delta.after).collect::<Vec<_>>());
        array.validate(rib.iter()).unwrap();
        let addresses: Vec<u32> = rib.iter().flat_map(|r| [r.prefix.first(), r.prefix.last()]).collect();
        let mut found = vec![W::default(); addresses.len()];
        array.find_all(&addresses, &mut found);
        for (&address, &found) in addresses.iter().zip(&found) {
            let expected = W::narrow(rib.longest_match(address).unwrap().next_hop);
            assert_eq!((found, array.find(address, &mut Unmetered)), (expected, expected));
        }
    }
    let all: Vec<Delta<u32>> = rib
        .iter()
        .map(|route| Delta { prefix: route.prefix, before: route.next_hop, after: NextHop::NONE })
        .collect();
    array.follow(&Rib::new(), &all);
    array.validate(std::iter::empty()).unwrap();
    assert_eq!((array.trie.words.len(), array.trie.result_bytes()), (M::WORDS, 0));
}

/// Returns a table with a /24 in each of `count` /20s.
fn many(count: u32) -> Rib<u32> {
    (0..count)
        .map(|i| Route { prefix: Prefix::containing(i << 12, 24), next_hop: NextHop(i % 200 + 1) })
        .collect()
}

#[test]
fn holes_are_closed() {
    let mut rib = many(40_000);
    let mut array: InitialArray<u32, u8, u16> = build(&rib, 13);
    let gone: Vec<Prefix<u32>> = rib.iter().map(|route| route.prefix).step_by(3).collect();
    for prefixes in gone.chunks(100) {
        let deltas: Vec<Delta<u32>> = prefixes.iter().map(|&prefix| rib.remove(prefix).unwrap()).collect();
        array.follow(&rib, &deltas);
    }
    array.validate(rib.iter()).unwrap();
    let fresh: InitialArray<u32, u8, u16> = build(&rib, 13);
    assert!(array.memory().total() * 10 <= fresh.memory().total() * 11);
}

#[test]
fn lanes_go_in_step_whatever_their_number() {
    let rib = many(1000);
    let array: InitialArray<u32, u8, u128> = build(&rib, 11);
    for size in [0, 1, LANES - 1, LANES, LANES + 1, 3 * LANES + 5] {
        let addresses: Vec<u32> = (0..size as u32).map(|i| (i * 37) << 12 | i).collect();
        let mut found = vec![9; size];
        array.find_all(&addresses, &mut found);
        let expected: Vec<u8> =
            addresses.iter().map(|&address| array.find(address, &mut Unmetered)).collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn a_limit_is_named_and_room_foreseen() {
    let words = |max| {
        let array = InitialArray::<u32, u8, u16>::build(many(1).iter(), 4, max, Pages::Small);
        array.map(|array| {
            [&["10.0.0.0/32"][..], &["0.0.0.0/0"], &["0.0.0.0/0", "10.0.0.0/32"]].map(|texts| {
                let (before, after) = (NextHop::NONE, NextHop(1));
                let change = |text: &&str| Delta { prefix: text.parse().unwrap(), before, after };
                array.can_follow(&texts.iter().map(change).collect::<Vec<_>>())
            })
        })
    };
    // 2 words are reserved; 4 + 8 bits remain to the /24: nodes after 8, 12, 16, 20 and 24 bits,
    // a word of results, and the word for an answer above.
    assert_eq!(words(13).unwrap_err(), Limit { what: WORDS, had: 14, max: 13 });
    assert_eq!(words(14), Ok([false; 3]));
    // A long route may take a word for a new root, and 8 full blocks of 16 children and 16 words of
    // results. A short one takes a word for each entry without a block.
    let (long, short) = (1 + 8 * 48, 15);
    assert_eq!(words(14 + short - 1), Ok([false; 3]));
    assert_eq!(words(14 + short), Ok([false, true, false]));
    assert_eq!(words(14 + long - 1), Ok([false, true, false]));
    assert_eq!(words(14 + long + short - 1), Ok([true, true, false]));
    assert_eq!(words(14 + long + short), Ok([true; 3]));
    assert_eq!(Trie::<u8, u16>::new(1, Pages::Small).unwrap_err(), Limit { what: WORDS, had: 2, max: 1 });
}

/// Entries that keep their blocks allocate nothing for a cover, and free nothing after it.
#[test]
fn blocks_are_kept_where_that_is_wanted() {
    let mut rib = many(20);
    let array: InitialArray<u32, u8, u16> = build(&rib, 13);
    let mut array = array.keeping_blocks().unwrap();
    array.validate(rib.iter()).unwrap();
    let words = array.trie.words.len();
    for (prefix, next_hop) in [("0.0.0.0/0", 1), ("0.0.0.0/0", 2), ("128.0.0.0/1", 3), ("0.0.0.0/0", 0)] {
        let delta = rib.set(prefix.parse().unwrap(), NextHop(next_hop)).unwrap();
        let cost = array.follow(&rib, &[delta]);
        array.validate(rib.iter()).unwrap();
        assert_eq!((cost.nodes_copied, cost.nodes_allocated), (0, 0));
        assert_eq!((array.trie.words.len(), array.trie.words.free_total()), (words, 0));
    }
    let root = array.root(8191);
    array.trie.free(root);
    array.set_root(8191, Node::EMPTY);
    assert!(array.validate(rib.iter()).is_err());
    let limit = InitialArray::<u32, u8, u16>::build(many(1).iter(), 4, 14, Pages::Small).unwrap();
    let limit = limit.keeping_blocks().unwrap_err();
    assert_eq!(limit, Limit { what: WORDS, had: 15, max: 14 });
}

#[test]
fn validate_sees_what_is_wrong() {
    let mut rib = many(20);
    rib.insert("10.0.0.0/8".parse().unwrap(), NextHop(1));
    rib.insert("10.0.0.0/13".parse().unwrap(), NextHop(2));
    build::<u32, u8, u16>(&rib, 13).validate(rib.iter()).unwrap();
    let wrong = |damage: &dyn Fn(&mut InitialArray<u32, u8, u16>), expected: &str| {
        let mut array = build(&rib, 13);
        damage(&mut array);
        let error = array.validate(rib.iter()).unwrap_err();
        assert!(error.contains(expected), "{error}");
    };
    let root = |change: fn(&mut Node<u16>)| {
        move |array: &mut InitialArray<u32, u8, u16>| {
            let mut root = array.root(0);
            change(&mut root);
            array.set_root(0, root);
        }
    };
    wrong(&root(|root| root.block = u32::MAX), "are past the end");
    wrong(&root(|root| root.block = 1), "two pointers to one of words");
    wrong(&root(|root| *root = Node::EMPTY), "reached and 0 free");
    wrong(&root(|root| (root.internal, root.block) = (2, 0)), "has no block");
    wrong(&root(|root| root.external = root.external & 3 | 1 << 9), "is expected");
    wrong(&|array| array.written_by[320] = 0, "the lengths of the initial array are not what a build gives");
    wrong(&|array| array.trie.result_words += 1, "words of results counted as");
    let thirteen = |change: fn(&mut Node<u16>)| {
        move |array: &mut InitialArray<u32, u8, u16>| {
            let mut node = array.root(320);
            change(&mut node);
            array.set_root(320, node);
        }
    };
    wrong(&thirteen(|node| node.internal = 3 << 1), "0 above 10.0.0.0/13 where 1 is expected");
    wrong(&thirteen(|node| node.internal = 5), "10.0.0.0/14");
    wrong(
        &|array| {
            let root = unanswered(array);
            array.set_root(1, root);
        },
        "no room for an answer above 0.8.0.0/13",
    );
    let result = |position, result| {
        move |array: &mut InitialArray<u32, u8, u16>| {
            let node = array.root(320);
            array.trie.set_result(node, position, result);
        }
    };
    wrong(&result(1, 9), "next_hop: NextHop(9)");
    wrong(&result(0, 9), "9 above 10.0.0.0/13 where 1 is expected");
    wrong(
        &|array| {
            let at = array.node(&[0, 0]).child(0).unwrap();
            let node = array.trie.node(at, &mut Unmetered);
            array.trie.set_node(at, Node { internal: node.internal | 1, ..node });
        },
        "bit 0 of an internal map is set",
    );
}

/// Returns a root with one route in a block that has no answer above it.
fn unanswered(array: &mut InitialArray<u32, u8, u16>) -> Node<u16> {
    let route: Route<u32> = Route { prefix: "0.8.0.0/13".parse().unwrap(), next_hop: NextHop(3) };
    array.trie.insert(Node::EMPTY, 13, route, &mut Cost::default())
}
