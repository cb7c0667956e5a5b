//! Figures 5 to 7: a pipeline of cores, and cores behind a dispatcher.

use super::{DIR, TREES, models};
use crate::lab::mlps_of;
use crate::{Error, Finding, Lab, Plot, Point};
use fibula_engines::parallel::{Model, Order};
use fibula_io::trace::TraceKind;
use fibula_lab::study::ParallelRow;

/// What the paper's text says: how many times as fast a pipeline is, and the cycles of a lookup at
/// 700 MHz of DIR-24-8 with 8 cores and of Tree Bitmap with 16.
const PIPELINE_TIMES: f64 = 3.0;
const CYCLES: [(&str, usize, f64); 2] = [("DIR-24-8-BASIC", 8, 20.0), ("TBP 13-4-4-4-4-3", 16, 28.0)];
const NS_A_CYCLE: f64 = 1.0 / 0.7;

/// Measures an engine with each model.
fn rows(lab: &Lab, engine: &str) -> Result<Vec<ParallelRow>, Error> {
    let table = lab.table()?;
    lab.shared(engine, &table.rib, &lab.trace(&TraceKind::Match, &table.rib)?)
}

/// Returns the time of a lookup of a model, in nanoseconds, all threads together.
fn ns(rows: &[ParallelRow], threads: usize, model: Model, order: Order) -> Option<f64> {
    mlps_of(rows, threads, model, order).map(|mlps| 1e3 / mlps.max(1e-9))
}

pub(super) fn figure_5(lab: &Lab) -> Result<Finding, Error> {
    let mut points = models::figure_5(lab, PIPELINE_TIMES)?;
    for (name, engine) in TREES {
        let rows = rows(lab, engine)?;
        let Some(alone) = ns(&rows, 1, Model::Own, Order::Free) else { continue };
        points.push(Point::new(name, 1, "ns", alone));
        for &threads in &lab.options.threads {
            if let Some(pipeline) = ns(&rows, threads, Model::Pipeline, Order::Kept) {
                let whole = ns(&rows, threads, Model::Own, Order::Free).unwrap_or(pipeline);
                let ratio = Point::new(
                    format!("pipeline / run to completion, {name}"),
                    threads,
                    "times",
                    whole / pipeline.max(1e-9),
                );
                points.push(ratio);
                points.push(Point::new(name, threads, "ns", pipeline));
                points.push(
                    Point::new(name, threads, "times one core", alone / pipeline).beside(PIPELINE_TIMES),
                );
            }
        }
    }
    Ok(Finding::new("threads", Plot::Lines, points)
        .on(lab.table()?)
        .note("The paper's pipelines have 5 and 3 cores, one a level; with fewer threads here a thread takes several levels. Random Match trace.")
        .note("One core here reads ahead for many addresses at once, so there is less that a pipeline can win; the paper's core waits for each load."))
}

pub(super) fn figure_6(lab: &Lab) -> Result<Finding, Error> {
    behind_a_dispatcher(lab, &[DIR])
}

pub(super) fn figure_7(lab: &Lab) -> Result<Finding, Error> {
    behind_a_dispatcher(lab, &TREES)
}

/// Measures engines with a dispatcher that deals out addresses in turn.
fn behind_a_dispatcher(lab: &Lab, engines: &[(&str, &str)]) -> Result<Finding, Error> {
    let mut points = models::behind_a_dispatcher(lab, engines, &CYCLES)?;
    for &(name, engine) in engines {
        let rows = rows(lab, engine)?;
        points.extend(
            ns(&rows, 1, Model::Own, Order::Free)
                .map(|alone| Point::new(name, "1, no dispatcher", "ns", alone)),
        );
        for &threads in &lab.options.threads {
            let at = format!("{} and a dispatcher", threads - 1);
            for (way, model) in [("in turn", Model::RoundRobin), ("by batch", Model::ByBatch)] {
                let time = ns(&rows, threads, model, Order::Free);
                points.extend(time.map(|time| Point::new(format!("{name}, {way}"), &at, "ns", time)));
            }
        }
        let said = CYCLES.iter().filter(|(known, ..)| *known == name);
        points.extend(said.map(|&(_, cores, cycles)| {
            Point::of_paper(
                format!("{name}, in turn"),
                format!("{cores} and a dispatcher"),
                "ns",
                cycles * NS_A_CYCLE,
            )
        }));
    }
    Ok(Finding::new("cores", Plot::Lines, points)
        .on(lab.table()?)
        .note(models::MODEL)
        .note("The paper's figures have a line, Limit, of its on-chip network: in the model the dispatcher's cycles, here the dispatcher's own rings. Its cycles are set as time at 700 MHz."))
}
