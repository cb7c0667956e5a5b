//! The twin of the service in a program built without the feature `serve`.

use super::Arguments;
use crate::exit::Verdict;

/// Says what is lacking.
pub(super) fn run(_arguments: Arguments) -> anyhow::Result<Verdict> {
    anyhow::bail!("no service: this fibula was built without the feature `serve`")
}
