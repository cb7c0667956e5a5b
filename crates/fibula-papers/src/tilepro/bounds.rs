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
const RESULT: f64 = 4.0;

/// The nodes of a full array of children, and what the paper's text makes of them (section V).
const CHILDREN: f64 = 16.0;
const CHILDREN_BYTES: f64 = 256.0;

/// The paper's cycles of DIR-24-8 and of Tree Bitmap at best, its clock in MHz, and what the text
/// makes of them: Gbit/s of the first, nanoseconds between both (section IV.C).
const BEST_CYCLES: [f64; 2] = [20.0, 28.0];
const MHZ: f64 = 700.0;
const GIGABITS: f64 = 20.0;
const NS_LESS: f64 = 8.0;

/// The abstract's million lookups a second, and the Gbit/s of it.
const MLPS: f64 = 60.0;
const ALL_GIGABITS: f64 = 40.0;

/// The bits of a packet of 64 bytes, and with preamble and gap.
const PACKET_BITS: f64 = 512.0;
const LINE_BITS: f64 = 84.0 * 8.0;

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
    let [fast, slow] = BEST_CYCLES;
    let gigabits = MHZ / fast * PACKET_BITS / 1e3;
    points.extend([
        Point::computed("DIR-24-8-BASIC, 20 cycles", "packets of 64 bytes", "Gbit/s", gigabits)
            .beside(GIGABITS),
        Point::computed("60 million", "packets of 64 bytes", "Gbit/s", MLPS * LINE_BITS / 1e3)
            .beside(ALL_GIGABITS),
        Point::computed("28 cycles, less 20", "at 700 MHz", "ns", (slow - fast) / MHZ * 1e3).beside(NS_LESS),
    ]);
    points.extend(lab.differing(table, &[DIR, TREES[0], TREES[1], ("hybrid", "hybrid")])?);
    Ok(Finding::new("column", Plot::None, points)
        .on(table)
        .note("Loads are those of the scalar lookup of Random Match: entries, nodes and results.")
        .note("60 million packets of 64 bytes are 40 Gbit/s with preamble and gap; 20 cycles are some 20 Gbit/s without."))
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
    let children = Point::computed("16 nodes of 8 bytes", "a child array", "bytes", CHILDREN * NODE);
    points.push(children.beside(CHILDREN_BYTES));
    let table = lab.table()?;
    let mut rib = table.rib.clone();
    let mut fib = Fib::build_from(lab.engines, "hybrid", &rib, Config::default())?;
    let mut most = 0.0;
    let short: Vec<Route<u32>> = rib.iter().filter(|route| route.prefix.len() <= SHORT).collect();
    for route in short {
        for change in [Change::Withdraw(route.prefix), Change::Announce(route)] {
            let Some(delta) = rib.apply(change) else { continue };
            if let Applied::InPlace(Cost { nodes_copied, results_moved, .. }) = fib.apply(&rib, &[delta])? {
                most = f64::max(most, nodes_copied as f64 * NODE + results_moved as f64 * RESULT);
            }
        }
    }
    points.push(Point::new("hybrid", "an update, most", "bytes copied", most).beside(CHILDREN_BYTES));
    Ok(Finding::new("column", Plot::None, points)
        .on(table)
        .note("Every prefix to /16 of the table is deleted and added again; what moves is nodes of 8 bytes and results of 4. The paper's bound is a full array of 16 nodes of 8 bytes, which are 128."))
}
