//! `fibula table convert`: writes a table in another format.

use crate::exit::Verdict;
use crate::output::Output;
use crate::reading::{Reading, verdict};
use crate::writing::Writing;
use clap::Args;
use fibula_io::Source;

/// Write a table in another format
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The table to read, a file or `-`
    #[arg(short, long, default_value = "-", value_name = "TABLE")]
    input: String,
    #[command(flatten)]
    writing: Writing,
    #[command(flatten)]
    reading: Reading,
}

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        let loaded = self.reading.read(&Source::from(self.input.as_str()))?;
        self.writing.write(&loaded.tables, output)?;
        Ok(verdict(&loaded))
    }
}
