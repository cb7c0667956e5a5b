//! Speed: beside the others', and what each way of lookup is worth.

use super::{ENGINES, tables};
use crate::lab::mlps;
use crate::poptrie::{compared, one_by_one};
use crate::{Error, Facts, Finding, Lab, Plot, Point};
use fibula::engine::Level;
use fibula_io::trace::TraceKind;
use fibula_lab::bench::Contender;

/// What the abstract names: million lookups a second of one core and of 12, and how many times as
/// fast as the others PlanB is.
const ONE_CORE: f64 = 390.0;
const ALL_CORES: (usize, f64) = (12, 3400.0);
const TIMES: (f64, f64) = (1.6, 14.0);

/// What is told of the paper's batches, in times of a lookup alone.
const BATCHES: (f64, f64) = (3.0, 4.5);

pub(super) fn speed(lab: &Lab) -> Result<Finding, Error> {
    let mut points = Vec::new();
    for table in tables(lab)? {
        let addresses = lab.trace(&TraceKind::Prefix, &table.rib)?;
        points.extend(compared(lab, table, "prefixes", &addresses, &ENGINES)?);
    }
    for point in &mut points {
        point.paper = match (point.series.as_str(), point.at.ends_with("batches")) {
            ("PlanB", true) => Some(ONE_CORE),
            ("PlanB / PopTrie", true) => Some(f64::midpoint(TIMES.0, TIMES.1)),
            _ => None,
        };
    }
    Ok(Finding::new("addresses and way", Plot::None, points)
        .note("Addresses are drawn from the table's prefixes. Which ones the paper looks up, the sources at hand do not tell.")
        .note("Here each answer of a batch is stored. Of PlanB's own fast path it is told that it sums them.")
        .in_part("CP-Trie, Neurotrie and HBS are no engines here"))
}

pub(super) fn ways(lab: &Lab) -> Result<Finding, Error> {
    let mut points = Vec::new();
    let scaled = ALL_CORES.1 / ALL_CORES.0 as f64 / ONE_CORE;
    points.push(Point::computed("PlanB, the paper's figures", ALL_CORES.0, "of linear", scaled));
    points.push(Point::computed("PlanB, the paper's figures", 1, "Mlps", ONE_CORE));
    points.push(Point::of_paper("PlanB", ALL_CORES.0, "Mlps", ALL_CORES.1));
    for table in tables(lab)? {
        let facts = Facts::of(table);
        let addresses = lab.trace(&TraceKind::Prefix, &table.rib)?;
        let contenders =
            [Level::best(), Level::SCALAR].map(|isa| Contender { isa, ..Contender::new("planb") });
        let rows = lab.race(table, &addresses, &contenders, lab.threads())?;
        let of = |isa: Level| rows.iter().filter(move |row| row.isa == isa.to_string());
        let alone = |isa| of(isa).find(|row| row.threads == 1);
        let Some((best, scalar)) = alone(Level::best()).zip(alone(Level::SCALAR)) else { continue };
        let mut add =
            |series, at: &str, unit, value| points.push(Point::new(series, at, unit, value).on(&facts));
        if Level::best() != Level::SCALAR {
            add("vectors / scalar", "batches", "times", mlps(best) / mlps(scalar));
        }
        if let Some(single) = one_by_one(best) {
            add("batches / one by one", "vectors", "times", mlps(best) / single);
        }
        for row in of(Level::best()) {
            add("PlanB", &row.threads.to_string(), "Mlps", mlps(row));
            if row.threads > 1 {
                let linear = mlps(row) / mlps(best) * (1.0 / row.threads as f64);
                add("PlanB", &row.threads.to_string(), "of linear", linear);
            }
        }
    }
    for point in points.iter_mut().filter(|point| point.series == "batches / one by one") {
        point.paper = Some(f64::midpoint(BATCHES.0, BATCHES.1));
    }
    Ok(Finding::new("threads or way", Plot::None, points)
        .note("The paper's value for batches is the middle of 3 and 4.5, which an independent implementation (github.com/esutcu/planb-lpm) tells of its ablation.")
        .note("A lookup of its own answers before the next begins; a batch of 16 goes down the tree in step."))
}
