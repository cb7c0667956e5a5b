//! `fibula table`: shows, converts, compares and makes tables.

mod convert;
mod diff;
mod generate;
mod sample;
mod stats;

use crate::exit::Verdict;
use crate::output::Output;
use clap::Subcommand;

/// Show, convert, compare, make and sample routing tables
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Stats(stats::Arguments),
    Convert(convert::Arguments),
    Diff(diff::Arguments),
    Gen(generate::Arguments),
    Sample(sample::Arguments),
}

impl Command {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        match self {
            Self::Stats(arguments) => arguments.run(output),
            Self::Convert(arguments) => arguments.run(output),
            Self::Diff(arguments) => arguments.run(output),
            Self::Gen(arguments) => arguments.run(output),
            Self::Sample(arguments) => arguments.run(output),
        }
    }
}
