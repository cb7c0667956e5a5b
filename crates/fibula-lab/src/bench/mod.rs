//! Measures the speed of engines. Every engine is checked first, engines take turns pass by pass,
//! and the machine's own ceiling is beside them.
//!
//! What a figure means:
//! - **Throughput**: each address is read from an array, and each next hop is stored to an array at
//!   the engine's width, in batches of a given size. There is one table and one thread per core;
//!   all threads start together.
//! - **Interleaved**: machines drift. In every pass each engine runs once. The figure is the median
//!   of the passes, with the slowest and the fastest beside it.
//! - **Checked**: the answers for at least a million addresses (or all) are compared with the
//!   oracle's before timing, and those of the last timed pass after it. An engine with a wrong
//!   answer gets no speed.
//! - **Polluted**: before each batch, the thread changes every cache line of another working set,
//!   as an application does with its packets. The walk does not count. The clock is read twice for
//!   each batch, so batches of a few addresses look slower than they are.
//! - **Latency**: one call for each address, which depends on the answer before.
//! - **Single**: one call for each address, which is known beforehand. So lookups overlap as far as
//!   the processor looks ahead.
//! - **Ceiling**: one random independent load per address from an array of the engine's size, run
//!   in the same loop directly before it. The ceiling's own addresses are uniformly random for
//!   every trace: an engine can pass it where a trace touches little of its table.

mod one_load;
mod pass;
mod row;
mod runner;

pub use row::BenchRow;
pub(crate) use row::{median, rounded};

use crate::answers::Answers;
use crate::mismatch::Tally;
use crate::verify::uniform;
use crate::{Error, Expected, Mismatch, Refusal};
use core_affinity::CoreId;
use fibula::engine::Level;
use fibula::engine::Pages;
use fibula::engine::{BEST, Config, Entry, WidthBits};
use fibula::{Address, Fib, Rib};
use fibula_engines::parallel::{Model, Order};
use runner::{Passes, Round, Runner};
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// One engine in a race, and how to build it.
#[derive(Clone, Debug)]
pub struct Contender {
    /// The engine's specification.
    pub specification: String,
    /// The instruction set.
    pub isa: Level,
    /// The width of the answers; the narrowest that holds the table when `None`.
    pub width: Option<WidthBits>,
    /// The pages that large arrays ask for.
    pub pages: Pages,
}

impl Contender {
    /// An engine with the framework's defaults.
    #[must_use]
    pub fn new(specification: impl Into<String>) -> Self {
        Self { specification: specification.into(), isa: Level::best(), width: None, pages: Pages::Small }
    }

    fn config(&self) -> Config {
        let mut config = Config::default();
        config.isa = self.isa;
        config.width = self.width;
        config.pages = self.pages;
        config
    }
}

/// The table and the addresses of a race.
#[derive(Clone, Copy, Debug)]
pub struct Workload<'w, A: Address> {
    /// The table's name in the results.
    pub table: &'w str,
    /// The table.
    pub rib: &'w Rib<A>,
    /// The addresses' name in the results.
    pub trace: &'w str,
    /// The addresses, in the order in which they are looked up. At least one.
    pub addresses: &'w [A],
}

/// How to race.
#[derive(Clone, Debug)]
pub struct BenchOptions {
    /// The numbers of threads to run with; each makes its own rows.
    pub threads: Vec<usize>,
    /// The bytes of another working set that each thread walks before each batch. Each makes its
    /// own rows. Empty: none is walked. Threads that share the addresses cannot have one.
    pub polluted: Vec<usize>,
    /// The numbers of addresses handed over in one call; each makes its own rows. The default
    /// (16,384) keeps a batch's addresses and answers in the core's own cache.
    pub batches: Vec<usize>,
    /// How threads share the addresses; `None` for one contiguous part each.
    pub sharing: Option<(Model, Order)>,
    /// Timed passes; at least 5 for a useful median.
    pub passes: usize,
    /// Addresses compared with the oracle (all, if the trace is shorter).
    pub check: usize,
    /// The longest time of a pass. An engine too slow for all addresses streams only the first of
    /// each part, and its row says how many.
    pub longest_pass: Duration,
}

impl Default for BenchOptions {
    fn default() -> Self {
        Self {
            threads: vec![1],
            polluted: Vec::new(),
            batches: vec![16_384],
            sharing: None,
            passes: 9,
            check: 1 << 20,
            longest_pass: Duration::from_secs(2),
        }
    }
}

impl BenchOptions {
    fn check_legal(&self) -> Result<(), Error> {
        if self.batches.contains(&0) || self.passes == 0 || self.threads.contains(&0) {
            return Err(Error::usage("threads, batch and passes are at least 1"));
        }
        if let Some((model @ (Model::RoundRobin | Model::ByBatch), _)) = self.sharing
            && self.threads.contains(&1)
        {
            return Err(Error::usage(format!("{model}: a dispatcher needs a second thread (--threads 2)")));
        }
        if self.sharing.is_some() && !self.polluted.is_empty() {
            return Err(Error::usage("threads that share the addresses cannot be polluted"));
        }
        Ok(())
    }
}

/// An engine that has compiled a table, for races on any number of traces.
#[derive(Debug)]
pub(crate) struct Compiled<A: Address> {
    pub(crate) contender: Contender,
    pub(crate) fib: Fib<A>,
    build_ms: f64,
}

/// Compiles a table by each of some engines, but for those that refuse it.
///
/// # Errors
/// If a specification names no engine or is not legal.
pub(crate) fn compile<A: Address>(
    engines: &'static [Entry],
    contenders: &[Contender],
    rib: &Rib<A>,
) -> Result<(Vec<Compiled<A>>, Vec<Refusal>), Error> {
    let (mut compiled, mut refused) = (Vec::new(), Vec::new());
    for contender in contenders {
        let specification = &contender.specification;
        let start = Instant::now();
        match Fib::build_from(engines, specification, rib, contender.config()) {
            Ok(fib) => {
                let build_ms = start.elapsed().as_secs_f64() * 1000.0;
                compiled.push(Compiled { contender: contender.clone(), fib, build_ms });
            }
            Err(error) => Refusal::of::<A>(specification, error)?.add_to(&mut refused),
        }
    }
    Ok((compiled, refused))
}

/// The results of a race.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BenchReport {
    /// One row per engine and number of threads.
    pub rows: Vec<BenchRow>,
    /// The first wrong answers of the engines that gave any.
    pub wrong: Vec<Mismatch>,
    /// Engines that refused the table.
    pub refused: Vec<Refusal>,
}

/// A race in preparation: the table, the addresses and their right answers, computed once for any
/// number of races.
#[derive(Debug)]
pub struct Race<'w, A: Address> {
    workload: Workload<'w, A>,
    /// The right answers of every `stride`-th address of the trace.
    expected: Expected<A>,
    stride: usize,
    /// The same number of uniformly random addresses, for the ceiling.
    uniform: Vec<A>,
    next_hops: u64,
}

impl<'w, A: Address> Race<'w, A> {
    /// Computes the right answers of `check` addresses spread over the whole trace.
    ///
    /// # Errors
    /// If there are no addresses, or the judges disagree.
    pub fn new(workload: Workload<'w, A>, check: usize) -> Result<Self, Error> {
        let Workload { rib, addresses, .. } = workload;
        if addresses.is_empty() {
            return Err(Error::usage("there are no addresses to look up"));
        }
        let stride = (addresses.len() / check.max(1)).max(1);
        let expected = Expected::new(rib, addresses.iter().step_by(stride).copied().collect())?;
        let mut random = fastrand::Rng::with_seed(1);
        let uniform = addresses.iter().map(|_| uniform(&mut random)).collect();
        let next_hops = rib.iter().map(|route| route.next_hop).collect::<HashSet<_>>().len() as u64;
        Ok(Self { workload, expected, stride, uniform, next_hops })
    }

    /// Compiles the table, checks the contenders, then races those whose answers are right. Calls
    /// `progress` with the passes done and the passes to be done.
    ///
    /// # Errors
    /// If a specification names no engine or is not legal, or an option is 0. An engine that
    /// refuses the table is a [`Refusal`]. One with wrong answers has a row without speed.
    pub fn run(
        &self,
        engines: &'static [Entry],
        contenders: &[Contender],
        options: &BenchOptions,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<BenchReport, Error> {
        // Before the table is compiled, which may take long.
        options.check_legal()?;
        let (compiled, refused) = compile(engines, contenders, self.workload.rib)?;
        Ok(BenchReport { refused, ..self.race(&compiled, options, progress)? })
    }

    /// As [`run`](Self::run), with engines that have compiled the table.
    ///
    /// # Errors
    /// If an option is 0.
    pub(crate) fn race(
        &self,
        compiled: &[Compiled<A>],
        options: &BenchOptions,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<BenchReport, Error> {
        options.check_legal()?;
        let cores = pass::cores();
        let mut report = BenchReport::default();
        let mut runners = Vec::new();
        for Compiled { contender, fib, build_ms } in compiled {
            let specification = &contender.specification;
            if options.sharing.is_some_and(|(model, _)| model.is_pipeline()) && fib.stages() < 2 {
                let what = "its lookup is not cut into the stages of a pipeline";
                return Err(Error::usage(format!("{specification}: {what}")));
            }
            let row = self.blank_row(contender, fib, *build_ms, options);
            let tallies = options.batches.iter().map(|&batch| self.check(fib, batch));
            let tally = tallies.reduce(Tally::merge).unwrap_or_else(Tally::new);
            if tally.mismatches > 0 {
                report.wrong.extend(tally.shown(&row.engine, contender.isa.name()));
                for &threads in &options.threads {
                    let (threads, mismatches) = (threads as u64, tally.mismatches);
                    report.rows.push(BenchRow { threads, mismatches, ..row.clone() });
                }
                continue;
            }
            runners.push(Runner::new(contender, fib, row)?);
        }
        let polluted = if options.polluted.is_empty() { &[0][..] } else { &options.polluted };
        let mut rounds = Vec::new();
        for &threads in &options.threads {
            for &batch in &options.batches {
                rounds.extend(polluted.iter().map(|&polluted| Round { threads, batch, polluted }));
            }
        }
        let passes = rounds.len() * (options.passes + 1);
        for (number, &round) in rounds.iter().enumerate() {
            let mut each_pass = |pass| progress(number * (options.passes + 1) + pass, passes);
            let rows = self.round(&mut runners, round, options, &cores, &mut each_pass, &mut report.wrong);
            report.rows.extend(rows);
        }
        Ok(report)
    }

    /// Runs all passes of a round: a warm-up, then the timed ones.
    fn round(
        &self,
        runners: &mut [Runner<'_, A>],
        round: Round,
        options: &BenchOptions,
        cores: &[CoreId],
        each_pass: &mut dyn FnMut(usize),
        wrong: &mut Vec<Mismatch>,
    ) -> Vec<BenchRow> {
        let (addresses, threads) = (self.workload.addresses, round.threads);
        // Threads that share the addresses have all of them in one part.
        let part =
            if options.sharing.is_some() { addresses.len() } else { addresses.len().div_ceil(threads) };
        let parts: Vec<&[A]> = addresses.chunks(part).collect();
        let uniform: Vec<&[A]> = self.uniform.chunks(part).collect();
        let mut answers: Vec<(WidthBits, Answers)> = Vec::new();
        for runner in runners.iter() {
            let width = runner.fib.width();
            if !answers.iter().any(|&(known, _)| known == width) {
                answers.push((width, Answers::new(width, addresses.len())));
            }
        }
        let mut tallies = Vec::new();
        let passes = Passes { parts: &parts, uniform: &uniform, round, options, cores };
        for pass in 0..=options.passes {
            each_pass(pass);
            for runner in runners.iter_mut() {
                let width = runner.fib.width();
                let answers = answers.iter_mut().find(|(known, _)| *known == width);
                let answers = &mut answers.expect("made above for every width").1;
                if pass == 0 {
                    runner.warm_up(&passes, answers);
                    continue;
                }
                runner.race(&passes, answers);
                runner.race_single(addresses, pass, cores.first());
                if pass == options.passes {
                    tallies.push(self.check_pass(answers, part, runner.streamed));
                }
            }
        }
        let mut rows = Vec::new();
        for (runner, tally) in runners.iter_mut().zip(tallies) {
            wrong.extend(tally.shown(&runner.row.engine, "timed pass"));
            let threads = if options.sharing.is_some() { threads } else { parts.len() };
            rows.push(runner.take_row(&passes, threads, tally.mismatches));
        }
        rows
    }

    /// Compares the engine's answers with the right ones, batch by batch as in the timed loop and
    /// one by one.
    fn check(&self, fib: &Fib<A>, batch: usize) -> Tally<A> {
        let expected = &self.expected;
        let mut tally = Tally::new();
        let mut answers = Answers::new(fib.width(), batch.min(expected.addresses().len()));
        for (addresses, right) in expected.addresses().chunks(batch).zip(expected.next_hops().chunks(batch)) {
            answers.poison();
            fib.lookup_batch_into(addresses, answers.first(addresses.len()));
            for (index, (&address, &right)) in addresses.iter().zip(right).enumerate() {
                tally.compare(address, right, answers.get(index));
            }
        }
        tally.merge(crate::verify::ask_one_by_one(&**fib, expected))
    }

    /// Compares the answers of a timed pass with the right ones.
    fn check_pass(&self, answers: &Answers, part: usize, streamed: usize) -> Tally<A> {
        let mut tally = Tally::new();
        for (index, &right) in self.expected.next_hops().iter().enumerate() {
            let position = index * self.stride;
            if position % part < streamed {
                tally.compare(self.workload.addresses[position], right, answers.get(position));
            }
        }
        tally
    }

    /// Returns a row with everything but the speeds.
    fn blank_row(
        &self,
        contender: &Contender,
        fib: &Fib<A>,
        build_ms: f64,
        options: &BenchOptions,
    ) -> BenchRow {
        let memory = fib.memory();
        let Contender { specification, isa, pages, .. } = contender;
        let chosen = fib.entry().about.name;
        let engine = if specification == BEST { format!("{BEST} ({chosen})") } else { specification.clone() };
        BenchRow {
            engine,
            family: A::FAMILY.to_string(),
            table: self.workload.table.into(),
            prefixes: self.workload.rib.len() as u64,
            next_hops: self.next_hops,
            trace: self.workload.trace.into(),
            addresses: self.workload.addresses.len() as u64,
            threads: 0,
            batch: options.batches.first().copied().unwrap_or_default() as u64,
            polluted: None,
            isa: isa.name().into(),
            huge_pages: *pages == Pages::Huge,
            mlps: None,
            mlps_min: None,
            mlps_max: None,
            ns_dependent: None,
            ns_single: None,
            bytes: memory.total() as u64,
            bytes_by_part: row::parts(&memory),
            build_ms: row::rounded(build_ms),
            checked: self.expected.addresses().len() as u64,
            mismatches: 0,
            limit_mlps: None,
            limit_share: None,
            model: options.sharing.map(|(model, _)| model.to_string()),
            order: options.sharing.map(|(_, order)| order.to_string()),
        }
    }
}

/// Prepares a race and runs it: see [`Race::new`] and [`Race::run`].
///
/// # Errors
/// See [`Race::new`] and [`Race::run`].
///
/// ```
/// use fibula::{NextHop, Rib};
/// use fibula_engines::all;
/// use fibula_lab::bench::{BenchOptions, Contender, Workload, bench};
/// let mut rib: Rib<u32> = Rib::new();
/// rib.insert("192.0.2.0/24".parse().unwrap(), NextHop(1));
/// let addresses: Vec<u32> = (0..1000).map(|i| 0xC000_0200 + i).collect();
/// let (table, trace) = ("one route", "sequential");
/// let workload = Workload { table, rib: &rib, trace, addresses: &addresses };
/// let options = BenchOptions { passes: 5, ..BenchOptions::default() };
/// let report = bench(all(), &[Contender::new("oracle")], workload, &options).unwrap();
/// assert_eq!((report.rows[0].checked, report.rows[0].mismatches), (1000, 0));
/// assert!(report.rows[0].mlps.unwrap() > 0.0);
/// ```
pub fn bench<A: Address>(
    engines: &'static [Entry],
    contenders: &[Contender],
    workload: Workload<'_, A>,
    options: &BenchOptions,
) -> Result<BenchReport, Error> {
    Race::new(workload, options.check)?.run(engines, contenders, options, &mut |_, _| {})
}

#[cfg(test)]
mod tests {
    use super::*;
    use fibula::NextHop;
    use fibula_engines::all;

    fn run(sharing: Option<(Model, Order)>, engine: &str, threads: usize) -> Result<BenchReport, Error> {
        let mut rib: Rib<u32> = Rib::new();
        rib.insert("192.0.2.0/24".parse().unwrap(), NextHop(1));
        let addresses: Vec<u32> = (0..2000).map(|at| 0xC000_0180 + at).collect();
        let workload = Workload { table: "one route", rib: &rib, trace: "sequential", addresses: &addresses };
        let options = BenchOptions {
            passes: 5,
            threads: vec![threads],
            batches: vec![100, 7],
            sharing,
            ..BenchOptions::default()
        };
        bench(all(), &[Contender::new(engine)], workload, &options)
    }

    #[test]
    fn threads_that_share_addresses_are_measured_and_checked() {
        for model in Model::ALL {
            let report = run(Some((model, Order::Kept)), "tree-bitmap", 2).unwrap();
            let row = &report.rows[0];
            assert_eq!((row.threads, row.addresses, row.mismatches, row.checked), (2, 2000, 0, 2000));
            assert_eq!(report.rows.iter().map(|row| row.batch).collect::<Vec<_>>(), [100, 7]);
            assert_eq!((row.model.as_deref(), row.order.as_deref()), (Some(model.name()), Some("kept")));
            assert!(row.mlps.unwrap() > 0.0);
        }
        assert_eq!(run(None, "tree-bitmap", 2).unwrap().rows[0].model, None);
    }

    #[test]
    fn each_number_of_threads_meets_each_working_set() {
        let mut rib: Rib<u32> = Rib::new();
        rib.insert("192.0.2.0/24".parse().unwrap(), NextHop(1));
        let addresses: Vec<u32> = (0..2000).map(|at| 0xC000_0180 + at).collect();
        let workload = Workload { table: "one route", rib: &rib, trace: "sequential", addresses: &addresses };
        let polluted = vec![0, 1 << 16];
        let options = BenchOptions {
            passes: 5,
            threads: vec![1, 2],
            batches: vec![100],
            polluted,
            ..BenchOptions::default()
        };
        let report = bench(all(), &[Contender::new("dir24-8")], workload, &options).unwrap();
        let rows: Vec<_> =
            report.rows.iter().map(|row| (row.threads, row.polluted, row.mismatches)).collect();
        assert_eq!(rows, [(1, Some(0), 0), (1, Some(1 << 16), 0), (2, Some(0), 0), (2, Some(1 << 16), 0)]);
        let sharing = Some((Model::Own, Order::Kept));
        let error = bench(all(), &[], workload, &BenchOptions { sharing, ..options }).unwrap_err();
        assert_eq!(error.to_string(), "threads that share the addresses cannot be polluted");
    }

    #[test]
    fn what_a_model_lacks_is_said() {
        let error = run(Some((Model::ByBatch, Order::Free)), "oracle", 1).unwrap_err().to_string();
        assert_eq!(error, "by-batch: a dispatcher needs a second thread (--threads 2)");
        let error = run(Some((Model::Pipeline, Order::Free)), "oracle", 2).unwrap_err().to_string();
        assert_eq!(error, "oracle: its lookup is not cut into the stages of a pipeline");
    }
}
