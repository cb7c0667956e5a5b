//! The options of the commands that judge and measure engines: the table, the engines, and how to
//! build them.

use crate::exit::{Verdict, tell};
use crate::reading::{Bar, FamilyName, Reading, tell_report, verdict};
use crate::registry;
use clap::Args;
use fibula::engine::Level;
use fibula::engine::Pages;
use fibula::engine::WidthBits;
use fibula::{Address, Change, Error, ErrorKind, Family, Rib};
use fibula_io::Source;
use fibula_io::generate::{self, NextHopModel, Size, remap};
use fibula_io::table::Tables;
use fibula_io::trace::{self, TraceKind};
use fibula_io::update::{self, Timed};
use fibula_lab::study::Trace;
use std::fmt;
use std::str::FromStr;

/// The name of the made table, on the command line and in results.
pub(crate) const INTERNET: &str = "internet";

/// Returns the made full tables of both families, with the next hops of a router that has 40
/// neighbours.
pub(crate) fn internet(seed: u64) -> Result<Tables, fibula_io::Error> {
    generate::internet(Size::FULL, NextHopModel::Near(40), seed)
}

/// Returns the tables of a file, or of [`INTERNET`]. Also returns whether they were read without
/// damage.
pub(crate) fn tables(name: &str, reading: &Reading) -> anyhow::Result<(Tables, Verdict)> {
    reading.of_tables(usize::from(name != INTERNET))?;
    one_of_tables(name, reading)
}

/// As [`tables`], where the reading has been told how many tables there are.
pub(crate) fn one_of_tables(name: &str, reading: &Reading) -> anyhow::Result<(Tables, Verdict)> {
    if name == INTERNET {
        return Ok((internet(1)?, Verdict::Good));
    }
    let loaded = reading.read(&Source::from(name))?;
    let whole = verdict(&loaded);
    Ok((loaded.tables, whole))
}

/// Draws `count` addresses of each kind that the table has.
pub(crate) fn traces<A: Address>(kinds: &[TraceKind], rib: &Rib<A>, count: u32) -> Vec<Trace<A>> {
    let draw = |kind: &TraceKind| {
        let addresses = trace::generate_among(registry::engines(), kind, rib, count as usize, 1).ok()?;
        Some(Trace { name: kind.to_string(), addresses })
    };
    kinds.iter().filter_map(draw).collect()
}

/// Returns a file's name without its folders.
pub(crate) fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// The table of a command.
#[derive(Clone, Debug, Args)]
pub(crate) struct OnTable {
    /// The table, a file or `-`, or `internet` for the made one
    #[arg(short, long, default_value = INTERNET)]
    table: String,
    /// Only this family; both if the table has both
    #[arg(long, value_enum)]
    pub(crate) family: Option<FamilyName>,
    /// The next hops: the table's own, or made ones: `near=200` (200 of them, neighbours alike),
    /// `different=200` (hashed from the prefix), `each` (every prefix its own)
    #[arg(long, default_value = "source", value_name = "MODEL")]
    next_hops: NextHopsFrom,
    #[command(flatten)]
    reading: Reading,
}

impl OnTable {
    /// Returns whether the table comes from standard input.
    pub(crate) fn is_standard_input(&self) -> bool {
        self.table == "-"
    }

    /// Returns the table's name in results.
    pub(crate) fn name(&self) -> String {
        match self.next_hops {
            NextHopsFrom::Source => self.table.clone(),
            NextHopsFrom::Model(model) => format!("{} ({model})", self.table),
        }
    }

    /// Reads the table and gives it the next hops asked for.
    ///
    /// Also returns whether it was read without damage.
    pub(crate) fn load(&self) -> anyhow::Result<(Tables, Verdict)> {
        let (mut tables, whole) = tables(&self.table, &self.reading)?;
        if let NextHopsFrom::Model(model) = self.next_hops {
            let Tables { ipv4, ipv6, next_hops } = &mut tables;
            // Where every prefix has its own next hop, IPv6's begin after IPv4's.
            let after_ipv4 = if model == NextHopModel::Each { ipv4.len() as u32 } else { 0 };
            *next_hops = generate::gateways(model.count(ipv4.len() + ipv6.len()))?;
            *ipv4 = remap(ipv4, model, 1, 1);
            *ipv6 = remap(ipv6, model, 1 + after_ipv4, 1);
        }
        Ok((tables, whole))
    }

    /// Returns whether a family is to be measured: the one asked for, or any that has routes.
    pub(crate) fn wants<A: Address>(&self, rib: &Rib<A>) -> bool {
        self.family.map_or(!rib.is_empty(), |family| Family::from(family) == A::FAMILY)
    }
}

impl From<FamilyName> for Family {
    fn from(name: FamilyName) -> Self {
        match name {
            FamilyName::Ipv4 => Self::Ipv4,
            FamilyName::Ipv6 => Self::Ipv6,
        }
    }
}

/// The source of next hops.
#[derive(Clone, Copy, Debug)]
enum NextHopsFrom {
    Source,
    Model(NextHopModel),
}

impl FromStr for NextHopsFrom {
    type Err = fibula_io::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        /// The number of next hops of a router in a large network.
        const USUAL: u32 = 200;
        Ok(match text {
            "source" => Self::Source,
            "near" => Self::Model(NextHopModel::Near(USUAL)),
            "different" => Self::Model(NextHopModel::Different(USUAL)),
            model => Self::Model(model.parse()?),
        })
    }
}

/// The updates of both families, in order.
pub(crate) struct Changes {
    pub(crate) ipv4: Vec<Change<u32>>,
    pub(crate) ipv6: Vec<Change<u128>>,
}

/// The same, with the times at which they happened.
pub(crate) struct TimedChanges {
    pub(crate) ipv4: Vec<Timed<u32>>,
    pub(crate) ipv6: Vec<Timed<u128>>,
}

/// The source of updates.
#[derive(Clone, Debug)]
pub(crate) enum UpdatesFrom {
    /// A file, or `-`.
    File(String),
    /// This number of updates for each family, made as real days bring them.
    Made(usize),
}

impl UpdatesFrom {
    /// Returns whether they come from standard input.
    pub(crate) fn is_standard_input(&self) -> bool {
        matches!(self, Self::File(name) if name == "-")
    }

    /// Returns the updates of both families. Next hops that only they name are added to the
    /// tables'.
    pub(crate) fn load(&self, tables: &mut Tables) -> anyhow::Result<Changes> {
        let TimedChanges { ipv4, ipv6 } = self.load_timed(tables)?;
        Ok(Changes { ipv4: untimed(&ipv4), ipv6: untimed(&ipv6) })
    }

    /// Returns the same with their times; made ones have none.
    pub(crate) fn load_timed(&self, tables: &mut Tables) -> anyhow::Result<TimedChanges> {
        let Tables { ipv4, ipv6, next_hops } = tables;
        Ok(match self {
            Self::Made(count) => TimedChanges {
                ipv4: timeless(generate::updates(ipv4, *count, 1)),
                ipv6: timeless(generate::updates(ipv6, *count, 1)),
            },
            Self::File(name) => {
                let bar = Bar::new();
                let progress = Some(bar.progress());
                let options = update::ReadOptions { progress, ..update::ReadOptions::default() };
                let source = Source::from(name.as_str());
                let mut changes = update::read(&source, &options, next_hops)?;
                tell_report(&source, &changes.report);
                changes.settle(ipv4, ipv6);
                TimedChanges { ipv4: changes.ipv4, ipv6: changes.ipv6 }
            }
        })
    }
}

/// Returns the changes without times.
pub(crate) fn untimed<A: Address>(updates: &[Timed<A>]) -> Vec<Change<A>> {
    updates.iter().map(|update| update.change).collect()
}

/// Gives changes no time.
pub(crate) fn timeless<A: Address>(changes: Vec<Change<A>>) -> Vec<Timed<A>> {
    changes.into_iter().map(|change| Timed { time: None, change }).collect()
}

impl FromStr for UpdatesFrom {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text.strip_prefix("made=") {
            Some(count) => count.parse().map(Self::Made).map_err(|_| {
                Error::new(ErrorKind::Name, format!("expected a number after made=, found {count:?}"))
            }),
            None => Ok(Self::File(text.into())),
        }
    }
}

impl fmt::Display for UpdatesFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(name) => f.write_str(name),
            Self::Made(count) => write!(f, "made={count}"),
        }
    }
}

/// How engines are built.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Building engines")]
pub(crate) struct Building {
    /// The width of next hops in bits, 8, 16 or 32
    #[arg(long, value_parser = width, value_name = "BITS")]
    pub(crate) width: Option<WidthBits>,
    /// The instruction sets, one or more of scalar, avx2, avx512, as far as the processor has them
    #[arg(long, value_parser = level, value_delimiter = ',', value_name = "ISA")]
    pub(crate) isa: Vec<Level>,
    /// Ask for huge pages
    #[arg(long)]
    huge_pages: bool,
}

impl Building {
    /// Returns the pages asked for.
    pub(crate) fn pages(&self) -> Pages {
        if self.huge_pages { Pages::Huge } else { Pages::Small }
    }
}

pub(crate) fn width(text: &str) -> Result<WidthBits, Error> {
    let found = WidthBits::ALL.into_iter().find(|width| width.to_string() == text);
    found.ok_or_else(|| Error::new(ErrorKind::Name, "expected 8, 16 or 32"))
}

fn level(text: &str) -> Result<Level, Error> {
    Level::named(text).ok_or_else(|| {
        let names: Vec<&str> = Level::available().iter().map(|level| level.name()).collect();
        Error::new(ErrorKind::Name, format!("this processor has {}", names.join(", ")))
    })
}

/// Returns the engines of a list that do a family.
pub(crate) fn engines<A: Address>(list: &str) -> anyhow::Result<Vec<String>> {
    Ok(fibula_lab::select::<A>(registry::engines(), list)?)
}

/// Prints messages on standard error, one a line.
pub(crate) fn tell_all(things: &[impl std::fmt::Display]) {
    for thing in things {
        tell(format_args!("{thing}"));
    }
}
