//! Tests of `mosaic-deep` and `mosaic-spans`: the worked example of the module page, the references
//! that tiles hold to blocks, many blocks, and readers beside changes.

use super::below::BelowView;
use super::blocks::MARKED;
use super::tests::EXAMPLE;
use super::*;
use crate::arch::Scalar;
use crate::engine::Lookup as _;
use crate::memory::Shareable;
use crate::testing::{ViaView, apply, rib};
use crate::{Fib, NextHop};

fn build<W: Width>(rib: &Rib<u32>) -> MosaicDeep<W> {
    MosaicDeep::build(rib, &Config::default()).unwrap()
}

/// Returns the number of /24s with a block and the number of different blocks.
fn counts<W: Width, F: Tiles<B::Entry>, B: Below<W>>(engine: &Mosaic<W, F, B>) -> (usize, usize) {
    engine.below.counts(|| engine.marked(&[Prefix::ALL]))
}

#[test]
fn the_worked_example() {
    let rib = rib(&EXAMPLE);
    let engine: MosaicDeep<u8> = build(&rib);
    let tile = engine.tile(slot_of(0x0A02_0000));
    assert_eq!((tile[0], tile[1..] == [1; TILE - 1]), (0x8000_0001, true));
    assert_eq!(engine.tile(slot_of(0x0A00_4000))[..4], [2, 3, 2, 2]);
    assert_eq!((engine.tiles.len(), engine.tiles.bytes()), (4, 4 * 256));
    assert_eq!(counts(&engine), (1, 1));
    let block: Vec<u8> = engine.view.below.words().iter().map(u8::load).collect();
    assert_eq!(block, [[0; 256].as_slice(), &[4; 128], &[1; 128]].concat());
    let addresses = [0x0A00_4100, 0x0A02_007F, 0x0A02_0080, 0x0A02_0100, 0x0B00_0000];
    assert_eq!(addresses.map(|address| engine.lookup(address)), [3, 4, 1, 1, 0]);
    // Long blocks, a short one, and one by one.
    let many: Vec<u32> = addresses.into_iter().cycle().take(3 * 64 + 8 + 3).collect();
    let mut answers = vec![7; many.len()];
    engine.lookup_batch(Scalar, &many, &mut answers);
    let expected = [3, 4, 1, 1, 0].into_iter().cycle().take(many.len());
    assert_eq!(answers, expected.collect::<Vec<u8>>());
    engine.validate(&rib).unwrap();
}

#[test]
fn a_block_lives_as_long_as_a_tile_names_it() {
    lives_as_long(MosaicDeep::build);
    lives_as_long(MosaicSpans::build);
}

fn lives_as_long<F: Tiles<B::Entry>, B: Below<u16>>(
    build: impl Fn(&Rib<u32>, &Config) -> Result<Mosaic<u16, F, B>, Error>,
) {
    let mut rib = rib(&EXAMPLE);
    let mut engine = build(&rib, &Config::default()).unwrap();
    let mut cost = |changes: &[(&str, u32)]| {
        let cost = apply(&mut engine, &mut rib, changes);
        ((cost.nodes_copied, cost.chunks_rebuilt, cost.entries_set), counts(&engine))
    };
    // The same answers elsewhere: in another tile, in a tile that is equal, twice in a tile.
    assert_eq!(cost(&[("10.2.64.0/25", 4)]), ((1, 1, 1), (2, 1)));
    assert_eq!(cost(&[("10.9.1.0/25", 4)]), ((1, 1, 1), (3, 1)));
    assert_eq!(cost(&[("10.9.3.0/25", 4)]), ((1, 1, 1), (4, 1)));
    // Other answers, and those again that all have.
    assert_eq!(cost(&[("10.9.3.0/26", 5)]), ((1, 1, 1), (4, 2)));
    assert_eq!(cost(&[("10.9.3.0/26", 0)]), ((1, 1, 1), (4, 1)));
    // Hidden behind more-specific routes: nothing changes.
    assert_eq!(cost(&[("10.2.0.0/26", 4), ("10.2.0.64/26", 4)]), ((0, 1, 0), (4, 1)));
    // The cover of all four, and of all slots of the /8 but three of those.
    assert_eq!(cost(&[("10.0.0.0/8", 6)]), ((3, 4, 1022), (4, 1)));
    assert_eq!(cost(&[("10.9.1.0/25", 0), ("10.9.3.0/25", 0)]), ((2, 0, 2), (2, 1)));
    let last = [("10.2.0.0/25", 0), ("10.2.0.0/26", 0), ("10.2.0.64/26", 0), ("10.2.64.0/25", 0)];
    assert_eq!(cost(&last).1, (0, 0));
}

/// Returns a table in which each of these /24s has two hosts and answers like no other.
fn pairs(count: u32) -> Rib<u32> {
    let mut rib = Rib::new();
    for at in 0..count {
        let first = (at * 496) << 8;
        rib.insert(Prefix::containing(first | 1, 32), NextHop(at % 250 + 1));
        rib.insert(Prefix::containing(first | 2, 32), NextHop(at / 250 + 1));
    }
    rib
}

#[test]
fn more_blocks_than_15_bits_tell_apart() {
    const COUNT: u32 = 33_000;
    // Enough routes for all cores to paint.
    let rib = pairs(COUNT);
    let engine: MosaicDeep<u8> = build(&rib);
    assert_eq!(counts(&engine), (33_000, 33_000));
    let addresses: Vec<u32> =
        (0..COUNT).flat_map(|at| (0..4).map(move |host| (at * 496) << 8 | host)).collect();
    let mut answers = vec![7; addresses.len()];
    engine.lookup_batch(Scalar, &addresses, &mut answers);
    let expected = (0..COUNT).flat_map(|at| [0, at % 250 + 1, at / 250 + 1, 0]);
    assert!(expected.eq(answers.into_iter().map(u32::from)));
    engine.validate(&rib).unwrap();
}

#[test]
fn after_a_flap_of_everything_it_is_as_small_as_before() {
    is_as_small(MosaicDeep::<u32>::build);
    is_as_small(MosaicSpans::<u32>::build);
}

fn is_as_small<W: Width, F: Tiles<B::Entry>, B: Below<W>>(
    build: impl Fn(&Rib<u32>, &Config) -> Result<Mosaic<W, F, B>, Error>,
) {
    let routes = pairs(2_000);
    let mut rib = Rib::new();
    let mut engine = build(&rib, &Config::default()).unwrap();
    let empty = engine.memory().total();
    let announced: Vec<_> = routes.iter().filter_map(|r| rib.insert(r.prefix, r.next_hop)).collect();
    engine.apply(&rib, &announced);
    engine.validate(&rib).unwrap();
    for half in [0, 1] {
        let gone = routes.iter().filter(|route| route.prefix.first() % 2 == half);
        let withdrawn: Vec<_> = gone.filter_map(|route| rib.remove(route.prefix)).collect();
        engine.apply(&rib, &withdrawn);
        engine.validate(&rib).unwrap();
    }
    assert_eq!((engine.tiles.len(), counts(&engine)), (1, (0, 0)));
    assert!(engine.memory().total() <= empty + 49_152, "{:?}", engine.memory());
}

#[test]
fn the_greatest_next_hop_is_not_a_mark() {
    let greatest = MARKED - 1;
    let mut rib = rib(&[("10.0.0.0/16", greatest), ("10.0.7.128/25", greatest - 1)]);
    let mut engine: MosaicDeep<u32> = build(&rib);
    assert!(engine.share().is_some());
    let addresses = [0x0A00_0000, 0x0A00_0780, 0x0A00_0700];
    let mut answers = [0; 3];
    engine.lookup_batch(Scalar, &addresses, &mut answers);
    assert_eq!(answers, [greatest, greatest - 1, greatest]);
    rib.insert(Prefix::ALL, NextHop(MARKED));
    let error = Fib::build("mosaic-deep", &rib).unwrap_err().to_string();
    assert!(error.contains("2147483647"), "{error}");
}

#[test]
fn readers_of_an_old_tile_find_its_blocks_until_they_have_passed() {
    let mut rib = rib(&EXAMPLE);
    let mut engine: MosaicDeep<u16> = build(&rib);
    let view = engine.share().unwrap();
    let (entry, address) = (engine.tile(slot_of(0x0A02_0000))[0], 0x0A02_0000);
    let behind_old_mark = || view.below.answer(entry, address, &mut crate::engine::Unmetered);
    apply(&mut engine, &mut rib, &[("10.2.0.0/25", 0), ("10.3.0.0/26", 7)]);
    assert_eq!([0x0A02_0000, 0x0A03_0000].map(|address| view.lookup(address)), [1, 7]);
    engine.readers_passed(); // for what was replaced before the change
    apply(&mut engine, &mut rib, &[("10.3.0.0/26", 8)]);
    assert_eq!(behind_old_mark(), 4);
    engine.readers_passed();
    apply(&mut engine, &mut rib, &[("10.3.0.0/26", 9)]);
    assert_eq!((behind_old_mark(), view.lookup(0x0A03_0000)), (9, 9));
    engine.validate(&rib).unwrap();
}

#[test]
fn a_shared_table_asks_for_a_rebuild_when_there_is_no_room_for_blocks() {
    let mut rib = Rib::new();
    // 12,800 marks that name one block.
    for number in 0..12_800_u32 {
        rib.insert(Prefix::containing(number << 8, 25), NextHop(1));
    }
    let mut engine: MosaicDeep<u8> = build(&rib);
    assert_eq!(counts(&engine), (12_800, 1));
    let view = engine.share().unwrap();
    let delta = rib.insert(Prefix::containing(0, 16), NextHop(2)).unwrap();
    assert!(matches!(engine.apply(&rib, &[delta]), Update::Applied(_)));
    assert_eq!((view.lookup(1), view.lookup(255)), (1, 2));
    let delta = rib.insert(Prefix::containing(0, 8), NextHop(3)).unwrap();
    assert_eq!((engine.apply(&rib, &[delta]), view.lookup(0x0001_00FF)), (Update::Rebuild, 0));
}

#[test]
fn validation_sees_wrong_blocks_and_wrong_counts() {
    let rib = rib(&EXAMPLE);
    let sound = || build::<u16>(&rib);
    let error = |engine: &MosaicDeep<u16>| engine.validate(&rib).unwrap_err();
    let mut engine = sound();
    engine.below.mark(0, &[1; BELOW]);
    assert!(error(&engine).contains("chunk 2 has"));
    let mut engine = sound();
    engine.below.keep(&engine.tile(slot_of(0x0A02_0000)));
    assert!(error(&engine).contains("chunk 1 has"));
    let mut engine = sound();
    let mut entries = engine.tile(slot_of(0x0A02_0000));
    entries[0] = engine.below.mark(0, &[9; BELOW]);
    let tile = engine.insert(&entries);
    engine.root.set(slot_of(0x0A02_0000), tile, Pages::Small);
    assert!(error(&engine).starts_with("slot 0x2808 has"));
}
