//! Checks every IPv4 address.

use super::{VerifyRow, build, width_of_all};
use crate::answers::Answers;
use crate::live_table::{LiveTable, TableReader};
use crate::mismatch::Tally;
use crate::{Error, Refusal};
use fibula::engine::Level;
use fibula::engine::Pages;
use fibula::engine::{Entry, WidthBits};
use fibula::{Address, Change, NextHop, Rib, Route};
use rayon::prelude::*;
use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// How to check every address.
#[derive(Clone, Debug)]
pub struct ExhaustiveOptions {
    /// The addresses: all of them by default.
    pub addresses: RangeInclusive<u32>,
    /// The number of addresses that are painted and looked up at once. The default (2^18) keeps a
    /// slice of the flat table, its addresses and the answers in a core's own cache.
    pub slice: usize,
    /// The number of changes that are applied together.
    pub batch: usize,
    /// The width to build at; the narrowest that holds the table and all changes when `None`.
    pub width: Option<WidthBits>,
    /// The instruction set of the batches.
    pub isa: Level,
    /// The pages that large arrays ask for.
    pub pages: Pages,
}

impl Default for ExhaustiveOptions {
    fn default() -> Self {
        Self {
            addresses: 0..=u32::MAX,
            slice: 1 << 18,
            batch: 100,
            width: None,
            isa: Level::best(),
            pages: Pages::Small,
        }
    }
}

impl ExhaustiveOptions {
    fn slice(&self) -> usize {
        self.slice.clamp(1, 1 << 24)
    }
}

/// Compares an engine's answers for every address with a flat table, after the engine has applied
/// `changes`. Changes that it refuses are taken back. The flat table has one cell
/// per address, painted with all routes in the order of their lengths, so that the longest is on
/// top. It uses only the table's list of routes: neither its search, nor its intervals, nor the
/// oracle.
///
/// Slices are shared among all cores. `progress` is called from any thread with the number of
/// addresses done so far.
///
/// # Errors
/// If the specification names no engine; `Ok(Err(refusal))` if the engine refuses the table.
pub fn exhaustive(
    engines: &'static [Entry],
    specification: &str,
    rib: &Rib<u32>,
    changes: &[Change<u32>],
    options: &ExhaustiveOptions,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Result<VerifyRow, Refusal>, Error> {
    let width = options.width.unwrap_or_else(|| width_of_all(rib, changes));
    let mut fib = match build(engines, specification, rib, width, options.pages) {
        Ok(fib) => fib,
        Err(error) => return Refusal::of::<u32>(specification, error).map(Err),
    };
    let mut rib = Cow::Borrowed(rib);
    for batch in changes.chunks(options.batch.max(1)) {
        let rib = rib.to_mut();
        let deltas = rib.apply_all(batch.iter().copied()).deltas;
        if fib.apply(rib, &deltas).is_err() {
            rib.take_back(&deltas);
        }
    }
    fib.set_isa(options.isa);
    let buffers = || Answers::new(width, options.slice());
    let ask = |answers: &mut Answers, addresses: &[u32], flat: &[u32]| {
        answers.poison();
        fib.lookup_batch_into(addresses, answers.first(flat.len()));
        let right = answers.begin_with(flat);
        Ok(if right { Tally::of_right(flat.len()) } else { tally(addresses, flat, |at| answers.get(at)) })
    };
    let tally = each_slice(&rib, options, buffers, ask, progress)?;
    Ok(Ok(row(specification, width, options.isa.name(), &tally)))
}

/// Checks a table that is live, called `name` in the row; `isa` is its instruction set.
///
/// # Errors
/// If the table is lost.
///
/// # Panics
/// If a lookup panics.
pub fn exhaustive_on<L: LiveTable<u32> + Sync>(
    live: &L,
    name: &str,
    isa: &'static str,
    options: &ExhaustiveOptions,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<VerifyRow, Error> {
    // A reader may be expensive (a lane of a card with its buffers): there are no more than threads
    // that look up at once.
    let idle = Mutex::new((0, Vec::new()));
    let reader = || {
        let (made, idle) = &mut *idle.lock().expect("nobody panics with the lock");
        idle.pop().map_or_else(
            || {
                *made += 1;
                live.reader(*made - 1, options.slice())
            },
            Ok,
        )
    };
    let ask = |(): &mut (), addresses: &[u32], flat: &[u32]| {
        let mut reader = reader()?;
        reader.look_up(addresses)?;
        let tally = tally(addresses, flat, |at| reader.answer(at));
        idle.lock().expect("nobody panics with the lock").1.push(reader);
        Ok(tally)
    };
    let tally = each_slice(live.rib(), options, || (), ask, progress)?;
    Ok(row(name, live.width(), isa, &tally))
}

/// Paints every slice and checks it, on all cores; `buffers` makes a core's own buffers.
fn each_slice<B>(
    rib: &Rib<u32>,
    options: &ExhaustiveOptions,
    buffers: impl Fn() -> B + Sync,
    ask: impl Fn(&mut B, &[u32], &[u32]) -> Result<Tally<u32>, Error> + Sync,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Tally<u32>, Error> {
    let routes = ByLength::new(rib);
    let (first, last) = (u64::from(*options.addresses.start()), u64::from(*options.addresses.end()));
    let slice = options.slice();
    let slices = (last + 1).saturating_sub(first).div_ceil(slice as u64);
    let done = AtomicU64::new(0);
    let buffers = || (vec![0; slice], vec![0; slice], buffers());
    let one = |(flat, addresses, buffers): &mut (Vec<u32>, Vec<u32>, B), index: u64| {
        let from = first + index * slice as u64;
        let count = (last + 1 - from).min(slice as u64) as usize;
        let (flat, addresses) = (&mut flat[..count], &mut addresses[..count]);
        for (offset, address) in addresses.iter_mut().enumerate() {
            *address = from as u32 + offset as u32;
        }
        routes.paint(from as u32, flat);
        let tally = ask(buffers, addresses, flat)?;
        progress(done.fetch_add(count as u64, Ordering::Relaxed) + count as u64);
        Ok(tally)
    };
    let tallies = (0..slices).into_par_iter().map_init(buffers, one);
    tallies.try_reduce(Tally::new, |one, other| Ok(one.merge(other)))
}

/// Compares the answers for addresses with the flat table.
fn tally(addresses: &[u32], flat: &[u32], answer: impl Fn(usize) -> NextHop) -> Tally<u32> {
    let mut tally = Tally::new();
    for (index, (&address, &expected)) in addresses.iter().zip(flat).enumerate() {
        tally.compare(address, NextHop(expected), answer(index));
    }
    tally
}

fn row(engine: &str, width: WidthBits, isa: &'static str, tally: &Tally<u32>) -> VerifyRow {
    VerifyRow {
        engine: engine.into(),
        family: u32::FAMILY.to_string(),
        width: width.bits(),
        path: "exhaustive",
        isa,
        probes: tally.probes,
        mismatches: tally.mismatches,
        first: tally.shown(engine, isa),
        contradiction: None,
    }
}

/// All routes by length. Those of one length are in order of address.
struct ByLength([Vec<Route<u32>>; 33]);

impl ByLength {
    fn new(rib: &Rib<u32>) -> Self {
        let mut lengths = [const { Vec::new() }; 33];
        for route in rib {
            lengths[usize::from(route.prefix.len())].push(route);
        }
        Self(lengths)
    }

    /// Paints the cells of the addresses from `from`.
    fn paint(&self, from: u32, cells: &mut [u32]) {
        cells.fill(NextHop::NONE.0);
        let last = from + (cells.len() - 1) as u32;
        for routes in &self.0 {
            // Routes of one length do not overlap: those that touch the cells are consecutive.
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
