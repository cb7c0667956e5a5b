//! The options for reading a table, the same for every command.

use crate::exit::{Verdict, tell};
use anyhow::ensure;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use fibula_io::generate::{NextHopModel, Size, internet};
use fibula_io::table::{self, AddPath, Columns, Format, Loaded, ReadOptions, Setting, Tables, Value};
use fibula_io::{Budget, Bytes, Encoding, Progress, Report, Source};
use indicatif::{ProgressBar, ProgressStyle};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How tables are read.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Reading tables")]
pub(crate) struct Reading {
    /// The table's format; recognised by content if not given
    #[arg(long, value_name = "FORMAT", value_parser = format_parser(Format::is_read))]
    pub(crate) input_format: Option<Format>,
    /// What a route's value is taken from, where the format holds more than one; the next hop if
    /// not given, or what the command is about
    #[arg(long, value_name = "VALUE", value_parser = value_parser())]
    pub(crate) value: Option<Value>,
    /// Only routes from this peer (its address or AS number); all peers' best path if not given
    #[arg(long)]
    pub(crate) peer: Option<String>,
    /// Skip damaged records and unreadable lines; report each, and exit with status 1 at the end
    #[arg(long)]
    pub(crate) keep_going: bool,
    /// Clear the host bits of prefixes that have them set, instead of refusing them
    #[arg(long)]
    pub(crate) mask_host_bits: bool,
    /// Refuse a table of which something is left out or guessed; without it each reason is one line
    /// on standard error
    #[arg(long)]
    pub(crate) strict: bool,
    /// The VRF to read, of a format that shows several, or by its route distinguisher (65000:1) of
    /// a router that speaks BMP, of which several may be given with commas between them, or `all`;
    /// the default one if not given
    #[arg(long, value_name = "NAME")]
    pub(crate) vrf: Option<String>,
    /// The routing table to read, of a format that shows several; the main one if not given
    #[arg(long, value_name = "NAME", id = "routing_table")]
    pub(crate) routing_table: Option<String>,
    /// The encoding of text, such as latin-1; UTF-8 if not given, or UTF-16 that says so
    #[arg(long, value_name = "NAME")]
    pub(crate) encoding: Option<Encoding>,
    /// MRT: whether prefixes have path identifiers where the records do not say so
    #[arg(long, value_enum, default_value_t, value_name = "WHETHER")]
    pub(crate) add_path: AddPathName,
    /// The memory that a table may take while it is read, as in 512M; FIBULA_MAX_MEMORY if not
    /// given, or half of the machine's
    #[arg(long, value_name = "BYTES")]
    pub(crate) max_memory: Option<Bytes>,
    /// The routes that a table may have; no limit if not given
    #[arg(long, value_name = "COUNT")]
    pub(crate) max_routes: Option<u64>,
    #[command(flatten)]
    pub(crate) columns: ColumnNames,
    #[arg(skip)]
    read: Arc<Mutex<Read>>,
}

/// What a command reads: an option must have an effect in one of its tables, or on its feed.
#[derive(Clone, Debug)]
struct Read {
    /// The number of tables.
    count: usize,
    /// The formats of those that were read.
    formats: Vec<Format>,
    has_feed: bool,
}

impl Default for Read {
    fn default() -> Self {
        Self { count: 1, formats: Vec::new(), has_feed: false }
    }
}

/// The columns of a table, by name or by number from 1.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Tables of columns (CSV, NDJSON, Parquet), by name or number")]
pub(crate) struct ColumnNames {
    /// The column of prefixes; found by its name if not given
    #[arg(long, value_name = "COLUMN")]
    pub(crate) prefix_column: Option<String>,
    /// The column of the first address of a range
    #[arg(long, value_name = "COLUMN", requires = "end_column")]
    pub(crate) start_column: Option<String>,
    /// The column of the last address of a range
    #[arg(long, value_name = "COLUMN", requires = "start_column")]
    pub(crate) end_column: Option<String>,
    /// The columns of values, with commas between them; several are the fields of an object
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub(crate) value_column: Vec<String>,
    /// The character between two fields, or `tab`; the likeliest if not given
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter)]
    pub(crate) delimiter: Option<u8>,
    /// The first line is a row, not the names of the columns
    #[arg(long)]
    pub(crate) no_header: bool,
    /// A CSV file with more fields of the rows, by a column that both have: GeoLite2's locations,
    /// which are also found beside its blocks
    #[arg(long, value_name = "FILE")]
    pub(crate) locations: Option<PathBuf>,
}

pub(crate) fn delimiter(text: &str) -> Result<u8, &'static str> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && *byte != b'"' => Ok(*byte),
        _ => Err("expected one ASCII character, or tab"),
    }
}

/// [`AddPath`] on the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum AddPathName {
    /// As the peer's messages together make sense, and told
    #[default]
    Guess,
    /// They have
    Yes,
    /// They have not
    No,
}

impl From<AddPathName> for AddPath {
    fn from(name: AddPathName) -> Self {
        match name {
            AddPathName::Guess => Self::Guess,
            AddPathName::Yes => Self::Yes,
            AddPathName::No => Self::No,
        }
    }
}

/// `--family` on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FamilyName {
    /// 32-bit addresses
    Ipv4,
    /// 128-bit addresses
    Ipv6,
}

/// Reads the name of a table format. Only those that are `offered` are listed and completed. The
/// others are taken too: what refuses them says why, and names the feature that is missing.
pub(crate) fn format_parser(offered: fn(Format) -> bool) -> impl TypedValueParser<Value = Format> {
    let names = Format::ALL.map(|format| PossibleValue::new(format.name()).hide(!offered(format)));
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Format>())
}

/// Reads the name of a [`Value`].
fn value_parser() -> impl TypedValueParser<Value = Value> {
    let about = |value| match value {
        Value::NextHop => "The next hop",
        Value::NextHops => "All next hops with their weights, as a list of objects",
        Value::OriginAs => "The autonomous system at the end of the path",
        Value::Origins => "The origins of all routes of a prefix, as a list",
        Value::Peer => "The peer that sent the route",
        Value::Route => "Next hop, origin, peer, AS path and communities, as an object",
    };
    let names = Value::ALL.map(|value| PossibleValue::new(value.name()).help(about(value)));
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Value>())
}

impl Reading {
    /// Returns how the tables are read; their values are `default` where none are asked for.
    pub(crate) fn options(&self, default: Value, progress: Option<Progress>) -> anyhow::Result<ReadOptions> {
        let ColumnNames {
            prefix_column,
            start_column,
            end_column,
            value_column,
            delimiter,
            no_header,
            locations,
        } = self.columns.clone();
        Ok(ReadOptions {
            format: self.input_format,
            value: self.value.unwrap_or(default),
            peer: self.peer.clone(),
            keep_going: self.keep_going,
            mask_host_bits: self.mask_host_bits,
            regular_only: false,
            strict: self.strict,
            vrf: self.vrf.clone(),
            table: self.routing_table.clone(),
            add_path: self.add_path.into(),
            columns: Columns {
                prefix: prefix_column,
                start: start_column,
                end: end_column,
                values: value_column,
                delimiter,
                has_no_header: no_header,
            },
            encoding: self.encoding,
            locations,
            may_be_idle: self.may_be_idle(default),
            budget: Some(self.budget()?),
            progress,
        })
    }

    /// Returns the options that one table may be without. A command that is about origins takes
    /// values of any kind for them, but not one that is about all origins of a prefix.
    fn may_be_idle(&self, default: Value) -> Vec<Setting> {
        const OF_FEEDS: [Setting; 4] = [Setting::Value, Setting::Peer, Setting::AddPath, Setting::Vrf];
        let Read { count, has_feed, .. } = *self.lock();
        let of_feed = if has_feed { &OF_FEEDS[..] } else { &[] };
        let of_default = (self.value.is_none() && default == Value::OriginAs).then_some(Setting::Value);
        match count {
            0 | 1 => of_feed.iter().copied().chain(of_default).collect(),
            _ => Setting::ALL.to_vec(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Read> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says how many tables are read; one if nothing is said.
    ///
    /// # Errors
    /// If there are none, and an option that only a table heeds is given.
    pub(crate) fn of_tables(&self, count: usize) -> anyhow::Result<()> {
        self.lock().count = count;
        if count == 0 { self.check() } else { Ok(()) }
    }

    /// Says that a feed is followed beside the tables: it heeds `--value`, `--peer`, `--add-path`
    /// and `--vrf`.
    pub(crate) fn beside_feed(&self) {
        self.lock().has_feed = true;
    }

    /// Accounts for a table that was read, or opened in another way.
    ///
    /// # Errors
    /// If it is the last one, and none of them heeds an option.
    pub(crate) fn was_in(&self, format: Format) -> anyhow::Result<()> {
        let mut read = self.lock();
        read.formats.push(format);
        let is_last = read.formats.len() >= read.count;
        drop(read);
        if is_last { self.check() } else { Ok(()) }
    }

    fn check(&self) -> anyhow::Result<()> {
        let formats = {
            let mut read = self.lock();
            read.count = 1;
            read.formats.clone()
        };
        let refusal = self.options(Value::NextHop, None)?.refusal(&formats);
        refusal.map_or(Ok(()), |what| Err(anyhow::Error::msg(what)))
    }

    /// Returns how payloads of RPKI are read beside the table. They have two formats, which are
    /// told apart; what is said of damage and memory holds for them too.
    pub(crate) fn of_payloads(&self) -> anyhow::Result<ReadOptions> {
        let reading = Self {
            keep_going: self.keep_going,
            mask_host_bits: self.mask_host_bits,
            strict: self.strict,
            max_memory: self.max_memory,
            ..Self::default()
        };
        reading.options(Value::NextHop, None)
    }

    /// Returns what a table may take.
    pub(crate) fn budget(&self) -> anyhow::Result<Budget> {
        let budget = match self.max_memory {
            Some(Bytes(memory)) => Budget { memory, ..Budget::default() },
            None => Budget::of_environment().map_err(anyhow::Error::msg)?,
        };
        Ok(Budget { routes: self.max_routes.unwrap_or(budget.routes), ..budget })
    }

    /// Reads a table. Tells on standard error what was skipped, left out and guessed.
    pub(crate) fn read(&self, source: &Source) -> anyhow::Result<Loaded> {
        self.read_for(source, Value::NextHop)
    }

    /// As [`read`](Self::read), for a command that is about another value than next hops.
    pub(crate) fn read_for(&self, source: &Source, default: Value) -> anyhow::Result<Loaded> {
        self.told(source, |options| table::read(source, options), default)
    }

    /// Reads a table as it was at a time, by the updates after it.
    pub(crate) fn read_at(
        &self,
        table: &Source,
        updates: &[Source],
        time: Duration,
    ) -> anyhow::Result<Loaded> {
        self.told(table, |options| table::read_at(table, updates, time, options), Value::NextHop)
    }

    /// Reads by a function, which is given the options, and tells what was left out and guessed.
    fn told(
        &self,
        source: &Source,
        read: impl FnOnce(&ReadOptions) -> Result<Loaded, fibula_io::Error>,
        default: Value,
    ) -> anyhow::Result<Loaded> {
        let bar = Bar::new();
        let loaded = read(&self.options(default, Some(bar.progress()))?)?;
        drop(bar);
        self.was_in(loaded.format)?;
        tell_loaded(source, &loaded);
        Ok(loaded)
    }
}

/// Tells what was skipped, left out and guessed.
pub(crate) fn tell_loaded(source: &Source, loaded: &Loaded) {
    for damage in &loaded.damage {
        tell(format_args!("{source}, {damage} (skipped)"));
    }
    tell_report(source, &loaded.report);
}

/// Tells what was left out and guessed, a line for each reason.
pub(crate) fn tell_report(source: &Source, report: &Report) {
    report.notes.iter().for_each(|note| tell(format_args!("{source}: {note}")));
}

/// A progress bar on standard error, cleared when it is dropped.
///
/// `indicatif` draws only on a terminal.
pub(crate) struct Bar(ProgressBar);

impl Bar {
    pub(crate) fn new() -> Self {
        Self(ProgressBar::new_spinner())
    }

    /// Returns the callback that draws. It shows bytes read of the total, or the bytes read where
    /// the total is not known.
    pub(crate) fn progress(&self) -> Progress {
        Progress::new(self.at())
    }

    /// As [`progress`](Self::progress), for what is read in another way.
    pub(crate) fn at(&self) -> impl Fn(u64, Option<u64>) + Send + Sync + use<> {
        let bar = self.0.clone();
        move |bytes, total: Option<u64>| {
            if bar.length() != total
                && let Some(total) = total
                && let Ok(style) =
                    ProgressStyle::with_template("{bar:40} {bytes}/{total_bytes} {bytes_per_sec} {eta}")
            {
                bar.set_length(total);
                bar.set_style(style);
            }
            bar.set_position(bytes);
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Returns whether a table was read without damage.
pub(crate) fn verdict(loaded: &Loaded) -> Verdict {
    Verdict::good_if(loaded.damage.is_empty())
}

/// Reads the named table, or makes the table `internet` and reports that. Also returns whether the
/// table was read without damage.
pub(crate) fn table_or_internet(reading: &Reading, table: Option<&str>) -> anyhow::Result<(Tables, Verdict)> {
    if let Some(table) = table {
        let loaded = reading.read(&Source::from(table))?;
        let whole = verdict(&loaded);
        return Ok((loaded.tables, whole));
    }
    ensure!(!reading.strict, "no table given (-t), and --strict refuses the made table `internet`");
    reading.of_tables(0)?;
    tell("no table given (-t), so this is the made table `internet`, of `fibula table gen internet`");
    Ok((internet(Size::FULL, NextHopModel::Near(40), 1)?, Verdict::Good))
}
