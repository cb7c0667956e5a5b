//! Measures an engine while its table changes. Readers look up on their own cores while a writer
//! applies updates.
//!
//! What a figure means:
//! - **Visible**: the time from the moment a change was to be handed in until the store that made
//!   its publication visible. Where a pace is kept, that moment is the change's time in the stream,
//!   so that a late change counts as late.
//! - **Readers**: each on its own core, in batches, one guard per batch. Their speed is counted for
//!   some time before the changes, during them, and for some time after.
//! - **Wrong**: between batches, readers look up an address that a change touches. Until the writer
//!   begins the next publication, the answer must be the table's before or after it; once the
//!   writer says that it is done, the one after. At the end the answers at all interval boundaries
//!   are compared with an oracle's, built from the table that the changes give without the engine.

mod flap;
mod reader;
mod watch;
mod writer;

pub use flap::Flap;

use crate::live_table::LiveTable;
use crate::verify::probes;
use crate::{Error, Expected, Refusal};
use core_affinity::CoreId;
use fibula::engine::{Config, Entry};
use fibula::live::{Live, Settings};
use fibula::{Address, Change, Fib, NextHop, Rib};
use reader::Readers;
use serde::Serialize;
use std::time::Duration;
use watch::Watch;
use writer::Writer;

/// How to replay.
#[derive(Clone, Debug)]
pub struct ReplayOptions {
    /// The number of threads that look up.
    pub readers: usize,
    /// The number of addresses that they look up under one guard.
    pub reader_batch: usize,
    /// When each change is handed in, since the start; `None` for as soon as possible.
    pub pace: Option<Vec<Duration>>,
    /// How changes are collected. No more than `most_changes` are handed in before those are
    /// published.
    pub settings: Settings,
    /// How the engine is built.
    pub config: Config,
    /// The time for which readers are counted before the changes, and again after them.
    pub span: Duration,
    /// The number of random addresses that are checked at the end, besides those around prefixes
    /// and intervals.
    pub random: usize,
}

impl Default for ReplayOptions {
    fn default() -> Self {
        Self {
            readers: 1,
            reader_batch: 1024,
            pace: None,
            settings: Settings::default(),
            config: Config::default(),
            span: Duration::from_millis(500),
            random: 100_000,
        }
    }
}

/// The results of a replay.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReplayRow {
    /// The engine's specification.
    pub engine: String,
    /// `ipv4` or `ipv6`.
    pub family: String,
    /// The table's name.
    pub table: String,
    /// Its routes before the changes.
    pub prefixes: u64,
    /// The changes handed in.
    pub updates: u64,
    /// The changes of single prefixes that were published.
    pub applied: u64,
    /// Changes that changed nothing.
    pub suppressed: u64,
    /// Changes that a later one in the same publication replaced or took back.
    pub coalesced: u64,
    /// Changes handed in per second, from the first until all are visible.
    pub updates_per_s: f64,
    /// The median of the time until visible, in microseconds.
    pub visible_us_p50: f64,
    /// Its 99th percentile.
    pub visible_us_p99: f64,
    /// Its 99.9th percentile.
    pub visible_us_p999: f64,
    /// The number of threads that looked up.
    pub readers: u64,
    /// Million lookups a second of all readers before the changes.
    pub mlps_before: f64,
    /// The same during the changes.
    pub mlps_during: f64,
    /// The same after the changes.
    pub mlps_after: f64,
    /// Answers that belong to no table, or to one that had been replaced, and wrong ones at the
    /// end.
    pub wrong: u64,
    /// The engine's memory before the changes, all copies together, in bytes.
    pub bytes_before: u64,
    /// Its memory after them.
    pub bytes_after: u64,
    /// The changes of single prefixes that exceeded a limit and were taken back.
    #[serde(skip)]
    pub refused: u64,
    /// The number of publications.
    #[serde(skip)]
    pub publications: u64,
    /// The publications for which a table was rebuilt.
    #[serde(skip)]
    pub rebuilt: u64,
    /// The answers that readers compared while the table changed.
    #[serde(skip)]
    pub compared: u64,
}

/// The table, changes and addresses of a replay.
#[derive(Clone, Copy, Debug)]
pub struct Stream<'s, A: Address> {
    /// The table's name in the results.
    pub table: &'s str,
    /// The table before the changes.
    pub rib: &'s Rib<A>,
    /// The changes, in order.
    pub changes: &'s [Change<A>],
    /// The addresses that readers look up, again and again; at least one.
    pub addresses: &'s [A],
}

/// Replays changes on one engine while readers look up.
///
/// # Errors
/// If there is nothing to look up, or the specification names no engine. `Ok(Err(refusal))` if the
/// engine refuses the first table. A limit met on the way is no error: those changes are taken back
/// and counted.
///
/// # Panics
/// If a lookup or an update panics.
///
/// ```
/// use fibula::{Change, NextHop, Rib, Route, engine::ENGINES};
/// use fibula_lab::replay::{ReplayOptions, Stream, replay};
/// use std::time::Duration;
/// let route = Route { prefix: "192.0.2.0/24".parse()?, next_hop: NextHop(1) };
/// let announce = Change::Announce(route);
/// let changes = [announce, announce, Change::Withdraw(route.prefix)];
/// let rib = Rib::<u32>::new();
/// let stream = Stream { table: "empty", rib: &rib, changes: &changes, addresses: &[0xC000_0201] };
/// let options = ReplayOptions { span: Duration::from_millis(1), ..ReplayOptions::default() };
/// let row = replay(ENGINES, "radix", stream, &options)?.unwrap();
/// assert_eq!((row.updates, row.applied + row.suppressed + row.coalesced, row.wrong), (3, 3, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn replay<A: Address>(
    engines: &'static [Entry],
    specification: &str,
    stream: Stream<'_, A>,
    options: &ReplayOptions,
) -> Result<Result<ReplayRow, Refusal>, Error> {
    let fib = match Fib::build_from(engines, specification, stream.rib, options.config.clone()) {
        Ok(fib) => fib,
        Err(error) => return Refusal::of::<A>(specification, error).map(Err),
    };
    let mut live = Live::new(stream.rib.clone(), [fib], options.settings)?;
    replay_on(&mut live, specification, stream, options).map(Ok)
}

/// Replays changes on a table that is live already, called `name` in the row. Its engine and how it
/// collects changes are its own.
///
/// # Errors
/// If there is nothing to look up, or the table is lost.
///
/// # Panics
/// If a lookup or an update panics.
pub fn replay_on<A: Address, L: LiveTable<A> + Send>(
    live: &mut L,
    name: &str,
    stream: Stream<'_, A>,
    options: &ReplayOptions,
) -> Result<ReplayRow, Error> {
    let Stream { table, rib, changes, addresses } = stream;
    if addresses.is_empty() || options.reader_batch == 0 {
        return Err(Error::usage("there are no addresses to look up"));
    }
    if options.pace.as_ref().is_some_and(|pace| pace.len() != changes.len()) {
        return Err(Error::usage("a pace has a moment for each change"));
    }
    let bytes_before = live.bytes() as u64;
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    let watch = Watch::default();
    let (times, [before, during, after], judged) = std::thread::scope(|scope| {
        let reading_cores = cores.get(1..).unwrap_or_default();
        let readers = Readers::start(scope, live, addresses, options, &watch, reading_cores)?;
        let (live, watch, cores) = (&mut *live, &watch, &cores);
        let writer = scope.spawn(move || {
            pin(cores.first());
            let mut writer = Writer::new(live, watch, options);
            let before = readers.speed_for(options.span);
            let counted = readers.count();
            let ran = writer.run(changes);
            let during = readers.speed_since(&counted);
            let after = if ran.is_ok() { readers.speed_for(options.span) } else { 0.0 };
            let times = writer.finish();
            let judged = readers.stop(); // also where the writer failed: the scope waits for them
            ran.and(judged).map(|judged| (times, [before, during, after], judged))
        });
        writer.join().expect("the writer panicked")
    })?;
    live.poll(Duration::MAX)?; // no reader is left: frees what waited for them
    let counts = live.counts();
    let wrong_at_end = wrong_at_end(live, rib, changes, counts.refused, options)?;
    Ok(ReplayRow {
        engine: name.into(),
        family: A::FAMILY.to_string(),
        table: table.into(),
        prefixes: rib.len() as u64,
        updates: changes.len() as u64,
        applied: counts.applied,
        suppressed: counts.suppressed,
        coalesced: counts.coalesced,
        updates_per_s: changes.len() as f64 / times.elapsed.as_secs_f64().max(1e-9),
        visible_us_p50: times.visible_us(0.5),
        visible_us_p99: times.visible_us(0.99),
        visible_us_p999: times.visible_us(0.999),
        readers: options.readers as u64,
        mlps_before: before,
        mlps_during: during,
        mlps_after: after,
        wrong: judged.wrong + wrong_at_end,
        bytes_before,
        bytes_after: live.bytes() as u64,
        refused: counts.refused,
        publications: counts.publications,
        rebuilt: counts.rebuilt,
        compared: judged.compared,
    })
}

/// Returns the number of answers at the end that differ from those of the table that the changes
/// give without the engine.
fn wrong_at_end<A: Address>(
    live: &impl LiveTable<A>,
    rib: &Rib<A>,
    changes: &[Change<A>],
    refused: u64,
    options: &ReplayOptions,
) -> Result<u64, Error> {
    let mut plain = if refused == 0 { rib.clone() } else { live.rib().clone() };
    if refused == 0 {
        for &change in changes {
            plain.apply(change);
        }
    }
    live.wrong(&Expected::new(&plain, probes(&plain, options.random, &mut fastrand::Rng::with_seed(1)))?)
}

fn pin(core: Option<&CoreId>) {
    if let Some(&core) = core {
        core_affinity::set_for_current(core);
    }
}

/// Returns the answer of a table for an address, and the answer after these changes were applied in
/// order.
fn before_and_after<A: Address>(rib: &Rib<A>, changes: &[Change<A>], address: A) -> (NextHop, NextHop) {
    let mut covers: Vec<_> = rib.covering(fibula::Prefix::host(address)).collect();
    let longest = |covers: &[fibula::Route<A>]| {
        let longest = covers.iter().max_by_key(|route| route.prefix.len());
        longest.map_or(NextHop::NONE, |route| route.next_hop)
    };
    let before = longest(&covers);
    for change in changes.iter().filter(|change| change.prefix().contains(address)) {
        covers.retain(|route| route.prefix != change.prefix());
        if let Change::Announce(route) = change {
            covers.push(*route);
        }
    }
    (before, longest(&covers))
}
