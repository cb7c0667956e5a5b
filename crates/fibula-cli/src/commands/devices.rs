//! `fibula devices`: the devices that lookups can run on.

use super::device;
use crate::exit::{Verdict, tell};
use crate::output::Output;
use clap::Args;
use fibula_lab::machine::Machine;
use serde::Serialize;

/// List the devices that lookups can run on: the processor, and every CUDA card or one line that
/// says why there is none
#[derive(Debug, Args)]
pub(crate) struct Arguments {}

/// One device.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) device: &'static str,
    pub(crate) name: String,
    pub(crate) memory_bytes: u64,
    /// Cores of a processor, streaming multiprocessors of a card.
    pub(crate) cores: usize,
    /// The last cache before memory.
    pub(crate) cache_bytes: u64,
    /// Instruction sets of a processor, compute capability of a card.
    pub(crate) isa: String,
    pub(crate) driver: Option<String>,
}

impl From<Machine> for Row {
    fn from(machine: Machine) -> Self {
        Self {
            device: "cpu",
            name: machine.processor,
            memory_bytes: machine.memory_bytes,
            cores: machine.cores,
            cache_bytes: machine.caches.last().map_or(0, |cache| cache.bytes),
            isa: machine.instruction_sets.join(" "),
            driver: None,
        }
    }
}

impl Arguments {
    #[allow(clippy::unused_self, reason = "every command is run alike")]
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        let cards = device::rows();
        if let Err(why) = &cards {
            tell(why);
        }
        let cards = cards.unwrap_or_default();
        output.rows(std::iter::once(Row::from(Machine::here())).chain(cards))?;
        Ok(Verdict::Good)
    }
}
