//! Random tables and sequences of changes, shrunk when they fail.

use crate::Subject;
use crate::checked::{Checked, probes};
use crate::tables::{Random, random_nested};
use fibula::engine::WidthBits;
use fibula::{Address, Change, NextHop, Prefix, Rib, Route};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// Prefixes that meet each other: few distinct bits, every length, both ends of the space.
fn prefixes<A: Address>() -> impl Strategy<Value = Prefix<A>> {
    let base = prop_oneof![
        Just(A::ZERO),
        Just(A::MAX),
        (0..4_u64, 0..=A::BITS).prop_map(|(value, offset)| A::from_bits(value, offset, 2)),
        (any::<u64>(), any::<u64>()).prop_map(|(high, low)| {
            A::from_bits(high & 0x8181_8181_8181_8181, 0, 64) | A::from_bits(low & 0x0101, A::BITS - 16, 16)
        }),
    ];
    (base, 0..=A::BITS).prop_map(|(address, len)| Prefix::containing(address, len))
}

fn changes<A: Address>(next_hops: u32) -> impl Strategy<Value = Change<A>> {
    prop_oneof![
        3 => (prefixes(), 1..=next_hops)
            .prop_map(|(prefix, hop)| Change::Announce(Route { prefix, next_hop: NextHop(hop) })),
        2 => prefixes().prop_map(Change::Withdraw),
    ]
}

/// Runs a property on as many cases, or on fewer where `PROPTEST_CASES` says so.
fn run<S: Strategy>(cases: u32, strategy: &S, test: impl Fn(S::Value)) {
    let config = Config::default();
    let config = Config { cases: cases.min(config.cases), failure_persistence: None, ..config };
    let outcome = TestRunner::new(config).run(strategy, |value| {
        test(value);
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}

/// Random tables, each built.
pub fn random_tables<A: Address>(engine: &Subject, width: WidthBits) {
    let next_hops = width.max().0.min(70_000);
    run(48, &proptest::collection::vec(changes::<A>(next_hops), 0..60), |changes| {
        let mut rib = Rib::new();
        for change in changes {
            rib.apply(change);
        }
        Checked::new(engine, Some(width), rib).check();
    });
}

/// Random changes of an empty table, withdrawn in the end: no wrong answer, no leak. What changes
/// of a table is the same at every width, so that the narrowest has most cases.
pub fn random_operations<A: Address>(engine: &Subject, width: WidthBits) {
    let batches = proptest::collection::vec(proptest::collection::vec(changes::<A>(5), 1..4), 1..40);
    let cases = if width == engine.narrowest() { 32 } else { 6 };
    run(cases, &batches, |batches| {
        let mut table = Checked::new(engine, Some(width), Rib::new());
        let mut withdrawals = Vec::new();
        for (at, batch) in batches.into_iter().enumerate() {
            table.apply(&batch);
            // Validating builds the table once more. Where that fills megabytes, a fourth of the
            // batches has to do, and the last.
            if (at % 4 == 0 || table.fib.memory().total() < 1 << 20)
                && let Err(contradiction) = table.fib.validate(&table.rib)
            {
                panic!("{contradiction} after {batch:?}");
            }
            withdrawals.extend(batch.iter().map(|change| Change::Withdraw(change.prefix())));
        }
        table.check();
        table.apply(&withdrawals);
        assert!(table.rib.is_empty());
        table.check_at(&withdrawals.iter().map(|w| w.prefix().first()).collect::<Vec<A>>());
        table.check_no_leak();
    });
}

/// Thousands of updates on a table of some size, and on a copy of it: no wrong answer, no leak, no
/// drift.
pub fn a_long_life<A: Address>(engine: &Subject) {
    let mut random = Random(11);
    let mut table: Checked<A> = Checked::new(engine, None, random_nested(12, 2000, 40));
    let all: Vec<Prefix<A>> = table.rib.iter().map(|route| route.prefix).collect();
    let mut copy = None;
    for round in 0..6 {
        if round == 3 {
            copy = Some(table.copied());
        }
        for _ in 0..60 {
            let batch: Vec<Change<A>> = (0..=random.below(3))
                .map(|_| {
                    let prefix = match random.below(3) {
                        0 => Prefix::containing(random.address(), random.below(u64::from(A::BITS) + 1) as u8),
                        _ => all[random.below(all.len() as u64) as usize],
                    };
                    if random.below(3) == 0 {
                        Change::Withdraw(prefix)
                    } else {
                        Change::Announce(Route { prefix, next_hop: NextHop(random.below(40) as u32 + 1) })
                    }
                })
                .collect();
            table.apply(&batch);
        }
        let mut at = probes(&table.rib);
        at.extend(all.iter().map(|prefix| prefix.first()));
        if round % 3 == 2 {
            table.check_at(&at);
        }
    }
    table.check_no_leak();
    if let Some(mut copy) = copy {
        // Changes of the one table are none of the other, whichever changes first.
        copy.check();
        copy.apply(&all.iter().copied().map(Change::Withdraw).collect::<Vec<_>>());
        copy.check();
        table.check();
    }
}

/// The same changes in three orders give the same table.
pub fn updates_in_any_order<A: Address>(engine: &Subject) {
    let target: Rib<A> = random_nested(21, 300, 9);
    let mut changes: Vec<Change<A>> = target.iter().map(Change::Announce).collect();
    let orders: [fn(&mut Vec<Change<A>>); 3] = [
        |_| {},
        |changes| changes.reverse(),
        |changes| changes.sort_by_key(|change| change.prefix().first().to_u128().wrapping_mul(0x9E37_79B9)),
    ];
    for order in orders {
        order(&mut changes);
        let mut table = Checked::new(engine, None, Rib::new());
        for batch in changes.chunks(7) {
            table.apply(batch);
        }
        assert_eq!(table.rib, target);
        table.check();
    }
}

/// Tables of one kind of prefix, withdrawn as a whole and announced again: they take little more
/// memory than one that is built. In order it is a tenth at most, both ways. In random order it is
/// less than a third, because nodes of trees that split are between two thirds and wholly full.
pub fn memory_after_a_life<A: Address>(engine: &Subject) {
    type Order = fn(&mut Vec<u32>);
    const ROUTES: u32 = 6_000;
    const AT_ONCE: usize = 500;
    let tables: [fn(u32) -> Route<A>; 4] = [
        |at| Route { prefix: Prefix::host(scattered(at)), next_hop: NextHop(1 + at % 200) },
        |at| Route { prefix: Prefix::containing(scattered(at), A::BITS - 1), next_hop: NextHop(1 + at % 3) },
        // Every second address of one network.
        |at| Route {
            prefix: Prefix::host(network::<A>(at * 2, A::BITS).first()),
            next_hop: NextHop(1 + at % 2),
        },
        // Networks in a row, each with a next hop of its own.
        |at| Route { prefix: network(at, if A::BITS == 32 { 24 } else { 64 }), next_hop: NextHop(1 + at) },
    ];
    let orders: [(Order, f64); 3] = [
        (|_| {}, 1.1),
        (|order| order.reverse(), 1.1),
        (|order| order.sort_by_key(|&at| Random(at.into()).next()), 1.33),
    ];
    for route in tables {
        let built = Checked::new(engine, None, (0..ROUTES).map(route).collect::<Rib<A>>());
        for (order, most) in orders {
            let mut table = Checked::new(engine, None, built.rib.clone());
            let mut numbers: Vec<u32> = (0..ROUTES).collect();
            order(&mut numbers);
            let gone = |&at: &u32| Change::Withdraw(route(at).prefix);
            let back = |&at: &u32| Change::Announce(route(at));
            for some in numbers.chunks(AT_ONCE) {
                table.apply(&some.iter().map(gone).collect::<Vec<_>>());
            }
            for some in numbers.chunks(AT_ONCE) {
                table.apply(&some.iter().map(back).collect::<Vec<_>>());
            }
            table.check_memory(&built.fib, most);
        }
    }
}

/// An address by number, far from the next one's.
fn scattered<A: Address>(at: u32) -> A {
    A::from_bits(u64::from(at).wrapping_mul(0x9E37_79B9_7F4A_7C15), 0, 64)
}

/// One of 2^16 networks in a row.
fn network<A: Address>(at: u32, len: u8) -> Prefix<A> {
    Prefix::containing(A::from_bits(0x20, 0, 8) | A::from_bits(u64::from(at), len - 16, 16), len)
}
