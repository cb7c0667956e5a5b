//! Tests of the reclamation with one thread; many threads are in `tests/live.rs`, all their orders
//! in `tests/loom.rs`.

use super::*;
use crate::engine::{About, Config, ENGINES, Engine, Entry, Width};
use crate::memory::Memory;
use crate::testing::Oracle;
use crate::{NextHop, Prefix, Route, engine_entry};

const NOW: Duration = Duration::ZERO;

fn announce(prefix: &str, next_hop: u32) -> Change<u32> {
    Change::Announce(Route { prefix: prefix.parse().unwrap(), next_hop: NextHop(next_hop) })
}

/// The oracle, as an engine that follows no change in place.
struct Rebuilt<W>(Oracle<u32, W>);

impl<W: Width> Engine<u32> for Rebuilt<W> {
    type View = Oracle<u32, W>;

    fn build(rib: &Rib<u32>, config: &Config) -> Result<Self, Error> {
        Oracle::build(rib, config).map(Self)
    }

    fn view(&self) -> &Oracle<u32, W> {
        &self.0
    }

    fn memory(&self) -> Memory {
        Engine::memory(&self.0)
    }
}

const REBUILT: About = About { name: "rebuilt", ..About::DEFAULT };
static REBUILT_ENGINES: [Entry; 1] = [engine_entry!(REBUILT, [ipv4] Rebuilt)];

fn build(engine: &str, rib: &Rib<u32>) -> Fib<u32> {
    let engines = if engine == REBUILT.name { &REBUILT_ENGINES } else { ENGINES };
    Fib::build_from(engines, engine, rib, Config::default()).unwrap()
}

fn live(engines: &[&str], settings: Settings) -> Live<u32> {
    let mut rib = Rib::new();
    rib.apply(announce("10.0.0.0/8", 1));
    let fibs: Vec<_> = engines.iter().map(|engine| build(engine, &rib)).collect();
    Live::new(rib, fibs, settings).unwrap()
}

/// An engine that is double-buffered, and one that is rebuilt.
const WAYS: [&str; 2] = ["radix", "rebuilt"];

#[test]
fn a_guard_keeps_its_table_and_the_next_shows_the_change() {
    for engine in WAYS {
        let mut live = live(&[engine], Settings::default());
        let (mut one, mut other) = (live.reader(0), live.reader(0));
        let before = one.guard();
        for next_hop in 2..5 {
            live.change(announce("10.1.0.0/16", next_hop), NOW).unwrap();
            live.publish().unwrap();
            assert_eq!(before.lookup_index(0x0A01_0000), NextHop(1), "{engine}");
            assert_eq!(other.guard().lookup_index(0x0A01_0000), NextHop(next_hop), "{engine}");
        }
        assert_eq!(one.guard().lookup_index(0x0A01_0000), NextHop(4), "{engine}");
    }
}

#[test]
fn changes_of_both_copies_are_followed_in_place() {
    let mut live = live(&["radix"], Settings::default());
    let mut reader = live.reader(0);
    for next_hop in 2..100 {
        live.change(announce("10.1.0.0/16", next_hop), NOW).unwrap();
        live.change(announce("10.2.0.0/16", next_hop + 1), NOW).unwrap();
        let table = reader.guard();
        assert_eq!(table.lookup_index(0x0A01_0000), NextHop(next_hop));
        assert_eq!(table.lookup_index(0x0A02_0000), NextHop(next_hop + 1));
        table.check_answers(live.rib()).unwrap();
        reader.rest();
    }
    let counts = live.counts();
    assert_eq!((counts.applied, counts.publications, counts.rebuilt), (196, 196, 0));
}

#[test]
fn changes_wait_for_readers_and_no_longer_than_patience() {
    let patience = Duration::from_secs(1);
    let mut live = live(&["radix"], Settings { patience, ..Settings::default() });
    let mut reader = live.reader(0);
    reader.guard();
    live.change(announce("10.1.0.0/16", 2), NOW).unwrap();
    live.change(announce("10.1.0.0/16", 3), NOW).unwrap();
    // The reader may still hold the copy that is needed for the second change.
    assert_eq!((live.pending(), live.counts().publications), (1, 1));
    live.poll(patience / 2).unwrap();
    assert_eq!(live.pending(), 1);
    live.poll(patience).unwrap();
    assert_eq!((live.pending(), live.counts().rebuilt), (0, 1));
    assert_eq!(reader.guard().lookup_index(0x0A01_0000), NextHop(3));
}

#[test]
fn a_reader_that_never_passes_is_told_of_and_blocks_nobody() {
    let settings = Settings { stuck_after: Duration::from_millis(40), ..Settings::default() };
    for engine in WAYS {
        let mut live = live(&[engine], settings);
        let (mut stuck, mut other) = (live.reader(0), live.reader(0));
        let before = stuck.guard();
        let mut published = 0;
        let error = loop {
            let change = announce("10.1.0.0/16", 2 + published % 9);
            match live.change(change, NOW).and_then(|()| live.publish()) {
                Ok(()) => published += 1,
                Err(error) => break error,
            }
        };
        assert!(error.to_string().contains("neither takes guards nor rests"), "{error}");
        assert_eq!((published, live.pending()), (5, 1), "{engine}");
        assert_eq!(before.lookup_index(0x0A01_0000), NextHop(1));
        assert_eq!(other.guard().lookup_index(0x0A01_0000), NextHop(6));
        stuck.rest();
        other.rest();
        live.publish().unwrap();
        assert_eq!(other.guard().lookup_index(0x0A01_0000), NextHop(7));
    }
}

#[test]
fn gathered_changes_come_at_once_and_no_ops_not_at_all() {
    let settings =
        Settings { most_changes: 4, longest_delay: Duration::from_millis(5), ..Settings::default() };
    let mut live = live(&["radix"], settings);
    live.change(announce("10.0.0.0/8", 1), NOW).unwrap();
    live.change(announce("10.1.0.0/16", 2), NOW).unwrap();
    live.change(announce("10.1.0.0/16", 3), NOW).unwrap();
    assert_eq!((live.pending(), live.due()), (3, Some(settings.longest_delay)));
    live.change(announce("10.2.0.0/16", 4), NOW).unwrap();
    let expected = Counts { applied: 2, suppressed: 1, coalesced: 1, publications: 1, ..Counts::default() };
    assert_eq!((live.pending(), live.counts()), (0, expected));
    live.change(announce("10.3.0.0/16", 4), NOW).unwrap();
    live.poll(settings.longest_delay / 2).unwrap();
    assert_eq!(live.pending(), 1);
    live.poll(settings.longest_delay).unwrap();
    assert_eq!((live.pending(), live.due()), (0, None));
}

#[test]
fn what_one_engine_refuses_no_engine_shows() {
    let too_great = crate::engines::dir24_8::NEXT_HOPS_MAX + 1;
    let mut live = live(&["radix", "dir24-8", "rebuilt"], Settings::default());
    let mut readers: Vec<_> = (0..3).map(|which| live.reader(which)).collect();
    for (next_hop, fits) in [(2, true), (too_great, false), (3, true), (too_great, false), (4, true)] {
        let before = live.rib().clone();
        let outcome = live.change(announce("10.0.0.0/8", next_hop), NOW);
        assert_eq!(outcome.is_ok(), fits, "{next_hop}: {outcome:?}");
        assert_eq!((live.pending(), live.rib() == &before), (0, !fits));
        let expected = live.rib().longest_match(0x0A00_0000).unwrap().next_hop;
        for reader in &mut readers {
            assert_eq!(reader.guard().lookup_index(0x0A00_0000), expected);
            reader.guard().check_answers(live.rib()).unwrap();
            reader.rest();
        }
    }
    assert_eq!(live.counts().refused, 2);
}

#[test]
fn a_frozen_table_answers_as_it_did() {
    for engine in WAYS {
        let mut live = live(&[engine], Settings::default());
        let mut reader = live.reader(0);
        let frozen = live.freeze(0).unwrap();
        for next_hop in 2..9 {
            live.change(announce("10.1.0.0/16", next_hop), NOW).unwrap();
            assert_eq!(reader.guard().lookup_index(0x0A01_0000), NextHop(next_hop));
            reader.rest();
        }
        assert_eq!(frozen.lookup_index(0x0A01_0000), NextHop(1));
        let built = if engine == "radix" { 1 } else { 7 };
        assert_eq!(live.counts().rebuilt, built, "{engine}");
    }
}

#[test]
fn readers_outlive_the_writer() {
    let mut live = live(&["radix"], Settings::default());
    let mut reader = live.reader(0);
    live.change(announce("10.1.0.0/16", 2), NOW).unwrap();
    let table = reader.guard();
    drop(live);
    assert_eq!(table.lookup_index(0x0A01_0000), NextHop(2));
    let mut another = reader.clone();
    drop(reader);
    assert_eq!(another.guard().lookup_index(0x0A01_0000), NextHop(2));
}

#[test]
fn all_copies_are_counted() {
    let mut live = live(&["radix", "rebuilt"], Settings::default());
    let [twice, once] = [0, 1].map(|which| live.memory(which).total());
    assert!(twice >= 2 * live.freeze(0).unwrap().0.memory().total());
    assert_eq!(once, live.freeze(1).unwrap().0.memory().total());
    let mut reader = live.reader(1);
    let old = reader.guard();
    live.change(announce("10.1.0.0/16", 2), NOW).unwrap();
    assert!(live.memory(1).total() > once && old.lookup_index(0x0A01_0000) == NextHop(1));
    reader.rest();
    live.poll(NOW).unwrap();
    assert_eq!(live.memory(1).total(), live.freeze(1).unwrap().0.memory().total());
}

#[test]
fn what_cannot_be_shared_is_shared_again_once_it_can() {
    let mut live = live(&["mosaic"], Settings::default());
    let mut reader = live.reader(0);
    let mut ways = Vec::new();
    // 255 is reserved in 8 bits, so one more next hop takes 16.
    for (prefix, next_hop) in [
        ("10.1.0.0/16", 254),
        ("10.2.0.0/16", 255),
        ("10.1.0.0/16", 9),
        ("10.1.0.0/16", 10),
        ("10.1.0.0/16", 256),
        ("10.1.0.0/16", 11),
    ] {
        live.change(announce(prefix, next_hop), NOW).unwrap();
        live.publish().unwrap();
        let table = reader.guard();
        assert_eq!(table.lookup_index(prefix.parse::<Prefix<u32>>().unwrap().first()), NextHop(next_hop));
        table.check_answers(live.rib()).unwrap();
        ways.push(live.is_in_place(0));
    }
    assert_eq!(ways, [true, false, false, false, true, true]);
}

#[test]
fn what_is_discarded_is_never_published() {
    let settings = Settings { longest_delay: Duration::from_secs(1), ..Settings::default() };
    let mut live = live(&["radix"], settings);
    live.change(announce("10.1.0.0/16", 2), NOW).unwrap();
    assert_eq!(live.pending_changes(), [announce("10.1.0.0/16", 2)]);
    live.discard();
    live.change(announce("10.2.0.0/16", 3), NOW).unwrap();
    live.publish().unwrap();
    let routes: Vec<_> = live.rib().iter().map(|route| route.next_hop.0).collect();
    assert_eq!((routes, live.due()), (vec![1, 3], None));
    live.reader(0).guard().check_answers(live.rib()).unwrap();
}

#[test]
fn who_may_not_wait_is_told_at_once_and_can_try_again() {
    for engine in ["radix", "rebuilt", "mosaic"] {
        let settings =
            Settings { most_changes: usize::MAX, longest_delay: Duration::MAX, ..Settings::default() };
        let mut live = live(&[engine], settings);
        let (mut reader, mut slow) = (live.reader(0), live.reader(0));
        slow.guard();
        let mut refused = 0;
        for next_hop in 2..40 {
            live.change(announce("10.1.0.0/16", next_hop), NOW).unwrap();
            if let Err(error) = live.try_publish() {
                assert_eq!((error.kind(), live.pending()), (ErrorKind::ReadersHeldUp, 1), "{engine}");
                refused += 1;
                slow.rest();
                live.try_publish().unwrap();
                slow.guard();
            }
            assert_eq!(reader.guard().lookup_index(0x0A01_0000), NextHop(next_hop), "{engine}");
            let rebuilt = if engine == "rebuilt" { u64::from(next_hop) - 1 } else { 0 };
            assert_eq!((live.pending(), live.counts().rebuilt), (0, rebuilt), "{engine}");
            reader.rest();
        }
        // In place, no reader is in the way.
        assert_eq!(refused > 0, engine != "mosaic", "{engine}: {refused}");
    }
}

#[test]
fn a_replaced_table_is_seen_as_a_whole_and_followed_as_before() {
    let mut live = live(&["radix", "rebuilt", "mosaic"], Settings::default());
    let mut readers: Vec<_> = (0..3).map(|which| live.reader(which)).collect();
    for round in 1..9 {
        let change = announce(if round % 2 == 0 { "10.1.0.0/16" } else { "10.2.0.0/16" }, round);
        live.change(change, NOW).unwrap();
        let before = live.rib().clone();
        let guards: Vec<_> = readers.iter_mut().map(Reader::guard).collect();
        let halves = ["10.0.0.0/9", "10.128.0.0/9"].map(|half| announce(half, 100 + round));
        let mut next = Rib::new();
        next.apply_all(halves);
        live.replace(next.clone()).unwrap();
        for guard in guards {
            guard.check_answers(&before).unwrap();
        }
        assert_eq!(live.rib(), &next);
        for reader in &mut readers {
            reader.guard().check_answers(&next).unwrap();
            reader.rest();
        }
        for next_hop in 1..4 {
            live.change(announce("10.3.0.0/16", next_hop), NOW).unwrap();
            for reader in &mut readers {
                reader.guard().check_answers(live.rib()).unwrap();
                reader.rest();
            }
        }
    }
}

#[test]
fn a_table_that_exceeds_a_limit_replaces_nothing() {
    let mut live = live(&["radix", "dir24-8"], Settings::default());
    let before = live.rib().clone();
    let mut next = Rib::new();
    next.apply(announce("10.0.0.0/8", crate::engines::dir24_8::NEXT_HOPS_MAX + 1));
    assert!(matches!(live.replace(next).unwrap_err().kind(), ErrorKind::Limit(_)));
    assert_eq!((live.rib(), live.counts().publications), (&before, 0));
    for which in 0..2 {
        live.reader(which).guard().check_answers(&before).unwrap();
    }
}
