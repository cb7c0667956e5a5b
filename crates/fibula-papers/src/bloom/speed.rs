//! Sections 6.2 to 6.6: speed by hashes, threads, addresses, sizes and levels.

use crate::lab::mlps;
use crate::{Error, Finding, Lab, Named, Plot, Point};
use fibula::Fib;
use fibula::engine::Config;
use fibula_io::trace::TraceKind;

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

/// The matching ratios of section 6.4, in percent.
const RATIOS: [u8; 6] = [0, 20, 40, 60, 80, 100];

/// The shares of the table of section 6.5, in percent.
const SHARES: [usize; 5] = [20, 40, 60, 80, 100];

/// The levels of section 6.6.
const LEVELS: [u8; 5] = [4, 5, 6, 7, 8];

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
    let points = names.iter().zip(&rows).map(|((series, percent, _), row)| {
        Point::new(series, format!("{percent} %"), "ns", 1e3 / mlps(row).max(1e-9))
    });
    let mut points: Vec<Point> = points.collect();
    points.extend(ipv6_by_hash(lab)?);
    Ok(Finding::new("false-positive ratio", Plot::Lines, points)
        .note("With `table reuse` the filter's first hash serves the table. Any other table hash is one more evaluation, also where the function is the filter's; a batch makes it in vectors, for all addresses of a block.")
        .note(format!("Table: {}, random addresses. The paper prints no numbers. Its text: 30 % is best on average, h2 for both is best, knuth varies most.", table.name))
        .note("For IPv6 the paper takes 30 % and MurmurHash3 of 64 bits, as its h2 has no such form, and has no grid. `murmur` hashes two blocks of 32 bits, as the program of its authors does; `fmix` is the finaliser of MurmurHash3 of 64 bits alone. Addresses are drawn from the prefixes of the first IPv6 table."))
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
        Point::new(format!("IPv6, {hash}"), format!("{percent} %"), "ns, IPv6", 1e3 / mlps(row).max(1e-9))
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
        let alone = of.first().map_or(0.0, |row| mlps(row));
        for row in of {
            points.push(Point::new(name, row.threads, "Mlps", mlps(row)));
            points.push(Point::new(name, row.threads, "times one thread", mlps(row) / alone.max(1e-9)));
        }
    }
    Ok(Finding::new("threads", Plot::Lines, points)
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
            points.push(Point::new(*name, format!("{share} %"), "Mlps", mlps(row)));
        }
    }
    Ok(Finding::new("share of the table", Plot::Lines, points)
        .note(format!("Table: {}, of which routes are removed at random. Addresses are random.", table.name)))
}

pub(super) fn section_6_6(lab: &Lab) -> Result<Finding, Error> {
    let table = lab.ipv6.first().ok_or_else(|| Error::none("the tables have no IPv6 routes"))?;
    let addresses = lab.trace(&TraceKind::Prefix, &table.rib)?;
    let mut points = vec![Point::of_paper("Bloomfwdv6", "best levels, Phi 7250", "Mlps", BEST_IPV6)];
    for levels in LEVELS {
        let engine = format!("bloom6/levels={levels}/choice=dpcpe/hash=murmur/fpr=30");
        // Few levels may expand a table past what the engine holds.
        let Ok(rows) = lab.speed(table, &addresses, &[&engine], vec![1]) else { continue };
        points.extend(
            rows.first().map(|row| Point::new("Bloomfwdv6", format!("{levels} levels"), "Mlps", mlps(row))),
        );
    }
    let rows = lab.speed(table, &addresses, &["miht6"], vec![1])?;
    points.extend(rows.first().map(|row| Point::new("MIHTv6", "any", "Mlps", mlps(row))));
    Ok(Finding::new("levels", Plot::Bars, points)
        .note(format!("Table: {}, addresses drawn from the prefixes, one thread; the paper's value is of all cores of its processor.", table.name))
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
