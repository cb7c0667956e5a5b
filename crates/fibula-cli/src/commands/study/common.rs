//! Options that several studies share.

use super::super::measuring::{INTERNET, tables};
use crate::exit::Verdict;
use crate::reading::Reading;
use crate::writing::write_text;
use clap::Args;
use fibula_io::table::Tables;
use fibula_io::trace::TraceKind;
use std::path::PathBuf;

/// The tables and traces of a study.
#[derive(Debug, Args)]
pub(super) struct OnTables {
    /// The tables, files or `internet` for the made one; one or more
    #[arg(short, long, default_value = INTERNET, value_name = "TABLE")]
    pub(super) table: Vec<String>,
    /// The traces. Those that a family does not have are skipped
    #[arg(long, value_delimiter = ',', default_value = "prefix,random,zipf")]
    pub(super) trace: Vec<TraceKind>,
    #[command(flatten)]
    pub(super) reading: Reading,
}

/// Reads tables one after the other, and calls `with` with the name of each and the table. Returns
/// whether all were complete.
pub(super) fn each_table(
    names: &[String],
    reading: &Reading,
    mut with: impl FnMut(&str, Tables) -> anyhow::Result<()>,
) -> anyhow::Result<Verdict> {
    let mut whole = Verdict::Good;
    for name in names {
        let (tables, complete) = tables(name, reading)?;
        if complete == Verdict::Bad {
            whole = Verdict::Bad;
        }
        with(name, tables)?;
    }
    Ok(whole)
}

/// The number of addresses, and the page to write.
#[derive(Debug, Args)]
pub(super) struct ToPage {
    /// How many addresses
    #[arg(long, default_value_t = 1 << 22, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) addresses: u32,
    #[command(flatten)]
    file: PageFile,
}

impl ToPage {
    /// Writes the page, if one was asked for.
    pub(super) fn write(&self, page: impl FnOnce() -> String) -> anyhow::Result<()> {
        self.file.write(page)
    }
}

/// The page to write.
#[derive(Debug, Args)]
pub(super) struct PageFile {
    /// Write the page to this file, by a temporary file that is renamed
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl PageFile {
    /// Writes the page, if one was asked for.
    pub(super) fn write(&self, page: impl FnOnce() -> String) -> anyhow::Result<()> {
        let Some(path) = &self.output else { return Ok(()) };
        write_text(path, |out| out.write_all(page().as_bytes()))
    }
}
