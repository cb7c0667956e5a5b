//! `fibula demo`: the main job on a made table.

use super::measuring::{INTERNET, internet, tell_all};
use crate::exit::{Verdict, tell};
use crate::output::{Output, Printer};
use clap::Args;
use fibula::engine::ENGINES;
use fibula::{Address, Rib};
use fibula_io::table::Tables;
use fibula_io::trace::{self, TraceKind};
use fibula_lab::bench::Workload;
use fibula_lab::demo::DemoOptions;
use fibula_lab::machine::Machine;
use std::io::Write;

/// The addresses that are streamed again and again, for each family.
const ADDRESSES: usize = 10_000_000;

/// Show the main job: build the best engine for full Internet tables, check it, stream lookups through it
///
/// Needs no file: the tables are made, as large and as nested as real ones of May 2026. Each engine is compared with
/// the oracle around every prefix and at a million random addresses. Takes less than a minute on two cores.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The engine
    #[arg(short, long, default_value = fibula::engine::BEST)]
    engine: String,
    /// How many lookups are streamed, for each family
    #[arg(long, default_value_t = 100_000_000, value_name = "N")]
    lookups: usize,
    /// How many threads; all cores if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// What the tables and the addresses are made from
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        fibula_lab::select::<u32>(ENGINES, &self.engine)?; // a wrong name is told before a table is made
        if output.is_table() {
            println!("{}\n", Machine::here());
        }
        let Tables { ipv4, ipv6, .. } = internet(self.seed)?;
        let mut printer = output.printer();
        let right = self.family(&ipv4, &mut printer)? & self.family(&ipv6, &mut printer)?;
        printer.finish()?;
        Ok(Verdict::good_if(right))
    }

    /// Shows one family; whether all answers were right.
    fn family<A: Address>(&self, rib: &Rib<A>, printer: &mut Printer<impl Write>) -> anyhow::Result<bool> {
        if fibula_lab::select::<A>(ENGINES, &self.engine)?.is_empty() {
            tell(format_args!("{} does not do {}", self.engine, A::FAMILY));
            return Ok(true);
        }
        let kind = TraceKind::Prefix;
        let addresses = trace::generate(&kind, rib, ADDRESSES.min(self.lookups.max(1)), self.seed)?;
        let trace = kind.to_string();
        let workload = Workload { table: INTERNET, rib, trace: &trace, addresses: &addresses };
        let mut options =
            DemoOptions { engine: self.engine.clone(), lookups: self.lookups, ..DemoOptions::default() };
        if let Some(threads) = self.threads {
            options.threads = threads.into();
        }
        let (row, wrong) = fibula_lab::demo::demo(ENGINES, workload, &options)?;
        tell_all(&wrong);
        printer.row(&row)?;
        Ok(wrong.is_empty() && row.mismatches == 0)
    }
}
