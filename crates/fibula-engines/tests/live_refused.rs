//! Several engines of one table, some of which refuse changes: no reader may see what was refused,
//! neither meanwhile nor afterwards.

use fibula::engine::{Config, Entry, WidthBits};
use fibula::live::{Live, Reader, Settings};
use fibula::{Address, Change, Fib, NextHop, Prefix, Rib, Route};
use fibula_engines::all;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// The lists of engines for each family, and the publications for each of them.
const LISTS: usize = 24;
const PUBLICATIONS: usize = 40;
/// Engines whose empty table takes more bytes are slow to build.
const SMALL: usize = 1 << 20;

/// The routes that change. All are within one /8, which has a route that never changes.
const PREFIXES: [&str; 8] = [
    "10.0.0.0/9",
    "10.64.0.0/12",
    "10.64.0.0/16",
    "10.64.7.0/24",
    "10.64.7.128/25",
    "10.64.7.200/32",
    "10.200.0.0/15",
    "10.200.9.64/27",
];
const ADDRESSES: [u32; 10] = [
    0x0A00_0000,
    0x0A40_0000,
    0x0A40_0700,
    0x0A40_0780,
    0x0A40_07C8,
    0x0A40_07C9,
    0x0A50_0000,
    0x0AC8_0000,
    0x0AC8_0940,
    0x0AFF_FFFF,
];

/// The answers for all addresses.
type Answers = [NextHop; ADDRESSES.len()];

/// What readers may see. Each publication that is not refused is added before it begins.
#[derive(Default)]
struct Timeline {
    tables: Mutex<Vec<Answers>>,
    begun: AtomicUsize,
    done: AtomicUsize,
    is_over: AtomicBool,
}

impl Timeline {
    fn begin(&self, answers: Answers) {
        let mut tables = self.tables.lock().unwrap();
        tables.push(answers);
        self.begun.store(tables.len() - 1, Ordering::SeqCst);
    }

    fn end(&self) {
        self.done.store(self.begun.load(Ordering::SeqCst), Ordering::SeqCst);
    }

    /// Looks up until the end. Returns how many answers are of no table that was published.
    fn watch<A: Address>(&self, readers: &mut [Reader<A>]) -> usize {
        let (addresses, mut answers) = (ADDRESSES.map(placed_address::<A>), [NextHop::NONE; ADDRESSES.len()]);
        let mut wrong = 0;
        while !self.is_over.load(Ordering::SeqCst) {
            for reader in &mut *readers {
                let done = self.done.load(Ordering::SeqCst);
                reader.guard().lookup_batch(&addresses, &mut answers);
                reader.rest();
                let begun = self.begun.load(Ordering::SeqCst);
                let tables = self.tables.lock().unwrap();
                let is_right = |at: usize| tables[done..=begun].iter().any(|table| table[at] == answers[at]);
                wrong += (0..answers.len()).filter(|&at| !is_right(at)).count();
            }
        }
        wrong
    }
}

/// Maps addresses of IPv4 into a family, to where routes of 24 bits end beyond /40.
fn placed_address<A: Address>(address: u32) -> A {
    let address = u128::from(address);
    let placed = if A::BITS == 32 { address } else { 0x2A << 120 | address << 80 };
    A::from_u128(placed).unwrap()
}

fn placed<A: Address>(text: &str) -> Prefix<A> {
    let prefix: Prefix<u32> = text.parse().unwrap();
    let more = if A::BITS == 32 { 0 } else { 16 };
    Prefix::containing(placed_address(prefix.first()), prefix.len() + more)
}

fn answers<A: Address>(rib: &Rib<A>) -> Answers {
    let answer = |address| rib.longest_match(placed_address(address)).map(|route| route.next_hop);
    ADDRESSES.map(|address| answer(address).unwrap_or(NextHop::NONE))
}

fn is_small<A: Address>(entry: &Entry) -> bool {
    let fib = Fib::build_from(all(), entry.about.name, &Rib::<A>::new(), Config::default()).unwrap();
    fib.memory().total() < SMALL
}

/// Runs one list of engines, each with the width of its answers.
fn run<A: Address>(list: &[(Entry, Option<WidthBits>)], random: &mut fastrand::Rng) {
    let names: Vec<_> = list.iter().map(|(entry, width)| (entry.about.name, width)).collect();
    let mut rib: Rib<A> = Rib::new();
    rib.insert(placed("10.0.0.0/8"), NextHop(200));
    let build = |&(entry, width): &(Entry, Option<WidthBits>)| {
        let mut config = Config::default();
        config.width = width;
        Fib::build_from(all(), entry.about.name, &rib, config).unwrap()
    };
    let fibs: Vec<_> = list.iter().map(build).collect();
    let max = |(entry, width): &(Entry, Option<WidthBits>)| {
        let width = entry.one_width().or(*width);
        width.map_or(u32::MAX, |width| width.max().0).min(entry.about.next_hops_max)
    };
    let most = list.iter().map(max).min().unwrap();
    let timeline = Timeline::default();
    timeline.begin(answers(&rib));
    let never = Settings { most_changes: usize::MAX, longest_delay: Duration::MAX, ..Settings::default() };
    let mut live = Live::new(rib, fibs, never).unwrap();
    assert!((0..list.len()).filter(|&which| live.is_in_place(which)).count() <= 1, "{names:?}");
    let mut readers: Vec<_> = (0..list.len()).map(|which| live.reader(which)).collect();
    let mut watched = readers.clone();
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| timeline.watch(&mut watched));
        let (mut refused, mut published) = (0, 0);
        for _ in 0..PUBLICATIONS {
            // In half of the publications, one next hop may be too great.
            let mut greatest = 0;
            let mut next = live.rib().clone();
            for _ in 0..random.usize(1..5) {
                let prefix = placed(PREFIXES[random.usize(..PREFIXES.len())]);
                let bits = if random.u8(..8) == 0 { random.u32(8..33) } else { 7 };
                let next_hop = NextHop(random.u32(1..=(u64::pow(2, bits) - 1) as u32));
                let change = match random.u8(..4) {
                    0 => Change::Withdraw(prefix),
                    _ => Change::Announce(Route { prefix, next_hop }),
                };
                next.apply(change);
                live.change(change, Duration::ZERO).unwrap();
            }
            for delta in live.rib().diff(&next) {
                greatest = greatest.max(delta.after.0);
            }
            let fits = greatest <= most;
            if fits {
                timeline.begin(answers(&next));
            }
            let before = live.rib().clone();
            let result = live.publish();
            assert_eq!(result.is_ok(), fits, "{names:?}: {greatest} of {most}: {result:?}");
            timeline.end();
            assert_eq!(live.rib(), if fits { &next } else { &before }, "{names:?}");
            assert_eq!(live.pending(), 0);
            let expected = answers(live.rib());
            for (which, reader) in readers.iter_mut().enumerate() {
                let table = reader.guard();
                let found = ADDRESSES.map(|address| table.lookup_index(placed_address(address)));
                assert_eq!(found, expected, "{names:?}, engine {which}, after {result:?}");
                reader.rest();
            }
            (refused, published) = (refused + usize::from(!fits), published + usize::from(fits));
        }
        timeline.is_over.store(true, Ordering::SeqCst);
        assert_eq!(watcher.join().unwrap(), 0, "{names:?}: {refused} refused, {published} published");
    });
}

/// Runs random lists of one to four engines.
fn run_all<A: Address>(seed: u64) {
    let random = &mut fastrand::Rng::with_seed(seed);
    let small: Vec<Entry> =
        all().iter().filter(|entry| entry.does(A::FAMILY) && is_small::<A>(entry)).copied().collect();
    for number in 0..LISTS {
        let widths = [None, Some(WidthBits::U8), Some(WidthBits::U16), Some(WidthBits::U32)];
        let mut engine = |_| (small[random.usize(..small.len())], widths[random.usize(..widths.len())]);
        let list: Vec<_> = (0..=number % 4).map(&mut engine).collect();
        run::<A>(&list, random);
    }
}

fn named(names: &[(&str, Option<WidthBits>)]) -> Vec<(Entry, Option<WidthBits>)> {
    let find = |name| *all().iter().find(|entry| entry.about.name == name).unwrap();
    names.iter().map(|&(name, width)| (find(name), width)).collect()
}

#[test]
fn engines_that_share_beside_one_that_refuses() {
    let (narrow, random) = (Some(WidthBits::U8), &mut fastrand::Rng::with_seed(1));
    for name in ["mosaic", "mosaic-runs", "mosaic-deep", "mosaic-spans", "poptrie"] {
        run::<u32>(&named(&[(name, None), ("poptrie", narrow)]), random);
        run::<u32>(&named(&[("poptrie", Some(WidthBits::U16)), (name, None), ("radix", narrow)]), random);
    }
    for name in ["mosaic6", "poptrie"] {
        run::<u128>(&named(&[(name, None), ("poptrie", narrow)]), random);
        run::<u128>(&named(&[("radix", narrow), (name, Some(WidthBits::U16)), ("mosaic6", None)]), random);
    }
}

#[test]
fn lists_of_engines_for_ipv4() {
    run_all::<u32>(2);
}

#[test]
fn lists_of_engines_for_ipv6() {
    run_all::<u128>(3);
}
