//! `fibula study parallel`: the models of sharing addresses among threads.

use super::common::ToPage;
use crate::commands::measuring::{OnTable, engines};
use crate::exit::Verdict;
use crate::output::Output;
use crate::registry;
use clap::Args;
use fibula::{Address, Rib};
use fibula_io::trace::{self, TraceKind};
use fibula_lab::machine::Machine;
use fibula_lab::study::{ParallelOptions, ParallelStudy, parallel_page, study_parallel};
use indicatif::ProgressBar;

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
    page: ToPage,
}

/// Returns the machine's load average over the last minute, where the system has one.
fn load() -> String {
    let told = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    told.split(' ')
        .next()
        .filter(|load| !load.is_empty())
        .map_or(String::new(), |load| format!(", load {load}"))
}

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        engines::<u32>(&self.engine)?; // a wrong name fails before a table is read
        let (tables, whole) = self.on_table.load()?;
        let ParallelStudy { mut rows, mut refused } = self.family(&tables.ipv4)?;
        let ipv6 = self.family(&tables.ipv6)?;
        rows.extend(ipv6.rows);
        refused.extend(ipv6.refused);
        output.rows_and_refused(&rows, &refused)?;
        anyhow::ensure!(
            !rows.is_empty(),
            "nothing to measure: no engine of the list holds a family of the table"
        );
        self.page.write(|| {
            let name = self.on_table.name();
            let table = name.rsplit('/').next().unwrap_or_default();
            let machine = format!("{}{}", Machine::here(), load());
            parallel_page(&rows, table, &self.command(), &machine)
        })?;
        let right = rows.iter().all(|row| row.mismatches == 0);
        Ok(if right { whole } else { Verdict::Bad })
    }

    /// Returns the command that makes the page, without the folders of files.
    fn command(&self) -> String {
        let Self { engine, trace, on_table, page, .. } = self;
        let threads: Vec<_> = self.threads.iter().map(u16::to_string).collect();
        let chunks: Vec<_> = self.chunk.iter().map(u32::to_string).collect();
        format!(
            "fibula study parallel{} -e {engine} --threads {} --chunk {} --trace {trace} --addresses {} --passes {}",
            on_table.options(),
            threads.join(","),
            chunks.join(","),
            page.addresses,
            self.passes,
        )
    }

    fn family<A: Address>(&self, rib: &Rib<A>) -> anyhow::Result<ParallelStudy> {
        let specifications = engines::<A>(&self.engine)?;
        if !self.on_table.wants(rib) || specifications.is_empty() {
            return Ok(ParallelStudy::default());
        }
        let addresses = trace::generate(&self.trace, rib, self.page.addresses as usize, 1)?;
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
