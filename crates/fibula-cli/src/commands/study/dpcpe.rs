//! `fibula study dpcpe`: the lengths to expand a table to.

use crate::commands::measuring::OnTable;
use crate::exit::Verdict;
use crate::output::Output;
use clap::Args;
use fibula::blocks::dpcpe::{Choice, Distribution};
use serde::Serialize;

/// The last level, where the paper's IPv6 tables end.
const LAST: u8 = 64;

/// The levels that DPCPE chooses for an IPv6 table, and the best ones, with the estimated prefixes
/// and the number after expansion (Table 4 of the Bloom filter paper)
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The numbers of levels
    #[arg(long, value_delimiter = ',', default_value = "3,4,5,6,7,8", value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64))]
    levels: Vec<u8>,
    #[command(flatten)]
    on_table: OnTable,
}

/// A row of Table 4.
#[derive(Debug, Serialize)]
struct Row {
    n: u8,
    method: &'static str,
    levels: String,
    prefixes: usize,
    estimated: u128,
    actual: u128,
    times: f64,
}

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        let (tables, whole) = self.on_table.load()?;
        let rib = &tables.ipv6;
        anyhow::ensure!(!rib.is_empty(), "nothing to expand: the table has no IPv6 routes");
        let distribution = Distribution::of(rib, LAST);
        let row = |n, method, choice: Choice| Row {
            n,
            method,
            levels: choice.levels.iter().map(u8::to_string).collect::<Vec<_>>().join(" "),
            prefixes: rib.len(),
            estimated: choice.estimated,
            actual: choice.expanded,
            times: choice.expanded as f64 / rib.len() as f64,
        };
        let rows = self.levels.iter().flat_map(|&n| {
            [row(n, "dpcpe", distribution.dpcpe(n.into())), row(n, "best", distribution.best(n.into()))]
        });
        output.rows(rows)?;
        Ok(whole)
    }
}
