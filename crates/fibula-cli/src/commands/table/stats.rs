//! `fibula table stats`: what is in tables.

use super::shape::Shape;
use crate::exit::Verdict;
use crate::output::Output;
use crate::reading::{Reading, verdict};
use clap::Args;
use fibula::{Address, Rib};
use fibula_io::Source;
use fibula_io::table::Loaded;
use serde::Serialize;
use std::collections::BTreeMap;

/// Show what is in tables: sizes, prefix lengths, nesting, next hops
///
/// One row a table and family. `covered` counts the prefixes with a shorter one around them, `depth` the most
/// prefixes around one address, `ranges` the intervals of addresses with the same next hop. `lengths` and `depths`
/// count the prefixes by length and by the number of prefixes around them.
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
    covered: usize,
    depth: usize,
    next_hops: usize,
    default_route: Option<String>,
    ranges: usize,
    damaged: usize,
    #[serde(flatten)]
    histograms: Option<Histograms>,
}

/// Counts that make no column.
#[derive(Debug, Serialize)]
struct Histograms {
    lengths: BTreeMap<u8, usize>,
    depths: BTreeMap<usize, usize>,
}

/// One line of a histogram, for people.
#[derive(Debug, Serialize)]
struct Count<'t> {
    table: &'t str,
    length: String,
    ipv4: usize,
    ipv6: usize,
}

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        let mut printer = output.printer();
        let mut lengths = Vec::new();
        let mut whole = true;
        for table in &self.tables {
            let loaded = self.reading.read(&Source::from(table.as_str()))?;
            whole &= verdict(&loaded) == Verdict::Good;
            let [ipv4, ipv6] = [Shape::of(&loaded.tables.ipv4), Shape::of(&loaded.tables.ipv6)];
            if output.is_table() {
                lengths.push((table, [ipv4.lengths.clone(), ipv6.lengths.clone()]));
            }
            printer.row(&row(table, &loaded, &loaded.tables.ipv4, ipv4, output))?;
            printer.row(&row(table, &loaded, &loaded.tables.ipv6, ipv6, output))?;
        }
        printer.finish()?;
        if output.is_table() {
            print_lengths(&lengths, output)?;
        }
        Ok(Verdict::good_if(whole))
    }
}

fn row<A: Address>(table: &str, loaded: &Loaded, rib: &Rib<A>, shape: Shape, output: &Output) -> Row {
    let default = rib.get(fibula::Prefix::ALL).and_then(|next_hop| loaded.tables.next_hops.get(next_hop));
    Row {
        table: table.into(),
        format: loaded.format.to_string(),
        family: A::FAMILY.to_string(),
        prefixes: rib.len(),
        covered: shape.covered(),
        depth: shape.depths.keys().next_back().map_or(0, |above| above + 1),
        next_hops: shape.next_hops,
        default_route: default.map(ToString::to_string),
        ranges: rib.ranges().count(),
        damaged: loaded.damage.len(),
        histograms: (!output.is_table())
            .then_some(Histograms { lengths: shape.lengths, depths: shape.depths }),
    }
}

/// The lengths of all tables, each met length a line.
fn print_lengths(tables: &[(&String, [BTreeMap<u8, usize>; 2])], output: &Output) -> anyhow::Result<()> {
    println!();
    output.rows(tables.iter().flat_map(|(table, [ipv4, ipv6])| {
        let met = (0..=128).filter(|length| ipv4.contains_key(length) || ipv6.contains_key(length));
        met.map(move |length| Count {
            table,
            length: format!("/{length}"),
            ipv4: ipv4.get(&length).copied().unwrap_or(0),
            ipv6: ipv6.get(&length).copied().unwrap_or(0),
        })
    }))
}
