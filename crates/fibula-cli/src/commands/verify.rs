//! `fibula verify`: compares engines with the oracle.

use super::device::live::TableOnDevice;
use super::device::{OnDevice, engines_with_kernels, on_processor};
use super::measuring::{Building, Changes, OnTable, UpdatesFrom, engines, refusal, tell_all};
use crate::exit::{Verdict, tell};
use crate::output::{Output, Printer};
use crate::reading::FamilyName;
use crate::registry;
use clap::Args;
use fibula::arch::Level;
use fibula::engine::WidthBits;
use fibula::live::Settings;
use fibula::{Address, Change, Rib};
use fibula_gpu::cooperative::Options;
use fibula_gpu::device::{Device, Measured};
use fibula_gpu::{Key, study};
use fibula_io::table::Tables;
use fibula_lab::live_table::LiveTable;
use fibula_lab::verify::{
    ExhaustiveOptions, UpdateOptions, UpdateRow, VerifyOptions, VerifyRow, probes, width_of_all,
};
use fibula_lab::{Error, Expected, Refusal};
use indicatif::ProgressBar;
use std::io::Write;
use std::ops::RangeInclusive;
use std::time::Duration;

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
    /// Also look up every one of the 2^32 IPv4 addresses, and compare with a flat table of them;
    /// `all` engines then leaves out the oracle, which would take an hour
    #[arg(long)]
    exhaustive: bool,
    /// Apply these updates, a file, `-`, or `made=N` for N made ones, and check the engines on the
    /// way and at the end
    #[arg(short, long, value_name = "UPDATES", conflicts_with = "exhaustive")]
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
        if let Some((card, options)) = card {
            run.on_device(&card, options, &tables, changes.as_ref())?;
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
struct Run<'r, W: Write> {
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

    /// Does the same on a card.
    fn on_device<D: Measured + Clone + 'static>(
        &mut self,
        device: &D,
        options: Options,
        tables: &Tables,
        changes: Option<&Changes>,
    ) -> anyhow::Result<()> {
        if let Some(changes) = changes {
            self.follow_on_device(&tables.ipv4, &changes.ipv4, device, options)?;
            return self.follow_on_device(&tables.ipv6, &changes.ipv6, device, options);
        }
        self.probe_device(&tables.ipv4, device, options)?;
        self.probe_device(&tables.ipv6, device, options)?;
        if self.arguments.exhaustive {
            self.exhaust_device(&tables.ipv4, 0..=u32::MAX, device, options)?;
        }
        Ok(())
    }

    /// Returns the engines that run on a device, if this family is asked for.
    fn on_device_wanted<A: Key>(&self, rib: &Rib<A>) -> anyhow::Result<Vec<String>> {
        if self.arguments.on_table.wants(rib) {
            engines_with_kernels::<A>(&self.arguments.engine)
        } else {
            Ok(Vec::new())
        }
    }

    /// Checks the addresses where longest match breaks, on a device.
    fn probe_device<A: Key, D: Measured + Clone>(
        &mut self,
        rib: &Rib<A>,
        device: &D,
        options: Options,
    ) -> anyhow::Result<()> {
        let engines = self.on_device_wanted(rib)?;
        if engines.is_empty() {
            return Ok(());
        }
        let VerifyOptions { random, seed, widths, .. } = self.arguments.options();
        let mut random_numbers = fastrand::Rng::with_seed(seed);
        let mut addresses = probes(rib, random, &mut random_numbers);
        random_numbers.shuffle(&mut addresses);
        let expected = Expected::new(rib, addresses)?;
        let widest = rib.max_next_hop();
        for engine in &engines {
            for &width in widths.iter().filter(|width| WidthBits::max(**width) >= widest) {
                let fib = match on_processor(engine, rib, Some(width)) {
                    Ok(fib) => fib,
                    Err(error) => {
                        self.refuse(refusal::<A>(engine, error)?)?;
                        continue;
                    }
                };
                let workload =
                    study::Workload { table: "", rib, engine, addresses: expected.addresses(), fib: &fib };
                let (answers, fault) = study::answers(device, &workload, options)?;
                if let Some(fault) = &fault {
                    tell(format_args!("{fault}; the processor has answered the rest"));
                }
                let row = fibula_lab::verify::judged(engine, width, "device", KERNELS, &expected, &answers);
                self.right &= fault.is_none();
                self.print(&row)?;
            }
        }
        Ok(())
    }

    /// Checks every IPv4 address of a range, on a device.
    fn exhaust_device<D: Device + Clone + 'static>(
        &mut self,
        rib: &Rib<u32>,
        addresses: RangeInclusive<u32>,
        device: &D,
        Options { division, buffer, .. }: Options,
    ) -> anyhow::Result<()> {
        for engine in self.on_device_wanted(rib)? {
            let width = self.arguments.building.width.unwrap_or(WidthBits::holding(rib.max_next_hop()));
            let live =
                TableOnDevice::new(device.clone(), division, &engine, width, rib, Settings::default())?;
            let options = ExhaustiveOptions {
                addresses: addresses.clone(),
                slice: buffer,
                ..ExhaustiveOptions::default()
            };
            let bar = ProgressBar::new(1 << 32).with_message(engine.clone());
            let progress = |done| bar.set_position(done);
            let row = fibula_lab::verify::exhaustive_on(&live, &engine, KERNELS, &options, &progress)?;
            bar.finish_and_clear();
            self.print(&row)?;
        }
        Ok(())
    }

    /// Checks a changing table on a device.
    fn follow_on_device<A: Key, D: Device + Clone + 'static>(
        &mut self,
        rib: &Rib<A>,
        changes: &[Change<A>],
        device: &D,
        Options { division, .. }: Options,
    ) -> anyhow::Result<()> {
        if !self.changes_wanted(rib, changes) {
            return Ok(());
        }
        let options = self.arguments.update_options();
        let width = options.width.unwrap_or_else(|| width_of_all(rib, changes));
        let settings = Settings {
            most_changes: options.batch,
            longest_delay: Duration::MAX, // each batch by itself
            ..Settings::default()
        };
        for engine in engines_with_kernels::<A>(&self.arguments.engine)? {
            let made =
                |rib: &Rib<A>| TableOnDevice::new(device.clone(), division, &engine, width, rib, settings);
            let mut live = made(rib)?;
            let fresh = |rib: &Rib<A>| made(rib).map(|live| live.bytes()).map_err(Error::elsewhere);
            let row = fibula_lab::verify::updates_on(&mut live, &engine, KERNELS, changes, fresh, &options)?;
            self.print_updates(&row)?;
        }
        Ok(())
    }

    /// Checks every IPv4 address.
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

/// The engine that is itself the judge.
const ORACLE: &str = fibula::engines::oracle::ABOUT.name;

/// The number of batches on a card at once.
const STREAMS: usize = 2;

/// The name of a card's instruction set in results.
const KERNELS: &str = "cuda";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use crate::output::Format;
    use clap::Parser;
    use fibula_gpu::cooperative::Division;
    use fibula_gpu::device::Twin;
    use fibula_io::generate::{self, NextHopModel, Size};

    /// Runs `verify` on the twin with these options, `--exhaustive` for some addresses only.
    /// Returns whether any engine was checked, and whether all was right.
    fn verified(twin: &Twin, division: Division, more: &[&str]) -> anyhow::Result<(bool, bool)> {
        let mut tables = generate::internet(Size { ipv4: 2000, ipv6: 2000 }, NextHopModel::Near(300), 1)?;
        let Command::Verify(mut arguments) = Cli::parse_from([&["fibula", "verify"], more].concat()).command
        else {
            panic!("it is verify that is asked for")
        };
        let exhaustive = std::mem::take(&mut arguments.exhaustive);
        let changes = arguments.updates.as_ref().map(|updates| updates.load(&mut tables)).transpose()?;
        let mut printer = Printer::new(Format::Csv, Vec::new());
        let mut run = Run::new(&arguments, &mut printer);
        let options = Options { buffer: 1 << 16, lanes: 2, threads: 1, division };
        run.on_device(twin, options, &tables, changes.as_ref())?;
        if exhaustive {
            run.exhaust_device(&tables.ipv4, 0x2000_0000..=0x200F_FFFF, twin, options)?;
        }
        Ok((run.asked, run.right))
    }

    #[test]
    fn a_device_is_asked_for_probes_updates_and_every_address() {
        for division in [Division::Device, Division::Profiled] {
            for more in [
                &["--random", "1000"][..],
                &["--random", "1000", "-u", "made=2000", "--batch", "30"],
                &["--engine", "gpu-mosaic", "--random", "10", "--width", "16", "--exhaustive"],
            ] {
                let came_to = verified(&Twin::default(), division, more).unwrap();
                assert_eq!(came_to, (true, true), "{division:?} {more:?}");
            }
        }
    }

    #[test]
    fn a_device_that_fails_is_never_right() {
        for (steps, more) in [(9, &["-u", "made=500"][..]), (5, &["--random", "10"]), (30, &["--exhaustive"])]
        {
            let twin = Twin::default();
            twin.script().fail_after(steps);
            let more = [&["--engine", "gpu-mosaic", "--width", "16"], more].concat();
            assert!(!matches!(verified(&twin, Division::Device, &more), Ok((_, true))), "{more:?}");
        }
    }
}
