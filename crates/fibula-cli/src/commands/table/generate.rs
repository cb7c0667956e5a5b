//! `fibula table gen`: made tables.

use crate::exit::Verdict;
use crate::output::Output;
use crate::reading::FamilyName;
use crate::writing::Writing;
use clap::{Args, ValueEnum};
use fibula_io::generate::{NextHopModel, Size, TriecGroup, edge, internet, triec};

/// Make a table: seeded, the same on every machine
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The kind of table
    #[arg(value_enum)]
    kind: Kind,
    /// Only this family; both if not given
    #[arg(long, value_enum)]
    family: Option<FamilyName>,
    /// How many prefixes (edge: hosts), both families together; they are divided in the proportion
    /// of the full tables
    ///
    /// By default as many as the full tables of May 2026 have (internet), 100,000 a family (edge),
    /// 100,000 (triec).
    #[arg(long, value_name = "N")]
    size: Option<usize>,
    /// The seed of everything that is drawn
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The next hops: near=N (neighbours alike, as in real tables), different=N, or each (all
    /// different)
    #[arg(long, default_value = "near=40", value_name = "MODEL")]
    next_hops: NextHopModel,
    #[command(flatten)]
    writing: Writing,
}

/// The kinds of made tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// A full Internet table
    Internet,
    /// An access router's: mostly host routes
    Edge,
    /// The TrieC paper's group A: IPv6 tables of 2006
    TriecA,
    /// The TrieC paper's group B: ideal IPv6 tables
    TriecB,
    /// The TrieC paper's group C: the mean of both
    TriecC,
}

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        let Self { seed, next_hops, .. } = self;
        let tables = match self.kind {
            Kind::Internet => internet(self.sizes(Size::FULL), next_hops, seed),
            Kind::Edge => edge(self.sizes(Size { ipv4: 100_000, ipv6: 100_000 }), next_hops, seed),
            Kind::TriecA => triec(TriecGroup::A, self.ipv6_size()?, next_hops, seed),
            Kind::TriecB => triec(TriecGroup::B, self.ipv6_size()?, next_hops, seed),
            Kind::TriecC => triec(TriecGroup::C, self.ipv6_size()?, next_hops, seed),
        }?;
        self.writing.write(&tables, output)?;
        Ok(Verdict::Good)
    }

    /// How many prefixes each family gets.
    fn sizes(&self, default: Size) -> Size {
        match self.family {
            Some(FamilyName::Ipv4) => Size::ipv4(self.size.unwrap_or(default.ipv4)),
            Some(FamilyName::Ipv6) => Size::ipv6(self.size.unwrap_or(default.ipv6)),
            None => self.size.map_or(default, |size| {
                let full = (Size::FULL.ipv4 + Size::FULL.ipv6) as u128;
                let ipv4 = (size as u128 * Size::FULL.ipv4 as u128 / full) as usize;
                Size { ipv4, ipv6: size - ipv4 }
            }),
        }
    }

    fn ipv6_size(&self) -> anyhow::Result<usize> {
        anyhow::ensure!(self.family != Some(FamilyName::Ipv4), "the TrieC paper's tables are IPv6 tables");
        Ok(self.size.unwrap_or(100_000))
    }
}
