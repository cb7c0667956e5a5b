//! `fibula study parallel`: the models of sharing addresses among threads.

use super::common::ToFile;
use crate::commands::measuring::{OnTable, base_name, engines};
use crate::exit::Verdict;
use crate::output::Output;
use crate::registry;
use clap::Args;
use fibula::{Address, Rib};
use fibula_io::trace::{self, TraceKind};
use fibula_kit::With;
use fibula_lab::study::{ParallelOptions, ParallelStudy, study_parallel};
use indicatif::ProgressBar;
use serde::Serialize;

/// Run to completion, with and without a dispatcher, against a pipeline; order kept against free
/// (Figures 5 to 7 of the TILEPro64 paper, Tables 5 and 7 of TrieC's)
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The engines; those that cannot be cut into stages have no thread pipeline
    #[arg(
        short,
        long,
        default_value = "dir24-8,sail-l,tree-bitmap,hybrid,mosaic,triec",
        value_name = "LIST"
    )]
    engine: String,
    /// The numbers of threads, a dispatcher included
    #[arg(long, value_delimiter = ',', default_value = "2", value_name = "N", value_parser = clap::value_parser!(u16).range(2..))]
    threads: Vec<u16>,
    /// The addresses of a chunk: the first value for all models, the others for the dynamic
    /// schedule too
    #[arg(long, value_delimiter = ',', default_value = "1024,64,16384", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    chunk: Vec<u32>,
    /// The addresses
    #[arg(long, default_value = "prefix")]
    trace: TraceKind,
    /// How many timed passes
    #[arg(long, default_value_t = 9, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    passes: u16,
    #[command(flatten)]
    on_table: OnTable,
    #[command(flatten)]
    file: ToFile,
}

/// What a row is of.
#[derive(Clone, Copy, Serialize)]
struct Of<'s> {
    family: &'s str,
    table: &'s str,
}

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        engines::<u32>(&self.engine)?; // a wrong name fails before a table is read
        let (tables, whole) = self.on_table.load()?;
        let studies = [("ipv4", self.family(&tables.ipv4)?), ("ipv6", self.family(&tables.ipv6)?)];
        let rows = studies.iter().flat_map(|(_, study)| &study.rows);
        let refused = studies.iter().flat_map(|(_, study)| &study.refused);
        output.rows_and_refused(rows.clone(), refused.clone())?;
        anyhow::ensure!(
            rows.clone().next().is_some(),
            "nothing to measure: no engine of the list holds a family of the table"
        );
        self.file.evidence.write("parallel", |evidence| {
            let name = self.on_table.name();
            for &(family, ref study) in &studies {
                let context = Of { family, table: base_name(&name) };
                evidence.add(study.rows.iter().map(|row| With { context, row }))?;
            }
            evidence.add(refused)
        })?;
        let right = rows.clone().all(|row| row.mismatches == 0);
        Ok(if right { whole } else { Verdict::Bad })
    }

    fn family<A: Address>(&self, rib: &Rib<A>) -> anyhow::Result<ParallelStudy> {
        let specifications = engines::<A>(&self.engine)?;
        if !self.on_table.wants(rib) || specifications.is_empty() {
            return Ok(ParallelStudy::default());
        }
        let addresses = trace::generate(&self.trace, rib, self.file.addresses as usize, 1)?;
        let options = ParallelOptions {
            threads: self.threads.iter().map(|&threads| threads.into()).collect(),
            chunks: self.chunk.iter().map(|&chunk| chunk as usize).collect(),
            passes: self.passes.into(),
        };
        let bar = ProgressBar::new_spinner();
        let mut progress = |done, all| {
            bar.set_length(all as u64);
            bar.set_position(done as u64);
        };
        let study =
            study_parallel(registry::engines(), &specifications, rib, &addresses, &options, &mut progress)?;
        bar.finish_and_clear();
        Ok(study)
    }
}
