//! `fibula study gpu`: all measurements of a CUDA card.

#[cfg(feature = "gpu")]
mod on_card;

use super::common::EvidenceFile;
use crate::commands::device::Card;
use crate::commands::measuring::{INTERNET, UpdatesFrom};
use crate::exit::Verdict;
use crate::output::Output;
use crate::reading::Reading;
use clap::Args;
use fibula_io::trace::TraceKind;

/// Lookups on a CUDA card: batches, streams, blocks and threads (SAIL, Figures 13 and 14),
/// processor and card together (the Bloom filter paper's Figure 9), updates under load, and the
/// limits of link and memory
///
/// Every answer is compared with the processor's; a wrong one ends with status 1. One row is
/// printed per point of the sweep. With -o all results are written.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The engines: `all` that have a kernel, or a list like `gpu-mosaic,gpu-sail-l`
    #[arg(short, long, default_value = "all", value_name = "LIST")]
    engine: String,
    /// The table, a file or `internet` for the made one
    #[arg(short, long, default_value = INTERNET, value_name = "TABLE")]
    table: String,
    /// The addresses
    #[arg(long, default_value = "prefix")]
    trace: TraceKind,
    /// How many addresses
    #[arg(long, default_value_t = 1 << 24, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    addresses: u32,
    /// The updates, a file or `made=N`
    #[arg(short, long, default_value = "made=100000", value_name = "UPDATES")]
    updates: UpdatesFrom,
    #[command(flatten)]
    evidence: EvidenceFile,
    #[command(flatten)]
    reading: Reading,
}

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        let card = Card::open(false, 0, 1)?; // without a card nothing is read and nothing written
        self.on_card(&card, output)
    }
}
