//! Verifies an engine after its table has changed.

use super::{STRUCTURE, VerifyOptions, VerifyRow, build, probes, rows};
use crate::live_table::{JUDGED_AT_ONCE, LiveTable, TableReader, tally};
use crate::mismatch::{Tally, in_one_line};
use crate::{Error, Expected, Mismatch, Refusal};
use fibula::engine::{Cost, Entry, WidthBits};
use fibula::{Address, Applied, Change, Delta, Fib, NextHop, Prefix, Rib};
use serde::Serialize;
use std::time::Duration;

/// The growth in percent of a fresh build of the same table above which memory counts as leaked. A
/// tenth allows for spare memory and fragments.
const MOST_GROWTH_PERCENT: usize = 10;
/// Growth that is allowed on top, for tables so small that a page is much.
const MOST_GROWTH_BYTES: usize = 64 << 10;

/// How to verify a changing table.
#[derive(Clone, Debug)]
pub struct UpdateOptions {
    /// The number of changes that are applied together. Those to one prefix become one.
    pub batch: usize,
    /// The engine's structure is checked after every `validate_every` batches (and at the end); 0
    /// for only at the end.
    pub validate_every: usize,
    /// The width to build at; the narrowest that holds the table and all changes when `None`.
    pub width: Option<WidthBits>,
    /// How the table is verified at the end.
    pub verify: VerifyOptions,
}

impl Default for UpdateOptions {
    fn default() -> Self {
        Self { batch: 100, validate_every: 0, width: None, verify: VerifyOptions::default() }
    }
}

/// The results of verifying a changing table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UpdateRow {
    /// The engine's specification.
    pub engine: String,
    /// `ipv4` or `ipv6`.
    pub family: String,
    /// The width of the answers in bits.
    pub width: u8,
    /// The changes handed in.
    pub updates: u64,
    /// Changes that changed nothing.
    pub suppressed: u64,
    /// Changes that a later one in the same batch replaced or took back.
    pub coalesced: u64,
    /// The changes of single prefixes that the engine was told of and applied.
    pub applied: u64,
    /// The changes that the engine refused and that were taken back.
    pub refused: u64,
    /// The batches that the engine applied in place.
    pub in_place: u64,
    /// The batches for which it was rebuilt.
    pub rebuilt: u64,
    /// Entries, nodes and blocks written, in the papers' units.
    #[serde(serialize_with = "cost")]
    pub cost: Cost,
    /// Its memory before, in bytes.
    pub bytes_before: usize,
    /// Its memory now.
    pub bytes_after: usize,
    /// The memory of a fresh build of the present table.
    pub bytes_fresh: usize,
    /// Whether its memory exceeds that of a fresh build by more than a tenth and 64 KiB.
    pub leaked: bool,
    /// Addresses looked up, while the table changed and afterwards.
    pub probes: u64,
    /// The number of wrong answers.
    pub mismatches: u64,
    /// The first wrong answers.
    #[serde(serialize_with = "in_one_line")]
    pub first: Vec<Mismatch>,
    /// The contradiction that the engine's own check found, with the batch where it was found
    /// first.
    pub contradiction: Option<String>,
}

impl UpdateRow {
    /// The row before the first change.
    fn new<A: Address>(engine: &str, width: WidthBits, updates: usize, bytes: usize) -> Self {
        Self {
            engine: engine.into(),
            family: A::FAMILY.to_string(),
            width: width.bits(),
            updates: updates as u64,
            suppressed: 0,
            coalesced: 0,
            applied: 0,
            refused: 0,
            in_place: 0,
            rebuilt: 0,
            cost: Cost::default(),
            bytes_before: bytes,
            bytes_after: 0,
            bytes_fresh: 0,
            leaked: false,
            probes: 0,
            mismatches: 0,
            first: Vec::new(),
            contradiction: None,
        }
    }

    /// Sets the memory at the end, and that of a fresh build.
    fn weigh(&mut self, after: usize, fresh: usize) {
        (self.bytes_after, self.bytes_fresh) = (after, fresh);
        self.leaked = after > fresh + fresh * MOST_GROWTH_PERCENT / 100 + MOST_GROWTH_BYTES;
    }

    /// Returns whether every answer was right, the structure sound and no memory leaked.
    #[must_use]
    pub fn is_right(&self) -> bool {
        self.mismatches == 0 && self.contradiction.is_none() && !self.leaked
    }
}

fn cost<S: serde::Serializer>(cost: &Cost, serializer: S) -> Result<S::Ok, S::Error> {
    use serde::ser::SerializeMap;
    let mut map = serializer.serialize_map(Some(5))?;
    map.serialize_entry("entries_set", &cost.entries_set)?;
    map.serialize_entry("nodes_copied", &cost.nodes_copied)?;
    map.serialize_entry("nodes_allocated", &cost.nodes_allocated)?;
    map.serialize_entry("chunks_rebuilt", &cost.chunks_rebuilt)?;
    map.serialize_entry("on_chip_writes", &cost.on_chip_writes)?;
    map.end()
}

/// Lets an engine apply `changes` to a table and verifies it: after every batch around each prefix
/// that changed (against the table's own search), and at the end like [`verify`](super::verify).
///
/// # Errors
/// If the specification names no engine; `Ok(Err(refusal))` if the engine refuses the first table.
/// A limit met on the way is no error: the batch is taken back and counted, and the engine must
/// answer as before it.
pub fn updates<A: Address>(
    engines: &'static [Entry],
    specification: &str,
    rib: &Rib<A>,
    changes: &[Change<A>],
    options: &UpdateOptions,
) -> Result<Result<UpdateRow, Refusal>, Error> {
    let width = options.width.unwrap_or_else(|| width_of_all(rib, changes));
    let fresh = |rib: &Rib<A>| build(engines, specification, rib, width, options.verify.pages);
    let mut fib = match fresh(rib) {
        Ok(fib) => fib,
        Err(error) => return Refusal::of::<A>(specification, error).map(Err),
    };
    let mut rib = rib.clone();
    let mut row = UpdateRow::new::<A>(specification, fib.width(), changes.len(), fib.memory().total());
    let mut tally = Tally::new();
    for (index, batch) in changes.chunks(options.batch.max(1)).enumerate() {
        let came_to = rib.apply_all(batch.iter().copied());
        row.suppressed += came_to.suppressed as u64;
        row.coalesced += came_to.coalesced as u64;
        if came_to.deltas.is_empty() {
            continue;
        }
        match fib.apply(&rib, &came_to.deltas) {
            Ok(Applied::InPlace(cost)) => {
                row.cost += cost;
                row.in_place += 1;
                row.applied += came_to.deltas.len() as u64;
            }
            Ok(Applied::Rebuilt) => {
                row.rebuilt += 1;
                row.applied += came_to.deltas.len() as u64;
            }
            Err(_) => {
                rib.take_back(&came_to.deltas);
                row.refused += came_to.deltas.len() as u64;
            }
        }
        tally = tally.merge(ask_around(&fib, &rib, &came_to.deltas));
        if options.validate_every != 0 && (index + 1) % options.validate_every == 0 {
            let found = fib.validate(&rib).err();
            row.contradiction =
                row.contradiction.or(found.map(|found| format!("batch {}: {found}", index + 1)));
        }
    }
    row.weigh(fib.memory().total(), fresh(&rib).map_or(0, |fib| fib.memory().total()));
    row.probes = tally.probes;
    row.mismatches = tally.mismatches;
    row.first = tally.shown(specification, "lookup");
    let mut random = fastrand::Rng::with_seed(options.verify.seed);
    let mut expected = Expected::new(&rib, probes(&rib, options.verify.random, &mut random))?;
    expected.shuffle(&mut random);
    for VerifyRow { path, probes, mismatches, first, contradiction, .. } in
        rows(specification, fib, &rib, &expected, &options.verify)
    {
        row.probes += probes;
        row.mismatches += if path == STRUCTURE { 0 } else { mismatches };
        row.first.extend(first);
        row.contradiction = row.contradiction.or(contradiction);
    }
    Ok(Ok(row))
}

/// Verifies a table that is live, called `name` in the row. It publishes at most `options.batch`
/// changes together. `fresh` returns the bytes of another table with the routes of the end; `path`
/// is the name of what ran.
///
/// # Errors
/// If the table is lost.
pub fn updates_on<A: Address>(
    live: &mut impl LiveTable<A>,
    name: &str,
    path: &'static str,
    changes: &[Change<A>],
    fresh: impl FnOnce(&Rib<A>) -> Result<usize, Error>,
    options: &UpdateOptions,
) -> Result<UpdateRow, Error> {
    let mut row = UpdateRow::new::<A>(name, live.width(), changes.len(), live.bytes());
    let readers = (0..live.places()).map(|place| live.reader(place, JUDGED_AT_ONCE));
    let mut readers = readers.collect::<Result<Vec<_>, _>>()?;
    let mut all = Tally::new();
    for batch in changes.chunks(options.batch.max(1)) {
        batch.iter().try_for_each(|&change| live.change(change, Duration::ZERO))?;
        live.poll(Duration::MAX)?;
        let addresses: Vec<A> = batch.iter().flat_map(|change| around(change.prefix())).collect();
        for reader in &mut readers {
            for addresses in addresses.chunks(JUDGED_AT_ONCE) {
                reader.look_up(addresses)?;
                for (index, &address) in addresses.iter().enumerate() {
                    all.compare(address, longest_match(live.rib(), address), reader.answer(index));
                }
            }
        }
    }
    let counts = live.counts();
    row.suppressed = counts.suppressed;
    row.coalesced = counts.coalesced;
    row.applied = counts.applied;
    row.refused = counts.refused;
    row.rebuilt = counts.rebuilt;
    row.in_place = counts.publications - counts.rebuilt;
    row.weigh(live.bytes(), fresh(live.rib())?);
    let mut random = fastrand::Rng::with_seed(options.verify.seed);
    let expected = Expected::new(live.rib(), probes(live.rib(), options.verify.random, &mut random))?;
    for reader in &mut readers {
        all = all.merge(tally(reader, &expected)?);
    }
    (row.probes, row.mismatches, row.first) = (all.probes, all.mismatches, all.shown(name, path));
    Ok(row)
}

/// Returns the narrowest width that holds a table and all its changes.
#[must_use]
pub fn width_of_all<A: Address>(rib: &Rib<A>, changes: &[Change<A>]) -> WidthBits {
    let announced = changes.iter().map(|change| match change {
        Change::Announce(route) => route.next_hop,
        Change::Withdraw(_) => NextHop::NONE,
    });
    WidthBits::holding(announced.max().unwrap_or_default().max(rib.max_next_hop()))
}

/// Returns both ends of a prefix, and the addresses beside them.
fn around<A: Address>(prefix: Prefix<A>) -> impl Iterator<Item = A> {
    let beside = prefix.first().previous().into_iter().chain(prefix.last().next());
    [prefix.first(), prefix.last()].into_iter().chain(beside)
}

/// Looks up both ends of what has changed.
fn ask_around<A: Address>(fib: &Fib<A>, rib: &Rib<A>, deltas: &[Delta<A>]) -> Tally<A> {
    let mut tally = Tally::new();
    for address in deltas.iter().flat_map(|delta| around(delta.prefix)) {
        tally.compare(address, longest_match(rib, address), fib.lookup_index(address));
    }
    tally
}

/// Returns the answer of the table's own search.
fn longest_match<A: Address>(rib: &Rib<A>, address: A) -> NextHop {
    rib.longest_match(address).map_or(NextHop::NONE, |route| route.next_hop)
}
