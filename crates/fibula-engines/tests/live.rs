//! Readers and a writer at once: no reader may see an answer that belongs to no table, or tables in
//! the wrong order.

use fibula::live::{Live, Reader, Settings};
use fibula::{Address, Change, NextHop, Prefix, Rib, Route};
use fibula_engines::all;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long each engine is run: at least `SPAN`, then until each reader has seen `ENOUGH` versions.
const SPAN: Duration = Duration::from_millis(200);
const ENOUGH: usize = 10;
/// A machine too busy to show `ENOUGH` versions in this time is no failure.
const LONGEST: Duration = Duration::from_secs(20);

/// The prefixes that change together: all carry the version as their next hop. Those in `LASTING`,
/// beside and between them, never change.
const CHANGING: [&str; 4] = ["10.0.0.0/9", "10.128.64.0/18", "10.200.1.0/24", "10.200.2.128/25"];
const LASTING: [(&str, u32); 3] = [("10.0.0.0/8", 251), ("10.64.0.0/16", 252), ("10.200.2.192/26", 253)];
/// Next hops from this one on are not versions.
const VERSIONS: u32 = 250;

fn prefix(text: &str) -> Prefix<u32> {
    text.parse().unwrap()
}

/// Maps the prefixes and addresses of these tests into an address family.
type Place<A> = fn(Prefix<u32>) -> Prefix<A>;

fn of_ipv4(prefix: Prefix<u32>) -> Prefix<u32> {
    prefix
}

/// Moves a prefix `BITS` bits down in 2a00::/8, so that routes of up to 32 bits end on other levels
/// of an engine for IPv6.
fn of_ipv6<const BITS: u8>(prefix: Prefix<u32>) -> Prefix<u128> {
    let address = 0x2A << 120 | u128::from(prefix.first()) << (96 - BITS);
    Prefix::containing(address, BITS + prefix.len())
}

fn place_address<A: Address>(place: Place<A>, address: u32) -> A {
    place(Prefix::host(address)).first()
}

/// Returns the changes that publish a version. Versions that are 0 modulo 5 withdraw, so that
/// covers show.
fn version<A: Address>(version: u32, place: Place<A>) -> impl Iterator<Item = Change<A>> {
    CHANGING.iter().map(move |text| match version % 5 {
        0 => Change::Withdraw(place(prefix(text))),
        _ => Change::Announce(Route { prefix: place(prefix(text)), next_hop: NextHop(version) }),
    })
}

/// Checks the answers of one batch: those of the changing prefixes must all be one version, or all
/// the cover's; the others never change.
fn check<A: Address>(
    reader: &mut Reader<A>,
    addresses: &[A],
    answers: &mut [NextHop],
    one_table: bool,
) -> NextHop {
    reader.guard().lookup_batch(addresses, answers);
    let (changing, lasting) = answers.split_at(2 * CHANGING.len());
    assert_eq!(lasting, LASTING.map(|(_, next_hop)| NextHop(next_hop)).repeat(2));
    for answer in changing {
        assert!((1..VERSIONS).contains(&answer.0) && answer.0 % 5 != 0 || answer.0 == 251, "{answer:?}");
    }
    if one_table {
        assert!(
            changing.iter().all(|answer| answer == &changing[0]),
            "two tables in one batch: {changing:?}"
        );
    }
    changing[0]
}

fn addresses() -> Vec<u32> {
    let ends = |prefix: Prefix<u32>| [prefix.first(), prefix.last()];
    let changing = CHANGING.map(|text| ends(prefix(text))).concat().into_iter();
    // The last quarter of the /25 belongs to another route.
    let changing = changing.map(|address| if address == 0x0AC8_02FF { 0x0AC8_02BF } else { address });
    let lasting = [0x0AFF_FFFF, 0x0A40_0000, 0x0AC8_02FF, 0x0AFF_0000, 0x0A40_FFFF, 0x0AC8_02C0];
    changing.chain(lasting).collect()
}

/// Stops the readers, however the writer ends.
struct OnDrop<'d>(&'d AtomicBool);

impl Drop for OnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

fn run<A: Address>(engine: &str, place: Place<A>) {
    let mut rib: Rib<A> = LASTING
        .iter()
        .map(|&(text, next_hop)| Route { prefix: place(prefix(text)), next_hop: NextHop(next_hop) })
        .collect();
    rib.apply_all(version(1, place));
    let fib = fibula_engines::build(engine, &rib).unwrap();
    let settings = Settings { most_changes: CHANGING.len(), longest_delay: SPAN, ..Settings::default() };
    let mut live = Live::new(rib, [fib], settings).unwrap();
    let one_table = !live.is_in_place(0);
    let done = AtomicBool::new(false);
    let seen = [AtomicUsize::new(0), AtomicUsize::new(0)];
    std::thread::scope(|scope| {
        let readers = [(true, &seen[0]), (false, &seen[1])].map(|(rests, told)| {
            let (mut reader, done) = (live.reader(0), &done);
            scope.spawn(move || {
                let addresses: Vec<A> =
                    addresses().into_iter().map(|address| place_address(place, address)).collect();
                let mut answers = vec![NextHop::NONE; addresses.len()];
                let (mut last, mut seen) = (NextHop::NONE, 0);
                while !done.load(Ordering::Acquire) {
                    let version = check(&mut reader, &addresses, &mut answers, one_table);
                    seen += usize::from(version != last);
                    last = version;
                    told.store(seen, Ordering::Relaxed);
                    if rests && seen % 3 == 0 {
                        reader.rest();
                        std::thread::yield_now();
                    }
                }
            })
        });
        let ending = OnDrop(&done);
        let start = Instant::now();
        let mut number = 1;
        let enough = || seen.iter().all(|seen| seen.load(Ordering::Relaxed) >= ENOUGH);
        while start.elapsed() < SPAN || !enough() && start.elapsed() < LONGEST {
            number = number % (VERSIONS - 1) + 1;
            for change in version(number, place) {
                live.change(change, start.elapsed()).unwrap();
            }
            while live.pending() > 0 {
                live.poll(start.elapsed()).unwrap();
                std::thread::yield_now();
            }
            std::thread::yield_now();
        }
        drop(ending);
        for reader in readers {
            reader.join().expect("a reader saw what no table says");
        }
    });
    let mut reader = live.reader(0);
    for route in live.rib() {
        let expected = live.rib().longest_match(route.prefix.first()).unwrap().next_hop;
        assert_eq!(reader.guard().lookup_index(route.prefix.first()), expected);
    }
}

/// Returns the engines for a family that are changed in place.
fn engines<A: Address>() -> Vec<&'static str> {
    let is_in_place = |name: &&str| {
        let rib = Rib::<A>::new();
        let fib = fibula_engines::build(name, &rib).unwrap();
        Live::new(rib, [fib], Settings::default()).unwrap().is_in_place(0)
    };
    let names = all().iter().filter(|entry| entry.does(A::FAMILY)).map(|entry| entry.about.name);
    names.filter(is_in_place).collect()
}

#[test]
fn double_buffered_and_rebuilt_tables() {
    for engine in ["tree-bitmap", "hybrid", "sail-b", "sail-l", "dxr", "radix", "lc-trie", "ledger"] {
        run(engine, of_ipv4);
    }
    for engine in ["terrace", "triec"] {
        run(engine, of_ipv6::<8>);
        run(engine, of_ipv6::<24>);
    }
    run("ledger", of_ipv6::<24>);
}

#[test]
fn memory_that_is_shared() {
    let engines = engines::<u32>();
    for engine in ["mosaic", "mosaic-runs", "mosaic-deep", "mosaic-spans", "dir24-8", "poptrie"] {
        assert!(engines.contains(&engine), "{engine} is not changed in place");
    }
    for engine in engines {
        run(engine, of_ipv4);
    }
}

#[test]
fn memory_that_is_shared_for_ipv6() {
    let engines = engines::<u128>();
    for engine in ["poptrie", "mosaic6"] {
        assert!(engines.contains(&engine), "{engine} is not changed in place");
    }
    for engine in engines {
        run(engine, of_ipv6::<8>);
        run(engine, of_ipv6::<16>);
        run(engine, of_ipv6::<24>);
    }
}

/// The number of publications of a script, after which it repeats, and the number of changes of
/// each.
const STEPS: usize = 64;
const MOST_CHANGES: u64 = 4;

/// A cycle of tables, and the changes from each to the next: nested routes around one /24 are
/// announced and withdrawn.
struct Script<A: Address> {
    changes: Vec<Vec<Change<A>>>,
    addresses: Vec<A>,
    /// The answer of each table at each address.
    expected: Vec<Vec<NextHop>>,
}

impl<A: Address> Script<A> {
    fn new(seed: u64, place: Place<A>) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let prefix = |random: &mut fastrand::Rng| {
            let near = 0x0A01_0200 | random.u32(..256);
            place(Prefix::containing(near ^ 1 << random.u32(0..32) & 0x0000_41FF, random.u8(8..=32)))
        };
        let addresses = (0..64).map(|_| prefix(&mut random).first()).collect::<Vec<_>>();
        let mut rib: Rib<A> = Rib::new();
        let mut changes: Vec<Vec<_>> = Vec::new();
        for _ in 1..STEPS {
            let change =
                |random: &mut fastrand::Rng| match (random.u8(0..3), rib.iter().nth(random.usize(..20))) {
                    (0, Some(route)) => Change::Withdraw(route.prefix),
                    _ => Change::Announce(Route {
                        prefix: prefix(random),
                        next_hop: NextHop(random.u32(1..200)),
                    }),
                };
            let some = (0..random.u64(1..=MOST_CHANGES)).map(|_| change(&mut random)).collect::<Vec<_>>();
            rib.apply_all(some.iter().copied());
            changes.push(some);
        }
        changes.push(rib.iter().map(|route| Change::Withdraw(route.prefix)).collect());
        let mut rib: Rib<A> = Rib::new();
        let answers = changes.iter().map(|some| {
            rib.apply_all(some.iter().copied());
            let answer =
                |&address: &A| rib.longest_match(address).map_or(NextHop::NONE, |route| route.next_hop);
            addresses.iter().map(answer).collect()
        });
        let mut expected: Vec<_> = answers.collect();
        expected.rotate_right(1); // the last table is the one the cycle begins with
        Self { changes, addresses, expected }
    }

    /// Checks that each answer is that of a table from `first` to `last`.
    fn check(&self, engine: &str, answers: &[NextHop], first: usize, last: usize) {
        for (at, answer) in answers.iter().enumerate() {
            let mut tables = (first..=last).take(STEPS).map(|table| self.expected[table % STEPS][at]);
            let address = self.addresses[at];
            assert!(
                tables.any(|expected| expected == *answer),
                "{engine}: {address:?} is {answer:?} at no moment from {first} to {last}"
            );
        }
    }
}

/// Checks that each answer a reader gets is that of a table published since it took the guard, or
/// about to be.
fn follow<A: Address>(engine: &str, script: &Script<A>) {
    let fib = fibula_engines::build(engine, &Rib::new()).unwrap();
    let settings = Settings { most_changes: usize::MAX, longest_delay: LONGEST, ..Settings::default() };
    let mut live = Live::new(Rib::new(), [fib], settings).unwrap();
    let (done, begun, ended) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let (mut reader, done, begun, ended) = (live.reader(0), &done, &begun, &ended);
        let reader = scope.spawn(move || {
            let mut answers = vec![NextHop::NONE; script.addresses.len()];
            while !done.load(Ordering::Acquire) {
                let first = ended.load(Ordering::SeqCst);
                let table = reader.guard();
                if first % 2 == 0 {
                    table.lookup_batch(&script.addresses, &mut answers);
                } else {
                    let alone = script.addresses.iter().map(|&address| table.lookup_index(address));
                    answers.iter_mut().zip(alone).for_each(|(answer, found)| *answer = found);
                }
                script.check(engine, &answers, first, begun.load(Ordering::SeqCst));
            }
        });
        let ending = OnDrop(done);
        let start = Instant::now();
        let mut published = 0;
        while start.elapsed() < SPAN {
            begun.store(published + 1, Ordering::SeqCst);
            for &change in &script.changes[published % STEPS] {
                live.change(change, start.elapsed()).unwrap();
            }
            live.publish().unwrap();
            live.poll(start.elapsed()).unwrap();
            published += 1;
            ended.store(published, Ordering::SeqCst);
        }
        drop(ending);
        reader.join().expect("a reader saw what no table says");
    });
}

// The default route never changes here, which takes dir24-8 milliseconds. So this publishes more
// often than the suite's timeline.

#[test]
fn no_answer_that_is_neither_of_the_table_before_nor_of_the_one_after() {
    for engine in engines::<u32>().into_iter().chain(["radix"]) {
        for seed in 0..3 {
            follow(engine, &Script::new(seed, of_ipv4));
        }
    }
}

#[test]
fn no_such_answer_for_ipv6() {
    for engine in engines::<u128>().into_iter().chain(["radix"]) {
        for seed in 0..3 {
            for place in [of_ipv6::<16>, of_ipv6::<33>] as [Place<u128>; 2] {
                follow(engine, &Script::new(seed, place));
            }
        }
    }
}
