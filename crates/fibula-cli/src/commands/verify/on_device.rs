//! `fibula verify --device gpu`: compares the engines of a device with the oracle.

use super::Run;
use crate::commands::device::live::TableOnDevice;
use crate::commands::device::{Card, engines_with_kernels, on_processor, refusal};
use crate::commands::measuring::Changes;
use crate::exit::tell;
use fibula::engine::WidthBits;
use fibula::live::Settings;
use fibula::{Change, Rib};
use fibula_gpu::cooperative::Options;
use fibula_gpu::device::{Device, Measured};
use fibula_gpu::{Key, study};
use fibula_io::table::Tables;
use fibula_lab::live_table::LiveTable;
use fibula_lab::verify::{ExhaustiveOptions, VerifyOptions, probes, width_of_all};
use fibula_lab::{Error, Expected};
use indicatif::ProgressBar;
use std::io::Write;
use std::ops::RangeInclusive;
use std::time::Duration;

/// The name of a card's instruction set in results.
const KERNELS: &str = "cuda";

impl<W: Write> Run<'_, W> {
    /// Checks engines on a card: with `changes` a changing table, without them the addresses where
    /// longest match breaks and, if asked for, every IPv4 address.
    pub(super) fn on_card(
        &mut self,
        card: &Card,
        tables: &Tables,
        changes: Option<&Changes>,
    ) -> anyhow::Result<()> {
        self.on_device(&card.cuda, card.options, tables, changes)
    }

    /// Does the work of [`Run::on_card`] on any device.
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
            let fresh = |rib: &Rib<A>| {
                let mut fresh = made(rib).map_err(Error::elsewhere)?;
                // As the judged table after its last change, one that is built again still has the
                // copy before.
                if let Some(route) = rib.iter().next() {
                    for change in [Change::Withdraw(route.prefix), Change::Announce(route)] {
                        fresh.change(change, Duration::ZERO)?;
                        fresh.poll(Duration::MAX)?;
                    }
                }
                Ok(fresh.bytes())
            };
            let row = fibula_lab::verify::updates_on(&mut live, &engine, KERNELS, changes, fresh, &options)?;
            self.print_updates(&row)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use crate::output::{Format, Printer};
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
