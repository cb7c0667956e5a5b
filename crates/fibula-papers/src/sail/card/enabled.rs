//! SAIL_L's kernel: on its twin always, and on a card where there is one.

use crate::sail::memory::MB;
use crate::{Error, Finding, Lab, Plot, Point};
use fibula::Fib;
use fibula::engine::Config;
use fibula_gpu::device::{Cuda, Device, Grid, Measured, Twin};
use fibula_gpu::study::{Plan as Measurements, SweepRow, Workload, sweep};
use fibula_io::trace::{self, TraceKind};
use fibula_lab::study::count_accesses;

/// The ends of a range that the paper's text names.
type Range = (f64, f64);

/// The text of both figures: the addresses of a batch, the ranges of million lookups a second, and
/// of the latency in microseconds.
const SAID: [(usize, &str, Range, Range); 3] = [
    (30_000, "30K", (257.0, 322.0), (90.0, 124.0)),
    (60_000, "60K", (405.0, 447.0), (110.0, 152.0)),
    (90_000, "90K", (442.0, 547.0), (122.0, 185.0)),
];

/// Some of the paper's 1 to 24 streams.
const STREAMS: [usize; 4] = [1, 2, 8, 24];

/// The engines that run on the device: one array a level with equal chunks stored once, and the
/// arrays that the paper prints; and their partner, which judges them.
const KERNELS: [(&str, &str); 2] = [("", "gpu-sail-l"), (" as printed", "gpu-sail-l-printed")];
const PARTNER: &str = "sail-l";

/// The threads of a card's kernels, from the middle of the paper's.
const GRID: Grid = Grid { blocks: 256, threads: 512 };

/// The least seconds of each measurement.
const SECONDS: f64 = 0.05;

/// What one figure takes from a row: the unit, our value, and the paper's range.
struct Taken {
    unit: &'static str,
    ours: fn(&SweepRow) -> f64,
    paper: [Range; SAID.len()],
}

pub(crate) fn figure_13(lab: &Lab) -> Result<Finding, Error> {
    let mlps = Taken { unit: "Mlps", ours: |row| row.mlps, paper: SAID.map(|(_, _, mlps, _)| mlps) };
    let mut finding = figure(lab, &mlps)?;
    let table = &super::super::table(lab)?;
    let addresses = lab.trace(&TraceKind::Prefix, &table.rib)?;
    for (suffix, kernel) in KERNELS {
        let fib = Fib::build_from(fibula_gpu::ENGINES, kernel, &table.rib, Config::default())?;
        let (series, megabytes) = (format!("table{suffix}"), fib.memory().total() as f64 / MB);
        finding.points.push(Point::new(&series, "all batches", "MB", megabytes));
        let loads = count_accesses(&fib, &addresses).loads;
        finding.points.push(Point::new(series, "all batches", "loads", loads));
    }
    Ok(finding.on(table))
}

pub(crate) fn figure_14(lab: &Lab) -> Result<Finding, Error> {
    figure(lab, &Taken { unit: "us", ours: |row| row.latency_us_p50, paper: SAID.map(|(.., us)| us) })
}

fn figure(lab: &Lab, taken: &Taken) -> Result<Finding, Error> {
    let table = &super::super::table(lab)?;
    let addresses = trace::generate(&TraceKind::Prefix, &table.rib, lab.options.addresses, 1)?;
    let fib = Fib::build_from(lab.engines, PARTNER, &table.rib, Config::default())?;
    let mut points = Vec::new();
    for ((_, at, ..), (low, high)) in SAID.into_iter().zip(taken.paper) {
        points.push(Point::of_paper("Tesla C2075", at, taken.unit, f64::midpoint(low, high)));
    }
    let card = Cuda::open(0);
    for (suffix, engine) in KERNELS {
        let workload =
            Workload { table: &table.name, rib: &table.rib, engine, addresses: &addresses, fib: &fib };
        points.extend(measured(&format!("twin{suffix}"), &Twin::default(), None, &workload, taken)?);
        if let Ok(card) = &card {
            points.extend(measured(&format!("card{suffix}"), card, Some(GRID), &workload, taken)?);
        }
    }
    let finding = Finding::new("addresses of a batch", Plot::Lines, points)
        .on(table)
        .note("Each batch is split over the streams, which copy and look up at the same time. The latency is that of a stream's part, the others busy. The paper's values are the middle of the range that its text names, over its streams, blocks and threads.")
        .note("As printed, the table has BN24 and C24 side by side and a chunk for each node; by default level 24 has one array, and equal chunks are stored once.")
        .note("The twin is the same kernel text on threads of the processor itself, without a prefetch: its speeds say that the mechanism works, and nothing of a card. All answers of the last batches were compared.");
    Ok(match card {
        Ok(card) => finding.note(format!("Card: {}.", card.name())),
        Err(error) => finding
            .in_part("no card is here: the kernel runs on its twin, threads of the processor")
            .note(format!("The card: {error}.")),
    })
}

/// Measures all batches and numbers of streams.
fn measured<D: Measured>(
    name: &str,
    device: &D,
    grid: Option<Grid>,
    workload: &Workload<'_, u32>,
    taken: &Taken,
) -> Result<Vec<Point>, Error> {
    let mut points = Vec::new();
    for streams in STREAMS {
        for (addresses, at, ..) in SAID {
            let plan = Measurements {
                batches: vec![addresses / streams],
                lanes: vec![streams],
                grids: vec![grid],
                seconds: SECONDS,
                ..Measurements::of_the_papers()
            };
            let rows = sweep(device, workload, &plan, &mut |_| {})
                .map_err(|error| Error::none(error.to_string()))?;
            if let Some(row) = rows.iter().find(|row| row.mismatches > 0) {
                return Err(Error::wrong(format!(
                    "{} on the {name}: {} wrong answers",
                    workload.engine, row.mismatches
                )));
            }
            let series = format!("{name}, {streams} streams");
            points.extend(rows.iter().map(|row| Point::new(&series, at, taken.unit, (taken.ours)(row))));
        }
    }
    Ok(points)
}
