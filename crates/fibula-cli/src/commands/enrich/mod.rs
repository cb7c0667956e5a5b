//! `fibula enrich`: adds the answers of tables to a file of records.
#![cfg_attr(not(feature = "enrich"), allow(dead_code, reason = "without the feature nothing is read"))]

#[cfg(not(feature = "enrich"))]
mod disabled;
#[cfg(feature = "enrich")]
mod enabled;

#[cfg(not(feature = "enrich"))]
use disabled::run;
#[cfg(feature = "enrich")]
use enabled::run;

use crate::addresses::Addresses;
use crate::exit::Verdict;
use crate::feed::{Feed, PolicyName};
use crate::output::Output;
use crate::reading::{Reading, delimiter, format_parser};
use anyhow::{Context, ensure};
use clap::{Args, ValueEnum};
use fibula_io::Encoding;
use fibula_io::table::Format;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::thread;

/// Add what tables answer to a file of records: Parquet, CSV or NDJSON
///
/// Each column of addresses gets a new column a table, at the end. It is named COLUMN_NAME, as in
/// `src_asn` for `--column src -t asn=TABLE`. Without NAME the name is what the table's values are:
/// next_hop, origin_as or peer (--value). With --prefix there is one more, COLUMN_NAME_prefix, with
/// the matching prefix. Values that are all AS numbers become integers, others text. Values of
/// several fields give a column of its type for each, COLUMN_NAME_FIELD. No route gives null.
///
/// Addresses are text (`192.0.2.1`, `2001:db8::1`), IPv4 addresses as integers, and 4 or 16 bytes
/// in network byte order. A column may be within objects and lists (`flow.src`): the answers for a
/// list are a list. Families never mix: without --map-ipv4 a v4-mapped IPv6 address is looked up
/// among the IPv6 routes. A column of 16 bytes a row whose addresses are mostly so is told.
///
/// Rows without an address are counted on standard error. With --format, what became of all rows is
/// printed for each new column.
///
/// With --follow the rows of CSV or NDJSON are written to standard output as they come, in the
/// format that they have. All files among the feeds are applied before the first row; pipes and
/// routers are followed beside the rows. A row whose router has not told its routes has no answer,
/// and is counted.
///
/// Records are read as a stream. Parquet is read and written by row groups, one a thread. All
/// columns of CSV are text, with the first line as their names; an empty field is null. A row with
/// another number of fields is told, and ends the run with `--errors raise`. Rows of CSV or NDJSON
/// are written to their own format as they were read. To other formats rows of NDJSON have the
/// types of the first 16 MiB, and what does not fit them later is an error; a key that a row lacks
/// is null. The output is written beside the old file and renamed, whole or not at all.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The file to read; `-` is standard input, of CSV or NDJSON
    #[arg(value_name = "IN")]
    input: String,
    /// A column of addresses; may be given several times
    #[arg(short, long = "column", required = true, value_name = "COLUMN")]
    columns: Vec<String>,
    /// A table or a snapshot of one, and how its answers are called; may be given several times
    #[arg(short, long = "table", required_unless_present = "follow", value_name = "[NAME=]TABLE")]
    tables: Vec<String>,
    /// Answer row by row, as rows come, by a table that changes meanwhile: a file or a pipe of MRT
    /// or RIS Live messages, several in order, or `bmp:ADDRESS`, where routers connect
    #[arg(long, value_name = "FEED", conflicts_with = "tables")]
    follow: Vec<Feed>,
    /// Which routes of a router (--follow bmp:ADDRESS): those that it has chosen, that its peers
    /// send, what its policy leaves of them, or what it sends
    #[arg(long, value_enum, default_value_t, value_name = "WHICH", requires = "follow")]
    policy: PolicyName,
    /// With `--follow bmp:ADDRESS` the column of routers: a row is answered by what its own
    /// believes
    #[arg(long, value_name = "COLUMN", requires = "follow")]
    exporter_column: Option<String>,
    /// Add the matching prefixes too; a snapshot without its routes does not know them
    #[arg(long)]
    prefix: bool,
    /// What becomes of a row that holds no address, or of CSV has another number of fields
    #[arg(long, value_enum, default_value_t, value_name = "WHAT")]
    errors: Errors,
    /// The file to write, or `-`
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// The format of IN; by its name if not given (.gz, .bz2 and .zst may follow)
    #[arg(long, value_name = "FORMAT", value_parser = format_parser(is_of_records))]
    data_format: Option<Format>,
    /// The format of OUT; by its name if not given (of CSV and NDJSON .gz and .zst may follow)
    #[arg(long, value_name = "FORMAT", alias = "output-format", value_parser = format_parser(is_of_records))]
    to: Option<Format>,
    /// What is between the columns of CSV, in IN and OUT
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter, default_value = ",")]
    data_delimiter: u8,
    /// The encoding of IN, such as latin-1; UTF-8 if not given, or UTF-16 that says so
    #[arg(long, value_name = "NAME")]
    data_encoding: Option<Encoding>,
    /// The compression of Parquet that is written
    #[arg(long, value_enum, default_value_t, value_name = "NAME")]
    compression: Compression,
    /// How many threads read, look up and write [default: the processors]
    #[arg(long, value_name = "N")]
    threads: Option<NonZero<usize>>,
    #[command(flatten)]
    addresses: Addresses,
    #[command(flatten)]
    reading: Reading,
}

/// What becomes of a row that is not null and holds no address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Errors {
    /// Its answers are null
    #[default]
    Null,
    /// The first ends the run with status 2 and a line that names the row; OUT stays as it was
    Raise,
}

/// Returns whether records are read and written in a format.
fn is_of_records(format: Format) -> bool {
    matches!(format, Format::Parquet | Format::Csv | Format::Tsv | Format::Ndjson)
}

/// A compression within Parquet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Compression {
    /// None
    None,
    /// Snappy
    #[default]
    Snappy,
    /// LZ4
    Lz4,
    /// Zstandard, level 1
    Zstd,
}

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        run(&self, output)
    }

    /// Returns the formats of input and output.
    fn formats(&self) -> anyhow::Result<(Format, Format)> {
        let of = |asked: Option<Format>, path: &Path, option| {
            let is_packed =
                path.extension().is_some_and(|it| ["gz", "bz2", "zst"].iter().any(|&end| it == end));
            let named = || Format::of_name(path).filter(|&format| !(is_packed && format == Format::Parquet));
            let format = asked.or_else(named).filter(|&format| is_of_records(format));
            let known = "expected a name that ends in .parquet, .csv, .tsv or .ndjson, or";
            format.with_context(|| format!("{}: {known} {option}", path.display()))
        };
        let input = of(self.data_format, Path::new(&self.input), "--data-format")?;
        let output = match self.to {
            None if !self.follow.is_empty() => input,
            to => of(to, &self.output, "--to")?,
        };
        ensure!(
            input != Format::Parquet || self.input != "-",
            "Parquet cannot be read from standard input: its directory is at the end"
        );
        Ok((input, output))
    }

    /// Returns what the answers of a table without a name are called.
    fn unnamed(&self) -> String {
        self.reading.value.unwrap_or_default().name().replace('-', "_")
    }

    /// Returns each table's name and path.
    fn named(&self) -> impl Iterator<Item = (String, &str)> {
        let unnamed = self.unnamed();
        let is_name = |text: &str| text.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
        self.tables.iter().map(move |text| match text.split_once('=') {
            Some((name, path)) if !name.is_empty() && is_name(name) => (name.to_owned(), path),
            _ => (unnamed.clone(), text.as_str()),
        })
    }

    /// Returns the number of threads.
    fn threads(&self) -> usize {
        self.threads.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZero::get)
    }
}
