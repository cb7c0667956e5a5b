//! More threads than processors: a reader that only waits for a processor is not called stuck, and
//! one that really holds its guard is.

use fibula::live::{Live, Settings};
use fibula::{Address, Change, ErrorKind, NextHop, Prefix, Rib, Route};
use fibula_engines::all;
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
    let fib = fibula_engines::build(engine, &rib).unwrap();
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

/// Publishes each change by itself while readers take guards, and panics if a reader is called
/// stuck.
fn publish_beside_readers<A: Address>(
    live: &mut Live<A>,
    name: &str,
    address: A,
    changes: impl IntoIterator<Item = Change<A>>,
) {
    let stop = AtomicBool::new(false);
    let readers = [(); READERS].map(|()| live.reader(0));
    thread::scope(|scope| {
        for mut reader in readers {
            let stop = &stop;
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let table = reader.guard();
                    (0..64).for_each(|_| {
                        std::hint::black_box(table.lookup_index(address));
                    });
                }
            });
        }
        let end = on_drop(&stop);
        for change in changes {
            live.change(change, Duration::ZERO).unwrap();
            live.publish().unwrap_or_else(|error| panic!("{name}: {change:?}: {error}"));
        }
        drop(end);
    });
    let right = live.rib().longest_match(address).map_or(NextHop::NONE, |route| route.next_hop);
    assert_eq!((live.reader(0).guard().lookup_index(address), live.pending()), (right, 0), "{name}");
}

#[test]
fn a_reader_that_waits_for_a_processor_is_not_called_stuck() {
    let done = AtomicBool::new(false);
    let mut lives = WAYS.map(|engine| live(engine, Settings::default()));
    on_a_busy_machine(&done, || {
        for (way, live) in WAYS.iter().zip(&mut lives) {
            publish_beside_readers(live, way, 0x0A01_0000, (1..=PUBLICATIONS).map(change));
        }
    });
    for live in &lives {
        assert_eq!(live.rib().longest_match(0x0A01_0000).unwrap().next_hop, NextHop(PUBLICATIONS));
    }
}

/// The tables of each family that every engine publishes changes of, unless told otherwise.
const TABLES: u64 = 271;
/// The changes of each.
const CHANGES: usize = 2;

/// Returns a table of any size up to a few thousand routes, in which prefixes of all lengths meet.
fn made<A: Address>(random: &mut fastrand::Rng) -> Rib<A> {
    let networks = 1 << random.u32(0..8);
    let route = |random: &mut fastrand::Rng| {
        let address = A::from_bits(random.u64(0..networks), 0, 8) | A::from_bits(random.u64(..), 8, 56);
        let len = random.u8(0..=A::BITS);
        Route { prefix: Prefix::containing(address, len), next_hop: NextHop(random.u32(1..200)) }
    };
    (0..1 << random.u32(0..12)).map(|_| route(random)).collect()
}

/// Publishes changes of a made table with every engine of a family. Returns the publications.
fn publish_with_every_engine<A: Address>(seed: u64) -> u64 {
    let mut random = fastrand::Rng::with_seed(seed);
    let rib: Rib<A> = made(&mut random);
    let routes: Vec<Route<A>> = rib.iter().collect();
    let changes: Vec<Change<A>> = (0..CHANGES)
        .map(|_| {
            let Route { prefix, .. } = routes[random.usize(..routes.len())];
            let next_hop = NextHop(random.u32(1..200));
            if random.bool() {
                Change::Withdraw(prefix)
            } else {
                Change::Announce(Route { prefix, next_hop })
            }
        })
        .collect();
    let mut publications = 0;
    for entry in all().iter().filter(|entry| entry.does(A::FAMILY)) {
        let fib = fibula_engines::build(entry.about.name, &rib).unwrap();
        let mut live = Live::new(rib.clone(), [fib], Settings::default()).unwrap();
        let name = format!("table {seed}, {}", entry.about.name);
        publish_beside_readers(&mut live, &name, routes[0].prefix.first(), changes.iter().copied());
        publications += live.counts().publications;
    }
    publications
}

/// `cargo test --release -p fibula --test live_busy -- --ignored --nocapture` prints the number of
/// publications after each table. `FIBULA_TABLES` is another number of tables.
#[test]
#[ignore = "builds thousands of tables of many megabytes on a machine that is kept busy: hours"]
fn no_reader_is_called_stuck_on_any_table_of_any_engine() {
    let tables = std::env::var("FIBULA_TABLES").map_or(TABLES, |text| text.parse().expect("a number"));
    let done = AtomicBool::new(false);
    let mut publications = 0;
    on_a_busy_machine(&done, || {
        for at in 0..tables {
            publications += publish_with_every_engine::<u32>(at) + publish_with_every_engine::<u128>(at);
            println!("{} tables of each family: {publications} publications, no reader called stuck", at + 1);
        }
    });
    assert!(publications > tables);
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
