//! The TILEPro64 of the TILEPro64 study: tiles, a network that a dispatcher sends addresses over,
//! and memory controllers.
//!
//! A tile waits for each element that a lookup reads, as the paper finds ("the lookup speed is
//! highly related to the number of memory accesses"). Two numbers are fitted: the cycles of one
//! read to Figure 4's fastest lookup of DIR-24-8, 168 ns, and the cycles that the dispatcher takes
//! to send an address to Figure 6's 20 cycles with eight cores.

use super::{Machine, Step, Thread, run};

/// Cycles a second.
pub(crate) const CLOCK: f64 = 700e6;

/// Fitted: the cycles of one element that a lookup reads, and of sending one address.
const READ: f64 = 117.6;
const SEND: f64 = 20.0;

/// The cycles in which a controller is held for a read: a line of 64 bytes at 3.2 bytes a
/// nanosecond and controller, from the board's data sheet. Not fitted.
const CONTROLLER: f64 = 14.0;

/// The bytes of all caches together (the paper's Table I): a table within them asks no controller.
const CACHES: usize = 4 << 20;

/// The lookups of an engine: the elements that some of them read, and the bytes of its table.
#[derive(Clone, Debug)]
pub(crate) struct Lookups {
    pub(crate) reads: Vec<f64>,
    pub(crate) bytes: usize,
}

/// The addresses that a tile has waiting.
const QUEUE: usize = 2;

/// The lookups of a run.
const LOOKUPS: usize = 4000;

/// Returns the cycles between lookups of one tile alone.
pub(crate) fn alone(Lookups { reads, .. }: &Lookups) -> f64 {
    READ * reads.iter().sum::<f64>() / reads.len().max(1) as f64
}

/// Returns the cycles between lookups of `cores` tiles behind `dispatchers`, each of which sends to
/// its own share of them, with as many controllers. A tile that has finished gets the next address.
pub(crate) fn run_to_completion(cores: usize, dispatchers: usize, lookups: &Lookups) -> f64 {
    let Lookups { reads, bytes } = lookups;
    let held = if *bytes > CACHES { CONTROLLER } else { 0.0 };
    let machine = Machine { stations: vec![1; dispatchers], rings: vec![QUEUE; cores], turns: 0 };
    let mut threads: Vec<Thread> =
        (0..dispatchers).map(|dispatcher| vec![Step::Wait(SEND), Step::Put(dispatcher)]).collect();
    threads.extend((0..cores).map(|core| {
        let mine = reads.iter().skip(core % reads.len().max(1)).chain(reads).take(reads.len());
        let lookup = |&reads: &f64| {
            let reads_once =
                [Step::Hold { station: core % dispatchers, cycles: held }, Step::Wait(READ - held)];
            let all = std::iter::repeat_n(reads_once, reads.round() as usize).flatten();
            [Step::Take(core % dispatchers)].into_iter().chain(all).chain([Step::Done]).collect::<Vec<_>>()
        };
        mine.flat_map(lookup).collect()
    }));
    1.0 / run(&machine, &threads, LOOKUPS).rate.max(1e-9)
}

/// Returns the cycles between lookups of a pipeline of `stages` tiles, which divide the reads of
/// each lookup: a tile a read, the last one those that are left.
pub(crate) fn pipeline(stages: usize, Lookups { reads, .. }: &Lookups) -> f64 {
    let machine = Machine { stations: Vec::new(), rings: vec![QUEUE; stages - 1], turns: 0 };
    let stage = |stage: usize| -> Thread {
        let steps = reads.iter().flat_map(|&reads| {
            let reads =
                if stage + 1 == stages { reads - stage as f64 } else { (reads - stage as f64).min(1.0) };
            let mut steps = Vec::new();
            if stage > 0 {
                steps.push(Step::Take(stage - 1));
            }
            steps.push(Step::Wait(READ * reads.max(0.0) + SEND));
            steps.push(if stage + 1 < stages { Step::Put(stage) } else { Step::Done });
            steps
        });
        steps.collect()
    };
    let threads: Vec<Thread> = (0..stages).map(stage).collect();
    1.0 / run(&machine, &threads, LOOKUPS).rate.max(1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn direct() -> Lookups {
        Lookups { reads: vec![1.0], bytes: 64 << 20 }
    }

    #[test]
    fn both_fitted_cells_are_met() {
        assert!((alone(&direct()) / CLOCK * 1e9 - 168.0).abs() < 0.1);
        let cycles = run_to_completion(8, 1, &direct());
        assert!((cycles / 20.0 - 1.0).abs() < 0.01, "{cycles}");
    }

    #[test]
    fn few_cores_share_the_work_and_many_wait_for_the_dispatcher() {
        let cycles = [1, 2, 4, 16].map(|cores| run_to_completion(cores, 1, &direct()));
        let expected = [117.6, 58.8, 29.4, 20.0];
        for (cycles, expected) in cycles.into_iter().zip(expected) {
            assert!((cycles / expected - 1.0).abs() < 0.02, "{cycles} beside {expected}");
        }
    }

    #[test]
    fn a_pipeline_gains_as_many_times_as_reads_are_divided() {
        // Four reads by five tiles: each takes a read and hands on.
        let four = Lookups { reads: vec![4.0], bytes: 1 << 20 };
        let gain = alone(&four) / pipeline(5, &four);
        assert!((gain - 4.0 * READ / (READ + SEND)).abs() < 0.05, "{gain}");
    }
}
