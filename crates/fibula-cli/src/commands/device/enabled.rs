//! A CUDA card, for the commands that run on one.

use crate::commands::devices::Row;
use crate::registry;
use fibula::engine::{Config, WidthBits};
use fibula::{Address, Error, Fib, Rib};
use fibula_gpu::cooperative::{Division, Options};
use fibula_gpu::device::{self, Cuda, cards};
pub(crate) use fibula_gpu::{ENGINES, Key};
use fibula_lab::Refusal;

/// A card that was opened, and how work is divided between it and the processor.
#[derive(Clone)]
pub(crate) struct Card {
    pub(crate) cuda: Cuda,
    pub(crate) options: Options,
}

impl Card {
    /// Opens the first card.
    ///
    /// `both`: the processor takes part. `buffer`: the addresses of a batch. `lanes`: the batches
    /// on the card at once.
    pub(crate) fn open(both: bool, buffer: usize, lanes: usize) -> anyhow::Result<Self> {
        let (division, threads) =
            if both { (Division::Profiled, Options::default().threads) } else { (Division::Device, 0) };
        Ok(Self { cuda: Cuda::open(0)?, options: Options { buffer, lanes, threads, division } })
    }

    /// Returns whether the processor takes no part.
    pub(crate) fn is_alone(&self) -> bool {
        self.options.division == Division::Device
    }
}

impl From<device::Card> for Row {
    fn from(card: device::Card) -> Self {
        let (major, minor) = card.capability;
        Self {
            device: "gpu",
            name: card.name,
            memory_bytes: card.memory_bytes,
            cores: card.multiprocessors as usize,
            cache_bytes: card.l2_bytes,
            isa: format!("sm_{major}{minor}"),
            driver: Some(format!("CUDA {}", card.driver)),
        }
    }
}

/// Returns the cards of this machine, or why there is none.
pub(crate) fn rows() -> anyhow::Result<Vec<Row>> {
    Ok(cards()?.into_iter().map(Row::from).collect())
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

/// Makes a refusal of the error with which an engine was not built. Returns other errors.
pub(crate) fn refusal<A: Address>(engine: &str, error: anyhow::Error) -> anyhow::Result<Refusal> {
    Ok(Refusal::of::<A>(engine, error.downcast::<Error>()?)?)
}
