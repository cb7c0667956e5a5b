//! `fibula study engines`: every engine on full tables.

use super::common::{OnTables, ToFile, each_table};
use crate::commands::measuring::{UpdatesFrom, engines, tell_all, traces};
use crate::exit::Verdict;
use crate::output::Output;
use crate::registry;
use clap::Args;
use fibula::{Address, Change, Rib};
use fibula_lab::study::{EngineStudy, StudyOptions, study_engines};
use indicatif::ProgressBar;

/// Measure every engine side by side: memory, counted accesses, speed by trace, latency, time to
/// build and to update
///
/// Each family of each table is one study. Accesses and latency are those of the first trace. Rows
/// go to standard output. With `--output` a file also has each engine's parts and figures.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The engines: `all`, or a list like `best,dxr18,dxr/k=20`
    #[arg(short, long, default_value = "all", value_name = "LIST")]
    engine: String,
    /// How many timed passes
    #[arg(long, default_value_t = 7, value_name = "N", value_parser = clap::value_parser!(u16).range(5..))]
    passes: u16,
    /// The updates, a file or `made=N`
    #[arg(short, long, default_value = "made=100000", value_name = "UPDATES")]
    updates: UpdatesFrom,
    #[command(flatten)]
    on_tables: OnTables,
    #[command(flatten)]
    file: ToFile,
}

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        engines::<u32>(&self.engine)?; // a wrong name fails before a table is read
        let mut studies = Vec::new();
        let OnTables { table, reading, .. } = &self.on_tables;
        let whole = each_table(table, reading, |name, mut tables| {
            let changes = self.updates.load(&mut tables)?;
            studies.extend(self.study(name, &tables.ipv4, &changes.ipv4)?);
            studies.extend(self.study(name, &tables.ipv6, &changes.ipv6)?);
            Ok(())
        })?;
        anyhow::ensure!(
            !studies.is_empty(),
            "nothing to study: no engine of the list holds a family of a table"
        );
        for study in &studies {
            tell_all(&study.wrong);
        }
        let rows = studies.iter().flat_map(|study| &study.rows);
        output.rows_and_refused(rows, studies.iter().flat_map(|study| &study.refused))?;
        self.file.evidence.write("engines", |evidence| {
            evidence.add(studies.iter().flat_map(EngineStudy::evidence))?;
            evidence.add(studies.iter().flat_map(|study| &study.refused))
        })?;
        anyhow::ensure!(
            studies.iter().any(|study| !study.rows.is_empty() || !study.wrong.is_empty()),
            "nothing to study: every engine of the list refuses every table"
        );
        let right = studies.iter().all(|study| study.wrong.is_empty());
        Ok(if right { whole } else { Verdict::Bad })
    }

    /// Studies one family of a table; `None` if it has no routes or no engine does it.
    fn study<A: Address>(
        &self,
        table: &str,
        rib: &Rib<A>,
        changes: &[Change<A>],
    ) -> anyhow::Result<Option<EngineStudy>> {
        let specifications = engines::<A>(&self.engine)?;
        if rib.is_empty() || specifications.is_empty() {
            return Ok(None);
        }
        let traces = traces(&self.on_tables.trace, rib, self.file.addresses);
        let mut options = StudyOptions::default();
        options.bench.passes = self.passes.into();
        let bar = ProgressBar::new_spinner();
        let mut progress = |what: &str| bar.set_message(what.to_owned());
        let study = study_engines(
            registry::engines(),
            &specifications,
            (table, rib),
            &traces,
            changes,
            &options,
            &mut progress,
        )?;
        bar.finish_and_clear();
        Ok(Some(study))
    }
}
