//! More threads than processors: a reader that only waits for a processor is not called stuck, and
//! one that really holds its guard is.

use fibula::live::{Live, Settings};
use fibula::{Change, ErrorKind, Fib, NextHop, Rib, Route};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// The threads that do nothing but keep processors busy.
const BUSY: usize = 16;
const READERS: usize = 3;
const PUBLICATIONS: u32 = 24;

/// The ways of following a table: rebuilt, double-buffered, in place.
const WAYS: [&str; 3] = ["lulea", "radix", "mosaic"];

fn change(next_hop: u32) -> Change<u32> {
    let next_hop = NextHop(next_hop);
    Change::Announce(Route { prefix: "10.1.0.0/16".parse().unwrap(), next_hop })
}

fn live(engine: &str, settings: Settings) -> Live<u32> {
    let mut rib = Rib::new();
    rib.insert("10.0.0.0/8".parse().unwrap(), NextHop(1));
    let fib = Fib::build(engine, &rib).unwrap();
    Live::new(rib, [fib], settings).unwrap()
}

/// Runs `work` while all processors are busy with something else.
fn on_a_busy_machine(done: &AtomicBool, work: impl FnOnce()) {
    thread::scope(|scope| {
        for _ in 0..BUSY {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let end = on_drop(done);
        work();
        drop(end);
    });
}

/// Sets the flag when it is dropped, however the test ends.
fn on_drop(done: &AtomicBool) -> impl Drop + '_ {
    struct OnDrop<'d>(&'d AtomicBool);
    impl Drop for OnDrop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    OnDrop(done)
}

#[test]
fn a_reader_that_waits_for_a_processor_is_not_called_stuck() {
    let done = AtomicBool::new(false);
    let mut lives = WAYS.map(|engine| live(engine, Settings::default()));
    on_a_busy_machine(&done, || {
        for (way, live) in WAYS.iter().zip(&mut lives) {
            let stop = AtomicBool::new(false);
            let readers = [(); READERS].map(|()| live.reader(0));
            thread::scope(|scope| {
                for mut reader in readers {
                    let stop = &stop;
                    scope.spawn(move || {
                        while !stop.load(Ordering::Relaxed) {
                            let table = reader.guard();
                            (0..64).for_each(|_| assert!(table.lookup(0x0A01_0000_u32).is_some()));
                        }
                    });
                }
                let end = on_drop(&stop);
                for next_hop in 1..=PUBLICATIONS {
                    live.change(change(next_hop), Duration::ZERO).unwrap();
                    live.publish().unwrap_or_else(|error| panic!("{way}: {next_hop}: {error}"));
                }
                drop(end);
            });
        }
    });
    for live in &lives {
        let next_hop = live.rib().longest_match(0x0A01_0000).unwrap().next_hop;
        assert_eq!((next_hop, live.pending()), (NextHop(PUBLICATIONS), 0));
    }
}

#[test]
fn a_reader_that_holds_its_guard_is_told_of_in_the_end_even_then() {
    let done = AtomicBool::new(false);
    let settings = Settings { stuck_after: Duration::from_millis(50), ..Settings::default() };
    let mut live = live("lulea", settings);
    let mut stuck = live.reader(0);
    let guard = stuck.guard();
    on_a_busy_machine(&done, || {
        let mut publish =
            |next_hop| live.change(change(next_hop), Duration::ZERO).and_then(|()| live.publish());
        let error = (2..).find_map(|next_hop| publish(next_hop).err()).unwrap();
        assert_eq!(error.kind(), ErrorKind::ReadersHeldUp);
    });
    assert_eq!(guard.lookup_index(0x0A01_0000), NextHop(1));
}
