//! Routing tables: reads every format, writes the text formats and Parquet.
//!
//! A route's family is that of its address; a v4-mapped IPv6 prefix stays IPv6. Where a prefix
//! comes twice, the last route wins, except in formats that say which one the router uses
//! ([`Format::IpRoute`] by metric, [`Format::Frr`] and [`Format::Bird`] by their marks).
//!
//! # Limits
//! MRT and formats of lines are read as streams: a reader holds the routes and some megabytes. A
//! line has at most 1 MiB and a value 4,096 bytes. FRR's JSON, snapshots and Parquet are held as a
//! whole; compressed, they may expand to 64 MiB and 100 times their compressed size. At most
//! 100,000 damaged places are passed over. An error names the limit and the place.

mod bird;
mod builder;
mod csv;
mod detect;
mod frr;
mod ip_route;
mod mrt;
mod parquet;
mod pfx2as;
mod rows;
mod snapshot;
mod text;
mod write;

pub use crate::beside::write_beside;
pub(crate) use rows::read_value;
pub(crate) use text::without_comment;
pub use write::{write, write_file};

use crate::blocks::{Blocks, hold};
use crate::{Content, Damage, Error, Progress, Source};
use builder::Builder;
use fibula::{NextHops, Rib};
use std::fmt;
use std::io::Read;
use std::str::FromStr;

/// The routes of both families and the next hops they share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tables {
    /// The IPv4 routes.
    pub ipv4: Rib<u32>,
    /// The IPv6 routes.
    pub ipv6: Rib<u128>,
    /// The names of the routes' next hops.
    pub next_hops: NextHops,
}

/// The field that a route's value is taken from, in formats that hold more than one (MRT; BIRD's
/// `show route`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Hash)]
pub enum Value {
    /// The next hop (MRT: the NEXT_HOP attribute, or MP_REACH_NLRI's).
    #[default]
    NextHop,
    /// The autonomous system at the end of the path; a set of them as a label, `64500,64501`.
    OriginAs,
    /// The peer that sent the route: its address (BIRD: its protocol's name).
    Peer,
}

/// A table format. Reading recognises them by content where none is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// `prefix next-hop-or-AS`, one a line, separated by white space: the project's own. `#` begins
    /// a comment.
    Text,
    /// MRT: TABLE_DUMP, TABLE_DUMP_V2, or BGP4MP updates applied to a table.
    Mrt,
    /// CAIDA pfx2as: `address length AS`, tab-separated; several origins (`1_2`) and sets (`1,2`)
    /// become labels.
    Pfx2as,
    /// `ip route` and `ip -6 route`: the route of the lowest metric, its first hop.
    IpRoute,
    /// FRR `show ip route json`: the selected route, its first hop in the forwarding table.
    Frr,
    /// Comma-separated with a header line that names the columns.
    Csv,
    /// BIRD `show route`: the route marked `*`, its first hop.
    Bird,
    /// A [snapshot](fibula::snapshot) that keeps its routes.
    Snapshot,
    /// Parquet with columns named as those of CSV: text, or integers as AS numbers. Read and
    /// written where the feature `parquet` is on.
    Parquet,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 9] = [
        Self::Text,
        Self::Mrt,
        Self::Pfx2as,
        Self::IpRoute,
        Self::Frr,
        Self::Csv,
        Self::Bird,
        Self::Snapshot,
        Self::Parquet,
    ];

    /// The name used on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Mrt => "mrt",
            Self::Pfx2as => "pfx2as",
            Self::IpRoute => "ip-route",
            Self::Frr => "frr",
            Self::Csv => "csv",
            Self::Bird => "bird",
            Self::Snapshot => "snapshot",
            Self::Parquet => "parquet",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = fibula::Error;

    fn from_str(text: &str) -> Result<Self, fibula::Error> {
        let found = Self::ALL.into_iter().find(|format| format.name() == text);
        found.ok_or_else(|| fibula::Error::unknown_name("table format", text, &Self::ALL.map(Self::name)))
    }
}

/// How to read a table.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The format; recognised by content when `None`.
    pub format: Option<Format>,
    /// What the value of a route is taken from.
    pub value: Value,
    /// MRT: only routes of this peer (its address or AS number, as text). `None` takes the best
    /// path of all peers: the shortest AS path, and among those the peer with the lowest address.
    pub peer: Option<String>,
    /// Skip damaged records instead of stopping at the first.
    pub keep_going: bool,
    /// Accept prefixes with host bits set, and clear them. In MRT they are always cleared: RFC 4271
    /// section 4.3 calls the bits after the length irrelevant padding.
    pub mask_host_bits: bool,
    /// Called while the source is read.
    pub progress: Option<Progress>,
}

/// A table as it was read.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The routes.
    pub tables: Tables,
    /// The format it was in.
    pub format: Format,
    /// What was skipped, in order; empty unless [`ReadOptions::keep_going`].
    pub damage: Vec<Damage>,
}

/// Reads a table.
///
/// # Errors
/// If the source cannot be read or its format is not known. Without [`ReadOptions::keep_going`],
/// also if a record is damaged or the compressed stream is truncated; the first such place is
/// named.
pub fn read(source: &Source, options: &ReadOptions) -> Result<Loaded, Error> {
    read_content(source, source.open(options.progress.clone())?, options)
}

/// Reads a table from bytes in memory, compressed or not. Never panics, whatever they hold.
///
/// # Errors
/// As [`read`]; the source is called `memory`.
pub fn parse(bytes: &[u8], options: &ReadOptions) -> Result<Loaded, Error> {
    read_content(&Source::Memory, Content::of_bytes(bytes)?, options)
}

/// MRT and lines are read as a stream, since a collector's dump has gigabytes and a small
/// compressed file may expand to that. FRR's JSON, snapshots and Parquet are held in memory as a
/// whole.
fn read_content(source: &Source, mut content: Content, options: &ReadOptions) -> Result<Loaded, Error> {
    const HEAD_BYTES: u64 = 64 << 10;
    let mut bytes = Vec::new();
    // The reason why reading stopped is in the content's damage.
    let _ = content.by_ref().take(HEAD_BYTES).read_to_end(&mut bytes);
    if let Some(cut) = content.damage()
        && !options.keep_going
    {
        return Err(Error::at(source, cut));
    }
    let format = match options.format {
        Some(format) => format,
        None => detect::format(&bytes).map_err(|what| Error::of(source, what))?,
    };
    let mut builder = Builder::new(options.keep_going);
    let result = if matches!(format, Format::Frr | Format::Snapshot | Format::Parquet) {
        let held = hold(&mut content, &mut bytes);
        match (content.damage(), held) {
            // The text ends in the middle of a route, which is not one.
            (Some(cut), _) if !options.keep_going => Err(cut.clone()),
            (_, Err(damage)) => Err(damage),
            (_, Ok(())) if format == Format::Snapshot => snapshot::read(&bytes, &mut builder),
            (_, Ok(())) if format == Format::Parquet => parquet::read(bytes, options, &mut builder),
            (_, Ok(())) => {
                let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes);
                frr::read(text, options, &mut builder)
            }
        }
    } else {
        let input = bytes.as_slice().chain(&mut content);
        if format == Format::Mrt {
            mrt::read(input, options, &mut builder)
        } else {
            let mut blocks = Blocks::new(input, options.keep_going);
            match format {
                Format::Pfx2as => pfx2as::read(&mut blocks, options, &mut builder),
                Format::Csv => csv::read(&mut blocks, options, &mut builder),
                Format::IpRoute => ip_route::read(&mut blocks, options, &mut builder),
                Format::Bird => bird::read(&mut blocks, options, &mut builder),
                _ => text::read(&mut blocks, options, &mut builder),
            }
        }
    };
    // A truncated stream is the cause of the damage at its end.
    match (content.damage().cloned(), result) {
        (Some(cut), _) if !options.keep_going => return Err(Error::at(source, &cut)),
        (_, Err(damage)) => return Err(Error::at(source, &damage)),
        (cut, Ok(())) => builder.damage.extend(cut),
    }
    let (tables, damage) = builder.finish();
    Ok(Loaded { tables, format, damage })
}
