//! RESAIL and BSIC of tables: words, bits and steps, and whether they answer right.

use super::ENGINES;
use super::bsic::slice_bits;
use super::chip::{NEXT_HOP_BITS, blocks, hash_bits, map_bits};
use crate::lab::{narrow, reads};
use crate::{Error, Facts, Finding, Lab, Named, Plot, Point};
use fibula::engine::{Config, Entry, Figure};
use fibula::{Address, Fib};
use fibula_io::trace::TraceKind;

/// The next hops that 8 bits tell apart.
const NEXT_HOPS: u32 = 255;

/// The bits of a child's index and of whether it is there.
const CHILD_BITS: usize = 17;

const MEGABYTE_BITS: f64 = 8e6;

fn figure(figures: &[Figure], name: &str) -> f64 {
    figures.iter().find(|figure| figure.name == name).map_or(0.0, |figure| figure.value)
}

fn compiled<A: Address>(engines: &'static [Entry], engine: &str, table: &Named<A>) -> Result<Fib<A>, Error> {
    Ok(Fib::build_from(engines, engine, &table.rib, Config::default())?)
}

/// Adds the bits of both memories, the blocks and the steps of an algorithm.
fn add(points: &mut Vec<Point>, facts: &Facts, name: &str, [ternary, other]: [usize; 2], steps: f64) {
    let mut add = |at, unit, value| points.push(Point::new(name, at, unit, value).on(facts));
    add("ternary", "MB", ternary as f64 / MEGABYTE_BITS);
    add("other", "MB", other as f64 / MEGABYTE_BITS);
    add("blocks", "entries", blocks(other));
    add("steps", "accesses", steps);
}

/// Adds BSIC, and ternary memory alone.
fn add_bsic<A: Address>(points: &mut Vec<Point>, table: &Named<A>) -> Result<(), Error> {
    let (facts, k) = (Facts::of(table), usize::from(slice_bits(A::FAMILY)));
    let fib = compiled(ENGINES, "bsic", table)?;
    let figures = fib.figures();
    let [words, levels, nodes, trees] =
        ["initial words", "levels", "nodes", "trees"].map(|name| figure(&figures, name));
    let longest = table.rib.iter().map(|route| usize::from(route.prefix.len())).max().unwrap_or(0);
    // Where no route is longer than /64, keys end there.
    let key = if A::BITS == 128 && longest <= 64 { 64 } else { usize::from(A::BITS) };
    let node = key - k + NEXT_HOP_BITS + 2 * CHILD_BITS;
    let bits = [words as usize * k, nodes as usize * node + words as usize * NEXT_HOP_BITS];
    add(points, &facts, "BSIC", bits, 1.0 + levels);
    let prefixes = table.rib.len().max(1) as f64;
    let mut of = |at, unit, value| points.push(Point::new("BSIC", at, unit, value).on(&facts));
    of("initial words", "% of prefixes", 100.0 * words / prefixes);
    of("trees", "% of prefixes", 100.0 * trees / prefixes);
    of("nodes", "ranges a prefix", nodes / prefixes);
    of("levels", "accesses", levels);
    let alone = [table.rib.len() * key, table.rib.len() * NEXT_HOP_BITS];
    add(points, &facts, "ternary alone", alone, 1.0);
    Ok(())
}

pub(super) fn tables(lab: &Lab) -> Result<Finding, Error> {
    let mut points = Vec::new();
    for table in lab.ipv4.iter().map(|table| narrow(table, NEXT_HOPS)) {
        let facts = Facts::of(&table);
        let figures = compiled(ENGINES, "resail", &table)?.figures();
        let [words, keys, slots, maps] =
            ["look-aside words", "keys", "slots", "bit maps"].map(|name| figure(&figures, name));
        let other = map_bits() + hash_bits(slots as usize) + words as usize * NEXT_HOP_BITS;
        // The look-aside and all bit maps at once, then the hash table.
        add(&mut points, &facts, "RESAIL", [words as usize * 32, other], 2.0);
        let prefixes = table.rib.len().max(1) as f64;
        let mut of = |at, unit, value| points.push(Point::new("RESAIL", at, unit, value).on(&facts));
        of("look-aside words", "% of prefixes", 100.0 * words / prefixes);
        of("bit maps", "entries", maps);
        of("keys", "times the prefixes", keys / prefixes);
        of("slots a key", "times", slots / keys.max(1.0));
        add_bsic(&mut points, &table)?;
        let addresses = lab.trace(&TraceKind::Prefix, &table.rib)?;
        for (name, engine) in [("SAIL_L", "sail-l"), ("D16R", "dxr16"), ("D18R", "dxr18")] {
            let fib = compiled(lab.engines, engine, &table)?;
            let steps = reads(&fib, addresses.iter().copied()).most;
            add(&mut points, &facts, name, [0, 8 * fib.memory().total()], steps);
        }
    }
    for table in lab.ipv6.iter().map(|table| narrow(table, NEXT_HOPS)) {
        add_bsic(&mut points, &table)?;
    }
    if points.is_empty() {
        return Err(Error::none("no table given"));
    }
    Ok(Finding::new("part", Plot::None, points)
        .note("Next hops above 255 are folded by the remainder, so that they have 8 bits as in the authors' programs.")
        .note("Steps of RESAIL are two: the look-aside and all bit maps at once, then the hash table. Those of BSIC are the ternary memory and the levels. Those of SAIL_L and DXR are the most loads of a lookup, each after the other.")
        .note("BSIC's nodes have the bits of the authors' programs: the rest of the key, a next hop, and two indices of 16 bits with whether they are there."))
}

pub(super) fn answers(lab: &Lab) -> Result<Finding, Error> {
    let of_both = Lab { engines: ENGINES, ..lab.clone() };
    let mut points = Vec::new();
    for table in &lab.ipv4 {
        points.extend(of_both.differing(table, &[("RESAIL", "resail"), ("BSIC", "bsic")])?);
    }
    for table in &lab.ipv6 {
        points.extend(of_both.differing(table, &[("BSIC", "bsic")])?);
    }
    if points.is_empty() {
        return Err(Error::none("no table given"));
    }
    Ok(Finding::new("column", Plot::None, points)
        .note("Answers are compared with the oracle's, around every prefix and at random addresses."))
}
