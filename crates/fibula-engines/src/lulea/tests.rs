//! The worked example of the module page, the limits of each layout, and the errors for a spoiled
//! table.

use super::chunk::{CodeWord, DIRECT_MAX};
use super::pointer::{Kind, Pointer, Target};
use super::*;
use fibula::engine::Accesses;
use fibula::testing::Oracle;
use fibula::testing::rib;
use fibula::{Limit, Prefix, Route};
use proptest::prelude::*;

fn n(next_hop: u32) -> Target {
    Target::Answer(next_hop)
}

/// Returns Figure 4 of the paper as routes, with a chunk of each kind below its root heads 6, 12
/// and 13.
fn figure_4() -> Rib<u32> {
    let mut rib = rib(&[
        ("0.0.0.0/14", 1),
        ("0.4.0.0/15", 2),
        ("0.6.0.0/16", 3),
        ("0.6.128.0/24", 4),
        ("0.6.128.7/32", 5),
        ("0.7.0.0/16", 1),
        ("0.8.0.0/14", 2),
        ("0.12.0.0/16", 6),
        ("0.14.0.0/16", 3),
        ("0.15.0.0/16", 4),
    ]);
    let slot = |node: u32, slot| Prefix::containing(node << 16 | slot << 8, 24);
    for odd in [1, 3, 5, 7] {
        rib.insert(slot(12, odd), NextHop(7));
    }
    for at in 0..256 {
        rib.insert(slot(13, at), NextHop(8 + at % 2));
    }
    rib
}

fn paper<W: Width>(engine: &mut Lulea<W>) -> &mut Table<u16, u16> {
    let Form::Paper(table) = &mut engine.form else { panic!("not the paper's layout") };
    table
}

fn build<W: Width>(rib: &Rib<u32>) -> Lulea<W> {
    Lulea::build(rib, &Config::default()).unwrap()
}

#[test]
fn figure_4_of_the_paper() {
    let rib = figure_4();
    let mut engine = build::<u8>(&rib);
    engine.validate(&rib).unwrap();
    let table = paper(&mut engine);
    let targets = |pointers: &[u16]| pointers.iter().map(|pointer| pointer.target()).collect::<Vec<_>>();

    // 1000101110001111, the first position leftmost.
    let mask = 0b1000_1011_1000_1111_u16.reverse_bits();
    assert_eq!(table.top[0].words[0], CodeWord::masked(mask, 0));
    let nowhere = CodeWord::direct(NextHop::NONE).unwrap();
    assert!(table.top.iter().flat_map(|chunk| chunk.words).skip(1).all(|word| word == nowhere));
    let root = |kind| Target::Chunk(kind, 0);
    let heads =
        [n(1), n(2), root(Kind::Sparse), n(1), n(2), root(Kind::Dense), root(Kind::VeryDense), n(3), n(4)];
    assert_eq!(targets(&table.pointers), heads);

    let [two, three] = &table.levels;
    assert_eq!(two.sparse[0].heads, [129, 128, 0, 0, 0, 0, 0, 0]);
    assert_eq!(targets(&two.sparse[0].pointers[..3]), [n(3), root(Kind::Sparse), n(3)]);
    assert_eq!(three.sparse[0].heads, [8, 7, 0, 0, 0, 0, 0, 0]);
    assert_eq!(targets(&three.sparse[0].pointers[..3]), [n(4), n(5), n(4)]);

    let six = CodeWord::direct(NextHop(6)).unwrap();
    assert_eq!(two.dense[0].words[0], CodeWord::masked(0b1_1111_1111, 0));
    assert!(two.dense[0].words[1..].iter().all(|&word| word == six));
    assert_eq!((two.dense[0].bases, two.very_dense[0].bases), ([0], [9, 9 + 64, 9 + 128, 9 + 192]));
    let words = [0, 16, 32, 48].map(|offset| CodeWord::masked(u16::MAX, offset));
    assert_eq!(two.very_dense[0].words, [words; 4].concat()[..]);
    assert_eq!(targets(&two.pointers[..9]), [6, 7, 6, 7, 6, 7, 6, 7, 6].map(n));
    assert!(two.pointers[9..].iter().enumerate().all(|(at, p)| p.target() == n(8 + at as u32 % 2)));

    let bytes: Vec<_> = engine.memory().parts.iter().map(|part| (part.name, part.bytes)).collect();
    let expected = [
        ("code words", 8192),
        ("base indices", 2048),
        ("maptable", 5416),
        ("pointers", 2 * 9),
        ("sparse chunks", 2 * 24),
        ("dense chunks", 34),
        ("very dense chunks", 40),
        ("pointers of chunks", 2 * (9 + 256)),
    ];
    assert_eq!(bytes, expected);

    let figures: Vec<_> = engine.figures().into_iter().map(|figure| figure.value).collect();
    // Leaves; heads by level; chunks of level 2, of level 3; bits of a pointer, of a base index.
    let [leaves, heads] = [[304.0].as_slice(), &[9.0 + 12.0, 9.0 + 13.0 + 256.0, 9.0]];
    assert_eq!(figures, [leaves, heads, &[1.0, 1.0, 1.0], &[1.0, 0.0, 0.0], &[16.0, 16.0]].concat());
}

#[test]
fn accesses_are_those_of_the_paper() {
    let engine = build::<u8>(&figure_4());
    let loads = |address| {
        let mut accesses = Accesses::new();
        let answer = engine.lookup_metered(address, &mut accesses);
        (answer, accesses.loads())
    };
    // A code word alone; with base index, row and pointer; with the two loads of a sparse chunk;
    // and so on.
    assert_eq!(loads(0xFF00_0000), (0, 1));
    assert_eq!(loads(0x0001_0000), (1, 4));
    assert_eq!(loads(0x0006_0000), (3, 4 + 2));
    assert_eq!(loads(0x0006_8007), (5, 4 + 2 + 2));
    assert_eq!(loads(0x000C_0300), (7, 4 + 4));
    assert_eq!(loads(0x000C_FF00), (6, 4 + 1));
    assert_eq!(loads(0x000D_FF00), (9, 4 + 4));
}

/// Returns the layout that a table gets.
fn layout(rib: &Rib<u32>) -> &'static str {
    let engine = build::<u32>(rib);
    engine.validate(rib).unwrap();
    match engine.form {
        Form::Paper(_) => "paper",
        Form::WideBases(_) => "wide bases",
        Form::Wide(_) => "wide",
    }
}

/// Returns every /24 of `nodes` /16s, with `answers` alternating next hops.
fn full_chunks(nodes: u32, answers: u32) -> Rib<u32> {
    let slots = (0..nodes << 8).map(|slot| Prefix::containing(slot << 8, 24));
    let routes = slots.enumerate();
    routes.map(|(at, prefix)| Route { prefix, next_hop: NextHop(at as u32 % answers + 1) }).collect()
}

#[test]
fn the_layout_widens_at_the_first_index_that_does_not_fit() {
    let next_hops = |max| rib(&[("0.0.0.0/0", max), ("10.0.0.0/24", 1), ("10.0.0.1/32", max)]);
    assert_eq!(layout(&next_hops((1 << 14) - 1)), "paper");
    assert_eq!(layout(&next_hops(1 << 14)), "wide");
    assert_eq!(layout(&next_hops(NEXT_HOPS_MAX)), "wide");
    // 256 very dense chunks have 2^16 pointers; the next begins one past them.
    assert_eq!(layout(&full_chunks(256, 2)), "paper");
    assert_eq!(layout(&full_chunks(257, 2)), "wide bases");
    let sparse = |chunks: u32| -> Rib<u32> {
        let hosts = (0..chunks).map(|at| Prefix::host(at << 16));
        hosts.map(|prefix| Route { prefix, next_hop: NextHop(1) }).collect()
    };
    assert_eq!(layout(&sparse(1 << 14)), "paper");
    assert_eq!(layout(&sparse((1 << 14) + 1)), "wide");
}

#[test]
fn an_answer_past_a_code_word_has_a_pointer_for_each_mask() {
    for (next_hop, words, pointers) in [(DIRECT_MAX, 16, 0), (DIRECT_MAX + 1, 0, 16)] {
        let rib = rib(&[("10.0.0.0/8", next_hop)]);
        let engine = build::<u32>(&rib);
        engine.validate(&rib).unwrap();
        let Form::Wide(table) = &engine.form else { panic!("not wide") };
        let direct = table.top[10].words.iter().filter(|word| word.next_hop() == Some(next_hop)).count();
        assert_eq!((direct, table.pointers.len()), (words, pointers));
        // One leaf of eight bits, and those around it, all with the same answer.
        assert_eq!(engine.figures()[0], Figure::count("leaves", 9));
    }
}

#[test]
fn a_leaf_of_each_length_on_each_level() {
    let rib: Rib<u32> = (0..=32)
        .flat_map(|len| [0, u32::MAX, 0x0A80_8080].map(|address| Prefix::containing(address, len)))
        .map(|prefix| Route { prefix, next_hop: NextHop(1 << 24 | u32::from(prefix.len())) })
        .collect();
    assert_eq!(layout(&rib), "wide");
    let engine = build::<u32>(&rib);
    for route in &rib {
        let answer = rib.longest_match(route.prefix.last()).unwrap().next_hop;
        assert_eq!(engine.lookup(route.prefix.last()), answer.0);
    }
}

#[test]
fn the_greatest_next_hop_fits_and_the_next_does_not() {
    let mut rib = rib(&[("10.0.0.0/8", NEXT_HOPS_MAX), ("10.0.0.0/32", NEXT_HOPS_MAX - 1)]);
    let mut fib = crate::build("lulea", &rib).unwrap();
    let answers = [0x0A00_0000, 0x0AFF_FFFF].map(|address: u32| fib.lookup_index(address));
    assert_eq!(answers, [NextHop(NEXT_HOPS_MAX - 1), NextHop(NEXT_HOPS_MAX)]);
    let delta = rib.insert(Prefix::ALL, NextHop(NEXT_HOPS_MAX + 1)).unwrap();
    let limit = Limit { what: "next hops", had: u64::from(NEXT_HOPS_MAX) + 1, max: NEXT_HOPS_MAX.into() };
    assert_eq!(fib.apply(&rib, &[delta]).unwrap_err().limit(), Some(limit));
    assert_eq!((fib.lookup_index(0), fib.lookup_index(0x0AFF_FFFF)), (NextHop::NONE, NextHop(NEXT_HOPS_MAX)));
}

#[test]
fn validation_sees_what_is_wrong() {
    let rib = figure_4();
    let spoiled = |spoil: fn(&mut Table<u16, u16>)| {
        let mut engine = build::<u8>(&rib);
        spoil(paper(&mut engine));
        engine.validate(&rib).unwrap_err()
    };
    assert_eq!(spoiled(|t| t.top.truncate(255)), "255 chunks on level 1");
    assert_eq!(spoiled(|t| t.top[0].bases[0] = 1), "pointer of level 1 9 of 9");
    assert_eq!(spoiled(|t| t.pointers.push(t.pointers[0])), "no way to pointer of level 1 9");
    assert_eq!(spoiled(|t| t.top[0].words[1] = CodeWord::masked(1, 3)), "two ways to pointer of level 1 3");
    assert_eq!(
        spoiled(|t| t.top[9].words[1] = CodeWord::direct(NextHop(2)).unwrap()),
        "9.16.0.0/16: NextHop(2), the table has NextHop(0)"
    );
    assert_eq!(
        spoiled(|t| t.pointers[2] = u16::to_next_hop(NextHop(3)).unwrap()),
        "0.6.0.0/16: NextHop(3), the table has NextHop(3) and others"
    );
    assert_eq!(
        spoiled(|t| t.pointers[2] = u16::to_chunk(Kind::Sparse, 1).unwrap()),
        "0.6.0.0/16: sparse chunk 1 of 1"
    );
    assert_eq!(
        spoiled(|t| t.pointers[6] = u16::to_chunk(Kind::Dense, 0).unwrap()),
        "0.13.0.0/16: two ways to dense chunk 0"
    );
    assert_eq!(
        spoiled(|t| t.levels[0].very_dense[0].bases[3] += 1),
        "0.13.0.0/16: pointer of level 2 265 of 265"
    );
    assert_eq!(
        spoiled(|t| t.levels[1].sparse[0].pointers[1] = u16::to_chunk(Kind::Sparse, 0).unwrap()),
        "0.6.128.7/32: a chunk below level 3"
    );
    assert_eq!(
        spoiled(|t| t.levels[0].sparse[0].heads[0] = 128),
        "0.6.0.0/16: heads [128, 128, 0, 0, 0, 0, 0, 0] of a sparse chunk"
    );
    assert_eq!(
        spoiled(|t| t.levels[0].sparse[0].heads[2..].fill(1)),
        "0.6.0.0/16: a sparse chunk without head 0"
    );
    assert_eq!(
        spoiled(|t| t.levels[1].sparse[0].pointers[0] = u16::to_next_hop(NextHop(5)).unwrap()),
        "0.6.128.0/24: two heads of one answer in a sparse chunk"
    );
    assert_eq!(spoiled(|t| t.levels[1].sparse.push(t.levels[1].sparse[0])), "no way to sparse chunk 1");
}

proptest! {
    #[test]
    fn answers_as_the_oracle_in_every_layout(
        routes in proptest::collection::vec((any::<u32>(), 0..=32_u8, 1..300_u32), 0..120),
        near in any::<u32>(), factor in prop_oneof![Just(1_u32), Just(100), Just(1 << 22)],
    ) {
        // Half of the routes are close together, so that all kinds of chunks occur.
        let prefix = |at: usize, address: u32, len: u8| match at % 2 {
            0 => Prefix::containing(address, len),
            _ => Prefix::containing(near & 0xFFFF_0000 | address & 0xFFFF, 16 + len / 2),
        };
        let routes = routes.into_iter().enumerate();
        let rib: Rib<u32> = routes.map(|(at, (address, len, next_hop))| {
            Route { prefix: prefix(at, address, len), next_hop: NextHop(next_hop * factor) }
        }).collect();
        let engine = build::<u32>(&rib);
        prop_assert!(engine.validate(&rib).is_ok());
        let oracle = Oracle::<u32, u32>::build(&rib, &Config::default()).unwrap();
        let mut probes = vec![0, u32::MAX];
        for route in &rib {
            let (first, last) = (route.prefix.first(), route.prefix.last());
            probes.extend([first.wrapping_sub(1), first, last, last.wrapping_add(1)]);
        }
        let expected: Vec<u32> = probes.iter().map(|&probe| oracle.lookup(probe)).collect();
        prop_assert_eq!(&probes.iter().map(|&probe| engine.lookup(probe)).collect::<Vec<_>>(), &expected);
        for count in [0, 1, batch::LANES - 1, batch::LANES, batch::LANES + 1, probes.len()] {
            let count = count.min(probes.len());
            let mut answers = vec![u32::MAX; count];
            engine.lookup_batch(fibula::parts::arch::Scalar, &probes[..count], &mut answers);
            prop_assert_eq!(&answers[..], &expected[..count]);
        }
    }
}
