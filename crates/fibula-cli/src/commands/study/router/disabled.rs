//! The twin of the study in a program built without the feature `router`, or not for Linux.

use super::Arguments;
use crate::exit::Verdict;
use crate::output::Output;

/// Says what is lacking.
pub(super) fn run(_arguments: &Arguments, _output: &Output) -> anyhow::Result<Verdict> {
    anyhow::bail!("no router: it takes Linux, and this fibula was built without the feature `router`")
}
