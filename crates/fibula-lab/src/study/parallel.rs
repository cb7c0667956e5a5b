//! The models of sharing addresses among threads, side by side.

use crate::answers::Answers;
use crate::bench::{median, rounded};
use crate::{Error, Expected, Refusal};
use core_affinity::CoreId;
use fibula::engine::{Config, Entry};
use fibula::{Address, Fib, Rib};
use fibula_engines::parallel::{Model, Order, Parallel};
use serde::Serialize;

/// What is measured.
#[derive(Clone, Debug)]
pub struct ParallelOptions {
    /// The numbers of threads, a dispatcher included. One thread alone is measured too.
    pub threads: Vec<usize>,
    /// The addresses of a chunk: the first value for all models, the others for the dynamic
    /// schedule only.
    pub chunks: Vec<usize>,
    /// Timed passes, in each of which everything runs once.
    pub passes: usize,
}

/// One engine with one model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ParallelRow {
    /// The engine's specification.
    pub engine: String,
    /// How threads share the addresses.
    pub model: String,
    /// When answers are delivered.
    pub order: String,
    /// How many threads, a dispatcher included.
    pub threads: usize,
    /// The addresses of a chunk.
    pub chunk: usize,
    /// Million lookups a second, all threads together: the median of the passes.
    pub mlps: f64,
    /// The slowest pass.
    pub mlps_min: f64,
    /// The fastest pass: the nearest to an idle machine.
    pub mlps_max: f64,
    /// Answers of the last pass that differ from the oracle's.
    pub mismatches: u64,
}

/// The results of measuring some engines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParallelStudy {
    /// One row for each engine, model, order, number of threads and chunk.
    pub rows: Vec<ParallelRow>,
    /// Engines that refused the table.
    pub refused: Vec<Refusal>,
}

/// One engine with one model, and its passes so far.
struct Run {
    fib: usize,
    parallel: Parallel,
    mlps: Vec<f64>,
    mismatches: u64,
}

/// Returns all runs of one engine: one thread alone, then each model in each order that it has, and
/// the dynamic schedule with each chunk.
fn ways<A: Address>(fib: &Fib<A>, options: &ParallelOptions) -> Vec<Parallel> {
    let ParallelOptions { threads, chunks, .. } = options;
    let chunk = chunks.first().copied().unwrap_or(1);
    let mut ways = vec![Parallel { threads: 1, model: Model::Own, order: Order::Free, chunk }];
    for &threads in threads.iter().filter(|&&threads| threads > 1) {
        for model in Model::ALL {
            let chunks = if model == Model::Dynamic { &chunks[..] } else { &chunks[..1] };
            let orders = match model {
                _ if model.is_pipeline() && fib.stages() < 2 => &[][..],
                // Two pipelines are the fewest side by side.
                Model::Pipelines if threads < 4 => &[][..],
                Model::Pipelines => &[Order::Free][..],
                Model::Pipeline => &[Order::Kept][..], // by itself
                _ => &[Order::Free, Order::Kept],
            };
            // A pipeline starts no more threads than there are stages.
            let threads = model.threads_used(threads, fib.stages());
            let is_same = |way: &Parallel| (way.model, way.threads) == (model, threads);
            if ways.iter().any(is_same) {
                continue;
            }
            let each = chunks.iter().flat_map(|&chunk| orders.iter().map(move |&order| (chunk, order)));
            ways.extend(each.map(|(chunk, order)| Parallel { threads, model, order, chunk }));
        }
    }
    ways
}

/// Measures engines in all runs over these addresses, interleaved pass by pass.
///
/// # Errors
/// If a specification names no engine, or there are no addresses, chunks or passes. An engine that
/// cannot hold the table is a [`Refusal`].
pub fn study_parallel<A: Address>(
    engines: &'static [Entry],
    specifications: &[String],
    rib: &Rib<A>,
    addresses: &[A],
    options: &ParallelOptions,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<ParallelStudy, Error> {
    if addresses.is_empty() || options.chunks.is_empty() || options.chunks.contains(&0) || options.passes == 0
    {
        return Err(Error::usage("addresses, chunks and passes are at least 1"));
    }
    let expected = Expected::new(rib, addresses.to_vec())?;
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    let mut refused = Vec::new();
    let mut fibs: Vec<(&str, Fib<A>)> = Vec::new();
    for name in specifications {
        match Fib::build_from(engines, name, rib, Config::default()) {
            Ok(fib) => fibs.push((name, fib)),
            Err(error) => refused.push(Refusal::of::<A>(name, error)?),
        }
    }
    let each = fibs.iter().enumerate().flat_map(|(fib, (_, built))| {
        ways(built, options).into_iter().map(move |parallel| Run {
            fib,
            parallel,
            mlps: Vec::new(),
            mismatches: 0,
        })
    });
    let mut runs: Vec<Run> = each.collect();
    let each = runs.len();
    for pass in 0..=options.passes {
        for (at, run) in runs.iter_mut().enumerate() {
            progress(pass * each + at, (options.passes + 1) * each);
            let fib = &fibs[run.fib].1;
            let mut answers = Answers::new(fib.width(), addresses.len());
            let elapsed =
                run.parallel.run(&**fib, addresses, answers.first(addresses.len()), &pin(&cores))?;
            if pass > 0 {
                run.mlps.push(addresses.len() as f64 / elapsed.as_secs_f64().max(1e-9) / 1e6);
            }
            if pass == options.passes {
                let right = expected.next_hops().iter().enumerate();
                run.mismatches = right.filter(|&(at, &right)| answers.get(at) != right).count() as u64;
            }
        }
    }
    let rows = runs.iter().map(|run| row(run, fibs[run.fib].0)).collect();
    Ok(ParallelStudy { rows, refused })
}

/// Pins thread *n* to core *n*, if there is one.
fn pin(cores: &[CoreId]) -> impl Fn(usize) + Sync {
    move |thread| {
        if let Some(&core) = cores.get(thread) {
            core_affinity::set_for_current(core);
        }
    }
}

fn row(run: &Run, engine: &str) -> ParallelRow {
    let Parallel { threads, model, order, chunk } = run.parallel;
    let of = |chosen: Option<f64>| rounded(chosen.unwrap_or_default());
    ParallelRow {
        engine: engine.into(),
        model: model.to_string(),
        order: order.to_string(),
        threads,
        chunk,
        mlps: of(median(&run.mlps)),
        mlps_min: of(run.mlps.iter().copied().min_by(f64::total_cmp)),
        mlps_max: of(run.mlps.iter().copied().max_by(f64::total_cmp)),
        mismatches: run.mismatches,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fibula::NextHop;
    use fibula_engines::all;

    #[test]
    fn every_way_is_measured_and_right_and_only_engines_with_stages_have_a_pipeline() {
        let mut rib: Rib<u32> = Rib::new();
        rib.insert("10.0.0.0/8".parse().unwrap(), NextHop(1));
        rib.insert("10.1.2.128/25".parse().unwrap(), NextHop(2));
        let addresses: Vec<u32> = (0..3000).map(|at| 0x0A01_0000 + at).collect();
        let options = ParallelOptions { threads: vec![2, 6, 7], chunks: vec![64, 7], passes: 1 };
        let engines = ["tree-bitmap".to_owned(), "oracle".to_owned()];
        let study = study_parallel(all(), &engines, &rib, &addresses, &options, &mut |_, _| {}).unwrap();
        let ParallelStudy { rows, .. } = study;
        assert!(rows.iter().all(|row| row.mismatches == 0 && row.mlps > 0.0 && row.mlps_min <= row.mlps_max));
        // One thread; for each number of threads own, in turn, dynamic with two chunks, and two
        // dispatchers, in both orders; the pipeline, which never has more threads than its five
        // stages; three pipelines of two threads.
        let of = |engine: &str| rows.iter().filter(|row| row.engine == engine).count();
        assert_eq!((of("tree-bitmap"), of("oracle")), (1 + 3 * 12 + 3, 1 + 3 * 12));
        let pipelines = |threads, model: &str| {
            rows.iter().filter(|row| (row.threads, row.model.as_str()) == (threads, model)).count()
        };
        assert_eq!([pipelines(2, "pipeline"), pipelines(5, "pipeline"), pipelines(6, "pipelines")], [1; 3]);
    }
}
