//! `fibula table top`: the values that most addresses have.

use crate::exit::Verdict;
use crate::output::Output;
use crate::reading::{Reading, verdict};
use clap::{Args, ValueEnum};
use fibula::{Address, Rib};
use fibula_io::Source;
use fibula_io::table::{Tables, Value};
use serde::Serialize;
use std::cmp::Reverse;

/// Show the values with most addresses, such as the origins or next hops of a table
///
/// `space` counts the addresses that the value answers by longest match, in networks of /24 for
/// IPv4 and /48 for IPv6, `share` is their part of all addresses that the table answers, and
/// `prefixes` are the value's routes.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// How many values of each family
    #[arg(default_value_t = 10, value_name = "N")]
    count: usize,
    /// The table to read, a file or `-`
    #[arg(short, long, default_value = "-", value_name = "TABLE")]
    input: String,
    /// What is most
    #[arg(long, value_enum, default_value_t, value_name = "WHAT")]
    by: By,
    #[command(flatten)]
    reading: Reading,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum By {
    /// Addresses
    #[default]
    Space,
    /// Routes
    Prefixes,
}

#[derive(Debug, Serialize)]
struct Row {
    family: String,
    value: String,
    prefixes: usize,
    space: f64,
    share: f64,
}

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        let loaded = self.reading.read_for(&Source::from(self.input.as_str()), Value::OriginAs)?;
        let tables = &loaded.tables;
        let ipv4 = self.family(&tables.ipv4, tables, 24);
        let ipv6 = self.family(&tables.ipv6, tables, 48);
        output.rows(ipv4.into_iter().chain(ipv6))?;
        Ok(verdict(&loaded))
    }

    /// Returns the rows of a family, whose space is counted in networks of `len` bits.
    fn family<A: Address>(&self, rib: &Rib<A>, tables: &Tables, len: u8) -> Vec<Row> {
        let mut values: Vec<(u128, usize)> = vec![(0, 0); tables.next_hops.len() + 1];
        for range in rib.ranges().filter(|range| range.next_hop.is_some()) {
            // One more for each range. Only ::/0 alone has 2^128, of which one is not counted.
            let count = (range.last.to_u128() - range.first.to_u128()).saturating_add(1);
            values[range.next_hop.0 as usize].0 += count;
        }
        for route in rib {
            values[route.next_hop.0 as usize].1 += 1;
        }
        let all: f64 = values.iter().map(|(addresses, _)| *addresses as f64).sum();
        let network = 2_f64.powi(i32::from(A::BITS - len));
        let mut order: Vec<usize> = (1..values.len()).filter(|&at| values[at].1 > 0).collect();
        order.sort_by_key(|&at| {
            let (addresses, prefixes) = values[at];
            Reverse(if self.by == By::Space { (addresses, prefixes) } else { (prefixes as u128, 0) })
        });
        let names: Vec<String> = tables.next_hops.iter().map(|(_, info)| info.to_string()).collect();
        let row = |at: usize| Row {
            family: A::FAMILY.to_string(),
            value: names[at - 1].clone(),
            prefixes: values[at].1,
            space: rounded(values[at].0 as f64 / network),
            share: rounded(values[at].0 as f64 / all),
        };
        order.into_iter().take(self.count).map(row).collect()
    }
}

/// Returns a number with four digits after the point.
fn rounded(number: f64) -> f64 {
    (number * 10_000.0).round() / 10_000.0
}
