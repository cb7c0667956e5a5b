//! The numbers that the paper prints of a table (section 5.2), and those beside them.

use super::entry::{Atlas, Entry15_6};
use super::nhi::Nhi;
use super::table::{LAST, NODE_ENTRIES, Table};
use fibula::engine::Figure;
use zerocopy::FromZeros;

/// The figure for the share of entries whose next-hop indices are in an ExtraNHIA. The paper's is
/// 3.6 %.
pub const EXTRA_NHIA_PERCENT: &str = "ExtraNHIA nodes, % of all entries in use";

/// The figure for the width of a next-hop index that may point to a node. The paper's has 16 bits.
pub const NHI_BITS: &str = "bits of a next-hop index";

/// The figure for the width of one that only answers: on the 4th level and in Hash16.
pub const LAST_NHI_BITS: &str = "bits of a next-hop index, 4th level and Hash16";

impl<N: Nhi, L: Nhi, M: Atlas, const HELD: usize> Table<N, L, M, HELD> {
    pub(super) fn figures(&self) -> Vec<Figure> {
        let mut used = self.root.to_vec();
        used.retain(|&entry| entry != Entry15_6::new_zeroed());
        let root_extra = used.iter().filter(|entry| entry.extra().is_some()).count();
        let mut figures = vec![
            Figure::count(NHI_BITS, size_of::<N>() * 8),
            Figure::count(LAST_NHI_BITS, size_of::<L>() * 8),
            Figure::count("TrieC15/6 entries in use", used.len()),
            Figure::count("TrieC15/6 entries with ExtraNHIA", root_extra),
        ];
        let (mut entries, mut in_extra) = (used.len(), root_extra);
        for depth in 1..=LAST {
            let (owners, entries_of) = (&self.owners[depth - 1], |node: u32| {
                (0..NODE_ENTRIES).map(move |entry| (node as usize, entry))
            });
            let (nodes, all) = (owners.len(), owners.iter().flat_map(|(node, _)| entries_of(node)));
            let extra = all.filter(|&(node, entry)| self.entry_extra(depth, node, entry).is_some()).count();
            figures.push(Figure::count(format!("TrieC4/4 nodes, level {}", depth + 1), nodes));
            figures
                .push(Figure::count(format!("TrieC4/4 entries with ExtraNHIA, level {}", depth + 1), extra));
            entries += nodes * NODE_ENTRIES;
            in_extra += extra;
        }
        let (hashed, buckets) = (self.hash16.len(), self.hash16.buckets());
        figures.extend([
            Figure::count("ExtraNHIA nodes", in_extra),
            Figure::new(EXTRA_NHIA_PERCENT, percent(in_extra, entries)),
            Figure::count("ExtraNHIA indices", self.extra.used() + self.last_extra.used()),
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
