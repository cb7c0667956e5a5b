//! `fibula table stats`: figures of tables.

use crate::ALLOCATOR;
use crate::exit::Verdict;
use crate::output::Output;
use crate::reading::{Reading, verdict};
use clap::Args;
use fibula::rib::Statistics;
use fibula::{Address, Rib};
use fibula_io::table::Loaded;
use fibula_io::{Kind, Source};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Show sizes, prefix lengths, nesting and next hops of tables
///
/// One row per table and family that has routes. `nested` counts the prefixes with a shorter cover,
/// `depth` the most prefixes that cover one address, `ranges` the intervals of addresses with the
/// same next hop, `leaves` the leaves of the leaf-pushed trie, `rib_bytes_per_route` the measured
/// bytes of the plain table, and `lengths` the prefixes of each length.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The tables, files or `-`
    #[arg(required = true, value_name = "TABLE")]
    tables: Vec<String>,
    #[command(flatten)]
    reading: Reading,
}

/// One table and family.
#[derive(Debug, Serialize)]
struct Row {
    table: String,
    format: String,
    family: String,
    prefixes: usize,
    nested: usize,
    depth: usize,
    next_hops: usize,
    default_route: Option<String>,
    ranges: usize,
    leaves: usize,
    /// Measured; absent for an empty table.
    rib_bytes_per_route: Option<f64>,
    damaged: usize,
    left_out: u64,
    guessed: u64,
    /// In the table form, the lengths are printed as a second table.
    #[serde(skip_serializing_if = "Option::is_none")]
    lengths: Option<BTreeMap<u8, usize>>,
    /// In the table form, these are lines on standard error.
    #[serde(skip_serializing_if = "Option::is_none")]
    notes: Option<Vec<String>>,
}

/// One line of a histogram, in the table form.
#[derive(Debug, Serialize)]
struct Count<'t> {
    table: &'t str,
    length: String,
    ipv4: usize,
    ipv4_bar: String,
    ipv6: usize,
    ipv6_bar: String,
}

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        let mut printer = output.printer();
        let mut lengths = Vec::new();
        let mut whole = true;
        self.reading.of_tables(self.tables.len())?;
        for table in &self.tables {
            let loaded = self.reading.read(&Source::from(table.as_str()))?;
            whole &= verdict(&loaded) == Verdict::Good;
            let (ipv4, ipv6) = (loaded.tables.ipv4.statistics(), loaded.tables.ipv6.statistics());
            // A family without a route has no row, but a table has at least one.
            if ipv4.routes > 0 || ipv6.routes == 0 {
                printer.row(&row(table, &loaded, &loaded.tables.ipv4, &ipv4, output))?;
            }
            if ipv6.routes > 0 {
                printer.row(&row(table, &loaded, &loaded.tables.ipv6, &ipv6, output))?;
            }
            lengths.push((table, [ipv4, ipv6]));
        }
        printer.finish()?;
        if output.is_table() && lengths.iter().any(|(_, families)| families.iter().any(|s| s.routes > 0)) {
            print_lengths(&lengths, output)?;
        }
        Ok(Verdict::good_if(whole))
    }
}

fn row<A: Address>(
    table: &str,
    loaded: &Loaded,
    rib: &Rib<A>,
    statistics: &Statistics,
    output: &Output,
) -> Row {
    let default = statistics.default_route.and_then(|next_hop| loaded.tables.next_hops.get(next_hop));
    Row {
        table: table.into(),
        format: loaded.format.to_string(),
        family: A::FAMILY.to_string(),
        prefixes: rib.len(),
        nested: statistics.nested,
        depth: statistics.max_depth,
        next_hops: statistics.next_hops,
        default_route: default.map(ToString::to_string),
        ranges: statistics.ranges,
        leaves: statistics.leaves,
        rib_bytes_per_route: bytes_per_route(rib),
        damaged: loaded.damage.len(),
        left_out: loaded.report.of(Kind::LeftOut).map(|note| note.count).sum(),
        guessed: loaded.report.of(Kind::Guessed).map(|note| note.count).sum(),
        lengths: (!output.is_table()).then(|| statistics.lengths().collect()),
        notes: (!output.is_table()).then(|| loaded.report.notes.iter().map(ToString::to_string).collect()),
    }
}

/// Returns the bytes that the allocator was asked for to hold a table, per route, to a tenth of a
/// byte.
fn bytes_per_route<A: Address>(rib: &Rib<A>) -> Option<f64> {
    let before = ALLOCATOR.live();
    let same = rib.clone();
    let bytes = ALLOCATOR.live() - before;
    (!same.is_empty()).then(|| (bytes as f64 / same.len() as f64 * 10.0).round() / 10.0)
}

/// Prints the lengths of all tables, one line per length that any of them has.
fn print_lengths(tables: &[(&String, [Statistics; 2])], output: &Output) -> anyhow::Result<()> {
    writeln!(io::stdout())?;
    output.rows(tables.iter().flat_map(|(table, statistics)| {
        let most = statistics.each_ref().map(|s| s.by_length.iter().copied().max().unwrap_or_default());
        let counts = |length: u8| {
            statistics.each_ref().map(|s| s.by_length.get(usize::from(length)).copied().unwrap_or(0))
        };
        (0..=128).map(move |length| (length, counts(length))).filter(|(_, counts)| *counts != [0, 0]).map(
            move |(length, [ipv4, ipv6])| Count {
                table,
                length: format!("/{length}"),
                ipv4,
                ipv4_bar: bar(ipv4, most[0]),
                ipv6,
                ipv6_bar: bar(ipv6, most[1]),
            },
        )
    }))
}

/// Returns a bar for a count, of full length for `most`. What is not 0 is seen.
fn bar(count: usize, most: usize) -> String {
    const LENGTH: usize = 24;
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (count * LENGTH * 8).div_ceil(most.max(1));
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

#[cfg(test)]
mod tests {
    use super::bar;

    #[test]
    fn bars_are_as_long_as_the_counts() {
        assert!(bar(0, 0).is_empty() && bar(0, 9).is_empty());
        assert_eq!([bar(1, 1_000_000), bar(3, 64)], ["▏", "█▏"]);
        assert_eq!([bar(9, 9), bar(1, 2)], [24, 12].map(|cells| "█".repeat(cells)));
    }
}
