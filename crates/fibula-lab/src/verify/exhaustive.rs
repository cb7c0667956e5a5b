//! Every IPv4 address there is.

use super::{VerifyRow, build};
use crate::answers::Answers;
use crate::mismatch::Tally;
use crate::{Error, Refusal};
use fibula::arch::Level;
use fibula::engine::{Entry, WidthBits};
use fibula::memory::Pages;
use fibula::{Address, NextHop, Rib, Route};
use rayon::prelude::*;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};

/// How to verify every address.
#[derive(Clone, Debug)]
pub struct ExhaustiveOptions {
    /// The addresses: all of them by default.
    pub addresses: RangeInclusive<u32>,
    /// How many addresses are painted and asked at once. The default (2^18) keeps a slice of the flat table,
    /// its addresses and the answers in a core's own cache.
    pub slice: usize,
    /// The width to build at; the narrowest that holds the table when `None`.
    pub width: Option<WidthBits>,
    /// The instruction set of the batches.
    pub isa: Level,
    /// The pages large arrays ask for.
    pub pages: Pages,
}

impl Default for ExhaustiveOptions {
    fn default() -> Self {
        Self { addresses: 0..=u32::MAX, slice: 1 << 18, width: None, isa: Level::best(), pages: Pages::Small }
    }
}

/// Compares an engine's answers for every address with a flat table: one cell an address, painted with all
/// routes in the order of their lengths, so that the longest is on top. That uses nothing of the table but
/// its list of routes: neither its search, nor its intervals, nor the oracle.
///
/// Slices are shared among all cores. `progress` is called with the number of addresses done so far, from any
/// thread.
///
/// # Errors
/// If the engine cannot be built; `Ok(Err(refusal))` if it is only that the table exceeds one of its limits.
pub fn exhaustive(
    engines: &[Entry],
    specification: &str,
    rib: &Rib<u32>,
    options: &ExhaustiveOptions,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Result<VerifyRow, Refusal>, Error> {
    let width = options.width.unwrap_or(WidthBits::holding(rib.max_next_hop()));
    let mut fib = match build(engines, specification, rib, width, options.pages) {
        Ok(fib) => fib,
        Err(error) => return Refusal::of_limit(specification, error).map(Err),
    };
    fib.set_isa(options.isa);
    let routes = ByLength::new(rib);
    let (first, last) = (u64::from(*options.addresses.start()), u64::from(*options.addresses.end()));
    let slice = options.slice.clamp(1, 1 << 24);
    let slices = (last + 1).saturating_sub(first).div_ceil(slice as u64);
    let done = AtomicU64::new(0);

    let buffers = || (vec![0; slice], vec![0; slice], Answers::new(width, slice));
    let ask = |(flat, addresses, answers): &mut (Vec<u32>, Vec<u32>, Answers), index: u64| {
        let from = first + index * slice as u64;
        let count = (last + 1 - from).min(slice as u64) as usize;
        let (flat, addresses) = (&mut flat[..count], &mut addresses[..count]);
        for (offset, address) in addresses.iter_mut().enumerate() {
            *address = from as u32 + offset as u32;
        }
        routes.paint(from as u32, flat);
        answers.poison();
        fib.lookup_batch_into(addresses, answers.first(count));
        let mut tally = Tally::new();
        if answers.begin_with(flat) {
            tally.probes = count as u64;
        } else {
            for (offset, &expected) in flat.iter().enumerate() {
                tally.compare(addresses[offset], NextHop(expected), answers.get(offset));
            }
        }
        progress(done.fetch_add(count as u64, Ordering::Relaxed) + count as u64);
        tally
    };
    let tally = (0..slices).into_par_iter().map_init(buffers, ask).reduce(Tally::new, Tally::merge);
    Ok(Ok(VerifyRow {
        engine: specification.into(),
        family: u32::FAMILY.to_string(),
        width: width.bits(),
        path: "exhaustive",
        isa: options.isa.name(),
        probes: tally.probes,
        mismatches: tally.mismatches,
        first: tally.shown(specification, options.isa.name()),
        contradiction: None,
    }))
}

/// All routes by length, those of one length in order of address.
struct ByLength([Vec<Route<u32>>; 33]);

impl ByLength {
    fn new(rib: &Rib<u32>) -> Self {
        let mut lengths = [const { Vec::new() }; 33];
        for route in rib {
            lengths[usize::from(route.prefix.len())].push(route);
        }
        Self(lengths)
    }

    /// Paints the cells of the addresses from `from` on.
    fn paint(&self, from: u32, cells: &mut [u32]) {
        cells.fill(NextHop::NONE.0);
        let last = from + (cells.len() - 1) as u32;
        for routes in &self.0 {
            // Routes of one length do not overlap: those that touch the cells stand together.
            let begin = routes.partition_point(|route| route.prefix.last() < from);
            for Route { prefix, next_hop } in &routes[begin..] {
                if prefix.first() > last {
                    break;
                }
                let begin = prefix.first().max(from) - from;
                let end = prefix.last().min(last) - from;
                cells[begin as usize..=end as usize].fill(next_hop.0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_route_is_painted_last() {
        let rib: Rib<u32> =
            [("0.0.0.0/0", 1), ("0.0.0.4/30", 2), ("0.0.0.6/32", 3), ("255.255.255.255/32", 4)]
                .map(|(prefix, next_hop)| Route {
                    prefix: prefix.parse().unwrap(),
                    next_hop: NextHop(next_hop),
                })
                .into_iter()
                .collect();
        let routes = ByLength::new(&rib);
        let mut cells = [9; 6];
        routes.paint(3, &mut cells);
        assert_eq!(cells, [1, 2, 2, 3, 2, 1]);
        routes.paint(u32::MAX - 5, &mut cells);
        assert_eq!(cells, [1, 1, 1, 1, 1, 4]);
    }
}
