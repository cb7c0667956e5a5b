//! Readers and a writer at once: no reader may see an answer that belongs to no table, or tables running backwards.

use fibula::live::{Live, Reader, Settings};
use fibula::{Change, Fib, NextHop, Prefix, Rib, Route};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long each engine is run: at least so long, then until each reader has seen so many versions.
const SPAN: Duration = Duration::from_millis(200);
const ENOUGH: usize = 10;
/// A machine that is too busy to show so many in this time shows nothing wrong either.
const LONGEST: Duration = Duration::from_secs(20);

/// The prefixes that change together: all carry the version as their next hop, and others beside and between them never change.
const CHANGING: [&str; 4] = ["10.0.0.0/9", "10.128.64.0/18", "10.200.1.0/24", "10.200.2.128/25"];
const LASTING: [(&str, u32); 3] = [("10.0.0.0/8", 251), ("10.64.0.0/16", 252), ("10.200.2.192/26", 253)];
/// Next hops that are no version begin here.
const VERSIONS: u32 = 250;

fn prefix(text: &str) -> Prefix<u32> {
    text.parse().unwrap()
}

/// The changes that bring in a version; those that are 0 modulo 5 withdraw, so that covers show.
fn version(version: u32) -> impl Iterator<Item = Change<u32>> {
    CHANGING.iter().map(move |text| match version % 5 {
        0 => Change::Withdraw(prefix(text)),
        _ => Change::Announce(Route { prefix: prefix(text), next_hop: NextHop(version) }),
    })
}

/// Answers of one batch: those of a changing prefix must all be one version, or all the cover's; the others never change.
fn check(reader: &mut Reader<u32>, addresses: &[u32], answers: &mut [NextHop], one_table: bool) -> NextHop {
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
    // The last quarter of the /25 is another's.
    let changing = changing.map(|address| if address == 0x0AC8_02FF { 0x0AC8_02BF } else { address });
    let lasting = [0x0AFF_FFFF, 0x0A40_0000, 0x0AC8_02FF, 0x0AFF_0000, 0x0A40_FFFF, 0x0AC8_02C0];
    changing.chain(lasting).collect()
}

/// Ends the readers, however the writer ends.
struct OnDrop<'d>(&'d AtomicBool);

impl Drop for OnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

fn run(engine: &str, one_table: bool) {
    let mut rib: Rib<u32> = LASTING
        .iter()
        .map(|&(text, next_hop)| Route { prefix: prefix(text), next_hop: NextHop(next_hop) })
        .collect();
    rib.apply_all(version(1));
    let fib = Fib::build(engine, &rib).unwrap();
    let settings = Settings { most_changes: CHANGING.len(), longest_delay: SPAN, ..Settings::default() };
    let mut live = Live::new(rib, [fib], settings).unwrap();
    let done = AtomicBool::new(false);
    let seen = [AtomicUsize::new(0), AtomicUsize::new(0)];
    std::thread::scope(|scope| {
        let readers = [(true, &seen[0]), (false, &seen[1])].map(|(rests, told)| {
            let (mut reader, done) = (live.reader(0), &done);
            scope.spawn(move || {
                let addresses = addresses();
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
            for change in version(number) {
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
        assert_eq!(reader.guard().lookup(route.prefix.first()), expected);
    }
}

#[test]
fn copies_that_take_turns() {
    for engine in ["poptrie", "dir24-8", "radix"] {
        run(engine, true);
    }
}

#[test]
fn memory_that_is_shared() {
    run("mosaic", false);
}

#[test]
fn tables_built_anew() {
    run("lc-trie", true);
}
