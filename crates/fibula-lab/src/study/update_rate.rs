//! Measures how fast an engine applies updates.

use crate::{Error, Refusal};
use fibula::engine::{Config, Cost, Entry};
use fibula::{Address, Applied, Change, Fib, Rib};
use serde::Serialize;
use std::time::{Duration, Instant};

/// The rate at which an engine applied updates handed to it one by one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct UpdateRate {
    /// The updates that changed the table and were applied within the time.
    pub applied: u64,
    /// Of these, the updates for which the engine was rebuilt.
    pub rebuilt: u64,
    /// The updates that the engine refused and that were taken back.
    pub refused: u64,
    /// Updates applied per second, without the table's own part.
    pub updates_per_s: f64,
    /// The median of the time for one, in microseconds.
    pub us_p50: f64,
    /// The 99th percentile of the time for one, in microseconds.
    pub us_p99: f64,
    /// The cost of all of them, in the papers' units.
    #[serde(skip)]
    pub cost: Cost,
}

/// Hands an engine the changes of a table one by one for at most `longest`, and measures the
/// engine's time. Returns `None` if no change had any effect.
///
/// # Errors
/// If the engine cannot be built. A change that it refuses is taken back and counted.
///
/// ```
/// use fibula::engine::{Config, ENGINES};
/// use fibula::{Change, NextHop, Rib, Route};
/// use fibula_lab::study::update_rate;
/// use std::time::Duration;
/// let route = Route { prefix: "192.0.2.0/24".parse()?, next_hop: NextHop(1) };
/// let announce = Change::Announce(route);
/// let changes = [announce, announce, Change::Withdraw(route.prefix)];
/// let rib = Rib::<u32>::new();
/// let config = Config::default();
/// let rate = update_rate(ENGINES, "dir24-8", &rib, &changes, config, Duration::MAX)?.unwrap();
/// assert_eq!((rate.applied, rate.rebuilt), (2, 0)); // the second changes nothing
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn update_rate<A: Address>(
    engines: &'static [Entry],
    specification: &str,
    rib: &Rib<A>,
    changes: &[Change<A>],
    config: Config,
    longest: Duration,
) -> Result<Option<UpdateRate>, Error> {
    let mut fib = Fib::build_from(engines, specification, rib, config)?;
    let mut rib = rib.clone();
    let (mut times, mut sum) = (Vec::new(), Duration::ZERO);
    let (mut rebuilt, mut refused, mut cost) = (0, 0, Cost::default());
    for &change in changes {
        let Some(delta) = rib.apply(change) else { continue };
        let start = Instant::now();
        let applied = fib.apply(&rib, &[delta]);
        let time = start.elapsed();
        let applied = match applied {
            Err(error) => {
                Refusal::of::<A>(specification, error)?;
                rib.take_back(&[delta]);
                refused += 1;
                continue;
            }
            Ok(applied) => applied,
        };
        match applied {
            Applied::InPlace(of_this) => cost += of_this,
            Applied::Rebuilt => rebuilt += 1,
        }
        times.push(time);
        sum += time;
        if sum >= longest {
            break;
        }
    }
    times.sort_unstable();
    // Whole nanoseconds: the clock is no finer.
    let us_at = |percent: usize| times[(times.len() - 1) * percent / 100].as_nanos() as f64 / 1e3;
    Ok((!times.is_empty()).then(|| UpdateRate {
        applied: times.len() as u64,
        rebuilt,
        refused,
        updates_per_s: times.len() as f64 / sum.as_secs_f64().max(1e-9),
        us_p50: us_at(50),
        us_p99: us_at(99),
        cost,
    }))
}
