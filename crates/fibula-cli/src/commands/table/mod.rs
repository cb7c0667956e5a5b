//! `fibula table`: shows, converts, compares and makes tables, and answers questions about them.

mod answered;
mod at;
mod convert;
mod coverage;
mod diff;
mod filter;
mod generate;
mod map;
mod rov;
mod sample;
mod stats;
mod top;
mod watch;

use crate::exit::Verdict;
use crate::output::Output;
use clap::Subcommand;

/// Show, convert, compare, make and sample routing tables, and ask questions about them
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Stats(stats::Arguments),
    Convert(convert::Arguments),
    Diff(diff::Arguments),
    Covering(filter::Covering),
    Covered(filter::Covered),
    Overlaps(filter::Overlaps),
    Select(filter::Select),
    Moas(filter::Moas),
    Bogons(filter::Bogons),
    Rov(rov::Arguments),
    Coverage(coverage::Arguments),
    Top(top::Arguments),
    Map(map::Arguments),
    At(at::Arguments),
    Watch(watch::Arguments),
    Gen(generate::Arguments),
    Sample(sample::Arguments),
}

impl Command {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        match self {
            Self::Stats(arguments) => arguments.run(output),
            Self::Convert(arguments) => arguments.run(output),
            Self::Diff(arguments) => arguments.run(output),
            Self::Covering(arguments) => arguments.run(output),
            Self::Covered(arguments) => arguments.run(output),
            Self::Overlaps(arguments) => arguments.run(output),
            Self::Select(arguments) => arguments.run(output),
            Self::Moas(arguments) => arguments.run(output),
            Self::Bogons(arguments) => arguments.run(output),
            Self::Rov(arguments) => arguments.run(output),
            Self::Coverage(arguments) => arguments.run(output),
            Self::Top(arguments) => arguments.run(output),
            Self::Map(arguments) => arguments.run(),
            Self::At(arguments) => arguments.run(output),
            Self::Watch(arguments) => arguments.run(output),
            Self::Gen(arguments) => arguments.run(output),
            Self::Sample(arguments) => arguments.run(output),
        }
    }
}
