//! `fibula replay`: how engines do while their table changes.

use super::measuring::{Building, OnTable, TimedChanges, UpdatesFrom, engines, timeless, untimed};
use crate::exit::{Verdict, tell};
use crate::output::{Output, Printer};
use crate::registry;
use anyhow::Context;
use clap::Args;
use fibula::arch::Level;
use fibula::engine::Config;
use fibula::live::Settings;
use fibula::{Address, Rib};
use fibula_io::trace::{self, TraceKind};
use fibula_io::update::Timed;
use fibula_lab::replay::{Flap, ReplayOptions, Stream, replay};
use std::io::Write;
use std::str::FromStr;
use std::time::Duration;

/// Let a table change while readers look up: updates a second, time until visible, the readers' speed
///
/// One thread carries out the updates, each reader looks up on a core of its own. Readers look at addresses that change: an answer of neither
/// the table before nor the one after is wrong, and so is one at the end that differs from the oracle's; the
/// status is 1 then. In JSON the keys are always these, in this order.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The engines: a list like `best,dir24-8,dxr/k=20`, or `all`
    #[arg(short, long, default_value = "best", value_name = "LIST")]
    engine: String,
    /// The updates: a file, `-`, or `made=N` for N made ones
    #[arg(short, long, value_name = "UPDATES", conflicts_with = "flap", required_unless_present = "flap")]
    updates: Option<UpdatesFrom>,
    /// Instead of updates: `session` (every route withdrawn, then announced again), `default` (the default route a hundred
    /// times to and fro), `/8` (the same for the /8 with most routes)
    #[arg(long, value_name = "FLAP")]
    flap: Option<Flap>,
    /// How many threads look up
    #[arg(long, default_value_t = 1, value_name = "N")]
    readers: u16,
    /// How fast updates come: `full`, a multiple of the time they took like `10x`, or a number a second like `10000/s`
    #[arg(long, default_value = "full", value_name = "RATE")]
    rate: Rate,
    /// The most updates that are published together; 1 for each by itself
    #[arg(long, default_value_t = 1024, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    batch: u32,
    /// How long updates are gathered, in microseconds
    #[arg(long, default_value_t = 0, value_name = "US")]
    delay: u64,
    /// The addresses that readers look up
    #[arg(long, default_value = "prefix")]
    trace: TraceKind,
    /// How many of them
    #[arg(long, default_value_t = 1 << 22, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    addresses: u32,
    /// How many of them under one guard
    #[arg(long, default_value_t = 1024, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    reader_batch: u32,
    #[command(flatten)]
    on_table: OnTable,
    #[command(flatten)]
    building: Building,
}

/// How fast updates come.
#[derive(Clone, Copy, Debug)]
enum Rate {
    Full,
    /// So many times as fast as they happened.
    Times(f64),
    PerSecond(f64),
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number =
            |text: &str| text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
        let times = || text.strip_suffix('x').and_then(number).map(Self::Times);
        let per_second = || text.strip_suffix("/s").and_then(number).map(Self::PerSecond);
        let full = (text == "full").then_some(Self::Full);
        full.or_else(times).or_else(per_second).ok_or_else(|| "expected full, 10x or 10000/s".into())
    }
}

impl Rate {
    /// When each update is handed in, since the start.
    fn pace<A>(self, updates: &[Timed<A>]) -> anyhow::Result<Option<Vec<Duration>>> {
        Ok(match self {
            Self::Full => None,
            Self::PerSecond(rate) => {
                Some((0..updates.len()).map(|at| Duration::from_secs_f64(at as f64 / rate)).collect())
            }
            Self::Times(factor) => {
                let times: Option<Vec<Duration>> = updates.iter().map(|update| update.time).collect();
                let times = times.context("these updates have no times: give a rate like 10000/s")?;
                let first = times.first().copied().unwrap_or_default();
                // Clocks of several collectors may run back a little: what comes late is handed in at once.
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
        engines::<u32>(&self.engine)?; // a wrong name is told before a table is read
        let (mut tables, whole) = self.on_table.load()?;
        let updates = match (&self.updates, self.flap) {
            (Some(updates), _) => updates.load_timed(&mut tables)?,
            (None, flap) => {
                let flap = flap.unwrap_or(Flap::Session);
                let (ipv4, ipv6) = (flap.changes(&tables.ipv4), flap.changes(&tables.ipv6));
                TimedChanges { ipv4: timeless(ipv4), ipv6: timeless(ipv6) }
            }
        };
        let mut printer = output.printer();
        let mut run = Run { arguments: &self, printer: &mut printer, replayed: false, right: true };
        run.family(&tables.ipv4, &updates.ipv4)?;
        run.family(&tables.ipv6, &updates.ipv6)?;
        let Run { replayed, right, .. } = run;
        printer.finish()?;
        anyhow::ensure!(replayed, "nothing to replay: no engine of the list holds a family that changes");
        Ok(if right { whole } else { Verdict::Bad })
    }

    fn options<A>(&self, updates: &[Timed<A>]) -> anyhow::Result<ReplayOptions> {
        let mut config = Config::default();
        config.width = self.building.width;
        config.isa = self.building.isa.last().copied().unwrap_or(Level::best());
        config.pages = self.building.pages();
        Ok(ReplayOptions {
            readers: self.readers.into(),
            reader_batch: self.reader_batch as usize,
            pace: self.rate.pace(updates)?,
            settings: Settings {
                most_changes: self.batch as usize,
                longest_delay: Duration::from_micros(self.delay),
                ..Settings::default()
            },
            config,
            ..ReplayOptions::default()
        })
    }
}

/// A run as it goes along.
struct Run<'r, W: Write> {
    arguments: &'r Arguments,
    printer: &'r mut Printer<W>,
    /// Whether anything was replayed.
    replayed: bool,
    /// Whether all answers were right.
    right: bool,
}

impl<W: Write> Run<'_, W> {
    fn family<A: Address>(&mut self, rib: &Rib<A>, updates: &[Timed<A>]) -> anyhow::Result<()> {
        let specifications = engines::<A>(&self.arguments.engine)?;
        if !self.arguments.on_table.wants(rib) || specifications.is_empty() || updates.is_empty() {
            return Ok(());
        }
        let options = self.arguments.options(updates)?;
        let addresses = trace::generate(&self.arguments.trace, rib, self.arguments.addresses as usize, 1)?;
        let (table, changes) = (self.arguments.on_table.name(), untimed(updates));
        let stream = Stream { table: &table, rib, changes: &changes, addresses: &addresses };
        for specification in specifications {
            match replay(registry::engines(), &specification, stream, &options)? {
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
