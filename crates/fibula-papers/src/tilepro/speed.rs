//! Section III-B, Table III, Figures 4 and 9: pages, traces, and the time of a lookup on one core.

use super::{DIR, TREES, models};
use crate::lab::{ns, reads};
use crate::{Error, Finding, Lab, Plot, Point};
use fibula::Fib;
use fibula::engine::Config;
use fibula::engine::Pages;
use fibula_io::trace::{self, TraceKind};
use fibula_lab::bench::Contender;
use fibula_lab::machine::Machine;
use std::collections::HashSet;

/// Table III as printed: a trace of a million addresses, and how many of them are different.
const TABLE_3: [(&str, f64); 5] = [
    ("Random Match", 353_398.0),
    ("Realistic Random Match A", 24_424.0),
    ("Realistic and Filtered A", 17_020.0),
    ("Realistic Random Match B", 81_811.0),
    ("Realistic and Filtered B", 41_654.0),
];

/// The paths of Random Match in percent of the paper's prefixes, some 358,000.
const PATHS_PERCENT: f64 = 100.0 * 353_398.0 / 358_000.0;

/// The addresses of the paper's traces.
const MILLION: usize = 1_000_000;

/// What the paper's text says of Figure 4: megabytes of DIR-24-8 and both forms of Tree Bitmap, the
/// fastest lookup in nanoseconds, and how many times as fast DIR-24-8 is.
const MEGABYTES: [f64; 3] = [69.1, 2.9, 4.0];
const PREFIXES: f64 = 358_000.0;
const FASTEST_NS: f64 = 168.0;
const TIMES_FASTER: f64 = 3.0;

/// What is left of the time of a lookup with large pages: the paper saves almost 20 %.
const WITH_LARGE_PAGES: f64 = 0.8;

/// Strides between those of the paper's two forms, as its `bitmap_k` allows.
const BETWEEN: [(&str, &str); 2] =
    [("TBP 12-5-5-5-5", "tree-bitmap/strides=12-5-5-5-5"), ("TBP 14-6-6-6", "tree-bitmap/strides=14-6-6-6")];

/// The traces of the figures: the paper's name of each, and how it is drawn.
fn traces(lab: &Lab) -> [(&'static str, TraceKind); 2] {
    [("Random Match", TraceKind::Match), ("Realistic Random Match", lab.realistic())]
}

/// Why the traces of real traffic are others.
const OTHER_TRAFFIC: &str =
    "the paper's captures of CAIDA are not here; the locality is that of `--traffic`, or of Zipf's law";

pub(super) fn table_3(lab: &Lab) -> Result<Finding, Error> {
    let table = lab.table()?;
    let mut points = Vec::new();
    let million = MILLION / lab.options.smaller;
    let unique = |addresses: &[u32]| addresses.iter().collect::<HashSet<_>>().len() as f64;
    for (name, kind) in traces(lab) {
        let addresses = trace::generate(&kind, &table.rib, million, 1)?;
        let unique = unique(&addresses);
        let paper = TABLE_3.iter().find(|(known, _)| *known == name).map(|&(_, unique)| unique);
        points.push(Point::new(name, "1M addresses", "unique addresses", unique).beside_any(paper));
    }
    if let Some(traffic) = lab.options.traffic.clone() {
        let own = trace::generate(&TraceKind::File(traffic), &table.rib, million, 1)?;
        let matched = |address: &u32| table.rib.longest_match(*address).map(|route| route.prefix);
        let filtered: Vec<u32> = own.into_iter().filter(|address| matched(address).is_some()).collect();
        let prefixes = filtered.iter().filter_map(matched).collect::<HashSet<_>>().len() as f64;
        let (name, share) = ("Realistic and Filtered", 100.0 * prefixes / table.rib.len().max(1) as f64);
        points.push(Point::new(name, "1M addresses", "unique addresses", unique(&filtered)));
        points.push(Point::new(name, "prefixes that match", "% of the prefixes", share));
    }
    let random = trace::generate(&TraceKind::Random, &table.rib, million, 1)?;
    let matches = random.iter().filter(|&&address| table.rib.longest_match(address).is_some()).count();
    let share = 100.0 * matches as f64 / million as f64;
    points.push(Point::new("random addresses", "that match", "% of addresses", share));
    // The paper has a path for each prefix but those that longer ones hide, and draws it once.
    let paths = table.rib.leaves().map(|leaf| leaf.route.prefix).collect::<HashSet<_>>().len();
    let share = 100.0 * paths as f64 / table.rib.len().max(1) as f64;
    let unit = "unique addresses, % of the prefixes";
    points.push(Point::new("paths of the table", "1M addresses", unit, share).beside(PATHS_PERCENT));
    points.extend(
        TABLE_3[1..]
            .iter()
            .map(|&(name, unique)| Point::of_paper(name, "1M addresses", "unique addresses", unique)),
    );
    Ok(Finding::new("trace", Plot::None, points)
        .on(table)
        .in_part(OTHER_TRAFFIC)
        .note("Random Match draws one of as many paths as the table has prefixes and fills in the host bits at random, so nearly all of a million addresses differ where paths are shorter than /32. The paper's 353,398 are its paths: it drew the host bits of each once."))
}

/// Measures engines on both traces with large pages, as the paper has them: their names, and the
/// time of a lookup in nanoseconds.
fn times(lab: &Lab, engines: &[(&str, &str)]) -> Result<Vec<Point>, Error> {
    let table = lab.table()?;
    let huge = |&(_, engine): &(&str, &str)| Contender { pages: Pages::Huge, ..Contender::new(engine) };
    let contenders: Vec<Contender> = engines.iter().map(huge).collect();
    let mut points = Vec::new();
    for (trace, kind) in traces(lab) {
        let addresses = lab.trace(&kind, &table.rib)?;
        let rows = lab.race(table, &addresses, &contenders, vec![1])?;
        for (&(name, engine), row) in engines.iter().zip(&rows) {
            points.push(Point::new(name, trace, "ns, batches", ns(row)));
            points.push(Point::new(
                name,
                trace,
                "ns, one after the other",
                row.ns_dependent.unwrap_or_default(),
            ));
            let fib = Fib::build_from(lab.engines, engine, &table.rib, Config::default())?;
            let loads = reads(&fib, addresses.iter().copied()).mean;
            let each = row.ns_dependent.unwrap_or_default() / loads.max(1e-9);
            points.push(Point::new(name, trace, "ns a load", each));
            let prefixes = table.rib.len().max(1) as f64;
            points.push(Point::new(name, trace, "MB", row.bytes as f64 / 1e6));
            points.push(Point::new(name, trace, "bytes a prefix", row.bytes as f64 / prefixes));
        }
    }
    Ok(points)
}

/// Returns the mean of a series in a unit.
fn mean(points: &[Point], series: &str, unit: &str) -> f64 {
    let of = points.iter().filter(|point| point.series == series && point.unit == unit);
    let values: Vec<f64> = of.filter_map(Point::value).collect();
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

pub(super) fn section_3_b(lab: &Lab) -> Result<Finding, Error> {
    let table = lab.table()?;
    let engines = [DIR, TREES[0], TREES[1]];
    let pages = [("4 KiB pages", Pages::Small), ("huge pages", Pages::Huge)];
    let contender = |engine, pages| Contender { pages, ..Contender::new(engine) };
    let contenders: Vec<Contender> =
        engines.iter().flat_map(|&(_, engine)| pages.map(|(_, pages)| contender(engine, pages))).collect();
    let mut points = Vec::new();
    for (trace, kind) in traces(lab) {
        let addresses = lab.trace(&kind, &table.rib)?;
        let rows = lab.race(table, &addresses, &contenders, vec![1])?;
        for ((name, _), rows) in engines.iter().zip(rows.chunks(pages.len())) {
            let times: Vec<f64> = rows.iter().map(|row| row.ns_dependent.unwrap_or_default()).collect();
            for ((which, _), &time) in pages.iter().zip(&times) {
                let series = format!("{name}, {which}");
                points.push(Point::new(series, trace, "ns, one after the other", time));
            }
            let [small, huge] = times[..] else { continue };
            let series = format!("{name}, huge / 4 KiB");
            points.push(
                Point::new(series, trace, "times the time", huge / small.max(1e-9)).beside(WITH_LARGE_PAGES),
            );
        }
    }
    let finding = Finding::new("trace", Plot::None, points)
        .on(table)
        .note("The paper's pages have 16 MB and its ordinary ones 4 KB. Here `madvise` asks for pages of 2 MiB for each array of at least that size.")
        .note("The few megabytes of a Tree Bitmap are within what the TLB of a processor of today translates, so large pages save less there than in the paper; DIR-24-8 is larger.");
    Ok(match Machine::here().transparent_huge_pages.as_str() {
        "madvise" => finding,
        "always" => finding.in_part("this system gives huge pages to all memory, asked for or not"),
        _ => finding.in_part("this system gives no huge pages"),
    })
}

pub(super) fn figure_4(lab: &Lab) -> Result<Finding, Error> {
    let engines = [DIR, TREES[0], TREES[1], BETWEEN[0], BETWEEN[1]];
    let mut points = times(lab, &engines)?;
    for ((name, _), paper) in engines.iter().zip(MEGABYTES) {
        for point in points.iter_mut().filter(|point| point.series == *name) {
            point.paper = match point.unit {
                "MB" => Some(paper),
                "bytes a prefix" => Some(1e6 * paper / PREFIXES),
                _ => None,
            };
        }
    }
    for (tree, _) in TREES {
        let series = format!("{tree} / DIR-24-8");
        let mut sum = 0.0;
        for (trace, _) in traces(lab) {
            let time = |name: &str| {
                let is_it = |point: &&Point| {
                    (point.series.as_str(), point.at.as_str()) == (name, trace)
                        && point.unit == "ns, one after the other"
                };
                points.iter().find(is_it).and_then(Point::value).unwrap_or_default()
            };
            let times = time(tree) / time(DIR.0).max(1e-9);
            sum += times;
            points.push(Point::new(&series, trace, "times", times).beside(TIMES_FASTER));
        }
        points.push(Point::new(&series, "mean", "times", sum / 2.0).beside(TIMES_FASTER));
    }
    points.extend(models::figure_4(lab, FASTEST_NS, TIMES_FASTER)?);
    points.push(Point::of_paper(DIR.0, "fastest", "ns, one after the other", FASTEST_NS));
    Ok(Finding::new("trace", Plot::Bars, points)
        .on(lab.table()?)
        .in_part(OTHER_TRAFFIC)
        .note(models::MODEL)
        .note("Arrays ask for huge pages, as the paper's do for large ones; a load's time is that of a lookup after another, divided by the elements that it reads.")
        .note("The paper's table has some 350,000 prefixes. Its cores wait for each load, as lookups do here of which each depends on the one before."))
}

pub(super) fn figure_9(lab: &Lab) -> Result<Finding, Error> {
    let mut points = times(lab, &[DIR, ("hybrid", "hybrid")])?;
    let of = |name| mean(&points, name, "ns, one after the other");
    let ratio = of("hybrid") / of(DIR.0).max(1e-9);
    points.push(Point::new("hybrid / DIR-24-8", "mean", "times the time", ratio).beside(1.0));
    Ok(Finding::new("trace", Plot::Bars, points)
        .on(lab.table()?)
        .in_part(OTHER_TRAFFIC)
        .note("The paper's text: a performance similar to that of DIR-24-8."))
}
