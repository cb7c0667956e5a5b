//! Figure 12: many tables in one.

use crate::{Error, Finding, Lab, Plot, Point};
use fibula::engine::Config;
use fibula::{Fib, NextHop, Rib, Route};
use fibula_io::trace::TraceKind;
use fibula_lab::study::{VrfKind, VrfWork, count_accesses, study_vrf};

/// The numbers of tables.
const TABLES: [usize; 5] = [1, 2, 4, 8, 12];

/// The means over all numbers of tables that the paper's text has: random and prefix-based traffic.
const MEANS: [(TraceKind, f64); 2] = [(TraceKind::Random, 132.0), (TraceKind::Prefix, 366.0)];

/// The most accesses of a lookup in section 4.3: BC16 and B24 on chip, C24 and N32 off chip.
const ACCESSES_MOST: f64 = 4.0;

/// Of the routes of a view, one in this many is missing.
const MISSING: usize = 50;

/// The addresses of a batch.
const BATCH: usize = 16_384;

/// The answers that are compared with the tables' own.
const CHECK: usize = 1 << 16;

/// Returns a view of the table as another router would have it: other next hops, and a route in
/// fifty missing.
pub(super) fn view(rib: &Rib<u32>, number: usize) -> Rib<u32> {
    let most = rib.max_next_hop().0.max(1);
    let turned = |next_hop: NextHop| NextHop((next_hop.0 + number as u32 - 1) % most + 1);
    let kept = rib.iter().enumerate().filter(|(at, _)| !(at + number).is_multiple_of(MISSING));
    kept.map(|(_, Route { prefix, next_hop })| Route { prefix, next_hop: turned(next_hop) }).collect()
}

pub(super) fn figure_12(lab: &Lab) -> Result<Finding, Error> {
    let table = &super::table(lab)?;
    let most = TABLES.last().copied().unwrap_or(1);
    let views: Vec<Rib<u32>> = (0..most).map(|number| view(&table.rib, number)).collect();
    let mut points = Vec::new();
    let fib = Fib::build_from(lab.engines, "sail-m", &table.rib, Config::default())?;
    for (kind, mean) in MEANS {
        let addresses = lab.trace(&kind, &table.rib)?;
        let count = count_accesses(&fib, &addresses);
        let series = format!("a lookup, {kind} traffic");
        points.push(Point::new(&series, "mean", "loads", count.loads));
        points.push(Point::new(&series, "mean, on chip", "loads", count.loads_on_chip));
        let most = Point::new(&series, "most", "loads", f64::from(count.loads_most));
        points.push(most.beside(ACCESSES_MOST));
        let mut sum = 0.0;
        for count in TABLES {
            let ids: Vec<u16> = (0..addresses.len()).map(|at| (at % count) as u16).collect();
            let work = VrfWork {
                name: &table.name,
                ribs: &views[..count],
                addresses: &addresses,
                ids: &ids,
                batch: BATCH,
                passes: lab.options.passes,
            };
            let row = study_vrf(&VrfKind::Merged, work, CHECK)?;
            if row.mismatches > 0 {
                return Err(Error::wrong(format!(
                    "sail-m: {} wrong answers in {count} tables",
                    row.mismatches
                )));
            }
            sum += row.mlps_mixed;
            points.push(Point::new(format!("{kind} traffic"), count, "Mlps", row.mlps_mixed));
        }
        points.push(
            Point::new(format!("{kind} traffic"), "mean", "Mlps", sum / TABLES.len() as f64).beside(mean),
        );
    }
    Ok(Finding::new("tables", Plot::Lines, points)
        .on(table)
        .note("The paper does not say in which table each address is looked up. Here neighbours in a batch are in different tables, and each reads its own slot of the next hops that lie side by side, so every table adds to what caches must hold.")
        .note("Loads are those of one table, and of any number: a lookup reads BC16, then N16 or B24, then N24 or C24 and N32. Section 4.3 bounds them by two on chip and two off chip.")
        .note(format!("The tables are views of {}: other next hops in each, and one route in {MISSING} missing. Addresses are in the tables in turn.", table.name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_differ_in_routes_and_next_hops() {
        let routes = (0..100_u32).map(|at| Route {
            prefix: fibula::Prefix::containing(at << 24, 8),
            next_hop: NextHop(at % 3 + 1),
        });
        let rib: Rib<u32> = routes.collect();
        let [first, second] = [0, 1].map(|number| view(&rib, number));
        assert_eq!((first.len(), second.len()), (98, 98));
        let prefix = "1.0.0.0/8".parse().unwrap();
        assert_eq!((first.get(prefix), second.get(prefix)), (Some(NextHop(2)), Some(NextHop(3))));
    }
}
