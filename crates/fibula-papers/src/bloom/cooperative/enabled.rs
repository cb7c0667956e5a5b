//! The kernels of the Bloom filters: on their twin always, and on a card where there is one.

use crate::{Error, Finding, Lab, Plot, Point};
use fibula::Fib;
use fibula::engine::Config;
use fibula_gpu::device::{Cuda, Device, Measured, Twin};
use fibula_gpu::study::{CooperativeRow, Plan as Measurements, Workload, cooperative};
use fibula_io::trace::{self, TraceKind};

/// The addresses of a buffer, and their name.
const BUFFERS: [(usize, &str); 4] = [(1 << 19, "512K"), (1 << 21, "2M"), (1 << 22, "4M"), (1 << 23, "8M")];

/// The buffer that the paper chose, and its time there: lookups and both transfers.
const CHOSEN: &str = "2M";
const CHOSEN_MS: f64 = 28.0;

/// How much faster both were than the Phi alone.
const GAIN: f64 = 1.33;

/// The engine that runs on the device, and the same on the processor: both at the paper's ratio of
/// false positives.
const KERNEL: &str = "gpu-bloom";
const PARTNER: &str = "bloom/fpr=30";

/// The buffers of a stream of the largest ones: fewer would not overlap.
const OVERLAPPING: usize = 2;

/// The least seconds of each measurement.
const SECONDS: f64 = 0.05;

pub(crate) fn figure_9(lab: &Lab) -> Result<Finding, Error> {
    let table = lab.table()?;
    let buffers = BUFFERS.map(|(addresses, _)| (addresses / lab.options.smaller).max(1));
    let addresses = OVERLAPPING * buffers.into_iter().fold(lab.options.addresses, usize::max);
    let addresses = trace::generate(&TraceKind::Random, &table.rib, addresses, 1)?;
    let fib = Fib::build_from(lab.engines, PARTNER, &table.rib, Config::default())?;
    let workload =
        Workload { table: &table.name, rib: &table.rib, engine: KERNEL, addresses: &addresses, fib: &fib };
    let mut points = measured("twin", &Twin::default(), &workload, &buffers)?;
    let card = Cuda::open(0);
    if let Ok(card) = &card {
        points.extend(measured("card", card, &workload, &buffers)?);
    }
    // After ours, whose buffers are in order.
    points.push(Point::of_paper("Phi 7120P, double-buffered", CHOSEN, "ms a buffer", CHOSEN_MS));
    let finding = Finding::new("addresses of a buffer", Plot::Lines, points)
        .on(table)
        .note("The device is told nothing of the table but the Bloom kernel's arrays: filters, keys, answers, direct array. Each side alone is measured before the first division, one thread drives the device, and the others are pinned to the last cores. All answers were compared.")
        .note("The twin is the same kernel text on threads of the processor itself. Its speeds say that the mechanism works: order, division, overlap of batches. They say nothing of a card, and both sides share the cores, so that together they cannot gain what the paper's two machines gain.")
        .note(format!("The paper's text: 4M is fastest, 2M nearly so at half the time a buffer, and both together are {GAIN} times the Phi alone. The time of a divided buffer is that of the device's part."));
    Ok(match card {
        Ok(card) => finding.note(format!("Card: {}.", card.name())),
        Err(error) => finding
            .in_part("no card is here: the kernels run on their twin, threads of the processor")
            .note(format!("The card: {error}.")),
    })
}

/// Measures buffers of all sizes, synchronous and double-buffered.
fn measured<D: Measured + Clone>(
    name: &str,
    device: &D,
    workload: &Workload<'_, u32>,
    buffers: &[usize],
) -> Result<Vec<Point>, Error> {
    let plan = Measurements { buffers: buffers.to_vec(), seconds: SECONDS, ..Measurements::of_the_papers() };
    let rows =
        cooperative(device, workload, &plan, &mut |_| {}).map_err(|error| Error::none(error.to_string()))?;
    if let Some(row) = rows.iter().find(|row| row.mismatches > 0) {
        return Err(Error::wrong(format!("{KERNEL} on the {name}: {} wrong answers", row.mismatches)));
    }
    // The plan measures both modes of a buffer one after the other.
    let named = rows.chunks(rows.len() / buffers.len()).zip(BUFFERS);
    Ok(named.flat_map(|(modes, (_, at))| modes.iter().flat_map(move |row| points(name, row, at))).collect())
}

/// Returns the points of one buffer.
fn points(device: &str, row: &CooperativeRow, at: &str) -> Vec<Point> {
    let series = |who: &str| format!("{who}, {}", row.mode);
    let (alone, both) = (series(device), series(&format!("{device} and processor")));
    let gain = (at == CHOSEN).then_some(GAIN);
    let ms = |microseconds: f64| microseconds / 1e3;
    vec![
        Point::new(&alone, at, "Mlps", row.device_mlps),
        Point::new(series("processor"), at, "Mlps", row.processor_mlps),
        Point::new(&both, at, "Mlps", row.both_mlps),
        Point::new(&alone, at, "ms a buffer", ms(row.device_us_p50)),
        Point::new(&both, at, "ms a buffer", ms(row.both_us_p50)),
        Point::new(&both, at, "times the device", row.both_mlps / row.device_mlps.max(1e-9)).beside_any(gain),
        Point::new(&both, at, "times the better one alone", row.gain),
        Point::new(&both, at, "share of the device", row.share),
    ]
}
