//! The costs that `best` predicts, beside what was measured.

use super::Trace;
use super::markdown::{base_name, short, table_of};
use crate::bench::{BenchOptions, Contender, Race, Workload, rounded};
use crate::{Error, Mismatch, Refusal};
use fibula::engine::{Entry, Estimate, Level, costs};
use fibula::{Address, Rib};
use serde::Serialize;
use std::fmt::Write;

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
        .filter(|&(_, cost)| cost < Estimate::UNKNOWN.cost())
        .collect();
    let contenders: Vec<Contender> =
        costs.iter().map(|(entry, _)| Contender::new(entry.about.name)).collect();
    for trace in traces {
        progress(&format!("{table}, {}", trace.name));
        let workload = Workload { table, rib, trace: &trace.name, addresses: &trace.addresses };
        let mut report =
            Race::new(workload, options.check)?.run(engines, &contenders, options, &mut |_, _| {})?;
        study.wrong.append(&mut report.wrong);
        report.refused.into_iter().for_each(|refusal| refusal.add_to(&mut study.refused));
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

impl BestStudy {
    /// Returns, for each trace, the row of the engine that `best` takes and that of the fastest.
    #[must_use]
    pub fn choices(&self) -> Vec<(&BestRow, &BestRow)> {
        let traces = self.rows.chunk_by(|one, other| one.trace == other.trace);
        let choice = |rows: &'_ [BestRow]| -> Option<(usize, usize)> {
            let fastest =
                (0..rows.len()).max_by(|&a, &b| rows[a].of_fastest.total_cmp(&rows[b].of_fastest))?;
            Some((0, fastest))
        };
        traces
            .filter_map(|rows| choice(rows).map(|(taken, fastest)| (&rows[taken], &rows[fastest])))
            .collect()
    }
}

/// Returns the page of `best`: what it takes for each table and trace beside the fastest engine,
/// then prediction and measurement of every engine.
///
/// `command` makes the page again, and `machine` is where it was made.
#[must_use]
pub fn best_page(studies: &[BestStudy], command: &str, machine: &str) -> String {
    let mut page = format!(
        "# What `best` predicts, and what happens\n\n\
         Made by `{command}`; every number below was measured or computed by that run.\n\n\
         Machine: {machine}.\n\n\
         `best` takes the engine with the least predicted cost. Each engine predicts its own from the table\n\
         (`About::cost`). The prediction is for addresses drawn from the prefixes.\n\n\
         - **predicted ns**, **measured ns**: the time of a lookup in a batch on one core. Engines take turns, and the figure\n  \
           is the median of the passes. The answers are checked against the oracle before and after.\n\
         - **of the fastest**: the speed over that of the fastest engine on the same trace.\n\n\
         ## What `best` takes\n\n"
    );
    let header = [
        "family",
        "table",
        "prefixes",
        "trace",
        "best takes",
        "its ns",
        "fastest",
        "its ns",
        "of the fastest",
    ];
    let choices = studies.iter().flat_map(BestStudy::choices).map(|(taken, fastest)| {
        vec![
            taken.family.clone(),
            base_name(&taken.table).into(),
            taken.prefixes.to_string(),
            taken.trace.clone(),
            taken.engine.clone(),
            short(taken.measured_ns),
            fastest.engine.clone(),
            short(fastest.measured_ns),
            format!("{:.2}", taken.of_fastest),
        ]
    });
    page.push_str(&table_of(&header.map(String::from), choices));
    page.push_str("\n## Every engine\n\n");
    let header = ["family", "table", "trace", "engine", "predicted ns", "measured ns", "of the fastest"];
    let rows = studies.iter().flat_map(|study| &study.rows).map(|row| {
        vec![
            row.family.clone(),
            base_name(&row.table).into(),
            row.trace.clone(),
            row.engine.clone(),
            short(row.predicted_ns),
            short(row.measured_ns),
            format!("{:.2}", row.of_fastest),
        ]
    });
    page.push_str(&table_of(&header.map(String::from), rows));
    for refusal in studies.iter().flat_map(|study| &study.refused) {
        let _ = write!(page, "\n{refusal}.\n");
    }
    page
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
        let mut study = study();
        let choices = study.choices();
        assert_eq!(choices.iter().map(|choice| choice.0.trace.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert!(study.rows.iter().all(|row| row.measured_ns > 0.0 && row.of_fastest <= 1.0));
        let at = study.rows.iter().position(|row| row.engine == "radix" && row.trace == "b").unwrap();
        study.rows[at].of_fastest = 2.0;
        assert_eq!(study.choices()[1].1.engine, "radix");
        let page = best_page(&[study], "fibula study best", "a machine");
        assert!(page.contains("| ipv6 | hosts.txt | 300 | b | "), "{page}");
        assert!(page.contains("| radix | "), "{page}");
        assert!(!page.contains("| oracle |"), "it states no cost: {page}");
    }
}
