//! `--device`: where lookups run, the same for every command that has it.

#[cfg(not(feature = "gpu"))]
mod disabled;
#[cfg(feature = "gpu")]
mod enabled;
#[cfg(feature = "gpu")]
pub(crate) mod live;

#[cfg(not(feature = "gpu"))]
pub(crate) use disabled::{Card, ENGINES, Key, rows};
#[cfg(feature = "gpu")]
pub(crate) use enabled::{Card, ENGINES, Key, on_processor, refusal, rows};

use clap::{Args, ValueEnum};
use fibula::Address;

/// The default number of addresses of a batch.
const LONG: usize = 16_384;

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
#[derive(Clone, Debug, Args)]
pub(crate) struct InBatches {
    /// How many addresses are handed over in one call, one row each; threads share chunks of this
    /// size [default: bench 32,256,16384, other commands 16384, a card 1048576]
    #[arg(long, value_delimiter = ',', value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    batch: Vec<u32>,
    #[command(flatten)]
    on_device: OnDevice,
    /// How many batches are on a card at once
    #[arg(long, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64))]
    streams: u8,
}

impl InBatches {
    /// As [`OnDevice::open`].
    pub(crate) fn open(&self) -> anyhow::Result<Option<Card>> {
        self.on_device.open(self.batch.first().copied(), self.streams.into())
    }

    /// Returns the addresses of a batch on the processor.
    pub(crate) fn batch(&self) -> usize {
        self.batch.first().map_or(LONG, |&batch| batch as usize)
    }

    /// Returns the numbers of addresses of the calls to measure on the processor: those of a burst
    /// of packets, of a vector of them, and of a column.
    pub(crate) fn batches(&self) -> Vec<usize> {
        let given: Vec<usize> = self.batch.iter().map(|&batch| batch as usize).collect();
        if given.is_empty() { vec![32, 256, LONG] } else { given }
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
    pub(crate) fn open(self, batch: Option<u32>, lanes: usize) -> anyhow::Result<Option<Card>> {
        match self.device {
            DeviceName::Cpu => Ok(None),
            DeviceName::Gpu => Card::open(false, batch.unwrap_or(BATCH) as usize, lanes).map(Some),
            DeviceName::Both => Card::open(true, batch.unwrap_or(BATCH) as usize, lanes).map(Some),
        }
    }
}

/// Returns the engines of a list that have a kernel for a family; `all` are all that have one.
pub(crate) fn engines_with_kernels<A: Address>(list: &str) -> anyhow::Result<Vec<String>> {
    let names = ENGINES.iter().map(|entry| entry.about.name);
    let all: Vec<&str> = names.collect();
    let list = if list == "all" { all.join(",") } else { list.to_owned() };
    let selected = fibula_lab::select::<A>(ENGINES, &list);
    Ok(selected?)
}
