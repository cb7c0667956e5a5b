//! The worked example of the module page, the mark as a next hop, tile numbers past 16 bits, and
//! the cost of updates.

use super::below::Below as _;
use super::*;
use crate::arch::Scalar;
use crate::blocks::unique::Form;
use crate::engine::{Cost, Lookup as _, Meter};
use crate::memory::Shareable;
use crate::rib::Range;
use crate::testing::{ViaView, apply, rib};
use crate::{Fib, NextHop};

/// The table of the module page.
pub(super) const EXAMPLE: [(&str, u32); 6] = [
    ("10.0.0.0/8", 1),
    ("10.0.64.0/18", 2),
    ("10.0.65.0/24", 3),
    ("10.1.64.0/18", 2),
    ("10.1.65.0/24", 3),
    ("10.2.0.0/25", 4),
];

fn build<W: Width>(rib: &Rib<u32>) -> Mosaic<W> {
    Mosaic::build(rib, &Config::default()).unwrap()
}

fn build_runs<W: Width>(rib: &Rib<u32>) -> MosaicRuns<W> {
    MosaicRuns::build(rib, &Config::default()).unwrap()
}

fn tile<W: Width>(engine: &Mosaic<W>, address: u32) -> [W; TILE] {
    engine.tile(slot_of(address))
}

#[test]
fn the_worked_example() {
    let rib = rib(&EXAMPLE);
    let engine: Mosaic<u8> = build(&rib);
    assert_eq!(tile(&engine, 0x0A00_4000)[..4], [2, 3, 2, 2]);
    assert_eq!(engine.root.get(slot_of(0x0A01_4000)), engine.root.get(slot_of(0x0A00_4000)));
    assert_eq!(tile(&engine, 0x0A02_0000)[..3], [255, 1, 1]);
    assert_eq!((tile(&engine, 0x0A03_0000), tile(&engine, 0x0B00_0000)), ([1; TILE], [0; TILE]));
    assert_eq!((engine.tiles.len(), engine.tiles.bytes()), (4, 4 * TILE));
    let addresses = [0x0A00_4100, 0x0A02_007F, 0x0A02_0080, 0x0A02_0100, 0x0B00_0000];
    assert_eq!(addresses.map(|address| engine.lookup(address)), [3, 4, 1, 1, 0]);
    engine.validate(&rib).unwrap();
}

#[test]
fn the_mark_itself_may_be_a_next_hop() {
    let mut rib = rib(&[("10.0.0.0/16", 255), ("10.0.7.128/25", 254), ("10.0.7.0/26", 255)]);
    let mut engine: Mosaic<u8> = build(&rib);
    let addresses = [0x0A00_0000, 0x0A00_0780, 0x0A00_0700, 0x0A00_0740, 0x0A01_0000];
    // Long blocks, a short one, and one by one. Four of five answers are marks; the first of them
    // has no chunk.
    let many: Vec<u32> = addresses.into_iter().cycle().take(3 * 64 + 8 + 3).collect();
    let mut answers = vec![7; many.len()];
    engine.view().lookup_blocks(&many, &mut answers);
    let expected = [255, 254, 255, 255, 0].into_iter().cycle().take(many.len());
    assert_eq!(answers, expected.collect::<Vec<u8>>());
    assert_eq!(engine.below.counts(|| 0), (1, 1));
    apply(&mut engine, &mut rib, &[("10.0.7.128/25", 0), ("10.0.7.0/26", 0)]);
    assert_eq!((engine.below.counts(|| 0), engine.lookup(0x0A00_0780)), ((0, 0), 255));
    engine.validate(&rib).unwrap();
}

/// Returns a table with a different tile for each slot.
fn all_different() -> Rib<u32> {
    let route = |slot: u32| Range { first: slot << 14, last: slot << 14 | 255, next_hop: NextHop(slot + 1) };
    (0..70_000).flat_map(|slot| route(slot).prefixes().map(move |prefix| (prefix, slot))).fold(
        Rib::new(),
        |mut rib, (prefix, slot)| {
            rib.insert(prefix, NextHop(slot + 1));
            rib
        },
    )
}

#[test]
fn tile_numbers_past_16_bits_come_and_go() {
    let mut rib = all_different();
    let mut engine: Mosaic<u32> = build(&rib);
    assert_eq!((engine.tiles.len(), engine.root.number_bits()), (70_001, 32));
    let addresses: Vec<u32> = (0..70_000).map(|slot| slot << 14).collect();
    let mut answers = vec![0; addresses.len()];
    engine.view().lookup_blocks(&addresses, &mut answers);
    assert!((1..).zip(&answers).all(|(expected, &answer)| answer == expected));

    let withdraw = |rib: &mut Rib<u32>, engine: &mut Mosaic<u32>, slots: std::ops::Range<u32>| {
        let gone = slots.filter_map(|slot| rib.remove(Prefix::containing(slot << 14, 24)));
        let deltas: Vec<_> = gone.collect();
        assert!(matches!(engine.apply(rib, &deltas), Update::Applied(_)));
    };
    withdraw(&mut rib, &mut engine, 60_000..70_000);
    assert_eq!((engine.tiles.len(), engine.root.number_bits()), (60_001, 16));
    engine.validate(&rib).unwrap();
    let before: Vec<_> = (60_000..70_000)
        .filter_map(|slot| rib.insert(Prefix::containing(slot << 14, 24), NextHop(slot + 1)))
        .collect();
    engine.apply(&rib, &before);
    assert_eq!(engine.root.number_bits(), 32);
    engine.validate(&rib).unwrap();
}

#[test]
fn an_update_makes_one_tile_unless_it_has_a_twin() {
    let mut rib = rib(&EXAMPLE);
    let mut engine: Mosaic<u8> = build(&rib);
    let mut cost = |changes: &[(&str, u32)]| {
        let cost = apply(&mut engine, &mut rib, changes);
        engine.validate(&rib).unwrap();
        (cost.nodes_copied, cost.chunks_rebuilt, cost.entries_set)
    };
    assert_eq!(cost(&[("10.0.66.0/24", 7)]), (1, 0, 1));
    // Back to the tile of 10.1.64.0/18.
    assert_eq!(cost(&[("10.0.66.0/24", 0)]), (1, 0, 1));
    // Hidden behind more-specific routes: nothing is painted.
    assert_eq!(cost(&[("10.2.0.0/26", 9), ("10.2.0.64/26", 9)]), (0, 1, 0));
    assert_eq!(cost(&[("10.2.0.0/25", 5)]), (0, 0, 0));
    // All slots of the /8, except the three with more-specific routes and these.
    assert_eq!(cost(&[("10.0.0.0/8", 6)]), (1, 1, 1022));
}

#[test]
fn after_a_flap_of_everything_it_is_as_small_as_before() {
    let routes = all_different();
    let mut rib = Rib::new();
    let mut engine: Mosaic<u32> = build(&rib);
    let empty = engine.memory().total();
    let announced: Vec<_> = routes.iter().filter_map(|r| rib.insert(r.prefix, r.next_hop)).collect();
    engine.apply(&rib, &announced);
    engine.validate(&rib).unwrap();
    let withdrawn: Vec<_> = routes.iter().filter_map(|route| rib.remove(route.prefix)).collect();
    engine.apply(&rib, &withdrawn);
    engine.validate(&rib).unwrap();
    assert_eq!((engine.tiles.len(), engine.root.number_bits()), (1, 16));
    assert!(engine.memory().total() <= empty + 4096, "{:?}", engine.memory());
}

#[test]
fn validation_sees_wrong_answers_and_wrong_counts() {
    let rib = rib(&EXAMPLE);
    let sound = || build::<u16>(&rib);
    let mut engine = sound();
    engine.root.set(slot_of(0x0A00_4000), 0, Pages::Small);
    assert!(engine.validate(&rib).unwrap_err().starts_with("slot 0x2801 has"));
    let mut engine = sound();
    engine.tiles.retain(1, 1);
    assert!(engine.validate(&rib).unwrap_err().contains("chunk 1 has"));
    let mut engine = sound();
    engine.below.remove(0x0A_0200);
    assert!(engine.validate(&rib).unwrap_err().contains("0 /24s with longer routes of 1"));
    let fib = Fib::build("mosaic", &rib).unwrap();
    assert_eq!(fib.lookup_index(0x0A02_0001), NextHop(4));
}

#[test]
fn a_view_follows_and_a_mark_read_before_still_leads_somewhere() {
    let mut rib = rib(&EXAMPLE);
    let mut engine: Mosaic<u16> = build(&rib);
    let view = engine.share().unwrap();
    apply(&mut engine, &mut rib, &[("10.2.0.0/25", 0), ("10.3.0.0/26", 7)]);
    assert_eq!([0x0A02_0000, 0x0A03_0000].map(|address| view.lookup(address)), [1, 7]);
    let behind_old_mark = || {
        let place = view.below.find(0x0A02_0000, &mut crate::engine::Unmetered)?;
        Some(u16::load(&view.below.answers()[place as usize]))
    };
    engine.validate(&rib).unwrap();
    engine.readers_passed(); // for what was replaced before the change
    assert_eq!(behind_old_mark(), Some(4));
    engine.readers_passed();
    assert_eq!(behind_old_mark(), None);
    engine.validate(&rib).unwrap();
    // Removed and added again before the grace period ends: it stays.
    apply(&mut engine, &mut rib, &[("10.3.0.0/26", 0)]);
    apply(&mut engine, &mut rib, &[("10.3.0.0/26", 8)]);
    engine.readers_passed();
    engine.readers_passed();
    assert_eq!(view.lookup(0x0A03_0000), 8);
    engine.validate(&rib).unwrap();
}

#[test]
fn what_cannot_be_told_from_a_mark_is_not_shared() {
    let mut rib = rib(&[("10.0.0.0/8", 254)]);
    let mut engine: Mosaic<u8> = build(&rib);
    let view = engine.share().unwrap();
    let delta = rib.insert(Prefix::containing(0, 1), NextHop(255)).unwrap();
    assert_eq!(engine.apply(&rib, &[delta]), Update::Rebuild);
    assert_eq!((view.lookup(0), view.lookup(0x0A00_0000)), (0, 254));
    assert!(build::<u8>(&rib).share().is_none());
}

/// Adds routes that together cover all addresses.
fn cover_all(rib: &mut Rib<u32>) -> Vec<Delta<u32>> {
    let halves = [0, 1 << 31].map(|first| Prefix::containing(first, 1));
    halves.into_iter().filter_map(|half| rib.insert(half, NextHop(9))).collect()
}

#[test]
fn a_default_route_comes_and_goes_in_one_word() {
    let mut rib = rib(&EXAMPLE);
    let mut engine: Mosaic<u8> = build(&rib);
    let view = engine.share().unwrap();
    let before = engine.root.get(0);
    for next_hop in [7, 255, 0] {
        let delta = rib.set(Prefix::ALL, NextHop(next_hop)).unwrap();
        assert_eq!(engine.apply(&rib, &[delta]), Update::Applied(Cost::default()));
        let (mut found, right) = ([9; 40], next_hop as u8);
        view.lookup_batch(Scalar, &[0; 40], &mut found);
        assert_eq!((found, view.lookup(0), engine.root.get(0)), ([right; 40], right, before));
        assert_eq!(view.lookup(0x0A00_0000), 1);
        engine.validate(&rib).unwrap();
    }
}

#[test]
fn a_shared_table_asks_for_a_rebuild_when_there_is_no_room_or_far_too_much() {
    let mut rib = all_different();
    let mut engine: Mosaic<u32> = build(&rib);
    let view = engine.share().unwrap();
    let withdraw = |rib: &mut Rib<u32>, slots: std::ops::Range<u32>| -> Vec<Delta<u32>> {
        slots.filter_map(|slot| rib.remove(Prefix::containing(slot << 14, 24))).collect()
    };
    let deltas = withdraw(&mut rib, 0..60_000);
    assert!(matches!(engine.apply(&rib, &deltas), Update::Applied(_)));
    assert_eq!((view.lookup(59_999 << 14), view.lookup(60_000 << 14)), (0, 60_001));
    engine.readers_passed();
    engine.readers_passed();
    engine.validate(&rib).unwrap();
    let deltas = withdraw(&mut rib, 60_000..60_001);
    assert_eq!((engine.apply(&rib, &deltas), view.lookup(60_000 << 14)), (Update::Rebuild, 60_001));

    let mut engine: Mosaic<u32> = build(&rib);
    let view = engine.share().unwrap();
    let deltas = cover_all(&mut rib);
    assert_eq!((engine.apply(&rib, &deltas), view.lookup(0)), (Update::Rebuild, 0));
}

#[test]
fn the_worked_example_in_runs() {
    let rib = rib(&EXAMPLE);
    let mut engine: MosaicRuns<u16> = build_runs(&rib);
    let words = engine.tiles.to_vec();
    let number = engine.root.get(slot_of(0x0A00_4000)) as usize;
    assert_eq!(words[2 * number..][..2], [0b111, 0x2_0003_0002]);
    assert_eq!(engine.root.get(slot_of(0x0A01_4000)) as usize, number);
    let number = engine.root.get(slot_of(0x0A02_0000)) as usize;
    assert_eq!(words[2 * number..][..2], [0b11, 0x1_FFFF]);
    assert_eq!((engine.root.tiles(), engine.tiles.bytes()), (4, 64));
    let addresses = [0x0A00_4100, 0x0A02_007F, 0x0A02_0080, 0x0A02_0100, 0x0B00_0000];
    assert_eq!(addresses.map(|address| engine.lookup(address)), [3, 4, 1, 1, 0]);
    engine.validate(&rib).unwrap();
    engine.tiles.retain(number as u32, 1);
    assert!(engine.validate(&rib).unwrap_err().contains(&format!("chunk {number} has")));
}

/// Returns a tile of `runs` runs, whose answers need all bits.
fn of_runs<W: Width>(runs: usize) -> [W; TILE] {
    std::array::from_fn(|place| W::narrow(NextHop(W::MAX - (place.min(runs - 1) as u32))))
}

#[test]
fn tiles_of_any_number_of_runs_come_back() {
    fn check<W: Width>(bytes: [usize; 4]) {
        for runs in 1..=TILE {
            let tile = of_runs::<W>(runs);
            let piece = Runs::<W>::pack(&tile);
            assert!(Runs::<W>::unpack(&piece) == tile && <Runs<W> as Form>::words(&piece).len() >= 2);
        }
        let sizes = [8 / size_of::<W>(), 24 / size_of::<W>(), 56 / size_of::<W>(), TILE];
        let size = |runs| 8 * <Runs<W> as Form>::words(&Runs::<W>::pack(&of_runs(runs))).len();
        assert_eq!(sizes.map(size), bytes);
        assert_eq!(<Runs<W> as Form>::MOST, bytes[3] / 16);
    }
    check::<u8>([16, 32, 64, 128]);
    check::<u16>([16, 32, 64, 192]);
    check::<u32>([16, 32, 64, 320]);
}

#[test]
fn runs_that_come_and_go_leave_few_holes() {
    let (mut rib, routes) = (Rib::new(), all_different());
    // Some tiles get one more /24, so that tiles have several sizes.
    let more = (0..70_000).filter(|slot| slot % 3 > 0).flat_map(|slot| {
        let places = (1..2 + slot % 20).step_by(2);
        places.map(move |place| (Prefix::containing(slot << 14 | place << 8, 24), NextHop(slot % 7 + 1)))
    });
    let all: Vec<_> = routes.iter().map(|route| (route.prefix, route.next_hop)).chain(more).collect();
    for &(prefix, next_hop) in &all {
        rib.set(prefix, next_hop);
    }
    let mut engine: MosaicRuns<u32> = build_runs(&rib);
    assert_eq!((engine.root.tiles(), engine.root.number_bits()), (70_001, 32));
    let before = engine.memory();
    for part in all.chunks(60_000) {
        let withdrawn: Vec<_> = part.iter().filter_map(|&(prefix, _)| rib.remove(prefix)).collect();
        engine.apply(&rib, &withdrawn);
        engine.validate(&rib).unwrap();
        let announced: Vec<_> = part.iter().filter_map(|&(prefix, hop)| rib.set(prefix, hop)).collect();
        engine.apply(&rib, &announced);
        engine.validate(&rib).unwrap();
    }
    let (most, after) = (before.total() / 10 * 11, engine.memory());
    assert!(after.total() <= most, "{before:?} became {after:?}");
}

#[test]
fn a_view_of_runs_follows_until_there_is_no_room() {
    let mut rib = rib(&EXAMPLE);
    let mut engine: MosaicRuns<u16> = build_runs(&rib);
    let view = engine.share().unwrap();
    let before = engine.tile(slot_of(0x0A00_4000));
    let number = engine.root.get(slot_of(0x0A00_4000));
    apply(&mut engine, &mut rib, &[("10.0.65.0/24", 9), ("10.1.65.0/24", 8), ("10.2.0.0/25", 0)]);
    assert_eq!([0x0A00_4100, 0x0A01_4100, 0x0A02_0001].map(|address| view.lookup(address)), [9, 8, 1]);
    let tile = Runs::<u16>::read(&view.tiles[number as usize * Runs::<u16>::UNIT..]);
    assert_eq!(Runs::<u16>::unpack(&tile), before); // a reader may still use it
    engine.validate(&rib).unwrap();
    let deltas = cover_all(&mut rib);
    assert_eq!((engine.apply(&rib, &deltas), view.lookup(0)), (Update::Rebuild, 0));
}

/// Counts the words that are read.
struct Words(usize);

impl Meter for Words {
    fn load<T: Copy>(&mut self, place: &T) -> T {
        self.0 += 1;
        *place
    }

    fn hash(&mut self) {}
}

/// The places of a part come in the order of their hashes, which is the order of their slots.
#[test]
fn parts_are_joined_in_a_few_reads_for_each_marked_24() {
    const MARKED: u32 = 1 << 17;
    let mut all = Hashed::<u8>::new(Pages::Small);
    let parts = [0, 1].map(|part| {
        let mut piece = Hashed::new(Pages::Small);
        for at in 0..MARKED {
            piece.mark(part * MARKED + at, &[at as u8; BELOW]);
        }
        piece
    });
    let mut read = Words(0);
    for part in &parts {
        all.join_metered(part, &mut read);
    }
    assert_eq!(all.counts(|| 0), (2 * MARKED as usize, 256));
    assert!(read.0 < 16 * MARKED as usize, "{} words are read for {MARKED} /24s in each part", read.0);
}
