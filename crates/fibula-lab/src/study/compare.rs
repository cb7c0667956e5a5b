//! Compares one engine with others on one table: which is faster on which trace, and by how much.

use super::Trace;
use crate::bench::{BenchOptions, BenchRow, Compiled, Contender, Race, Workload, compile, rounded};
use crate::{Error, Mismatch, Refusal};
use fibula::engine::{BEST, Entry};
use fibula::{Address, Rib};
use serde::Serialize;

/// The results of a comparison on one table with one model of next hops.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// `ipv4` or `ipv6`.
    pub family: String,
    /// The table's name.
    pub table: String,
    /// The model of its next hops.
    pub model: String,
    /// Its routes.
    pub prefixes: usize,
    /// For each trace and each length of calls, in order: the row of the engine, then those of its
    /// rivals. Rows with wrong answers have no speed. Empty if the engine itself refused the table.
    pub races: Vec<Vec<BenchRow>>,
    /// For each race: the speed of the engine on all threads asked for, over that on one.
    pub scaling: Vec<Option<f64>>,
    /// The first wrong answers of engines that gave any.
    pub wrong: Vec<Mismatch>,
    /// Engines that refused the table.
    pub refused: Vec<Refusal>,
}

/// One engine against the strongest of its rivals on one trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CompareRow {
    /// `ipv4` or `ipv6`.
    pub family: String,
    /// The table's name.
    pub table: String,
    /// The model of its next hops.
    pub model: String,
    /// Its routes.
    pub prefixes: u64,
    /// The addresses.
    pub trace: String,
    /// `lookup`, or the number of addresses in a call of `lookup_batch`.
    pub call: String,
    /// The engine.
    pub engine: String,
    /// Its speed on one core, million lookups a second.
    pub mlps: f64,
    /// The fastest of the others on this trace.
    pub rival: String,
    /// Its speed.
    pub rival_mlps: f64,
    /// `mlps / rival_mlps`.
    pub ratio: f64,
    /// `mlps` over the rate of one random load per address from an array of the engine's size.
    pub limit_share: Option<f64>,
    /// The speed on all threads asked for, over that on one.
    pub scaling: Option<f64>,
}

/// A measure in which another engine is better.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LostRow {
    /// `ipv4` or `ipv6`.
    pub family: String,
    /// The table's name.
    pub table: String,
    /// The model of its next hops.
    pub model: String,
    /// The measure, with its unit.
    pub measure: String,
    /// The engine's own figure.
    pub own: f64,
    /// The other engine.
    pub better: String,
    /// Its figure.
    pub its: f64,
}

impl Comparison {
    /// Returns the engine's row of a race, and its rivals' rows as far as their answers were right.
    fn sides(race: &[BenchRow]) -> Option<(&BenchRow, impl Iterator<Item = &BenchRow>)> {
        let (own, rivals) = race.split_first()?;
        Some((own, rivals.iter().filter(|row| row.mlps.is_some())))
    }

    /// One row for each trace and call in which the engine and a rival have a speed.
    #[must_use]
    pub fn rows(&self) -> Vec<CompareRow> {
        let row = |race: &Vec<BenchRow>, scaling: Option<f64>, is_single: bool| {
            let (own, rivals) = Self::sides(race)?;
            let speed =
                |row: &BenchRow| if is_single { row.ns_single.map(|ns| 1000.0 / ns) } else { row.mlps };
            let (rival, rival_mlps) = rivals
                .filter_map(|row| Some((row, speed(row)?)))
                .max_by(|(_, one), (_, other)| one.total_cmp(other))?;
            let mlps = speed(own)?;
            Some(CompareRow {
                family: self.family.clone(),
                table: self.table.clone(),
                model: self.model.clone(),
                prefixes: self.prefixes as u64,
                trace: own.trace.clone(),
                call: if is_single { "lookup".to_owned() } else { own.batch.to_string() },
                engine: own.engine.clone(),
                mlps: rounded(mlps),
                rival: rival.engine.clone(),
                rival_mlps: rounded(rival_mlps),
                ratio: mlps / rival_mlps,
                limit_share: own.limit_share.filter(|_| !is_single),
                scaling: scaling.filter(|_| !is_single),
            })
        };
        let calls = |(race, &scaling): (&Vec<BenchRow>, &Option<f64>)| {
            let is_of_one = race.first().is_some_and(|own| own.batch == 1);
            let single = is_of_one.then(|| row(race, scaling, true)).flatten();
            [single, row(race, scaling, false)]
        };
        self.races.iter().zip(&self.scaling).flat_map(calls).flatten().collect()
    }

    /// Returns every measure in which a rival is better.
    #[must_use]
    pub fn lost(&self) -> Vec<LostRow> {
        let mut lost = Vec::new();
        for (at, race) in self.races.iter().enumerate() {
            let Some((own, rivals)) = Self::sides(race) else { continue };
            for rival in rivals {
                let mut measure = |name: &str, own: Option<f64>, its: Option<f64>, more_is_better: bool| {
                    if let (Some(own), Some(its)) = (own, its)
                        && if more_is_better { its > own } else { its < own }
                    {
                        lost.push(LostRow {
                            family: self.family.clone(),
                            table: self.table.clone(),
                            model: self.model.clone(),
                            measure: name.to_owned(),
                            own,
                            better: rival.engine.clone(),
                            its,
                        });
                    }
                };
                let calls = match own.batch {
                    BATCH => String::new(),
                    batch => format!(", calls of {batch}"),
                };
                measure(&format!("Mlps {}{calls}", own.trace), own.mlps, rival.mlps, true);
                // Measures that do not depend on the trace are listed once.
                if at == 0 {
                    let bytes = |row: &BenchRow| Some(row.bytes as f64 / row.prefixes.max(1) as f64);
                    measure("ns dependent", own.ns_dependent, rival.ns_dependent, false);
                    measure("bytes/prefix", bytes(own), bytes(rival), false);
                    measure("build ms", Some(own.build_ms), Some(rival.build_ms), false);
                }
            }
        }
        lost
    }
}

/// Returns whether a row is of the engine with this specification. The row of `best` also names the
/// chosen engine.
pub(super) fn is_of(row: &BenchRow, specification: &str) -> bool {
    let chosen = row.engine.strip_prefix(BEST).is_some_and(|chosen| chosen.starts_with(" ("));
    row.engine == specification || specification == BEST && chosen
}

/// The addresses of a call of which a measure does not say how many it has.
const BATCH: u64 = 16_384;

/// Races an engine against others on each trace in calls of each length, pass by pass in turns.
/// Then races the engine alone on one thread and on `threads`.
///
/// # Errors
/// If a specification names no engine, a trace is empty, or the judges disagree.
pub fn compare<A: Address>(
    engines: &'static [Entry],
    (engine, rivals): (&str, &[String]),
    (table, model, rib): (&str, &str, &Rib<A>),
    traces: &[Trace<A>],
    threads: usize,
    options: &BenchOptions,
    progress: &mut dyn FnMut(&str),
) -> Result<Comparison, Error> {
    let mut comparison = Comparison {
        family: A::FAMILY.to_string(),
        table: table.into(),
        model: model.into(),
        prefixes: rib.len(),
        races: Vec::new(),
        scaling: Vec::new(),
        wrong: Vec::new(),
        refused: Vec::new(),
    };
    let contenders: Vec<Contender> =
        std::iter::once(engine).chain(rivals.iter().map(String::as_str)).map(Contender::new).collect();
    let (compiled, refused) = compile(engines, &contenders, rib)?;
    comparison.refused = refused;
    let is_own = |first: &&[Compiled<A>]| first[0].contender.specification == engine;
    let own = compiled.get(..1).filter(is_own).unwrap_or_default();
    for trace in traces {
        progress(&format!("{table}, {model}, {}", trace.name));
        let workload = Workload { table, rib, trace: &trace.name, addresses: &trace.addresses };
        let race = Race::new(workload, options.check)?;
        let mut report = race.race(&compiled, options, &mut |_, _| {})?;
        comparison.wrong.append(&mut report.wrong);
        let on_threads = BenchOptions { threads: vec![1, threads], ..options.clone() };
        let speeds = race.race(own, &on_threads, &mut |_, _| {})?.rows;
        for &batch in &options.batches {
            let is_of_call = |row: &&BenchRow| row.batch == batch as u64;
            let mut rows: Vec<BenchRow> = report.rows.iter().filter(is_of_call).cloned().collect();
            // Rows of engines with wrong answers come before the others; an engine that is refused
            // has none.
            let Some(at) = rows.iter().position(|row| is_of(row, engine)) else { continue };
            rows[..=at].rotate_right(1);
            let mut speeds = speeds.iter().filter(is_of_call).map(|row| row.mlps);
            let (one, all) = (speeds.next().flatten(), speeds.next().flatten());
            comparison.scaling.push(all.zip(one).map(|(all, one)| all / one));
            comparison.races.push(rows);
        }
    }
    Ok(comparison)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fibula::NextHop;
    use fibula_engines::all;

    fn made() -> Comparison {
        let mut rib: Rib<u32> = Rib::new();
        rib.insert("192.0.2.0/25".parse().unwrap(), NextHop(1));
        let traces = [Trace { name: "one".into(), addresses: vec![0xC000_0201; 1000] }];
        let options = BenchOptions { passes: 1, ..BenchOptions::default() };
        let rivals = ["radix", "dir24-8"].map(String::from);
        compare(all(), ("mosaic", &rivals), ("t", "source", &rib), &traces, 2, &options, &mut |_| {}).unwrap()
    }

    #[test]
    fn a_rival_that_refuses_the_table_leaves_the_others_their_rows() {
        // A single level would have to expand the /32 to 2^96 prefixes.
        let mut rib: Rib<u128> = Rib::new();
        rib.insert("2001:db8::/32".parse().unwrap(), NextHop(1));
        rib.insert("2001:db8::1/128".parse().unwrap(), NextHop(2));
        let traces = [Trace { name: "one".into(), addresses: vec![0x2001_0db8 << 96; 1000] }];
        let options = BenchOptions { passes: 1, ..BenchOptions::default() };
        let rivals = ["bloom6/levels=1", "radix"].map(String::from);
        let run = |engine: &str, rivals: &[String]| {
            compare(all(), (engine, rivals), ("t", "source", &rib), &traces, 1, &options, &mut |_| {})
        };
        let comparison = run("mosaic6", &rivals).unwrap();
        assert_eq!(comparison.refused[0].engine, rivals[0]);
        let engines: Vec<&str> = comparison.races[0].iter().map(|row| row.engine.as_str()).collect();
        assert_eq!(engines, ["mosaic6", "radix"]);
        let comparison = run(&rivals[0], &rivals[1..]).unwrap();
        assert!(comparison.races.is_empty() && comparison.rows().is_empty());
        assert_eq!(comparison.refused.len(), 1);
    }

    #[test]
    fn the_strongest_rival_is_named_and_every_lost_measure() {
        let mut comparison = made();
        assert!(comparison.scaling[0].is_some());
        let figures = [(3.0, 10.0, 5.0), (4.0, 20.0, 50.0), (1.5, 5.0, 1.0)];
        for (row, (mlps, ns, build_ms)) in comparison.races[0].iter_mut().zip(figures) {
            (row.mlps, row.ns_dependent, row.build_ms) = (Some(mlps), Some(ns), build_ms);
        }
        let rows = comparison.rows();
        assert_eq!((rows[0].rival.as_str(), rows[0].ratio), ("radix", 0.75));
        let lost = comparison.lost();
        let named =
            |measure: &str, rival: &str| lost.iter().any(|row| row.measure == measure && row.better == rival);
        assert!(named("Mlps one", "radix") && !named("Mlps one", "dir24-8"));
        assert!(named("ns dependent", "dir24-8") && !named("ns dependent", "radix"));
        assert!(named("build ms", "dir24-8") && !named("build ms", "radix"));
        assert!(named("bytes/prefix", "radix"), "one route: nothing is smaller than a tree of one node");
    }

    #[test]
    fn an_engine_with_wrong_answers_is_no_rival() {
        let mut comparison = made();
        comparison.races[0][1].mlps = None;
        assert_eq!(comparison.rows()[0].rival, "dir24-8");
        assert!(comparison.lost().iter().all(|row| row.better != "radix"));
    }
}
