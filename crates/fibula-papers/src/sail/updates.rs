//! Figure 11: what an update writes.

use super::NEXT_HOPS;
use super::memory::AS_PRINTED;
use crate::lab::folded;
use crate::{Error, Finding, Lab, Plot, Point};
use fibula::engine::{Config, Cost};
use fibula::{Applied, Change, Fib, Route};
use fibula_io::generate::updates;

/// The updates of a series, over which the paper takes the mean.
const SERIES: usize = 500;

/// The series.
const COUNT: usize = 319;

/// What the paper's text says: the mean accesses of an update of its tables rrc00, rrc01 and rrc03,
/// and the most of any series.
const MEANS: [f64; 3] = [1.854, 2.253, 1.807];
const MOST: f64 = 7.88;

pub(super) fn figure_11(lab: &Lab) -> Result<Finding, Error> {
    let table = &super::table(lab)?;
    let count = SERIES * COUNT / lab.options.smaller;
    let given = &lab.options.changes;
    let changes: Vec<Change<u32>> = if given.is_empty() {
        updates(&table.rib, count, 1)
    } else {
        given.iter().take(count).map(|&change| within(change, NEXT_HOPS)).collect()
    };
    let (mut points, mut rebuilt) = (Vec::new(), 0);
    for (suffix, engine) in [("", "sail-l"), (", 16-bit entries", AS_PRINTED)] {
        let mut rib = table.rib.clone();
        let mut fib = Fib::build_from(lab.engines, engine, &rib, Config::default())?;
        let (mut words, mut on_chip) = (Vec::new(), Vec::new());
        for series in changes.chunks(SERIES) {
            let mut cost = Cost::default();
            for &change in series {
                let Some(delta) = rib.apply(change) else { continue };
                match fib.apply(&rib, &[delta])? {
                    Applied::InPlace(of_this) => cost += of_this,
                    Applied::Rebuilt => rebuilt += 1,
                }
            }
            words.push(cost.words_written as f64 / series.len() as f64);
            on_chip.push(cost.on_chip_writes as f64 / series.len() as f64);
        }
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
        let most = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
        let point =
            |series, at, value| Point::new(format!("{series}{suffix}"), at, "writes an update", value);
        let words_on_chip = "64-bit words on chip";
        points.extend([
            point("64-bit words", "mean", mean(&words)).beside(mean(&MEANS)),
            point("64-bit words", "worst series", most(&words)).beside(MOST),
            point(words_on_chip, "mean", mean(&on_chip)),
            point(words_on_chip, "worst series", most(&on_chip)),
        ]);
    }
    Ok(Finding::new("over series of 500 updates", Plot::None, points)
        .on(table)
        .note(format!("Table: {}, next hops of 8 bits as the paper's. Updates are {}; {rebuilt} of them rebuilt the table. Updates that change nothing count. A word holds eight entries of N24 and N32, and two of BCN16, or four of 16 bits.", table.name, if given.is_empty() { "made as a real hour brings them" } else { "those of `--updates`, and on further tables made ones" })))
}

/// Returns a change with a next hop of at most `most`.
fn within(change: Change<u32>, most: u32) -> Change<u32> {
    match change {
        Change::Announce(Route { prefix, next_hop }) => {
            Change::Announce(Route { prefix, next_hop: folded(next_hop, most) })
        }
        withdrawal @ Change::Withdraw(_) => withdrawal,
    }
}
