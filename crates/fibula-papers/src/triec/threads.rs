//! Tables 5 and 7: how threads share the work, and what packet order costs.

use super::models;
use super::tables::{LARGEST, largest, table};
use crate::lab::{CHUNK, mlps_of};
use crate::{Error, Finding, Lab, Plot, Point};
use fibula_engines::parallel::{Model, Order};
use fibula_io::generate::TriecGroup;
use fibula_io::trace::TraceKind;
use fibula_lab::study::ParallelRow;

/// Table 5 as printed, for four microengines: multi-processing, and context pipelining over scratch
/// rings and over next-neighbour rings.
pub(super) const TABLE_5: [f64; 3] = [32.14, 23.39, 28.74];

/// The microengines of Table 5: two halves of a lookup, each twice.
const REPLICATED: usize = 4;

/// Table 7 as printed: microengines, million packets a second without and with packet order.
pub(super) const TABLE_7: [(usize, f64, f64); 4] =
    [(1, 8.26, 7.26), (2, 16.50, 14.57), (4, 32.14, 28.31), (8, 63.97, 56.49)];

/// The addresses that pass a ring together.
const PASSED: [usize; 3] = [CHUNK, 64, 8];

/// The most turns of a pass: where a thread waits for a time slice, each may take milliseconds.
const TURNS: usize = 4096;

/// Measures C-400K with each model.
fn rows(lab: &Lab, threads: &[usize], chunk: usize) -> Result<Vec<ParallelRow>, Error> {
    let table = table(lab, TriecGroup::C, LARGEST)?;
    let mut addresses = lab.trace(&TraceKind::Prefix, &table.rib)?;
    addresses.truncate(TURNS * chunk);
    lab.shared_by("triec", &table.rib, &addresses, threads, chunk)
}

pub(super) fn table_5(lab: &Lab) -> Result<Finding, Error> {
    let mut threads = lab.options.threads.clone();
    threads.push(REPLICATED);
    threads.sort_unstable();
    threads.dedup();
    let rows = rows(lab, &threads, CHUNK)?;
    let [together, scratch, neighbour] = TABLE_5;
    let mut points = vec![
        Point::of_paper("multi-processing", "4 microengines", "Mlps", together),
        Point::of_paper("pipeline, scratch ring", "4 microengines", "Mlps", scratch),
        Point::of_paper("pipeline, next-neighbour ring", "4 microengines", "Mlps", neighbour),
    ];
    points.extend(models::table_5());
    points.extend(models::choices(lab, &largest(lab)?)?);
    for threads in threads {
        let at = format!("{threads} threads");
        let Some(whole) = mlps_of(&rows, threads, Model::Own, Order::Free) else { continue };
        points.push(Point::new("multi-processing", &at, "Mlps", whole));
        let cuts = [
            ("pipeline", Model::Pipeline, Order::Kept),
            ("pipelines, stages replicated", Model::Pipelines, Order::Free),
        ];
        for (name, model, order) in cuts {
            let Some(cut) = mlps_of(&rows, threads, model, order) else { continue };
            points.push(Point::new(name, &at, "Mlps", cut));
            let ratio = Point::new(format!("{name} / multi-processing"), &at, "times", cut / whole.max(1e-9));
            points.push(ratio.beside(neighbour / together));
        }
    }
    Ok(Finding::new("threads", Plot::None, points)
        .on(&table(lab, TriecGroup::C, LARGEST)?)
        .note(format!("Table C-400K. A pipeline's threads hand on {CHUNK} addresses at once over rings in memory; the ratio is set beside that of the paper's next-neighbour rings."))
        .note(super::strides::MODEL)
        .note("The paper leaves to future work how to choose. The model does it from what lookups of a table read: where the ratio is less than 1, multi-processing is faster.")
        .note("The paper cuts a lookup in two halves and gives each to two microengines: here two pipelines of two threads each. A pipeline of four threads cuts it in four parts. More threads than cores take turns, so a hand-over then waits for a time slice."))
}

/// Returns what order costs, in percent.
pub(super) fn overhead(free: f64, kept: f64) -> f64 {
    100.0 * (free / kept.max(1e-9) - 1.0)
}

pub(super) fn table_7(lab: &Lab) -> Result<Finding, Error> {
    let mut points = models::table_7();
    for (engines, free, kept) in TABLE_7 {
        points.push(Point::of_paper(
            "both rings",
            format!("{engines} microengines"),
            "%",
            overhead(free, kept),
        ));
    }
    let mean =
        TABLE_7.iter().map(|&(_, free, kept)| overhead(free, kept)).sum::<f64>() / TABLE_7.len() as f64;
    for chunk in PASSED {
        let rows = rows(lab, &lab.options.threads, chunk)?;
        for &threads in &lab.options.threads {
            let at = format!("{threads} threads, {chunk} a turn");
            let Some(free) = mlps_of(&rows, threads, Model::Own, Order::Free) else { continue };
            points.push(Point::new("no ring", &at, "Mlps", free));
            let rings = [
                ("entry ring", Model::InTurn, Order::Free, None),
                ("exit ring", Model::Own, Order::Kept, None),
                ("both rings", Model::InTurn, Order::Kept, Some(mean)),
            ];
            for (name, model, order, paper) in rings {
                let Some(kept) = mlps_of(&rows, threads, model, order) else { continue };
                points.push(Point::new(name, &at, "Mlps", kept));
                points.push(Point::new(name, &at, "%", overhead(free, kept)).beside_any(paper));
            }
        }
    }
    Ok(Finding::new("threads", Plot::None, points)
        .on(&table(lab, TriecGroup::C, LARGEST)?)
        .note("Table C-400K. A thread waits for its turn to take addresses (entry ring), for its turn to deliver their answers (exit ring), or for both, as in the paper. Percentages are what that costs.")
        .note("The paper passes a signal for each packet. Here a turn is a chunk of addresses: the fewer, the more a turn costs beside the lookups, since it moves a cache line from core to core."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_7_overheads_are_those_that_the_paper_prints() {
        let printed = [13.75, 13.25, 13.53, 13.24];
        for ((_, free, kept), printed) in TABLE_7.into_iter().zip(printed) {
            let overhead: f64 = 100.0 * (free / kept - 1.0);
            assert!((overhead - printed).abs() < 0.03, "{overhead} beside {printed}");
        }
    }
}
