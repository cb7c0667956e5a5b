//! The options for writing a table, the same for every command.

use crate::reading::format_parser;
use anyhow::Context;
use clap::Args;
use fibula_io::table::{self, Format, Tables};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The destination and format of a table.
#[derive(Debug, Args)]
pub(crate) struct Writing {
    /// The file to write, or `-`; it is written to a temporary file and renamed, so that it is
    /// never incomplete
    #[arg(short, long, default_value = "-", value_name = "FILE")]
    output: PathBuf,
    /// The format to write
    #[arg(long, default_value = "text", value_name = "FORMAT", value_parser = format_parser(Format::is_written))]
    to: Format,
}

impl Writing {
    /// Writes the tables.
    pub(crate) fn write(&self, tables: &Tables) -> anyhow::Result<()> {
        write_text(&self.output, |out| table::write(tables, self.to, out))
    }
}

/// Writes what `fill` writes: to a file, by a temporary file that is renamed, or for `-` to
/// standard output.
pub(crate) fn write_text(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<()> {
    const BUFFER_BYTES: usize = 1 << 20;
    let buffered = |out: &mut dyn Write| {
        let mut out = io::BufWriter::with_capacity(BUFFER_BYTES, out);
        fill(&mut out)?;
        out.flush()
    };
    if path.as_os_str() == "-" {
        return Ok(buffered(&mut io::stdout().lock())?);
    }
    table::write_beside(path, buffered).with_context(|| format!("{}: cannot be written", path.display()))
}
