//! The twin of drawing in a program built without the feature `map`.

use super::Arguments;
use crate::exit::Verdict;

/// Says which feature is lacking.
pub(super) fn run(_arguments: &Arguments) -> anyhow::Result<Verdict> {
    anyhow::bail!("no maps: this fibula was built without the feature `map`")
}
