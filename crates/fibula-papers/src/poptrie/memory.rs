//! Memory: of each table, beside the others', and by part.

use super::{ENGINES, build, tables};
use crate::lab::{narrow, reads};
use crate::{Error, Facts, Finding, Lab, Named, Plot, Point};
use fibula::engine::Figure;
use fibula::{Address, Fib};
use fibula_io::trace::TraceKind;

/// The megabytes of a tier-1 provider's full table, as the talk has them: 2.4 MiB.
const TALK_MB: f64 = 2.4 * 1.048_576;

/// The slots of a node.
const SLOTS: f64 = 64.0;

/// The bits that the reference code's direct table resolves.
const DIRECT_BITS: u8 = 18;

const MB: f64 = 1e6;

/// Returns a figure of a compiled table; 0 where it has none of that name.
fn figure(figures: &[Figure], name: &str) -> f64 {
    figures.iter().find(|figure| figure.name == name).map_or(0.0, |figure| figure.value)
}

/// Returns how many entries of the direct table lead to a node: those inside which answers change.
fn roots(table: &Named<u32>) -> usize {
    let slot = |address: u32| address.bits(0, DIRECT_BITS);
    let mut split: Vec<u64> = Vec::new();
    for range in table.rib.ranges() {
        // A range that begins inside an entry splits it.
        if range.first.previous().is_some_and(|before| slot(before) == slot(range.first)) {
            split.push(slot(range.first));
        }
    }
    split.dedup();
    split.len()
}

/// Adds what Poptrie is made of.
fn add_parts(points: &mut Vec<Point>, table: &Named<u32>, fib: &Fib<u32>) {
    let (facts, figures) = (Facts::of(table), fib.figures());
    let [nodes, leaves] = ["internal nodes", "leaves"].map(|name| figure(&figures, name));
    let mut add = |at, unit, value| points.push(Point::new("Poptrie", at, unit, value).on(&facts));
    add("internal nodes", "entries", nodes);
    add("leaves", "entries", leaves);
    // Every slot that is no child is a leaf; each node but a root is the child of one slot.
    let without = SLOTS * nodes - (nodes - roots(table) as f64);
    add("leaves without leafvec", "entries", without);
    add("leaves, without leafvec / with", "times", without / leaves.max(1.0));
    // Two arrays of 64 each in every node: the trie whose nodes are not compressed.
    add("slots of arrays that are not compressed", "entries", 2.0 * SLOTS * nodes);
}

pub(super) fn memory(lab: &Lab) -> Result<Finding, Error> {
    let mut points = Vec::new();
    for table in tables(lab)? {
        let facts = Facts::of(&table);
        points.push(Point::new("IPv4 table", "prefixes", "prefixes", table.rib.len() as f64).on(&facts));
        let addresses = lab.trace(&TraceKind::Random, &table.rib)?;
        for (name, engine) in ENGINES.into_iter().chain([("radix tree", "radix")]) {
            let fib = build(lab, engine, &table.rib)?;
            let bytes = fib.memory().total() as f64;
            let total = Point::new(name, "total", "MB", bytes / MB);
            points.push(total.beside_any((name == "Poptrie").then_some(TALK_MB)).on(&facts));
            let each = bytes / table.rib.len().max(1) as f64;
            points.push(Point::new(name, "total", "bytes a prefix", each).on(&facts));
            let loads = reads(&fib, addresses.iter().copied()).mean;
            points.push(Point::new(name, "a lookup, mean", "loads", loads).on(&facts));
            if name == "Poptrie" {
                add_parts(&mut points, &table, &fib);
            }
        }
    }
    for table in lab.ipv6.iter().map(|table| narrow(table, super::NEXT_HOPS)) {
        let fib = build(lab, "poptrie", &table.rib)?;
        let (facts, prefixes) = (Facts::of(&table), table.rib.len() as f64);
        points.push(Point::new("IPv6 table", "prefixes", "prefixes", prefixes).on(&facts));
        let total = fib.memory().total() as f64 / MB;
        points.push(Point::new("Poptrie, IPv6", "total", "MB", total).on(&facts));
    }
    Ok(Finding::new("part", Plot::None, points)
        .note("The paper's value is the talk's 2.4 MiB of one table, which is not here. An origin AS is no next hop: tables with values of that kind merge less than one with next hops of its own.")
        .note("Leaves without leafvec follow from the nodes: 64 slots each, less those that are children."))
}

pub(super) fn reference_code(lab: &Lab) -> Result<Finding, Error> {
    let mut points = Vec::new();
    for table in tables(lab)? {
        let facts = Facts::of(&table);
        let fib = build(lab, "poptrie", &table.rib)?;
        let (figures, memory) = (fib.figures(), fib.memory());
        let bytes =
            |part: &str| memory.parts.iter().find(|one| one.name == part).map_or(0.0, |one| one.bytes as f64);
        let each = |part: &str, count: &str| bytes(part) / figure(&figures, count).max(1.0);
        let mut add = |at, unit, value| points.push(Point::new("Poptrie", at, unit, value).on(&facts));
        add("an internal node", "bytes", each("nodes", "internal nodes"));
        add("a leaf", "bytes", each("leaves", "leaves"));
        add("direct entries", "entries", figure(&figures, "direct entries"));
        add("internal nodes", "entries", figure(&figures, "internal nodes"));
        add("leaves", "entries", figure(&figures, "leaves"));
        points.extend(lab.differing(&table, &[("Poptrie", "poptrie")])?);
    }
    Ok(Finding::new("part", Plot::None, points)
        .note("The reference code is what the authors published beside the paper (github.com/drpnd/poptrie at 845c3b4).")
        .note("Answers are compared with the oracle's, around every prefix and at random addresses."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fibula::{NextHop, Rib};
    use fibula_engines::all;

    /// One prefix inside an entry of the direct table makes one root with one node.
    #[test]
    fn leaves_without_leafvec_are_the_slots_that_are_no_children() {
        let mut rib: Rib<u32> = Rib::new();
        for (prefix, next_hop) in [("10.0.0.0/8", 1), ("10.0.4.0/24", 2), ("10.0.4.128/25", 3)] {
            rib.insert(prefix.parse().unwrap(), NextHop(next_hop));
        }
        let table = Named { name: "t".into(), rib };
        assert_eq!(roots(&table), 1);
        let fib = Fib::build_from(all(), "poptrie", &table.rib, fibula::engine::Config::default()).unwrap();
        let mut points = Vec::new();
        add_parts(&mut points, &table, &fib);
        let value = |at: &str| points.iter().find(|point| point.at == at).unwrap().value();
        // Node A has a child in one slot, node B has none: 63 and 64 leaves, of which 3 and 2 begin
        // a run.
        assert_eq!(value("internal nodes"), Some(2.0));
        assert_eq!(value("leaves without leafvec"), Some(127.0));
    }
}
