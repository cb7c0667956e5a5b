//! [`Lab`]: what exhibits are measured with.

use crate::{Error, Facts, Finding, Point, Span};
use fibula::engine::Level;
use fibula::engine::{Accesses, Entry, WidthBits};
use fibula::{Address, Change, Fib, NextHop, Rib, Route};
use fibula_engines::parallel::{Model, Order};
use fibula_io::Source;
use fibula_io::trace::{self, TraceKind};
use fibula_kit::distinct;
use fibula_lab::bench::{BenchOptions, BenchRow, Contender, Race, Workload};
use fibula_lab::study::{ParallelOptions, ParallelRow, study_parallel};
use fibula_lab::verify::{ExhaustiveOptions, VerifyOptions, exhaustive, verify};

/// A table and its name.
#[derive(Clone, Debug)]
pub struct Named<A: Address> {
    /// The name in the results.
    pub name: String,
    /// The table.
    pub rib: Rib<A>,
}

/// How much to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// The addresses of a trace.
    pub addresses: usize,
    /// The timed passes; the value is their median.
    pub passes: usize,
    /// The numbers of threads, without 1, which is always measured.
    pub threads: Vec<usize>,
    /// Addresses of real traffic, whose locality the traces of real traffic take.
    pub traffic: Option<Source>,
    /// Changes of the first IPv4 table, where real ones are known: those of Figure 11 of SAIL.
    pub changes: Vec<Change<u32>>,
    /// The prefixes of each length whose updates are timed.
    pub updates: usize,
    /// The factor by which made tables and buffers are smaller than the paper's. 1 for the paper's
    /// sizes; tests take more.
    pub smaller: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            addresses: 1 << 22,
            passes: 5,
            threads: vec![2],
            traffic: None,
            changes: Vec::new(),
            updates: 64,
            smaller: 1,
        }
    }
}

/// Tables, engines and options: what an exhibit is made from.
#[derive(Clone, Debug)]
pub struct Lab {
    /// The engines.
    pub engines: &'static [Entry],
    /// The IPv4 tables. Exhibits of one table take the first.
    pub ipv4: Vec<Named<u32>>,
    /// The IPv6 tables.
    pub ipv6: Vec<Named<u128>>,
    /// How much to measure.
    pub options: Options,
}

impl Lab {
    /// Returns the IPv4 table of exhibits of one table.
    pub(crate) fn table(&self) -> Result<&Named<u32>, Error> {
        self.ipv4.first().ok_or_else(|| Error::none("no IPv4 table given"))
    }

    /// Returns the first IPv6 table.
    pub(crate) fn table6(&self) -> Result<&Named<u128>, Error> {
        self.ipv6.first().ok_or_else(|| Error::none("no IPv6 table given"))
    }

    /// Returns 1 and the numbers of threads that were asked for.
    pub(crate) fn threads(&self) -> Vec<usize> {
        let mut threads = self.options.threads.clone();
        threads.push(1);
        threads.sort_unstable();
        threads.dedup();
        threads
    }

    /// Draws the addresses of a trace.
    pub(crate) fn trace<A: Address>(&self, kind: &TraceKind, rib: &Rib<A>) -> Result<Vec<A>, Error> {
        Ok(trace::generate_among(self.engines, kind, rib, self.options.addresses, 1)?)
    }

    /// Returns the trace that stands for real traffic: the locality of the one that was given, or
    /// else Zipf's law.
    pub(crate) fn realistic(&self) -> TraceKind {
        self.options.traffic.clone().map_or(TraceKind::Zipf, TraceKind::Mapped)
    }

    /// Compares engines' answers with the oracle's, around every prefix and at random addresses.
    /// Returns for each, by the paper's name of it, how many differ.
    ///
    /// # Errors
    /// If an engine refuses the table.
    pub(crate) fn differing<A: Address>(
        &self,
        table: &Named<A>,
        engines: &[(&str, &str)],
    ) -> Result<Vec<Point>, Error> {
        let specifications: Vec<String> = engines.iter().map(|&(_, engine)| engine.into()).collect();
        let random = self.options.addresses.min(1 << 20);
        let (widths, levels) = (vec![WidthBits::holding(table.rib.max_next_hop())], vec![Level::best()]);
        let options = VerifyOptions { random, widths, levels, ..VerifyOptions::default() };
        let verification = verify(self.engines, &specifications, &table.rib, &options, &mut |_| {})?;
        if let Some(refusal) = verification.refused.first() {
            return Err(Error::none(refusal.to_string()));
        }
        let points = engines.iter().map(|&(name, engine)| {
            let rows = verification.rows.iter().filter(|row| row.engine == engine);
            let wrong: u64 = rows.map(|row| row.mismatches).sum();
            Point::new(name, "answers that differ", "answers", wrong as f64).on(&Facts::of(table))
        });
        Ok(points.collect())
    }

    /// Compares engines' answers for all 2^32 addresses with a flat table of them. Returns for
    /// each, by the paper's name of it, how many differ.
    ///
    /// # Errors
    /// If an engine refuses the table.
    pub(crate) fn differing_of_all(
        &self,
        table: &Named<u32>,
        engines: &[(&str, &str)],
    ) -> Result<Vec<Point>, Error> {
        let mut points = Vec::new();
        for (name, engine) in distinct(engines.iter()) {
            let options = ExhaustiveOptions::default();
            let row = exhaustive(self.engines, engine, &table.rib, &[], &options, &|_| {})?;
            let wrong = row.map_err(|refusal| Error::none(refusal.to_string()))?.mismatches;
            let point = Point::new(*name, "all 2^32 addresses", "answers", wrong as f64);
            points.push(point.on(&Facts::of(table)));
        }
        Ok(points)
    }

    /// Returns the number of addresses of real traffic; 0 where none was given.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(crate) fn traffic(&self) -> Result<usize, Error> {
        let Some(source) = &self.options.traffic else { return Ok(0) };
        Ok(trace::read(source)?.0.len())
    }

    /// Measures engines in turns. Returns a row for each engine and number of threads, all with
    /// speeds.
    ///
    /// # Errors
    /// If an answer is wrong, or an engine refuses the table.
    pub(crate) fn speed<A: Address>(
        &self,
        table: &Named<A>,
        addresses: &[A],
        engines: &[&str],
        threads: Vec<usize>,
    ) -> Result<Vec<BenchRow>, Error> {
        let contenders: Vec<Contender> = engines.iter().map(|&name| Contender::new(name)).collect();
        self.race(table, addresses, &contenders, threads)
    }

    /// Measures contenders in turns, as [`speed`](Self::speed) does engines.
    ///
    /// # Errors
    /// If an answer is wrong, or an engine refuses the table.
    pub(crate) fn race<A: Address>(
        &self,
        table: &Named<A>,
        addresses: &[A],
        contenders: &[Contender],
        threads: Vec<usize>,
    ) -> Result<Vec<BenchRow>, Error> {
        let workload = Workload { table: &table.name, rib: &table.rib, trace: "", addresses };
        let options = BenchOptions { threads, passes: self.options.passes, ..BenchOptions::default() };
        let race = Race::new(workload, options.check)?;
        let report = race.run(self.engines, contenders, &options, &mut |_, _| {})?;
        if let Some(wrong) = report.wrong.first() {
            return Err(Error::wrong(wrong.to_string()));
        }
        if let Some(refusal) = report.refused.first() {
            return Err(Error::none(refusal.to_string()));
        }
        Ok(report.rows)
    }

    /// Measures an engine with all models of sharing addresses among threads.
    ///
    /// # Errors
    /// If an answer is wrong, or the engine refuses the table.
    pub(crate) fn shared<A: Address>(
        &self,
        engine: &str,
        rib: &Rib<A>,
        addresses: &[A],
    ) -> Result<Vec<ParallelRow>, Error> {
        self.shared_by(engine, rib, addresses, &self.options.threads, CHUNK)
    }

    /// Does the same with these numbers of threads and addresses of a chunk.
    ///
    /// # Errors
    /// See [`shared`](Self::shared).
    pub(crate) fn shared_by<A: Address>(
        &self,
        engine: &str,
        rib: &Rib<A>,
        addresses: &[A],
        threads: &[usize],
        chunk: usize,
    ) -> Result<Vec<ParallelRow>, Error> {
        let passes = self.options.passes;
        let options = ParallelOptions { threads: threads.to_vec(), chunks: vec![chunk], passes };
        let engines = [engine.to_owned()];
        let study = study_parallel(self.engines, &engines, rib, addresses, &options, &mut |_, _| {})?;
        if let Some(ParallelRow { mismatches, threads, .. }) =
            study.rows.iter().find(|row| row.mismatches > 0)
        {
            return Err(Error::wrong(format!("{engine}: {mismatches} wrong answers by {threads} threads")));
        }
        if let Some(refusal) = study.refused.first() {
            return Err(Error::none(refusal.to_string()));
        }
        Ok(study.rows)
    }
}

/// Makes an exhibit of one table again on each IPv4 table. What is of no table or of IPv6, and the
/// notes, are those of the first; so are the changes that were given.
///
/// # Errors
/// If there is no table, or the exhibit fails on one.
pub(crate) fn on_each_table(
    lab: &Lab,
    exhibit: fn(&Lab) -> Result<Finding, Error>,
) -> Result<Finding, Error> {
    lab.table()?;
    let mut all: Option<Finding> = None;
    for table in &lab.ipv4 {
        let of_one = Lab { ipv4: vec![table.clone()], ..lab.clone() };
        match &mut all {
            None => all = Some(exhibit(&of_one)?),
            Some(all) => {
                let options = Options { changes: Vec::new(), ..lab.options.clone() };
                let found = exhibit(&Lab { ipv6: Vec::new(), options, ..of_one })?;
                all.points.extend(found.points.into_iter().filter(|point| point.facts.is_some()));
            }
        }
    }
    all.ok_or_else(|| Error::none("no IPv4 table given"))
}

/// Returns a table with at most that many next hops, which decide how wide entries are: its own, or
/// its own folded by the remainder, where it has more. Neighbours alike stay alike, so what merges
/// in the table merges in the folded one.
pub(crate) fn narrow<A: Address>(table: &Named<A>, most: u32) -> Named<A> {
    let Named { name, rib } = table;
    let rib = if rib.max_next_hop().0 > most {
        rib.iter().map(|route| Route { next_hop: folded(route.next_hop, most), ..route }).collect()
    } else {
        rib.clone()
    };
    Named { name: name.clone(), rib }
}

/// Returns the next hop of 1 to `most` that stands for one of any number.
pub(crate) fn folded(NextHop(next_hop): NextHop, most: u32) -> NextHop {
    NextHop((next_hop.max(1) - 1) % most + 1)
}

/// The elements that lookups read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reads {
    pub(crate) mean: f64,
    pub(crate) most: f64,
    pub(crate) most_on_chip: f64,
    pub(crate) most_off_chip: f64,
    pub(crate) mean_off_chip: f64,
    pub(crate) hashes: f64,
}

/// Counts the elements that the scalar lookups of these addresses read. All zero for none.
pub(crate) fn reads<A: Address>(fib: &Fib<A>, addresses: impl IntoIterator<Item = A>) -> Reads {
    let (mut reads, mut count, mut accesses) = (Reads::default(), 0.0, Accesses::new());
    for address in addresses {
        accesses.clear();
        fib.lookup_counted(address, &mut accesses);
        let [loads, on_chip, hashes] =
            [accesses.loads(), accesses.loads_on_chip(), accesses.hashes()].map(f64::from);
        count += 1.0;
        reads.mean += loads;
        reads.mean_off_chip += loads - on_chip;
        reads.hashes += hashes;
        reads.most = reads.most.max(loads);
        reads.most_on_chip = reads.most_on_chip.max(on_chip);
        reads.most_off_chip = reads.most_off_chip.max(loads - on_chip);
    }
    for sum in [&mut reads.mean, &mut reads.mean_off_chip, &mut reads.hashes] {
        *sum /= f64::max(count, 1.0);
    }
    reads
}

/// The addresses that a thread takes, or hands on, at once.
pub(crate) const CHUNK: usize = 1024;

/// Returns the million lookups a second of a model, if it was measured.
pub(crate) fn mlps_of(rows: &[ParallelRow], threads: usize, model: Model, order: Order) -> Option<f64> {
    let (model, order) = (model.to_string(), order.to_string());
    let is_it = |row: &&ParallelRow| row.threads == threads && row.model == model && row.order == order;
    rows.iter().find(is_it).map(|row| row.mlps)
}

/// Returns a row's million lookups a second.
pub(crate) fn mlps(row: &BenchRow) -> Span {
    let value = row.mlps.unwrap_or_default();
    Span { low: row.mlps_min.unwrap_or(value), value, high: row.mlps_max.unwrap_or(value) }
}

/// Returns the nanoseconds of a lookup in a batch, all threads together.
pub(crate) fn ns(row: &BenchRow) -> Span {
    Span::from(1e3) / mlps(row)
}

/// Returns the median of some passes with the least and the greatest.
pub(crate) fn spread(passes: &mut [f64]) -> Span {
    let value = median(passes);
    Span {
        low: passes.first().copied().unwrap_or(value),
        value,
        high: passes.last().copied().unwrap_or(value),
    }
}

/// Returns the median of some values, the upper of two; 0 of none.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}
