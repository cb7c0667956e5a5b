//! A run-off: two compiled tables look up the same addresses in turn, and the better is kept.
//!
//! It takes a small part of the time of a build: [`PASSES`] passes over at least [`LEAST`]
//! addresses, one of each prefix or more. With fewer, a large table would be asked for what the
//! caches hold since the pass before, and no size would show. What else the machine does meanwhile
//! only makes a pass slower, so the fastest pass of each counts. Never are more than two tables in
//! memory.

use super::View;
use super::survey::{Calls, price};
use crate::{Address, NextHop, Rib};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The addresses of a pass, if the table has no more routes, and of any.
const LEAST: usize = 1 << 16;
const MOST: usize = 1 << 20;

/// The passes of each table.
const PASSES: usize = 3;

/// The share of the first table's time that another must save to be taken instead.
const CLEARLY: f32 = 0.1;

/// The lengths of the calls that the addresses are divided among, where a table is for calls of any
/// length; single lookups besides.
const LENGTHS: [usize; 2] = [32, 1024];

/// The addresses of a run-off.
pub(super) struct RunOff<A> {
    addresses: Vec<A>,
    next_hops: Vec<NextHop>,
    calls: Calls,
    routes: usize,
}

impl<A: Address> RunOff<A> {
    pub(super) fn new(rib: &Rib<A>, calls: Calls) -> Self {
        let addresses = addresses(rib);
        Self { next_hops: vec![NextHop::NONE; addresses.len()], addresses, calls, routes: rib.len() }
    }

    /// Returns whether a table of `bytes` is to be taken instead of the first, which stays unless
    /// the other is clearly better.
    pub(super) fn is_better(
        &mut self,
        (other, other_bytes): (&(impl View<A> + ?Sized), usize),
        (first, first_bytes): (&(impl View<A> + ?Sized), usize),
    ) -> bool {
        let mut times = [Duration::MAX; 2];
        for _ in 0..PASSES {
            times = [times[0].min(self.pass(first)), times[1].min(self.pass(other))];
        }
        let [first, other] = times.map(|time| time.as_secs_f32() * 1e9 / self.addresses.len() as f32);
        let price = |bytes| price(bytes, self.routes);
        other + price(other_bytes) + CLEARLY * first < first + price(first_bytes)
    }

    /// Looks all addresses up once.
    fn pass(&mut self, table: &(impl View<A> + ?Sized)) -> Duration {
        let Self { addresses, next_hops, calls, .. } = self;
        let start = Instant::now();
        match calls {
            Calls::Many => table.lookup_batch(addresses, next_hops),
            Calls::Any => {
                let third = addresses.len() / (1 + LENGTHS.len());
                let (single, rest) = addresses.split_at(third);
                for &address in single {
                    black_box(table.lookup_index(address));
                }
                for (addresses, length) in rest.chunks(third.max(1)).zip(LENGTHS) {
                    for addresses in addresses.chunks(length) {
                        table.lookup_batch(addresses, &mut next_hops[..addresses.len()]);
                    }
                }
            }
        }
        start.elapsed()
    }
}

/// Returns addresses within the prefixes of a table, in no order: at most [`MOST`]. O(n).
fn addresses<A: Address>(rib: &Rib<A>) -> Vec<A> {
    let mut state = 0_u64;
    let mut random = || {
        // SplitMix64.
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    };
    let (step, each) = (rib.len().div_ceil(MOST).max(1), (LEAST / rib.len().max(1)).max(1));
    let mut addresses: Vec<A> = Vec::with_capacity(rib.len() / step * each + 1);
    for route in rib.iter().step_by(step).flat_map(|route| std::iter::repeat_n(route, each)) {
        let host = A::from_bits(random(), 0, 64) | A::from_bits(random(), A::BITS.saturating_sub(64), 64);
        addresses.push(route.prefix.first() | (host & !A::mask(route.prefix.len())));
    }
    for at in (1..addresses.len()).rev() {
        addresses.swap(at, (random() % (at as u64 + 1)) as usize);
    }
    addresses
}
