//! [`Runner`]: one engine in a race, with its ceiling and its samples.

use super::{BenchOptions, BenchRow, Contender, one_load, pass, row};
use crate::Error;
use crate::answers::Answers;
use core_affinity::CoreId;
use fibula::{Address, Fib, Rib};
use std::time::Duration;

/// Addresses looked up one after the other in a pass, to measure latency.
const DEPENDENT: usize = 1 << 17;

/// An engine that stands at the start.
pub(super) struct Runner<A: Address> {
    pub(super) fib: Fib<A>,
    ceiling: Fib<A>,
    pub(super) row: BenchRow,
    /// How many addresses of each part are streamed.
    pub(super) streamed: usize,
    mlps: Vec<f64>,
    limit_mlps: Vec<f64>,
    ns_dependent: Vec<f64>,
}

/// The machine's ceiling for an engine: an array of the same size, asked for in the same way.
fn ceiling<A: Address>(contender: &Contender, fib: &Fib<A>) -> Result<Fib<A>, Error> {
    let bytes = fib.memory().total().max(one_load::LEAST_BYTES);
    let mut config = contender.config();
    config.width = Some(fib.width());
    let specification = format!("one-load/bytes={bytes}");
    Ok(Fib::build_from(&one_load::ONE_LOAD, &specification, &Rib::new(), config)?)
}

impl<A: Address> Runner<A> {
    /// An engine whose answers are right, with all of its row but the speeds.
    ///
    /// # Errors
    /// If its ceiling cannot be built.
    pub(super) fn new(contender: &Contender, fib: Fib<A>, row: BenchRow) -> Result<Self, Error> {
        let ceiling = ceiling(contender, &fib)?;
        let (mlps, limit_mlps, ns_dependent) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { fib, ceiling, row, streamed: 0, mlps, limit_mlps, ns_dependent })
    }

    /// One pass of this engine or of its ceiling.
    fn pass(
        &self,
        fib: &Fib<A>,
        parts: &[&[A]],
        answers: &mut Answers,
        options: &BenchOptions,
        cores: &[CoreId],
    ) -> Duration {
        pass::pass(fib, parts, answers, options.batch, self.streamed, cores)
    }

    /// Runs untimed, and finds how many addresses fit into the longest pass.
    pub(super) fn warm_up(
        &mut self,
        parts: &[&[A]],
        uniform: &[&[A]],
        answers: &mut Answers,
        options: &BenchOptions,
        cores: &[CoreId],
    ) {
        let all = parts[0].len();
        self.streamed = all.min(1 << 16);
        let sample = self.pass(&self.fib, parts, answers, options, cores);
        let fits = options.longest_pass.as_secs_f64() / sample.as_secs_f64().max(1e-9) * self.streamed as f64;
        self.streamed = all.min((fits as usize).max(self.streamed));
        self.pass(&self.fib, parts, answers, options, cores);
        self.pass(&self.ceiling, uniform, answers, options, cores);
    }

    /// One timed pass of the engine, then one of its ceiling.
    pub(super) fn race(
        &mut self,
        parts: &[&[A]],
        uniform: &[&[A]],
        answers: &mut Answers,
        options: &BenchOptions,
        cores: &[CoreId],
    ) {
        let lookups = self.lookups(parts) as f64;
        let mlps = |elapsed: Duration| lookups / elapsed.as_secs_f64().max(1e-9) / 1e6;
        let limit = self.pass(&self.ceiling, uniform, answers, options, cores);
        let own = self.pass(&self.fib, parts, answers, options, cores);
        self.limit_mlps.push(mlps(limit));
        self.mlps.push(mlps(own));
    }

    /// One timed pass of dependent lookups, in each pass of other addresses of the trace.
    pub(super) fn race_dependent(&mut self, addresses: &[A], pass: usize, core: Option<&CoreId>) {
        let addresses = &addresses[pass * DEPENDENT % addresses.len()..];
        let addresses = &addresses[..addresses.len().min(DEPENDENT).min(self.streamed)];
        let elapsed = pass::dependent(&self.fib, addresses, core);
        self.ns_dependent.push(elapsed.as_secs_f64() * 1e9 / addresses.len() as f64);
    }

    /// The lookups of one pass, all threads together.
    fn lookups(&self, parts: &[&[A]]) -> usize {
        parts.iter().map(|part| part.len().min(self.streamed)).sum()
    }

    /// The row of the passes so far, which are forgotten.
    pub(super) fn take_row(&mut self, threads: usize, parts: &[&[A]], mismatches: u64) -> BenchRow {
        let (own, limit) = (std::mem::take(&mut self.mlps), std::mem::take(&mut self.limit_mlps));
        let dependent = std::mem::take(&mut self.ns_dependent);
        let row = BenchRow {
            addresses: self.lookups(parts) as u64,
            threads: threads as u64,
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
            limit_mlps: limit_mlps.map(row::rounded),
            limit_share: mlps.zip(limit_mlps).map(|(mlps, limit)| row::rounded(mlps / limit)),
            ..row
        }
    }
}
