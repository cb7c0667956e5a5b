//! The memory of a full table, counted by the allocator itself. Times are printed, not asserted.

use fibula::{Address, NextHop, Prefix, Rib, Route};
use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::HashSet;
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
/// The most bytes that one route may take.
const BYTES_PER_ROUTE: usize = 120;

/// SplitMix64 (Steele, Lea and Flood 2014): a well-mixed sequence from a counter.
fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Builds a table, prints how long that took, and checks that it does not exceed its bytes.
fn measured<A: Address>(what: &str, make: impl FnOnce() -> Rib<A>) -> Rib<A> {
    let before = ALLOCATED.load(Ordering::Relaxed);
    let started = Instant::now();
    let rib = make();
    let elapsed = started.elapsed();
    let bytes = ALLOCATED.load(Ordering::Relaxed) - before;
    let each = bytes as f64 / rib.len() as f64;
    println!("{} {what}: {} routes, {each:.1} bytes each, {elapsed:.0?}", A::FAMILY, rib.len());
    assert_eq!(rib.len(), ROUTES);
    assert!(bytes >= rib.len() * A::BITS as usize / 8, "the allocator did not count");
    assert!(bytes < rib.len() * BYTES_PER_ROUTE, "{what}: {each} bytes a route");
    let estimate = rib.memory().total() as f64 / bytes as f64;
    assert!((0.75..1.25).contains(&estimate), "{what}: {estimate} of the bytes estimated");
    rib
}

/// Inserts the routes one by one in random order, then builds the same table from sorted input.
fn check<A: Address>(route: impl Fn(u64) -> Route<A>) {
    let mut state = 1;
    let mut seen = HashSet::new();
    let mut routes = Vec::new();
    while routes.len() < ROUTES {
        let route = route(draw(&mut state));
        if seen.insert(route.prefix) {
            routes.push(route);
        }
    }
    let mut at_random = measured("inserted in random order", || {
        let mut rib = Rib::new();
        for route in &routes {
            rib.insert(route.prefix, route.next_hop);
        }
        rib
    });
    let sorted = measured("made from sorted input", || at_random.iter().collect());
    assert_eq!(sorted, at_random);
    for route in &routes {
        at_random.remove(route.prefix);
    }
    assert!(at_random.is_empty());
}

#[test]
fn a_full_table_fits_its_bytes() {
    // Lengths as in today's tables: more than half at the longest that is announced, the others
    // above it.
    check::<u32>(|bits| {
        let len = if bits & 1 == 0 { 24 } else { 16 + (bits >> 1 & 7) as u8 };
        let address = (bits >> 32) as u32;
        Route { prefix: Prefix::containing(address, len), next_hop: NextHop(1 + (bits >> 8 & 0xFF) as u32) }
    });
    check::<u128>(|bits| {
        let len = if bits & 1 == 0 { 48 } else { 29 + (bits >> 1 & 15) as u8 };
        let address = u128::from_bits(0x2000 << 16 | bits >> 32, 0, 48);
        Route { prefix: Prefix::containing(address, len), next_hop: NextHop(1 + (bits >> 8 & 0xFF) as u32) }
    });
}
