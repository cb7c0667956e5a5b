//! `fibula verify`: compares engines with the oracle.

#[cfg(feature = "gpu")]
mod on_device;

use super::device::{OnDevice, engines_with_kernels};
use super::measuring::{Building, OnTable, UpdatesFrom, engines, tell_all};
use crate::exit::{Verdict, tell};
use crate::output::{Output, Printer};
use crate::reading::FamilyName;
use crate::registry;
use clap::Args;
use fibula::engine::Level;
use fibula::{Address, Change, Rib};
use fibula_io::table::Tables;
use fibula_lab::Refusal;
use fibula_lab::verify::{ExhaustiveOptions, UpdateOptions, UpdateRow, VerifyOptions, VerifyRow};
use indicatif::ProgressBar;
use std::io::Write;

/// Check engines against the oracle
///
/// Each engine looks up both ends of every prefix and of every interval of equal answers, the
/// addresses beside them, and random ones: one by one, and in batches of many sizes on every
/// instruction set, at every width that holds the table. Wrong answers are printed on standard
/// error, and the status is 1. An engine that refuses the table has a row with the reason.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The engines: `all`, or a list like `best,dxr18,dxr/k=20`
    #[arg(short, long, default_value = "all", value_name = "LIST")]
    engine: String,
    /// Also look up every one of the 2^32 IPv4 addresses, after all updates if there are any, and
    /// compare with a flat table of them; `all` engines then leaves out the oracle, which would
    /// take an hour
    #[arg(long)]
    exhaustive: bool,
    /// Apply these updates, a file, `-`, or `made=N` for N made ones, and check the engines on the
    /// way and at the end
    #[arg(short, long, value_name = "UPDATES")]
    updates: Option<UpdatesFrom>,
    /// How many updates are handed to an engine at once
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    batch: u32,
    /// How many random addresses are looked up
    #[arg(long, default_value_t = 1_000_000, value_name = "N")]
    random: usize,
    /// The seed of the random addresses
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
            card.is_none() || !self.exhaustive || self.updates.is_none(),
            "on a card --exhaustive and --updates are two runs"
        );
        // A wrong name is an error before a table is read.
        if card.is_some() {
            engines_with_kernels::<u32>(&self.engine)?
        } else {
            engines::<u32>(&self.engine)?
        };
        let (mut tables, whole) = self.on_table.load()?;
        let changes = self.updates.as_ref().map(|updates| updates.load(&mut tables)).transpose()?;
        let Tables { ipv4, ipv6, .. } = &tables;
        let mut printer = output.printer().with_refusals();
        let mut run = Run::new(&self, &mut printer);
        if let Some(card) = card {
            run.on_card(&card, &tables, changes.as_ref())?;
        } else {
            if let Some(changes) = &changes {
                run.follow(ipv4, &changes.ipv4)?;
                run.follow(ipv6, &changes.ipv6)?;
            } else {
                run.verify(ipv4)?;
                run.verify(ipv6)?;
            }
            if self.exhaustive {
                run.exhaust(ipv4, changes.as_ref().map_or(&[], |changes| &changes.ipv4))?;
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

    fn update_options(&self) -> UpdateOptions {
        UpdateOptions {
            batch: self.batch as usize,
            width: self.building.width,
            verify: self.options(),
            ..UpdateOptions::default()
        }
    }
}

/// The state of a run.
pub(super) struct Run<'r, W: Write> {
    arguments: &'r Arguments,
    printer: &'r mut Printer<W>,
    /// Whether any engine was checked.
    asked: bool,
    /// Whether all answers were right.
    right: bool,
    /// The engines that refused a table. Each is printed once.
    refused: Vec<Refusal>,
}

impl<'r, W: Write> Run<'r, W> {
    fn new(arguments: &'r Arguments, printer: &'r mut Printer<W>) -> Self {
        Self { arguments, printer, asked: false, right: true, refused: Vec::new() }
    }

    fn refuse(&mut self, refusal: Refusal) -> anyhow::Result<()> {
        if !self.refused.contains(&refusal) {
            self.printer.refused(&refusal)?;
            self.refused.push(refusal);
        }
        Ok(())
    }

    /// Checks the addresses where longest match breaks.
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
        for row in &verification.rows {
            tell_all(&row.first);
            if let Some(contradiction) = &row.contradiction {
                tell(format_args!("{} contradicts itself: {contradiction}", row.engine));
            }
        }
        self.asked |= !verification.rows.is_empty();
        self.right &= verification.is_right();
        verification.refused.into_iter().try_for_each(|refusal| self.refuse(refusal))
    }

    /// Checks every IPv4 address, after all changes.
    fn exhaust(&mut self, rib: &Rib<u32>, changes: &[Change<u32>]) -> anyhow::Result<()> {
        if !self.arguments.on_table.wants(rib) {
            return Ok(());
        }
        let list = &self.arguments.engine;
        let mut specifications = engines::<u32>(list)?;
        let oracle_is_named = list.split(',').any(|name| name.trim() == ORACLE);
        specifications.retain(|name| name != ORACLE || oracle_is_named);
        let building = &self.arguments.building;
        let options = ExhaustiveOptions {
            batch: self.arguments.batch as usize,
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
                changes,
                &options,
                &progress,
            )?;
            bar.finish_and_clear();
            match row {
                Ok(row) => self.print(&row)?,
                Err(refusal) => self.refuse(refusal)?,
            }
        }
        Ok(())
    }

    fn print(&mut self, row: &VerifyRow) -> anyhow::Result<()> {
        tell_all(&row.first);
        self.asked = true;
        self.right &= row.mismatches == 0;
        self.printer.row(row)
    }

    /// Checks a changing table.
    fn follow<A: Address>(&mut self, rib: &Rib<A>, changes: &[Change<A>]) -> anyhow::Result<()> {
        if !self.changes_wanted(rib, changes) {
            return Ok(());
        }
        let options = self.arguments.update_options();
        for specification in engines::<A>(&self.arguments.engine)? {
            match fibula_lab::verify::updates(registry::engines(), &specification, rib, changes, &options)? {
                Ok(row) => self.print_updates(&row)?,
                Err(refusal) => self.refuse(refusal)?,
            }
        }
        Ok(())
    }

    /// Returns whether a changing table is to be checked: one that changes, or whose family was
    /// asked for.
    fn changes_wanted<A: Address>(&self, rib: &Rib<A>, changes: &[Change<A>]) -> bool {
        let on_table = &self.arguments.on_table;
        (on_table.family.is_some() || !changes.is_empty()) && on_table.wants(rib)
    }

    fn print_updates(&mut self, row: &UpdateRow) -> anyhow::Result<()> {
        let engine = &row.engine;
        tell_all(&row.first);
        if let Some(contradiction) = &row.contradiction {
            tell(format_args!("{engine} contradicts itself: {contradiction}"));
        }
        if row.leaked {
            let (after, fresh) = (row.bytes_after, row.bytes_fresh);
            tell(format_args!("{engine} takes {after} bytes, a fresh build {fresh}"));
        }
        self.asked = true;
        self.right &= row.is_right();
        self.printer.row(row)
    }
}

/// The number of batches on a card at once.
const STREAMS: usize = 2;

/// The engine that is itself the judge.
const ORACLE: &str = "oracle";
