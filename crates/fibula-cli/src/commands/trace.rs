//! `fibula trace`: streams of addresses.

use crate::exit::Verdict;
use crate::reading::{FamilyName, Reading, table_or_internet, tell_report};
use crate::registry;
use crate::writing::write_text;
use clap::{Args, Subcommand};
use fibula::{Address, Rib};
use fibula_io::trace::{TraceKind, generate_told};
use std::io::{self, Write};
use std::path::PathBuf;

/// Make streams of addresses to look up
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Gen(Arguments),
}

/// Draw addresses over a table, one a line: seeded, the same on every machine
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Which addresses, in which order
    ///
    /// random: uniform over the public unicast space (IPv4 only); prefix: a prefix drawn uniformly,
    /// its host bits random; match: the longest leaf-pushed path of a prefix; zipf: 64K
    /// destinations, s = 1; sequential; repeat: one burst again and again; deep=ENGINE: those for
    /// which this engine works most; miss=PERCENT: this share matches a route; file=PATH: those of
    /// a text or capture file; mapped=PATH: its locality on this table.
    kind: TraceKind,
    /// The table they are drawn over, a file or `-`; the made table `internet` if not given
    #[arg(short, long)]
    table: Option<String>,
    /// How many addresses
    #[arg(short = 'n', long, default_value_t = 1_000_000, value_name = "N")]
    count: usize,
    /// Their family; IPv4 if not given, unless the table has only IPv6 routes
    #[arg(long, value_enum)]
    family: Option<FamilyName>,
    /// The seed of everything that is drawn
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The file to write, or `-`
    #[arg(short, long, default_value = "-", value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    reading: Reading,
}

impl Command {
    pub(crate) fn run(self) -> anyhow::Result<Verdict> {
        let Self::Gen(arguments) = self;
        arguments.run()
    }
}

impl Arguments {
    fn run(self) -> anyhow::Result<Verdict> {
        let (tables, whole) = table_or_internet(&self.reading, self.table.as_deref())?;
        let only_ipv6 = tables.ipv4.is_empty() && !tables.ipv6.is_empty();
        match self.family.unwrap_or(if only_ipv6 { FamilyName::Ipv6 } else { FamilyName::Ipv4 }) {
            FamilyName::Ipv4 => self.draw(&tables.ipv4)?,
            FamilyName::Ipv6 => self.draw(&tables.ipv6)?,
        }
        Ok(whole)
    }

    fn draw<A: Address>(&self, rib: &Rib<A>) -> anyhow::Result<()> {
        let (addresses, report) = generate_told(registry::engines(), &self.kind, rib, self.count, self.seed)?;
        if let TraceKind::File(source) | TraceKind::Mapped(source) = &self.kind {
            tell_report(source, &report);
        }
        write_text(&self.output, |out| write_lines(&addresses, out))
    }
}

fn write_lines<A: Address>(addresses: &[A], out: &mut dyn Write) -> io::Result<()> {
    addresses.iter().try_for_each(|address| writeln!(out, "{}", address.to_ip()))
}
