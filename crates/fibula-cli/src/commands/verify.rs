//! `fibula verify`: whether engines answer right.

use super::device::{OnDevice, engines_with_kernels, on_processor};
use super::measuring::{Building, OnTable, UpdatesFrom, engines, tell_all};
use crate::exit::{Verdict, tell};
use crate::family::FamilyName;
use crate::output::{Output, Printer};
use crate::registry;
use clap::Args;
use fibula::arch::Level;
use fibula::engine::WidthBits;
use fibula::{Address, Change, Rib};
use fibula_gpu::cooperative::Options;
use fibula_gpu::device::Cuda;
use fibula_gpu::{Key, study};
use fibula_io::table::Tables;
use fibula_lab::Expected;
use fibula_lab::verify::{ExhaustiveOptions, UpdateOptions, VerifyOptions, probes};
use indicatif::ProgressBar;
use std::io::Write;

/// Check engines against the oracle
///
/// Each engine is asked for both ends of every prefix and of every interval of equal answers, the addresses beside
/// them, and random ones: one by one, and in batches of many sizes on every instruction set, at every width that
/// holds the table. Wrong answers are told on standard error, and the status is 1.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The engines: `all`, or a list like `best,dxr18,dxr/k=20`
    #[arg(short, long, default_value = "all", value_name = "LIST")]
    engine: String,
    /// Ask also for every one of the 2^32 IPv4 addresses, against a flat table of them; of `all` engines, not the
    /// oracle, which would take an hour
    #[arg(long)]
    exhaustive: bool,
    /// Let the engines follow these updates, a file, `-`, or `made=N` for N made ones, and check them on the way and
    /// at the end
    #[arg(short, long, value_name = "UPDATES", conflicts_with = "exhaustive")]
    updates: Option<UpdatesFrom>,
    /// How many updates are handed to an engine at once
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    batch: u32,
    /// How many random addresses are asked for
    #[arg(long, default_value_t = 1_000_000, value_name = "N")]
    random: usize,
    /// What the random addresses are drawn from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    on_device: OnDevice,
    #[command(flatten)]
    on_table: OnTable,
    #[command(flatten)]
    building: Building,
}

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        anyhow::ensure!(
            !self.exhaustive || self.on_table.family != Some(FamilyName::Ipv6),
            "--exhaustive is for IPv4: nobody can ask for all IPv6 addresses"
        );
        anyhow::ensure!(
            !self.updates.as_ref().is_some_and(UpdatesFrom::is_standard_input)
                || !self.on_table.is_standard_input(),
            "table and updates cannot both come from standard input"
        );
        let card = self.on_device.open(None, STREAMS)?;
        anyhow::ensure!(
            card.is_none() || (self.updates.is_none() && !self.exhaustive),
            "--device gpu asks for the probes alone, without --updates and --exhaustive"
        );
        // A wrong name is told before a table is read.
        if card.is_some() {
            engines_with_kernels::<u32>(&self.engine)?
        } else {
            engines::<u32>(&self.engine)?
        };
        let (mut tables, whole) = self.on_table.load()?;
        let changes = self.updates.as_ref().map(|updates| updates.load(&mut tables)).transpose()?;
        let Tables { ipv4, ipv6, .. } = &tables;
        let mut printer = output.printer();
        let mut run = Run { arguments: &self, printer: &mut printer, asked: false, right: true };
        if let Some((card, options)) = card {
            run.on_card(ipv4, &card, options)?;
            run.on_card(ipv6, &card, options)?;
        } else if let Some(changes) = &changes {
            run.follow(ipv4, &changes.ipv4)?;
            run.follow(ipv6, &changes.ipv6)?;
        } else {
            run.verify(ipv4)?;
            run.verify(ipv6)?;
            if self.exhaustive {
                run.exhaust(ipv4)?;
            }
        }
        let Run { asked, right, .. } = run;
        printer.finish()?;
        anyhow::ensure!(asked, "nothing to verify: no engine of the list holds a family of the table");
        Ok(if right { whole } else { Verdict::Bad })
    }

    fn options(&self) -> VerifyOptions {
        let mut options = VerifyOptions {
            random: self.random,
            seed: self.seed,
            pages: self.building.pages(),
            ..VerifyOptions::default()
        };
        if let Some(width) = self.building.width {
            options.widths = vec![width];
        }
        if !self.building.isa.is_empty() {
            options.levels.clone_from(&self.building.isa);
        }
        options
    }
}

/// A run as it goes along.
struct Run<'r, W: Write> {
    arguments: &'r Arguments,
    printer: &'r mut Printer<W>,
    /// Whether any engine was asked anything.
    asked: bool,
    /// Whether all answers were right.
    right: bool,
}

impl<W: Write> Run<'_, W> {
    /// The addresses where longest match breaks.
    fn verify<A: Address>(&mut self, rib: &Rib<A>) -> anyhow::Result<()> {
        if !self.arguments.on_table.wants(rib) {
            return Ok(());
        }
        let specifications = engines::<A>(&self.arguments.engine)?;
        if specifications.is_empty() {
            return Ok(());
        }
        let mut printed = Ok(());
        let print = &mut |row: &_| {
            if printed.is_ok() {
                printed = self.printer.row(row);
            }
        };
        let verification = fibula_lab::verify::verify(
            registry::engines(),
            &specifications,
            rib,
            &self.arguments.options(),
            print,
        )?;
        printed?;
        tell_all(&verification.refused);
        for row in &verification.rows {
            tell_all(&row.first);
            if let Some(contradiction) = &row.contradiction {
                tell(format_args!("{} contradicts itself: {contradiction}", row.engine));
            }
        }
        self.asked |= !verification.rows.is_empty();
        self.right &= verification.is_right();
        Ok(())
    }

    /// The same addresses, answered by a card.
    fn on_card<A: Key>(&mut self, rib: &Rib<A>, card: &Cuda, options: Options) -> anyhow::Result<()> {
        let arguments = self.arguments;
        let engines = engines_with_kernels::<A>(&arguments.engine)?;
        if !arguments.on_table.wants(rib) || engines.is_empty() {
            return Ok(());
        }
        let VerifyOptions { random, seed, widths, .. } = arguments.options();
        let mut random_numbers = fastrand::Rng::with_seed(seed);
        let mut addresses = probes(rib, random, &mut random_numbers);
        random_numbers.shuffle(&mut addresses);
        let expected = Expected::new(rib, addresses)?;
        let widest = rib.max_next_hop();
        for engine in &engines {
            for &width in widths.iter().filter(|width| WidthBits::max(**width) >= widest) {
                let fib = on_processor(engine, rib, Some(width))?;
                let workload =
                    study::Workload { table: "", rib, engine, addresses: expected.addresses(), fib: &fib };
                let (answers, fault) = study::answers(card, &workload, options)?;
                if let Some(fault) = &fault {
                    tell(format_args!("{fault}; the processor has answered the rest"));
                }
                let row = fibula_lab::verify::judged(engine, width, "device", "cuda", &expected, &answers);
                tell_all(&row.first);
                self.asked = true;
                self.right &= row.mismatches == 0 && fault.is_none();
                self.printer.row(&row)?;
            }
        }
        Ok(())
    }

    /// Every IPv4 address.
    fn exhaust(&mut self, rib: &Rib<u32>) -> anyhow::Result<()> {
        if !self.arguments.on_table.wants(rib) {
            return Ok(());
        }
        let list = &self.arguments.engine;
        let mut specifications = engines::<u32>(list)?;
        let oracle_is_named = list.split(',').any(|name| name.trim() == ORACLE);
        specifications.retain(|name| name != ORACLE || oracle_is_named);
        let building = &self.arguments.building;
        let options = ExhaustiveOptions {
            width: building.width,
            isa: building.isa.last().copied().unwrap_or(Level::best()),
            pages: building.pages(),
            ..ExhaustiveOptions::default()
        };
        for specification in specifications {
            let bar = ProgressBar::new(1 << 32).with_message(specification.clone());
            let progress = |done| bar.set_position(done);
            let row = fibula_lab::verify::exhaustive(
                registry::engines(),
                &specification,
                rib,
                &options,
                &progress,
            )?;
            bar.finish_and_clear();
            match row {
                Ok(row) => {
                    tell_all(&row.first);
                    self.asked = true;
                    self.right &= row.mismatches == 0;
                    self.printer.row(&row)?;
                }
                Err(refusal) => tell(format_args!("{refusal}")),
            }
        }
        Ok(())
    }

    /// A changing table.
    fn follow<A: Address>(&mut self, rib: &Rib<A>, changes: &[Change<A>]) -> anyhow::Result<()> {
        let arguments = self.arguments;
        let wanted = arguments.on_table.family.is_some() || !changes.is_empty();
        if !wanted || !arguments.on_table.wants(rib) {
            return Ok(());
        }
        let options = UpdateOptions {
            batch: arguments.batch as usize,
            width: arguments.building.width,
            verify: arguments.options(),
            ..UpdateOptions::default()
        };
        for specification in engines::<A>(&arguments.engine)? {
            match fibula_lab::verify::updates(registry::engines(), &specification, rib, changes, &options)? {
                Ok(row) => {
                    tell_all(&row.first);
                    if let Some(contradiction) = &row.contradiction {
                        tell(format_args!("{specification} contradicts itself: {contradiction}"));
                    }
                    if row.leaked {
                        let (after, fresh) = (row.bytes_after, row.bytes_fresh);
                        tell(format_args!("{specification} takes {after} bytes, built anew {fresh}"));
                    }
                    self.asked = true;
                    self.right &= row.is_right();
                    self.printer.row(&row)?;
                }
                Err(refusal) => tell(format_args!("{refusal}")),
            }
        }
        Ok(())
    }
}

/// The engine that is itself a judge.
const ORACLE: &str = fibula::engines::oracle::ABOUT.name;

/// The batches that a card has at once.
const STREAMS: usize = 2;
