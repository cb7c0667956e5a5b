//! `fibula study best`: what `best` predicts, and what happens.

use super::common::{OnTables, ToFile, each_table};
use crate::commands::measuring::{tell_all, traces};
use crate::exit::Verdict;
use crate::output::Output;
use crate::registry;
use clap::Args;
use fibula::{Address, Rib};
use fibula_lab::bench::BenchOptions;
use fibula_lab::study::{BestStudy, study_best};
use indicatif::ProgressBar;

/// Measure every engine that predicts its cost, and compare: does `best` take the fastest?
///
/// Rows go to standard output, one for each engine, table and trace.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// How many timed passes
    #[arg(long, default_value_t = 7, value_name = "N", value_parser = clap::value_parser!(u16).range(5..))]
    passes: u16,
    #[command(flatten)]
    on_tables: OnTables,
    #[command(flatten)]
    file: ToFile,
}

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        let mut studies = Vec::new();
        let OnTables { table, reading, .. } = &self.on_tables;
        let whole = each_table(table, reading, |name, tables| {
            studies.extend(self.study(name, &tables.ipv4)?);
            studies.extend(self.study(name, &tables.ipv6)?);
            Ok(())
        })?;
        anyhow::ensure!(!studies.is_empty(), "nothing to study: the tables have no routes");
        for study in &studies {
            tell_all(&study.wrong);
        }
        let rows = studies.iter().flat_map(|study| &study.rows);
        let refused = studies.iter().flat_map(|study| &study.refused);
        output.rows_and_refused(rows.clone(), refused.clone())?;
        self.file
            .evidence
            .write("best", |evidence| evidence.add(rows).and_then(|()| evidence.add(refused)))?;
        let right = studies.iter().all(|study| study.wrong.is_empty());
        Ok(if right { whole } else { Verdict::Bad })
    }

    /// Studies one family of a table; `None` if it has no routes.
    fn study<A: Address>(&self, table: &str, rib: &Rib<A>) -> anyhow::Result<Option<BestStudy>> {
        if rib.is_empty() {
            return Ok(None);
        }
        let traces = traces(&self.on_tables.trace, rib, self.file.addresses);
        let options = BenchOptions { passes: self.passes.into(), ..BenchOptions::default() };
        let bar = ProgressBar::new_spinner();
        let mut progress = |what: &str| bar.set_message(what.to_owned());
        let study = study_best(registry::engines(), (table, rib), &traces, &options, &mut progress)?;
        bar.finish_and_clear();
        Ok(Some(study))
    }
}
