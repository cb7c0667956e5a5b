//! Figures 7 and 8 of the TrieC paper, and its share of ExtraNHIA nodes.

use super::count_accesses;
use crate::Error;
use fibula::engine::{Config, Entry};
use fibula::{Fib, Rib};
use fibula_engines::triec;
use serde::Serialize;

/// The share of nodes with an ExtraNHIA in section 5.2 of the paper, in percent.
const PAPER_EXTRA_NHIA_PERCENT: f64 = 3.6;

/// The most accesses to the trie, and hashes, of a lookup in section 5.2 of the paper.
const PAPER_MOST: (u32, u32) = (8, 1);

/// The numbers that the paper's text has for single tables: memory in MB (of B-400K, Figure 7),
/// accesses per lookup (of group B, Figure 8). The other bars of the figures have no numbers.
const PAPER_MB: (&str, f64) = ("B-400K", 35.0);
const PAPER_ACCESSES: (&str, f64) = ("B-", 4.0);

/// The memory of one table and the accesses of its lookups, beside the paper's figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TriecRow {
    /// The table: `B-400K` is group B, 400,000 prefixes.
    pub table: String,
    /// Its routes.
    pub prefixes: usize,
    /// The engine's memory in millions of bytes.
    pub mb: f64,
    /// The paper's figure, where its text has one.
    pub mb_paper: Option<f64>,
    /// The bits of a next-hop index in an entry that may point to a node; the paper's has 16.
    pub nhi_bits: u32,
    /// The bits of one that only holds an answer, on the 4th level and in Hash16; the paper's has
    /// 16.
    pub last_nhi_bits: u32,
    /// The share of entries with an ExtraNHIA, in percent.
    pub extra_nhia_percent: f64,
    /// The paper's figure.
    pub extra_nhia_percent_paper: f64,
    /// Memory accesses per lookup: the mean over the addresses.
    pub accesses: f64,
    /// The paper's figure, where its text has one.
    pub accesses_paper: Option<f64>,
    /// Hashes per lookup: the mean.
    pub hashes: f64,
    /// The most accesses to TrieC15/6, TrieC4/4 and their ExtraNHIAs in a lookup of 2000::/3.
    pub trie_most: u32,
    /// The paper's figure.
    pub trie_most_paper: u32,
    /// The most hashes in a lookup of 2000::/3.
    pub hashes_most: u32,
    /// The paper's figure.
    pub hashes_most_paper: u32,
    /// The most accesses in a lookup of 2000::/3, with two kinds more: those to the buckets of
    /// Hash16 and their ExtraNHIAs, which the paper counts as the hash, and those to the tree of
    /// routes longer than /64, which the paper does not have.
    pub all_most: u32,
    /// The most accesses in a lookup outside 2000::/3. All are to a tree that the paper does not
    /// have.
    pub outside_most: u32,
}

/// Builds `triec` on a table and counts the accesses of lookups: the mean over `addresses`, and the
/// most over these and the first and the last address of every route.
///
/// # Errors
/// If `engines` has no `triec`, or the table exceeds one of its limits.
///
/// ```
/// use fibula::{NextHop, Rib};
/// use fibula_engines::all;
/// use fibula_lab::study::study_triec;
/// let mut rib: Rib<u128> = Rib::new();
/// rib.insert("2001:db8::/32".parse()?, NextHop(1));
/// rib.insert("2001:db8:1:1::/64".parse()?, NextHop(2));
/// rib.insert("2001:db8:1:1::1/128".parse()?, NextHop(3));
/// let row = study_triec(all(), "three routes", &rib, &[0x2001_0db9 << 96])?;
/// assert_eq!((row.accesses, row.hashes), (2.0, 0.0));
/// // Four levels and one hash; then one bucket, and the one node of the tree.
/// assert_eq!((row.trie_most, row.hashes_most, row.all_most), (4, 1, 6));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn study_triec(
    engines: &'static [Entry],
    table: &str,
    rib: &Rib<u128>,
    addresses: &[u128],
) -> Result<TriecRow, Error> {
    let fib = Fib::build_from(engines, triec::ABOUT.name, rib, Config::default())?;
    let ends = rib.iter().flat_map(|route| [route.prefix.first(), route.prefix.last()]);
    let (inside, outside): (Vec<u128>, Vec<u128>) =
        ends.chain(addresses.iter().copied()).partition(|&address| address >> 125 == 0b001);
    let mean = count_accesses(&fib, addresses);
    let (inside, outside) = (count_accesses(&fib, &inside), count_accesses(&fib, &outside));
    let figures = fib.figures();
    let figure = |name| figures.iter().find(|figure| figure.name == name).map_or(0.0, |figure| figure.value);
    Ok(TriecRow {
        table: table.into(),
        prefixes: rib.len(),
        mb: fib.memory().total() as f64 / 1e6,
        mb_paper: (table == PAPER_MB.0).then_some(PAPER_MB.1),
        nhi_bits: figure(triec::NHI_BITS) as u32,
        last_nhi_bits: figure(triec::LAST_NHI_BITS) as u32,
        extra_nhia_percent: figure(triec::EXTRA_NHIA_PERCENT),
        extra_nhia_percent_paper: PAPER_EXTRA_NHIA_PERCENT,
        accesses: mean.loads,
        accesses_paper: table.starts_with(PAPER_ACCESSES.0).then_some(PAPER_ACCESSES.1),
        hashes: mean.hashes,
        trie_most: inside.loads_before_hash_most,
        trie_most_paper: PAPER_MOST.0,
        hashes_most: inside.hashes_most,
        hashes_most_paper: PAPER_MOST.1,
        all_most: inside.loads_most,
        outside_most: outside.loads_most,
    })
}
