//! `fibula bench`: the speed of engines.

#[cfg(feature = "gpu")]
mod on_card;

use super::device::{Card, InBatches, Key, engines_with_kernels};
use super::measuring::{Building, OnTable, engines, tell_all};
use crate::exit::{Verdict, tell};
use crate::output::{Output, Printer};
use crate::plotted::{Axes, Plotted};
use crate::registry;
use clap::Args;
use fibula::Rib;
use fibula::engine::Level;
use fibula_engines::parallel::{Model, Order};
use fibula_io::trace::{self, TraceKind};
use fibula_kit::plot::Kind;
use fibula_lab::Refusal;
use fibula_lab::bench::{BenchOptions, Contender, Race, Workload};
use fibula_lab::machine::Machine;
use indicatif::ProgressBar;
use std::io::{self, Write};

/// Measure engines: lookups a second, latency, memory, build time, and the machine's own ceiling
///
/// Engines take turns pass by pass, since machines drift. A speed is the median of the passes.
/// Before timing, the answers for a million addresses are compared with the oracle's. An engine
/// with a wrong answer gets no speed, the address is printed on standard error, and the status is
/// 1. An engine that refuses the table has a row with the reason.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The engines: `all`, or a list like `best,dxr18,dxr/k=20`
    #[arg(short, long, default_value = "all", value_name = "LIST")]
    engine: String,
    /// The addresses, one or more kinds of trace, as `trace gen` has them; `deep` without an engine
    /// gives each engine the addresses for which it works most
    #[arg(long, value_delimiter = ',', default_value = "prefix")]
    trace: Vec<TraceKind>,
    /// How many addresses
    #[arg(long, default_value_t = 1 << 24, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    addresses: u32,
    /// The seed of the addresses
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The numbers of threads to run with, or to feed a card with, one row each
    #[arg(long, value_delimiter = ',', default_value = "1", value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Vec<u16>,
    /// How threads share the addresses: `own` (every n-th chunk), `in-turn` (the same, taken one
    /// thread after the other), `dynamic` (the next chunk to the thread that is done),
    /// `round-robin` (a dispatcher hands out single addresses), `by-batch` (a dispatcher hands out
    /// batches), `pipeline` (each thread does a stage of every lookup), or `pipelines` (several of
    /// two threads). Without it each thread has one contiguous part
    #[arg(long)]
    model: Option<Model>,
    /// When answers are delivered: `kept` in the order of the addresses, `free` as they are done
    #[arg(long, default_value_t = Order::Free, requires = "model")]
    order: Order,
    #[command(flatten)]
    in_batches: InBatches,
    /// The bytes of another working set that each thread changes before each batch, as an
    /// application does with its packets; one row each
    #[arg(long, value_delimiter = ',', value_name = "BYTES", conflicts_with = "model")]
    pollute: Vec<usize>,
    /// How many timed passes
    #[arg(long, default_value_t = 9, value_name = "N", value_parser = clap::value_parser!(u16).range(5..))]
    passes: u16,
    #[command(flatten)]
    on_table: OnTable,
    #[command(flatten)]
    building: Building,
    #[command(flatten)]
    plotted: Plotted,
}

/// What is drawn: the speed of each call's size.
const AXES: Axes = Axes {
    kind: Kind::Lines,
    x: "batch",
    y: &["mlps"],
    by: &["engine", "family", "trace", "isa", "threads"],
};

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        let card = self.in_batches.open()?;
        // A wrong name is an error before a table is read.
        if card.is_some() {
            engines_with_kernels::<u32>(&self.engine)?
        } else {
            engines::<u32>(&self.engine)?
        };
        let (tables, whole) = self.on_table.load()?;
        let mut printer = output.printer().with_refusals().plotted(self.plotted.with(AXES));
        let refused = Vec::new();
        let mut run =
            Run { arguments: &self, card, printer: &mut printer, raced: false, right: true, refused };
        for kind in &self.trace {
            run.family(&tables.ipv4, kind)?;
            run.family(&tables.ipv6, kind)?;
        }
        let Run { raced, right, .. } = run;
        if raced && output.is_table() {
            writeln!(io::stdout(), "{}\n", Machine::here())?;
        }
        printer.finish()?;
        anyhow::ensure!(raced, "nothing to measure: no engine of the list holds a family of the table");
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
            sharing: self.model.map(|model| (model, self.order)),
            passes: self.passes.into(),
            batches: self.in_batches.batches(),
            polluted: self.pollute.clone(),
            ..BenchOptions::default()
        }
    }
}

/// The state of a run.
pub(super) struct Run<'r, W: Write> {
    arguments: &'r Arguments,
    /// The card to run on, if one was asked for.
    card: Option<Card>,
    printer: &'r mut Printer<W>,
    /// Whether any engine was measured.
    raced: bool,
    /// Whether all answers were right.
    right: bool,
    /// The engines that refused a table. Each is printed once, not for each trace.
    refused: Vec<Refusal>,
}

impl<W: Write> Run<'_, W> {
    fn refuse(&mut self, refusal: Refusal) -> anyhow::Result<()> {
        if !self.refused.contains(&refusal) {
            self.printer.refused(&refusal)?;
            self.refused.push(refusal);
        }
        Ok(())
    }

    /// Races engines for one family and one trace, or each alone where the trace is its own.
    fn family<A: Key>(&mut self, rib: &Rib<A>, kind: &TraceKind) -> anyhow::Result<()> {
        let arguments = self.arguments;
        let list = &arguments.engine;
        let specifications =
            if self.card.is_some() { engines_with_kernels::<A>(list)? } else { engines::<A>(list)? };
        if !arguments.on_table.wants(rib) || specifications.is_empty() {
            return Ok(());
        }
        if *kind == TraceKind::Deep(None) {
            return specifications.iter().try_for_each(|engine| {
                self.race(rib, &TraceKind::Deep(Some(engine.clone())), std::slice::from_ref(engine))
            });
        }
        self.race(rib, kind, &specifications)
    }

    /// Races engines for one trace.
    fn race<A: Key>(
        &mut self,
        rib: &Rib<A>,
        kind: &TraceKind,
        specifications: &[String],
    ) -> anyhow::Result<()> {
        let arguments = self.arguments;
        let addresses = match trace::generate_among(
            registry::engines(),
            kind,
            rib,
            arguments.addresses as usize,
            arguments.seed,
        ) {
            Ok(addresses) => addresses,
            // A trace that only one family has is no error unless the other family was asked for.
            Err(error) if arguments.on_table.family.is_none() => {
                tell(format_args!("{} skipped: {error}", A::FAMILY));
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let (table, trace) = (arguments.on_table.name(), kind.to_string());
        if let Some(card) = self.card.clone() {
            return self.on_card(&card, specifications, (&table, rib), (&trace, &addresses));
        }
        let workload = Workload { table: &table, rib, trace: &trace, addresses: &addresses };
        let options = arguments.options();
        let bar = ProgressBar::new_spinner().with_message("finding the right answers");
        let race = Race::new(workload, options.check)?;
        let mut progress = |done, all| {
            bar.set_length(all as u64);
            bar.set_position(done as u64);
        };
        let report =
            race.run(registry::engines(), &arguments.contenders(specifications), &options, &mut progress)?;
        bar.finish_and_clear();
        tell_all(&report.wrong);
        for row in &report.rows {
            self.raced = true;
            self.right &= row.mismatches == 0;
            self.printer.row(row)?;
        }
        report.refused.into_iter().try_for_each(|refusal| self.refuse(refusal))
    }
}
