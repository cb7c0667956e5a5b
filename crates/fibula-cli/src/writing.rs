//! The options for writing a table, the same for every command.

use crate::output::{Format as Rows, Output};
use crate::reading::{delimiter, format_parser};
use anyhow::{Context, bail};
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
    /// The format to write; by the name of FILE if not given, and text where that says none
    #[arg(long, value_name = "FORMAT", value_parser = format_parser(Format::is_written))]
    to: Option<Format>,
    /// What is between the columns of CSV that is written
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter)]
    output_delimiter: Option<u8>,
}

impl Writing {
    /// Writes the tables.
    pub(crate) fn write(&self, tables: &Tables, output: &Output) -> anyhow::Result<()> {
        self.write_as(self.format(output)?, tables)
    }

    /// Writes prefixes, whose values say nothing: as a list where tables are written as text.
    pub(crate) fn write_set(&self, tables: &Tables, output: &Output) -> anyhow::Result<()> {
        let format = self.format(output)?;
        let is_text = format == Format::Text && self.to.is_none();
        self.write_as(if is_text { Format::List } else { format }, tables)
    }

    fn write_as(&self, format: Format, tables: &Tables) -> anyhow::Result<()> {
        let delimiter = self.output_delimiter;
        if delimiter.is_some() && format != Format::Csv {
            bail!("--output-delimiter is for csv, not for {format}");
        }
        write_text(&self.output, |out| match delimiter {
            Some(delimiter) => table::write_separated(tables, delimiter, out),
            None => table::write(tables, format, out),
        })
    }

    /// Returns the format: `--to`, else what `--format` says of rows, else by the name of the file.
    fn format(&self, output: &Output) -> anyhow::Result<Format> {
        let rows = match output.asked() {
            None => None,
            Some(Rows::Csv) => Some(Format::Csv),
            Some(Rows::JsonLine) => Some(Format::Ndjson),
            Some(Rows::Json | Rows::Table) => {
                bail!("a table is not written in this --format, name one by --to")
            }
        };
        let ending = self.output.extension().unwrap_or_default().to_string_lossy();
        if ["gz", "bz2", "zst", "xz"].contains(&&*ending) {
            bail!("{}: tables are not written compressed", self.output.display());
        }
        let unknown = ["json", "xlsx", "arrow", "feather", "mrt"];
        match self.to.or(rows).or_else(|| Format::of_name(&self.output)) {
            Some(format) => Ok(format), // where it is not written, that is an error of its own
            None if unknown.contains(&&*ending) => {
                bail!("{}: tables are not written as {ending}, name a format by --to", self.output.display())
            }
            None => Ok(Format::Text),
        }
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
