//! The options for reading a table, the same for every command.

use crate::exit::{Verdict, tell};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use fibula_io::generate::{NextHopModel, Size, internet};
use fibula_io::table::{self, Format, Loaded, ReadOptions, Tables, Value};
use fibula_io::{Progress, Source};
use indicatif::{ProgressBar, ProgressStyle};

/// How tables are read.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Reading tables")]
pub(crate) struct Reading {
    /// The table's format; recognised by content if not given
    #[arg(long, value_name = "FORMAT", value_parser = format_parser(|_| true))]
    pub(crate) input_format: Option<Format>,
    /// What a route's value is taken from, where the format holds more than one
    #[arg(long, value_enum, default_value_t, value_name = "VALUE")]
    pub(crate) value: ValueFrom,
    /// Only routes from this peer (its address or AS number); all peers' best path if not given
    #[arg(long)]
    pub(crate) peer: Option<String>,
    /// Skip damaged records and unreadable lines; report each, and exit with status 1 at the end
    #[arg(long)]
    pub(crate) keep_going: bool,
    /// Clear the host bits of prefixes that have them set, instead of refusing them
    #[arg(long)]
    pub(crate) mask_host_bits: bool,
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

/// [`Value`] on the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ValueFrom {
    /// The next hop
    #[default]
    NextHop,
    /// The autonomous system at the end of the path
    OriginAs,
    /// The peer that sent the route
    Peer,
}

impl From<ValueFrom> for Value {
    fn from(value: ValueFrom) -> Self {
        match value {
            ValueFrom::NextHop => Self::NextHop,
            ValueFrom::OriginAs => Self::OriginAs,
            ValueFrom::Peer => Self::Peer,
        }
    }
}

impl Reading {
    /// Reads a table. Reports skipped damage on standard error.
    pub(crate) fn read(&self, source: &Source) -> anyhow::Result<Loaded> {
        let bar = Bar::new();
        let options = ReadOptions {
            format: self.input_format,
            value: self.value.into(),
            peer: self.peer.clone(),
            keep_going: self.keep_going,
            mask_host_bits: self.mask_host_bits,
            progress: Some(bar.progress()),
        };
        let loaded = table::read(source, &options)?;
        drop(bar);
        for damage in &loaded.damage {
            tell(format_args!("{source}, {damage} (skipped)"));
        }
        Ok(loaded)
    }
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
    tell("no table given (-t), so this is the made table `internet`, of `fibula table gen internet`");
    Ok((internet(Size::FULL, NextHopModel::Near(40), 1)?, Verdict::Good))
}
