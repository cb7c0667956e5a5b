//! `fibula study router`: how fast the XDP plane is, beside the kernel.

#[cfg(not(all(feature = "router", target_os = "linux")))]
mod disabled;
#[cfg(all(feature = "router", target_os = "linux"))]
mod enabled;

#[cfg(not(all(feature = "router", target_os = "linux")))]
use disabled::run;
#[cfg(all(feature = "router", target_os = "linux"))]
use enabled::run;

use super::common::EvidenceFile;
use crate::commands::measuring::INTERNET;
use crate::exit::Verdict;
use crate::output::Output;
use crate::reading::Reading;
use clap::Args;

/// Measure lookups and packets of the XDP plane beside the kernel's LPM trie, `bpf_fib_lookup` and
/// the kernel's own forwarding
///
/// It takes root, Linux and the feature `router`. Interfaces are made in a network namespace that
/// ends with the study. Every answer of the program is compared first. Rows go to standard output.
#[derive(Debug, Args)]
#[cfg_attr(
    not(all(feature = "router", target_os = "linux")),
    allow(dead_code, reason = "without the feature nothing is measured")
)]
pub(crate) struct Arguments {
    /// The tables, files or `internet` for the made one; the IPv4 routes of one and the IPv6 routes
    /// of another go together
    #[arg(short, long, default_value = INTERNET, value_name = "TABLE")]
    table: Vec<String>,
    /// How many next hops the routes are given
    #[arg(long, default_value_t = 200, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    next_hops: u32,
    /// How many addresses of each family, drawn from the prefixes: a power of two
    #[arg(long, default_value_t = 1 << 20, value_name = "N", value_parser = clap::value_parser!(u32).range(64..))]
    addresses: u32,
    /// How many rounds each figure is the median of
    #[arg(long, default_value_t = 11, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// How many packets a round has
    #[arg(long, default_value_t = 1 << 17, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    packets: u32,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    evidence: EvidenceFile,
}

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        run(&self, output)
    }
}
