//! The TILEPro64 in model: Figures 4 to 7.

use super::{DIR, TREES};
use crate::machine::tilepro64::{CLOCK, Lookups, alone, pipeline, run_to_completion};
use crate::{Error, Facts, Lab, Named, Point};
use fibula::Fib;
use fibula::engine::{Accesses, Config};
use fibula_io::trace::TraceKind;

/// What exhibits say of the model.
pub(super) const MODEL: &str = "In the model a tile waits for each element that the engine's own lookup reads, a dispatcher sends one address after the other, and a controller is held for each read of a table that is larger than all caches. It is fitted to two numbers: 168 ns for the fastest lookup, and 20 cycles for DIR-24-8 with 8 cores.";

/// The addresses whose reads tiles repeat.
const ADDRESSES: usize = 64;

/// The numbers of cores of Figures 6 and 7.
const CORES: [usize; 5] = [1, 2, 4, 8, 16];

/// The controllers and dispatchers of the paper's estimate, its lookup cores, and all cores.
const ESTIMATE: (usize, usize, usize) = (2, 16, 18);
const ESTIMATED_MLPS: f64 = 60.0;

/// Returns the elements that some lookups read, on the first of the paper's traces.
fn read_by(lab: &Lab, table: &Named<u32>, engine: &str) -> Result<Lookups, Error> {
    let fib = Fib::build_from(lab.engines, engine, &table.rib, Config::default())?;
    let mut accesses = Accesses::new();
    let reads = lab.trace(&TraceKind::Match, &table.rib)?.into_iter().take(ADDRESSES).map(|address| {
        accesses.clear();
        fib.lookup_counted(address, &mut accesses);
        f64::from(accesses.loads())
    });
    Ok(Lookups { reads: reads.collect(), bytes: fib.memory().total() })
}

/// Returns the times of Figure 4 and how many times slower Tree Bitmap is.
pub(super) fn figure_4(lab: &Lab, fastest_ns: f64, times: f64) -> Result<Vec<Point>, Error> {
    let table = lab.table()?;
    let ns = |lookups: &Lookups| 1e9 * alone(lookups) / CLOCK;
    let direct = ns(&read_by(lab, table, DIR.1)?);
    let mut points = vec![
        Point::model(
            format!("{}, model", DIR.0),
            "fastest",
            "ns",
            ns(&Lookups { reads: vec![1.0], bytes: 64 << 20 }),
        )
        .beside(fastest_ns)
        .fitted(),
        Point::model(format!("{}, model", DIR.0), "Random Match", "ns", direct),
    ];
    for (name, engine) in TREES {
        let time = ns(&read_by(lab, table, engine)?);
        points.push(Point::model(format!("{name}, model"), "Random Match", "ns", time));
        let slower =
            Point::model(format!("{name} / DIR-24-8, model"), "Random Match", "times", time / direct);
        points.push(slower.beside(times));
    }
    Ok(on(points, table))
}

/// Returns what a pipeline of a core for each level gains.
pub(super) fn figure_5(lab: &Lab, times: f64) -> Result<Vec<Point>, Error> {
    let table = lab.table()?;
    let mut points = Vec::new();
    for ((name, engine), stages) in TREES.into_iter().zip([5, 3]) {
        let reads = read_by(lab, table, engine)?;
        let piped = pipeline(stages, &reads);
        let gain = Point::model(format!("{name}, model"), "times one core", "times", alone(&reads) / piped);
        points.push(gain.beside(times));
        let whole = run_to_completion(stages, 1, &reads);
        let series = format!("pipeline / run to completion, {name}, model");
        points.push(Point::model(series, format!("{stages} cores"), "times", whole / piped));
    }
    Ok(on(points, table))
}

/// Returns the cycles of a lookup behind a dispatcher, by cores.
pub(super) fn behind_a_dispatcher(
    lab: &Lab,
    engines: &[(&str, &str)],
    said: &[(&str, usize, f64)],
) -> Result<Vec<Point>, Error> {
    let table = lab.table()?;
    let mut points = Vec::new();
    for &(name, engine) in engines {
        let reads = read_by(lab, table, engine)?;
        let series = format!("{name}, model");
        let one = run_to_completion(1, 1, &reads);
        for cores in CORES {
            let cycles = run_to_completion(cores, 1, &reads);
            let at = format!("{cores} and a dispatcher");
            let paper = said.iter().find(|said| (said.0, said.1) == (name, cores)).map(|said| said.2);
            let point = Point::model(&series, &at, "cycles", cycles).beside_any(paper);
            points.push(if name == DIR.0 && paper.is_some() { point.fitted() } else { point });
            points.push(Point::model(&series, at, "of linear", one / cycles / cores as f64));
        }
        if name == DIR.0 {
            let (dispatchers, cores, all) = ESTIMATE;
            let mlps = CLOCK / run_to_completion(cores, dispatchers, &reads) / 1e6;
            let estimate =
                Point::model("DIR-24-8, two controllers, model", format!("{all} cores"), "Mlps", mlps);
            points.push(estimate.beside(ESTIMATED_MLPS));
        }
    }
    Ok(on(points, table))
}

fn on(points: Vec<Point>, table: &Named<u32>) -> Vec<Point> {
    let facts = Facts::of(table);
    points.into_iter().map(|point| point.on(&facts)).collect()
}
