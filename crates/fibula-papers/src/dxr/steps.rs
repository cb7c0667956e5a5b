//! Table 2: the iterations of a binary search that ends at a hit.

use super::{NEXT_HOPS, SCHEMES};
use crate::lab::narrow;
use crate::{Error, Facts, Finding, Lab, Plot, Point};

/// Table 2 as printed: percentages by iterations from 0 on, for D16R and D18R. The last value of
/// each is an upper bound.
const TABLE_2: [[f64; 8]; 2] =
    [[75.7, 4.00, 6.58, 5.46, 4.30, 2.68, 1.06, 0.22], [86.4, 3.55, 5.15, 3.02, 1.47, 0.40, 0.04, 0.003]];

pub(super) fn table_2(lab: &Lab) -> Result<Finding, Error> {
    let mut points = Vec::new();
    lab.table()?;
    for table in lab.ipv4.iter().map(|table| narrow(table, NEXT_HOPS)) {
        let facts = Facts::of(&table);
        for (scheme, paper) in SCHEMES.into_iter().zip(TABLE_2) {
            let figures = scheme.statistics(&table.rib, "search", "hit")?;
            let most = figures.addresses_by_search_steps.iter().rposition(|&addresses| addresses > 0);
            for steps in 0..=most.unwrap_or_default() {
                let share = figures.percent_with_search_steps(steps);
                let point =
                    Point::new(format!("{}, {}", table.name, scheme.name), steps, "% of addresses", share);
                points.push(point.beside_any(paper.get(steps).copied()).on(&facts));
            }
        }
    }
    Ok(Finding::new("iterations", Plot::Bars, points)
        .note("The addresses are all unicast addresses, so the shares are exact. The paper's are of its LINX snapshot; its last one is an upper bound.")
        .note("A table with more routes has more ranges in a chunk, and so more iterations: the paper's has 417,523 routes.")
        .note("The search is the paper's, `search=hit`: it ends as soon as the range that it looks at contains the address. By default that of `dxr` halves what is left without a test for a hit."))
}
