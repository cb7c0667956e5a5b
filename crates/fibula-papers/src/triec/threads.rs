//! Tables 5 and 7: how threads share the work, and what packet order costs.

use super::tables::{LARGEST, table};
use crate::lab::{CHUNK, mlps_of};
use crate::{Error, Finding, Lab, Plot, Point};
use fibula::parallel::{Model, Order};
use fibula_io::generate::TriecGroup;
use fibula_io::trace::TraceKind;
use fibula_lab::study::ParallelRow;

/// Table 5 as printed, for four microengines: multi-processing, and context pipelining over scratch
/// rings and over next-neighbour rings.
const TABLE_5: [f64; 3] = [32.14, 23.39, 28.74];

/// Table 7 as printed: microengines, million packets a second without and with packet order.
const TABLE_7: [(usize, f64, f64); 4] =
    [(1, 8.26, 7.26), (2, 16.50, 14.57), (4, 32.14, 28.31), (8, 63.97, 56.49)];

/// Measures C-400K with each model.
fn rows(lab: &Lab<'_>) -> Result<Vec<ParallelRow>, Error> {
    let table = table(lab, TriecGroup::C, LARGEST)?;
    let addresses = lab.trace(&TraceKind::Prefix, &table.rib)?;
    lab.shared("triec", &table.rib, &addresses)
}

pub(super) fn table_5(lab: &Lab<'_>) -> Result<Finding, Error> {
    let rows = rows(lab)?;
    let [together, scratch, neighbour] = TABLE_5;
    let mut points = vec![
        Point::of_paper("multi-processing", "4 microengines", "Mlps", together),
        Point::of_paper("pipeline, scratch ring", "4 microengines", "Mlps", scratch),
        Point::of_paper("pipeline, next-neighbour ring", "4 microengines", "Mlps", neighbour),
    ];
    for &threads in &lab.options.threads {
        let whole = mlps_of(&rows, threads, Model::Own, Order::Free);
        let cut = mlps_of(&rows, threads, Model::Pipeline, Order::Kept);
        let (Some(whole), Some(cut)) = (whole, cut) else { continue };
        points.push(Point::new("multi-processing", format!("{threads} threads"), "Mlps", whole));
        points.push(Point::new("pipeline", format!("{threads} threads"), "Mlps", cut));
        let ratio = Point::new(
            "pipeline / multi-processing",
            format!("{threads} threads"),
            "times",
            cut / whole.max(1e-9),
        );
        points.push(ratio.beside(neighbour / together));
    }
    Ok(Finding::new("threads", Plot::None, points)
        .note(format!("Table C-400K. A pipeline's threads hand on {CHUNK} addresses at once over rings in memory; the ratio is set beside that of the paper's next-neighbour rings.")))
}

pub(super) fn table_7(lab: &Lab<'_>) -> Result<Finding, Error> {
    let rows = rows(lab)?;
    let mut points = Vec::new();
    for (engines, free, kept) in TABLE_7 {
        points.push(Point::of_paper(
            "overhead",
            format!("{engines} microengines"),
            "%",
            100.0 * (free / kept - 1.0),
        ));
    }
    let mean =
        TABLE_7.iter().map(|(_, free, kept)| 100.0 * (free / kept - 1.0)).sum::<f64>() / TABLE_7.len() as f64;
    for &threads in &lab.options.threads {
        let speeds = [Order::Free, Order::Kept].map(|order| mlps_of(&rows, threads, Model::Dynamic, order));
        let [Some(free), Some(kept)] = speeds else { continue };
        let at = format!("{threads} threads");
        points.push(Point::new("without packet order", &at, "Mlps", free));
        points.push(Point::new("with packet order", &at, "Mlps", kept));
        points.push(Point::new("overhead", &at, "%", 100.0 * (free / kept.max(1e-9) - 1.0)).beside(mean));
    }
    Ok(Finding::new("threads", Plot::None, points)
        .note(format!("Table C-400K, chunks of {CHUNK} addresses by ticket. Order is kept by chunk here, where the paper passes a signal for each packet, so it costs less.")))
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
