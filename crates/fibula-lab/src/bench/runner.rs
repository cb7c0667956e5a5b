//! [`Runner`]: one engine in a race, with its ceiling and its samples.

use super::pass::{self, Streaming};
use super::{BenchOptions, BenchRow, Contender, one_load, row};
use crate::Error;
use crate::answers::Answers;
use core_affinity::CoreId;
use fibula::{Address, Fib, Rib};
use fibula_engines::parallel::{Model, Parallel};
use std::time::Duration;

/// The lookups of a pass by calls for one address: dependent ones, to measure latency, and as many
/// independent ones.
const SINGLE: usize = 1 << 17;

/// An engine that is ready to run.
pub(super) struct Runner<'f, A: Address> {
    pub(super) fib: &'f Fib<A>,
    ceiling: Fib<A>,
    pub(super) row: BenchRow,
    /// The number of addresses of each part that are streamed.
    pub(super) streamed: usize,
    mlps: Vec<f64>,
    limit_mlps: Vec<f64>,
    ns_dependent: Vec<f64>,
    ns_single: Vec<f64>,
}

/// What all passes of a round have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    pub(super) threads: usize,
    /// The addresses of a call.
    pub(super) batch: usize,
    /// The bytes of another working set that each thread walks before each call.
    pub(super) polluted: usize,
}

/// The arguments that the passes of a round share.
pub(super) struct Passes<'p, A> {
    /// The addresses: one part per thread, or one part of all where threads share them.
    pub(super) parts: &'p [&'p [A]],
    /// The same number of random addresses, for the ceiling.
    pub(super) uniform: &'p [&'p [A]],
    pub(super) round: Round,
    pub(super) options: &'p BenchOptions,
    pub(super) cores: &'p [CoreId],
}

/// Builds the machine's ceiling for an engine: an array of the same size, read in the same loop.
fn ceiling<A: Address>(contender: &Contender, fib: &Fib<A>) -> Result<Fib<A>, Error> {
    let bytes = fib.memory().total().max(one_load::LEAST_BYTES);
    let mut config = contender.config();
    config.width = Some(fib.width());
    let specification = format!("one-load/bytes={bytes}");
    Ok(Fib::build_from(&one_load::ONE_LOAD, &specification, &Rib::new(), config)?)
}

impl<'f, A: Address> Runner<'f, A> {
    /// Takes an engine whose answers are right, with all of its row but the speeds.
    ///
    /// # Errors
    /// If its ceiling cannot be built.
    pub(super) fn new(contender: &Contender, fib: &'f Fib<A>, row: BenchRow) -> Result<Self, Error> {
        let ceiling = ceiling(contender, fib)?;
        Ok(Self {
            fib,
            ceiling,
            row,
            streamed: 0,
            mlps: Vec::new(),
            limit_mlps: Vec::new(),
            ns_dependent: Vec::new(),
            ns_single: Vec::new(),
        })
    }

    /// Runs one pass of the engine over its addresses, or of its ceiling over random ones.
    fn pass(&self, fib: &Fib<A>, passes: &Passes<'_, A>, own: bool, answers: &mut Answers) -> Duration {
        let &Passes { parts, uniform, round: Round { threads, batch, polluted }, options, cores } = passes;
        let parts = if own { parts } else { uniform };
        // The ceiling cannot be cut into stages, and its threads have to share the addresses too.
        if let Some((model, order)) = options.sharing {
            let model = if own || !model.is_pipeline() { model } else { Model::Own };
            let parallel = Parallel { threads, model, order, chunk: batch };
            let addresses = &parts[0][..parts[0].len().min(self.streamed)];
            return pass::shared(fib, &parallel, addresses, answers, cores);
        }
        let streamed = self.streamed;
        pass::pass(fib, parts, answers, &Streaming { streamed, batch, polluted, cores })
    }

    /// Runs untimed, and computes how many addresses fit into the longest pass.
    pub(super) fn warm_up(&mut self, passes: &Passes<'_, A>, answers: &mut Answers) {
        let all = passes.parts[0].len();
        self.streamed = all.min(1 << 16);
        let sample = self.pass(self.fib, passes, true, answers);
        let longest = passes.options.longest_pass.as_secs_f64();
        let fits = longest / sample.as_secs_f64().max(1e-9) * self.streamed as f64;
        self.streamed = all.min((fits as usize).max(self.streamed));
        self.pass(self.fib, passes, true, answers);
        self.pass(&self.ceiling, passes, false, answers);
    }

    /// Times one pass of the ceiling, then one of the engine.
    pub(super) fn race(&mut self, passes: &Passes<'_, A>, answers: &mut Answers) {
        let lookups = self.lookups(passes.parts) as f64;
        let mlps = |elapsed: Duration| lookups / elapsed.as_secs_f64().max(1e-9) / 1e6;
        let limit = self.pass(&self.ceiling, passes, false, answers);
        let own = self.pass(self.fib, passes, true, answers);
        self.limit_mlps.push(mlps(limit));
        self.mlps.push(mlps(own));
    }

    /// Times one pass of calls for one address, dependent and independent ones. Each pass has other
    /// addresses of the trace, and each half of it its own.
    pub(super) fn race_single(&mut self, addresses: &[A], pass: usize, core: Option<&CoreId>) {
        let some = |number: usize| {
            let addresses = &addresses[number * SINGLE % addresses.len()..];
            &addresses[..addresses.len().min(SINGLE).min(self.streamed)]
        };
        self.ns_dependent.push(pass::dependent(self.fib, some(2 * pass), core));
        self.ns_single.push(pass::single(self.fib, some(2 * pass + 1), core));
    }

    /// Returns the lookups of one pass, all threads together.
    fn lookups(&self, parts: &[&[A]]) -> usize {
        parts.iter().map(|part| part.len().min(self.streamed)).sum()
    }

    /// Returns the row of the passes so far, and clears them. `threads` is the number that ran.
    pub(super) fn take_row(&mut self, passes: &Passes<'_, A>, threads: usize, mismatches: u64) -> BenchRow {
        let (own, limit) = (std::mem::take(&mut self.mlps), std::mem::take(&mut self.limit_mlps));
        let dependent = std::mem::take(&mut self.ns_dependent);
        let single = std::mem::take(&mut self.ns_single);
        let row = BenchRow {
            addresses: self.lookups(passes.parts) as u64,
            threads: threads as u64,
            batch: passes.round.batch as u64,
            polluted: (!passes.options.polluted.is_empty()).then_some(passes.round.polluted as u64),
            mismatches,
            ..self.row.clone()
        };
        if mismatches > 0 {
            return row;
        }
        let mlps = row::median(&own);
        let limit_mlps = row::median(&limit);
        BenchRow {
            mlps: mlps.map(row::rounded),
            mlps_min: own.iter().copied().min_by(f64::total_cmp).map(row::rounded),
            mlps_max: own.iter().copied().max_by(f64::total_cmp).map(row::rounded),
            ns_dependent: row::median(&dependent).map(row::rounded),
            ns_single: row::median(&single).map(row::rounded),
            limit_mlps: limit_mlps.map(row::rounded),
            limit_share: mlps.zip(limit_mlps).map(|(mlps, limit)| row::rounded(mlps / limit)),
            ..row
        }
    }
}
