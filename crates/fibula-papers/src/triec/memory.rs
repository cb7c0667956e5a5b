//! Table 1, Figures 7 and 8: the tables, their memory and the accesses of lookups.

use super::tables::{GROUPS, LARGEST, THOUSANDS, table};
use crate::{Error, Finding, Lab, Named, Plot, Point};
use fibula::engine::Config;
use fibula::{Fib, Rib};
use fibula_io::generate::TriecGroup;
use fibula_io::trace::TraceKind;
use fibula_lab::study::{AccessCount, count_accesses};

/// The bands of Table 1.
const BANDS: [(u8, u8); 5] = [(1, 24), (25, 32), (33, 40), (41, 48), (49, 64)];

/// Table 1 as printed, in percent: groups A, B and C.
const TABLE_1: [[f64; 5]; 3] =
    [[4.22, 69.41, 5.52, 14.61, 6.24], [0.06, 7.40, 15.54, 71.32, 5.68], [2.14, 38.41, 10.52, 42.97, 5.96]];

/// What the paper's text says of Figure 7: megabytes of B-400K, and of a multibit trie of 8-bit
/// strides that is not compressed.
const MB_OF_B: f64 = 35.0;
const MB_OF_MULTIBIT: f64 = 820.0;

/// What the paper's text says of Figure 8: accesses of group B, the most accesses to the trie and
/// hashes of any lookup (section 5.2), and the share of entries with an ExtraNHIA.
const ACCESSES_OF_B: f64 = 4.0;
const MOST_ACCESSES: f64 = 8.0;
const MOST_HASHES: f64 = 1.0;
const EXTRA_NHIA_PERCENT: f64 = 3.6;

/// A multibit trie of the paper's comparison: entries of 4 bytes, 256 in a node, to /64.
const ENTRY_BYTES: usize = 4;
const STRIDE: u8 = 8;
const LAST: u8 = 64;

pub(super) fn table_1(lab: &Lab) -> Result<Finding, Error> {
    let mut points = Vec::new();
    for (group, paper) in GROUPS.into_iter().zip(TABLE_1) {
        let table = table(lab, group, LARGEST)?;
        for ((first, last), paper) in BANDS.into_iter().zip(paper) {
            let inside =
                table.rib.iter().filter(|route| (first..=last).contains(&route.prefix.len())).count();
            let share = 100.0 * inside as f64 / table.rib.len().max(1) as f64;
            points.push(
                Point::new(format!("group {group}"), format!("/{first} to /{last}"), "% of prefixes", share)
                    .beside(paper),
            );
        }
    }
    Ok(Finding::new("lengths", Plot::Bars, points)
        .note("Tables are made by the paper's mix. Inside a band, lengths and values are as in a table of 2026: the paper says only that values are random."))
}

/// TrieC on one table.
struct Counted {
    mb: f64,
    /// The bits of a next-hop index in an entry that may point to a node.
    nhi_bits: f64,
    extra_nhia_percent: f64,
    /// Over the addresses.
    mean: AccessCount,
    /// The most of these and of the first and last address of every route, in 2000::/3: what the
    /// engine keeps elsewhere is in a tree that the paper does not have.
    most: AccessCount,
}

impl Counted {
    fn of(lab: &Lab, rib: &Rib<u128>, addresses: &[u128]) -> Result<Self, Error> {
        let fib = Fib::build_from(lab.engines, "triec", rib, Config::default())?;
        let ends = rib.iter().flat_map(|route| [route.prefix.first(), route.prefix.last()]);
        let all = ends.chain(addresses.iter().copied());
        let inside: Vec<u128> = all.filter(|&address| address >> 125 == 0b001).collect();
        let figures = fib.figures();
        let figure = |name: &str| {
            let found = figures.iter().find(|figure| figure.name == name).map(|figure| figure.value);
            found.ok_or_else(|| Error::none(format!("triec has no figure {name:?}")))
        };
        Ok(Self {
            mb: fib.memory().total() as f64 / 1e6,
            nhi_bits: figure("bits of a next-hop index")?,
            extra_nhia_percent: figure("ExtraNHIA nodes, % of all entries in use")?,
            mean: count_accesses(&fib, addresses),
            most: count_accesses(&fib, &inside),
        })
    }
}

/// Studies the nine tables: what is counted, and the bytes of a multibit trie.
fn rows(lab: &Lab) -> Result<Vec<(TriecGroup, usize, Counted, usize)>, Error> {
    let mut rows = Vec::new();
    for group in GROUPS {
        for thousands in THOUSANDS {
            let Named { rib, .. } = table(lab, group, thousands)?;
            let addresses = lab.trace(&TraceKind::Prefix, &rib)?;
            rows.push((group, thousands, Counted::of(lab, &rib, &addresses)?, multibit_bytes(&rib)));
        }
    }
    Ok(rows)
}

/// Returns the bytes of a multibit trie with 8-bit strides that holds the routes to /64.
fn multibit_bytes(rib: &Rib<u128>) -> usize {
    let node_bytes = ENTRY_BYTES << STRIDE;
    let mut nodes = 1; // the root
    for level in (STRIDE..LAST).step_by(STRIDE.into()) {
        let longer = rib.iter().filter(|route| (level + 1..=LAST).contains(&route.prefix.len()));
        let mut at: Vec<u128> = longer.map(|route| route.prefix.first() >> (128 - level)).collect();
        at.dedup(); // routes are in the order of their addresses
        nodes += at.len();
    }
    nodes * node_bytes
}

pub(super) fn figure_7(lab: &Lab) -> Result<Finding, Error> {
    let mut points = Vec::new();
    let rows = rows(lab)?;
    for (group, thousands, row, multibit) in &rows {
        let is_named = (*group, *thousands) == (TriecGroup::B, LARGEST);
        let at = format!("{thousands}K");
        points.push(
            Point::new(format!("group {group}"), &at, "MB", row.mb).beside_any(is_named.then_some(MB_OF_B)),
        );
        if is_named {
            let mb = *multibit as f64 / 1e6;
            points.push(Point::new("group B, multibit trie", &at, "MB", mb).beside(MB_OF_MULTIBIT));
        }
    }
    let bits = rows.iter().map(|(_, _, row, _)| row.nhi_bits).fold(0.0, f64::max);
    Ok(Finding::new("prefixes", Plot::Bars, points)
        .note("The paper's text has numbers for B-400K only. The multibit trie has strides of 8 bits and entries of 4 bytes, and is computed for the made table, whose prefixes share nodes; the paper's estimate would be some 800,000 nodes, two for each prefix.")
        .note(format!(
            "An entry that may point to a node has up to {bits} bits here. The paper's has 16, so that its pointers reach 2^15 nodes of a level."
        )))
}

pub(super) fn figure_8(lab: &Lab) -> Result<Finding, Error> {
    let mut points = Vec::new();
    for (group, thousands, row, _) in rows(lab)? {
        let series = format!("group {group}");
        let at = format!("{thousands}K");
        let of_b = |paper| (group == TriecGroup::B).then_some(paper);
        points.push(Point::new(&series, &at, "accesses", row.mean.loads).beside_any(of_b(ACCESSES_OF_B)));
        let most = Point::new(&series, &at, "accesses at most", row.most.loads_before_hash_most.into());
        points.push(most.beside(MOST_ACCESSES));
        let hashes = Point::new(&series, &at, "hashes at most", row.most.hashes_most.into());
        points.push(hashes.beside(MOST_HASHES));
        points
            .push(Point::new(&series, &at, "% ExtraNHIA", row.extra_nhia_percent).beside(EXTRA_NHIA_PERCENT));
    }
    Ok(Finding::new("prefixes", Plot::Bars, points)
        .note("Accesses are counted in the scalar lookup, of addresses drawn from the prefixes: the mean, and the most of any, before the hash of Hash16.")
        .note("The paper's four accesses for group B are those of the levels alone. Here most lookups also read an ExtraNHIA: few entries have one, but they are those in which prefixes are side by side, which addresses drawn from the prefixes meet most.")
        .note("The share of ExtraNHIA depends on how next hops are spread over a node's 64 addresses; the paper does not say how it drew them."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use fibula::NextHop;
    use fibula_engines::all;

    #[test]
    fn a_multibit_trie_has_a_node_for_each_longer_stride() {
        let mut rib: Rib<u128> = Rib::new();
        assert_eq!(multibit_bytes(&rib), 1024);
        rib.insert("2001:db8::/32".parse().unwrap(), NextHop(1));
        rib.insert("2001:db9::/32".parse().unwrap(), NextHop(1));
        // The root, and one node at each of /8, /16 and /24.
        assert_eq!(multibit_bytes(&rib), 4 * 1024);
    }

    #[test]
    fn the_access_bound_of_section_5_2_holds_on_every_table() {
        let options = Options { addresses: 1 << 10, smaller: 100, ..Options::default() };
        let lab = Lab { engines: all(), ipv4: Vec::new(), ipv6: Vec::new(), options };
        let finding = figure_8(&lab).unwrap();
        let bounded = finding.points.iter().filter(|point| point.unit.ends_with("at most"));
        assert_eq!(bounded.clone().count(), 18);
        assert!(bounded.clone().all(|point| point.ratio().is_some_and(|ratio| ratio <= 1.0)), "{finding:?}");
    }

    #[test]
    fn the_groups_have_the_shares_of_table_1() {
        let options = Options { smaller: 20, ..Options::default() };
        let lab = Lab { engines: all(), ipv4: Vec::new(), ipv6: Vec::new(), options };
        for point in table_1(&lab).unwrap().points {
            let off = point.ours.unwrap() - point.paper.unwrap();
            assert!(off.abs() < 0.02, "{point:?}");
        }
    }
}
