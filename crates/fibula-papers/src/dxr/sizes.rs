//! Table 1 and Figure 2: what the tables are, and what they become.

use super::{NEXT_HOPS, SCHEMES, Scheme};
use crate::lab::{median, narrow};
use crate::{Error, Facts, Finding, Lab, Plot, Point};
use fibula::Fib;
use fibula::engine::Config;
use std::time::Instant;

/// The bytes of a next hop in the next-hop table, which the paper's totals have one more of than
/// the table has next hops.
const NEXT_HOP_BYTES: usize = 24;

/// A row of Table 1: a snapshot, its prefixes and next hops, and for D16R and D18R the total bytes,
/// full chunks, short ranges, long ranges and build time in milliseconds.
type Snapshot = (&'static str, usize, usize, [Sizes; 2]);

/// The columns of one scheme.
#[derive(Clone, Copy)]
struct Sizes {
    bytes: usize,
    full_chunks: usize,
    short: usize,
    long: usize,
    build_ms: f64,
}

const fn sizes(bytes: usize, full_chunks: usize, short: usize, long: usize, build_ms: f64) -> Sizes {
    Sizes { bytes, full_chunks, short, long, build_ms }
}

/// Table 1 as printed.
const TABLE_1: [Snapshot; 4] = [
    ("static", 4, 2, [sizes(262_248, 2, 0, 8, 0.01), sizes(1_048_676, 2, 0, 7, 0.03)]),
    (
        "LINX",
        417_523,
        213,
        [sizes(800_672, 12_935, 200_436, 33_130, 96.81), sizes(1_548_700, 25_494, 211_724, 17_885, 220.52)],
    ),
    (
        "U. Oregon",
        421_059,
        38,
        [sizes(827_204, 13_627, 220_042, 31_010, 98.91), sizes(1_574_872, 27_251, 233_618, 14_531, 230.99)],
    ),
    (
        "PAIX",
        412_568,
        80,
        [sizes(765_752, 13_082, 215_432, 17_700, 96.28), sizes(1_522_992, 24_801, 217_078, 9_579, 221.73)],
    ),
];

/// The snapshot of the paper's measurements.
const LINX: usize = 1;

/// Returns the paper's total: the direct table, both range tables and the next-hop table.
fn total_bytes(k: u8, short: usize, long: usize, next_hops: usize) -> usize {
    (4 << k) + 2 * short + 4 * long + NEXT_HOP_BYTES * (next_hops + 1)
}

pub(super) fn table_1(lab: &Lab) -> Result<Finding, Error> {
    let mut points = Vec::new();
    for (name, _, next_hops, schemes) in TABLE_1 {
        for (scheme, sizes) in SCHEMES.into_iter().zip(schemes) {
            let computed = total_bytes(scheme.direct_bits, sizes.short, sizes.long, next_hops) as f64;
            let series = format!("{name}, the paper's ranges");
            let point = Point::computed(series, format!("{} total", scheme.name), "bytes", computed);
            points.push(point.beside(sizes.bytes as f64));
        }
    }
    let (_, paper_prefixes, _, paper) = TABLE_1[LINX];
    let mut layouts = Vec::new();
    for table in lab.ipv4.iter().map(|table| narrow(table, NEXT_HOPS)) {
        let facts = Facts::of(&table);
        let prefixes = table.rib.len();
        let next_hops = table.rib.max_next_hop().0 as usize;
        for (one, paper) in SCHEMES.into_iter().zip(paper) {
            let Scheme { name: scheme, engine, direct_bits } = one;
            let figures = one.statistics(&table.rib, "tables", "two")?;
            let with_next_hops = |bytes: usize| (bytes + NEXT_HOP_BYTES * (next_hops + 1)) as f64;
            let bytes = with_next_hops(figures.bytes);
            let one_table = with_next_hops(one.statistics(&table.rib, "tables", "one")?.bytes);
            let mut builds = Vec::new();
            for _ in 0..lab.options.passes {
                let start = Instant::now();
                let fib = Fib::build_from(lab.engines, engine, &table.rib, Config::default())?;
                builds.push(start.elapsed().as_secs_f64() * 1e3);
                drop(fib);
            }
            let chunks = f64::from(1 << direct_bits);
            let mut add = |column: &str, unit, ours: f64, paper: f64| {
                let point = Point::new(&table.name, format!("{scheme} {column}"), unit, ours);
                points.push(point.beside_any(Some(paper).filter(|paper| paper.is_finite())).on(&facts));
            };
            let share = |part: usize, other: usize| 100.0 * part as f64 / (part + other).max(1) as f64;
            let each = |value: f64, prefixes: usize| value / prefixes.max(1) as f64;
            let alone = f64::NAN; // the paper's tables are smaller, or it prints none
            add("total", "bytes", bytes, alone);
            add("total, one range table", "bytes", one_table, alone);
            add("ranges", "ranges", (figures.short_ranges + figures.long_ranges) as f64, alone);
            add("largest chunk", "ranges", figures.largest_chunk as f64, alone);
            add("build time", "ms", median(&mut builds), alone);
            add("total", "bytes a prefix", each(bytes, prefixes), each(paper.bytes as f64, paper_prefixes));
            add(
                "total, one range table",
                "bytes a prefix",
                each(one_table, prefixes),
                each(paper.bytes as f64, paper_prefixes),
            );
            add(
                "full chunks",
                "% of all",
                100.0 * figures.full_chunks as f64 / chunks,
                100.0 * paper.full_chunks as f64 / chunks,
            );
            let (ranges, paper_ranges) =
                (figures.short_ranges + figures.long_ranges, paper.short + paper.long);
            add(
                "ranges",
                "ranges a prefix",
                each(ranges as f64, prefixes),
                each(paper_ranges as f64, paper_prefixes),
            );
            add(
                "long ranges",
                "% of all",
                share(figures.long_ranges, figures.short_ranges),
                share(paper.long, paper.short),
            );
            add(
                "build time",
                "ns a prefix",
                each(median(&mut builds) * 1e6, prefixes),
                each(paper.build_ms * 1e6, paper_prefixes),
            );
            layouts.push(format!(
                "{} {scheme}: {} in granules of {}",
                table.name, figures.layout, figures.granule
            ));
        }
    }
    Ok(Finding::new("column", Plot::None, points)
        .note(
            "The first rows apply the total's formula to the ranges that the paper prints: 4 bytes for each of 2^k direct \
             entries, 2 for a short range, 4 for a long one, 24 for each next hop and one more.",
        )
        .note("The other rows set a table of this run beside the paper's LINX snapshot of April 2012, each for a prefix of its own.")
        .note("Building takes a small part of the paper's time, more than the clock explains: the paper searches its radix tree for each chunk, and here one walk over the routes in order of address gives all ranges.")
        .note(format!("Next hops above the paper's {NEXT_HOPS} are folded by the remainder. With more, ranges that the paper stores as short would be long."))
        .note("With one range table each chunk begins a word of four bytes, so an odd number of short ranges leaves half a word.")
        .note(format!("Layouts: {}.", layouts.join("; "))))
}

pub(super) fn figure_2(lab: &Lab) -> Result<Finding, Error> {
    let mut points = Vec::new();
    lab.table()?;
    for table in &lab.ipv4 {
        let (lengths, facts) = (table.rib.statistics(), Facts::of(table));
        let point = |(len, count): (u8, usize)| {
            Point::new(&table.name, format!("/{len}"), "prefixes", count as f64).on(&facts)
        };
        points.extend(lengths.lengths().map(point));
    }
    Ok(Finding::new("prefix length", Plot::Bars, points)
        .note("The paper prints the figure without numbers. Its text: an unusually high number of prefixes longer than /24."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_1_total_bytes_follow_from_its_ranges() {
        for (name, _, next_hops, schemes) in TABLE_1 {
            for (scheme, sizes) in SCHEMES.into_iter().zip(schemes) {
                let total = total_bytes(scheme.direct_bits, sizes.short, sizes.long, next_hops);
                assert_eq!(total, sizes.bytes, "{name}, {}", scheme.name);
            }
        }
    }
}
