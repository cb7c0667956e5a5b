//! The costs that `best` predicts, beside what was measured.

use super::Trace;
use crate::bench::{BenchOptions, Contender, Race, Workload, compile, rounded};
use crate::{Error, Mismatch, Refusal};
use fibula::engine::{Entry, Estimate, Level, costs};
use fibula::{Address, Rib};
use serde::Serialize;

/// The engines on one table: what each was said to cost, and what it did.
#[derive(Clone, Debug)]
pub struct BestStudy {
    /// `ipv4` or `ipv6`.
    pub family: String,
    /// The table's name.
    pub table: String,
    /// Its routes.
    pub prefixes: usize,
    /// One row for each trace and engine. Those of a trace are in the order of the predicted costs,
    /// so that the first is what `best` takes.
    pub rows: Vec<BestRow>,
    /// The first wrong answers of engines that gave any.
    pub wrong: Vec<Mismatch>,
    /// Engines that refused the table.
    pub refused: Vec<Refusal>,
}

/// One engine on one trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BestRow {
    /// `ipv4` or `ipv6`.
    pub family: String,
    /// The table's name.
    pub table: String,
    /// Its routes.
    pub prefixes: u64,
    /// The addresses.
    pub trace: String,
    /// The engine.
    pub engine: String,
    /// The predicted cost of a lookup, in nanoseconds.
    pub predicted_ns: f64,
    /// The measured time of a lookup in a batch, in nanoseconds.
    pub measured_ns: f64,
    /// The time of the fastest engine of the trace over this one's: 1 is the fastest.
    pub of_fastest: f64,
}

/// Races the engines that state a cost for this table.
///
/// # Errors
/// If a trace is empty, or the judges disagree.
pub fn study_best<A: Address>(
    engines: &'static [Entry],
    (table, rib): (&str, &Rib<A>),
    traces: &[Trace<A>],
    options: &BenchOptions,
    progress: &mut dyn FnMut(&str),
) -> Result<BestStudy, Error> {
    let mut study = BestStudy {
        family: A::FAMILY.to_string(),
        table: table.into(),
        prefixes: rib.len(),
        rows: Vec::new(),
        wrong: Vec::new(),
        refused: Vec::new(),
    };
    let costs: Vec<(&Entry, f32)> = costs(engines, Level::best(), rib)
        .into_iter()
        .filter(|&(_, cost)| cost < Estimate::UNKNOWN.ns)
        .collect();
    let contenders: Vec<Contender> =
        costs.iter().map(|(entry, _)| Contender::new(entry.about.name)).collect();
    let (compiled, refused) = compile(engines, &contenders, rib)?;
    study.refused = refused;
    for trace in traces {
        progress(&format!("{table}, {}", trace.name));
        let workload = Workload { table, rib, trace: &trace.name, addresses: &trace.addresses };
        let mut report = Race::new(workload, options.check)?.race(&compiled, options, &mut |_, _| {})?;
        study.wrong.append(&mut report.wrong);
        let fastest = report.rows.iter().filter_map(|row| row.mlps).fold(0.0, f64::max);
        for &(entry, cost) in &costs {
            let row = report.rows.iter().find(|row| row.engine == entry.about.name);
            let Some(mlps) = row.and_then(|row| row.mlps) else { continue };
            study.rows.push(BestRow {
                family: study.family.clone(),
                table: study.table.clone(),
                prefixes: rib.len() as u64,
                trace: trace.name.clone(),
                engine: entry.about.name.into(),
                predicted_ns: rounded(cost.into()),
                measured_ns: rounded(1000.0 / mlps),
                of_fastest: rounded(mlps / fastest),
            });
        }
    }
    Ok(study)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fibula::engine::BEST;
    use fibula::{Fib, NextHop, Prefix};
    use fibula_engines::all;

    fn study() -> BestStudy {
        let mut rib: Rib<u128> = Rib::new();
        for at in 0..300 {
            rib.insert(Prefix::host(at << 70), NextHop(1));
        }
        let traces = ["a", "b"].map(|name| Trace { name: name.into(), addresses: vec![3 << 70; 1000] });
        let options = BenchOptions { passes: 1, ..BenchOptions::default() };
        let study = study_best(all(), ("x/hosts.txt", &rib), &traces, &options, &mut |_| {}).unwrap();
        let best = Fib::build(BEST, &rib).unwrap();
        assert_eq!(study.rows[0].engine, best.entry().about.name);
        study
    }

    #[test]
    fn the_first_of_each_trace_is_what_best_takes() {
        let BestStudy { rows, .. } = study();
        let traces: Vec<&[BestRow]> = rows.chunk_by(|one, other| one.trace == other.trace).collect();
        assert_eq!(traces.iter().map(|rows| rows[0].trace.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        for rows in traces {
            assert!(rows.is_sorted_by(|one, other| one.predicted_ns <= other.predicted_ns));
            assert!(rows.iter().any(|row| row.engine == "radix"));
            assert!(rows.iter().all(|row| row.engine != "oracle"), "it states no cost");
        }
        assert!(rows.iter().all(|row| row.measured_ns > 0.0 && row.of_fastest <= 1.0));
    }
}
