//! The worked example of the module page, the limits, and batches during which a block comes and
//! goes.

use super::*;
use crate::engine::Lookup as _;
use crate::testing::{ViaView, apply, rib};
use crate::{Fib, Limit, NextHop, Prefix};

fn build(rib: &Rib<u32>) -> Dir24_8<u32> {
    Dir24_8::build(rib, &Config::default()).unwrap()
}

#[test]
fn the_worked_example() {
    let rib = rib(&[("10.21.3.0/24", 1), ("10.21.2.0/24", 2), ("10.21.2.0/25", 3)]);
    let engine = build(&rib);
    assert_eq!(engine.tbl24.get(0x0A_1503).0, 0x3000_0001);
    assert_eq!(engine.tbl24.get(0x0A_1502).0, 0x8000_0000);
    assert!(engine.tbl_long.read(0..128).iter().all(|e| e.0 == 0x3200_0003));
    assert!(engine.tbl_long.read(128..256).iter().all(|e| e.0 == 0x3000_0002));
    assert_eq!(engine.blocks(), 1);
    let addresses = [0x0A15_0300, 0x0A15_027F, 0x0A15_0280, 0x0A15_0400];
    assert_eq!(addresses.map(|a| engine.lookup(a)), [1, 3, 2, 0]);
    assert_eq!(engine.memory().parts[0].bytes, 64 << 20);
    assert_eq!(engine.figures(), [Figure::count("TBLlong blocks", 1)]);
    engine.validate(&rib).unwrap();
}

#[test]
fn an_update_writes_only_entries_that_are_not_longer() {
    let mut rib = rib(&[("10.0.0.0/8", 1), ("10.0.0.0/17", 2), ("10.0.200.0/26", 3)]);
    let mut engine = build(&rib);
    // Of 256 /24s, 128 belong to the /17. One has a block, 64 of whose entries belong to the /26.
    assert_eq!(apply(&mut engine, &mut rib, &[("10.0.0.0/16", 4)]).entries_set, 127 + 192);
    assert_eq!(apply(&mut engine, &mut rib, &[("10.0.0.0/16", 5)]).entries_set, 127 + 192);
    assert_eq!(apply(&mut engine, &mut rib, &[("10.0.0.0/16", 0)]).entries_set, 127 + 192);
    assert_eq!(engine.lookup(0x0A00_FF00), 1);
}

#[test]
fn blocks_come_with_the_first_long_route_and_go_with_the_last() {
    let mut rib = rib(&[("192.0.2.0/24", 1), ("198.51.100.0/32", 9)]);
    let mut engine = build(&rib);
    let fresh = engine.memory();
    let cost = apply(&mut engine, &mut rib, &[("192.0.2.0/25", 2)]);
    assert_eq!((cost.nodes_allocated, cost.entries_set), (1, 257 + 128));
    assert_eq!(apply(&mut engine, &mut rib, &[("192.0.2.128/25", 3)]).nodes_allocated, 0);
    apply(&mut engine, &mut rib, &[("192.0.2.0/25", 0)]);
    assert_eq!(engine.blocks(), 2);
    apply(&mut engine, &mut rib, &[("192.0.2.128/25", 0)]);
    assert_eq!(engine.blocks(), 1);
    // The next block takes the room of the freed one.
    apply(&mut engine, &mut rib, &[("192.0.2.1/32", 4)]);
    let end = engine.tbl_long.len();
    apply(&mut engine, &mut rib, &[("198.51.100.0/32", 0)]);
    apply(&mut engine, &mut rib, &[("203.0.113.0/32", 5)]);
    assert_eq!((engine.blocks(), engine.tbl_long.len(), engine.lookup(0xC000_0201)), (2, end, 4));
    apply(&mut engine, &mut rib, &[("203.0.113.0/32", 0)]);
    apply(&mut engine, &mut rib, &[("198.51.100.0/32", 9), ("192.0.2.1/32", 0)]);
    assert!(engine.memory().total() <= fresh.total() + 16 * 1024);
}

#[test]
fn a_view_follows_and_without_room_nothing_changes() {
    let mut table = rib(&[("10.0.0.0/8", 1), ("10.0.0.0/25", 2)]);
    let mut engine = build(&table);
    let view = engine.share().unwrap();
    apply(&mut engine, &mut table, &[("10.0.0.0/25", 0), ("10.0.1.0/25", 3)]);
    assert_eq!([0x0A00_0000, 0x0A00_0100, 0x0A00_0180].map(|address| view.lookup(address)), [1, 3, 1]);
    // The freed block does not change until the grace period ends.
    assert_eq!((engine.tbl24.get(0x0A_0001).chunk(), view.tbl_long.get(0).next_hop()), (Some(1), NextHop(1)));
    engine.readers_passed();
    engine.readers_passed();
    apply(&mut engine, &mut table, &[("10.0.2.0/25", 4)]);
    assert_eq!((engine.tbl24.get(0x0A_0002).chunk(), view.lookup(0x0A00_0200)), (Some(0), 4));
    let (before, room) = (table.clone(), engine.room() as u32);
    let longer = (0..=room).map(|at| Prefix::containing(0x0B00_0000 | at << 8, 25));
    let deltas: Vec<Delta<u32>> = longer.filter_map(|prefix| table.insert(prefix, NextHop(5))).collect();
    assert_eq!(engine.apply(&table, &deltas), Update::Rebuild);
    engine.validate(&before).unwrap();
}

#[test]
fn a_batch_may_withdraw_a_route_and_its_covers_and_announce_new_ones() {
    let start =
        [("10.0.0.0/8", 1), ("10.1.0.0/16", 2), ("10.1.1.0/24", 3), ("10.1.1.0/25", 4), ("10.1.1.128/26", 5)];
    let changes =
        [("10.0.0.0/9", 6), ("10.1.0.0/16", 0), ("10.1.1.0/24", 0), ("10.1.1.0/25", 0), ("10.1.1.128/26", 0)];
    for turn in 0..changes.len() {
        for reversed in [false, true] {
            let mut order = changes;
            order.rotate_left(turn);
            if reversed {
                order.reverse();
            }
            let mut rib = rib(&start);
            let mut engine = build(&rib);
            apply(&mut engine, &mut rib, &order);
            assert_eq!(engine.lookup(0x0A01_0180), 6);
        }
    }
}

#[test]
fn the_greatest_next_hop_fits_and_the_next_does_not() {
    let mut rib = rib(&[("10.0.0.0/8", NEXT_HOPS_MAX), ("10.0.0.0/32", NEXT_HOPS_MAX)]);
    let mut fib = Fib::build("dir24-8", &rib).unwrap();
    assert_eq!([0x0A00_0000, 0x0AFF_FFFF].map(|a: u32| fib.lookup_index(a)), [NextHop(NEXT_HOPS_MAX); 2]);
    let delta = rib.insert(Prefix::ALL, NextHop(NEXT_HOPS_MAX + 1)).unwrap();
    let limit = Limit { what: "next hops", had: u64::from(NEXT_HOPS_MAX) + 1, max: NEXT_HOPS_MAX.into() };
    assert_eq!(fib.apply(&rib, &[delta]).unwrap_err().limit(), Some(limit));
    assert_eq!(fib.lookup_index(0), NextHop::NONE);
    assert_eq!(Fib::build("dir24-8", &rib).unwrap_err().limit(), Some(limit));
}
