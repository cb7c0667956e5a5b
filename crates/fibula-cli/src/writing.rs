//! The options that say where a table goes, the same for every command that writes one.

use crate::reading::format_parser;
use clap::Args;
use fibula_io::table::{self, Format, Tables};
use std::io::{self, Write};
use std::path::PathBuf;

/// Where a table is written, and how.
#[derive(Debug, Args)]
pub(crate) struct Writing {
    /// The file to write, or `-`; it is written beside and renamed, so that it is never seen half
    #[arg(short, long, default_value = "-", value_name = "FILE")]
    output: PathBuf,
    /// The format to write
    #[arg(long, default_value = "text", value_name = "FORMAT", value_parser = format_parser())]
    to: Format,
}

impl Writing {
    /// Writes the tables.
    pub(crate) fn write(&self, tables: &Tables) -> anyhow::Result<()> {
        if self.output.as_os_str() != "-" {
            return Ok(table::write_file(tables, self.to, &self.output)?);
        }
        let mut out = io::BufWriter::with_capacity(1 << 20, io::stdout().lock());
        table::write(tables, self.to, &mut out)?;
        Ok(out.flush()?)
    }
}
