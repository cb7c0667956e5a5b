//! The tree: what it is made of, and how long a build takes.

use super::{ENGINES, tables};
use crate::lab::median;
use crate::{Error, Facts, Finding, Lab, Named, Plot, Point};
use fibula::Fib;
use fibula::engine::Config;
use fibula_io::generate::{NextHopModel, Size, internet};
use fibula_io::trace::TraceKind;
use fibula_lab::study::count_accesses;
use std::time::Instant;

/// The children of a node.
const CHILDREN: f64 = 9.0;

/// The prefixes of the made table whose rebuild is told, and its milliseconds.
const MILLION: usize = 1_000_000;
const REBUILD_MS: f64 = 850.0;

/// The next hops of made tables.
const NEXT_HOPS: u32 = 255;

const MB: f64 = 1e6;

pub(super) fn structure(lab: &Lab) -> Result<Finding, Error> {
    let mut points = Vec::new();
    for table in tables(lab)? {
        let facts = Facts::of(table);
        let mut add =
            |series: &str, at, unit, value| points.push(Point::new(series, at, unit, value).on(&facts));
        let prefixes = table.rib.len().max(1) as f64;
        for (name, engine) in ENGINES {
            let fib = Fib::build_from(lab.engines, engine, &table.rib, Config::default())?;
            let bytes = fib.memory().total() as f64;
            add(name, "total", "MB", bytes / MB);
            add(name, "total", "bytes a prefix", bytes / prefixes);
            if name != ENGINES[0].0 {
                continue;
            }
            let figures = fib.figures();
            let figure =
                |name: &str| figures.iter().find(|one| one.name == name).map_or(0.0, |one| one.value);
            let intervals = figure("intervals of /64s");
            add(name, "intervals", "ranges a prefix", intervals / prefixes);
            add(name, "levels", "accesses", figure("levels"));
            add("a tree of 9 children", "levels", "accesses", intervals.max(2.0).log(CHILDREN).ceil());
            let addresses = lab.trace(&TraceKind::Prefix, &table.rib)?;
            let count = count_accesses(&fib, &addresses);
            add(name, "a lookup, mean", "loads", count.loads);
            add(name, "a lookup, most", "loads", count.loads_most.into());
        }
    }
    Ok(Finding::new("part", Plot::None, points)
        .note("Routes longer than /64 have trees of their own here; the paper's keys have 64 bits."))
}

pub(super) fn rebuild(lab: &Lab) -> Result<Finding, Error> {
    let count = MILLION / lab.options.smaller;
    let made = internet(Size { ipv4: 0, ipv6: count }, NextHopModel::Near(NEXT_HOPS), 1)?;
    let made = Named { name: format!("made, {count} prefixes"), rib: made.ipv6 };
    let mut points = Vec::new();
    for table in tables(lab)?.iter().chain([&made]) {
        let mut times = Vec::new();
        for _ in 0..lab.options.passes {
            let start = Instant::now();
            drop(Fib::build_from(lab.engines, "planb", &table.rib, Config::default())?);
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
        let paper = (table.rib.len() >= MILLION).then_some(REBUILD_MS);
        points.push(
            Point::new("PlanB", &table.name, "ms", median(&mut times))
                .beside_any(paper)
                .on(&Facts::of(table)),
        );
    }
    Ok(Finding::new("table", Plot::None, points)
        .note("The paper's value is what an independent implementation (github.com/esutcu/planb-lpm) tells of a million prefixes on a Zen 5. Its table is not here; a made one of as many prefixes takes its place."))
}

pub(super) fn answers(lab: &Lab) -> Result<Finding, Error> {
    let mut points = Vec::new();
    for table in tables(lab)? {
        points.extend(lab.differing(table, &[("PlanB", "planb")])?);
    }
    Ok(Finding::new("column", Plot::None, points)
        .note("Answers are compared with the oracle's, around every prefix and at random addresses."))
}
