//! What the commands that judge and measure engines have in common: which table, which engines, built how.

use crate::exit::{Verdict, tell};
use crate::reading::{Reading, verdict};
use clap::{Args, ValueEnum};
use fibula::arch::Level;
use fibula::engine::{ENGINES, WidthBits};
use fibula::memory::Pages;
use fibula::{Address, Family, Rib};
use fibula_io::Source;
use fibula_io::generate::{self, NextHopModel, Size, remap};
use fibula_io::table::Tables;
use std::str::FromStr;

/// The name of the made table, on the command line and in results.
pub(crate) const INTERNET: &str = "internet";

/// The made full tables of both families, with the next hops of a router that has 40 neighbours.
pub(crate) fn internet(seed: u64) -> Result<Tables, fibula_io::Error> {
    generate::internet(Size::FULL, NextHopModel::Near(40), seed)
}

/// Which table.
#[derive(Clone, Debug, Args)]
pub(crate) struct OnTable {
    /// The table, a file or `-`, or `internet` for the made one
    #[arg(short, long, default_value = INTERNET)]
    table: String,
    /// Only this family; both if the table has both
    #[arg(long, value_enum)]
    pub(crate) family: Option<FamilyName>,
    /// The next hops: the table's own, or made ones: `near=200` (200 of them, neighbours alike), `different=200`
    /// (hashed from the prefix), `each` (every prefix its own)
    #[arg(long, default_value = "source", value_name = "MODEL")]
    next_hops: NextHopsFrom,
    #[command(flatten)]
    reading: Reading,
}

impl OnTable {
    /// Whether the table comes from standard input.
    pub(crate) fn is_standard_input(&self) -> bool {
        self.table == "-"
    }

    /// What it is called in results.
    pub(crate) fn name(&self) -> String {
        match self.next_hops {
            NextHopsFrom::Source => self.table.clone(),
            NextHopsFrom::Model(model) => format!("{} ({model})", self.table),
        }
    }

    /// Reads the table and gives it the next hops asked for.
    ///
    /// Also says whether it came through whole.
    pub(crate) fn load(&self) -> anyhow::Result<(Tables, Verdict)> {
        let (mut tables, whole) = if self.table == INTERNET {
            (internet(1)?, Verdict::Good)
        } else {
            let loaded = self.reading.read(&Source::from(self.table.as_str()))?;
            let whole = verdict(&loaded);
            (loaded.tables, whole)
        };
        if let NextHopsFrom::Model(model) = self.next_hops {
            let Tables { ipv4, ipv6, next_hops } = &mut tables;
            // Where every prefix has its own, IPv6's begin after IPv4's.
            let after_ipv4 = if model == NextHopModel::Each { ipv4.len() as u32 } else { 0 };
            *next_hops = generate::gateways(model.count(ipv4.len() + ipv6.len()))?;
            *ipv4 = remap(ipv4, model, 1, 1);
            *ipv6 = remap(ipv6, model, 1 + after_ipv4, 1);
        }
        Ok((tables, whole))
    }

    /// Whether a family is to be looked at: the one asked for, or any that has routes.
    pub(crate) fn wants<A: Address>(&self, rib: &Rib<A>) -> bool {
        self.family.map_or(!rib.is_empty(), |family| Family::from(family) == A::FAMILY)
    }
}

/// A family by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FamilyName {
    /// 32-bit addresses
    Ipv4,
    /// 128-bit addresses
    Ipv6,
}

impl From<FamilyName> for Family {
    fn from(name: FamilyName) -> Self {
        match name {
            FamilyName::Ipv4 => Self::Ipv4,
            FamilyName::Ipv6 => Self::Ipv6,
        }
    }
}

/// Where next hops come from.
#[derive(Clone, Copy, Debug)]
enum NextHopsFrom {
    Source,
    Model(NextHopModel),
}

impl FromStr for NextHopsFrom {
    type Err = fibula_io::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        /// As many as a router of a large network has.
        const USUAL: u32 = 200;
        Ok(match text {
            "source" => Self::Source,
            "near" => Self::Model(NextHopModel::Near(USUAL)),
            "different" => Self::Model(NextHopModel::Different(USUAL)),
            model => Self::Model(model.parse()?),
        })
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
    /// The pages asked for.
    pub(crate) fn pages(&self) -> Pages {
        if self.huge_pages { Pages::Huge } else { Pages::Small }
    }
}

fn width(text: &str) -> Result<WidthBits, String> {
    let found = WidthBits::ALL.into_iter().find(|width| width.to_string() == text);
    found.ok_or_else(|| "expected 8, 16 or 32".into())
}

fn level(text: &str) -> Result<Level, String> {
    Level::named(text).ok_or_else(|| {
        let names: Vec<&str> = Level::available().iter().map(|level| level.name()).collect();
        format!("this processor has {}", names.join(", "))
    })
}

/// The engines of a list that do a family.
pub(crate) fn engines<A: Address>(list: &str) -> anyhow::Result<Vec<String>> {
    Ok(fibula_lab::select::<A>(ENGINES, list)?)
}

/// Tells things on standard error, one a line.
pub(crate) fn tell_all(things: &[impl std::fmt::Display]) {
    for thing in things {
        tell(format_args!("{thing}"));
    }
}
