//! The driver and the model against the oracle.

use crate::{Driver, Pipeline, Sizes};
use fibula::{Change, Delta, Fib, NextHop, Prefix, Rib, Route};

const SIZES: Sizes = Sizes { next_hop_bits: 8, chunk_bits: 9, map_bits: 10 };

/// Returns a prefix among a few networks, of all lengths, so that many cover others.
fn prefix(random: &mut fastrand::Rng) -> Prefix<u32> {
    let network = [0x0A00_0000, 0x0A00_FF00, 0x0A01_0000, 0xFFFF_FF00][random.usize(..4)];
    let length = [0, 1, 5, 6, 7, 8, 12, 13, 15, 16, 17, 18, 19, 22, 23, 24, 24, 24, 25, 27, 31, 32];
    // Prefixes shorter than /12 cost a word for every /24 below, so few of them are drawn.
    let length = if random.u8(..16) == 0 { length[random.usize(..6)] } else { length[random.usize(6..22)] };
    Prefix::containing(network ^ random.u32(..1 << 10), length)
}

fn change(random: &mut fastrand::Rng) -> Change<u32> {
    let prefix = prefix(random);
    if random.u8(..5) < 2 {
        return Change::Withdraw(prefix);
    }
    Change::Announce(Route { prefix, next_hop: NextHop(random.u32(1..256)) })
}

fn probes(random: &mut fastrand::Rng, prefix: Prefix<u32>) -> Vec<u32> {
    let (first, last) = (prefix.first(), prefix.last());
    let edges = [first, first.wrapping_sub(1), last, last.wrapping_add(1)];
    let near = 0x0A00_0000 ^ random.u32(..1 << 10);
    let inside = (0..6).map(|_| random.u32(first..=last));
    edges.into_iter().chain([near]).chain(inside).collect()
}

/// After each word, every probe is answered as before the change or as after it; and a probe that
/// has its new answer keeps it.
fn follows(pipeline: Pipeline, seed: u64, changes: usize) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut rib: Rib<u32> = Rib::new();
    for _ in 0..20 {
        rib.apply(change(&mut random));
    }
    let mut driver = Driver::build(pipeline, SIZES, &rib).expect("the sizes suffice");
    let mut hardware = driver.memories().clone();
    let mut oracle = Fib::build("oracle", &rib).expect("the oracle holds every table");
    for _ in 0..changes {
        let change = change(&mut random);
        let Some(delta) = rib.apply(change) else { continue };
        let words = driver.apply(&rib, &[delta]).expect("the sizes suffice");
        let probes = probes(&mut random, delta.prefix);
        let before: Vec<u32> = probes.iter().map(|&probe| oracle.lookup_index(probe).0).collect();
        oracle.apply(&rib, &[delta]).expect("the oracle follows");
        let after: Vec<u32> = probes.iter().map(|&probe| oracle.lookup_index(probe).0).collect();
        let mut moved = vec![false; probes.len()];
        // Long runs are looked at after each of the first and the last words.
        let looked = |at: usize| at < 600 || at + 600 > words.len();
        for (at, &word) in words.iter().enumerate() {
            hardware.write(word);
            if !looked(at) {
                continue;
            }
            for (probe, moved) in moved.iter_mut().enumerate() {
                let answer = pipeline.lookup(&hardware, &SIZES, probes[probe]);
                let (before, after) = (before[probe], after[probe]);
                let expected = if *moved { answer == after } else { answer == before || answer == after };
                assert!(expected, "{pipeline:?} {delta:?} word {at}: {answer}, not {before} or {after}");
                *moved |= before != after && answer == after;
            }
        }
        for (&probe, &after) in probes.iter().zip(&after) {
            assert_eq!(pipeline.lookup(&hardware, &SIZES, probe), after, "{pipeline:?} {delta:?}");
        }
    }
    let rebuilt = Driver::build(pipeline, SIZES, &rib).expect("the sizes suffice");
    for probe in (0..5_000).map(|_| 0x0A00_0000 ^ random.u32(..1 << 18)) {
        assert_eq!(rebuilt.lookup(probe), driver.lookup(probe), "{pipeline:?} {probe:#x}");
    }
}

#[test]
fn sail_b_follows_changes_word_by_word() {
    (0..4).for_each(|seed| follows(Pipeline::SailB, seed, 400));
}

#[test]
fn sail_u_follows_changes_word_by_word() {
    (0..4).for_each(|seed| follows(Pipeline::SailU, seed, 400));
}

#[test]
fn sail_l_follows_changes_word_by_word() {
    (0..2).for_each(|seed| follows(Pipeline::SailL, seed, 200));
}

#[test]
fn mosaic_follows_changes_word_by_word() {
    (0..2).for_each(|seed| follows(Pipeline::Mosaic, seed, 200));
}

#[test]
fn dir24_8_follows_changes_word_by_word() {
    (0..2).for_each(|seed| follows(Pipeline::Dir24_8, seed, 100));
}

#[test]
fn an_update_of_sail_u_writes_one_word_of_its_maps() {
    let mut random = fastrand::Rng::with_seed(1);
    let mut rib: Rib<u32> = Rib::new();
    let mut driver = Driver::build(Pipeline::SailU, SIZES, &rib).expect("the sizes suffice");
    for _ in 0..2_000 {
        let Some(delta) = rib.apply(change(&mut random)) else { continue };
        let words = driver.apply(&rib, &[delta]).expect("the sizes suffice");
        let maps = words.iter().filter(|word| word.memory < crate::NEAR).count();
        assert!(maps <= 1, "{maps} words for {delta:?}");
    }
}

#[test]
fn what_does_not_fit_names_its_number() {
    let sizes = Sizes { next_hop_bits: 8, chunk_bits: 1, map_bits: 2 };
    let mut rib: Rib<u32> = Rib::new();
    for third in 0..3 {
        rib.insert(Prefix::host(0x0A00_0000 | third << 8), NextHop(1));
    }
    for pipeline in Pipeline::ALL {
        let full = Driver::build(pipeline, sizes, &rib).expect_err("two chunks hold no three /24s");
        assert_eq!(full.to_string(), "more than 2 chunks of routes longer than /24");
    }
    let mut driver = Driver::build(Pipeline::Dir24_8, sizes, &Rib::new()).expect("nothing is there");
    let delta = Delta { prefix: Prefix::ALL, before: NextHop::NONE, after: NextHop(256) };
    let full = driver.apply(&Rib::new(), &[delta]).expect_err("8 bits hold no 256");
    assert_eq!(full.to_string(), "more than 255 next hops");
}

#[test]
fn the_fitting_sizes_hold_the_table_and_smaller_ones_do_not() {
    let mut random = fastrand::Rng::with_seed(7);
    let mut rib: Rib<u32> = Rib::new();
    for _ in 0..60 {
        rib.apply(change(&mut random));
    }
    let oracle = Fib::build("oracle", &rib).expect("the oracle holds every table");
    for pipeline in Pipeline::ALL {
        let sizes = Driver::build(pipeline, SIZES, &rib).expect("the sizes suffice").fitting();
        assert!(sizes.chunk_bits < SIZES.chunk_bits && sizes.map_bits <= SIZES.map_bits, "{sizes:?}");
        let fitted = Driver::build(pipeline, sizes, &rib).expect("these sizes suffice too");
        for route in &rib {
            let address = route.prefix.last();
            assert_eq!(fitted.lookup(address), oracle.lookup_index(address).0, "{pipeline:?} {address:#x}");
        }
        let smaller = Sizes { chunk_bits: sizes.chunk_bits - 1, ..sizes };
        assert!(Driver::build(pipeline, smaller, &rib).is_err(), "{pipeline:?} {sizes:?}");
        assert!(pipeline.off_chip_bits(&smaller) <= pipeline.off_chip_bits(&sizes));
    }
}
