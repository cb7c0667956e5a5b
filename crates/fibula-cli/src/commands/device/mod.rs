//! `--device`: where lookups run, the same for every command that has it.

pub(crate) mod live;

use crate::registry;
use clap::{Args, ValueEnum};
use fibula::engine::{Config, WidthBits};
use fibula::{Address, Fib, Rib};
use fibula_gpu::Key;
use fibula_gpu::cooperative::{Division, Options};
use fibula_gpu::device::Cuda;
use fibula_lab::bench::BenchOptions;

/// The default number of addresses of a batch on a card.
const BATCH: u32 = 1 << 20;

/// Where lookups run.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct OnDevice {
    /// Where the lookups run: gpu and both take a CUDA card, and the engines whose names begin with
    /// gpu-
    #[arg(long, value_enum, default_value_t, value_name = "DEVICE")]
    device: DeviceName,
}

/// Where lookups run, for commands that hand them over in batches.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct InBatches {
    /// How many addresses are handed over in one call; threads share chunks of this size [default:
    /// 16384, on a card 1048576]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    batch: Option<u32>,
    #[command(flatten)]
    on_device: OnDevice,
    /// How many batches are on a card at once
    #[arg(long, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64))]
    streams: u8,
}

impl InBatches {
    /// As [`OnDevice::open`].
    pub(crate) fn open(self) -> anyhow::Result<Option<(Cuda, Options)>> {
        self.on_device.open(self.batch, self.streams.into())
    }

    /// Returns the addresses of a batch on the processor.
    pub(crate) fn batch(self) -> usize {
        self.batch.map_or_else(|| BenchOptions::default().batch, |batch| batch as usize)
    }
}

/// A device on the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum DeviceName {
    /// The processor
    #[default]
    Cpu,
    /// The first CUDA card
    Gpu,
    /// The card and the processor together, divided by their speeds
    Both,
}

impl OnDevice {
    /// Returns the card and how work is divided; `None` for the processor alone. Call it before a
    /// table is read, so that a machine without a card fails at once.
    pub(crate) fn open(self, batch: Option<u32>, lanes: usize) -> anyhow::Result<Option<(Cuda, Options)>> {
        let (division, threads) = match self.device {
            DeviceName::Cpu => return Ok(None),
            DeviceName::Gpu => (Division::Device, 0),
            DeviceName::Both => (Division::Profiled, Options::default().threads),
        };
        let buffer = batch.unwrap_or(BATCH) as usize;
        Ok(Some((Cuda::open(0)?, Options { buffer, lanes, threads, division })))
    }
}

/// Returns the engines of a list that have a kernel for a family; `all` are all that have one.
pub(crate) fn engines_with_kernels<A: Address>(list: &str) -> anyhow::Result<Vec<String>> {
    let names = fibula_gpu::ENGINES.iter().map(|entry| entry.about.name);
    let all: Vec<&str> = names.collect();
    let list = if list == "all" { all.join(",") } else { list.to_owned() };
    let selected = fibula_lab::select::<A>(fibula_gpu::ENGINES, &list);
    Ok(selected?)
}

/// Builds the table on the processor, as the card's partner and judge: the twin of the same kernel,
/// at the same width.
pub(crate) fn on_processor<A: Key>(
    engine: &str,
    rib: &Rib<A>,
    width: Option<WidthBits>,
) -> anyhow::Result<Fib<A>> {
    let mut config = Config::default();
    config.width = width;
    Ok(Fib::build_from(registry::engines(), engine, rib, config)?)
}
