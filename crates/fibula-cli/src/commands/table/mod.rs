//! `fibula table`: what is in a table, in which format, and how two differ.

mod stats;

use crate::exit::Verdict;
use crate::output::Output;
use clap::Subcommand;

/// Show, convert, compare, make and sample routing tables
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Stats(stats::Arguments),
}

impl Command {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        match self {
            Self::Stats(arguments) => arguments.run(output),
        }
    }
}
