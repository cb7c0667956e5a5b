//! `fibula study worst`: the worst single change of a route.

use super::common::{EvidenceFile, each_table};
use crate::commands::measuring::{engines, tell_all};
use crate::exit::Verdict;
use crate::output::Output;
use crate::reading::Reading;
use crate::registry;
use clap::Args;
use fibula::{Address, Rib};
use fibula_lab::study::{WorstOptions, WorstStudy, study_worst, worst_ipv4_tables, worst_ipv6_tables};
use indicatif::ProgressBar;
use std::time::Duration;

/// The name of the made tables, on the command line.
const WORST: &str = "worst";

/// Measure how long one change of one route takes each engine at worst, and which change that is
///
/// Covers of every length come and go where no route was, the default route does, and so do routes
/// of the densest /24 (/48) and any routes. Rows go to standard output, one for each engine, table
/// and kind of change.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The engines: `all`, or a list like `best,dxr18,dxr/k=20`
    #[arg(short, long, default_value = "best,all", value_name = "LIST")]
    engine: String,
    /// The tables, files or `worst` for made ones in which a change is expensive; one or more
    #[arg(short, long, default_value = WORST, value_name = "TABLE")]
    table: Vec<String>,
    /// How many routes of the densest network, and of the table, go and come
    #[arg(long, default_value_t = 2000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    sample: u32,
    /// The time after which an engine gets no further changes of one kind
    #[arg(long, default_value_t = 1000, value_name = "MS")]
    kind_ms: u64,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    evidence: EvidenceFile,
}

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        engines::<u32>(&self.engine)?; // a wrong name fails before a table is read
        let mut studies = Vec::new();
        let (made, read): (Vec<_>, Vec<_>) = self.table.iter().cloned().partition(|name| name == WORST);
        if !made.is_empty() {
            for (name, rib) in worst_ipv4_tables() {
                studies.extend(self.study(name, &rib)?);
            }
            for (name, rib) in worst_ipv6_tables() {
                studies.extend(self.study(name, &rib)?);
            }
        }
        let whole = each_table(&read, &self.reading, |name, tables| {
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
        self.evidence.write("worst", |evidence| evidence.add(rows).and_then(|()| evidence.add(refused)))?;
        let right = studies.iter().all(|study| study.wrong.is_empty());
        Ok(if right { whole } else { Verdict::Bad })
    }

    /// Studies one family of a table; `None` if it has no routes or no engine does it.
    fn study<A: Address>(&self, table: &str, rib: &Rib<A>) -> anyhow::Result<Option<WorstStudy>> {
        let specifications = engines::<A>(&self.engine)?;
        if rib.is_empty() || specifications.is_empty() {
            return Ok(None);
        }
        let options =
            WorstOptions { sample: self.sample as usize, of_a_kind: Duration::from_millis(self.kind_ms) };
        let bar = ProgressBar::new_spinner();
        let mut progress = |what: &str| bar.set_message(what.to_owned());
        let study = study_worst(registry::engines(), &specifications, (table, rib), &options, &mut progress)?;
        bar.finish_and_clear();
        Ok(Some(study))
    }
}
