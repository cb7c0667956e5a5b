//! A run-off: compiled tables look up the same addresses in turn, and the fastest is taken.
//!
//! It takes a millisecond or two for each table, besides their builds: [`PASSES`] passes over
//! [`ADDRESSES`] addresses, drawn from the prefixes as packets are. What else the machine does
//! meanwhile only makes a pass slower, so the fastest pass of each counts.

use super::View;
use crate::{Address, NextHop, Rib};
use std::time::{Duration, Instant};

/// The addresses of a pass.
const ADDRESSES: usize = 1 << 16;

/// The passes of each table.
const PASSES: usize = 5;

/// The share of the first table's time that another must be under to be taken instead.
const CLEARLY: f64 = 0.9;

/// Returns the position of the fastest of some tables, which are all compiled from `rib`. The
/// first, which was to be taken without a run-off, stays unless another is clearly faster.
pub(super) fn fastest<'t, A: Address, V: View<A> + ?Sized + 't>(
    rib: &Rib<A>,
    tables: impl Iterator<Item = &'t V>,
) -> usize {
    let addresses = addresses(rib);
    let mut next_hops = vec![NextHop::NONE; addresses.len()];
    let mut times: Vec<(&V, Duration)> = tables.map(|table| (table, Duration::MAX)).collect();
    for _ in 0..PASSES {
        for (table, least) in &mut times {
            let start = Instant::now();
            table.lookup_batch(&addresses, &mut next_hops);
            *least = start.elapsed().min(*least);
        }
    }
    let first = times[0].1.mul_f64(CLEARLY);
    let others = times.iter().enumerate().skip(1).filter(|(_, (_, time))| *time < first);
    others.min_by_key(|(_, (_, time))| *time).map_or(0, |(at, _)| at)
}

/// Returns addresses within the prefixes of a table, in no order: at most [`ADDRESSES`]. O(n).
fn addresses<A: Address>(rib: &Rib<A>) -> Vec<A> {
    let mut state = 0_u64;
    let mut random = || {
        // SplitMix64.
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    };
    let mut addresses: Vec<A> = Vec::with_capacity(ADDRESSES);
    let (step, each) = (rib.len().div_ceil(ADDRESSES).max(1), (ADDRESSES / rib.len().max(1)).max(1));
    for route in rib.iter().step_by(step).flat_map(|route| std::iter::repeat_n(route, each)) {
        let host = A::from_bits(random(), 0, 64) | A::from_bits(random(), A::BITS.saturating_sub(64), 64);
        addresses.push(route.prefix.first() | (host & !A::mask(route.prefix.len())));
    }
    for at in (1..addresses.len()).rev() {
        addresses.swap(at, (random() % (at as u64 + 1)) as usize);
    }
    addresses
}
