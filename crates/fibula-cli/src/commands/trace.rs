//! `fibula trace`: streams of addresses.

use crate::exit::Verdict;
use crate::output::Output;
use clap::Subcommand;

/// Make streams of addresses to look up
#[derive(Debug, Subcommand)]
pub(crate) enum Command {}

impl Command {
    #[allow(clippy::unused_self, reason = "every command is run alike")]
    pub(crate) fn run(self, _: &Output) -> anyhow::Result<Verdict> {
        match self {}
    }
}
