//! What the C interface costs: its lookups beside the crate's own, on one table and the same
//! addresses, in turns. Then threads that look up and set, beside a tree behind a lock:
//!
//! ```sh
//! cargo run --release -p fibula-capi --example beside_rust -- [TABLE]
//! ```
//!
//! With the feature `dpdk`, DPDK's `rte_fib` and `rte_fib6` look the same addresses up in turns
//! with the C interface. They get them in host order.
//!
//! Without a table, one as large as the Internet's is made. The functions are called by pointers,
//! as from a program that is linked with the shared library. Addresses are in prefixes that are
//! drawn evenly. Prints nanoseconds an address, medians; all answers are compared, and the first
//! difference is an error.

use fibula::engine::Config;
use fibula::{Address, Fib, NextHop, Prefix, Rib, Strided};
use fibula_capi as _;
use fibula_io::generate::{NextHopModel, Size, internet};
use fibula_io::table::{self, ReadOptions, Tables};
use fibula_io::trace::{self, TraceKind};
use std::ffi::{c_int, c_void};
use std::hint::black_box;
use std::path::PathBuf;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, RwLock};
use std::time::{Duration, Instant};
use std::{env, net::IpAddr, thread};

/// What the library keeps behind pointers.
type Opaque = c_void;

/// `struct fibula_prefix`.
#[repr(C)]
struct CPrefix {
    family: u8,
    len: u8,
    addr: [u8; 16],
}

type Bulk = unsafe extern "C" fn(*const Opaque, *const c_void, usize, *mut u64, usize, u64) -> c_int;
type Indices = unsafe extern "C" fn(*const Opaque, *const c_void, usize, *mut u32, usize) -> c_int;
type Single = unsafe extern "C" fn(*const Opaque, *const c_void, *mut u64, *mut CPrefix) -> c_int;

/// Declares functions that return 0 or `-errno`, by the types of their arguments.
macro_rules! declared {
    ($($name:ident: $($argument:ty),*;)*) => {
        unsafe extern "C" { $(fn $name($(_: $argument),*) -> c_int;)* }
    };
}

declared! {
    fibula_table_new: *const c_void, *mut *mut Opaque;
    fibula_insert_many: *mut Opaque, *const CPrefix, *const u64, usize;
    fibula_lookup4: *const Opaque, *const c_void, *mut u64, *mut CPrefix;
    fibula_lookup6: *const Opaque, *const c_void, *mut u64, *mut CPrefix;
    fibula_lookup_bulk4_be: *const Opaque, *const c_void, usize, *mut u64, usize, u64;
    fibula_lookup_bulk6_be: *const Opaque, *const c_void, usize, *mut u64, usize, u64;
    fibula_lookup_bulk4_index: *const Opaque, *const c_void, usize, *mut u32, usize;
    fibula_lookup_bulk6_index: *const Opaque, *const c_void, usize, *mut u32, usize;
    fibula_live_new: *mut Opaque, *mut *mut Opaque;
    fibula_live_insert: *mut Opaque, *const CPrefix, u64;
    fibula_live_publish: *mut Opaque, u64;
    fibula_reader_new: *const Opaque, *mut *mut Opaque;
}

unsafe extern "C" {
    fn fibula_table_free(table: *mut Opaque);
    fn fibula_live_free(live: *mut Opaque);
    fn fibula_reader_table(reader: *mut Opaque) -> *const Opaque;
    fn fibula_reader_free(reader: *mut Opaque);
}

/// The functions of a family.
struct Functions {
    bulk: Bulk,
    indices: Indices,
    single: Single,
}

const IPV4: Functions =
    Functions { bulk: fibula_lookup_bulk4_be, indices: fibula_lookup_bulk4_index, single: fibula_lookup4 };
const IPV6: Functions =
    Functions { bulk: fibula_lookup_bulk6_be, indices: fibula_lookup_bulk6_index, single: fibula_lookup6 };

/// The addresses that are timed, and how often; those that are compared.
const TIMED: usize = 1 << 20;
const ROUNDS: usize = 9;
const COMPARED: usize = 100_000_000;
/// The value where there is no route.
const MISS: u64 = u64::MAX;
/// The bytes from a packet to the next one.
const SLOT: usize = 64;
/// The packets of a ring, such as a network card has.
const RING: usize = 4096;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let tables = match env::args_os().nth(1) {
        Some(path) => table::read(&PathBuf::from(path).into(), &ReadOptions::default())?.tables,
        None => internet(Size::FULL, NextHopModel::Near(40), 1)?,
    };
    println!(
        "| family | calls of | what | crate ns | C ns | crate / C |\n| --- | ---: | --- | ---: | ---: | ---: |"
    );
    let Tables { ipv4, ipv6, .. } = &tables;
    if !ipv4.is_empty() {
        family("IPv4", ipv4, &IPV4)?;
    }
    if !ipv6.is_empty() {
        family("IPv6", ipv6, &IPV6)?;
    }
    if !ipv4.is_empty() {
        println!("\n| two threads | M lookups a second | sets a second |\n| --- | ---: | ---: |");
        beside_a_lock(ipv4);
    }
    Ok(())
}

fn c_prefix<A: Address>(prefix: Prefix<A>) -> CPrefix {
    let mut addr = [0; 16];
    let bytes = network_order(prefix.first());
    addr[..bytes.len()].copy_from_slice(&bytes);
    CPrefix { family: if A::BITS == 32 { 4 } else { 6 }, len: prefix.len(), addr }
}

/// Returns an address as it is in a packet.
fn network_order<A: Address>(address: A) -> Vec<u8> {
    match address.to_ip() {
        IpAddr::V4(address) => address.octets().into(),
        IpAddr::V6(address) => address.octets().into(),
    }
}

/// Returns a table of the library. The value of a route is its next hop.
fn c_table<A: Address>(rib: &Rib<A>) -> *mut Opaque {
    let prefixes: Vec<CPrefix> = rib.iter().map(|route| c_prefix(route.prefix)).collect();
    let values: Vec<u64> = rib.iter().map(|route| route.next_hop.0.into()).collect();
    let mut table = null_mut();
    // SAFETY: both arrays have as many elements.
    let done = unsafe {
        fibula_table_new(null(), &raw mut table)
            | fibula_insert_many(table, prefixes.as_ptr(), values.as_ptr(), values.len())
    };
    assert_eq!(done, 0);
    table
}

/// One family of a table, in both libraries, with addresses in network order.
struct Both<'r, A: Address> {
    functions: &'r Functions,
    table: *mut Opaque,
    fib: Fib<A>,
    values: Vec<u64>,
    addresses: Vec<u8>,
    slots: Vec<u8>,
}

impl<A: Address> Both<'_, A> {
    const SIZE: usize = A::BITS as usize / 8;

    fn crate_indices(&self, calls_of: usize, out: &mut [NextHop]) {
        for (addresses, out) in self.addresses.chunks(calls_of * Self::SIZE).zip(out.chunks_mut(calls_of)) {
            self.fib.lookup_strided(Strided::new(addresses, Self::SIZE), out);
        }
    }

    fn crate_values(&self, calls_of: usize, out: &mut [u64]) {
        let mut found = vec![NextHop::NONE; calls_of];
        for (addresses, out) in self.addresses.chunks(calls_of * Self::SIZE).zip(out.chunks_mut(calls_of)) {
            let found = &mut found[..out.len()];
            self.fib.lookup_strided(Strided::new(addresses, Self::SIZE), found);
            out.iter_mut().zip(found).for_each(|(out, index)| *out = self.values[index.0 as usize]);
        }
    }

    fn crate_single(&self, out: &mut [u64]) {
        let addresses = Strided::<A>::new(&self.addresses, Self::SIZE);
        for (at, out) in out.iter_mut().enumerate() {
            *out = self.values[self.fib.lookup_index(addresses.get(at)).0 as usize];
        }
    }

    fn c_indices(&self, calls_of: usize, out: &mut [u32]) {
        let indices = black_box(self.functions.indices);
        for (addresses, out) in self.addresses.chunks(calls_of * Self::SIZE).zip(out.chunks_mut(calls_of)) {
            // SAFETY: there are as many addresses as answers.
            unsafe {
                indices(self.table, addresses.as_ptr().cast(), Self::SIZE, out.as_mut_ptr(), out.len())
            };
        }
    }

    /// Where there are fewer addresses than answers, they come again.
    fn c_values(&self, bytes: &[u8], stride: usize, calls_of: usize, out: &mut [u64]) {
        let bulk = black_box(self.functions.bulk);
        let chunks = bytes.chunks(calls_of * stride).cycle();
        for (addresses, out) in chunks.zip(out.chunks_mut(calls_of)) {
            // SAFETY: there are as many addresses as answers.
            unsafe { bulk(self.table, addresses.as_ptr().cast(), stride, out.as_mut_ptr(), out.len(), MISS) };
        }
    }

    fn c_single(&self, out: &mut [u64]) {
        let single = black_box(self.functions.single);
        for (address, out) in self.addresses.chunks(Self::SIZE).zip(out) {
            *out = MISS;
            // SAFETY: it is a whole address.
            unsafe { single(self.table, address.as_ptr().cast(), out, null_mut()) };
        }
    }
}

impl<A: Address> Drop for Both<'_, A> {
    fn drop(&mut self) {
        // SAFETY: nobody else has it.
        unsafe { fibula_table_free(self.table) };
    }
}

/// Times several ways to answer, in turns. Returns the median of each, in nanoseconds an address.
fn medians<const N: usize>(mut ways: [&mut dyn FnMut(); N]) -> [f64; N] {
    let mut rounds = [const { Vec::new() }; N];
    for _ in 0..ROUNDS {
        for (way, rounds) in ways.iter_mut().zip(&mut rounds) {
            let start = Instant::now();
            way();
            rounds.push(start.elapsed().as_secs_f64() * 1e9 / TIMED as f64);
        }
    }
    rounds.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[ROUNDS / 2]
    })
}

fn family<A: Address>(
    name: &str,
    rib: &Rib<A>,
    functions: &Functions,
) -> Result<(), Box<dyn std::error::Error>> {
    let drawn = trace::generate(&TraceKind::Prefix, rib, TIMED, 1)?;
    let slot = |address: &A| [network_order(*address), vec![0; SLOT - A::BITS as usize / 8]].concat();
    let highest = rib.iter().map(|route| route.next_hop.0).max().unwrap_or(0);
    let both = Both {
        functions,
        table: c_table(rib),
        fib: Fib::new(rib)?,
        values: std::iter::once(MISS).chain((1..=highest).map(u64::from)).collect(),
        addresses: drawn.iter().flat_map(|&address| network_order(address)).collect(),
        slots: drawn.iter().flat_map(slot).collect(),
    };
    let size = Both::<A>::SIZE;
    let rte_fib = if A::BITS == 32 { "peer:dpdk-fib" } else { "peer:dpdk-fib6" };
    let peer = Fib::build_from(fibula_peers::engines(), rte_fib, rib, Config::default()).ok();
    let (mut ours, mut theirs) = (vec![0; TIMED], vec![0; TIMED]);
    let (mut indices, mut numbers) = (vec![NextHop::NONE; TIMED], vec![0; TIMED]);
    let row = |of: &str, what: &str, [ours, theirs]: [f64; 2]| {
        println!("| {name} | {of} | {what} | {ours:.2} | {theirs:.2} | {:.2} |", ours / theirs);
    };
    for calls_of in [32, 256, 1024] {
        let of = calls_of.to_string();
        let found = medians([&mut || both.crate_indices(calls_of, &mut indices), &mut || {
            both.c_indices(calls_of, &mut numbers);
        }]);
        row(&of, "indices", found);
        let found = medians([&mut || both.crate_values(calls_of, &mut ours), &mut || {
            both.c_values(&both.addresses, size, calls_of, &mut theirs);
        }]);
        assert_eq!(ours, theirs);
        row(&of, "values", found);
        if let Some(peer) = &peer {
            let mut peer_indices = || {
                for (addresses, out) in drawn.chunks(calls_of).zip(indices.chunks_mut(calls_of)) {
                    peer.lookup_batch(addresses, out);
                }
            };
            let found = medians([&mut peer_indices, &mut || {
                both.c_values(&both.addresses, size, calls_of, &mut theirs);
            }]);
            let values = indices.iter().map(|index| if index.is_some() { index.0.into() } else { MISS });
            assert!(theirs.iter().copied().eq(values));
            row(&of, "indices of rte_fib; C: values", found);
        }
        for (count, whose) in [(TIMED, "headers"), (RING, "headers of a ring")] {
            let (array, headers) = (&both.addresses[..count * size], &both.slots[..count * SLOT]);
            let found = medians([&mut || both.c_values(array, size, calls_of, &mut ours), &mut || {
                both.c_values(headers, SLOT, calls_of, &mut theirs);
            }]);
            assert_eq!(ours, theirs);
            row(&of, &format!("values; C: an array, and fields of {whose}"), found);
        }
    }
    let found = medians([&mut || both.crate_single(&mut ours), &mut || both.c_single(&mut theirs)]);
    assert_eq!(ours, theirs);
    row("1", "values", found);
    compare(rib, both)
}

/// Compares the answers to many addresses.
fn compare<A: Address>(rib: &Rib<A>, mut both: Both<'_, A>) -> Result<(), Box<dyn std::error::Error>> {
    let (mut ours, mut theirs) = (vec![0; TIMED], vec![0; TIMED]);
    for seed in 0..COMPARED.div_ceil(TIMED) as u64 {
        let drawn = trace::generate(&TraceKind::Miss(90), rib, TIMED, seed)?;
        both.addresses = drawn.iter().flat_map(|&address| network_order(address)).collect();
        both.crate_values(1024, &mut ours);
        both.c_values(&both.addresses, Both::<A>::SIZE, 1024, &mut theirs);
        assert_eq!(ours, theirs, "seed {seed}");
    }
    Ok(())
}

/// How many lookups a thread does until it sets a prefix.
const BETWEEN: usize = 1000;
/// How many values are set.
const VALUES: u64 = 97;
/// How long both are done.
const TIME: Duration = Duration::from_secs(3);

/// Has two threads look up addresses, one by one, and set a host now and then: by libfibula, and in
/// a radix tree behind a lock for readers and writers.
fn beside_a_lock(rib: &Rib<u32>) {
    let addresses = trace::generate(&TraceKind::Prefix, rib, TIMED, 1).expect("there are routes");
    let mut live = null_mut();
    // SAFETY: the table is not used any more.
    assert_eq!(unsafe { fibula_live_new(c_table(rib), &raw mut live) }, 0);
    let live = Mutex::new(Pointer(live));
    let (lookups, sets) = two_threads(|thread, done, sets| {
        let mut reader = null_mut();
        // SAFETY: any thread may make a reader, and each has its own.
        assert_eq!(unsafe { fibula_reader_new(live.lock().unwrap().0, &raw mut reader) }, 0);
        let mut lookups = 0;
        for burst in addresses.chunks(BETWEEN).cycle() {
            if done.load(Ordering::Relaxed) {
                break;
            }
            // SAFETY: the reader is this thread's.
            let table = unsafe { fibula_reader_table(reader) };
            for address in burst {
                let mut value = 0;
                // SAFETY: the table stays until the next burst.
                unsafe {
                    fibula_lookup4(table, address.to_be_bytes().as_ptr().cast(), &raw mut value, null_mut());
                }
                black_box(value);
            }
            lookups += burst.len() as u64;
            let host = c_prefix(Prefix::host(burst[thread]));
            let live = live.lock().unwrap();
            // SAFETY: the lock is held.
            unsafe {
                assert_eq!(
                    fibula_live_insert(
                        live.0,
                        &raw const host,
                        sets.fetch_add(1, Ordering::Relaxed) % VALUES
                    ),
                    0
                );
                // Readers that are in a burst hold it up; then the change waits for the next one.
                fibula_live_publish(live.0, 0);
            }
        }
        // SAFETY: this thread reads no more.
        unsafe { fibula_reader_free(reader) };
        lookups
    });
    println!("| libfibula | {lookups:.2} | {sets:.0} |");
    // SAFETY: nobody else has it.
    unsafe { fibula_live_free(live.into_inner().unwrap().0) };

    let tree = RwLock::new((rib.clone(), Fib::build("radix", rib).expect("it holds every table")));
    let (lookups, sets) = two_threads(|thread, done, sets| {
        let mut lookups = 0;
        for burst in addresses.chunks(BETWEEN).cycle() {
            if done.load(Ordering::Relaxed) {
                break;
            }
            for &address in burst {
                black_box(tree.read().unwrap().1.lookup_index(address));
            }
            lookups += burst.len() as u64;
            let (rib, fib) = &mut *tree.write().unwrap();
            let value = sets.fetch_add(1, Ordering::Relaxed) % VALUES;
            if let Some(delta) = rib.insert(Prefix::host(burst[thread]), NextHop(1 + value as u32)) {
                fib.apply(rib, &[delta]).expect("it follows in place");
            }
        }
        lookups
    });
    println!("| a radix tree behind a lock | {lookups:.2} | {sets:.0} |");
}

/// A live table, which one thread at a time uses.
struct Pointer(*mut Opaque);

// SAFETY: libfibula's tables may be used by one thread after the other.
unsafe impl Send for Pointer {}

/// Runs two threads for some time. Returns millions of lookups and sets a second, of both together.
fn two_threads(work: impl Fn(usize, &AtomicBool, &AtomicU64) -> u64 + Sync) -> (f64, f64) {
    let (done, sets) = (AtomicBool::new(false), AtomicU64::new(0));
    let start = Instant::now();
    let lookups: u64 = thread::scope(|scope| {
        let threads = [0, 1].map(|thread| {
            scope.spawn({
                let (work, done, sets) = (&work, &done, &sets);
                move || work(thread, done, sets)
            })
        });
        thread::sleep(TIME);
        done.store(true, Ordering::Relaxed);
        threads.map(|thread| thread.join().expect("no thread panics")).iter().sum()
    });
    let seconds = start.elapsed().as_secs_f64();
    (lookups as f64 / seconds / 1e6, sets.into_inner() as f64 / seconds)
}
