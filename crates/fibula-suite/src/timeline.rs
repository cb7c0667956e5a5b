//! The timeline: a table changes in place while another thread looks up, and each answer must be
//! that of a table that was published meanwhile.
//!
//! The writer numbers its publications, and a script tells the answers of each table. The reader
//! notes the number before and after a lookup: its answer must be that of a table from the first to
//! the last of these. An address that is looked up again never gets the answer of an earlier table.
//!
//! ```text
//! writer   | publishes 7 |      | publishes 8 |   | publishes 9 |
//! reader             | lookup              |
//!                    `- 6 has ended         `- 8 has begun: the answer of 6, 7 or 8
//! ```
//! `FIBULA_TIMELINE=1000000000` in the environment makes each test check that many lookups, where
//! it otherwise ends after [`SPAN`].

use crate::Subject;
use crate::tables::Random;
use fibula::engine::Level;
use fibula::engine::{Config, Pages, WidthBits};
use fibula::live::{Live, Reader, Settings};
use fibula::{Address, Change, Delta, Fib, NextHop, Prefix, Rib, Route};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long a test takes, with all its scripts and instruction sets. After [`LONGEST`], which only
/// engines reach that write millions of words for a default route, it leaves out the rest of them.
const SPAN: Duration = Duration::from_millis(600);

const LONGEST: Duration = Duration::from_secs(2);

/// The environment variable with the number of lookups that a test makes.
const LOOKUPS: &str = "FIBULA_TIMELINE";

/// The publications of a script, after which it repeats, and the most changes of each.
const STEPS: usize = 64;
const MOST_CHANGES: u64 = 5;

/// The batch sizes: some that fill no block of any engine, and some of many blocks.
const BATCHES: [usize; 8] = [1, 7, 16, 32, 33, 64, 200, 700];

/// The batches under one guard.
const UNDER_A_GUARD: usize = 3;

/// The lengths of the prefixes of a script, by family. Short prefixes take long to paint, and
/// `mosaic6` is rebuilt for long ones, so there are scripts without them, which publish more often.
const IPV4: [&[u8]; 3] =
    [&[8, 14, 18, 20, 23, 24, 25, 28, 32], &[1, 3, 9, 17, 18, 24, 26, 31, 32], &[25, 32]];
const IPV6: [&[u8]; 3] = [
    &[17, 20, 29, 32, 36, 44, 47, 48],
    &[1, 3, 12, 16, 24, 32, 40, 48],
    &[16, 32, 48, 49, 56, 64, 65, 96, 128],
];

/// A cycle of tables, and the changes from each to the next. The first table is empty but for the
/// default route.
struct Script<A: Address> {
    first: Rib<A>,
    changes: Vec<Vec<Change<A>>>,
    addresses: Vec<A>,
    /// The answer of each table at each address.
    expected: Vec<Vec<NextHop>>,
}

impl<A: Address> Script<A> {
    /// Returns a script of prefixes of these lengths, with next hops that are multiples of `unit`.
    fn new(seed: u64, lens: &[u8], unit: u32) -> Self {
        let mut random = Random(seed);
        let bases: [u64; 3] = [0x2001_0DB8_0000_0000, 0x2001_0DB8_0000_8000, 0x2001_0D40_4567_0000];
        let mut prefixes = Vec::new();
        let mut addresses = Vec::new();
        for base in bases.map(|base| A::from_bits(base, 0, 64)) {
            for &len in lens {
                let prefix = Prefix::containing(base, len);
                prefixes.push(prefix);
                // The last bit of a prefix is in the prefix, and the other way round is beside it.
                let beside = Prefix::containing(base ^ last_bit::<A>(len), len);
                addresses.extend([prefix.last(), beside.first()]);
                if random.below(3) == 0 {
                    prefixes.push(beside);
                }
            }
            addresses.push(base);
        }
        addresses.sort_unstable();
        addresses.dedup();
        let hop = |random: &mut Random| NextHop(unit * (1 + random.below(200) as u32));
        let first: Rib<A> = [Route { prefix: Prefix::ALL, next_hop: hop(&mut random) }].into_iter().collect();
        let mut rib = first.clone();
        let mut changes: Vec<Vec<Change<A>>> = Vec::new();
        for _ in 1..STEPS {
            let mut some = Vec::new();
            if random.below(3) > 0 {
                some.push(Prefix::ALL);
            }
            for _ in 0..random.below(MOST_CHANGES) {
                some.push(prefixes[random.below(prefixes.len() as u64) as usize]);
            }
            let change = |prefix| match random.below(3) {
                0 => Change::Withdraw(prefix),
                _ => Change::Announce(Route { prefix, next_hop: hop(&mut random) }),
            };
            let some: Vec<_> = some.into_iter().map(change).collect();
            rib.apply_all(some.iter().copied());
            changes.push(some);
        }
        changes.push(rib.diff(&first).map(Delta::change).collect());
        let mut rib = first.clone();
        let answers = |rib: &Rib<A>| {
            let answer =
                |&address: &A| rib.longest_match(address).map_or(NextHop::NONE, |route| route.next_hop);
            addresses.iter().map(answer).collect::<Vec<_>>()
        };
        let mut expected = vec![answers(&rib)];
        for some in &changes[..STEPS - 1] {
            rib.apply_all(some.iter().copied());
            expected.push(answers(&rib));
        }
        Self { first, changes, addresses, expected }
    }

    /// Returns the first table from number `from` to number `to` that has this answer at the
    /// address of this index.
    fn table_with(&self, answer: NextHop, at: usize, from: usize, to: usize) -> Option<usize> {
        (from..=to).take(STEPS).find(|table| self.expected[table % STEPS][at] == answer)
    }
}

/// Returns an address that consists of bit `len - 1`.
fn last_bit<A: Address>(len: u8) -> A {
    A::mask(len) & !A::mask(len - 1)
}

/// What is published, as all threads know it.
#[derive(Default)]
struct Progress {
    begun: AtomicUsize,
    ended: AtomicUsize,
    lookups: AtomicUsize,
    is_over: AtomicBool,
}

/// Stops the other thread, however this one ends.
struct OnDrop<'d>(&'d AtomicBool);

impl Drop for OnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Looks up until the writer is done, and checks each answer.
fn read<A: Address>(what: &str, script: &Script<A>, mut reader: Reader<A>, progress: &Progress) {
    let _ending = OnDrop(&progress.is_over);
    let count = script.addresses.len();
    // For each address, the earliest table that the reader can still be at.
    let mut seen = vec![0; count];
    let mut random = Random(1);
    let mut sizes = BATCHES.into_iter().cycle();
    while !progress.is_over.load(Ordering::SeqCst) {
        let from = progress.ended.load(Ordering::SeqCst);
        let table = reader.guard();
        for _ in 0..UNDER_A_GUARD {
            let (size, start) = (sizes.next().unwrap_or(1), random.below(count as u64) as usize);
            let places: Vec<usize> = (start..start + size).map(|at| at % count).collect();
            let addresses: Vec<A> = places.iter().map(|&at| script.addresses[at]).collect();
            let mut answers = vec![NextHop::NONE; size];
            table.lookup_batch(&addresses, &mut answers);
            let to = progress.begun.load(Ordering::SeqCst);
            let mut now = seen.clone();
            for (&at, &answer) in places.iter().zip(&answers) {
                let tables = (from.max(seen[at]), to);
                now[at] = now[at].max(checked(what, script, "batch", at, answer, from, tables));
            }
            seen = now;
            for (at, &address) in script.addresses.iter().enumerate() {
                let answer = table.lookup_index(address);
                let tables = (from.max(seen[at]), progress.begun.load(Ordering::SeqCst));
                seen[at] = checked(what, script, "lookup", at, answer, from, tables);
            }
            progress.lookups.fetch_add(size + count, Ordering::Relaxed);
        }
    }
}

/// Returns the first of the `tables`, from one to another, that has this answer.
fn checked<A: Address>(
    what: &str,
    script: &Script<A>,
    kind: &str,
    at: usize,
    answer: NextHop,
    from: usize,
    tables: (usize, usize),
) -> usize {
    if let Some(table) = script.table_with(answer, at, tables.0, tables.1) {
        return table;
    }
    let address = script.addresses[at].to_ip();
    let fault = match script.table_with(answer, at, from, tables.1) {
        Some(table) => format!("steps back to table {table}"),
        None => "is of no table".to_string(),
    };
    let (first, last) = tables;
    let expected: Vec<u32> =
        (first..=last).take(STEPS).map(|table| script.expected[table % STEPS][at].0).collect();
    panic!("{what}: {kind} of {address}: {answer:?} {fault}; from {first} to {last} there are {expected:?}")
}

/// Publishes the script again and again while another thread looks up.
fn run<A: Address>(what: &str, script: &Script<A>, mut live: Live<A>, span: Duration, lookups: usize) {
    let progress = Progress::default();
    std::thread::scope(|scope| {
        let (reader, progress) = (live.reader(0), &progress);
        let reader = scope.spawn(move || read(what, script, reader, progress));
        let ending = OnDrop(&progress.is_over);
        let start = Instant::now();
        let is_done = || match lookups {
            0 => start.elapsed() >= span,
            _ => progress.lookups.load(Ordering::Relaxed) >= lookups,
        };
        let mut published = 0;
        while !is_done() && !progress.is_over.load(Ordering::SeqCst) {
            let now = start.elapsed();
            for &change in &script.changes[published % STEPS] {
                live.change(change, now).unwrap();
            }
            progress.begun.store(published + 1, Ordering::SeqCst);
            live.publish().unwrap();
            live.poll(now).unwrap();
            published += 1;
            progress.ended.store(published, Ordering::SeqCst);
        }
        drop(ending);
        reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

/// Each answer is that of a table published while it was looked up. An engine that is not changed
/// in place has nothing to show: a guard holds one of its tables.
pub fn answers_of_published_tables<A: Address>(engine: &Subject, width: WidthBits) {
    let lens: &[&[u8]] = if A::BITS == 32 { &IPV4 } else { &IPV6 };
    let unit = width.max().0.min(1 << 24) / 255;
    let lookups: usize =
        std::env::var(LOOKUPS).map_or(0, |count| count.parse().expect("a number of lookups"));
    let runs = lens.len() * Level::available().len();
    let start = Instant::now();
    for (seed, lens) in (0..).zip(lens) {
        let script = Script::<A>::new(seed, lens, unit);
        for &level in Level::available() {
            let mut config = Config::default();
            (config.width, config.pages) = (Some(width), Pages::Huge);
            let mut fib = Fib::build_from(engine.engines, &engine.name, &script.first, config).unwrap();
            fib.set_isa(level);
            let settings = Settings {
                most_changes: usize::MAX,
                longest_delay: Duration::from_secs(1 << 30),
                ..Settings::default()
            };
            let live = Live::new(script.first.clone(), [fib], settings).unwrap();
            if !live.is_in_place(0) || lookups == 0 && start.elapsed() > LONGEST {
                return;
            }
            let what = format!("{engine}, {width} bits, {level:?}, script {seed}");
            run(&what, &script, live, SPAN / runs as u32, lookups.div_ceil(runs));
        }
    }
}
