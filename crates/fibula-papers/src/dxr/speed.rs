//! Figures 3, 4 and 5: speed by threads, by steps of the search, and beside a BSD radix tree.

use super::locked::LockedTable;
use super::{PRINTED, SCHEMES, Scheme, layouts};
use crate::lab::{mlps, ns, spread};
use crate::{Error, Finding, Lab, Named, Plot, Point, Span};
use fibula::engine::{Config, Engine};
use fibula::{Fib, Rib};
use fibula_engines::dxr::Dxr;
use fibula_io::trace::{self, BURST, TraceKind};

/// What the paper's text says of Figure 3: million lookups a second of D18R by threads, for random
/// and for repeated keys.
const FIGURE_3: [(usize, f64, f64); 2] = [(1, 117.0, 285.0), (8, 840.0, 1600.0)];

/// What the paper's text says of Figure 4: how random keys and all cores lengthen a lookup.
const RANDOM_OVER_REPEATED: f64 = 2.0;
const ALL_CORES_OVER_ONE: f64 = 1.15;

/// What the paper's text says of Figure 5: DXR's speed in that of the radix tree, on one core.
const TIMES_RADIX: f64 = 40.0;

/// The fewest addresses that stand for a number of search steps: with fewer, asked again and again,
/// a cache holds all that they read.
const ENOUGH: usize = 1 << 16;

/// The draws of addresses until each number of steps has as many as are asked for.
const DRAWS: u64 = 64;

/// Draws uniformly random unicast keys, and as many from one burst of them again and again.
fn keys(lab: &Lab, rib: &Rib<u32>) -> Result<(Vec<u32>, Vec<u32>), Error> {
    let random = lab.trace(&TraceKind::Random, rib)?;
    let repeated = repeated(&random, random.len());
    Ok((random, repeated))
}

/// Returns `count` addresses: the first of `addresses`, one burst of them, again and again.
fn repeated(addresses: &[u32], count: usize) -> Vec<u32> {
    addresses.iter().take(BURST).cycle().take(count).copied().collect()
}

pub(super) fn figure_3(lab: &Lab) -> Result<Finding, Error> {
    let table = &super::table(lab)?;
    let (random, repeated) = keys(lab, &table.rib)?;
    let threads = lab.threads();
    let mut points = Vec::new();
    for (keys, addresses) in [("random", &random), ("repeated", &repeated)] {
        let engines = SCHEMES.map(|scheme| scheme.engine.to_owned());
        let printed = PRINTED.map(|(_, parameters)| format!("dxr18{parameters}"));
        let all: Vec<&str> = engines.iter().chain(&printed).map(String::as_str).collect();
        let rows = lab.speed(table, addresses, &all, threads.clone())?;
        for ((mode, _), engine) in PRINTED.into_iter().zip(&printed) {
            let of_mode = rows.iter().filter(|row| row.engine == *engine);
            points.extend(
                of_mode.map(|row| Point::new(format!("D18R {mode}, {keys}"), row.threads, "Mlps", mlps(row))),
            );
        }
        for Scheme { name: scheme, engine, .. } in SCHEMES {
            let series = format!("{scheme}, {keys}");
            let alone = rows.iter().find(|row| row.engine == engine && row.threads == 1).map(mlps);
            for row in rows.iter().filter(|row| row.engine == engine) {
                if let Some(alone) = alone.filter(|_| row.threads > 1) {
                    let linear = mlps(row) / alone * (1.0 / row.threads as f64);
                    points.push(Point::new(&series, row.threads, "of linear", linear));
                }
                let known = FIGURE_3.iter().find(|known| known.0 as u64 == row.threads && scheme == "D18R");
                let paper = known.map(|known| if keys == "random" { known.1 } else { known.2 });
                points.push(Point::new(&series, row.threads, "Mlps", mlps(row)).beside_any(paper));
            }
            let absent = FIGURE_3.iter().filter(|known| scheme == "D18R" && !threads.contains(&known.0));
            points.extend(absent.map(|known| {
                Point::of_paper(&series, known.0, "Mlps", if keys == "random" { known.1 } else { known.2 })
            }));
        }
    }
    Ok(Finding::new("threads", Plot::Lines, points)
        .on(table)
        .note(layouts(&table.rib)?)
        .note(format!("Table: {}. Repeated keys are {BURST} random ones again and again.", table.name))
        .note("The paper prints numbers for D18R on 1 and 8 cores only. Here keys are looked up in batches, whose searches overlap; a search that ends at a hit is made for one key after the other."))
}

pub(super) fn figure_4(lab: &Lab) -> Result<Finding, Error> {
    let table = &super::table(lab)?;
    let mut points = by_steps(lab, table, "fixed", "")?;
    points.extend(by_steps(lab, table, "hit", ", ending at a hit")?);
    Ok(Finding::new("search steps", Plot::Lines, points)
        .on(table)
        .note(layouts(&table.rib)?)
        .note(format!("D18R on {}. Times are those of a thread. No address is asked twice; a number of steps that fewer than {ENOUGH} addresses take is left out.", table.name))
        .note(
            "The paper prints no times. By default the search takes the same steps for every address of a chunk, so the \
             steps are the logarithm of its ranges, and a batch of addresses of one number of steps has no branch to \
             mispredict. The search that ends at a hit has its iterations as steps, as the paper counts.",
        ))
}

/// Measures the addresses of each number of steps with one of the searches.
fn by_steps(lab: &Lab, table: &Named<u32>, search: &str, suffix: &str) -> Result<Vec<Point>, Error> {
    let dxr = Dxr::<u32>::build(&table.rib, &Config::default().with("search", search))?;
    let engine = format!("dxr18/search={search}");
    let count = lab.options.addresses;
    let enough = ENOUGH.min(count / 64);
    let mut by_steps: Vec<Vec<u32>> = Vec::new();
    for draw in 1..=DRAWS.div_ceil(lab.options.smaller as u64) {
        for address in trace::generate(&TraceKind::Random, &table.rib, count, draw)? {
            let steps = dxr.search_steps(address) as usize;
            if by_steps.len() <= steps {
                by_steps.resize(steps + 1, Vec::new());
            }
            if by_steps[steps].len() < count {
                by_steps[steps].push(address);
            }
        }
    }
    let most = lab.threads().last().copied().unwrap_or(1);
    let mut points = Vec::new();
    let mut sums = [0.0; 3];
    let mut before = None;
    for (steps, addresses) in by_steps.iter().enumerate().filter(|(_, addresses)| addresses.len() >= enough) {
        let time = |keys: &[u32], threads: usize| -> Result<Span, Error> {
            let rows = lab.speed(table, keys, &[&engine], vec![threads])?;
            Ok(rows.first().map_or(Span::from(0.0), |row| ns(row) * threads as f64))
        };
        let repeated = repeated(addresses, addresses.len());
        let times = [time(addresses, 1)?, time(&repeated, 1)?, time(addresses, most)?];
        let series = ["random".to_owned(), "repeated".to_owned(), format!("random, {most} threads")];
        for (series, time) in series.into_iter().zip(times) {
            points.push(Point::new(series + suffix, steps, "ns", time));
        }
        let each = before.replace(times[0].value).map(|before| times[0].value - before);
        points.extend(
            each.map(|each| Point::new(format!("random, each step more{suffix}"), steps, "ns", each)),
        );
        sums.iter_mut().zip(times).for_each(|(sum, time)| *sum += time.value);
    }
    let [random, repeated, all] = sums;
    points.push(
        Point::new(format!("random / repeated{suffix}"), "mean", "times", random / repeated.max(1e-9))
            .beside(RANDOM_OVER_REPEATED),
    );
    points.push(
        Point::new(format!("all threads / one{suffix}"), "mean", "times", all / random.max(1e-9))
            .beside(ALL_CORES_OVER_ONE),
    );
    Ok(points)
}

pub(super) fn figure_5(lab: &Lab) -> Result<Finding, Error> {
    let table = &super::table(lab)?;
    let (random, _) = keys(lab, &table.rib)?;
    let tree = Fib::build_from(lab.engines, "radix", &table.rib, Config::default())?;
    let locked = LockedTable::new(tree, table.rib.max_next_hop().0);
    let threads = lab.threads();
    let rows = lab.speed(table, &random, &["radix", "dxr18"], threads.clone())?;
    let mut points = Vec::new();
    for &count in &threads {
        let mut passes = Vec::new();
        for _ in 0..lab.options.passes {
            passes.push(locked.mlps(&random, count)?);
        }
        let speed = spread(&mut passes);
        points.push(Point::new("radix, lock and references", count, "Mlps", speed));
        let of = |engine: &str| {
            rows.iter()
                .find(|row| row.engine == engine && row.threads == count as u64)
                .map_or(Span::from(0.0), mlps)
        };
        points.push(Point::new("radix alone", count, "Mlps", of("radix")));
        let paper = (count == 1).then_some(TIMES_RADIX);
        points.push(Point::new("D18R / locked radix", count, "times", of("dxr18") / speed).beside_any(paper));
    }
    Ok(Finding::new("threads", Plot::Lines, points)
        .on(table)
        .note(layouts(&table.rib)?)
        .note(format!("Table: {}, random keys.", table.name))
        .note("The paper's text: about 40 times slower than DXR on one core, and it collapses as cores are added, because all write the lock and the references."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_keys_are_one_burst() {
        let addresses: Vec<u32> = (0..100).collect();
        let repeated = repeated(&addresses, 70);
        assert_eq!((repeated.len(), repeated[BURST], repeated[69]), (70, 0, 69 % BURST as u32));
    }
}
