//! Options that several studies have.

use super::super::measuring::INTERNET;
use crate::reading::Reading;
use crate::writing::write_text;
use clap::Args;
use fibula_io::trace::TraceKind;
use std::path::PathBuf;

/// On which tables and traces.
#[derive(Debug, Args)]
pub(super) struct OnTables {
    /// The tables, files or `internet` for the made one; one or more
    #[arg(short, long, default_value = INTERNET, value_name = "TABLE")]
    pub(super) table: Vec<String>,
    /// The traces. Those that a family does not have are passed over
    #[arg(long, value_delimiter = ',', default_value = "prefix,random,zipf")]
    pub(super) trace: Vec<TraceKind>,
    #[command(flatten)]
    pub(super) reading: Reading,
}

/// How much is measured, and the page that is made of it.
#[derive(Debug, Args)]
pub(super) struct ToPage {
    /// How many addresses
    #[arg(long, default_value_t = 1 << 22, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) addresses: u32,
    /// Write the page to this file; it is written beside and renamed
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl ToPage {
    /// Writes the page, if one was asked for.
    pub(super) fn write(&self, page: impl FnOnce() -> String) -> anyhow::Result<()> {
        let Some(path) = &self.output else { return Ok(()) };
        write_text(path, |out| out.write_all(page().as_bytes()))
    }
}
