//! `fibula replay`: engines while their table changes.

#[cfg(feature = "gpu")]
mod on_device;

use super::device::{Card, Key, OnDevice, engines_with_kernels};
use super::measuring::{Building, OnTable, TimedChanges, UpdatesFrom, engines, timeless, untimed};
use crate::exit::{Verdict, tell};
use crate::output::{Output, Printer};
use crate::plotted::{Axes, Plotted};
use crate::registry;
use anyhow::Context;
use clap::Args;
use fibula::engine::Level;
use fibula::engine::{BEST, Config};
use fibula::live::Settings;
use fibula::{Address, Error, ErrorKind, Rib};
use fibula_io::trace::{self, TraceKind};
use fibula_io::update::Timed;
use fibula_kit::plot::Kind;
use fibula_lab::replay::{Flap, ReplayOptions, Stream, replay};
use std::io::Write;
use std::str::FromStr;
use std::time::Duration;

/// Change a table while readers look up: updates a second, time until visible, the readers' speed
///
/// One thread applies the updates, and each reader looks up on a core of its own. Readers also look
/// up addresses that change. An answer of neither the table before nor the one after is wrong, and
/// so is one at the end that differs from the oracle's; the status is then 1. In JSON the keys are
/// always these, in this order.
///
/// On a card a publication is a patch of the bytes that changed, and each reader has its own
/// stream. With `both` the first reader is there and at least one other on the processor.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The engines: a list like `best,dir24-8,dxr/k=20`, or `all` [default: best, on a card
    /// gpu-mosaic,gpu-mosaic6]
    #[arg(short, long, value_name = "LIST")]
    engine: Option<String>,
    /// The updates: a file, `-`, or `made=N` for N made ones
    #[arg(short, long, value_name = "UPDATES", conflicts_with = "flap", required_unless_present = "flap")]
    updates: Option<UpdatesFrom>,
    /// Instead of updates: `session` (every route withdrawn, then announced again), `default` (the
    /// default route changed and withdrawn a hundred times), `/8` (the same for the /8 with most
    /// routes)
    #[arg(long, value_name = "FLAP")]
    flap: Option<Flap>,
    /// How many threads look up
    #[arg(long, default_value_t = 1, value_name = "N")]
    readers: u16,
    /// The rate of updates: `full`, a multiple of their real rate like `10x`, or a number a second
    /// like `10000/s`
    #[arg(long, default_value = "full", value_name = "RATE")]
    rate: Rate,
    /// The most updates that are published together; 1 publishes each by itself
    #[arg(long, default_value_t = 1024, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    batch: u32,
    /// How long updates are collected before they are published, in microseconds
    #[arg(long, default_value_t = 0, value_name = "US")]
    delay: u64,
    /// The addresses that readers look up
    #[arg(long, default_value = "prefix")]
    trace: TraceKind,
    /// How many addresses
    #[arg(long, default_value_t = 1 << 22, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    addresses: u32,
    /// How many addresses are looked up under one guard, or in one batch on a card [default: 1024,
    /// on a card 1048576]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    reader_batch: Option<u32>,
    #[command(flatten)]
    on_device: OnDevice,
    #[command(flatten)]
    on_table: OnTable,
    #[command(flatten)]
    building: Building,
    #[command(flatten)]
    plotted: Plotted,
}

/// What is drawn: the readers' speed before, during and after the changes.
const AXES: Axes = Axes {
    kind: Kind::Bars,
    x: "engine",
    y: &["mlps_before", "mlps_during", "mlps_after"],
    by: &["family", "table"],
};

/// The rate of updates.
#[derive(Clone, Copy, Debug)]
enum Rate {
    Full,
    /// This number of times their real rate.
    Times(f64),
    PerSecond(f64),
}

impl FromStr for Rate {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let number =
            |text: &str| text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
        let times = || text.strip_suffix('x').and_then(number).map(Self::Times);
        let per_second = || text.strip_suffix("/s").and_then(number).map(Self::PerSecond);
        let full = (text == "full").then_some(Self::Full);
        let unknown = || Error::new(ErrorKind::Name, "expected full, 10x or 10000/s");
        full.or_else(times).or_else(per_second).ok_or_else(unknown)
    }
}

impl Rate {
    /// Returns the time at which each update is handed in, since the start.
    fn pace<A: Address>(self, updates: &[Timed<A>]) -> anyhow::Result<Option<Vec<Duration>>> {
        Ok(match self {
            Self::Full => None,
            Self::PerSecond(rate) => {
                Some((0..updates.len()).map(|at| Duration::from_secs_f64(at as f64 / rate)).collect())
            }
            Self::Times(factor) => {
                let times: Option<Vec<Duration>> = updates.iter().map(|update| update.time).collect();
                let times = times.context("these updates have no times: give a rate like 10000/s")?;
                let first = times.first().copied().unwrap_or_default();
                // Clocks of several collectors may run back a little. A late update is handed in at
                // once.
                let since = |time: Duration| time.saturating_sub(first).div_f64(factor);
                Some(times.into_iter().map(since).collect())
            }
        })
    }
}

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        anyhow::ensure!(
            !self.updates.as_ref().is_some_and(UpdatesFrom::is_standard_input)
                || !self.on_table.is_standard_input(),
            "table and updates cannot both come from standard input"
        );
        let card = self.on_device.open(self.reader_batch, 1)?;
        // A wrong name is an error before a table is read.
        self.engines::<u32>(card.is_some())?;
        let (mut tables, whole) = self.on_table.load()?;
        let updates = match (&self.updates, self.flap) {
            (Some(updates), _) => updates.load_timed(&mut tables)?,
            (None, flap) => {
                let flap = flap.unwrap_or(Flap::Session);
                let (ipv4, ipv6) = (flap.changes(&tables.ipv4), flap.changes(&tables.ipv6));
                TimedChanges { ipv4: timeless(ipv4), ipv6: timeless(ipv6) }
            }
        };
        let mut printer = output.printer().plotted(self.plotted.with(AXES));
        let mut run = Run { arguments: &self, card, printer: &mut printer, replayed: false, right: true };
        run.family(&tables.ipv4, &updates.ipv4)?;
        run.family(&tables.ipv6, &updates.ipv6)?;
        let Run { replayed, right, .. } = run;
        printer.finish()?;
        anyhow::ensure!(replayed, "nothing to replay: no engine of the list holds a family that changes");
        Ok(if right { whole } else { Verdict::Bad })
    }

    /// Returns the engines of the list that hold a family, on the processor or on a card.
    fn engines<A: Address>(&self, on_card: bool) -> anyhow::Result<Vec<String>> {
        if on_card {
            engines_with_kernels::<A>(self.engine.as_deref().unwrap_or("gpu-mosaic,gpu-mosaic6"))
        } else {
            engines::<A>(self.engine.as_deref().unwrap_or(BEST))
        }
    }

    fn options<A: Address>(&self, updates: &[Timed<A>]) -> anyhow::Result<ReplayOptions> {
        let mut config = Config::default();
        config.width = self.building.width;
        config.isa = self.building.isa.last().copied().unwrap_or(Level::best());
        config.pages = self.building.pages();
        let default = ReplayOptions::default();
        Ok(ReplayOptions {
            readers: self.readers.into(),
            reader_batch: self.reader_batch.map_or(default.reader_batch, |batch| batch as usize),
            pace: self.rate.pace(updates)?,
            settings: Settings {
                most_changes: self.batch as usize,
                longest_delay: Duration::from_micros(self.delay),
                ..Settings::default()
            },
            config,
            ..default
        })
    }
}

/// The state of a run.
struct Run<'r, W: Write> {
    arguments: &'r Arguments,
    /// The card to replay on, if one was asked for.
    card: Option<Card>,
    printer: &'r mut Printer<W>,
    /// Whether anything was replayed.
    replayed: bool,
    /// Whether all answers were right.
    right: bool,
}

impl<W: Write> Run<'_, W> {
    fn family<A: Key>(&mut self, rib: &Rib<A>, updates: &[Timed<A>]) -> anyhow::Result<()> {
        let specifications = self.arguments.engines::<A>(self.card.is_some())?;
        if !self.arguments.on_table.wants(rib) || specifications.is_empty() || updates.is_empty() {
            return Ok(());
        }
        let options = self.arguments.options(updates)?;
        let addresses = trace::generate_among(
            registry::engines(),
            &self.arguments.trace,
            rib,
            self.arguments.addresses as usize,
            1,
        )?;
        let (table, changes) = (self.arguments.on_table.name(), untimed(updates));
        let stream = Stream { table: &table, rib, changes: &changes, addresses: &addresses };
        for specification in specifications {
            let came_to = match &self.card {
                Some(card) => Ok(card.replay(&specification, stream, &options)?),
                None => replay(registry::engines(), &specification, stream, &options)?,
            };
            match came_to {
                Ok(row) => {
                    tell(format_args!(
                        "{specification}: {} publications, {} tables built for them, {} answers compared meanwhile",
                        row.publications, row.rebuilt, row.compared
                    ));
                    if row.refused > 0 {
                        tell(format_args!("{specification}: {} changes exceeded a limit", row.refused));
                    }
                    if row.wrong > 0 {
                        tell(format_args!("{specification}: {} wrong answers", row.wrong));
                    }
                    self.replayed = true;
                    self.right &= row.wrong == 0;
                    self.printer.row(&row)?;
                }
                Err(refusal) => tell(refusal),
            }
        }
        Ok(())
    }
}
