//! Table IV: what adding and deleting the /8 to /16 of a table writes.

use super::{DIR, TREES};
use crate::{Error, Finding, Lab, Plot, Point};
use fibula::engine::{Config, Cost};
use fibula::{Applied, Change, Fib, Rib, Route};

/// A row of Table IV as printed: entries set, nodes copied, nodes allocated; none where the
/// algorithm has no nodes.
type Printed = [Option<f64>; 3];

const TABLE_4: [(&str, [Printed; 2]); 2] = [
    (DIR.0, [[Some(586.67), None, None], [Some(553.95), None, None]]),
    (TREES[0].0, [[Some(1.08), Some(1.15), Some(0.97)], [Some(0.39), Some(1.43), Some(0.97)]]),
];

/// The columns of Table IV, and one beside: a block has nodes and results, and both move.
const COLUMNS: [&str; 4] = ["entries set", "nodes copied", "nodes allocated", "nodes and results moved"];

/// The columns that are set beside the paper's copied nodes.
const COPIED: [usize; 4] = [0, 1, 2, 1];

/// The lengths whose prefixes are added and deleted.
const LENGTHS: std::ops::RangeInclusive<u8> = 8..=16;

/// Deletes all /8 to /16 of a table one by one, and adds them again. Returns the mean cost of an
/// addition and of a deletion.
fn costs(lab: &Lab, engine: &str, rib: &Rib<u32>) -> Result<[[f64; 4]; 2], Error> {
    let mut rib = rib.clone();
    let mut fib = Fib::build_from(lab.engines, engine, &rib, Config::default())?;
    let routes: Vec<Route<u32>> = rib.iter().filter(|route| LENGTHS.contains(&route.prefix.len())).collect();
    let mut run = |changes: &mut dyn Iterator<Item = Change<u32>>| -> Result<[f64; 4], Error> {
        let mut sum = Cost::default();
        for change in changes {
            let Some(delta) = rib.apply(change) else { continue };
            if let Applied::InPlace(cost) = fib.apply(&rib, &[delta])? {
                sum += cost;
            }
        }
        let each = |count: u64| count as f64 / routes.len().max(1) as f64;
        let moved = sum.nodes_copied + sum.results_moved;
        Ok([sum.entries_set, sum.nodes_copied, sum.nodes_allocated, moved].map(each))
    };
    let deleted = run(&mut routes.iter().map(|route| Change::Withdraw(route.prefix)))?;
    let added = run(&mut routes.iter().map(|&route| Change::Announce(route)))?;
    Ok([added, deleted])
}

pub(super) fn table_4(lab: &Lab) -> Result<Finding, Error> {
    let table = lab.table()?;
    let whole = &table.rib;
    let short: Rib<u32> = whole.iter().filter(|route| route.prefix.len() <= *LENGTHS.end()).collect();
    let mut points = Vec::new();
    for (name, engine) in [DIR, TREES[0], ("hybrid", "hybrid")] {
        let printed = TABLE_4.iter().find(|(known, _)| *known == name).map(|(_, printed)| printed);
        for (rib, beside) in [(whole, ""), (&short, ", no longer prefixes")] {
            for (index, (way, costs)) in
                ["add", "delete"].into_iter().zip(costs(lab, engine, rib)?).enumerate()
            {
                for (unit, (column, cost)) in COLUMNS.into_iter().zip(costs).enumerate() {
                    let paper = printed.and_then(|printed| printed[index][COPIED[unit]]);
                    if cost > 0.0 || paper.is_some() {
                        let series = format!("{name}, {way}{beside}");
                        points.push(Point::new(series, column, "an update", cost).beside_any(paper));
                    }
                }
            }
        }
    }
    Ok(Finding::new("column", Plot::None, points)
        .on(table)
        .note(format!("Table: {}. All its /8 to /16 are deleted one by one, then added again; the paper has 12,894 of them.", lab.table()?.name))
        .note("An entry of DIR-24-8 is set only where no longer prefix covers it, and a node of Tree Bitmap has siblings to copy where longer prefixes are, so both depend on what lies below. The paper does not say; the rows without longer prefixes are the other extreme."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use fibula::{NextHop, Rib};
    use fibula_engines::all;

    #[test]
    fn dir_24_8_sets_the_entries_that_no_longer_prefix_covers() {
        let mut rib: Rib<u32> = Rib::new();
        rib.insert("10.1.0.0/16".parse().unwrap(), NextHop(1));
        rib.insert("10.1.2.0/24".parse().unwrap(), NextHop(2));
        let lab = Lab { engines: all(), ipv4: Vec::new(), ipv6: Vec::new(), options: Options::default() };
        assert_eq!(costs(&lab, DIR.1, &rib).unwrap(), [[255.0, 0.0, 0.0, 0.0]; 2]);
    }
}
