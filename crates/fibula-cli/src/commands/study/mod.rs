//! `fibula study`: reports of many measurements at once.

mod all;
mod best;
mod claims;
mod common;
mod compare;
mod engines;
pub(super) mod gpu;
mod growth;
mod page;
mod papers;
mod parallel;
mod report;
mod router;
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
    /// The DXR paper's tables and figures beside its own numbers
    Dxr(papers::Arguments),
    /// The SAIL paper's tables and figures beside its own numbers
    Sail(papers::Arguments),
    /// The TrieC paper's tables and figures beside its own numbers
    Triec(papers::Arguments),
    /// The Bloom filter paper's tables and figures beside its own numbers
    Bloom(papers::Arguments),
    /// The TILEPro64 paper's tables and figures beside its own numbers
    Tilepro(papers::Arguments),
    /// What the Poptrie paper claims of speed and memory, beside the engines that it compares
    Poptrie(papers::Arguments),
    /// What the CRAM paper claims of RESAIL and BSIC, beside SAIL and DXR
    Cram(papers::Arguments),
    /// What the PlanB paper claims of speed and memory, beside Poptrie
    Planb(papers::Arguments),
    /// All papers' tables and figures beside their own numbers
    Papers(papers::Arguments),
    All(all::Arguments),
    Parallel(parallel::Arguments),
    Vrf(vrf::Arguments),
    Gpu(gpu::Arguments),
    Router(router::Arguments),
    Page(page::Arguments),
    Claims(claims::Arguments),
    Report(report::Arguments),
}

impl Command {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        match self {
            Self::Engines(arguments) => arguments.run(output),
            Self::Best(arguments) => arguments.run(output),
            Self::Compare(arguments) => arguments.run(output),
            Self::Worst(arguments) => arguments.run(output),
            Self::Growth(arguments) => arguments.run(output),
            Self::Dxr(arguments) => arguments.run_one("dxr", output),
            Self::Sail(arguments) => arguments.run_one("sail", output),
            Self::Triec(arguments) => arguments.run_one("triec", output),
            Self::Bloom(arguments) => arguments.run_one("bloom", output),
            Self::Tilepro(arguments) => arguments.run_one("tilepro", output),
            Self::Poptrie(arguments) => arguments.run_one("poptrie", output),
            Self::Cram(arguments) => arguments.run_one("cram", output),
            Self::Planb(arguments) => arguments.run_one("planb", output),
            Self::Papers(arguments) => arguments.run_all(output),
            Self::All(arguments) => arguments.run(output),
            Self::Parallel(arguments) => arguments.run(output),
            Self::Vrf(arguments) => arguments.run(output),
            Self::Gpu(arguments) => arguments.run(output),
            Self::Router(arguments) => arguments.run(output),
            Self::Page(arguments) => arguments.run(),
            Self::Claims(arguments) => arguments.run(output),
            Self::Report(arguments) => arguments.run(),
        }
    }
}
