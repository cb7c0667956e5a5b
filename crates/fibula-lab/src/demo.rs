//! The main job once through: build, check against the oracle, stream lookups.

use crate::bench::{BenchOptions, BenchRow, Contender, Race, Workload};
use crate::verify::{VerifyOptions, verify};
use crate::{Error, Mismatch};
use fibula::Address;
use fibula::engine::{BEST, Entry, WidthBits};
use serde::Serialize;
use std::time::Duration;

/// The longest time of a pass, so that a slow engine or machine streams fewer lookups instead of
/// taking minutes.
const LONGEST_PASS: Duration = Duration::from_secs(1);

/// How to run the demo.
#[derive(Clone, Debug)]
pub struct DemoOptions {
    /// The engine's specification.
    pub engine: String,
    /// Lookups that are streamed and timed, in passes over the addresses. There are at least five
    /// passes, none much longer than a second.
    pub lookups: usize,
    /// Threads, each over its own part of the addresses.
    pub threads: usize,
    /// Random addresses that are checked besides those around every prefix.
    pub random: usize,
}

impl Default for DemoOptions {
    /// A hundred million lookups of the best engine on all cores.
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Self { engine: BEST.into(), lookups: 100_000_000, threads, random: 1_000_000 }
    }
}

/// The results of the demo for one family.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DemoRow {
    /// The engine; `best` with the name of the chosen one.
    pub engine: String,
    /// `ipv4` or `ipv6`.
    pub family: String,
    /// The table's name.
    pub table: String,
    /// Its routes.
    pub prefixes: u64,
    /// The different next hops they have.
    pub next_hops: u64,
    /// The engine's memory in bytes.
    pub bytes: u64,
    /// The same per route.
    pub bytes_per_prefix: f64,
    /// The build time in milliseconds.
    pub build_ms: f64,
    /// Answers that were compared with the oracle's: around every prefix, at random addresses, and
    /// those of the stream.
    pub checked: u64,
    /// The number of wrong answers.
    pub mismatches: u64,
    /// The lookups streamed and timed.
    pub lookups: u64,
    /// The threads that streamed them.
    pub threads: u64,
    /// The instruction set.
    pub isa: String,
    /// Million lookups a second, all threads together. `None` if an answer was wrong, like the
    /// fields below.
    pub mlps: Option<f64>,
    /// Nanoseconds for a lookup that depends on the one before.
    pub ns_dependent: Option<f64>,
    /// Million lookups a second at one random load each.
    pub limit_mlps: Option<f64>,
    /// `mlps / limit_mlps`.
    pub limit_share: Option<f64>,
}

/// Builds an engine, checks it around every prefix and interval, and streams lookups.
///
/// # Errors
/// If there is no such engine, it does not hold the table, or there are no addresses.
pub fn demo<A: Address>(
    engines: &'static [Entry],
    workload: Workload<'_, A>,
    options: &DemoOptions,
) -> Result<(DemoRow, Vec<Mismatch>), Error> {
    let contender = Contender::new(&options.engine);
    let verify_options = VerifyOptions {
        random: options.random,
        widths: vec![WidthBits::holding(workload.rib.max_next_hop())],
        levels: vec![contender.isa],
        ..VerifyOptions::default()
    };
    let specifications = [options.engine.clone()];
    let verification = verify(engines, &specifications, workload.rib, &verify_options, &mut |_| {})?;
    let bench_options = BenchOptions {
        threads: vec![options.threads],
        passes: options.lookups.div_ceil(workload.addresses.len().max(1)).max(5),
        longest_pass: LONGEST_PASS,
        ..BenchOptions::default()
    };
    let race = Race::new(workload, bench_options.check)?;
    let report = race.run(engines, &[contender], &bench_options, &mut |_, _| {})?;
    if let Some(refusal) = report.refused.first() {
        return Err(Error::usage(refusal.to_string()));
    }
    let row = report.rows.into_iter().next().ok_or_else(|| Error::usage("nothing was measured"))?;
    let sum = |count: fn(&crate::verify::VerifyRow) -> u64| verification.rows.iter().map(count).sum::<u64>();
    let checked = sum(|row| row.probes);
    let mismatches = sum(|row| row.mismatches);
    let first = verification.rows.iter().flat_map(|row| row.first.iter().cloned());
    let wrong: Vec<Mismatch> = first.chain(report.wrong).collect();
    Ok((demo_row(row, checked, mismatches, bench_options.passes as u64), wrong))
}

fn demo_row(row: BenchRow, checked: u64, mismatches: u64, passes: u64) -> DemoRow {
    let mismatches = row.mismatches + mismatches;
    let speed = |figure: Option<f64>| figure.filter(|_| mismatches == 0);
    DemoRow {
        bytes_per_prefix: (row.bytes as f64 / row.prefixes.max(1) as f64 * 100.0).round() / 100.0,
        checked: row.checked + checked,
        mismatches,
        lookups: row.addresses * passes,
        mlps: speed(row.mlps),
        ns_dependent: speed(row.ns_dependent),
        limit_mlps: speed(row.limit_mlps),
        limit_share: speed(row.limit_share),
        engine: row.engine,
        family: row.family,
        table: row.table,
        prefixes: row.prefixes,
        next_hops: row.next_hops,
        bytes: row.bytes,
        build_ms: row.build_ms,
        threads: row.threads,
        isa: row.isa,
    }
}
