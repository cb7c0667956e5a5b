//! The numbers that the paper prints of a table (section 5.2), and those beside them.

use super::entry::Entry15_6;
use super::nhi::Nhi;
use super::table::{LAST, Table};
use crate::engine::Figure;
use zerocopy::FromZeros;

/// The figure that is the share of entries whose next-hop indices stand in an ExtraNHIA; the paper's is 3.6 %.
pub const EXTRA_NHIA_PERCENT: &str = "ExtraNHIA nodes, % of all entries in use";

impl<N: Nhi> Table<N> {
    pub(super) fn figures(&self) -> Vec<Figure> {
        let used = self.root.iter().filter(|&&entry| entry != Entry15_6::new_zeroed());
        let root_extra = used.clone().filter(|entry| entry.extra().is_some()).count();
        let mut figures = vec![
            Figure::count("bits of a next-hop index", size_of::<N>() * 8),
            Figure::count("TrieC15/6 entries in use", used.clone().count()),
            Figure::count("TrieC15/6 entries with ExtraNHIA", root_extra),
        ];
        let (mut entries, mut in_extra) = (used.count(), root_extra);
        for (depth, level) in (1..=LAST).zip(&self.levels) {
            let extra = level.entries.iter().filter(|entry| entry.extra().is_some()).count();
            figures.push(Figure::count(format!("TrieC4/4 nodes, level {}", depth + 1), level.owners.len()));
            figures
                .push(Figure::count(format!("TrieC4/4 entries with ExtraNHIA, level {}", depth + 1), extra));
            entries += level.entries.len();
            in_extra += extra;
        }
        let (hashed, buckets) = (self.hash16.len(), self.hash16.buckets());
        figures.extend([
            Figure::count("ExtraNHIA nodes", in_extra),
            Figure::new(EXTRA_NHIA_PERCENT, percent(in_extra, entries)),
            Figure::count("ExtraNHIA indices", self.extra.used()),
            Figure::count("Hash16 entries", hashed),
            Figure::count("Hash16 entries with ExtraNHIA", self.hash16.in_extra()),
            Figure::count("Hash16 buckets", buckets),
            Figure::new("Hash16 load, %", percent(hashed, buckets)),
            Figure::count("Hash16 buckets read by the longest search", self.hash16.longest_search()),
        ]);
        figures
    }
}

fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}
