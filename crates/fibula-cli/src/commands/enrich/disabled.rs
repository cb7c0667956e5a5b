//! The twin of enriching in a program built without the feature `enrich`.

use super::Arguments;
use crate::exit::Verdict;
use crate::output::Output;

/// Says which feature is lacking.
pub(super) fn run(_arguments: &Arguments, _output: &Output) -> anyhow::Result<Verdict> {
    anyhow::bail!("no Parquet, CSV or NDJSON: this fibula was built without the feature `enrich`")
}
