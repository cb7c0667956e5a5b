//! `fibula study`: reports of many measurements at once.

mod best;
mod common;
mod compare;
mod dpcpe;
mod engines;
pub(super) mod gpu;
mod growth;
mod parallel;
mod router;
mod triec;
mod vrf;
mod worst;

use crate::exit::Verdict;
use crate::output::Output;
use clap::Subcommand;

/// Run many measurements and report them side by side
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Engines(engines::Arguments),
    Best(best::Arguments),
    Compare(compare::Arguments),
    Worst(worst::Arguments),
    Growth(growth::Arguments),
    Triec(triec::Arguments),
    Dpcpe(dpcpe::Arguments),
    Parallel(parallel::Arguments),
    Vrf(vrf::Arguments),
    Gpu(gpu::Arguments),
    Router(router::Arguments),
}

impl Command {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        match self {
            Self::Engines(arguments) => arguments.run(output),
            Self::Best(arguments) => arguments.run(output),
            Self::Compare(arguments) => arguments.run(output),
            Self::Worst(arguments) => arguments.run(output),
            Self::Growth(arguments) => arguments.run(output),
            Self::Triec(arguments) => arguments.run(output),
            Self::Dpcpe(arguments) => arguments.run(output),
            Self::Parallel(arguments) => arguments.run(output),
            Self::Vrf(arguments) => arguments.run(output),
            Self::Gpu(arguments) => arguments.run(output),
            Self::Router(arguments) => arguments.run(output),
        }
    }
}
