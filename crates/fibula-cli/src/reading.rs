//! The options that say how a table is read, the same for every command that reads one.

use crate::exit::Verdict;
use clap::{Args, ValueEnum};
use fibula_io::Source;
use fibula_io::table::{self, Format, Loaded, ReadOptions, Value};

/// How tables are read.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Reading tables")]
pub(crate) struct Reading {
    /// The table's format; recognised by content if not given
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) input_format: Option<InputFormat>,
    /// What a route's value is taken from, where the format holds more than one
    #[arg(long, value_enum, default_value_t, value_name = "VALUE")]
    pub(crate) value: ValueFrom,
    /// Only routes heard from this peer (its address or AS number); all peers' best path if not given
    #[arg(long)]
    pub(crate) peer: Option<String>,
    /// Pass over damaged records and unreadable lines; say so, and exit with status 1 at the end
    #[arg(long)]
    pub(crate) keep_going: bool,
    /// Clear the host bits of prefixes that have them set, instead of refusing them
    #[arg(long)]
    pub(crate) mask_host_bits: bool,
}

/// [`Format`] on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum InputFormat {
    /// `prefix next-hop-or-AS`, one a line
    Text,
    /// MRT: TABLE_DUMP, TABLE_DUMP_V2, BGP4MP
    Mrt,
    /// CAIDA pfx2as: `address length AS`
    Pfx2as,
    /// `ip route` and `ip -6 route`
    IpRoute,
    /// FRR `show ip route json`
    Frr,
    /// Comma-separated with a header line
    Csv,
    /// BIRD `show route`
    Bird,
}

impl From<InputFormat> for Format {
    fn from(format: InputFormat) -> Self {
        match format {
            InputFormat::Text => Self::Text,
            InputFormat::Mrt => Self::Mrt,
            InputFormat::Pfx2as => Self::Pfx2as,
            InputFormat::IpRoute => Self::IpRoute,
            InputFormat::Frr => Self::Frr,
            InputFormat::Csv => Self::Csv,
            InputFormat::Bird => Self::Bird,
        }
    }
}

/// [`Value`] on the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ValueFrom {
    /// The next hop
    #[default]
    NextHop,
    /// The autonomous system at the end of the path
    OriginAs,
    /// The peer the route was heard from
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
    /// Reads a table; what was passed over is told on standard error.
    pub(crate) fn read(&self, source: &Source) -> anyhow::Result<Loaded> {
        let options = ReadOptions {
            format: self.input_format.map(Format::from),
            value: self.value.into(),
            peer: self.peer.clone(),
            keep_going: self.keep_going,
            mask_host_bits: self.mask_host_bits,
            progress: true,
        };
        let loaded = table::read(source, &options)?;
        for damage in &loaded.damage {
            eprintln!("fibula: {source}, {}: {} (passed over)", damage.place, damage.what);
        }
        Ok(loaded)
    }
}

/// Whether a table came through whole.
pub(crate) fn verdict(loaded: &Loaded) -> Verdict {
    Verdict::good_if(loaded.damage.is_empty())
}
