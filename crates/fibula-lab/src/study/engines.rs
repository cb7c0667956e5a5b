//! Every engine on one table, side by side.

use super::compare::is_of;
use super::{AccessCount, UpdateRate, count_accesses, update_rate};
use crate::bench::{BenchOptions, BenchRow, Compiled, Contender, Race, Workload, compile};
use crate::{Error, Mismatch, Refusal};
use fibula::engine::{Config, Entry, Figure};
use fibula::parts::memory::{Memory, Pages};
use fibula::{Address, Change, Fib, Rib};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// Addresses to look up, under a name.
#[derive(Clone, Debug)]
pub struct Trace<A> {
    /// Their name in the results.
    pub name: String,
    /// The addresses.
    pub addresses: Vec<A>,
}

/// How to study engines.
#[derive(Clone, Debug)]
pub struct StudyOptions {
    /// How speed is measured.
    pub bench: BenchOptions,
    /// The number of addresses of the first trace whose accesses are counted.
    pub counted: usize,
    /// The time for which each engine is handed updates.
    pub updating: Duration,
    /// The pages that large arrays ask for.
    pub pages: Pages,
}

impl Default for StudyOptions {
    fn default() -> Self {
        Self {
            bench: BenchOptions::default(),
            counted: 1 << 18,
            updating: Duration::from_secs(2),
            pages: Pages::Small,
        }
    }
}

/// One engine's row.
#[derive(Clone, Debug, Serialize)]
pub struct EngineRow {
    /// The engine's specification; `best` with the name of the chosen engine, as in `best
    /// (mosaic)`.
    pub engine: String,
    /// The year of its paper.
    pub year: u16,
    /// `in-place` or `rebuild`.
    pub updates: String,
    /// Its memory in bytes.
    pub bytes: u64,
    /// The same per route of the table.
    pub bytes_per_prefix: f64,
    /// The bytes of the parts that its paper keeps on chip.
    pub on_chip_bytes: u64,
    /// The accesses of lookups of the first trace.
    #[serde(flatten)]
    pub accesses: AccessCount,
    /// Million lookups a second on one core, by trace.
    pub mlps: BTreeMap<String, f64>,
    /// Latency on the first trace: nanoseconds for a lookup whose address depends on the answer
    /// before.
    pub ns_dependent: f64,
    /// The build time in milliseconds.
    pub build_ms: f64,
    /// Single updates applied per second.
    pub updates_per_s: Option<f64>,
    /// The median time of one, in microseconds.
    pub update_us_p50: Option<f64>,
    /// The 99th percentile, in microseconds.
    pub update_us_p99: Option<f64>,
    /// How many updates the rate is of.
    pub updates_applied: Option<u64>,
    /// For how many of them the engine was rebuilt.
    pub updates_rebuilt: Option<u64>,
    /// The most of each thing that fits, where there is a limit.
    pub limits: BTreeMap<&'static str, u64>,
    /// The parts of its memory.
    #[serde(skip)]
    pub memory: Memory,
    /// The other numbers its paper prints.
    #[serde(skip)]
    pub figures: Vec<Figure>,
}

/// The results of studying the engines of one family on one table.
#[derive(Clone, Debug)]
pub struct EngineStudy {
    /// `ipv4` or `ipv6`.
    pub family: String,
    /// The table's name.
    pub table: String,
    /// Its routes.
    pub prefixes: usize,
    /// The different next hops they have.
    pub next_hops: u64,
    /// The traces, in order.
    pub traces: Vec<String>,
    /// One row per engine, in the order asked for.
    pub rows: Vec<EngineRow>,
    /// The first wrong answers of engines that gave any; these have no row.
    pub wrong: Vec<Mismatch>,
    /// Engines that refused the table.
    pub refused: Vec<Refusal>,
}

/// A row with what it is of, and with the parts and figures that have other names in each engine.
#[derive(Debug, Serialize)]
pub struct EngineEvidence<'s> {
    family: &'s str,
    table: &'s str,
    prefixes: usize,
    next_hops: u64,
    #[serde(flatten)]
    row: &'s EngineRow,
    /// Bytes by part.
    parts: BTreeMap<&'s str, usize>,
    on_chip_parts: Vec<&'s str>,
    figures: BTreeMap<&'s str, f64>,
}

impl EngineStudy {
    /// Returns everything that was measured, one row for each engine.
    pub fn evidence(&self) -> impl Iterator<Item = EngineEvidence<'_>> {
        self.rows.iter().map(|row| {
            let parts = &row.memory.parts;
            EngineEvidence {
                family: &self.family,
                table: &self.table,
                prefixes: self.prefixes,
                next_hops: self.next_hops,
                row,
                parts: parts.iter().map(|part| (part.name, part.bytes)).collect(),
                on_chip_parts: parts.iter().filter(|part| part.on_chip).map(|part| part.name).collect(),
                figures: row.figures.iter().map(|figure| (&*figure.name, figure.value)).collect(),
            }
        })
    }
}

/// Studies engines on a table: memory, accesses counted, speed on each trace, latency, and the time
/// to build and to apply `changes`.
///
/// # Errors
/// If a specification names no engine, there is no trace or one is empty, or the judges disagree.
/// An engine that refuses the table is a [`Refusal`].
pub fn study_engines<A: Address>(
    engines: &'static [Entry],
    specifications: &[String],
    (table, rib): (&str, &Rib<A>),
    traces: &[Trace<A>],
    changes: &[Change<A>],
    options: &StudyOptions,
    progress: &mut dyn FnMut(&str),
) -> Result<EngineStudy, Error> {
    let first = traces.first().ok_or_else(|| Error::usage("a study needs a trace"))?;
    let mut study = EngineStudy {
        family: A::FAMILY.to_string(),
        table: table.into(),
        prefixes: rib.len(),
        next_hops: 0,
        traces: traces.iter().map(|trace| trace.name.clone()).collect(),
        rows: Vec::new(),
        wrong: Vec::new(),
        refused: Vec::new(),
    };
    let contenders: Vec<Contender> = specifications
        .iter()
        .map(|specification| Contender { pages: options.pages, ..Contender::new(specification) })
        .collect();
    let (compiled, refused) = compile(engines, &contenders, rib)?;
    study.refused = refused;
    let mut raced: Vec<BenchRow> = Vec::new();
    for trace in traces {
        progress(&format!("racing on {}", trace.name));
        let workload = Workload { table, rib, trace: &trace.name, addresses: &trace.addresses };
        let race = Race::new(workload, options.bench.check)?;
        let report = race.race(&compiled, &options.bench, &mut |_, _| {})?;
        raced.extend(report.rows);
        study.wrong.extend(report.wrong);
    }
    study.next_hops = raced.first().map_or(0, |row| row.next_hops);
    for Compiled { contender, fib, .. } in &compiled {
        let specification = &contender.specification;
        progress(specification);
        let of_this = |row: &&BenchRow| is_of(row, specification);
        let speeds = raced.iter().filter(of_this).map(|row| Some((row.trace.clone(), row.mlps?)));
        // Refused, or with a wrong answer.
        let Some(mlps) = speeds.collect::<Option<BTreeMap<_, _>>>().filter(|speeds| !speeds.is_empty())
        else {
            continue;
        };
        let Some(bench) = raced.iter().find(of_this) else { continue };
        let mut config = Config::default();
        config.pages = options.pages;
        let rate = update_rate(engines, specification, rib, changes, config, options.updating)?;
        let counted = &first.addresses[..options.counted.min(first.addresses.len())];
        study.rows.push(row(fib, bench, mlps, rate, count_accesses(fib, counted)));
    }
    Ok(study)
}

fn row<A: Address>(
    fib: &Fib<A>,
    bench: &BenchRow,
    mlps: BTreeMap<String, f64>,
    rate: Option<UpdateRate>,
    accesses: AccessCount,
) -> EngineRow {
    let about = fib.entry().about;
    let memory = fib.memory();
    EngineRow {
        engine: bench.engine.clone(),
        year: about.year,
        updates: about.updates.to_string(),
        bytes: memory.total() as u64,
        bytes_per_prefix: memory.total() as f64 / bench.prefixes.max(1) as f64,
        on_chip_bytes: memory.total_on_chip() as u64,
        accesses,
        mlps,
        ns_dependent: bench.ns_dependent.unwrap_or_default(),
        build_ms: bench.build_ms,
        updates_per_s: rate.map(|rate| rate.updates_per_s),
        update_us_p50: rate.map(|rate| rate.us_p50),
        update_us_p99: rate.map(|rate| rate.us_p99),
        updates_applied: rate.map(|rate| rate.applied),
        updates_rebuilt: rate.map(|rate| rate.rebuilt),
        limits: about.all_limits().map(|limit| (limit.what, limit.max)).collect(),
        figures: fib.figures(),
        memory,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fibula::{NextHop, Route};
    use fibula_engines::all;

    #[test]
    fn every_engine_has_a_row_with_its_parts() {
        let mut rib: Rib<u32> = Rib::new();
        let route = Route { prefix: "192.0.2.0/25".parse().unwrap(), next_hop: NextHop(1) };
        rib.insert(route.prefix, route.next_hop);
        let trace = Trace { name: "one".into(), addresses: vec![0xC000_0201; 1000] };
        let options = StudyOptions {
            bench: BenchOptions { passes: 1, ..BenchOptions::default() },
            updating: Duration::from_millis(1),
            ..StudyOptions::default()
        };
        let engines = ["dir24-8", "sail-l", "best", "lulea", "oracle"].map(String::from);
        let changes = [Change::Withdraw(route.prefix), Change::Announce(route)];
        let of = ("t.tsv", &rib);
        let study = study_engines(all(), &engines, of, &[trace], &changes, &options, &mut |_| {}).unwrap();
        assert_eq!(study.rows.len(), 5);
        assert_eq!(study.rows[2].engine, "best (intervals)");
        assert_eq!(study.rows[0].accesses.loads_most, 2, "TBL24, then TBLlong");
        assert!(study.rows.iter().all(|row| row.updates_per_s.is_some()));
        let rebuilt = |row: &EngineRow| (row.updates_rebuilt.unwrap(), row.updates_applied.unwrap());
        assert_eq!(rebuilt(&study.rows[0]).0, 0);
        // How many changes fit into the time, the machine decides.
        let (lulea_rebuilt, lulea_applied) = rebuilt(&study.rows[3]);
        assert!(lulea_rebuilt == lulea_applied && lulea_applied > 0);
        let row = serde_json::to_value(study.evidence().nth(1)).unwrap();
        assert_eq!((&row["table"], &row["engine"]), (&"t.tsv".into(), &"sail-l".into()));
        assert_eq!((&row["parts"]["BCN16"], &row["on_chip_parts"][0]), (&262_144.into(), &"BCN16".into()));
    }
}
