//! `fibula bench`: how fast engines answer.

use super::measuring::{Building, OnTable, engines, tell_all};
use crate::exit::{Verdict, tell};
use crate::output::{Output, Printer};
use crate::registry;
use clap::Args;
use fibula::arch::Level;
use fibula::parallel::{Model, Order};
use fibula::{Address, Rib};
use fibula_io::trace::{self, TraceKind};
use fibula_lab::bench::{BenchOptions, Contender, Race, Workload};
use fibula_lab::machine::Machine;
use indicatif::ProgressBar;
use std::io::{self, Write};

/// Measure engines: lookups a second, latency, memory, build time, and the machine's own ceiling
///
/// Engines take turns pass by pass, since machines drift; a speed is the median of the passes. Before timing, the
/// answers for a million addresses are compared with the oracle's: an engine with a wrong one gets no speed, the
/// address is told on standard error, and the status is 1.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The engines: `all`, or a list like `best,dxr18,dxr/k=20`
    #[arg(short, long, default_value = "all", value_name = "LIST")]
    engine: String,
    /// The addresses, one or more kinds of trace
    #[arg(long, value_delimiter = ',', default_value = "prefix")]
    trace: Vec<TraceKind>,
    /// How many addresses
    #[arg(long, default_value_t = 1 << 24, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    addresses: u32,
    /// What the addresses are drawn from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The numbers of threads to run with, one row each
    #[arg(long, value_delimiter = ',', default_value = "1", value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Vec<u16>,
    /// How threads share the addresses: `own` (every n-th chunk), `dynamic` (the next chunk to whoever is done), behind a
    /// dispatcher `round-robin` (single addresses) or `by-batch`, or `pipeline` (a part of every lookup each); one
    /// contiguous part each if not given
    #[arg(long)]
    model: Option<Model>,
    /// When answers may leave: `kept` as the addresses came, `free` as they are done
    #[arg(long, default_value_t = Order::Free, requires = "model")]
    order: Order,
    /// How many addresses are handed over in one call, the chunk that threads share by
    #[arg(long, default_value_t = 16_384, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    batch: u32,
    /// How many timed passes
    #[arg(long, default_value_t = 9, value_name = "N", value_parser = clap::value_parser!(u16).range(5..))]
    passes: u16,
    #[command(flatten)]
    on_table: OnTable,
    #[command(flatten)]
    building: Building,
}

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        engines::<u32>(&self.engine)?; // a wrong name is told before a table is read
        let (tables, whole) = self.on_table.load()?;
        let mut printer = output.printer();
        let mut run = Run { arguments: &self, printer: &mut printer, raced: false, right: true };
        for kind in &self.trace {
            run.family(&tables.ipv4, kind)?;
            run.family(&tables.ipv6, kind)?;
        }
        let Run { raced, right, .. } = run;
        anyhow::ensure!(raced, "nothing to measure: no engine of the list holds a family of the table");
        if output.is_table() {
            writeln!(io::stdout(), "{}\n", Machine::here())?;
        }
        printer.finish()?;
        Ok(if right { whole } else { Verdict::Bad })
    }

    fn contenders(&self, specifications: &[String]) -> Vec<Contender> {
        let best = [Level::best()];
        let levels = if self.building.isa.is_empty() { &best[..] } else { &self.building.isa };
        let contenders = specifications.iter().flat_map(|specification| {
            levels.iter().map(move |&isa| Contender {
                isa,
                width: self.building.width,
                pages: self.building.pages(),
                ..Contender::new(specification)
            })
        });
        contenders.collect()
    }

    fn options(&self) -> BenchOptions {
        BenchOptions {
            threads: self.threads.iter().map(|&threads| threads.into()).collect(),
            batch: self.batch as usize,
            sharing: self.model.map(|model| (model, self.order)),
            passes: self.passes.into(),
            ..BenchOptions::default()
        }
    }
}

/// A run as it goes along.
struct Run<'r, W: Write> {
    arguments: &'r Arguments,
    printer: &'r mut Printer<W>,
    /// Whether any engine was measured.
    raced: bool,
    /// Whether all answers were right.
    right: bool,
}

impl<W: Write> Run<'_, W> {
    /// One race: a family and a trace.
    fn family<A: Address>(&mut self, rib: &Rib<A>, kind: &TraceKind) -> anyhow::Result<()> {
        let arguments = self.arguments;
        let specifications = engines::<A>(&arguments.engine)?;
        if !arguments.on_table.wants(rib) || specifications.is_empty() {
            return Ok(());
        }
        let addresses = match trace::generate(kind, rib, arguments.addresses as usize, arguments.seed) {
            Ok(addresses) => addresses,
            // A trace that only one family has is no error where nobody asked for the other.
            Err(error) if arguments.on_table.family.is_none() => {
                tell(format_args!("{} passed over: {error}", A::FAMILY));
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let (table, trace) = (arguments.on_table.name(), kind.to_string());
        let workload = Workload { table: &table, rib, trace: &trace, addresses: &addresses };
        let options = arguments.options();
        let bar = ProgressBar::new_spinner().with_message("finding the right answers");
        let race = Race::new(workload, options.check)?;
        let mut progress = |done, all| {
            bar.set_length(all as u64);
            bar.set_position(done as u64);
        };
        let report =
            race.run(registry::engines(), &arguments.contenders(&specifications), &options, &mut progress)?;
        bar.finish_and_clear();
        tell_all(&report.refused);
        tell_all(&report.wrong);
        for row in &report.rows {
            self.raced = true;
            self.right &= row.mismatches == 0;
            self.printer.row(row)?;
        }
        Ok(())
    }
}
