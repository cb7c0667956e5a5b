//! Figures 7 and 8 of the TrieC paper, and its share of ExtraNHIA nodes.

use super::count_accesses;
use crate::Error;
use fibula::engine::{Config, Entry};
use fibula::engines::triec;
use fibula::{Fib, Rib};
use serde::Serialize;

/// The share of nodes with an ExtraNHIA in section 5.2 of the paper, in percent.
const PAPER_EXTRA_NHIA_PERCENT: f64 = 3.6;

/// What the paper's text says of single tables: memory in MB (of B-400K, Figure 7), accesses a lookup (of group B,
/// Figure 8). The other bars of the figures have no numbers.
const PAPER_MB: (&str, f64) = ("B-400K", 35.0);
const PAPER_ACCESSES: (&str, f64) = ("B-", 4.0);

/// What one table takes and what its lookups touch, beside what the paper says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TriecRow {
    /// The table: `B-400K` is group B, 400,000 prefixes.
    pub table: String,
    /// Its routes.
    pub prefixes: usize,
    /// What the engine occupies, in millions of bytes.
    pub mb: f64,
    /// The paper's figure, where its text has one.
    pub mb_paper: Option<f64>,
    /// The share of entries with an ExtraNHIA, in percent.
    pub extra_nhia_percent: f64,
    /// The paper's figure.
    pub extra_nhia_percent_paper: f64,
    /// Accesses to memory in a lookup: the mean.
    pub accesses: f64,
    /// The paper's figure, where its text has one.
    pub accesses_paper: Option<f64>,
    /// The most accesses in a lookup; at most 8, says the paper, and a hash.
    pub accesses_most: u32,
    /// Hashes in a lookup: the mean.
    pub hashes: f64,
}

/// Builds `triec` on a table and counts what the lookups of `addresses` touch.
///
/// # Errors
/// If `engines` has no `triec`, or the table exceeds one of its limits.
///
/// ```
/// use fibula::{NextHop, Rib, engine::ENGINES};
/// use fibula_lab::study::study_triec;
/// let mut rib: Rib<u128> = Rib::new();
/// rib.insert("2001:db8::/32".parse()?, NextHop(1));
/// let row = study_triec(ENGINES, "one route", &rib, &[0x2001_0db8 << 96])?;
/// assert_eq!((row.accesses, row.accesses_most, row.hashes), (2.0, 2, 0.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn study_triec(
    engines: &[Entry],
    table: &str,
    rib: &Rib<u128>,
    addresses: &[u128],
) -> Result<TriecRow, Error> {
    let fib = Fib::build_from(engines, triec::ABOUT.name, rib, Config::default())?;
    let count = count_accesses(&fib, addresses);
    let share = fib.figures().into_iter().find(|figure| figure.name == triec::EXTRA_NHIA_PERCENT);
    Ok(TriecRow {
        table: table.into(),
        prefixes: rib.len(),
        mb: fib.memory().total() as f64 / 1e6,
        mb_paper: (table == PAPER_MB.0).then_some(PAPER_MB.1),
        extra_nhia_percent: share.map_or(0.0, |figure| figure.value),
        extra_nhia_percent_paper: PAPER_EXTRA_NHIA_PERCENT,
        accesses: count.loads,
        accesses_paper: table.starts_with(PAPER_ACCESSES.0).then_some(PAPER_ACCESSES.1),
        accesses_most: count.loads_most,
        hashes: count.hashes,
    })
}
