//! The twin of the router in a program built without the feature `router`, or not for Linux.

use super::Command;
use crate::exit::Verdict;
use crate::output::Output;

/// Says what is lacking.
pub(super) fn run(_command: Command, _output: &Output) -> anyhow::Result<Verdict> {
    anyhow::bail!("no router: it takes Linux, and this fibula was built without the feature `router`")
}
