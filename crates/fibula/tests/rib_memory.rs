//! The memory of a full table, counted by the allocator itself. Times are printed, not asserted.
//! What each operation takes beside the standard library's map, in turns:
//!
//! ```sh
//! cargo test --release -p fibula --test rib_memory -- --ignored --nocapture
//! ```
//!
//! `FIBULA_ROUTES` names a file of lines `prefix TAB number` to take in place of drawn routes.

use fibula::{Address, NextHop, Prefix, Rib, Route};
use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::{BTreeMap, HashSet};
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// The system's allocator with a counter of the bytes allocated at the moment.
struct Counting;

static ALLOCATED: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged; the counter allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps this method's contract, which is the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        ALLOCATED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATED.fetch_add(size, Ordering::Relaxed);
        ALLOCATED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The size of a full Internet table of today.
const ROUTES: usize = 1_040_000;

/// SplitMix64 (Steele, Lea and Flood 2014): a well-mixed sequence from a counter.
fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Builds a table, prints how long that took, and checks that a route takes at most `most` bytes.
fn measured<A: Address>(what: &str, most: f64, make: impl FnOnce() -> Rib<A>) -> Rib<A> {
    let before = ALLOCATED.load(Ordering::Relaxed);
    let started = Instant::now();
    let rib = make();
    let elapsed = started.elapsed();
    let bytes = ALLOCATED.load(Ordering::Relaxed) - before;
    let each = bytes as f64 / rib.len() as f64;
    println!("{} {what}: {} routes, {each:.1} bytes each, {elapsed:.0?}", A::FAMILY, rib.len());
    assert_eq!(rib.len(), ROUTES);
    assert!(each < most, "{what}: {each} bytes a route");
    assert_eq!(rib.memory().total(), bytes, "{what}");
    rib
}

/// Draws routes of different prefixes.
fn drawn<A: Address>(count: usize, route: impl Fn(u64) -> Route<A>) -> Vec<Route<A>> {
    let mut state = 1;
    let mut seen = HashSet::new();
    let routes = std::iter::repeat_with(|| route(draw(&mut state)));
    routes.filter(|route| seen.insert(route.prefix)).take(count).collect()
}

/// Lengths as in today's tables: more than half at the longest that is announced, the others above
/// it.
fn ipv4(bits: u64) -> Route<u32> {
    let len = if bits & 1 == 0 { 24 } else { 16 + (bits >> 1 & 7) as u8 };
    let address = (bits >> 32) as u32;
    Route { prefix: Prefix::containing(address, len), next_hop: NextHop(1 + (bits >> 8 & 0xFF) as u32) }
}

fn ipv6(bits: u64) -> Route<u128> {
    let len = if bits & 1 == 0 { 48 } else { 29 + (bits >> 1 & 15) as u8 };
    let address = u128::from_bits(0x2000 << 16 | bits >> 32, 0, 48);
    Route { prefix: Prefix::containing(address, len), next_hop: NextHop(1 + (bits >> 8 & 0xFF) as u32) }
}

/// Inserts the routes one by one in random order, then builds the same table from sorted input. A
/// route takes no more bytes than these.
fn check<A: Address>(route: impl Fn(u64) -> Route<A>, [random, sorted]: [f64; 2]) {
    let routes = drawn(ROUTES, route);
    let mut at_random = measured("inserted in random order", random, || {
        let mut rib = Rib::new();
        for route in &routes {
            rib.insert(route.prefix, route.next_hop);
        }
        rib
    });
    let sorted = measured("made from sorted input", sorted, || at_random.iter().collect());
    assert_eq!(sorted, at_random);
    for route in &routes {
        at_random.remove(route.prefix);
    }
    assert!(at_random.is_empty());
    assert_eq!(at_random.memory().total(), 0);
}

#[test]
fn a_full_table_fits_its_bytes() {
    check(ipv4, [11.0, 9.8]);
    check(ipv6, [16.5, 14.3]);
}

/// The operations that are compared.
trait Map<A: Address> {
    fn of(routes: &[Route<A>]) -> Self;
    fn insert(&mut self, route: Route<A>);
    fn remove(&mut self, prefix: Prefix<A>);
    fn get(&self, prefix: Prefix<A>) -> Option<NextHop>;
    /// Returns the route that a search for covers begins with.
    fn cover(&self, host: Prefix<A>) -> Option<Route<A>>;
    /// Begins a walk over what a prefix covers.
    fn covered(&self, prefix: Prefix<A>) -> Option<Route<A>>;
    fn walk(&self) -> u64;
}

fn sum<A: Address>(routes: impl Iterator<Item = Route<A>>) -> u64 {
    let mut sum = 0_u64;
    for Route { prefix, next_hop } in routes {
        sum = sum.wrapping_add(prefix.first().bits(0, 64) ^ u64::from(prefix.len()) ^ u64::from(next_hop.0));
    }
    sum
}

impl<A: Address> Map<A> for Rib<A> {
    fn of(routes: &[Route<A>]) -> Self {
        routes.iter().copied().collect()
    }

    fn insert(&mut self, route: Route<A>) {
        self.insert(route.prefix, route.next_hop);
    }

    fn remove(&mut self, prefix: Prefix<A>) {
        self.remove(prefix);
    }

    fn get(&self, prefix: Prefix<A>) -> Option<NextHop> {
        self.get(prefix)
    }

    fn cover(&self, host: Prefix<A>) -> Option<Route<A>> {
        self.longest_cover(host)
    }

    fn covered(&self, prefix: Prefix<A>) -> Option<Route<A>> {
        self.covered(prefix).next()
    }

    fn walk(&self) -> u64 {
        sum(self.iter())
    }
}

impl<A: Address> Map<A> for BTreeMap<Prefix<A>, NextHop> {
    fn of(routes: &[Route<A>]) -> Self {
        routes.iter().map(|route| (route.prefix, route.next_hop)).collect()
    }

    fn insert(&mut self, route: Route<A>) {
        self.insert(route.prefix, route.next_hop);
    }

    fn remove(&mut self, prefix: Prefix<A>) {
        self.remove(&prefix);
    }

    fn get(&self, prefix: Prefix<A>) -> Option<NextHop> {
        self.get(&prefix).copied()
    }

    fn cover(&self, host: Prefix<A>) -> Option<Route<A>> {
        // The last bits of these hosts are theirs alone, so the first found is mostly the cover.
        self.range(..=host).next_back().map(|(&prefix, &next_hop)| Route { prefix, next_hop })
    }

    fn covered(&self, prefix: Prefix<A>) -> Option<Route<A>> {
        let mut range = self.range(prefix..=Prefix::host(prefix.last()));
        range.next().map(|(&prefix, &next_hop)| Route { prefix, next_hop })
    }

    fn walk(&self) -> u64 {
        sum(self.iter().map(|(&prefix, &next_hop)| Route { prefix, next_hop }))
    }
}

const COLUMNS: [&str; 11] = [
    "build",
    "bytes",
    "walk",
    "insert",
    "bytes",
    "walk",
    "get",
    "predecessor",
    "range",
    "remove",
    "bytes at half",
];

/// Has the compiler compute a value that nobody reads.
fn keep<T>(value: T) {
    let _ = black_box(value);
}

/// Returns the costs of a route: bytes, or nanoseconds.
fn costs<A: Address, M: Map<A>>(random: &[Route<A>]) -> [f64; COLUMNS.len()] {
    // Several small tables, since one would be over before the clock has moved.
    let tables = 200_000_usize.div_ceil(random.len());
    let routes = (random.len() * tables) as f64;
    let mut sorted = random.to_vec();
    sorted.sort();
    let allocated = || ALLOCATED.load(Ordering::Relaxed);
    let time = |work: &mut dyn FnMut()| {
        let started = Instant::now();
        work();
        started.elapsed().as_secs_f64() * 1e9 / routes
    };
    let mut maps: Vec<M> = Vec::with_capacity(tables);
    let before = allocated();
    let build = time(&mut || maps.extend((0..tables).map(|_| M::of(&sorted))));
    let built = (allocated() - before) as f64 / routes;
    let walk_built = time(&mut || maps.iter().for_each(|map| keep(map.walk())));
    maps.clear();
    maps.extend((0..tables).map(|_| M::of(&[])));
    let insert = time(&mut || {
        for map in &mut maps {
            for &route in random {
                map.insert(route);
            }
        }
    });
    let inserted = (allocated() - before) as f64 / routes;
    let each = |work: &dyn Fn(&M, Prefix<A>)| {
        time(&mut || {
            for map in &maps {
                for route in random {
                    work(map, route.prefix);
                }
            }
        })
    };
    let walk_inserted = time(&mut || maps.iter().for_each(|map| keep(map.walk())));
    let get = each(&|map, prefix| keep(map.get(prefix)));
    let cover = each(&|map, prefix| keep(map.cover(Prefix::host(prefix.last()))));
    let covered = each(&|map, prefix| keep(map.covered(prefix)));
    let half = random.len() / 2;
    let remove = time(&mut || {
        for map in &mut maps {
            random[..half].iter().for_each(|route| map.remove(route.prefix));
        }
    });
    let left = (allocated() - before) as f64 / routes;
    let (remove, left) = (remove * 2.0, left * 2.0);
    [build, built, walk_built, insert, inserted, walk_inserted, get, cover, covered, remove, left]
}

/// Prints the least of `TURNS` turns, since whatever else runs only adds to a time.
fn compare<A: Address>(routes: &[Route<A>]) {
    const TURNS: usize = 5;
    let mut least = [[f64::MAX; COLUMNS.len()]; 2];
    for _ in 0..TURNS {
        let turn = [costs::<A, BTreeMap<Prefix<A>, NextHop>>(routes), costs::<A, Rib<A>>(routes)];
        for (least, turn) in least.iter_mut().flatten().zip(turn.iter().flatten()) {
            *least = least.min(*turn);
        }
    }
    println!("\n{}, {} routes: bytes and nanoseconds a route", A::FAMILY, routes.len());
    for ((column, map), rib) in COLUMNS.iter().zip(least[0]).zip(least[1]) {
        println!("| {column} | {map:.1} | {rib:.1} |");
    }
}

#[test]
#[ignore = "measures"]
fn costs_beside_the_standard_map() {
    fn read<A: Address>(made: impl Fn(u64) -> Route<A>) -> Vec<Route<A>> {
        let Some(path) = std::env::var_os("FIBULA_ROUTES") else { return drawn(900_000, made) };
        let text = std::fs::read_to_string(path).unwrap();
        let mut routes: Vec<Route<A>> = Vec::new();
        for (prefix, number) in text.lines().filter_map(|line| line.split_once('\t')) {
            let Ok(prefix) = prefix.parse() else { continue };
            routes.push(Route { prefix, next_hop: NextHop(1 + number.parse().unwrap_or(0)) });
        }
        let mut state = 1;
        routes.sort_by_cached_key(|_| draw(&mut state));
        routes
    }
    fn sizes<A: Address>(routes: &[Route<A>]) {
        for count in [1000, 10_000, routes.len()].into_iter().filter(|&count| count <= routes.len()) {
            if count > 0 {
                compare(&routes[..count]);
            }
        }
    }
    sizes(&read(ipv4));
    sizes(&read(ipv6));
}
