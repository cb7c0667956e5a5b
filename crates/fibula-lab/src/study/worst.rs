//! The worst single change of a route, for each engine.

use super::worst_changes::{Changes, changes_of};
use crate::{Error, Expected, Mismatch, Refusal};
use fibula::engine::{Config, Entry};
use fibula::{Address, Applied, Change, Fib, Rib};
use serde::Serialize;
use std::time::{Duration, Instant};

/// How to measure changes.
#[derive(Clone, Debug)]
pub struct WorstOptions {
    /// The number of routes that are withdrawn and announced of each sample.
    pub sample: usize,
    /// The time for which an engine is handed changes of one kind.
    pub of_a_kind: Duration,
}

impl Default for WorstOptions {
    fn default() -> Self {
        Self { sample: 2000, of_a_kind: Duration::from_secs(1) }
    }
}

/// One engine and one kind of changes on a table.
#[derive(Clone, Debug, Serialize)]
pub struct WorstRow {
    /// `ipv4` or `ipv6`.
    pub family: String,
    /// The table's name.
    pub table: String,
    /// Its routes.
    pub prefixes: u64,
    /// The engine's specification; `best` with the name of the engine that followed the changes.
    pub engine: String,
    /// The kind of changes.
    pub changes: &'static str,
    /// The number of changes made.
    pub count: u64,
    /// The changes for which the engine was rebuilt.
    pub rebuilt: u64,
    /// The changes that the engine refused and that were taken back.
    pub taken_back: u64,
    /// The median of the time for one, in microseconds.
    pub us_p50: f64,
    /// The 99th percentile of the time for one, in microseconds.
    pub us_p99: f64,
    /// The longest time for one, in microseconds.
    pub us_worst: f64,
    /// The change that took the longest.
    pub worst: String,
    /// The bytes before the changes.
    pub bytes_before: u64,
    /// The bytes after them, when the table is as it was.
    pub bytes_after: u64,
    /// The most that one change may take in the engine that `best` takes, in microseconds.
    pub us_bound: f64,
}

/// The results of one table.
#[derive(Clone, Debug)]
pub struct WorstStudy {
    /// One row for each engine and kind of changes.
    pub rows: Vec<WorstRow>,
    /// The first wrong answers of engines that gave any after the changes.
    pub wrong: Vec<Mismatch>,
    /// Engines that refused the table.
    pub refused: Vec<Refusal>,
}

/// Makes the same changes of a table with each engine, one at a time, and measures the engine's
/// part. All changes are taken back in the end.
///
/// # Errors
/// If a specification names no engine, or the judges disagree.
pub fn study_worst<A: Address>(
    engines: &'static [Entry],
    specifications: &[String],
    (table, rib): (&str, &Rib<A>),
    options: &WorstOptions,
    progress: &mut dyn FnMut(&str),
) -> Result<WorstStudy, Error> {
    let mut study = WorstStudy { rows: Vec::new(), wrong: Vec::new(), refused: Vec::new() };
    let kinds = changes_of(rib, options.sample);
    let expected = Expected::new(rib, probes(rib, options.sample))?;
    for specification in specifications {
        progress(&format!("{table}: building {specification}"));
        let fib = Fib::build_from(engines, specification, rib, Config::default());
        let mut measured = match fib {
            Ok(fib) => Measured { fib, rib: rib.clone() },
            Err(error) => {
                Refusal::of::<A>(specification, error)?.add_to(&mut study.refused);
                continue;
            }
        };
        measured.settle()?;
        let name = match measured.fib.entry().about.name {
            name if name == specification => name.into(),
            name => format!("{specification} ({name})"),
        };
        for changes in &kinds {
            progress(&format!("{table}: {specification}, {}", changes.kind.name()));
            if let Some(row) = measured.row((table, &name), changes, options)? {
                study.rows.push(row);
            }
        }
        let wrong = |(&address, &next_hop)| {
            let got = measured.fib.lookup_index(address);
            (got != next_hop).then(|| Mismatch {
                engine: name.clone(),
                path: "lookup after the changes",
                address: A::to_ip(address).to_string(),
                expected: next_hop.0,
                got: got.0,
            })
        };
        study.wrong.extend(expected.addresses().iter().zip(expected.next_hops()).find_map(wrong));
    }
    Ok(study)
}

/// Returns the ends of some routes.
fn probes<A: Address>(rib: &Rib<A>, count: usize) -> Vec<A> {
    let routes = rib.iter().step_by(rib.len().div_ceil(count.max(1)).max(1));
    routes.flat_map(|route| [route.prefix.first(), route.prefix.last()]).collect()
}

/// A table and what is compiled of it.
struct Measured<A: Address> {
    fib: Fib<A>,
    rib: Rib<A>,
}

impl<A: Address> Measured<A> {
    /// Makes a change and takes it back. With the first change of a table `best` may build another
    /// engine: that is a property of the table and not of the change.
    fn settle(&mut self) -> Result<(), Error> {
        let Some(route) = self.rib.iter().next() else { return Ok(()) };
        for change in [Change::Withdraw(route.prefix), Change::Announce(route)] {
            if let Some(delta) = self.rib.apply(change) {
                self.fib.apply(&self.rib, &[delta])?;
            }
        }
        Ok(())
    }

    /// Makes changes until they or the time are used up. Each second one takes the first back.
    /// Returns `None` if none had an effect.
    fn row(
        &mut self,
        (table, engine): (&str, &str),
        changes: &Changes<A>,
        options: &WorstOptions,
    ) -> Result<Option<WorstRow>, Error> {
        let bytes_before = self.fib.memory().total() as u64;
        let mut times: Vec<(Duration, Change<A>)> = Vec::new();
        let (mut rebuilt, mut taken_back) = (0, 0);
        let begin = Instant::now();
        for pair in &changes.pairs {
            for &change in pair {
                let Some(delta) = self.rib.apply(change) else { continue };
                let start = processor_time();
                let applied = self.fib.apply(&self.rib, &[delta]);
                let time = processor_time().saturating_sub(start);
                match applied {
                    Ok(applied) => {
                        rebuilt += u64::from(applied == Applied::Rebuilt);
                        times.push((time, change));
                    }
                    Err(error) => {
                        Refusal::of::<A>(engine, error)?;
                        self.rib.take_back(&[delta]);
                        taken_back += 1;
                    }
                }
            }
            if begin.elapsed() >= options.of_a_kind {
                break;
            }
        }
        times.sort_unstable_by_key(|&(time, _)| time);
        let Some(&(_, worst)) = times.last() else { return Ok(None) };
        let us_at = |percent: usize| times[(times.len() - 1) * percent / 100].0.as_nanos() as f64 / 1e3;
        Ok(Some(WorstRow {
            family: A::FAMILY.to_string(),
            table: table.into(),
            prefixes: self.rib.len() as u64,
            engine: engine.into(),
            changes: changes.kind.name(),
            count: times.len() as u64,
            rebuilt,
            taken_back,
            us_p50: us_at(50),
            us_p99: us_at(99),
            us_worst: us_at(100),
            worst: match worst {
                Change::Announce(route) => format!("{} announced", route.prefix),
                Change::Withdraw(prefix) => format!("{prefix} withdrawn"),
            },
            bytes_before,
            bytes_after: self.fib.memory().total() as u64,
            us_bound: changes.kind.bound().as_secs_f64() * 1e6,
        }))
    }
}

/// Returns the time that processors have spent on this process, in all of its threads. Unlike the
/// time of day it does not run while other processes have the processor.
#[cfg(unix)]
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32)
}

/// Returns the time of day since the first call.
#[cfg(not(unix))]
fn processor_time() -> Duration {
    static FIRST: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    FIRST.get_or_init(Instant::now).elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fibula::{NextHop, Prefix};
    use fibula_engines::all;

    #[test]
    fn every_engine_has_a_row_for_each_kind_of_changes() {
        let mut rib: Rib<u32> = Rib::new();
        for at in 0..100 {
            rib.insert(Prefix::host(0x0A00_0000 + at), NextHop(1 + at % 7));
        }
        let engines = ["best", "lulea"].map(String::from);
        let options = WorstOptions { sample: 10, ..WorstOptions::default() };
        let study = study_worst(all(), &engines, ("x/hosts.txt", &rib), &options, &mut |_| {}).unwrap();
        assert!(study.wrong.is_empty() && study.refused.is_empty());
        let numbers: Vec<u64> = study.rows.iter().map(|row| row.count).collect();
        assert_eq!(numbers, [18, 46, 10, 20, 20, 18, 46, 10, 20, 20]);
        assert!(study.rows[0].engine.starts_with("best ("));
        let lulea = &study.rows[5..];
        assert!(lulea.iter().all(|row| row.rebuilt == row.count && row.us_worst >= row.us_p50));
    }
}
