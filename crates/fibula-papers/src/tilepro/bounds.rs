//! Sections IV and V: the accesses and nodes that the text names, and the worst updates.

use super::{DIR, TREES};
use crate::lab::{Reads, reads};
use crate::{Error, Finding, Lab, Plot, Point};
use fibula::engine::{Config, Cost};
use fibula::{Applied, Change, Fib, NextHop, Rib, Route};
use fibula_io::trace::TraceKind;

/// The cores of the paper's pipelines: one for each level of nodes below the array.
const STAGES: [(&str, f64); 2] = [("4-4-4-4-3", 5.0), ("7-7-7", 3.0)];

/// The bytes of a node of strides 4 and 7: two maps and one pointer.
const NODE_BYTES: [f64; 2] = [2.0 * 2.0 + 4.0, 8.0 * 4.0 + 4.0];

/// The bytes of a node that an update of the hybrid copies, and of a result.
const NODE: f64 = 8.0;

/// The length of the prefix whose deletion is the paper's worst case, and the longest that the
/// hybrid keeps in its trie.
const WORST: u8 = 8;
const SHORT: u8 = 16;

pub(super) fn section_4(lab: &Lab) -> Result<Finding, Error> {
    let table = lab.table()?;
    let addresses = lab.trace(&TraceKind::Match, &table.rib)?;
    let mut points = Vec::new();
    for (name, engine) in [DIR, TREES[0], TREES[1], ("hybrid", "hybrid")] {
        let fib = Fib::build_from(lab.engines, engine, &table.rib, Config::default())?;
        let Reads { mean, most, .. } = reads(&fib, addresses.iter().copied());
        points.push(Point::new(name, "a lookup, mean", "loads", mean));
        points.push(Point::new(name, "a lookup, most", "loads", most));
    }
    for (((name, _), (strides, cores)), bytes) in TREES.into_iter().zip(STAGES).zip(NODE_BYTES) {
        let levels = strides.split('-').count() as f64;
        points.push(Point::computed(name, "stages", "cores", levels).beside(cores));
        points.push(Point::computed(name, "a node", "bytes", bytes));
    }
    points.extend(lab.differing(table, &[DIR, TREES[0], TREES[1], ("hybrid", "hybrid")])?);
    Ok(Finding::new("column", Plot::None, points)
        .on(table)
        .note("Loads are those of the scalar lookup of Random Match: entries, nodes and results."))
}

pub(super) fn section_5(lab: &Lab) -> Result<Finding, Error> {
    let mut points = Vec::new();
    let mut rib: Rib<u32> = Rib::new();
    let prefix = "10.0.0.0/8".parse()?;
    rib.insert(prefix, NextHop(1));
    let mut fib = Fib::build_from(lab.engines, DIR.1, &rib, Config::default())?;
    if let Some(delta) = rib.remove(prefix)
        && let Applied::InPlace(cost) = fib.apply(&rib, &[delta])?
    {
        let paper = f64::from(1_u32 << (24 - WORST));
        let worst = Point::computed(DIR.0, "deleting a /8", "entries set", cost.entries_set as f64);
        points.push(worst.beside(paper));
    }
    let table = lab.table()?;
    let mut rib = table.rib.clone();
    let mut fib = Fib::build_from(lab.engines, "hybrid", &rib, Config::default())?;
    let mut most = 0.0;
    let short: Vec<Route<u32>> = rib.iter().filter(|route| route.prefix.len() <= SHORT).collect();
    for route in short {
        for change in [Change::Withdraw(route.prefix), Change::Announce(route)] {
            let Some(delta) = rib.apply(change) else { continue };
            if let Applied::InPlace(Cost { nodes_copied, .. }) = fib.apply(&rib, &[delta])? {
                most = f64::max(most, nodes_copied as f64 * NODE);
            }
        }
    }
    points.push(Point::new("hybrid", "an update, most", "bytes copied", most).beside(256.0));
    Ok(Finding::new("column", Plot::None, points)
        .on(table)
        .note("Every prefix to /16 of the table is deleted and added again; the paper's bound is a full array of 16 nodes of 8 bytes."))
}
