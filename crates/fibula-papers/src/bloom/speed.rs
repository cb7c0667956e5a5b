//! Sections 6.2 to 6.6: speed by hashes, threads, addresses, sizes and levels.

use crate::lab::{mlps, mlps_of, ns};
use crate::machine::shared::Processor;
use crate::{Error, Facts, Finding, Lab, Named, Plot, Point, Span};
use fibula::Fib;
use fibula::engine::Config;
use fibula_engines::parallel::{Model, Order};
use fibula_io::trace::TraceKind;
use fibula_lab::study::count_accesses;

/// The hash functions of filters, the same or h1 again for tables, and the false-positive ratios in
/// percent, of section 6.2.
const HASHES: [&str; 3] = ["h2", "murmur", "knuth"];
const TABLE_HASHES: [&str; 4] = ["reuse", "h2", "murmur", "knuth"];
const PERCENT: [u8; 5] = [1, 10, 30, 60, 90];

/// The hash functions for IPv6, the paper's first.
const HASHES6: [&str; 4] = ["murmur", "fmix", "h2", "knuth"];

/// The engines of section 6.3, with the ratio that the paper chose.
const ENGINES: [(&str, &str); 3] =
    [("Bloomfwd", "bloom/fpr=30"), ("Baseline", "bloom-base/fpr=30"), ("MIHT", "miht")];

/// What of the paper is not the engine's default, each alone and all.
const PRINTED: [(&str, &str); 5] = [
    ("Bloomfwd, chained tables", "bloom/fpr=30/tables=chains"),
    ("Bloomfwd, remainders", "bloom/fpr=30/reduce=remainder"),
    ("Bloomfwd, G2 before G1", "bloom/fpr=30/order=g2-first"),
    ("Bloomfwd, as printed", "bloom/fpr=30/tables=chains/reduce=remainder/order=g2-first"),
    ("Baseline, as printed", "bloom-base/fpr=30/tables=chains/reduce=remainder/order=g2-first"),
];

/// The matching ratios of section 6.4, in percent.
const RATIOS: [u8; 6] = [0, 20, 40, 60, 80, 100];

/// The shares of the table of section 6.5, in percent.
const SHARES: [usize; 5] = [20, 40, 60, 80, 100];

/// The levels of section 6.6.
const LEVELS: [u8; 5] = [4, 5, 6, 7, 8];

/// The filters without expansion: one a length.
const NO_EXPANSION: &str = "bloom6-naive/fpr=30";

/// How many times MIHT, for IPv4 and IPv6, and how many times no expansion the filters are at best.
const TIMES_MIHT: f64 = 3.8;
const TIMES_MIHT6: f64 = 5.1;
const TIMES_NO_EXPANSION: f64 = 5.1;

/// The addresses of a chunk of the dynamic schedule, the paper's first.
const CHUNKS: [usize; 2] = [1, 1024];

/// What the paper's text says of sections 6.3 and 6.6: the best million lookups a second on a
/// Phi 7250, for IPv4 and IPv6.
const BEST_IPV4: f64 = 169.6;
const BEST_IPV6: f64 = 182.75;

pub(super) fn section_6_2(lab: &Lab) -> Result<Finding, Error> {
    let table = lab.table()?;
    let addresses = lab.trace(&TraceKind::Random, &table.rib)?;
    let mut names = Vec::new();
    for hash in HASHES {
        for table_hash in TABLE_HASHES {
            for percent in PERCENT {
                let engine = format!("bloom/hash={hash}/table-hash={table_hash}/fpr={percent}");
                names.push((format!("filter {hash}, table {table_hash}"), percent, engine));
            }
        }
    }
    let engines: Vec<&str> = names.iter().map(|(.., engine)| engine.as_str()).collect();
    let rows = lab.speed(table, &addresses, &engines, vec![1])?;
    let points = names
        .iter()
        .zip(&rows)
        .map(|((series, percent, _), row)| Point::new(series, format!("{percent} %"), "ns", ns(row)));
    let mut points: Vec<Point> = points.collect();
    points.extend(over_hashes(&points));
    points.extend(ipv6_by_hash(lab)?);
    Ok(Finding::new("false-positive ratio", Plot::Lines, points)
        .on(table)
        .note("With `table reuse` the filter's first hash serves the table. Any other table hash is one more evaluation, also where the function is the filter's; a batch makes it in vectors, for all addresses of a block.")
        .note(format!("Table: {}, random addresses. The paper prints no numbers. Its text: 30 % is best on average, h2 for both is best, knuth varies most.", table.name))
        .note("For IPv6 the paper takes 30 % and MurmurHash3 of 64 bits, as its h2 has no such form, and has no grid. `murmur` hashes two blocks of 32 bits, as the program of its authors does; `fmix` is the finaliser of MurmurHash3 of 64 bits alone. Addresses are drawn from the prefixes of the first IPv6 table."))
}

/// Returns for each ratio the mean over all hash functions, and how far they are apart.
fn over_hashes(points: &[Point]) -> Vec<Point> {
    let all = PERCENT.into_iter().flat_map(|percent| {
        let at = format!("{percent} %");
        let values: Vec<f64> =
            points.iter().filter(|point| point.at == at).filter_map(Point::value).collect();
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        let (least, most) =
            values.iter().fold((f64::MAX, 0.0), |(a, b), &v| (f64::min(a, v), f64::max(b, v)));
        let apart = most / least.max(1e-9);
        [Point::new("mean of all", &at, "ns", mean), Point::new("most / least of all", at, "times", apart)]
    });
    all.collect()
}

/// Measures the hash functions for IPv6, where the tables have such routes.
fn ipv6_by_hash(lab: &Lab) -> Result<Vec<Point>, Error> {
    let Some(table) = lab.ipv6.first() else { return Ok(Vec::new()) };
    let addresses = lab.trace(&TraceKind::Prefix, &table.rib)?;
    let grid = HASHES6.into_iter().flat_map(|hash| PERCENT.map(|percent| (hash, percent)));
    let grid: Vec<_> =
        grid.map(|(hash, percent)| (hash, percent, format!("bloom6/hash={hash}/fpr={percent}"))).collect();
    let engines: Vec<&str> = grid.iter().map(|(.., engine)| engine.as_str()).collect();
    let rows = lab.speed(table, &addresses, &engines, vec![1])?;
    let points = grid.iter().zip(&rows).map(|((hash, percent, _), row)| {
        Point::new(format!("IPv6, {hash}"), format!("{percent} %"), "ns, IPv6", ns(row)).on(&Facts::of(table))
    });
    Ok(points.collect())
}

pub(super) fn section_6_3(lab: &Lab) -> Result<Finding, Error> {
    let table = lab.table()?;
    let addresses = lab.trace(&TraceKind::Random, &table.rib)?;
    let rows = lab.speed(table, &addresses, &ENGINES.map(|(_, engine)| engine), lab.threads())?;
    let mut points = vec![Point::of_paper("Bloomfwd", "Phi 7250", "Mlps", BEST_IPV4)];
    for (name, engine) in ENGINES {
        let of: Vec<_> = rows.iter().filter(|row| row.engine == engine).collect();
        let alone = of.first().map_or(Span::from(1.0), |row| mlps(row));
        for row in of {
            points.push(Point::new(name, row.threads, "Mlps", mlps(row)));
            if row.threads > 1 {
                let times = mlps(row) / alone;
                points.push(Point::new(name, row.threads, "times one thread", times));
                points.push(Point::new(name, row.threads, "of linear", times * (1.0 / row.threads as f64)));
            }
        }
    }
    if let Some(traffic) = lab.options.traffic.clone() {
        let real = lab.trace(&TraceKind::Mapped(traffic), &table.rib)?;
        let rows = lab.speed(table, &real, &ENGINES.map(|(_, engine)| engine), vec![1])?;
        let facts = Facts { traffic: lab.traffic()?, ..Facts::of(table) };
        points.extend(ENGINES.iter().zip(&rows).map(|((name, _), row)| {
            Point::new(format!("{name}, real traffic"), 1, "Mlps", mlps(row)).on(&facts)
        }));
    }
    points.extend(as_printed(lab, table, &addresses)?);
    points.extend(dynamic(lab, table, &addresses)?);
    points.extend(many_cores(lab, table, &addresses)?);
    Ok(Finding::new("threads", Plot::Lines, points)
        .on(table)
        .note("The models have the numbers of data sheets, and nothing is fitted: each cache line that the filters read comes from memory, whose bandwidth all cores share.")
        .note("As printed, tables have chains, hashes are reduced by remainders, and a batch asks G2 before G1. Loads are those of the scalar lookup, which always does that.")
        .note("Threads share addresses by fixed parts, and in the rows named for it by the paper's dynamic schedule of OpenMP, whose chunks are one address.")
        .note("The paper's text: on the Phi the filters scale nearly linearly and pass MIHT; on its processor all three end at the memory's bandwidth."))
}

pub(super) fn figure_3(lab: &Lab) -> Result<Finding, Error> {
    let table = lab.table()?;
    let matching = lab.trace(&TraceKind::Prefix, &table.rib)?;
    let judge = Fib::build_from(lab.engines, "dir24-8", &table.rib, Config::default())?;
    let mut missing = lab.trace(&TraceKind::Random, &table.rib)?;
    missing.retain(|&address| !judge.lookup_index(address).is_some());
    let mut points = Vec::new();
    for ratio in RATIOS {
        let Some(addresses) = mixed(&matching, &missing, ratio) else { continue };
        let rows = lab.speed(table, &addresses, &ENGINES.map(|(_, engine)| engine), vec![1])?;
        for ((name, _), row) in ENGINES.iter().zip(&rows) {
            points.push(Point::new(*name, format!("{ratio} %"), "Mlps", mlps(row)));
        }
    }
    Ok(Finding::new("matching addresses", Plot::Lines, points)
        .on(table)
        .note("The paper's text: the ratio has little influence. Here an address that matches is drawn from the prefixes, each as likely as any other, and one that does not is one of random addresses."))
}

/// Mixes as many addresses as there are that match, `ratio` percent of them matching and evenly
/// spread. `None` if some are to miss and none does, as with a default route.
fn mixed(matching: &[u32], missing: &[u32], ratio: u8) -> Option<Vec<u32>> {
    let ratio = usize::from(ratio);
    let mut missing = missing.iter().copied().cycle();
    let each = matching.iter().enumerate().map(|(at, &address)| {
        // The whole part of the share grows at a place that matches.
        let is_match = (at + 1) * ratio / 100 > at * ratio / 100;
        if is_match { Some(address) } else { missing.next() }
    });
    each.collect()
}

pub(super) fn section_6_5(lab: &Lab) -> Result<Finding, Error> {
    let table = lab.table()?;
    let addresses = lab.trace(&TraceKind::Random, &table.rib)?;
    let mut points = Vec::new();
    for share in SHARES {
        // A multiplicative hash of the route's number removes routes evenly and the same each time.
        let kept = |at: usize| (at.wrapping_mul(0x9E37_79B1) >> 7) % 100 < share;
        let rib = table.rib.iter().enumerate().filter(|&(at, _)| kept(at)).map(|(_, route)| route).collect();
        let smaller = Named { name: table.name.clone(), rib };
        let rows = lab.speed(&smaller, &addresses, &ENGINES.map(|(_, engine)| engine), vec![1])?;
        for ((name, _), row) in ENGINES.iter().zip(&rows) {
            let point = Point::new(*name, format!("{share} %"), "Mlps", mlps(row));
            points.push(point.on(&Facts::of(table)));
        }
    }
    Ok(Finding::new("share of the table", Plot::Lines, points)
        .note(format!("Table: {}, of which routes are removed at random. Addresses are random.", table.name)))
}

/// Measures the filters beside MIHT on all IPv4 tables, with all threads.
fn of_ipv4_tables(lab: &Lab) -> Result<Vec<Point>, Error> {
    let mut points = Vec::new();
    for table in &lab.ipv4 {
        let addresses = lab.trace(&TraceKind::Random, &table.rib)?;
        let (facts, [(name, engine), _, (other, miht)]) = (Facts::of(table), ENGINES);
        let rows = lab.speed(table, &addresses, &[engine, miht], lab.threads())?;
        let most = rows.iter().map(|row| row.threads).max().unwrap_or(1);
        let of = |engine: &str| rows.iter().find(|row| row.engine == engine && row.threads == most);
        let (Some(ours), Some(theirs)) = (of(engine), of(miht)) else { continue };
        let times = Point::new(format!("{name} / {other}"), &table.name, "times", mlps(ours) / mlps(theirs));
        points.push(times.beside(TIMES_MIHT).on(&facts));
        for (name, row) in [(name, ours), (other, theirs)] {
            let bytes = row.bytes as f64 / table.rib.len().max(1) as f64;
            points.push(Point::new(name, &table.name, "Mlps, all threads", mlps(row)).on(&facts));
            points.push(Point::new(name, &table.name, "bytes a prefix", bytes).on(&facts));
        }
    }
    Ok(points)
}

/// A processor in model: its name, cores, gigahertz, gigabytes a second of its memory, and the
/// nanoseconds in which the memory answers, by the makers' data sheets; and the lookups that a core
/// has under way at once.
const PROCESSORS: [(&str, usize, f64, f64, f64, f64); 3] = [
    ("a Phi", 61, 1.238, 352.0, 250.0, 4.0),
    ("a Phi 7250", 68, 1.4, 450.0, 150.0, 4.0),
    ("a CPU", 16, 2.6, 118.0, 90.0, 10.0),
];

/// The bytes of a line, which each element read from memory takes.
const LINE: f64 = 64.0;

/// Returns the rates of many cores before one memory, from the cache lines that the filters read.
fn many_cores(lab: &Lab, table: &Named<u32>, addresses: &[u32]) -> Result<Vec<Point>, Error> {
    let fib = Fib::build_from(lab.engines, ENGINES[0].1, &table.rib, Config::default())?;
    let lines = count_accesses(&fib, addresses).lines;
    let mut points = Vec::new();
    for (name, cores, gigahertz, gigabytes, ns, at_once) in PROCESSORS {
        let processor = Processor {
            alone: lines * ns * gigahertz / at_once,
            of_all: lines * LINE / gigabytes * gigahertz,
        };
        let (series, at) = (format!("{}, model of {name}", ENGINES[0].0), format!("{cores} cores"));
        let mlps = processor.rate(cores) * gigahertz * 1e3;
        let paper = (cores == 68).then_some(BEST_IPV4);
        let new = [
            Point::model(&series, &at, "Mlps", mlps).beside_any(paper),
            Point::model(&series, at, "of linear", processor.of_linear(cores)),
        ];
        points.extend(new.map(|point| point.on(&Facts::of(table))));
    }
    Ok(points)
}

/// Measures the filters with what the paper prints, beside the engines' defaults.
fn as_printed(lab: &Lab, table: &Named<u32>, addresses: &[u32]) -> Result<Vec<Point>, Error> {
    let [filters, base, _] = ENGINES;
    let all = [&[filters, base], &PRINTED[..]].concat();
    let engines: Vec<&str> = PRINTED.iter().map(|&(_, engine)| engine).collect();
    let rows = lab.speed(table, addresses, &engines, vec![1])?;
    let mut points: Vec<Point> =
        PRINTED.iter().zip(&rows).map(|((name, _), row)| Point::new(*name, 1, "Mlps", mlps(row))).collect();
    for (name, engine) in all {
        let fib = Fib::build_from(lab.engines, engine, &table.rib, Config::default())?;
        let count = count_accesses(&fib, addresses);
        let bytes = fib.memory().total() as f64 / table.rib.len().max(1) as f64;
        points.push(Point::new(name, 1, "loads", count.loads));
        points.push(Point::new(name, 1, "bytes a prefix", bytes));
    }
    Ok(points)
}

/// Measures the dynamic schedule of section 4.3.1 with chunks of several sizes.
fn dynamic(lab: &Lab, table: &Named<u32>, addresses: &[u32]) -> Result<Vec<Point>, Error> {
    let mut points = Vec::new();
    for chunk in CHUNKS {
        let rows = lab.shared_by(ENGINES[0].1, &table.rib, addresses, &lab.options.threads, chunk)?;
        points.extend(lab.options.threads.iter().filter_map(|&threads| {
            let mlps = mlps_of(&rows, threads, Model::Dynamic, Order::Free)?;
            Some(Point::new(format!("dynamic, {chunk} a chunk"), threads, "Mlps", mlps))
        }));
    }
    Ok(points)
}

pub(super) fn section_6_6(lab: &Lab) -> Result<Finding, Error> {
    let mut points = of_ipv4_tables(lab)?;
    points.push(Point::of_paper("Bloomfwdv6", "best levels, Phi 7250", "Mlps", BEST_IPV6));
    let Ok(table) = lab.table6() else {
        return Ok(Finding::new("levels", Plot::Bars, points).in_part("no IPv6 table given"));
    };
    let addresses = lab.trace(&TraceKind::Prefix, &table.rib)?;
    let threads = lab.threads();
    let mut best = vec![Span::from(0.0); threads.len()];
    let mut worst = Span::from(f64::INFINITY);
    for levels in LEVELS {
        let engine = format!("bloom6/levels={levels}/choice=dpcpe/hash=murmur/fpr=30");
        // Few levels may expand a table past what the engine holds.
        let Ok(rows) = lab.speed(table, &addresses, &[&engine], threads.clone()) else { continue };
        points.extend(
            rows.first().map(|row| Point::new("Bloomfwdv6", format!("{levels} levels"), "Mlps", mlps(row))),
        );
        for (best, speed) in best.iter_mut().zip(rows.iter().map(mlps)) {
            *best = if speed.value > best.value { speed } else { *best };
        }
        worst = rows.first().map(mlps).filter(|speed| speed.value < worst.value).unwrap_or(worst);
    }
    let rows = lab.speed(table, &addresses, &["miht6"], threads)?;
    points.extend(rows.first().map(|row| Point::new("MIHTv6", "any", "Mlps", mlps(row))));
    if let (Some(&best), Some(miht)) = (best.last(), rows.last()) {
        let times = Point::new("best levels / MIHTv6", "all threads", "times", best / mlps(miht));
        points.push(times.beside(TIMES_MIHT6));
    }
    if worst.value.is_finite() {
        points.push(Point::new("best / worst levels", "one thread", "times", best[0] / worst));
    }
    let rows = lab.speed(table, &addresses, &[NO_EXPANSION], vec![1])?;
    points.extend(rows.first().into_iter().flat_map(|row| {
        let times = Point::new("best levels / no expansion", "one thread", "times", best[0] / mlps(row));
        [Point::new("no expansion", "any", "Mlps", mlps(row)), times.beside(TIMES_NO_EXPANSION)]
    }));
    for point in points.iter_mut().filter(|point| point.ours.is_some() && point.facts.is_none()) {
        point.facts = Some(Facts::of(table));
    }
    Ok(Finding::new("levels", Plot::Bars, points)
        .note(format!("Table: {}, addresses drawn from the prefixes, one thread; the paper's value is of all cores of its processor. No expansion is the engine `bloom-naive`, a filter for each length.", table.name))
        .note("A number of levels that expands the table past the engine's limit has no point."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_match_by_the_ratio() {
        let matching: Vec<u32> = (0..1000).collect();
        for ratio in RATIOS {
            let mixed = mixed(&matching, &[5000, 5001], ratio).unwrap();
            let matched = mixed.iter().filter(|&&address| address < 1000).count();
            assert_eq!((mixed.len(), matched), (1000, 10 * usize::from(ratio)));
        }
        assert_eq!(mixed(&matching, &[], 80), None);
        assert_eq!(mixed(&matching, &[], 100), Some(matching));
    }
}
