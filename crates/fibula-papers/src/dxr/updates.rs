//! Figure 6: the time of an update by prefix length.

use super::{SCHEMES, Scheme, layouts};
use crate::lab::median;
use crate::{Error, Finding, Lab, Plot, Point};
use fibula::engine::Config;
use fibula::{Change, Fib, NextHop, Prefix, Rib, Route};
use std::time::Instant;

pub(super) fn figure_6(lab: &Lab) -> Result<Finding, Error> {
    let table = super::table(lab)?;
    let mut points = Vec::new();
    for Scheme { name: scheme, engine, .. } in SCHEMES {
        let mut rib = table.rib.clone();
        let mut fib = Fib::build_from(lab.engines, engine, &rib, Config::default())?;
        for len in 8..=32 {
            let mut times = Vec::new();
            for prefix in sample(&table.rib, len, lab.options.updates) {
                let before = rib.get(prefix);
                let there = Change::Announce(Route { prefix, next_hop: before.unwrap_or(NextHop(1)) });
                let gone = Change::Withdraw(prefix);
                let changes = if before.is_some() { [gone, there] } else { [there, gone] };
                for change in changes {
                    let Some(delta) = rib.apply(change) else { continue };
                    let start = Instant::now();
                    fib.apply(&rib, &[delta])?;
                    times.push(start.elapsed().as_secs_f64() * 1e6);
                }
            }
            if !times.is_empty() {
                points.push(Point::new(scheme, format!("/{len}"), "us", median(&mut times)));
            }
        }
    }
    Ok(Finding::new("prefix length", Plot::Lines, points)
        .on(&table)
        .note(layouts(&table.rib)?)
        .note(format!("Table: {}. Each change of one route is timed alone; the value is the median of withdrawals and announcements.", table.name))
        .note("The paper prints the figure without numbers. Its text: short prefixes take longest, because they cover many chunks."))
}

/// Returns up to `count` prefixes of a length, spread over the table: its own, or where it has none
/// of this length those that contain its routes.
fn sample(rib: &Rib<u32>, len: u8, count: usize) -> Vec<Prefix<u32>> {
    let mut all: Vec<Prefix<u32>> =
        rib.iter().map(|route| route.prefix).filter(|prefix| prefix.len() == len).collect();
    if all.is_empty() {
        all = rib.iter().map(|route| Prefix::containing(route.prefix.first(), len)).collect();
        all.dedup();
    }
    let step = (all.len() / count.max(1)).max(1);
    all.into_iter().step_by(step).take(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_the_tables_own_prefixes_or_covers() {
        let mut rib: Rib<u32> = Rib::new();
        for at in 0..10_u32 {
            rib.insert(Prefix::containing(0x0A00_0000 + (at << 8), 24), NextHop(1));
        }
        let own = sample(&rib, 24, 5);
        assert!(own.len() == 5 && own.iter().all(|&prefix| rib.get(prefix).is_some()));
        assert_eq!(sample(&rib, 8, 5), ["10.0.0.0/8".parse().unwrap()]);
        assert_eq!(sample(&rib, 32, 5).len(), 5);
    }
}
