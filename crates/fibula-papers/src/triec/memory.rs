//! Table 1, Figures 7 and 8: the tables, their memory and the accesses of lookups.

use super::strides;
use super::tables::{GROUPS, LARGEST, THOUSANDS, table};
use crate::{Error, Facts, Finding, Lab, Plot, Point};
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
            let point =
                Point::new(format!("group {group}"), format!("/{first} to /{last}"), "% of prefixes", share);
            points.push(point.beside(paper).on(&Facts::of(&table)));
        }
    }
    for table in &lab.ipv6 {
        let long = table.rib.iter().filter(|route| route.prefix.len() >= 48).count();
        let share = 100.0 * long as f64 / table.rib.len().max(1) as f64;
        let point = Point::new(&table.name, "/48 and longer", "% of prefixes", share).beside(5.0);
        points.push(point.on(&Facts::of(table)));
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

/// One of the nine tables: what is counted, the bytes of a multibit trie, and TrieC's with the
/// paper's entries.
struct Studied {
    group: TriecGroup,
    thousands: usize,
    counted: Counted,
    multibit: usize,
    papers_bytes: usize,
    /// The mean accesses if no entry had an ExtraNHIA.
    levels_alone: f64,
    facts: Facts,
}

/// Returns the points of tables that were given: memory, or accesses.
fn given(lab: &Lab, points_of: impl Fn(&str, &Counted) -> Vec<Point>) -> Result<Vec<Point>, Error> {
    let mut points = Vec::new();
    for table in &lab.ipv6 {
        let addresses = lab.trace(&TraceKind::Prefix, &table.rib)?;
        let counted = Counted::of(lab, &table.rib, &addresses)?;
        let facts = Facts::of(table);
        points.extend(points_of(&table.name, &counted).into_iter().map(|point| point.on(&facts)));
    }
    Ok(points)
}

/// Studies the nine tables.
fn rows(lab: &Lab) -> Result<Vec<Studied>, Error> {
    let mut rows = Vec::new();
    for group in GROUPS {
        for thousands in THOUSANDS {
            let table = table(lab, group, thousands)?;
            let addresses = lab.trace(&TraceKind::Prefix, &table.rib)?;
            let (papers_bytes, levels) = strides::of_the_paper(&table.rib, &addresses);
            let levels_alone = levels.iter().sum::<usize>() as f64 / levels.len().max(1) as f64;
            rows.push(Studied {
                group,
                thousands,
                counted: Counted::of(lab, &table.rib, &addresses)?,
                multibit: multibit_bytes(&table.rib),
                papers_bytes,
                levels_alone,
                facts: Facts::of(&table),
            });
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
    for Studied { group, thousands, counted, multibit, papers_bytes, facts, .. } in &rows {
        let is_named = (*group, *thousands) == (TriecGroup::B, LARGEST);
        let at = format!("{thousands}K");
        let of_b = is_named.then_some(MB_OF_B);
        let papers = Point::computed(
            format!("group {group}, the paper's entries"),
            &at,
            "MB",
            *papers_bytes as f64 / 1e6,
        );
        let own = Point::new(format!("group {group}"), &at, "MB", counted.mb);
        points.extend([own, papers].map(|point| point.beside_any(of_b).on(facts)));
        if is_named {
            let mb = *multibit as f64 / 1e6;
            points.push(Point::computed("group B, multibit trie", &at, "MB", mb).on(facts));
        }
    }
    points.extend(given(lab, |name, counted| vec![Point::new(name, "given", "MB", counted.mb)])?);
    let formula = f64::from(1 << STRIDE) * 1e3 * LARGEST as f64 * f64::from(LAST) / f64::from(STRIDE) / 1e6;
    let formula = Point::computed("multibit trie, the paper's formula", format!("{LARGEST}K"), "MB", formula);
    points.push(formula.beside(MB_OF_MULTIBIT));
    let direct = f64::from(1 << 24) * 2.0 / 1e6;
    points.push(Point::computed("24-8-DIR, 16-bit entries", "2^24", "MB", direct).beside(32.0));
    let bits = rows.iter().map(|row| row.counted.nhi_bits).fold(0.0, f64::max);
    Ok(Finding::new("prefixes", Plot::Bars, points)
        .note("The paper's text has numbers for B-400K only. Its 820 MB are its own formula of section 2, 2^k N W / k, for strides of 8 bits, 400,000 prefixes and 64 bits, in bytes: the worst case, in which prefixes share no node. The multibit trie beside is that of the made table, in which they do, with entries of 4 bytes.")
        .note("The paper's entries are those of its Figure 3, 16 and 8 bytes with indices of 16 bits, computed from the prefixes.")
        .note(format!(
            "An entry that may point to a node has up to {bits} bits here. The paper's has 16, so that its pointers reach 2^15 nodes of a level."
        )))
}

pub(super) fn figure_8(lab: &Lab) -> Result<Finding, Error> {
    let mut points = Vec::new();
    for Studied { group, thousands, counted: row, levels_alone, facts, .. } in rows(lab)? {
        let series = format!("group {group}");
        let at = format!("{thousands}K");
        let of_b = |paper| (group == TriecGroup::B).then_some(paper);
        let mean = Point::new(&series, &at, "accesses", row.mean.loads).beside_any(of_b(ACCESSES_OF_B));
        let alone = Point::computed(format!("{series}, levels alone"), &at, "accesses", levels_alone);
        points.extend([mean, alone].map(|point| point.on(&facts)));
        let most = Point::new(&series, &at, "accesses at most", f64::from(row.most.loads_before_hash_most));
        points.push(most.beside(MOST_ACCESSES).on(&facts));
        let hashes = Point::new(&series, &at, "hashes at most", f64::from(row.most.hashes_most));
        points.push(hashes.beside(MOST_HASHES).on(&facts));
        let extra = Point::new(&series, &at, "% ExtraNHIA", row.extra_nhia_percent);
        points.push(extra.beside(EXTRA_NHIA_PERCENT).on(&facts));
    }
    points.extend(given(lab, |name, counted| {
        vec![
            Point::new(name, "given", "accesses", counted.mean.loads),
            Point::new(name, "given", "accesses at most", f64::from(counted.most.loads_before_hash_most)),
            Point::new(name, "given", "% ExtraNHIA", counted.extra_nhia_percent),
        ]
    })?);
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
            let off = point.value().unwrap() - point.paper.unwrap();
            assert!(off.abs() < 0.02, "{point:?}");
        }
    }
}
